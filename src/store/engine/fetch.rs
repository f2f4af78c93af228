//! Reads that do not block a thread.

use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;

use crate::store::engine::Read;
use crate::store::failure::StorageFailure;
use crate::store::tables::Table;

/// The values of the requested keys, in their order.
pub type Values = Vec<Option<Vec<u8>>>;

pub type Fetched = Pin<Box<dyn Future<Output = Result<Values, StorageFailure>> + Send>>;

pub trait Fetch: Send + Sync {
    /// The values of these keys at one moment: the time of the call or later, or the snapshot's own
    /// time in an engine whose snapshots cost nothing.
    fn fetch(&self, places: Vec<(Table, Vec<u8>)>) -> Fetched;

    /// The rows of an engine that answers without waiting; `None` for a networked one.
    fn at_once(&self) -> Option<&dyn Read> {
        None
    }
}

/// For an engine that answers at once.
pub(super) struct AtOnce(pub(super) Arc<dyn Read>);

impl Fetch for AtOnce {
    fn fetch(&self, places: Vec<(Table, Vec<u8>)>) -> Fetched {
        let keys: Vec<_> = places.iter().map(|(table, key)| (*table, key.as_slice())).collect();
        Box::pin(ready(self.0.get_many(&keys)))
    }

    fn at_once(&self) -> Option<&dyn Read> {
        Some(self.0.as_ref())
    }
}
