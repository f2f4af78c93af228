//! Damage of single rows, table by table: random bytes seldom hit a row that is single in its kind.
//! The rows are changed as the storage engine would show them after damage of its pages.

use crate::clock::Clock;
use crate::store::tests::damage::{Kind, Sample};
use crate::store::tests::disk::{Dice, Image, TestDisk};
use crate::store::{Change, Store, Table};

type Row = (Vec<u8>, Vec<u8>);

/// The rows of every table of a stopped vault.
pub(super) struct Rows {
    image: Image,
    tables: Vec<(Table, Vec<Row>)>,
}

impl Rows {
    pub(super) fn read(image: &Image, _: &Clock) -> Self {
        let store = Store::on_disk(&TestDisk::holding(image.clone()), Change::new()).unwrap();
        let snapshot = store.snapshot().unwrap();
        let rows = |table: &Table| (*table, snapshot.first(&table.whole(), usize::MAX).unwrap());
        let tables = Table::ALL.iter().map(rows).collect();
        drop(snapshot);
        store.close();
        Self { image: image.clone(), tables }
    }

    pub(super) fn of(&self, table: Table) -> Vec<(Vec<u8>, Vec<u8>)> {
        self.tables.iter().find(|(it, _)| *it == table).unwrap().1.clone()
    }

    pub(super) fn without(&self, table: Table, key: &[u8]) -> Image {
        self.changed(Change::new().delete(table, key.to_vec()))
    }

    fn changed(&self, change: Change) -> Image {
        let disk = TestDisk::holding(self.image.clone());
        let store = Store::on_disk(&disk, Change::new()).unwrap();
        store.amend(change).unwrap();
        store.close();
        disk.volatile()
    }

    /// Flips a bit of a key or of a value, removes a row, swaps the values of two rows, or restores
    /// an old value.
    pub(super) fn damage(&self, seed: u64, old: &Self) -> Option<(Sample, Image)> {
        let mut dice = Dice(seed);
        let mut roll = |sides: usize| {
            usize::try_from(dice.roll(u64::try_from(sides.max(1)).unwrap())).unwrap()
        };
        let at = roll(self.tables.len());
        let (table, rows) = &self.tables[at];
        let (table, row) = (*table, roll(rows.len()));
        let (key, value) = rows.get(row)?.clone();
        let (kind, change) = match roll(8) {
            0 | 1 => {
                let mut changed = key.clone();
                let bit = roll(changed.len() * 8);
                *changed.get_mut(bit / 8)? ^= 1 << (bit % 8);
                let moved = Change::new().delete(table, key).put(table, changed, value);
                (Kind::Flip, moved)
            }
            2..=4 => {
                let mut changed = value;
                let bit = roll(changed.len() * 8);
                *changed.get_mut(bit / 8)? ^= 1 << (bit % 8);
                (Kind::Byte, Change::new().put(table, key, changed))
            }
            5 => (Kind::Zeros, Change::new().delete(table, key)),
            6 => {
                let (other, others) = rows.get(roll(rows.len()))?.clone();
                if others == value {
                    return None;
                }
                let swapped = Change::new().put(table, key, others).put(table, other, value);
                (Kind::Swap, swapped)
            }
            _ => {
                let (_, before) = old.tables[at].1.iter().find(|(it, _)| *it == key)?;
                if *before == value {
                    return None;
                }
                (Kind::OldPage, Change::new().put(table, key, before.clone()))
            }
        };
        let file = String::from(table.name());
        Some((Sample { seed, file, kind, offset: row }, self.changed(change)))
    }
}
