//! Reads of the newest rows, without a snapshot.

use std::sync::Arc;

use crate::store::alarm::Alarm;
use crate::store::engine::Fetch;
use crate::store::epochs::EpochGuard;
use crate::store::failure::StorageFailure;
use crate::store::tables::Table;

/// The newest rows. Two reads may see two moments. The caller of an engine across a network waits
/// without blocking its thread.
pub struct Newest {
    rows: Arc<dyn Fetch>,
    alarm: Alarm,
    /// A rotation of keys waits until the rows that were read are opened.
    _epoch: EpochGuard,
}

impl Newest {
    pub(super) const fn new(rows: Arc<dyn Fetch>, alarm: Alarm, epoch: EpochGuard) -> Self {
        Self { rows, alarm, _epoch: epoch }
    }

    /// The values of several keys at one moment, in their order.
    pub async fn values(
        &self,
        places: Vec<(Table, Vec<u8>)>,
    ) -> Result<Vec<Option<Vec<u8>>>, StorageFailure> {
        self.rows.fetch(places).await.map_err(|failure| self.alarm.sound(failure))
    }

    pub async fn value(
        &self,
        table: Table,
        key: Vec<u8>,
    ) -> Result<Option<Vec<u8>>, StorageFailure> {
        let mut values = self.values(vec![(table, key)]).await?;
        Ok(values.pop().flatten())
    }
}

impl std::fmt::Debug for Newest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Newest")
    }
}
