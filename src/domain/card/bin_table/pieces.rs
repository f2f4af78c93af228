//! Overlapping ranges cut into pieces that do not overlap, each with the range that decides there.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU32;

use crate::domain::card::span::Span;

/// Each piece ends at the start of the next one. Two arrays instead of one of pairs, because the
/// search reads only the starts.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    starts: Vec<u64>,
    rows: Vec<Option<RowId>>,
}

/// An index into the list of ranges, from 1, so that `Option` of it takes no extra memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct RowId(NonZeroU32);

impl Pieces {
    /// `spans` in ascending order of their first number, each with the rank that decides between
    /// equally wide ones (the higher wins). A row is the index of a span in the list.
    pub(super) fn of(spans: impl Iterator<Item = (Span, u32)>) -> Self {
        let mut pieces = Self::default();
        let mut open = BinaryHeap::new();
        let mut reached = 0u64;
        let mut row = NonZeroU32::MIN;
        for (span, rank) in spans {
            pieces.close(&mut open, reached, span.first);
            reached = span.first;
            open.push(Open {
                width: Reverse(span.width()),
                rank,
                last: span.last,
                row: RowId(row),
            });
            row = row.saturating_add(1);
        }
        pieces.close(&mut open, reached, u64::MAX);
        pieces.starts.shrink_to_fit();
        pieces.rows.shrink_to_fit();
        pieces
    }

    /// The row that decides at `key`.
    pub(super) fn row_at(&self, key: u64) -> Option<usize> {
        let after = self.starts.partition_point(|start| *start <= key);
        let row = (*self.rows.get(after.checked_sub(1)?)?)?;
        usize::try_from(row.0.get()).ok()?.checked_sub(1)
    }

    /// The last key that is decided as `key` is.
    pub(super) fn end_at(&self, key: u64) -> u64 {
        let after = self.starts.partition_point(|start| *start <= key);
        self.starts.get(after).map_or(u64::MAX, |next| next.saturating_sub(1))
    }

    /// Writes the pieces from `from` up to, not including, `to`.
    fn close(&mut self, open: &mut BinaryHeap<Open>, mut from: u64, to: u64) {
        while from < to {
            let Some(best) = open.peek() else {
                self.push(from, None);
                return;
            };
            if best.last < from {
                // A narrower range hid the end of this one.
                open.pop();
                continue;
            }
            self.push(from, Some(best.row));
            from = best.last.saturating_add(1);
        }
    }

    fn push(&mut self, start: u64, row: Option<RowId>) {
        // A wider range continues after a narrower one that left no piece: no new piece begins.
        if self.rows.last() != Some(&row) {
            self.starts.push(start);
            self.rows.push(row);
        }
    }
}

/// A range that has begun. The order of the fields is the order of the decision.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Open {
    width: Reverse<u64>,
    rank: u32,
    last: u64,
    row: RowId,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn naive(spans: &[(Span, u32)], key: u64) -> Option<usize> {
        let holding = spans.iter().enumerate().filter(|(_, (span, _))| span.holds(key));
        holding.min_by_key(|(_, (span, rank))| (span.width(), Reverse(*rank))).map(|(row, _)| row)
    }

    proptest! {
        #[test]
        fn the_narrowest_range_decides_everywhere(
            ends in prop::collection::vec((0u64..60, 0u64..20), 0..30),
        ) {
            let mut spans: Vec<(Span, u32)> = (0..)
                .zip(ends)
                .map(|(rank, (first, more))| (Span { first, last: first + more }, rank))
                .collect();
            spans.sort_by_key(|(span, rank)| (span.first, *rank));
            let pieces = Pieces::of(spans.iter().copied());
            for key in 0..100 {
                prop_assert_eq!(pieces.row_at(key), naive(&spans, key), "at {}", key);
                let end = pieces.end_at(key);
                for same in key..end.min(100) {
                    prop_assert_eq!(pieces.row_at(same), pieces.row_at(key), "from {}", key);
                }
                if end < u64::MAX {
                    prop_assert_ne!(pieces.row_at(end + 1), pieces.row_at(key), "after {}", end);
                }
            }
            prop_assert!(pieces.starts.len() <= 2 * spans.len() + 1);
            prop_assert!(pieces.starts.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }
}
