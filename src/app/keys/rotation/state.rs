//! What rotations keep in memory.

use tokio::sync::Notify;

use crate::crypto::KeyTransfer;

/// Tells the background task that there is something to do.
#[derive(Debug, Default)]
pub(in crate::app) struct Rotations {
    pub(super) begun: Notify,
    /// One replacement of the master key at a time.
    pub(super) master: tokio::sync::Mutex<()>,
    pub(super) handover: std::sync::Mutex<Option<KeyTransfer>>,
    /// One writing of counted uses at a time: whoever comes next finds all that were counted.
    pub(super) uses: tokio::sync::Mutex<()>,
}
