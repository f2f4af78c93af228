//! The state that rotations keep in memory.

use std::sync::atomic::AtomicU64;

use tokio::sync::Notify;

use crate::crypto::KeyTransfer;

/// Locks and signals of rotations. `begun` wakes the background task.
#[derive(Debug, Default)]
pub(in crate::app) struct Rotations {
    pub(super) begun: Notify,
    /// Records that the current phase of the current rotation has looked at.
    pub(in crate::app) looked_at: AtomicU64,
    /// One replacement of the master key at a time.
    pub(super) master: tokio::sync::Mutex<()>,
    pub(super) handover: std::sync::Mutex<Option<KeyTransfer>>,
    /// One write of counted uses at a time: the next one then finds a complete count in the file.
    pub(super) uses: tokio::sync::Mutex<()>,
}
