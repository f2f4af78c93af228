//! The file that a step of a migration reads.

use crate::crypto::{MasterKey, Random};
use crate::store::snapshot::Snapshot;

/// The file before a step, and the keys and the randomness that the step may need.
pub(super) struct OldFile<'a> {
    pub(super) snapshot: &'a Snapshot,
    /// `None` for a copy in memory whose keys are never opened.
    pub(super) master: Option<&'a MasterKey>,
    pub(super) random: &'a Random,
}
