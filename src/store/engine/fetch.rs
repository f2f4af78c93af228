//! Reads that do not block a thread.

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
}

/// The newest rows of an engine.
pub enum NewestRows {
    /// Of an engine that answers without waiting.
    AtOnce(Arc<dyn Read>),
    Fetched(Arc<dyn Fetch>),
}

impl NewestRows {
    /// As [`Fetch::fetch`].
    pub async fn fetch(&self, places: Vec<(Table, Vec<u8>)>) -> Result<Values, StorageFailure> {
        match self {
            Self::AtOnce(rows) => {
                let keys: Vec<_> = places.iter().map(|(table, key)| (*table, &**key)).collect();
                rows.get_many(&keys)
            }
            Self::Fetched(rows) => rows.fetch(places).await,
        }
    }
}
