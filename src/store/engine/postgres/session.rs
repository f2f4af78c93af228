//! A connection with its prepared statements.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio_postgres::{Client, Error};

use crate::bounds::DATABASE_ANSWER_MAX;
use crate::store::engine::postgres::dial::{Dialed, Dialer, Use};
use crate::store::engine::postgres::faults::{Fault, LATE};
use crate::store::engine::postgres::statements::Statements;
use crate::store::engine::postgres::wait::send;
use crate::store::engine::postgres::wire::Wire;

pub(super) struct Session {
    pub(super) client: Client,
    pub(super) statements: Statements,
    wire: Mutex<Wire>,
    snapshot: SnapshotState,
    /// An answer did not come in time, so the next one would belong to another statement.
    is_given_up: AtomicBool,
}

/// The transaction of the last snapshot.
#[derive(Debug, Default)]
struct SnapshotState {
    is_open: AtomicBool,
    /// No snapshot has begun since the last [`Session::tidy`].
    is_at_rest: AtomicBool,
    /// The server can begin a transaction with the end of another one.
    can_chain: bool,
}

const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
/// The new transaction is like the old one. Its snapshot is that of its first read.
const CHAIN: &str = "ROLLBACK AND CHAIN";
const CHAIN_TRIAL: &str = "BEGIN; ROLLBACK AND CHAIN; ROLLBACK";

impl Session {
    pub(super) fn open(
        runtime: &Handle,
        dialer: &Arc<Dialer>,
        purpose: Use,
    ) -> Result<Self, Fault> {
        let Dialed { client, mut wire } = dialer.dial(runtime, purpose)?;
        let prepared = wire.run(Statements::prepare(&client), DATABASE_ANSWER_MAX);
        let statements = prepared.ok_or(Fault::Lost(LATE))?;
        let statements = statements.map_err(|error| Fault::of(&error))?;
        let chained = wire.run(client.batch_execute(CHAIN_TRIAL), DATABASE_ANSWER_MAX);
        let can_chain = matches!(chained.ok_or(Fault::Lost(LATE))?, Ok(()));
        let snapshot = SnapshotState { can_chain, ..SnapshotState::default() };
        let is_given_up = AtomicBool::new(false);
        Ok(Self { client, statements, wire: Mutex::new(wire), snapshot, is_given_up })
    }

    /// The text that begins a new snapshot. It ends the one before, if that is still open.
    pub(super) fn begin_snapshot(&self) -> &'static str {
        let was_open = self.snapshot.is_open.swap(true, Ordering::Relaxed);
        self.snapshot.is_at_rest.store(false, Ordering::Relaxed);
        if was_open { CHAIN } else { BEGIN }
    }

    /// Leaves a snapshot behind. The next one ends it, which saves a message, or [`Session::tidy`].
    pub(super) fn end_snapshot(&self) {
        if !self.snapshot.can_chain {
            self.close_snapshot();
        }
    }

    /// Ends a snapshot that no other one has followed since the last call, so that the database can
    /// remove old rows.
    pub(super) fn tidy(&self) {
        if self.snapshot.is_at_rest.swap(true, Ordering::Relaxed) {
            self.close_snapshot();
        }
    }

    fn close_snapshot(&self) {
        if self.snapshot.is_open.swap(false, Ordering::Relaxed) {
            self.roll_back();
        }
    }

    /// Waits for the answers of the server.
    pub(super) fn run<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Fault> {
        let answered = self.wire().run(work, DATABASE_ANSWER_MAX);
        match answered {
            Some(Ok(output)) => Ok(output),
            Some(Err(error)) => Err(Fault::of(&error)),
            None => {
                self.give_up();
                Err(Fault::Lost(LATE))
            }
        }
    }

    pub(super) fn give_up(&self) {
        self.is_given_up.store(true, Ordering::Relaxed);
        self.wire().close();
    }

    pub(super) fn is_open(&self) -> bool {
        !self.is_given_up.load(Ordering::Relaxed) && self.wire().is_open()
    }

    /// Ends a transaction without a wait. The next statement comes behind it.
    pub(super) fn roll_back(&self) {
        send(self.client.batch_execute("ROLLBACK"));
        self.wire().push();
    }

    fn wire(&self) -> MutexGuard<'_, Wire> {
        self.wire.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Session")
    }
}
