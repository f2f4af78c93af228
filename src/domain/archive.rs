//! The settings of the archive.

use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchivePlan {
    pub directory: PathBuf,
    /// The longest time that a change waits for its archive file.
    pub every: Duration,
}
