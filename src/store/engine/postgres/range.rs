//! The bounds of a range as the statements take them: the first key inside, and the first key
//! behind.

use std::ops::Bound;

use crate::store::tables::KeyRange;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) from: Vec<u8>,
    /// `None` for a range up to the end of its table.
    pub(super) to: Option<Vec<u8>>,
}

pub(super) fn ends(range: &KeyRange) -> Ends {
    let (from, to) = range.bounds();
    let from = match from {
        Bound::Included(key) => key.to_vec(),
        Bound::Excluded(key) => next(key),
        Bound::Unbounded => Vec::new(),
    };
    let to = match to {
        Bound::Included(key) => Some(next(key)),
        Bound::Excluded(key) => Some(key.to_vec()),
        Bound::Unbounded => None,
    };
    Ends { from, to }
}

/// The first key after `key`: no key lies between a key and that key with a zero byte appended.
fn next(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}
