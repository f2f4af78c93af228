//! A few counters that share a lock and a fixed number of slots.

use std::net::IpAddr;
use std::time::Duration;

use super::bucket::BucketState;
use super::rows::{KeyHash, LIFE_S_MAX};
use crate::bounds::RATE_SET_COUNTERS_MAX;
use crate::domain::time::Timestamp;

pub(super) const SLOT_BYTES: usize = size_of::<Slot>();

const LIFE_MAX: Duration = Duration::from_secs(LIFE_S_MAX);

/// The counters of one lock.
///
/// A new counter takes the first of these: the slot of an idle counter; a new slot, up to the
/// maximum; the slot of the open counter that would be idle soonest. The last case occurs only when
/// all counters of a set are in use, and forgives the evicted one its small debt. To evict a busy
/// counter, an attacker would have to keep all other counters of the set busier, in a set that the
/// attacker cannot choose. A blocked counter is never evicted: when a whole set is blocked, the
/// request of the new counter is refused.
///
/// With its lock a set is one cache line; slots are read only where the marks agree.
#[derive(Default)]
pub(super) struct CounterSet {
    /// The marks of the slots, in the same order.
    marks: [u16; RATE_SET_COUNTERS_MAX],
    slots: Vec<Slot>,
}

#[derive(Clone, Copy)]
struct Slot {
    identity: CounterIdentity,
    state: BucketState,
}

/// The key, address and row of a counter. It is packed because it is hashed and compared for every
/// counter of every request.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct CounterIdentity {
    key: u128,
    address: u64,
    /// The row's number, and flags for a key and an address.
    row_and_shape: u64,
}

/// The part of an address that identifies one customer: the whole IPv4 address, the first 64 bits
/// of an IPv6 address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddressPrefix {
    V4(u32),
    V6(u64),
}

impl CounterSet {
    pub(super) fn find(&self, identity: &CounterIdentity, mark: u16) -> Option<BucketState> {
        let mut marked = self.marks.iter().zip(&self.slots);
        let found = marked.find(|(other, slot)| **other == mark && slot.identity == *identity);
        found.map(|(_, slot)| slot.state)
    }

    pub(super) fn find_mut(
        &mut self,
        identity: &CounterIdentity,
        mark: u16,
    ) -> Option<&mut BucketState> {
        let mut marked = self.marks.iter().zip(&mut self.slots);
        let found = marked.find(|(other, slot)| **other == mark && slot.identity == *identity);
        found.map(|(_, slot)| &mut slot.state)
    }

    /// Returns whether a new counter finds a slot.
    pub(super) fn has_room(&self, now: Timestamp) -> bool {
        self.slots.len() < RATE_SET_COUNTERS_MAX
            || self.slots.iter().any(|slot| !slot.state.is_blocked() || slot.is_idle(now))
    }

    pub(super) fn keep(
        &mut self,
        identity: CounterIdentity,
        mark: u16,
        state: BucketState,
        now: Timestamp,
    ) {
        if let Some(kept) = self.find_mut(&identity, mark) {
            *kept = state;
            return;
        }
        let index = self.index_for_new(now);
        if let Some(other) = self.marks.get_mut(index) {
            *other = mark;
            match self.slots.get_mut(index) {
                Some(slot) => *slot = Slot { identity, state },
                None => self.slots.push(Slot { identity, state }),
            }
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.slots.capacity()
    }

    /// The slot for a new counter; past the end when all counters are blocked.
    fn index_for_new(&self, now: Timestamp) -> usize {
        if let Some(idle) = self.slots.iter().position(|slot| slot.is_idle(now)) {
            return idle;
        }
        if self.slots.len() < RATE_SET_COUNTERS_MAX {
            return self.slots.len();
        }
        let open = self.slots.iter().enumerate().filter(|(_, slot)| !slot.state.is_blocked());
        open.min_by_key(|(_, slot)| slot.state.ends_at()).map_or(usize::MAX, |(index, _)| index)
    }
}

impl Slot {
    fn is_idle(&self, now: Timestamp) -> bool {
        self.state.is_idle(LIFE_MAX, now)
    }
}

impl CounterIdentity {
    pub(super) fn new(row: u8, key: Option<KeyHash>, address: Option<AddressPrefix>) -> Self {
        let (key, key_shape) = key.map_or((0, 0), |key| (u128::from_be_bytes(key.0), 1));
        let (address, address_shape) = match address {
            None => (0, 0),
            Some(AddressPrefix::V4(bits)) => (bits.into(), 2),
            Some(AddressPrefix::V6(bits)) => (bits, 4),
        };
        Self { key, address, row_and_shape: u64::from(row) << 8 | key_shape | address_shape }
    }
}

impl AddressPrefix {
    pub(super) fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::V4(address.to_bits()),
            IpAddr::V6(address) => {
                Self::V6(u64::try_from(address.to_bits() >> u64::BITS).unwrap_or(0))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::limits::bucket::{BucketDecision, Terms};
    use crate::limits::rows::{ROWS, RowScope};

    const START: Timestamp = Timestamp::from_seconds(1_800_000_000);
    /// The same mark for all counters of these tests, so that only identities distinguish them.
    const MARK: u16 = 7;
    /// One more than the global row admits: blocked for thirty seconds.
    const BLOCKED: u32 = 2_001;

    fn identity(number: u32) -> CounterIdentity {
        CounterIdentity::new(0, None, Some(AddressPrefix::V4(number)))
    }

    /// Stores a counter of the global row after this many requests at once.
    fn keep(set: &mut CounterSet, number: u32, requests: u32, at: Timestamp) {
        let row = ROWS.iter().find(|row| row.scope == RowScope::Global).unwrap();
        let terms = Terms::of(row, NonZeroU32::MIN);
        let mut state = BucketState::fresh(at);
        for _ in 0..requests {
            state = match state.take(&terms, at) {
                BucketDecision::Admitted { after, .. } | BucketDecision::Refused { after, .. } => {
                    after
                }
            };
        }
        set.keep(identity(number), MARK, state, at);
    }

    fn missing(set: &CounterSet, numbers: impl Iterator<Item = u32>) -> Vec<u32> {
        numbers.filter(|number| set.find(&identity(*number), MARK).is_none()).collect()
    }

    #[test]
    fn a_full_set_gives_up_idle_counters_before_live_ones() {
        let mut set = CounterSet::default();
        for number in 0..16 {
            keep(&mut set, number, if number == 7 { 1 } else { 500 }, START);
        }
        // One request is worth 5 ms.
        let later = START.plus(Duration::from_millis(5));
        keep(&mut set, 100, 500, later);
        assert_eq!(set.len(), RATE_SET_COUNTERS_MAX);
        assert_eq!(missing(&set, (0..16).chain([100])), [7]);
    }

    #[test]
    fn a_set_of_live_counters_gives_up_the_one_that_owes_least() {
        let mut set = CounterSet::default();
        for number in 0..16 {
            keep(&mut set, number, 500 - 10 * number, START);
        }
        keep(&mut set, 100, 1, START);
        assert_eq!(missing(&set, (0..16).chain([100])), [15]);
        // The new counter owes least now and is evicted next.
        keep(&mut set, 101, 1, START);
        assert_eq!(missing(&set, (0..16).chain([100, 101])), [15, 100]);
    }

    #[test]
    fn a_blocked_counter_keeps_its_place_whatever_comes() {
        let mut set = CounterSet::default();
        for number in 0..15 {
            keep(&mut set, number, BLOCKED, START);
        }
        // Five seconds before the blocks end, one counter owes the ten seconds of a whole period:
        // it would be remembered for longer than any other, and yet it is the one to go.
        let late = START.plus(Duration::from_secs(25));
        keep(&mut set, 50, 2_000, late);
        keep(&mut set, 51, 1, late);
        assert_eq!(missing(&set, (0..15).chain([50, 51])), [50]);
        assert!(set.has_room(late));
        keep(&mut set, 51, BLOCKED, late);
        assert!(!set.has_room(late));
        keep(&mut set, 60, 1, late);
        assert_eq!(missing(&set, (0..15).chain([51, 60])), [60]);
        assert!(set.has_room(START.plus(Duration::from_secs(30))));
    }

    #[test]
    fn counters_from_before_the_clock_was_set_back_do_not_hold_their_places() {
        let mut set = CounterSet::default();
        for number in 0..16 {
            keep(&mut set, number, BLOCKED, START);
        }
        let hour_before = Timestamp::from_seconds(START.seconds() - 3_600);
        assert!(set.has_room(hour_before));
        keep(&mut set, 100, 1, hour_before);
        assert_eq!(missing(&set, [100].into_iter()), [0; 0]);
    }

    #[test]
    fn whoever_differs_in_anything_is_counted_apart() {
        let key = |byte| Some(KeyHash([byte; 16]));
        let identities = [
            CounterIdentity::new(0, None, Some(AddressPrefix::V4(0))),
            CounterIdentity::new(1, None, Some(AddressPrefix::V4(0))),
            CounterIdentity::new(0, None, Some(AddressPrefix::V6(0))),
            CounterIdentity::new(0, None, Some(AddressPrefix::V4(1))),
            CounterIdentity::new(0, key(0), None),
            CounterIdentity::new(0, key(1), None),
            CounterIdentity::new(0, key(0), Some(AddressPrefix::V4(0))),
            CounterIdentity::new(0, key(0), Some(AddressPrefix::V6(0))),
        ];
        for (at, one) in identities.iter().enumerate() {
            assert!(identities.iter().skip(at + 1).all(|other| one != other));
        }
    }
}
