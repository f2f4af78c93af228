//! A shard, and the numbers of its audit entries. [`crate::store::Shards`] assigns rows to shards.

use std::ops::Range;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Shard(u16);

/// The bits of an entry's number below its shard: 50,000 entries a second for eleven years. With
/// [`crate::bounds::SHARDS_MAX`] all numbers are integers that JavaScript represents.
const ENTRY_BITS: u32 = 44;

impl Shard {
    pub const VAULT: Self = Self(0);

    pub const fn number(self) -> u16 {
        self.0
    }

    pub(in crate::store) const fn new(number: u16) -> Self {
        Self(number)
    }

    /// The numbers of the shard's entries.
    pub fn entries(self) -> Range<u64> {
        let first = u64::from(self.0) << ENTRY_BITS;
        first..first.saturating_add(1 << ENTRY_BITS)
    }

    /// The shard of an entry; `None` for a number that no entry has.
    pub fn of_entry(number: u64) -> Option<Self> {
        u16::try_from(number >> ENTRY_BITS).ok().map(Self)
    }
}
