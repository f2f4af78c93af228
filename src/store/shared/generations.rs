//! Generations: numbers that change with the rows that a cache was built from.

use crate::domain::words::words;
use crate::store::change::{Change, Write};
use crate::store::shared::codes::is_message;
use crate::store::tables::{Table, meta};

words! {
    /// A kind of cache in the memory of a process.
    pub enum Generation: place -> usize {
        /// Tenants, applications and API keys.
        Access = "access", 0;
        Webhooks = "webhooks", 1;
        /// Keys, and the phases of their rotations.
        Keys = "keys", 2;
        /// The card ranges of directory servers.
        Ranges = "ranges", 3;
        /// Messages with keys of card verification codes.
        Codes = "codes", 4;
    }
}

/// The generation of each kind. Numbers of unknown kinds are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generations(Vec<u64>);

impl Generation {
    /// The caches that the change invalidates.
    pub(super) fn all_of(change: &Change) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|kind| kind.concerns(change))
    }

    fn concerns(self, change: &Change) -> bool {
        match self {
            Self::Access => change.concerns_access(),
            Self::Webhooks => change.concerns_webhooks(),
            Self::Keys => change.writes.iter().any(is_of_keys),
            Self::Ranges => change.writes.iter().any(|write| {
                matches!(
                    write,
                    Write::Delete(Table::ThreedsRanges, _) | Write::Put(Table::ThreedsRanges, ..)
                )
            }),
            Self::Codes => change.writes.iter().any(is_message),
        }
    }
}

fn is_of_keys(write: &Write) -> bool {
    match write {
        Write::Add(..) | Write::Audit(_) => false,
        Write::Delete(table, key) | Write::Put(table, key, _) => {
            *table == Table::Keys
                || (*table == Table::Meta
                    && (meta::rotation_of_key(key).is_some() || key.as_slice() == meta::MASTER))
        }
    }
}

impl Generations {
    pub fn of(&self, kind: Generation) -> u64 {
        self.0.get(kind.place()).copied().unwrap_or(0)
    }

    pub(super) fn advance(&mut self, kind: Generation) {
        if let Some(number) = self.0.get_mut(kind.place()) {
            *number = number.wrapping_add(1);
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        self.0.iter().flat_map(|number| number.to_be_bytes()).collect()
    }

    /// A number that no version has written yet is 0.
    pub(super) fn decode(value: Option<&[u8]>) -> Self {
        let (numbers, _) = value.unwrap_or_default().as_chunks::<8>();
        let mut numbers: Vec<u64> = numbers.iter().map(|it| u64::from_be_bytes(*it)).collect();
        let known = Generation::ALL.len();
        if numbers.len() < known {
            numbers.resize(known, 0);
        }
        Self(numbers)
    }
}
