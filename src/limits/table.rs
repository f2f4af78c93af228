//! The counters: a fixed number of small sets, each behind its own lock. It never grows past its
//! bound and never forgets a block.
//!
//! A counter belongs to the set that a randomly keyed hash of its identity names, so nobody can aim
//! at a set. What a set does when it is full stands at [`Set`].

use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::bucket::{State, Taken, Terms};
use super::rows::Row;
use super::set::{Identity, SLOT_BYTES, Set};
use crate::bounds::{RATE_BYTES_MAX, RATE_SET_COUNTERS_MAX, RATE_SETS};
use crate::domain::time::Timestamp;

const _: () = assert!(
    RATE_SETS * (RATE_SET_COUNTERS_MAX * SLOT_BYTES + size_of::<Mutex<Set>>()) <= RATE_BYTES_MAX
);

/// How long a newcomer without a place is told to wait.
const NO_PLACE_RETRY: Duration = Duration::from_secs(1);

pub(super) struct Table {
    hasher: RandomState,
    sets: Box<[Mutex<Set>]>,
}

/// One counter that a request is charged to, and what becomes of it.
pub(super) struct Charge {
    pub(super) row: &'static Row,
    pub(super) terms: Terms,
    identity: Identity,
    place: Place,
    outcome: Outcome,
}

/// Where a hash puts an identity.
#[derive(Clone, Copy)]
struct Place {
    set: usize,
    /// Tells most counters of a set apart without reading them.
    mark: u16,
}

#[derive(Clone, Copy)]
enum Outcome {
    NoPlace,
    Taken(Taken),
    Undecided,
}

/// What one charge would have done, as the caller reports it.
pub(super) enum Verdict {
    Admitted { remaining: u64, full_at: Timestamp },
    Refused { again_at: Timestamp },
}

impl Table {
    pub(super) fn new() -> Self {
        Self {
            hasher: RandomState::new(),
            sets: (0..RATE_SETS).map(|_| Mutex::default()).collect(),
        }
    }

    pub(super) fn charge(&self, identity: Identity, row: &'static Row, terms: Terms) -> Charge {
        Charge {
            row,
            terms,
            identity,
            place: self.place_of(&identity),
            outcome: Outcome::Undecided,
        }
    }

    /// Charges all counters or, if any refuses, none; a counter that refuses is still blocked if
    /// its row says so. Every set involved is locked for the whole of it, in the order of
    /// their numbers, so two requests can neither see each other half done nor wait for each other.
    pub(super) fn settle(&self, charges: &mut [Charge], now: Timestamp) {
        charges.sort_unstable_by_key(|charge| charge.place.set);
        let mut held: Vec<MutexGuard<'_, Set>> = charges
            .chunk_by(same_set)
            .filter_map(<[Charge]>::first)
            .filter_map(|charge| self.sets.get(charge.place.set))
            .map(lock)
            .collect();
        let mut all_admit = true;
        for (set, group) in held.iter().zip(charges.chunk_by_mut(same_set)) {
            for charge in group {
                charge.outcome = decide(set, charge, now);
                all_admit &= matches!(charge.outcome, Outcome::Taken(Taken::Admitted { .. }));
            }
        }
        for (set, group) in held.iter_mut().zip(charges.chunk_by(same_set)) {
            for charge in group {
                match charge.outcome {
                    Outcome::Taken(Taken::Admitted { after, .. }) if all_admit => {
                        set.keep(charge.identity, charge.place.mark, after, now);
                    }
                    Outcome::Taken(Taken::Refused { after, .. }) => {
                        set.keep(charge.identity, charge.place.mark, after, now);
                    }
                    Outcome::NoPlace | Outcome::Taken(_) | Outcome::Undecided => {}
                }
            }
        }
    }

    /// Changes a counter that is there.
    pub(super) fn amend(&self, identity: &Identity, change: impl FnOnce(State) -> State) {
        let place = self.place_of(identity);
        if let Some(set) = self.sets.get(place.set)
            && let Some(state) = lock(set).find_mut(identity, place.mark)
        {
            *state = change(*state);
        }
    }

    /// Places taken, also by counters that remember nothing any more.
    pub(super) fn counters(&self) -> usize {
        self.sets.iter().map(|set| lock(set).len()).sum()
    }

    pub(super) fn bytes(&self) -> usize {
        let slots: usize = self.sets.iter().map(|set| lock(set).capacity()).sum();
        slots
            .saturating_mul(SLOT_BYTES)
            .saturating_add(self.sets.len().saturating_mul(size_of::<Mutex<Set>>()))
    }

    fn place_of(&self, identity: &Identity) -> Place {
        let hash = self.hasher.hash_one(identity);
        let sets = u64::try_from(RATE_SETS).unwrap_or(u64::MAX);
        Place {
            set: usize::try_from(hash.checked_rem(sets).unwrap_or(0)).unwrap_or(0),
            mark: u16::try_from(hash >> (u64::BITS - u16::BITS)).unwrap_or(0),
        }
    }
}

impl Charge {
    /// A charge that was never settled admits nothing.
    pub(super) fn verdict(&self, now: Timestamp) -> Verdict {
        match self.outcome {
            Outcome::Taken(Taken::Admitted { remaining, full_at, .. }) => {
                Verdict::Admitted { remaining, full_at }
            }
            Outcome::Taken(Taken::Refused { again_at, .. }) => Verdict::Refused { again_at },
            Outcome::NoPlace | Outcome::Undecided => {
                Verdict::Refused { again_at: now.plus(NO_PLACE_RETRY) }
            }
        }
    }
}

fn decide(set: &Set, charge: &Charge, now: Timestamp) -> Outcome {
    match set.find(&charge.identity, charge.place.mark) {
        Some(state) => Outcome::Taken(state.take(&charge.terms, now)),
        None if set.has_room(now) => Outcome::Taken(State::fresh(now).take(&charge.terms, now)),
        None => Outcome::NoPlace,
    }
}

fn same_set(one: &Charge, other: &Charge) -> bool {
    one.place.set == other.place.set
}

/// No panic can leave a set half changed, so one that was poisoned is as good as any.
fn lock(set: &Mutex<Set>) -> MutexGuard<'_, Set> {
    set.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::limits::rows::{ROWS, Scope};
    use crate::limits::set::Prefix;

    const START: Timestamp = Timestamp::from_seconds(1_800_000_000);

    /// On the global row, all in one set.
    fn charge(number: u32) -> Charge {
        let row = ROWS.iter().find(|row| row.scope == Scope::Global).unwrap();
        Charge {
            row,
            terms: Terms::of(row, NonZeroU32::MIN),
            identity: Identity::new(0, None, Some(Prefix::V4(number))),
            place: Place { set: 0, mark: 7 },
            outcome: Outcome::Undecided,
        }
    }

    #[test]
    fn two_counters_of_one_request_may_share_a_set() {
        let table = Table::new();
        let mut charges = [charge(1), charge(2)];
        table.settle(&mut charges, START);
        assert!(charges.iter().all(|c| matches!(c.verdict(START), Verdict::Admitted { .. })));
        assert_eq!(table.counters(), 2);
    }

    #[test]
    fn what_cannot_be_counted_is_refused_until_a_block_ends() {
        let table = Table::new();
        for number in 0..16 {
            for _ in 0..=2_000 {
                table.settle(&mut [charge(number)], START);
            }
        }
        let mut newcomer = [charge(16)];
        table.settle(&mut newcomer, START);
        let Verdict::Refused { again_at } = newcomer[0].verdict(START) else {
            panic!("admitted without being counted");
        };
        assert_eq!(again_at, START.plus(NO_PLACE_RETRY));
        let ended = START.plus(Duration::from_secs(30));
        table.settle(&mut newcomer, ended);
        assert!(matches!(newcomer[0].verdict(ended), Verdict::Admitted { .. }));
        assert_eq!(table.counters(), 16);
    }
}
