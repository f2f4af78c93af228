//! The background task that continues rotations of keys. It is as fast as the vault can be while no
//! requests come, and leaves most of the time to them while they do.

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use crate::app::{Authority, Error, RotationProgress, Step, Vault, Walk};
use crate::bounds::{
    REENCRYPT_BATCH_MAX, REENCRYPT_LOADED_PER_SECOND, REENCRYPT_LOOKS_MAX,
    REENCRYPT_REST_FOR_REQUEST, ROTATION_NEWS_PERIOD, ROTATION_PERIOD, ROTATION_WAIT,
};
use crate::domain::time::Timestamp;
use crate::http::Requests;
use crate::log::{Event, Log, Value};

/// The speed of rotations.
#[derive(Debug, Clone)]
pub struct RotationPace {
    /// The maximum of the settings.
    pub per_second_max: usize,
    /// The requests that a rotation leaves time to.
    pub requests: Arc<Requests>,
}

pub async fn rotate(vault: Arc<Vault>, by: Authority, pace: RotationPace, log: Log) {
    let mut walk = Walk::default();
    let mut answered = pace.requests.answered();
    let mut news_at = vault.now();
    loop {
        let begun = vault.now();
        match vault.rotation().by(by).rotate_step(&mut walk).await {
            Ok(Step::Idle) => {
                tokio::select! {
                    () = vault.rotation().rotation_begun() => (),
                    () = tokio::time::sleep(ROTATION_PERIOD) => (),
                }
            }
            Ok(Step::Waiting) | Err(Error::Busy) => tokio::time::sleep(ROTATION_WAIT).await,
            Ok(Step::Walked { looked_at, written }) => {
                let now = pace.requests.answered();
                let batch = Batch {
                    records: cost(looked_at, written),
                    took: vault.now().since(begun),
                    requests: now.saturating_sub(answered),
                };
                answered = now;
                tokio::time::sleep(batch.rest(pace.per_second_max)).await;
                news_at = tell(&vault, &log, news_at);
            }
            Ok(Step::MasterReplaced) => log.event(Event::info("master_key_replaced")),
            Ok(Step::Entered(scope, phase)) => {
                let event = scoped(Event::info("rotation"), scope);
                log.event(event.with("phase", Value::Name(phase.as_str())));
            }
            Ok(Step::Finished(scope, 0)) => {
                log.event(scoped(Event::info("rotation_finished"), scope));
            }
            Ok(Step::Finished(scope, unopened)) => {
                let event = scoped(Event::error("rotation_left_records"), scope);
                log.event(event.with("records", Value::Count(unopened)));
            }
            // The store has failed or is closing: the process is about to end.
            Err(Error::Stopped | Error::Storage(_)) => return,
            // The rotation continues when the disk has free space again.
            Err(Error::ReadOnly(_)) => tokio::time::sleep(ROTATION_PERIOD).await,
            Err(_) => {
                log.event(Event::error("rotation_failed"));
                tokio::time::sleep(ROTATION_PERIOD).await;
            }
        }
    }
}

/// Logs the progress of a long rotation, and returns the time of the last such line.
fn tell(vault: &Vault, log: &Log, last: Timestamp) -> Timestamp {
    let now = vault.now();
    if now.since(last) < ROTATION_NEWS_PERIOD {
        return last;
    }
    if let Ok(RotationProgress { percent, left: Some(left), .. }) = vault.rotation().progress() {
        let event = Event::info("rotation_progress").with("percent", Value::Count(percent));
        log.event(event.with("left", Value::Duration(left)));
    }
    now
}

/// A batch that a rotation has written.
#[derive(Debug, Clone, Copy)]
struct Batch {
    records: usize,
    took: Duration,
    /// The requests that were answered since the batch before.
    requests: u64,
}

impl Batch {
    /// The rest after the batch: some time for each request, but not so long that the rotation is
    /// slower than under load. The maximum of the settings may demand a longer one.
    fn rest(self, per_second_max: usize) -> Duration {
        let requests = u32::try_from(self.requests).unwrap_or(u32::MAX);
        let wanted = REENCRYPT_REST_FOR_REQUEST.saturating_mul(requests);
        let slowest = self.time_at(REENCRYPT_LOADED_PER_SECOND).saturating_sub(self.took);
        let fastest = self.time_at(per_second_max).saturating_sub(self.took);
        wanted.min(slowest).max(fastest)
    }

    /// The time that the batch takes at this rate.
    fn time_at(self, per_second: usize) -> Duration {
        let records = u32::try_from(self.records).unwrap_or(u32::MAX);
        Duration::from_secs(1)
            .saturating_mul(records)
            .checked_div(u32::try_from(per_second).unwrap_or(u32::MAX))
            .unwrap_or_default()
    }
}

/// The batch in records that were written. Reading a row costs a fraction of writing one.
fn cost(looked_at: usize, written: usize) -> usize {
    let looks_for_one = REENCRYPT_LOOKS_MAX.div_ceil(REENCRYPT_BATCH_MAX);
    written.max(looked_at.div_ceil(looks_for_one))
}

/// The server's own keys have no tenant.
fn scoped(event: Event, scope: [u8; 16]) -> Event {
    match Uuid::from_bytes(scope) {
        tenant if tenant.is_nil() => event.with("of", Value::Name("server")),
        tenant => event.with("tenant", Value::Id(tenant)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_MAXIMUM: usize = 1_000_000;

    #[track_caller]
    fn check(records: usize, took: u64, requests: u64, per_second_max: usize, rest: u64) {
        let batch = Batch { records, took: Duration::from_millis(took), requests };
        let rest = Duration::from_millis(rest);
        assert_eq!(batch.rest(per_second_max), rest, "{batch:?} at {per_second_max}");
    }

    #[test]
    fn a_rotation_rests_for_each_request() {
        check(128, 8, 0, NO_MAXIMUM, 0);
        check(128, 8, 1, NO_MAXIMUM, 10);
        check(128, 8, 11, NO_MAXIMUM, 110);
        // 1,000 records a second, however many requests there are.
        check(128, 8, 13, NO_MAXIMUM, 120);
        check(128, 8, u64::MAX, NO_MAXIMUM, 120);
        // A disk that is slower than this is not left alone for longer.
        check(128, 500, 99, NO_MAXIMUM, 0);
        check(0, 1, 99, NO_MAXIMUM, 0);
    }

    #[test]
    fn the_maximum_of_the_settings_is_kept_with_and_without_requests() {
        check(128, 8, 0, 2_000, 56);
        check(128, 8, 10, 2_000, 100);
        check(128, 8, 10, 500, 248);
        check(128, 300, 0, 500, 0);
        check(1, 0, 0, 1, 1_000);
    }

    #[test]
    fn a_row_that_is_only_read_costs_an_eighth() {
        assert_eq!([cost(32, 32), cost(1_024, 0), cost(1_024, 7), cost(0, 0)], [32, 128, 128, 0]);
    }
}
