//! The counters: a fixed number of small sets, each behind its own lock. It never grows past its
//! bound and never forgets a block.
//!
//! A counter belongs to the set that a randomly keyed hash of its identity names, so nobody can aim
//! at a set. A newcomer takes, in this order: the place of a counter that remembers nothing any
//! more; a new place, until the set has all of its places; the place of the open counter that would
//! have been forgotten soonest. The last happens only when a whole set is alive, and gives the
//! loser back the little that it owed; to lose a busy counter this way an attacker must keep all
//! its neighbours busier still, in a set that he cannot name. A blocked counter is never given
//! up: should a whole set be blocked, a newcomer is refused, since what cannot be counted is not
//! admitted.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::bucket::{State, Taken, Terms};
use super::rows::{KeyHash, LIFE_S_MAX, Row};
use crate::bounds::{RATE_BYTES_MAX, RATE_SET_COUNTERS_MAX, RATE_SETS};
use crate::domain::time::Timestamp;

const _: () = assert!(
    RATE_SETS * (RATE_SET_COUNTERS_MAX * size_of::<Slot>() + size_of::<Mutex<Set>>())
        <= RATE_BYTES_MAX
);

const LIFE_MAX: Duration = Duration::from_secs(LIFE_S_MAX);
/// How long a newcomer without a place is told to wait.
const NO_PLACE_RETRY: Duration = Duration::from_secs(1);

pub(super) struct Table {
    hasher: RandomState,
    sets: Box<[Mutex<Set>]>,
}

/// Whom a counter counts, and for which row.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Identity {
    pub(super) row: u8,
    pub(super) key: Option<KeyHash>,
    pub(super) address: Option<Prefix>,
}

/// The part of an address that one customer holds: all of IPv4, the first 64 bits of IPv6.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Prefix {
    V4(u32),
    V6(u64),
}

/// One counter that a request is charged to, and what becomes of it.
pub(super) struct Charge {
    pub(super) row: &'static Row,
    pub(super) terms: Terms,
    identity: Identity,
    set: usize,
    outcome: Outcome,
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

#[derive(Default)]
struct Set(Vec<Slot>);

#[derive(Clone, Copy)]
struct Slot {
    identity: Identity,
    state: State,
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
            set: self.set_of(&identity),
            outcome: Outcome::Undecided,
        }
    }

    /// Charges all counters or, if any refuses, none; a counter that refuses is still blocked if
    /// its row says so. Every set involved is locked for the whole of it, in the order of
    /// their numbers, so two requests can neither see each other half done nor wait for each other.
    pub(super) fn settle(&self, charges: &mut [Charge], now: Timestamp) {
        charges.sort_unstable_by_key(|charge| charge.set);
        let mut held: Vec<MutexGuard<'_, Set>> = charges
            .chunk_by(same_set)
            .filter_map(<[Charge]>::first)
            .filter_map(|charge| self.sets.get(charge.set))
            .map(lock)
            .collect();
        let mut all_admit = true;
        for (set, group) in held.iter().zip(charges.chunk_by_mut(same_set)) {
            for charge in group {
                charge.outcome = set.outcome(charge, now);
                all_admit &= matches!(charge.outcome, Outcome::Taken(Taken::Admitted { .. }));
            }
        }
        for (set, group) in held.iter_mut().zip(charges.chunk_by(same_set)) {
            for charge in group {
                match charge.outcome {
                    Outcome::Taken(Taken::Admitted { after, .. }) if all_admit => {
                        set.keep(charge.identity, after, now);
                    }
                    Outcome::Taken(Taken::Refused { after, .. }) => {
                        set.keep(charge.identity, after, now);
                    }
                    Outcome::NoPlace | Outcome::Taken(_) | Outcome::Undecided => {}
                }
            }
        }
    }

    /// Changes a counter that is there.
    pub(super) fn amend(&self, identity: &Identity, change: impl FnOnce(State) -> State) {
        if let Some(set) = self.sets.get(self.set_of(identity))
            && let Some(slot) = lock(set)
                .0
                .iter_mut()
                .find(|slot| slot.identity == *identity)
        {
            slot.state = change(slot.state);
        }
    }

    /// Places taken, also by counters that remember nothing any more.
    pub(super) fn counters(&self) -> usize {
        self.sets.iter().map(|set| lock(set).0.len()).sum()
    }

    pub(super) fn bytes(&self) -> usize {
        let slots: usize = self.sets.iter().map(|set| lock(set).0.capacity()).sum();
        slots
            .saturating_mul(size_of::<Slot>())
            .saturating_add(self.sets.len().saturating_mul(size_of::<Mutex<Set>>()))
    }

    fn set_of(&self, identity: &Identity) -> usize {
        let hash = self.hasher.hash_one(identity);
        let sets = u64::try_from(RATE_SETS).unwrap_or(u64::MAX);
        usize::try_from(hash.checked_rem(sets).unwrap_or(0)).unwrap_or(0)
    }
}

impl Charge {
    /// A charge that was never settled admits nothing.
    pub(super) fn verdict(&self, now: Timestamp) -> Verdict {
        match self.outcome {
            Outcome::Taken(Taken::Admitted {
                remaining, full_at, ..
            }) => Verdict::Admitted { remaining, full_at },
            Outcome::Taken(Taken::Refused { again_at, .. }) => Verdict::Refused { again_at },
            Outcome::NoPlace | Outcome::Undecided => Verdict::Refused {
                again_at: now.plus(NO_PLACE_RETRY),
            },
        }
    }
}

impl Prefix {
    pub(super) fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::V4(address.to_bits()),
            IpAddr::V6(address) => {
                Self::V6(u64::try_from(address.to_bits() >> u64::BITS).unwrap_or(0))
            }
        }
    }
}

impl Set {
    fn outcome(&self, charge: &Charge, now: Timestamp) -> Outcome {
        match self.find(&charge.identity) {
            Some(state) => Outcome::Taken(state.take(&charge.terms, now)),
            None if self.has_place(now) => {
                Outcome::Taken(State::fresh(now).take(&charge.terms, now))
            }
            None => Outcome::NoPlace,
        }
    }

    fn find(&self, identity: &Identity) -> Option<State> {
        self.0
            .iter()
            .find(|slot| slot.identity == *identity)
            .map(|slot| slot.state)
    }

    fn has_place(&self, now: Timestamp) -> bool {
        self.0.len() < RATE_SET_COUNTERS_MAX
            || self
                .0
                .iter()
                .any(|slot| !slot.state.is_blocked() || slot.is_idle(now))
    }

    fn keep(&mut self, identity: Identity, state: State, now: Timestamp) {
        if let Some(slot) = self.0.iter_mut().find(|slot| slot.identity == identity) {
            slot.state = state;
        } else if let Some(slot) = self.0.iter_mut().find(|slot| slot.is_idle(now)) {
            *slot = Slot { identity, state };
        } else if self.0.len() < RATE_SET_COUNTERS_MAX {
            self.0.push(Slot { identity, state });
        } else if let Some(slot) = self
            .0
            .iter_mut()
            .filter(|slot| !slot.state.is_blocked())
            .min_by_key(|slot| slot.state.ends_at())
        {
            *slot = Slot { identity, state };
        }
    }
}

impl Slot {
    fn is_idle(&self, now: Timestamp) -> bool {
        self.state.is_idle(LIFE_MAX, now)
    }
}

fn same_set(one: &Charge, other: &Charge) -> bool {
    one.set == other.set
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

    const START: Timestamp = Timestamp::from_seconds(1_800_000_000);

    fn identity(number: usize) -> Identity {
        let number = u32::try_from(number).unwrap();
        Identity {
            row: 0,
            key: None,
            address: Some(Prefix::V4(number)),
        }
    }

    fn charge(number: usize) -> Charge {
        let row = ROWS.iter().find(|row| row.scope == Scope::Global).unwrap();
        let terms = Terms::of(row, NonZeroU32::MIN);
        let identity = identity(number);
        Charge {
            row,
            terms,
            identity,
            set: 0,
            outcome: Outcome::Undecided,
        }
    }

    /// What a fresh counter has become after so many requests at once.
    fn used(requests: usize, at: Timestamp) -> State {
        let terms = charge(0).terms;
        (0..requests).fold(State::fresh(at), |state, _| match state.take(&terms, at) {
            Taken::Admitted { after, .. } | Taken::Refused { after, .. } => after,
        })
    }

    #[test]
    fn a_full_set_gives_up_idle_counters_before_live_ones() {
        let mut set = Set::default();
        for number in 0..RATE_SET_COUNTERS_MAX {
            let requests = if number == 7 { 1 } else { 500 };
            set.keep(identity(number), used(requests, START), START);
        }
        // One request is worth 5 ms.
        let later = START.plus(Duration::from_millis(5));
        set.keep(identity(100), used(500, later), later);
        assert_eq!(set.0.len(), RATE_SET_COUNTERS_MAX);
        assert_eq!(set.find(&identity(7)), None);
        assert!(
            (0..16)
                .filter(|number| *number != 7)
                .all(|n| set.find(&identity(n)).is_some())
        );
    }

    #[test]
    fn a_set_of_live_counters_gives_up_the_one_that_owes_least() {
        let mut set = Set::default();
        for number in 0..RATE_SET_COUNTERS_MAX {
            set.keep(identity(number), used(500 - 10 * number, START), START);
        }
        set.keep(identity(100), used(1, START), START);
        assert_eq!(set.find(&identity(15)), None);
        // The newcomer owes least now and is the next to go.
        set.keep(identity(101), used(1, START), START);
        assert_eq!(set.find(&identity(100)), None);
        assert!((0..15).all(|number| set.find(&identity(number)).is_some()));
    }

    #[test]
    fn a_blocked_counter_keeps_its_place_and_a_wholly_blocked_set_refuses_newcomers() {
        let mut set = Set::default();
        for number in 0..RATE_SET_COUNTERS_MAX - 1 {
            set.keep(identity(number), used(2_001, START), START);
        }
        // Five seconds before the blocks end, one counter owes the ten seconds of a whole period:
        // it would be remembered for longer than any other, and yet it is the one to go.
        let late = START.plus(Duration::from_secs(25));
        set.keep(identity(50), used(2_000, late), late);
        set.keep(identity(51), used(1, late), late);
        assert_eq!(set.find(&identity(50)), None);
        assert!((0..15).all(|number| set.find(&identity(number)).is_some()));
        assert!(matches!(set.outcome(&charge(60), START), Outcome::Taken(_)));
        set.keep(identity(51), used(2_001, START), START);
        let mut newcomer = charge(60);
        newcomer.outcome = set.outcome(&newcomer, START);
        assert!(matches!(newcomer.outcome, Outcome::NoPlace));
        let Verdict::Refused { again_at } = newcomer.verdict(START) else {
            panic!("admitted without being counted");
        };
        assert_eq!(again_at, START.plus(NO_PLACE_RETRY));
        let ended = START.plus(Duration::from_secs(30));
        assert!(matches!(set.outcome(&charge(60), ended), Outcome::Taken(_)));
    }

    #[test]
    fn counters_from_before_the_clock_was_set_back_do_not_hold_their_places() {
        let mut set = Set::default();
        for number in 0..RATE_SET_COUNTERS_MAX {
            set.keep(identity(number), used(2_001, START), START);
        }
        let hour_before = Timestamp::from_seconds(START.seconds() - 3_600);
        assert!(set.has_place(hour_before));
        set.keep(identity(100), State::fresh(hour_before), hour_before);
        assert!(set.find(&identity(100)).is_some());
    }

    #[test]
    fn two_counters_of_one_request_may_share_a_set() {
        let table = Table::new();
        let mut charges = [charge(1), charge(2)];
        table.settle(&mut charges, START);
        assert!(
            charges
                .iter()
                .all(|c| matches!(c.verdict(START), Verdict::Admitted { .. }))
        );
        assert_eq!(table.counters(), 2);
    }
}
