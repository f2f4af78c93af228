//! The background task that continues rotations of keys, at the rate that the settings allow.

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use crate::app::{Error, Step, Vault, Walk};
use crate::bounds::{REENCRYPT_BATCH_MAX, REENCRYPT_LOOKS_MAX, ROTATION_PERIOD, ROTATION_WAIT};
use crate::log::{Event, Log, Value};

/// Continues rotations for as long as the server runs.
pub(in crate::cli) async fn rotate(vault: Arc<Vault>, per_second: usize, log: Log) {
    let mut walk = Walk::default();
    loop {
        let begun = vault.now();
        match vault.rotation().rotate_step(&mut walk).await {
            Ok(Step::Idle) => {
                tokio::select! {
                    () = vault.rotation().rotation_begun() => (),
                    () = tokio::time::sleep(ROTATION_PERIOD) => (),
                }
            }
            Ok(Step::Waiting) | Err(Error::Busy) => tokio::time::sleep(ROTATION_WAIT).await,
            Ok(Step::Walked { looked_at, written }) => {
                let pause = pause(looked_at, written, per_second);
                tokio::time::sleep(pause.saturating_sub(vault.now().since(begun))).await;
            }
            Ok(Step::MasterReplaced) => log.event(Event::info("master_key_replaced")),
            Ok(Step::Entered(scope, phase)) => {
                let event = scoped(Event::info("rotation"), scope);
                log.event(event.with("phase", Value::Name(phase.name())));
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

/// The time that a batch may take at this rate. Reading a row costs a fraction of writing one.
fn pause(looked_at: usize, written: usize, per_second: usize) -> Duration {
    let looks_for_one = REENCRYPT_LOOKS_MAX.div_ceil(REENCRYPT_BATCH_MAX);
    let cost = written.max(looked_at.div_ceil(looks_for_one));
    let cost = u32::try_from(cost).unwrap_or(u32::MAX);
    Duration::from_secs(1)
        .saturating_mul(cost)
        .checked_div(u32::try_from(per_second).unwrap_or(u32::MAX))
        .unwrap_or_default()
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

    #[test]
    fn what_is_written_is_paid_for_in_time() {
        assert_eq!(pause(32, 32, 1_000), Duration::from_millis(32));
        assert_eq!(pause(1_024, 0, 1_000), Duration::from_millis(128));
        assert_eq!(pause(0, 0, 1_000), Duration::ZERO);
    }
}
