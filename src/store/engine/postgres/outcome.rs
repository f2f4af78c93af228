//! Finds out whether a batch was written when its connection ended during COMMIT.
//!
//! The writer's row decides: a batch writes it together with its rows. If the row does not name the
//! batch, this module writes a fence into it. A COMMIT that is still on its way then fails, because
//! its transaction's snapshot is older than the fence. Taking the turn first waits until the old
//! transaction has ended.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::bounds::{DATABASE_OUTCOME_MAX, DATABASE_OUTCOME_PAUSE};
use crate::store::engine::postgres::dial::Use;
use crate::store::engine::postgres::faults::{Fault, Refusal};
use crate::store::engine::postgres::prepared::PreparedClient;
use crate::store::engine::postgres::shared::Shared;
use crate::store::engine::postgres::turn::begin_text;
use crate::store::engine::postgres::wait::wait;
use crate::store::failure::StorageFailure;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Written,
    NotWritten,
}

/// Asks until the database answers, and returns the connection that answered. A failure means that
/// the outcome stays unknown; it ends the process, like a failed disk sync.
pub(super) fn find_out(
    shared: &Shared,
    writer: (&[u8; 16], i64),
) -> Result<(Outcome, PreparedClient), StorageFailure> {
    shared.is_in_doubt.store(true, Ordering::Relaxed);
    let found = find_out_within(shared, writer, DATABASE_OUTCOME_MAX);
    shared.is_in_doubt.store(false, Ordering::Relaxed);
    found
}

pub(super) fn find_out_within(
    shared: &Shared,
    writer: (&[u8; 16], i64),
    at_most: Duration,
) -> Result<(Outcome, PreparedClient), StorageFailure> {
    let begun = Instant::now();
    loop {
        let asked = shared
            .connect(Use::Writing)
            .and_then(|session| ask(shared, &session, writer).map(|outcome| (outcome, session)));
        match asked {
            Ok(found) => return Ok(found),
            Err(Fault::Refused(Refusal::NoTables)) => {
                return Err(Fault::Refused(Refusal::NoTables).failure());
            }
            Err(Fault::Conflict | Fault::Lost(_) | Fault::Refused(_)) => (),
        }
        if begun.elapsed() >= at_most || shared.is_ending.load(Ordering::Relaxed) {
            return Err(StorageFailure::Database(
                String::from(
                    "the connection ended while a batch was written, and the database did not say \
                     whether it is there",
                ),
                "start the program again when the database is back; the batch is there whole or not \
                 at all",
            ));
        }
        let pause = std::future::pending::<()>();
        wait(pause, DATABASE_OUTCOME_PAUSE);
    }
}

fn ask(
    shared: &Shared,
    session: &PreparedClient,
    (writer, batch): (&[u8; 16], i64),
) -> Result<Outcome, Fault> {
    let (client, statements) = (&session.client, &session.statements);
    let found = session.run(async {
        let beginning = client.batch_execute(begin_text(shared));
        let outcome = statements.outcome(client, writer);
        let (begun, outcome) = tokio::join!(biased; beginning, outcome);
        begun?;
        outcome
    })?;
    if let Some((number, Some(sequence))) = found
        && number == batch
    {
        session.roll_back();
        shared.note(sequence);
        return Ok(Outcome::Written);
    }
    session.run(async {
        let fence = statements.fence(client, writer, batch);
        let commit = client.batch_execute("COMMIT");
        let (fence, commit) = tokio::join!(biased; fence, commit);
        fence.and(commit)
    })?;
    Ok(Outcome::NotWritten)
}
