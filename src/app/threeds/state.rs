//! The state of 3-D Secure in memory.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::app::threeds::asking::Asking;
use crate::app::threeds::directory_servers::DirectoryServers;
use crate::domain::time::Timestamp;
use crate::lock::Lock;
use crate::threeds::ranges::DirectoryRanges;
use crate::threeds::scheme::Scheme;

pub(super) type AllRanges = HashMap<Scheme, Arc<DirectoryRanges>>;

#[derive(Debug, Default)]
pub(in crate::app) struct ThreedsState {
    pub(super) servers: OnceLock<Arc<dyn DirectoryServers>>,
    pub(super) retention: OnceLock<Duration>,
    pub(super) asking: Asking,
    pub(super) refreshing: tokio::sync::Mutex<()>,
    pub(super) ranges: Lock<AllRanges>,
    pub(super) test_tenant: Lock<Option<TestTenant>>,
    /// The number of sessions, and the time of the count.
    pub(in crate::app) counted: Lock<Option<(Timestamp, u64)>>,
}

/// The result of the last search for a test tenant, and the access generation that it holds for.
#[derive(Debug, Clone, Copy)]
pub(super) struct TestTenant {
    pub(super) generation: u64,
    pub(super) exists: bool,
}

impl ThreedsState {
    pub(super) fn ranges(&self) -> std::sync::MutexGuard<'_, AllRanges> {
        self.ranges.lock()
    }
}
