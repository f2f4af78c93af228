//! Finds out whether a batch was written when its connection ended during COMMIT.
//!
//! The writer's row decides: a batch writes it together with its rows. The old transaction has its
//! turns until it ends. This module takes them first, so a COMMIT that was still on its way has been
//! carried out or can no longer be.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::bounds::{DATABASE_OUTCOME_MAX, DATABASE_OUTCOME_PAUSE};
use crate::store::engine::lane_of;
use crate::store::engine::postgres::dial::Use;
use crate::store::engine::postgres::faults::{Fault, Refusal};
use crate::store::engine::postgres::prepared::PreparedClient;
use crate::store::engine::postgres::shared::Shared;
use crate::store::engine::postgres::turn::{BEGIN, BatchId};
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
    batch: BatchId<'_>,
) -> Result<(Outcome, PreparedClient), StorageFailure> {
    let lane = lane_of(batch.shards);
    shared.in_doubt.lock().insert(lane);
    let found = find_out_within(shared, batch, DATABASE_OUTCOME_MAX);
    shared.in_doubt.lock().remove(&lane);
    found
}

pub(super) fn find_out_within(
    shared: &Shared,
    batch: BatchId<'_>,
    at_most: Duration,
) -> Result<(Outcome, PreparedClient), StorageFailure> {
    let begun = Instant::now();
    loop {
        let asked = shared
            .connect(Use::Writing)
            .and_then(|session| ask(shared, &session, batch).map(|outcome| (outcome, session)));
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

fn ask(shared: &Shared, session: &PreparedClient, batch: BatchId<'_>) -> Result<Outcome, Fault> {
    let (client, statements) = (&session.client, &session.statements);
    let newest = session.run(async {
        let (begun, turns, newest) = tokio::join!(biased;
            client.batch_execute(BEGIN),
            statements.take_turns(client, batch.shards),
            statements.outcome(client, batch.writer),
        );
        begun?;
        turns?;
        newest
    })?;
    session.roll_back();
    if newest == Some(batch.number) {
        shared.count_batch();
        return Ok(Outcome::Written);
    }
    Ok(Outcome::NotWritten)
}
