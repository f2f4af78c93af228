//! A proxy between the engine and the database that cuts connections at a chosen message.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crate::crypto::Random;
use crate::domain::hex;
use crate::store::engine::postgres::tests::server::Server;
use crate::store::engine::postgres::url::Host;
use crate::store::engine::postgres::{Database, DatabaseUrl};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// COMMIT does not reach the database.
    Before,
    /// COMMIT reaches the database, and both connections end at once.
    Forwarded,
    /// The database answers, and the answer is lost.
    After,
    /// COMMIT does not reach the database, and the database does not notice that the client is
    /// gone.
    Hung,
    /// Like `After`, and later connections are refused.
    AfterForGood,
}

pub(super) struct Proxy {
    directory: PathBuf,
    state: Arc<State>,
}

struct State {
    target: PathBuf,
    next: Mutex<Option<Cut>>,
    is_closed: Mutex<bool>,
    refuses_notices: AtomicBool,
    /// Hanging connections to the database.
    hung: Mutex<Vec<UnixStream>>,
}

const NOTIFY: &[u8] = b"NOTIFY";
const COMMIT: &[u8] = b"Q\0\0\0\x0bCOMMIT\0";

impl Proxy {
    pub(super) fn start(server: &Server) -> Self {
        let name = hex::encode(&Random::new().bytes::<8>());
        let directory = crate::waiting::scratch().join(format!("sr-proxy-{name}"));
        fs::create_dir(&directory).unwrap();
        let listener = UnixListener::bind(directory.join(".s.PGSQL.5432")).unwrap();
        let target = server.directory().join(".s.PGSQL.5432");
        let (next, is_closed) = (Mutex::new(None), Mutex::new(false));
        let refuses_notices = AtomicBool::new(false);
        let hung = Mutex::default();
        let state = Arc::new(State { target, next, is_closed, refuses_notices, hung });
        let accepting = Arc::clone(&state);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if *accepting.is_closed.lock().unwrap() {
                    continue;
                }
                let state = Arc::clone(&accepting);
                std::thread::spawn(move || state.serve(&client));
            }
        });
        Self { directory, state }
    }

    pub(super) fn database(&self, url: &str) -> Database {
        let hosts = vec![Host::Socket(self.directory.clone(), 5432)];
        Database::new(DatabaseUrl::parse(url).unwrap().with_hosts(hosts), None).unwrap()
    }

    pub(super) fn cut(&self, cut: Cut) {
        *self.state.next.lock().unwrap() = Some(cut);
    }

    /// Returns true if a COMMIT was cut since the last [`Self::cut`].
    pub(super) fn has_cut(&self) -> bool {
        self.state.next.lock().unwrap().is_none()
    }

    /// Makes the database refuse every notice, as with a full notice queue.
    pub(super) fn refuse_notices(&self) {
        self.state.refuses_notices.store(true, Ordering::Relaxed);
    }

    pub(super) fn accept_again(&self) {
        *self.state.is_closed.lock().unwrap() = false;
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.directory).ok();
    }
}

impl State {
    fn serve(&self, client: &UnixStream) {
        let Ok(server) = UnixStream::connect(&self.target) else { return };
        let muted = Arc::new(Mutex::new(false));
        let back = {
            let muted = Arc::clone(&muted);
            let (mut from, mut to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            std::thread::spawn(move || copy_unless(&muted, &mut from, &mut to))
        };
        let mut seen = Vec::new();
        let mut buffer = [0; 8_192];
        let (mut from, mut to) = (client, &server);
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            seen.extend_from_slice(&buffer[..count]);
            if self.refuses_notices.load(Ordering::Relaxed)
                && let Some(at) = seen.windows(NOTIFY.len()).position(|it| it == NOTIFY)
            {
                seen[at..][..NOTIFY.len()].fill(b'?');
            }
            let Some(at) = seen.windows(COMMIT.len()).position(|it| it == COMMIT) else {
                // The input may end in the middle of a COMMIT.
                let begun = (1..COMMIT.len()).rev().find(|len| seen.ends_with(&COMMIT[..*len]));
                let whole = seen.len() - begun.unwrap_or(0);
                let _sent = to.write_all(&seen[..whole]);
                seen.drain(..whole);
                continue;
            };
            let cut = self.next.lock().unwrap().take();
            let Some(cut) = cut else {
                let _sent = to.write_all(&seen);
                seen.clear();
                continue;
            };
            let end = if matches!(cut, Cut::Before | Cut::Hung) { at } else { at + COMMIT.len() };
            *muted.lock().unwrap() = true;
            let _sent = to.write_all(&seen[..end]);
            self.end(cut, client, &server);
            break;
        }
        client.shutdown(Shutdown::Both).ok();
        if self.hung.lock().unwrap().is_empty() {
            server.shutdown(Shutdown::Write).ok();
        }
        drop(back);
    }

    fn end(&self, cut: Cut, client: &UnixStream, server: &UnixStream) {
        match cut {
            Cut::Before | Cut::Forwarded => server.shutdown(Shutdown::Both).unwrap(),
            Cut::Hung => self.hung.lock().unwrap().push(server.try_clone().unwrap()),
            Cut::After | Cut::AfterForGood => {
                // The database closes its side when it has answered everything.
                *self.is_closed.lock().unwrap() = cut == Cut::AfterForGood;
                server.shutdown(Shutdown::Write).unwrap();
            }
        }
        client.shutdown(Shutdown::Both).ok();
    }
}

/// Copies the database's answers until they are muted.
fn copy_unless(muted: &Mutex<bool>, from: &mut UnixStream, to: &mut UnixStream) {
    let mut buffer = [0; 8_192];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if !*muted.lock().unwrap() && to.write_all(&buffer[..count]).is_err() {
            return;
        }
    }
    to.shutdown(Shutdown::Both).ok();
}
