//! A range of keys of one table, which every scan takes.

use std::ops::Bound;

use crate::store::tables::table::Table;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRange {
    table: Table,
    from: Bound<Vec<u8>>,
    to: Bound<Vec<u8>>,
}

impl KeyRange {
    pub(super) const fn new(table: Table, from: Bound<Vec<u8>>, to: Bound<Vec<u8>>) -> Self {
        Self { table, from, to }
    }

    pub(in crate::store) fn prefix(table: Table, prefix: Vec<u8>) -> Self {
        let to = successor(&prefix).map_or(Bound::Unbounded, Bound::Excluded);
        Self { table, from: Bound::Included(prefix), to }
    }

    pub const fn table(&self) -> Table {
        self.table
    }

    /// The key that the range starts with or after; empty for a whole table.
    pub(in crate::store) fn start(&self) -> &[u8] {
        match &self.from {
            Bound::Included(from) | Bound::Excluded(from) => from,
            Bound::Unbounded => &[],
        }
    }

    /// The part of this range from `key` on, to continue a scan. An empty key sorts before all
    /// others.
    #[must_use]
    pub fn starting_at(self, key: &[u8]) -> Self {
        self.narrowed(Bound::Included(key.to_vec()))
    }

    #[must_use]
    pub fn starting_after(self, key: &[u8]) -> Self {
        self.narrowed(Bound::Excluded(key.to_vec()))
    }

    #[must_use]
    pub(in crate::store) fn ending_before(mut self, key: &[u8]) -> Self {
        let is_earlier = match &self.to {
            Bound::Included(to) | Bound::Excluded(to) => key <= to.as_slice(),
            Bound::Unbounded => true,
        };
        if is_earlier {
            self.to = Bound::Excluded(key.to_vec());
        }
        self
    }

    pub(in crate::store) fn bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        (self.from.as_ref().map(Vec::as_slice), self.to.as_ref().map(Vec::as_slice))
    }

    pub(in crate::store) fn contains(&self, key: &[u8]) -> bool {
        std::ops::RangeBounds::<[u8]>::contains(&self.bounds(), key)
    }

    /// Returns true for bounds in the wrong order, which [`Self::starting_at`] can produce and the
    /// engine does not accept.
    pub(in crate::store) fn is_empty(&self) -> bool {
        match (&self.from, &self.to) {
            (Bound::Included(from), Bound::Included(to)) => from > to,
            (
                Bound::Included(from) | Bound::Excluded(from),
                Bound::Included(to) | Bound::Excluded(to),
            ) => from >= to,
            (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        }
    }

    /// Keeps the later of the two starts, so that a range never grows.
    fn narrowed(self, from: Bound<Vec<u8>>) -> Self {
        let is_later = match (&from, &self.from) {
            (_, Bound::Unbounded) => true,
            (Bound::Excluded(new), Bound::Included(old) | Bound::Excluded(old)) => new >= old,
            (Bound::Included(new), Bound::Included(old) | Bound::Excluded(old)) => new > old,
            (Bound::Unbounded, _) => false,
        };
        if is_later { Self { from, ..self } } else { self }
    }
}

impl Table {
    pub const fn whole(self) -> KeyRange {
        KeyRange::new(self, Bound::Unbounded, Bound::Unbounded)
    }
}

/// The first key after all keys with this prefix; `None` if no key follows them.
fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut next = prefix.get(..=last)?.to_vec();
    let byte = next.last_mut()?;
    *byte = byte.checked_add(1)?;
    Some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_has_exactly_the_keys_that_start_with_it() {
        for prefix in [&[][..], &[7], &[7, 255], &[255, 255], &[0, 0]] {
            let range = KeyRange::prefix(Table::Tokens, prefix.to_vec());
            for key in [&[][..], &[0], &[0, 0, 9], &[6, 255], &[7], &[7, 255], &[7, 255, 3], &[8]] {
                assert_eq!(range.contains(key), key.starts_with(prefix), "{prefix:?} {key:?}");
            }
            assert_eq!(range.contains(&[255, 255, 1]), [255, 255, 1].starts_with(prefix));
        }
    }

    #[test]
    fn a_walk_that_continues_never_leaves_its_range() {
        let range = KeyRange::prefix(Table::Tokens, vec![7]);
        assert_eq!(range.clone().starting_at(&[]), range);
        assert_eq!(range.clone().starting_after(&[6]), range);
        let rest = range.clone().starting_after(&[7, 1]);
        assert!(!rest.contains(&[7, 1]) && rest.contains(&[7, 1, 0]) && !rest.contains(&[8]));
        let rest = range.starting_at(&[7, 1]);
        assert!(!rest.contains(&[7, 0]) && rest.contains(&[7, 1]));
    }
}
