//! The rows of the data file at one moment: a read transaction of redb with its tables opened once.

use std::ops::{Bound, RangeBounds as _};

use redb::{ReadOnlyTable, ReadableTableMetadata as _, TableDefinition, TableError};

use crate::store::engine::local::database::{GuardedDatabase, guard, invalid_page};
use crate::store::engine::{BaseNumber, Order, Row};
use crate::store::failure::StorageFailure;
use crate::store::tables::{KeyRange, Table};

type OpenTable = ReadOnlyTable<&'static [u8], &'static [u8]>;
type Definition = TableDefinition<'static, &'static [u8], &'static [u8]>;

pub(super) struct Base {
    /// In the order of [`Table::ALL`]. `None` for a table that the file lacks, which counts as empty.
    tables: Vec<Option<OpenTable>>,
    pub(super) number: BaseNumber,
}

/// Rows of a range, in the requested order.
pub(super) type BaseRows = Box<dyn Iterator<Item = Result<Row, StorageFailure>>>;

pub(in crate::store) const fn definition(table: Table) -> Definition {
    TableDefinition::new(table.name())
}

impl Base {
    pub(super) fn open(database: &GuardedDatabase) -> Result<Self, StorageFailure> {
        let transaction = database.begin_read()?;
        let open = |table: &Table| match transaction.open_table(definition(*table)) {
            Ok(table) => Ok(Some(table)),
            Err(TableError::TableDoesNotExist(_)) => Ok(None),
            Err(other) => Err(StorageFailure::from(other)),
        };
        let tables = guard(|| Table::ALL.iter().map(open).collect::<Result<_, _>>())?;
        Ok(Self { tables, number: BaseNumber::next() })
    }

    /// Returns true if the file has all tables. A new vault's file has none.
    pub(super) fn is_complete(&self) -> bool {
        self.tables.iter().all(Option::is_some)
    }

    pub(super) fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StorageFailure> {
        let Some(table) = self.table(table) else { return Ok(None) };
        guard(|| Ok(table.get(key)?.map(|value| value.value().to_vec())))
    }

    /// The range must not be empty.
    pub(super) fn rows(&self, range: &KeyRange, order: Order) -> Result<BaseRows, StorageFailure> {
        let Some(table) = self.table(range.table()) else {
            return Ok(Box::new(std::iter::empty()));
        };
        let mut rows = guard(|| Ok::<_, StorageFailure>(table.range::<&[u8]>(range.bounds())?))?;
        let (from, to) = range.bounds();
        let mut left = (from.map(<[u8]>::to_vec), to.map(<[u8]>::to_vec));
        Ok(Box::new(std::iter::from_fn(move || {
            let next = || {
                let entry = match order {
                    Order::Ascending => rows.next(),
                    Order::Descending => rows.next_back(),
                };
                let Some((key, value)) = entry.transpose()? else { return Ok(None) };
                let key = key.value().to_vec();
                // Misplaced pages show rows of other ranges, or form cycles.
                if !left.contains(&key) {
                    return Err(invalid_page());
                }
                match order {
                    Order::Ascending => left.0 = Bound::Excluded(key.clone()),
                    Order::Descending => left.1 = Bound::Excluded(key.clone()),
                }
                Ok(Some((key, value.value().to_vec())))
            };
            guard(next).transpose()
        })))
    }

    /// The number of all rows, from redb's own counters; 0 if they cannot be read.
    pub(super) fn len(&self) -> u64 {
        let len = |table: &OpenTable| guard(|| Ok::<_, StorageFailure>(table.len()?)).unwrap_or(0);
        let lengths = self.tables.iter().flatten().map(len);
        lengths.fold(0, u64::saturating_add)
    }

    fn table(&self, table: Table) -> Option<&OpenTable> {
        self.tables.get(table.index())?.as_ref()
    }
}
