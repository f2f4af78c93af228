//! The background task that removes the rows of deleted tenants.

use std::sync::Arc;

use crate::app::{DeletionStep, Error, Vault};
use crate::bounds::{DELETION_PAUSE, DELETION_PERIOD};
use crate::log::{Event, Log, Value};

/// Continues deletions for as long as the server runs.
pub(in crate::cli) async fn delete(vault: Arc<Vault>, log: Log) {
    loop {
        match vault.access().deletion().step().await {
            Ok(DeletionStep::Idle) => {
                tokio::select! {
                    () = vault.access().deletion().begun() => (),
                    () = tokio::time::sleep(DELETION_PERIOD) => (),
                }
            }
            Ok(DeletionStep::Removed(_)) | Err(Error::Busy) => {
                tokio::time::sleep(DELETION_PAUSE).await;
            }
            Ok(DeletionStep::Finished(tenant)) => {
                let event = Event::info("tenant_deleted");
                log.event(event.with("tenant", Value::Id(tenant.uuid())));
            }
            // The store has failed or is closing: the process is about to end.
            Err(Error::Stopped | Error::Storage(_)) => return,
            // The deletion continues when the disk has free space again.
            Err(Error::ReadOnly(_)) => tokio::time::sleep(DELETION_PERIOD).await,
            Err(_) => {
                log.event(Event::error("deletion_failed"));
                tokio::time::sleep(DELETION_PERIOD).await;
            }
        }
    }
}
