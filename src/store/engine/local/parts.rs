//! Divides the rows in memory into parts. Each merge moves part 0 and one of the others in turn.
//!
//! Part 0 has the tables whose new keys are adjacent: merging many of them writes few pages. New
//! keys of the other tables are spread over the whole table, so a merge of a few rows writes almost
//! one page per row. The other parts are slices of these keys; they take turns, so that each
//! gathers rows for several merges.

use std::ops::Bound;

use crate::store::tables::{KeyRange, Table};

pub(super) const SLICES: usize = 4;
/// Part 0 and the slices.
pub(super) const PARTS: usize = SLICES + 1;

/// The offset of the key's evenly distributed byte that selects the slice; `None` for tables of
/// part 0.
const fn slice_byte(table: Table) -> Option<usize> {
    if matches!(table, Table::Idempotency | Table::TokenLists | Table::TokenNames) {
        // tenant (16), blinded key, filter or name.
        Some(16)
    } else {
        None
    }
}

pub(super) fn part_of(table: Table, key: &[u8]) -> usize {
    let Some(at) = slice_byte(table) else { return 0 };
    let byte = key.get(at).copied().unwrap_or(0);
    usize::from(byte).rem_euclid(SLICES).saturating_add(1)
}

pub(super) fn parts_of(range: &KeyRange) -> std::ops::Range<usize> {
    let Some(at) = slice_byte(range.table()) else { return 0..1 };
    let (from, to) = range.bounds();
    let (Bound::Included(from) | Bound::Excluded(from), Bound::Included(to) | Bound::Excluded(to)) =
        (from, to)
    else {
        return 1..PARTS;
    };
    // If both ends share a prefix, all keys between them do.
    let shared = from.iter().zip(to).take_while(|(from, to)| from == to).count();
    if shared > at {
        let part = part_of(range.table(), from);
        return part..part.saturating_add(1);
    }
    1..PARTS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_row_is_in_one_of_the_parts_of_every_range_that_contains_it(
            prefix in prop::collection::vec(any::<u8>(), 0..30),
            rest in prop::collection::vec(any::<u8>(), 0..30),
            table in prop::sample::select(Table::ALL),
        ) {
            let key = [prefix.clone(), rest].concat();
            let range = KeyRange::prefix(table, prefix);
            prop_assert!(parts_of(&range).contains(&part_of(table, &key)));
            prop_assert!(parts_of(&table.whole()).contains(&part_of(table, &key)));
        }
    }

    /// The slice byte is the first that differs, or one behind it.
    #[test]
    fn a_range_whose_ends_are_in_two_slices_is_in_all_of_them() {
        let list = |end: &[u8]| [&[9; 16], end].concat();
        let between = |from: &[u8], to: &[u8]| {
            let range = Table::TokenLists.whole().starting_at(&list(from));
            parts_of(&range.ending_before(&list(to)))
        };
        assert_eq!(between(&[4], &[6]), 1..PARTS);
        assert_eq!(between(&[4, 1], &[5]), 1..PARTS);
        assert_eq!(between(&[4, 1], &[4, 2]), 1..2);
        assert_eq!(between(&[6], &[6, 0]), 3..4);
    }

    #[test]
    fn a_list_of_one_filter_is_in_one_slice() {
        let range = KeyRange::prefix(Table::TokenLists, vec![9; 32]);
        assert_eq!(parts_of(&range).len(), 1);
        assert_eq!(parts_of(&Table::Tokens.whole()), 0..1);
    }
}
