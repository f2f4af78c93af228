//! The engine that several processes share: the rows are in a PostgreSQL database.
//!
//! A batch is one transaction ([`turn`]); the writers of all processes take turns. A [`view`] is a
//! read-only transaction that begins with its first read, so an unread snapshot costs nothing.
//! Requests that need single rows and no snapshot are answered together ([`readers`]). A
//! [`listener`] receives notices of changes that other processes have to follow. The outcome of a
//! COMMIT whose connection ended is looked up, not guessed ([`outcome`]). A lost connection does
//! not end the process: operations fail until the database is back.
//!
//! The client is `tokio-postgres` without its default features: sockets, names and TLS are ours. It
//! sends several statements before the first answer, which halves the round trips of a batch;
//! `sqlx` does not, and is several times as large; `postgres` is a blocking wrapper of this one
//! with a runtime for each connection. The thread that waits for an answer moves the bytes
//! ([`wire`]).
//!
//! Values are sealed above the engine: the database sees no more than the local engine's data file
//! shows. Connection poolers that switch clients between transactions lose prepared statements and
//! settings, and cannot be used.

mod database;
mod dial;
mod faults;
mod listener;
mod outcome;
mod prepared;
mod range;
mod readers;
mod schema;
mod shared;
mod socket;
mod statements;
#[cfg(test)]
pub(super) mod tests;
mod tls;
mod turn;
mod url;
mod view;
mod wait;
mod wire;

use std::mem;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use tokio::sync::Notify;

use crate::bounds::DATABASE_DECISIONS_MAX;
use crate::crypto::Random;
use crate::lock::Lock;
pub use crate::store::engine::postgres::database::Database;
use crate::store::engine::postgres::database::Network;
use crate::store::engine::postgres::dial::Use;
use crate::store::engine::postgres::faults::Fault;
use crate::store::engine::postgres::listener::Listener;
use crate::store::engine::postgres::outcome::Outcome;
use crate::store::engine::postgres::prepared::PreparedClient;
use crate::store::engine::postgres::readers::Readers;
use crate::store::engine::postgres::shared::Shared;
use crate::store::engine::postgres::turn::{Attempt, Puts};
pub use crate::store::engine::postgres::url::DatabaseUrl;
use crate::store::engine::postgres::view::{Rows, View};
use crate::store::engine::{Decide, Engine, EngineHealth, Fetch, Read, Upkeep};
use crate::store::failure::{OpenFailure, StorageFailure};

pub(in crate::store) struct PostgresEngine {
    shared: Arc<Shared>,
    readers: Arc<Readers>,
    /// Starts with the first wait for changes.
    listener: OnceLock<Option<Listener>>,
    writer: Lock<Writer>,
    access: Access,
    /// The server runs without fsync.
    lacks_sync: bool,
    /// Keeps the runtime alive as long as the engine.
    _network: Network,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum Access {
    ReadWrite,
    /// For verification.
    ReadOnly,
    /// A restore is loading the vault; nothing else uses it.
    Loading,
}

struct Writer {
    session: Option<PreparedClient>,
    /// The session has begun the next batch's transaction.
    has_turn: bool,
    /// Identifies this process in the table of writers.
    id: [u8; 16],
    /// The number of the last attempt to write a batch.
    attempts: i64,
}

impl PostgresEngine {
    pub(in crate::store) fn start(
        database: &Database,
        access: Access,
    ) -> Result<Self, OpenFailure> {
        let summary = database.check(access)?;
        if access == Access::ReadWrite {
            database.tidy()?;
        }
        let network = Network::start()?;
        let shared = Shared::new(network.handle().clone(), database.dialer(), summary.timeline);
        shared.note(summary.sequence);
        let writer =
            Writer { session: None, has_turn: false, id: Random::new().bytes(), attempts: 0 };
        let writer = Lock::new(writer);
        let shared = Arc::new(shared);
        let readers = Arc::new(Readers::start(&shared)?);
        let lacks_sync = summary.lacks_sync;
        let listener = OnceLock::new();
        Ok(Self { shared, readers, listener, writer, access, lacks_sync, _network: network })
    }
}

impl Writer {
    /// Begins the next batch's transaction. A failure here is ignored: the next attempt begins
    /// again and reports it.
    fn take_turn(&mut self, shared: &Shared) {
        if let Some(session) = self.session.take().filter(PreparedClient::is_open) {
            self.has_turn = turn::begin(shared, &session);
            if self.has_turn {
                self.session = Some(session);
            } else {
                session.give_up();
            }
        }
    }

    /// Makes one attempt to write a batch. Returns `None` if the batch has to be decided again.
    fn attempt(
        &mut self,
        shared: &Shared,
        puts: Puts,
        decide: &mut Decide<'_>,
    ) -> Result<Option<()>, StorageFailure> {
        let has_turn = mem::take(&mut self.has_turn);
        let (session, has_begun) = match self.session.take().filter(PreparedClient::is_open) {
            Some(session) => (session, has_turn),
            None => (shared.connect(Use::Writing)?, false),
        };
        self.attempts = self.attempts.saturating_add(1);
        let writer = (&self.id, self.attempts);
        match turn::attempt(shared, &session, writer, (puts, has_begun), decide)? {
            Attempt::Written => {
                self.session = Some(session);
                Ok(Some(()))
            }
            Attempt::Again(Fault::Lost(_)) => {
                session.give_up();
                Ok(None)
            }
            Attempt::Again(Fault::Conflict | Fault::Refused(_)) => {
                self.session = Some(session);
                Ok(None)
            }
            Attempt::Unknown => {
                session.give_up();
                let (outcome, session) = outcome::find_out(shared, writer)?;
                self.session = Some(session);
                Ok((outcome == Outcome::Written).then_some(()))
            }
        }
    }
}

impl Engine for PostgresEngine {
    fn snapshot(&self) -> Result<Arc<dyn Read>, StorageFailure> {
        Ok(Arc::new(Rows(View::new(Arc::clone(&self.shared)))))
    }

    fn newest(&self) -> Result<Arc<dyn Fetch>, StorageFailure> {
        Ok(Arc::<Readers>::clone(&self.readers))
    }

    fn apply(&self, decide: &mut Decide<'_>) -> Result<(), StorageFailure> {
        if self.access == Access::ReadOnly {
            return Err(StorageFailure::Impossible("the vault was opened for verification"));
        }
        let mut writer = self.writer.lock();
        let mut puts = Puts::MayBeNew;
        for _ in 0..DATABASE_DECISIONS_MAX {
            if writer.attempt(&self.shared, puts, decide)?.is_some() {
                return Ok(());
            }
            puts = Puts::MayReplace;
            self.shared.repeats.fetch_add(1, Ordering::Relaxed);
        }
        Err(StorageFailure::Unavailable(faults::CONFLICTS))
    }

    fn take_turn(&self) {
        if self.shared.has_turns.load(Ordering::Relaxed) {
            self.writer.lock().take_turn(&self.shared);
        }
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn changes(&self) -> Option<Arc<Notify>> {
        let listener = self.listener.get_or_init(|| Listener::start(&self.shared));
        listener.as_ref().map(Listener::changes)
    }

    /// Reads the row of the vault from the database.
    fn check_place(&self) -> Result<(), StorageFailure> {
        let moment = self.snapshot()?.moment()?;
        if moment.timeline != self.shared.timeline {
            return Err(turn::replaced());
        }
        Ok(())
    }

    fn health(&self) -> EngineHealth {
        EngineHealth { lacks_sync: self.lacks_sync, ..self.shared.health() }
    }

    fn set_upkeep(&self, _: Upkeep) {}

    fn is_held_up(&self) -> bool {
        self.shared.is_in_doubt.load(Ordering::Relaxed)
    }

    fn stop_waiting(&self) {
        self.shared.is_ending.store(true, Ordering::Relaxed);
    }

    fn close(&self) -> Result<(), StorageFailure> {
        self.writer.lock().session = None;
        self.shared.close();
        Ok(())
    }
}

opaque_debug!(PostgresEngine);
