//! A batch of changes as one transaction.
//!
//! Batches of one shard take turns: each transaction first locks the rows of the shards that it
//! changes in `strongroom_turns`, in the order of their numbers and the vault's own last. Batches of
//! different shards do not wait for each other, nor do several of one process.
//!
//! The isolation level is READ COMMITTED, and the locks make it strict. Every row belongs to one
//! shard and changes only under its turn, so what a batch reads of its own shards stays as it is
//! until COMMIT, and statements after the lock see all earlier batches. Rows of other shards that a
//! batch relies on are read with a row lock ([`crate::store::engine::Hold`]). A transaction with a snapshot from before
//! the lock, as in REPEATABLE READ, would have to fail whenever it had waited for its turn.
//!
//! A batch takes three round trips: the turn, the reads, and all rows together with COMMIT. Changes that come while a process waits for its turn join its batch.
//!
//! A plain INSERT takes two thirds of the time of an upsert, and needs no read before it. Rows of
//! tables that grow are therefore inserted as new, unless the batch has read them. If one exists,
//! the batch is decided again with upserts for every row.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::Ordering;

use tokio_postgres::Error;

use crate::lock::Lock;
use crate::store::engine::postgres::faults::{Fault, Refusal};
use crate::store::engine::postgres::listener::NOTIFY;
use crate::store::engine::postgres::prepared::PreparedClient;
use crate::store::engine::postgres::shared::Shared;
use crate::store::engine::postgres::statements::RowSets;
use crate::store::engine::postgres::view::{Ask, Rows};
use crate::store::engine::{Decide, RowChange, Turns};
use crate::store::failure::StorageFailure;
use crate::store::tables::{Table, concerns_other_processes};

pub(super) const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

/// The result of one attempt to write a batch.
#[derive(Debug)]
pub(super) enum Attempt {
    /// The batch is durable, or there was nothing to write.
    Written,
    /// Nothing was written; the batch is decided again.
    Again(Fault),
    /// The connection ended after COMMIT was sent.
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Puts {
    /// Unread rows of tables that grow are inserted as new.
    MayBeNew,
    /// Every row may replace another.
    MayReplace,
}

/// The beginning of a batch's transaction.
struct Taken {
    has_turns: bool,
    timeline: Option<[u8; 16]>,
}

/// A batch's transaction. It begins with its first statement.
struct Turn<'a> {
    shared: &'a Shared,
    session: &'a PreparedClient,
    shards: &'a Turns,
    puts: Puts,
    progress: Lock<Progress>,
}

#[derive(Default)]
struct Progress {
    has_begun: bool,
    /// The fault after which the batch is decided again.
    fault: Option<Fault>,
    /// The rows that the batch has read.
    read: BTreeMap<Table, HashSet<Vec<u8>>>,
}

/// Takes the turns and begins a batch's transaction. Returns false if that failed; the session must
/// not be used then.
pub(super) fn begin(shared: &Shared, session: &PreparedClient, shards: &Turns) -> bool {
    let (puts, progress) = (Puts::MayReplace, Lock::default());
    let turn = Turn { shared, session, shards, puts, progress };
    turn.ask(async |_| Ok(())).is_ok()
}

/// A batch's place: the id of its writer, the number of the attempt, and its shards.
#[derive(Debug, Clone, Copy)]
pub(super) struct BatchId<'a> {
    pub(super) writer: &'a [u8; 16],
    pub(super) number: i64,
    pub(super) shards: &'a Turns,
}

/// Decides and writes one batch. The session may have begun the transaction already, with the turn of
/// the batch's first shard. The vault's is the last one, so it can still be taken.
pub(super) fn attempt(
    shared: &Shared,
    session: &PreparedClient,
    batch: BatchId<'_>,
    (puts, taken): (Puts, Option<Turns>),
    decide: &mut Decide<'_>,
) -> Result<Attempt, StorageFailure> {
    let progress = Lock::new(Progress { has_begun: taken.is_some(), ..Progress::default() });
    let rest: Turns = taken.iter().flat_map(|taken| batch.shards - taken).collect();
    let turn = Rows(Turn { shared, session, shards: batch.shards, puts, progress });
    let decided = turn.0.take(&rest).and_then(|()| decide(&turn)).and_then(|rows| {
        // A batch without reads also takes its turns before it writes: the outcome of a lost COMMIT
        // is known once they can be taken again.
        if !rows.is_empty() && !turn.0.progress().has_begun {
            turn.0.ask(async |_| Ok(()))?;
        }
        Ok(rows)
    });
    let Progress { has_begun, fault, read } = turn.0.progress.into_inner();
    let roll_back = || {
        if has_begun {
            session.roll_back();
        }
    };
    match (decided, fault) {
        (Err(_) | Ok(_), Some(fault)) => {
            roll_back();
            Ok(Attempt::Again(fault))
        }
        (Err(failure), None) => {
            roll_back();
            Err(failure)
        }
        (Ok(rows), None) if rows.is_empty() => {
            roll_back();
            Ok(Attempt::Written)
        }
        (Ok(rows), None) => {
            let is_new = |row: &RowChange| {
                puts == Puts::MayBeNew
                    && row.table.grows()
                    && !read.get(&row.table).is_some_and(|keys| keys.contains(&row.key))
            };
            let notifies = shared.has_notices.load(Ordering::Relaxed)
                && rows.iter().any(|row| concerns_other_processes(row.table, &row.key));
            let rows = RowSets::new(last_of_each(rows), is_new);
            Ok(write(shared, session, batch, (&rows, notifies))?)
        }
    }
}

/// Sends the rows, the mark of the batch and COMMIT together.
fn write(
    shared: &Shared,
    session: &PreparedClient,
    batch: BatchId<'_>,
    (rows, notifies): (&RowSets, bool),
) -> Result<Attempt, StorageFailure> {
    let (client, statements) = (&session.client, &session.statements);
    let BatchId { writer, number, shards } = batch;
    let mut refused = None;
    let mut is_notified = true;
    let written = session.run(async {
        let mark = statements.mark(client, (writer, number), shards);
        let write = statements.write(client, rows);
        let notify = async { if notifies { client.batch_execute(NOTIFY).await } else { Ok(()) } };
        let commit = client.batch_execute("COMMIT");
        let (mark, write, notify, commit) = tokio::join!(biased; mark, write, notify, commit);
        // After an error in an earlier statement, COMMIT acts as ROLLBACK.
        refused = mark.and(write).err();
        is_notified = notify.is_ok();
        commit
    });
    let refused = refused.map(|error| Fault::of(&error));
    match (written, refused) {
        // Notices only save time: the next attempt leaves them out.
        (Ok(()), None) if !is_notified => {
            shared.has_notices.store(false, Ordering::Relaxed);
            Ok(Attempt::Again(Fault::Conflict))
        }
        (Ok(()), None) => {
            shared.count_batch();
            Ok(Attempt::Written)
        }
        (_, Some(Fault::Conflict)) | (Err(Fault::Conflict), None) => {
            Ok(Attempt::Again(Fault::Conflict))
        }
        (_, Some(Fault::Refused(refusal))) => Err(refusal.failure()),
        // Also after a refusal of COMMIT itself: its code does not say whether it took effect.
        (_, Some(Fault::Lost(_))) | (Err(Fault::Lost(_) | Fault::Refused(_)), None) => {
            Ok(Attempt::Unknown)
        }
    }
}

/// A statement writes a row once, so only the last change of each row is kept. The rows of a batch are
/// sorted, and each is there once.
fn last_of_each(rows: Vec<RowChange>) -> Vec<RowChange> {
    if rows.is_sorted_by(|one, next| (one.table, &one.key) < (next.table, &next.key)) {
        return rows;
    }
    let mut last = BTreeMap::new();
    for RowChange { table, key, value } in rows {
        last.insert((table, key), value);
    }
    let row = |((table, key), value)| RowChange { table, key, value };
    last.into_iter().map(row).collect()
}

pub(super) fn replaced() -> StorageFailure {
    StorageFailure::Database(
        String::from("another vault was put in the place of this one"),
        "start the program again",
    )
}

impl Turn<'_> {
    fn progress(&self) -> std::sync::MutexGuard<'_, Progress> {
        self.progress.lock()
    }

    /// Begins the transaction with this statement, after the turns are taken.
    fn begin<T>(
        &self,
        statement: &impl AsyncFn(&PreparedClient) -> Result<T, Error>,
    ) -> Result<(Taken, T), Fault> {
        let PreparedClient { client, statements, .. } = self.session;
        self.session.run(async {
            let (begun, has_turns, timeline, output) = tokio::join!(biased;
                client.batch_execute(BEGIN),
                statements.take_turns(client, self.shards),
                statements.timeline(client),
                statement(self.session),
            );
            begun?;
            Ok((Taken { has_turns: has_turns?, timeline: timeline? }, output?))
        })
    }

    /// Takes further turns of a transaction that has begun.
    fn take(&self, rest: &Turns) -> Result<(), StorageFailure> {
        let take = async |session: &PreparedClient| {
            session.statements.take_turns(&session.client, rest).await
        };
        if rest.is_empty() || self.ask(take)? { Ok(()) } else { Err(no_turns()) }
    }

    /// Checks that the vault is still the same and has these shards.
    fn check(&self, taken: &Taken) -> Result<(), StorageFailure> {
        let timeline = taken.timeline.ok_or(Fault::Refused(Refusal::NoTables))?;
        if timeline != self.shared.timeline {
            return Err(replaced());
        }
        if !taken.has_turns {
            return Err(no_turns());
        }
        Ok(())
    }
}

fn no_turns() -> StorageFailure {
    StorageFailure::Damaged(String::from("the turns of the shards"))
}

impl Ask for Turn<'_> {
    fn ask<T>(
        &self,
        statement: impl AsyncFn(&PreparedClient) -> Result<T, Error>,
    ) -> Result<T, StorageFailure> {
        let mut progress = self.progress();
        let asked = if progress.has_begun {
            self.session.run(statement(self.session))
        } else {
            progress.has_begun = true;
            match self.begin(&statement) {
                Ok((taken, output)) => return self.check(&taken).map(|()| output),
                Err(fault) => Err(fault),
            }
        };
        asked.map_err(|fault| {
            let (kept, failure) = match fault {
                Fault::Conflict => (Some(Fault::Conflict), Fault::Conflict.failure()),
                Fault::Lost(why) => (Some(Fault::Lost(why)), StorageFailure::Unavailable(why)),
                Fault::Refused(refusal) => (None, refusal.failure()),
            };
            progress.fault = kept;
            failure
        })
    }

    fn refuses_rows_that_exist(&self) -> bool {
        self.puts == Puts::MayBeNew
    }

    fn note(&self, table: Table, key: &[u8]) {
        self.progress().read.entry(table).or_default().insert(key.to_vec());
    }
}
