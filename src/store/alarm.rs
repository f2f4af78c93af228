//! Notifies the program that the store has failed, whichever thread noticed it.

use std::sync::Arc;

use tokio::sync::watch;

use crate::store::failure::{Fatal, StorageFailure};

/// Clones share one alarm, which is never reset.
#[derive(Debug, Clone)]
pub(super) struct Alarm(Arc<watch::Sender<Option<Fatal>>>);

impl Alarm {
    /// Raises the alarm and returns the failure, for the caller's own error. Transient failures do
    /// not raise it. Nor does `Stopped`: it follows an earlier failure, which has raised the alarm
    /// already.
    pub(super) fn sound(&self, failure: StorageFailure) -> StorageFailure {
        if !matches!(failure, StorageFailure::Stopped | StorageFailure::Unavailable(_)) {
            self.end(Fatal::Storage(failure.clone()));
        }
        failure
    }

    /// Keeps the first cause. `Stopped` is no cause, so a later failure replaces it.
    pub(super) fn end(&self, fatal: Fatal) {
        self.0.send_if_modified(|known| {
            let first = matches!(known, None | Some(Fatal::Storage(StorageFailure::Stopped)));
            if first {
                *known = Some(fatal);
            }
            first
        });
    }

    pub(super) fn has_sounded(&self) -> bool {
        self.0.borrow().is_some()
    }

    pub(super) async fn sounded(&self) -> Fatal {
        let mut fatal = self.0.subscribe();
        match fatal.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(fatal)) => fatal.clone(),
            // Unreachable: the sender lives as long as `self`, and `wait_for` returns a value.
            Ok(None) | Err(_) => std::future::pending().await,
        }
    }
}

impl Default for Alarm {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(None)))
    }
}
