//! A way to a PostgreSQL server that can be cut in the middle of a commit.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::harness::directory::Directory;

/// The name that clients look for in the directory of a socket.
const SOCKET: &str = ".s.PGSQL.5432";
/// The simple query with this text, as it goes over the wire.
const COMMIT: &[u8] = b"COMMIT\0";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// The server does not get the COMMIT.
    Before,
    /// The server gets it, and the client gets no answer.
    After,
}

/// Forwards connections to a server, and cuts the next commits that it is asked to.
#[derive(Debug)]
pub(crate) struct Cutter {
    directory: Directory,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The cuts to make, the next one last.
    cuts: Mutex<Vec<Moment>>,
    made: AtomicUsize,
}

impl Cutter {
    /// The server has its socket in this directory.
    pub(crate) fn before(server: &Path) -> Self {
        let (directory, state) = (Directory::new(), Arc::new(State::default()));
        let listener = UnixListener::bind(directory.join(SOCKET)).unwrap();
        let (server, shared) = (server.join(SOCKET), Arc::clone(&state));
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let (server, state) = (server.clone(), Arc::clone(&shared));
                thread::spawn(move || forward(&client, &server, &state));
            }
        });
        Self { directory, state }
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Cuts a commit at each of these moments, one after the other.
    pub(crate) fn cut(&self, mut moments: Vec<Moment>) {
        moments.reverse();
        *self.state.cuts.lock().unwrap() = moments;
    }

    pub(crate) fn made(&self) -> usize {
        self.state.made.load(Ordering::Relaxed)
    }
}

fn forward(client: &UnixStream, server: &Path, state: &State) {
    // A server that is down refuses the client, too.
    let Ok(server) = UnixStream::connect(server) else { return };
    let (answers, asker) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    thread::spawn(move || {
        copy(&answers, &asker, |_| None);
        asker.shutdown(Shutdown::Both).ok();
    });
    let cut = copy(client, &server, |bytes| {
        let is_commit = bytes.windows(COMMIT.len()).any(|it| it == COMMIT);
        if is_commit { state.cuts.lock().unwrap().pop() } else { None }
    });
    if cut.is_some() {
        client.shutdown(Shutdown::Both).ok();
        state.made.fetch_add(1, Ordering::Relaxed);
    }
    if cut == Some(Moment::After) {
        // The server works on what it has and sees the end of its input later.
        server.shutdown(Shutdown::Write).ok();
    } else {
        server.shutdown(Shutdown::Both).ok();
    }
}

/// Copies until the end, or until a cut.
fn copy(
    mut from: &UnixStream,
    mut to: &UnixStream,
    mut cut: impl FnMut(&[u8]) -> Option<Moment>,
) -> Option<Moment> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let Ok(read @ 1..) = from.read(&mut buffer) else { return None };
        let bytes = &buffer[..read];
        let moment = cut(bytes);
        if moment != Some(Moment::Before) && to.write_all(bytes).is_err() {
            return None;
        }
        if moment.is_some() {
            return moment;
        }
    }
}
