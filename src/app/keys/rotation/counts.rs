//! The numbers of values under the keys of a scope.

use std::collections::HashMap;

/// The number of values under the keys of one scope.
#[derive(Debug, Default)]
pub(super) struct KeyCounts {
    /// Sealed records, by the number of the sealing key.
    pub(super) records: HashMap<u32, u64>,
    /// Rows of the audit chain, by the number of the sealing key. Only the server's scope has them.
    pub(super) audit_rows: HashMap<u32, u64>,
    /// Index entries by the age of their key, the newest key first, without those in `doubled`.
    pub(super) entries: Vec<u64>,
    /// Index entries under the key that a rotation replaces, which the newest key has, too.
    pub(super) doubled: u64,
    /// Index entries under no key that could be found out: their records do not open.
    pub(super) unplaced: u64,
}

impl KeyCounts {
    pub(super) fn records(&self, number: u32) -> u64 {
        self.records.get(&number).copied().unwrap_or(0)
    }

    /// All index entries that are not only under the newest key.
    pub(super) fn older_entries(&self) -> u64 {
        let older = self.entries.iter().skip(1);
        older.fold(self.doubled.saturating_add(self.unplaced), |sum, it| sum.saturating_add(*it))
    }

    /// The entries of the key with this many newer ones, and those that the newest key has, too.
    pub(super) fn entries_of(&self, newer: usize) -> (u64, u64) {
        let own = self.entries.get(newer).copied().unwrap_or(0);
        match newer {
            0 => (own, 0),
            // An entry whose key is not known could be under any older key.
            1 => (own.saturating_add(self.unplaced), self.doubled),
            _ => (own.saturating_add(self.unplaced), 0),
        }
    }

    /// Records that are sealed under none of these keys.
    pub(super) fn records_outside(&self, numbers: &[u32]) -> u64 {
        let outside = self.records.iter().filter(|(number, _)| !numbers.contains(*number));
        outside.fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    pub(super) fn add(&mut self, newer: usize, count: u64) {
        if self.entries.len() <= newer {
            self.entries.resize(newer.saturating_add(1), 0);
        }
        if let Some(entries) = self.entries.get_mut(newer) {
            *entries = entries.saturating_add(count);
        }
    }
}
