//! A batch of changes as one transaction.
//!
//! The writers of all processes take turns: each transaction begins by locking an empty table.
//! Without the lock, transactions of several processes would fail each other: every batch changes
//! the vault's row, and REPEATABLE READ refuses to change a row that another transaction has
//! changed since the snapshot. That refusal also keeps each batch based on the one before it on a
//! database without such a lock. SERIALIZABLE would add nothing here, and makes each read take half
//! as long again.
//!
//! A batch takes three round trips: the lock, the reads, and all rows together with COMMIT. Changes
//! that come while a process waits for its turn join its batch.
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
use crate::store::engine::postgres::statements::{RowSets, State};
use crate::store::engine::postgres::view::{Ask, Rows};
use crate::store::engine::{Decide, RowChange};
use crate::store::failure::StorageFailure;
use crate::store::tables::{Table, concerns_other_processes};

const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ";
const BEGIN_AND_LOCK: &str =
    "BEGIN ISOLATION LEVEL REPEATABLE READ; LOCK TABLE strongroom_turn IN EXCLUSIVE MODE";

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

/// A batch's transaction. It begins with its first statement.
struct Turn<'a> {
    shared: &'a Shared,
    session: &'a PreparedClient,
    puts: Puts,
    progress: Lock<Progress>,
}

#[derive(Default)]
struct Progress {
    has_begun: bool,
    /// The fault after which the batch is decided again.
    fault: Option<Fault>,
    /// The rows that the batch has read.
    read: HashSet<(Table, Vec<u8>)>,
}

pub(super) fn begin_text(shared: &Shared) -> &'static str {
    if shared.has_turns.load(Ordering::Relaxed) { BEGIN_AND_LOCK } else { BEGIN }
}

/// Takes the turn and begins a batch's transaction. Returns false if that failed; the session must
/// not be used then.
pub(super) fn begin(shared: &Shared, session: &PreparedClient) -> bool {
    let turn = Turn { shared, session, puts: Puts::MayReplace, progress: Lock::default() };
    turn.ask(async |_| Ok(())).is_ok()
}

/// Decides and writes one batch. `writer` is the id of this process and the number of the attempt.
/// The session may have begun the transaction already.
pub(super) fn attempt(
    shared: &Shared,
    session: &PreparedClient,
    writer: (&[u8; 16], i64),
    (puts, has_begun): (Puts, bool),
    decide: &mut Decide<'_>,
) -> Result<Attempt, StorageFailure> {
    let progress = Lock::new(Progress { has_begun, ..Progress::default() });
    let turn = Rows(Turn { shared, session, puts, progress });
    let decided = decide(&turn).and_then(|rows| {
        // A batch without reads also begins its transaction before it writes: a fence only works
        // against a transaction that has a snapshot.
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
                    && !read.contains(&(row.table, row.key.clone()))
            };
            let notifies = shared.has_notices.load(Ordering::Relaxed)
                && rows.iter().any(|row| concerns_other_processes(row.table, &row.key));
            let rows = RowSets::new(last_of_each(rows), is_new);
            Ok(write(shared, session, writer, (&rows, notifies))?)
        }
    }
}

/// Sends the rows, the mark of the batch and COMMIT together.
fn write(
    shared: &Shared,
    session: &PreparedClient,
    (writer, batch): (&[u8; 16], i64),
    (rows, notifies): (&RowSets, bool),
) -> Result<Attempt, StorageFailure> {
    let (client, statements) = (&session.client, &session.statements);
    let mut marked = None;
    let mut refused = None;
    let mut is_notified = true;
    let written = session.run(async {
        let mark = statements.mark(client, writer, batch);
        let write = statements.write(client, rows);
        let notify = async { if notifies { client.batch_execute(NOTIFY).await } else { Ok(()) } };
        let commit = client.batch_execute("COMMIT");
        let (mark, write, notify, commit) = tokio::join!(biased; mark, write, notify, commit);
        // After an error in an earlier statement, COMMIT acts as ROLLBACK.
        match mark.and_then(|sequence| write.map(|()| sequence)) {
            Ok(sequence) => marked = Some(sequence),
            Err(error) => refused = Some(error),
        }
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
            shared.note(marked.unwrap_or_default());
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

/// A statement writes a row once, so only the last change of each row is kept.
fn last_of_each(rows: Vec<RowChange>) -> Vec<RowChange> {
    let mut last = BTreeMap::new();
    for RowChange { table, key, value } in rows {
        last.insert((table.number(), key), (table, value));
    }
    let row = |((_, key), (table, value))| RowChange { table, key, value };
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

    /// Begins the transaction with this statement, and checks that the vault is still the same.
    fn begin<T>(
        &self,
        statement: &impl AsyncFn(&PreparedClient) -> Result<T, Error>,
    ) -> Result<(Option<State>, T), Fault> {
        let session = self.session;
        session.run(async {
            let beginning = session.client.batch_execute(begin_text(self.shared));
            let state = session.statements.state(&session.client);
            let (begun, state, output) = tokio::join!(biased; beginning, state, statement(session));
            begun?;
            Ok((state?, output?))
        })
    }

    fn check(&self, state: Option<State>) -> Result<(), StorageFailure> {
        let state = state.ok_or(Fault::Refused(Refusal::NoTables))?;
        if state.timeline != self.shared.timeline {
            return Err(replaced());
        }
        self.shared.note(state.sequence);
        Ok(())
    }
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
                Ok((state, output)) => return self.check(state).map(|()| output),
                Err(fault) => Err(fault),
            }
        };
        asked.map_err(|fault| {
            let (kept, failure) = match fault {
                Fault::Conflict => (Some(Fault::Conflict), Fault::Conflict.failure()),
                Fault::Lost(why) => (Some(Fault::Lost(why)), StorageFailure::Unavailable(why)),
                // The database has no LOCK TABLE: the next attempt works without it.
                Fault::Refused(Refusal::Unsupported)
                    if self.shared.has_turns.swap(false, Ordering::Relaxed) =>
                {
                    (Some(Fault::Conflict), Fault::Conflict.failure())
                }
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
        self.progress().read.insert((table, key.to_vec()));
    }
}
