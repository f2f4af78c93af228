//! A layer: rows in memory that are in the log and not yet in the data file.
//!
//! Each row keeps the versions that snapshots may still read, by the sequence number of their
//! batch. A deletion is a version without a value.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::RwLockReadGuard;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::lock::SharedLock;
use crate::store::engine::local::log::Position;
use crate::store::engine::{Order, RowChange};
use crate::store::failure::StorageFailure;
use crate::store::tables::Table;

#[derive(Debug)]
pub(super) struct Layer {
    /// One map for each table, in the order of [`Table::ALL`].
    tables: Vec<SharedLock<Rows>>,
    bytes: AtomicUsize,
    /// The position of the first frame whose rows the layer may hold.
    start: Position,
    made: Instant,
}

type Rows = BTreeMap<Box<[u8]>, Versions>;

#[derive(Debug)]
struct Versions {
    newest: Version,
    /// Oldest first.
    older: Vec<Version>,
}

#[derive(Debug)]
struct Version {
    sequence: u64,
    value: Option<Box<[u8]>>,
}

/// A key and its value; `None` for a deletion.
pub(super) type LayerRow = (Vec<u8>, Option<Vec<u8>>);

/// `None` for a deleted row.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LayerValue(pub(super) Option<Vec<u8>>);

impl Layer {
    pub(super) fn new(start: Position) -> Self {
        let tables = Table::ALL.iter().map(|_| SharedLock::new(Rows::new())).collect();
        Self { tables, bytes: AtomicUsize::new(0), start, made: Instant::now() }
    }

    pub(super) const fn start(&self) -> Position {
        self.start
    }

    pub(super) const fn made(&self) -> Instant {
        self.made
    }

    /// The approximate memory of the rows.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes() == 0
    }

    /// Snapshots see the rows once their sequence number is published. Drops the versions that no
    /// snapshot from `oldest_live` on can read.
    pub(super) fn insert(
        &self,
        row: RowChange,
        sequence: u64,
        oldest_live: u64,
    ) -> Result<(), StorageFailure> {
        let RowChange { table, key, value } = row;
        let version = Version { sequence, value: value.map(Vec::into_boxed_slice) };
        let (mut added, mut removed) = (version.bytes(), 0);
        match self.table(table)?.write().entry(key.into_boxed_slice()) {
            std::collections::btree_map::Entry::Occupied(mut known) => {
                removed = known.get_mut().push(version, oldest_live);
            }
            std::collections::btree_map::Entry::Vacant(place) => {
                added = added.saturating_add(place.key().len()).saturating_add(ROW_BYTES);
                place.insert(Versions { newest: version, older: Vec::new() });
            }
        }
        // Only the writer changes the counter.
        let bytes = self.bytes().saturating_add(added).saturating_sub(removed);
        self.bytes.store(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// The row as a snapshot of this sequence number sees it; `None` if the layer lacks the row.
    pub(super) fn get(
        &self,
        table: Table,
        key: &[u8],
        sequence: u64,
    ) -> Result<Option<LayerValue>, StorageFailure> {
        if self.is_empty() {
            return Ok(None);
        }
        let rows = self.read(table)?;
        let version = rows.get(key).and_then(|versions| versions.at(sequence));
        Ok(version.map(|version| LayerValue(version.value.as_deref().map(<[u8]>::to_vec))))
    }

    /// The first rows of a range as a snapshot of this sequence number sees them, with deletions.
    pub(super) fn rows(
        &self,
        table: Table,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        order: Order,
        sequence: u64,
        count_max: usize,
    ) -> Result<Vec<LayerRow>, StorageFailure> {
        let rows = self.read(table)?;
        let visible = |(key, versions): (&[u8], &Versions)| {
            let value = versions.at(sequence)?.value.as_deref();
            Some((key.to_vec(), value.map(<[u8]>::to_vec)))
        };
        let range = rows.range::<[u8], _>(bounds).map(|(key, versions)| (key.as_ref(), versions));
        Ok(match order {
            Order::Ascending => range.filter_map(visible).take(count_max).collect(),
            Order::Descending => range.rev().filter_map(visible).take(count_max).collect(),
        })
    }

    /// Passes the newest version of every row to `each`, in key order. The layer must no longer be
    /// written.
    pub(super) fn for_each(
        &self,
        table: Table,
        mut each: impl FnMut(&[u8], Option<&[u8]>) -> Result<(), StorageFailure>,
    ) -> Result<(), StorageFailure> {
        let rows = self.read(table)?;
        rows.iter().try_for_each(|(key, versions)| each(key, versions.newest.value.as_deref()))
    }

    fn read(&self, table: Table) -> Result<RwLockReadGuard<'_, Rows>, StorageFailure> {
        Ok(self.table(table)?.read())
    }

    fn table(&self, table: Table) -> Result<&SharedLock<Rows>, StorageFailure> {
        self.tables.get(table.index()).ok_or(StorageFailure::Impossible("a layer lacks a table"))
    }
}

/// The approximate memory of a row besides its key and value.
const ROW_BYTES: usize = 96;

impl Versions {
    /// Adds the newest version and returns the bytes of the dropped ones.
    fn push(&mut self, version: Version, oldest_live: u64) -> usize {
        let before = std::mem::replace(&mut self.newest, version);
        self.older.push(before);
        // A version is needed if a live snapshot is older than the next version.
        let kept_from = self
            .older
            .iter()
            .skip(1)
            .chain([&self.newest])
            .position(|next| next.sequence > oldest_live);
        let dropped = kept_from.unwrap_or(self.older.len());
        self.older.drain(..dropped).map(|version| version.bytes()).sum()
    }

    fn at(&self, sequence: u64) -> Option<&Version> {
        let versions = std::iter::once(&self.newest).chain(self.older.iter().rev());
        versions.into_iter().find(|version| version.sequence <= sequence)
    }
}

impl Version {
    fn bytes(&self) -> usize {
        self.value.as_ref().map_or(0, |value| value.len()).saturating_add(size_of::<Self>())
    }
}
