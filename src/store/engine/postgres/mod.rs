//! The engine that several processes share: the rows are in a PostgreSQL database.
//!
//! A batch is one transaction ([`turn`]); batches of one shard take turns, in all processes. A [`view`] is a
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

use std::collections::BTreeMap;
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
use crate::store::engine::postgres::turn::{Attempt, BatchId, Puts};
pub use crate::store::engine::postgres::url::DatabaseUrl;
use crate::store::engine::postgres::view::{Rows, View};
use crate::store::engine::{
    Decide, Engine, EngineHealth, NewestRows, Read, Turns, Upkeep, lane_of,
};
use crate::store::failure::{OpenFailure, StorageFailure};
use crate::store::tables::Shard;

pub(in crate::store) struct PostgresEngine {
    shared: Arc<Shared>,
    readers: Arc<Readers>,
    /// Starts with the first wait for changes.
    listener: OnceLock<Option<Listener>>,
    /// A writer for each shard, by [`lane_of`].
    writers: Lock<BTreeMap<Shard, Arc<Lock<Writer>>>>,
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
    /// The turns of the next batch's transaction, if the session has begun it.
    taken: Option<Turns>,
    /// Identifies this writer in the table of writers.
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
        let writers = Lock::new(BTreeMap::new());
        let shared = Arc::new(shared);
        let readers = Arc::new(Readers::start(&shared)?);
        let lacks_sync = summary.lacks_sync;
        let listener = OnceLock::new();
        Ok(Self { shared, readers, listener, writers, access, lacks_sync, _network: network })
    }
}

impl PostgresEngine {
    fn writer_of(&self, shards: &Turns) -> Arc<Lock<Writer>> {
        let mut writers = self.writers.lock();
        Arc::clone(
            writers.entry(lane_of(shards)).or_insert_with(|| Arc::new(Lock::new(Writer::new()))),
        )
    }
}

impl Writer {
    fn new() -> Self {
        Self { session: None, taken: None, id: Random::new().bytes(), attempts: 0 }
    }

    /// Begins the next batch's transaction. A failure here is ignored: the next attempt begins
    /// again and reports it.
    fn take_turn(&mut self, shared: &Shared, shards: &Turns) {
        if let Some(session) = self.session.take().filter(PreparedClient::is_open) {
            if turn::begin(shared, &session, shards) {
                (self.session, self.taken) = (Some(session), Some(shards.clone()));
            } else {
                session.give_up();
            }
        }
    }

    /// Makes one attempt to write a batch. Returns `None` if the batch has to be decided again.
    fn attempt(
        &mut self,
        shared: &Shared,
        shards: &Turns,
        puts: Puts,
        decide: &mut Decide<'_>,
    ) -> Result<Option<()>, StorageFailure> {
        let taken = self.taken.take();
        let (session, taken) = match self.session.take().filter(PreparedClient::is_open) {
            Some(session) => (session, taken),
            None => (shared.connect(Use::Writing)?, None),
        };
        self.attempts = self.attempts.saturating_add(1);
        let batch = BatchId { writer: &self.id, number: self.attempts, shards };
        match turn::attempt(shared, &session, batch, (puts, taken), decide)? {
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
                let (outcome, session) = outcome::find_out(shared, batch)?;
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

    fn newest(&self) -> Result<NewestRows, StorageFailure> {
        Ok(NewestRows::Fetched(Arc::<Readers>::clone(&self.readers)))
    }

    fn apply(&self, decide: &mut Decide<'_>) -> Result<(), StorageFailure> {
        self.apply_in(&Turns::from([Shard::VAULT]), decide)
    }

    fn apply_in(&self, shards: &Turns, decide: &mut Decide<'_>) -> Result<(), StorageFailure> {
        if self.access == Access::ReadOnly {
            return Err(StorageFailure::Impossible("the vault was opened for verification"));
        }
        let writer = self.writer_of(shards);
        let mut writer = writer.lock();
        let mut puts = Puts::MayBeNew;
        for _ in 0..DATABASE_DECISIONS_MAX {
            if writer.attempt(&self.shared, shards, puts, decide)?.is_some() {
                return Ok(());
            }
            puts = Puts::MayReplace;
            self.shared.repeats.fetch_add(1, Ordering::Relaxed);
        }
        Err(StorageFailure::Unavailable(faults::CONFLICTS))
    }

    fn take_turn(&self, shard: Shard) {
        let shards = Turns::from([shard]);
        self.writer_of(&shards).lock().take_turn(&self.shared, &shards);
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

    fn is_held_up(&self, lane: Shard) -> bool {
        self.shared.in_doubt.lock().contains(&lane)
    }

    fn stop_waiting(&self) {
        self.shared.is_ending.store(true, Ordering::Relaxed);
    }

    fn close(&self) -> Result<(), StorageFailure> {
        for writer in self.writers.lock().values() {
            writer.lock().session = None;
        }
        self.shared.close();
        Ok(())
    }
}

opaque_debug!(PostgresEngine);
