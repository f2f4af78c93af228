//! A consistent view of the rows at one moment. Readers and the writer do not block each other.

use std::sync::Arc;

use crate::metrics::Progress;
use crate::store::alarm::Alarm;
use crate::store::engine::departure::Departure;
use crate::store::engine::{BaseNumber, Moment, Order, Read, Row};
use crate::store::epochs::EpochGuard;
use crate::store::failure::StorageFailure;
use crate::store::shards::Shards;
use crate::store::tables::{KeyRange, Table, meta};

#[derive(Clone)]
pub struct Snapshot {
    rows: Arc<dyn Read>,
    alarm: Alarm,
    epoch: EpochGuard,
    /// Counts the rows that are read page by page.
    progress: Option<Arc<Progress>>,
}

/// The rows of a range, read page by page on demand.
pub struct Rows {
    snapshot: Snapshot,
    /// The unread part of the range; `None` at its end.
    rest: Option<KeyRange>,
    order: Order,
    page: std::vec::IntoIter<Row>,
    page_max: usize,
}

/// The size of a range's first page. Each further page is twice as large, up to the maximum.
const PAGE_ROWS_MIN: usize = 16;
const PAGE_ROWS_MAX: usize = 512;

impl Snapshot {
    /// Every final failure of a read raises `alarm`, because the process must end then.
    pub(super) const fn new(rows: Arc<dyn Read>, alarm: Alarm, epoch: EpochGuard) -> Self {
        Self { rows, alarm, epoch, progress: None }
    }

    /// Counts the rows that are read page by page. The total is the approximate number of all rows,
    /// unless a larger one is set.
    #[must_use]
    pub fn counted(mut self, progress: &Arc<Progress>) -> Self {
        let (_, total) = progress.read();
        progress.set_total(total.max(self.rows.rows_about()));
        self.progress = Some(Arc::clone(progress));
        self
    }

    /// The epoch of the snapshot, for derived values that outlive it.
    pub fn epoch(&self) -> EpochGuard {
        self.epoch.clone()
    }

    /// The reason why the history has left its archive.
    pub fn departed(&self) -> Option<Departure> {
        self.rows.departed()
    }

    pub fn moment(&self) -> Result<Moment, StorageFailure> {
        self.rows.moment().map_err(|failure| self.alarm.sound(failure))
    }

    /// The rows on the disk, for [`crate::store::Change::expect_new`].
    pub fn base(&self) -> BaseNumber {
        self.rows.base()
    }

    /// The assignment of tenants to shards.
    pub fn shards(&self) -> Result<Shards, StorageFailure> {
        Shards::decode(self.value(Table::Meta, meta::SHARDS)?)
    }

    pub fn value(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StorageFailure> {
        self.rows.get(table, key).map_err(|failure| self.alarm.sound(failure))
    }

    /// The values of several keys, in their order. A networked engine needs one round trip.
    pub fn values(&self, keys: &[(Table, &[u8])]) -> Result<Vec<Option<Vec<u8>>>, StorageFailure> {
        self.rows.get_many(keys).map_err(|failure| self.alarm.sound(failure))
    }

    /// As [`Snapshot::values`], for owned keys.
    pub fn values_at(
        &self,
        places: &[(Table, Vec<u8>)],
    ) -> Result<Vec<Option<Vec<u8>>>, StorageFailure> {
        let keys: Vec<_> = places.iter().map(|(table, key)| (*table, key.as_slice())).collect();
        self.values(&keys)
    }

    pub fn first(&self, range: &KeyRange, count_max: usize) -> Result<Vec<Row>, StorageFailure> {
        if count_max == 0 {
            return Ok(Vec::new());
        }
        self.rows(range, Order::Ascending, count_max.min(PAGE_ROWS_MAX))?.take(count_max).collect()
    }

    pub fn range(&self, range: &KeyRange) -> Result<Rows, StorageFailure> {
        self.rows(range, Order::Ascending, PAGE_ROWS_MIN)
    }

    /// The rows of a range, last one first.
    pub fn range_backwards(&self, range: &KeyRange) -> Result<Rows, StorageFailure> {
        self.rows(range, Order::Descending, PAGE_ROWS_MIN)
    }

    fn rows(
        &self,
        range: &KeyRange,
        order: Order,
        page_max: usize,
    ) -> Result<Rows, StorageFailure> {
        let page = Vec::new().into_iter();
        let rest = Some(range.clone());
        let mut rows = Rows { snapshot: self.clone(), rest, order, page, page_max };
        rows.read_page()?;
        Ok(rows)
    }

    /// Reads all rows of the table.
    pub fn len(&self, table: Table) -> Result<u64, StorageFailure> {
        let mut rows = self.range(&table.whole())?;
        rows.try_fold(0_u64, |count, row| row.map(|_| count.saturating_add(1)))
    }

    /// The sum of the numbers in a range of [`Table::Counts`]; `None` if it has `max` rows or more.
    pub fn sum(&self, range: &KeyRange, max: usize) -> Result<Option<i64>, StorageFailure> {
        let rows = self.first(range, max)?;
        let is_whole = rows.len() < max;
        let sum = rows.into_iter().try_fold(0_i64, |sum, (_, value)| {
            decode_count(Some(value)).map(|count| sum.saturating_add(count))
        })?;
        Ok(is_whole.then_some(sum))
    }

    /// The sum of these numbers in [`Table::Counts`].
    pub fn total(&self, keys: &[Vec<u8>]) -> Result<i64, StorageFailure> {
        let keys: Vec<_> = keys.iter().map(|key| (Table::Counts, key.as_slice())).collect();
        self.values(&keys)?.into_iter().try_fold(0_i64, |sum, value| {
            decode_count(value).map(|count| sum.saturating_add(count))
        })
    }

    /// A number in [`Table::Counts`].
    pub fn count(&self, key: &[u8]) -> Result<i64, StorageFailure> {
        decode_count(self.value(Table::Counts, key)?)
    }
}

impl Rows {
    fn read_page(&mut self) -> Result<(), StorageFailure> {
        let Some(rest) = self.rest.take() else { return Ok(()) };
        let page = self.snapshot.rows.page(&rest, self.order, self.page_max);
        let page = page.map_err(|failure| self.snapshot.alarm.sound(failure))?;
        self.page_max = self.page_max.saturating_mul(2).min(PAGE_ROWS_MAX);
        if !page.is_last {
            let (last, _) = page.rows.last().ok_or(StorageFailure::Impossible("an empty page"))?;
            self.rest = Some(match self.order {
                Order::Ascending => rest.starting_after(last),
                Order::Descending => rest.ending_before(last),
            });
        }
        if let Some(progress) = &self.snapshot.progress {
            progress.add(page.rows.len());
        }
        self.page = page.rows.into_iter();
        Ok(())
    }
}

impl Iterator for Rows {
    type Item = Result<Row, StorageFailure>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.page.len() == 0
            && let Err(failure) = self.read_page()
        {
            return Some(Err(failure));
        }
        self.page.next().map(Ok)
    }
}

opaque_debug!(Snapshot);

opaque_debug!(Rows);

/// A number that was never written is 0. One that does not decode is damage: treating it as 0 would
/// write a wrong number back.
pub(super) fn decode_count(value: Option<impl AsRef<[u8]>>) -> Result<i64, StorageFailure> {
    let Some(value) = value else { return Ok(0) };
    let bytes = value.as_ref().try_into().ok();
    bytes.map(i64::from_be_bytes).ok_or_else(damaged_count)
}

pub(super) fn damaged_count() -> StorageFailure {
    StorageFailure::Damaged(String::from("a number in the table of counts makes no sense"))
}
