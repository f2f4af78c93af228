//! Listens for other processes' changes, so that this process follows them at once. Notices can be
//! lost with their connection, so each process also polls for changes.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};
use std::thread;

use tokio::sync::Notify;

use crate::bounds::{DATABASE_ANSWER_MAX, DATABASE_LISTEN_PAUSE, DATABASE_LISTEN_WAIT};
use crate::lock::Lock;
use crate::store::engine::postgres::dial::{Dialed, Use};
use crate::store::engine::postgres::faults::{Fault, LATE, Refusal};
use crate::store::engine::postgres::shared::Shared;
use crate::store::engine::postgres::socket::Socket;
use crate::store::engine::postgres::wait::wait;

/// Sent with a batch that concerns other processes.
pub(super) const NOTIFY: &str = "NOTIFY strongroom";
const LISTEN: &str = "LISTEN strongroom";

/// The thread ends when this is dropped.
pub(super) struct Listener(Arc<Line>);

struct Line {
    /// Notified of each notice.
    changes: Arc<Notify>,
    /// Notified when the listener is dropped.
    end: Notify,
    state: Lock<LineState>,
}

#[derive(Default)]
struct LineState {
    socket: Option<Socket>,
    has_ended: bool,
}

impl Listener {
    /// Returns `None` if no thread can be started.
    pub(super) fn start(shared: &Arc<Shared>) -> Option<Self> {
        let line = Arc::new(Line {
            changes: Arc::new(Notify::new()),
            end: Notify::new(),
            state: Lock::default(),
        });
        let (shared, own) = (Arc::clone(shared), Arc::clone(&line));
        let thread = thread::Builder::new().name(String::from("database changes"));
        thread.spawn(move || own.run(&shared)).ok()?;
        Some(Self(line))
    }

    pub(super) fn changes(&self) -> Arc<Notify> {
        Arc::clone(&self.0.changes)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.has_ended = true;
        if let Some(socket) = state.socket.take() {
            socket.close();
        }
        self.0.end.notify_one();
    }
}

impl Line {
    fn run(&self, shared: &Shared) {
        while !self.state().has_ended {
            let listened = self.listen(shared);
            self.state().socket = None;
            // This database has no notices.
            if matches!(listened, Err(Fault::Refused(Refusal::Unsupported))) {
                return;
            }
            wait(self.end.notified(), DATABASE_LISTEN_PAUSE);
        }
    }

    fn listen(&self, shared: &Shared) -> Result<(), Fault> {
        let Dialed { client, mut wire, heard, .. } = shared.dial(Use::Reading)?;
        if !self.begin(wire.socket()) {
            return Ok(());
        }
        let listening = wire.run(client.batch_execute(LISTEN), DATABASE_ANSWER_MAX);
        listening.ok_or(Fault::Lost(LATE))?.map_err(|error| Fault::of(&error))?;
        shared.has_notices.store(true, Ordering::Relaxed);
        // Notices before LISTEN were missed.
        self.changes.notify_one();
        while wire.is_open() {
            if wire.run(heard.notified(), DATABASE_LISTEN_WAIT).is_some() {
                self.changes.notify_one();
            }
        }
        Ok(())
    }

    /// Registers the socket, so that the drop can close it. Returns false if the listener was
    /// dropped.
    fn begin(&self, socket: Socket) -> bool {
        let mut state = self.state();
        if !state.has_ended {
            state.socket = Some(socket);
        }
        !state.has_ended
    }

    fn state(&self) -> MutexGuard<'_, LineState> {
        self.state.lock()
    }
}
