//! How the rest of the program learns that the file has failed, whoever noticed it first.

use std::sync::Arc;

use tokio::sync::watch;

use crate::store::failure::{Fatal, StorageFailure};

/// A handle; clones share one alarm, which sounds once and for good.
#[derive(Debug, Clone)]
pub(super) struct Alarm(Arc<watch::Sender<Option<Fatal>>>);

impl Alarm {
    /// Gives the failure back, for the one who met it. `Stopped` is only the echo of an earlier
    /// failure, whose own alarm says more.
    pub(super) fn sound(&self, failure: StorageFailure) -> StorageFailure {
        match failure {
            StorageFailure::Stopped => (),
            StorageFailure::Damaged(_)
            | StorageFailure::Full
            | StorageFailure::Impossible(_)
            | StorageFailure::Io(_)
            | StorageFailure::ReadOnly
            | StorageFailure::Removed(_) => self.end(Fatal::Storage(failure.duplicate())),
        }
        failure
    }

    /// The first cause stands; an echo gives way to it.
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
            Ok(Some(Fatal::Storage(failure))) => Fatal::Storage(failure.duplicate()),
            Ok(Some(Fatal::WriterPanicked)) => Fatal::WriterPanicked,
            // Neither occurs: the sender lives as long as `self`, and waited for was something.
            Ok(None) | Err(_) => std::future::pending().await,
        }
    }
}

impl Default for Alarm {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(None)))
    }
}
