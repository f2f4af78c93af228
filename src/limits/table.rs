//! The table of counters: a fixed number of small sets, each with its own lock. It never grows past
//! its bound and never evicts a block.
//!
//! A randomly keyed hash of its identity decides the set of a counter, so an attacker cannot aim at
//! a set. [`CounterSet`] says which counter a full set evicts.

use std::hash::{BuildHasher, RandomState};
use std::sync::MutexGuard;
use std::time::Duration;

use super::bucket::{BucketDecision, BucketState, Terms};
use super::rows::Row;
use super::set::{CounterIdentity, CounterSet, SLOT_BYTES};
use crate::bounds::{RATE_BYTES_MAX, RATE_SET_COUNTERS_MAX, RATE_SETS};
use crate::domain::time::Timestamp;
use crate::lock::Lock;

const _: () = assert!(
    RATE_SETS * (RATE_SET_COUNTERS_MAX * SLOT_BYTES + size_of::<Lock<CounterSet>>())
        <= RATE_BYTES_MAX
);

/// `Retry-After` of a request whose counter finds no slot.
const NO_SLOT_RETRY: Duration = Duration::from_secs(1);

pub(super) struct CounterTable {
    hasher: RandomState,
    sets: Box<[Lock<CounterSet>]>,
}

/// A charge of one request to one counter, and its outcome.
pub(super) struct Charge {
    pub(super) row: &'static Row,
    pub(super) terms: Terms,
    identity: CounterIdentity,
    place: TablePosition,
    /// Absent if the counter found no slot, or was not checked: the request is refused.
    decision: Option<BucketDecision>,
}

/// The position of a counter, from the hash of its identity.
#[derive(Clone, Copy)]
struct TablePosition {
    set: usize,
    /// A part of the hash that distinguishes most counters of a set without reading them.
    mark: u16,
}

impl CounterTable {
    pub(super) fn new() -> Self {
        Self { hasher: RandomState::new(), sets: (0..RATE_SETS).map(|_| Lock::default()).collect() }
    }

    pub(super) fn charge(
        &self,
        identity: CounterIdentity,
        row: &'static Row,
        terms: Terms,
    ) -> Charge {
        Charge { row, terms, identity, place: self.place_of(&identity), decision: None }
    }

    /// Charges all counters or, if any refuses, none; a counter that refuses is still blocked if
    /// its row says so. All sets of the request stay locked meanwhile, so requests are atomic to
    /// each other. They are locked in the order of their numbers, so requests cannot deadlock.
    pub(super) fn settle(&self, charges: &mut [Charge], now: Timestamp) {
        charges.sort_unstable_by_key(|charge| charge.place.set);
        let held: Option<Vec<MutexGuard<'_, CounterSet>>> = charges
            .chunk_by(same_set)
            .map(|group| self.sets.get(group.first()?.place.set).map(Lock::lock))
            .collect();
        // Without its set a request stays undecided, and is refused.
        let Some(mut held) = held else { return };
        let mut all_admit = true;
        for (set, group) in held.iter().zip(charges.chunk_by_mut(same_set)) {
            for charge in group {
                charge.decision = decide(set, charge, now);
                all_admit &= matches!(charge.decision, Some(BucketDecision::Admitted { .. }));
            }
        }
        for (set, group) in held.iter_mut().zip(charges.chunk_by(same_set)) {
            for charge in group {
                let after = match charge.decision {
                    Some(BucketDecision::Admitted { after, .. }) if all_admit => after,
                    Some(BucketDecision::Refused { after, .. }) => after,
                    Some(BucketDecision::Admitted { .. }) | None => continue,
                };
                set.keep(charge.identity, charge.place.mark, after, now);
            }
        }
    }

    /// Changes a counter if it exists.
    pub(super) fn amend(
        &self,
        identity: &CounterIdentity,
        change: impl FnOnce(BucketState) -> BucketState,
    ) {
        let place = self.place_of(identity);
        if let Some(set) = self.sets.get(place.set)
            && let Some(state) = set.lock().find_mut(identity, place.mark)
        {
            *state = change(*state);
        }
    }

    pub(super) fn state(&self, identity: &CounterIdentity) -> Option<BucketState> {
        let place = self.place_of(identity);
        self.sets.get(place.set)?.lock().find(identity, place.mark)
    }

    /// Slots in use, including those of idle counters.
    #[cfg(test)]
    pub(super) fn counters(&self) -> usize {
        self.sets.iter().map(|set| set.lock().len()).sum()
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        let slots: usize = self.sets.iter().map(|set| set.lock().capacity()).sum();
        slots
            .saturating_mul(SLOT_BYTES)
            .saturating_add(self.sets.len().saturating_mul(size_of::<Lock<CounterSet>>()))
    }

    fn place_of(&self, identity: &CounterIdentity) -> TablePosition {
        let hash = self.hasher.hash_one(identity);
        let sets = u64::try_from(RATE_SETS).unwrap_or(u64::MAX);
        TablePosition {
            set: usize::try_from(hash.checked_rem(sets).unwrap_or(0)).unwrap_or(0),
            mark: u16::try_from(hash >> (u64::BITS - u16::BITS)).unwrap_or(0),
        }
    }
}

impl Charge {
    /// The remaining requests and the time at which the counter is full, or the time at which it
    /// admits again.
    pub(super) fn verdict(&self, now: Timestamp) -> Result<(u64, Timestamp), Timestamp> {
        match self.decision {
            Some(BucketDecision::Admitted { remaining, full_at, .. }) => Ok((remaining, full_at)),
            Some(BucketDecision::Refused { again_at, .. }) => Err(again_at),
            None => Err(now.plus(NO_SLOT_RETRY)),
        }
    }
}

/// `None` if the counter is new and its set has no slot for it.
fn decide(set: &CounterSet, charge: &Charge, now: Timestamp) -> Option<BucketDecision> {
    let known = set.find(&charge.identity, charge.place.mark);
    let state = known.or_else(|| set.has_room(now).then(|| BucketState::fresh(now)))?;
    Some(state.take(&charge.terms, now))
}

fn same_set(one: &Charge, other: &Charge) -> bool {
    one.place.set == other.place.set
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::limits::rows::{ROWS, RowScope};
    use crate::limits::set::AddressPrefix;

    const START: Timestamp = Timestamp::from_seconds(1_800_000_000);

    /// On the global row, all in one set.
    fn charge(number: u32) -> Charge {
        let row = ROWS.iter().find(|row| row.scope == RowScope::Global).unwrap();
        Charge {
            row,
            terms: Terms::of(row, NonZeroU32::MIN),
            identity: CounterIdentity::new(0, None, Some(AddressPrefix::V4(number))),
            place: TablePosition { set: 0, mark: 7 },
            decision: None,
        }
    }

    #[test]
    fn two_counters_of_one_request_may_share_a_set() {
        let table = CounterTable::new();
        let mut charges = [charge(1), charge(2)];
        table.settle(&mut charges, START);
        assert!(charges.iter().all(|c| c.verdict(START).is_ok()));
        assert_eq!(table.counters(), 2);
    }

    #[test]
    fn what_cannot_be_counted_is_refused_until_a_block_ends() {
        let table = CounterTable::new();
        for number in 0..16 {
            for _ in 0..=2_000 {
                table.settle(&mut [charge(number)], START);
            }
        }
        let mut late = [charge(16)];
        table.settle(&mut late, START);
        assert_eq!(late[0].verdict(START), Err(START.plus(NO_SLOT_RETRY)));
        let ended = START.plus(Duration::from_secs(30));
        table.settle(&mut late, ended);
        assert!(late[0].verdict(ended).is_ok());
        assert_eq!(table.counters(), 16);
    }

    #[test]
    fn a_charge_to_a_set_that_is_not_there_refuses_the_whole_request() {
        let table = CounterTable::new();
        let mut charges = [charge(1), charge(2)];
        charges[1].place.set = RATE_SETS;
        table.settle(&mut charges, START);
        assert!(charges.iter().all(|c| c.verdict(START).is_err()));
        assert_eq!(table.counters(), 0);
    }
}
