//! Reads of the newest rows, without a snapshot.

use crate::store::alarm::Alarm;
use crate::store::engine::{BaseNumber, NewestRows};
use crate::store::epochs::EpochGuard;
use crate::store::failure::StorageFailure;
use crate::store::handle::{Inner, Store};
use crate::store::tables::Table;

/// The newest rows. Two reads may see two moments. Reads from a networked engine do not block the
/// thread.
pub struct Newest {
    rows: NewestRows,
    alarm: Alarm,
    /// A key rotation waits until the rows that were read are opened.
    _epoch: EpochGuard,
}

impl Newest {
    /// For an operation that reads once, or whose reads need no common moment.
    pub fn of(store: &Store) -> Result<Self, StorageFailure> {
        let Inner { engine, alarm, epochs, .. } = store.0.as_ref();
        // Take the epoch before the rows, as for a snapshot.
        let epoch = epochs.current();
        let rows = engine.newest().map_err(|failure| alarm.sound(failure))?;
        Ok(Self { rows, alarm: alarm.clone(), _epoch: epoch })
    }

    /// The rows on the disk, for [`crate::store::Change::expect_new`].
    pub fn base(&self) -> BaseNumber {
        match &self.rows {
            NewestRows::AtOnce(rows) => rows.base(),
            NewestRows::Fetched(_) => BaseNumber::default(),
        }
    }

    /// The values of several keys at one moment, in their order.
    pub async fn values(
        &self,
        places: Vec<(Table, Vec<u8>)>,
    ) -> Result<Vec<Option<Vec<u8>>>, StorageFailure> {
        self.rows.fetch(places).await.map_err(|failure| self.alarm.sound(failure))
    }

    pub async fn value(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StorageFailure> {
        if let NewestRows::AtOnce(rows) = &self.rows {
            return rows.get(table, key).map_err(|failure| self.alarm.sound(failure));
        }
        let mut values = self.values(vec![(table, key.to_vec())]).await?;
        Ok(values.pop().flatten())
    }
}

opaque_debug!(Newest);
