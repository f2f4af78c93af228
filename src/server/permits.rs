//! Permits for connections, with a maximum in all and one for each address.
//!
//! A connection that has shown no known secret key is a stranger. When all places are taken, the next
//! connection gets the place of a stranger: of the address with the most strangers, the oldest one.
//! So a crowd of connections that send nothing, or half a request, keeps no client out, and a client
//! that has shown its key keeps its place.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

/// Returns whether an address has no maximum of its own.
pub type TrustedAddresses = Arc<dyn Fn(IpAddr) -> bool + Send + Sync>;

/// Issues [`Permit`]s. It remembers only addresses that hold one.
#[derive(Clone)]
pub(super) struct Permits {
    places: Arc<Mutex<PermitCounts>>,
    in_all_max: usize,
    per_address_max: Option<usize>,
}

#[derive(Default)]
struct PermitCounts {
    taken: usize,
    /// The number of the next permit; smaller numbers are older.
    next: u64,
    by_address: HashMap<IpAddr, AddressPlaces>,
    /// Every address that has strangers; the last one loses its oldest stranger first.
    ranking: BTreeSet<Rank>,
}

#[derive(Default)]
struct AddressPlaces {
    taken: usize,
    strangers: BTreeMap<u64, CancellationToken>,
}

/// The number of strangers of an address, and the oldest of them.
type Rank = (usize, Reverse<u64>, IpAddr);

/// The maximum that a connection reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionLimit {
    InAll,
    PerAddress,
}

/// The maximum of an address: its own, or only the one in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddressLimit {
    Bounded,
    Unbounded,
}

impl Permits {
    pub(super) fn new(in_all_max: usize, per_address_max: Option<usize>) -> Self {
        Self { places: Arc::default(), in_all_max, per_address_max }
    }

    pub(super) fn take(
        &self,
        address: IpAddr,
        share: AddressLimit,
    ) -> Result<Permit, ConnectionLimit> {
        let address = neighbourhood(address);
        let mut places = self.lock();
        if share == AddressLimit::Bounded
            && self.per_address_max.is_some_and(|max| places.taken_by(address) >= max)
        {
            return Err(ConnectionLimit::PerAddress);
        }
        let evicted = places.taken >= self.in_all_max;
        if evicted && !places.evict() {
            return Err(ConnectionLimit::InAll);
        }
        let (number, ended) = places.give(address);
        drop(places);
        let is_known = AtomicBool::new(false);
        Ok(Permit { permits: self.clone(), address, number, ended, is_known, evicted })
    }

    /// Connections that are open now.
    pub(super) fn taken(&self) -> usize {
        self.lock().taken
    }

    fn lock(&self) -> MutexGuard<'_, PermitCounts> {
        // No code panics while it holds the lock, so poisoned data is still valid.
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PermitCounts {
    fn taken_by(&self, address: IpAddr) -> usize {
        self.by_address.get(&address).map_or(0, |places| places.taken)
    }

    fn give(&mut self, address: IpAddr) -> (u64, CancellationToken) {
        let number = self.next;
        let ended = CancellationToken::new();
        self.next = number.saturating_add(1);
        self.taken = self.taken.saturating_add(1);
        self.change(address, |places| {
            places.taken = places.taken.saturating_add(1);
            places.strangers.insert(number, ended.clone());
        });
        (number, ended)
    }

    /// Frees the place of a stranger; false if all connections are known.
    fn evict(&mut self) -> bool {
        let Some(&(_, _, address)) = self.ranking.last() else { return false };
        let oldest = self.change(address, |places| {
            let (_, ended) = places.strangers.pop_first()?;
            places.taken = places.taken.saturating_sub(1);
            Some(ended)
        });
        let Some(ended) = oldest else { return false };
        self.taken = self.taken.saturating_sub(1);
        ended.cancel();
        true
    }

    /// The connection has shown a known secret key; false if its place is gone already.
    fn know(&mut self, address: IpAddr, number: u64) -> bool {
        self.change(address, |places| places.strangers.remove(&number).is_some())
    }

    fn give_back(&mut self, permit: &Permit) {
        let is_held = self.change(permit.address, |places| {
            let is_held = permit.is_known.load(Ordering::Relaxed)
                || places.strangers.remove(&permit.number).is_some();
            places.taken = places.taken.saturating_sub(usize::from(is_held));
            is_held
        });
        // A connection that was evicted has given its place back before.
        self.taken = self.taken.saturating_sub(usize::from(is_held));
    }

    /// Changes the places of an address, and with them its rank.
    fn change<T>(&mut self, address: IpAddr, change: impl FnOnce(&mut AddressPlaces) -> T) -> T {
        let places = self.by_address.entry(address).or_default();
        let before = places.rank(address);
        let changed = change(places);
        let after = places.rank(address);
        if places.taken == 0 {
            self.by_address.remove(&address);
        }
        if before != after {
            if let Some(before) = before {
                self.ranking.remove(&before);
            }
            self.ranking.extend(after);
        }
        changed
    }
}

impl AddressPlaces {
    fn rank(&self, address: IpAddr) -> Option<Rank> {
        let (oldest, _) = self.strangers.first_key_value()?;
        Some((self.strangers.len(), Reverse(*oldest), address))
    }
}

impl fmt::Debug for Permits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permits").field("taken", &self.taken()).finish_non_exhaustive()
    }
}

/// The permit of one connection, returned when dropped.
#[derive(Debug)]
pub(super) struct Permit {
    permits: Permits,
    address: IpAddr,
    number: u64,
    ended: CancellationToken,
    is_known: AtomicBool,
    /// True if a stranger had to make room for this connection.
    pub(super) evicted: bool,
}

impl Permit {
    /// Call it with each request: after the first one with a known secret key, the connection keeps
    /// its place. `trusts` is not called again then.
    pub(super) fn show(&self, trusts: impl FnOnce() -> bool) {
        if !self.is_known.load(Ordering::Relaxed) && trusts() {
            let mut places = self.permits.lock();
            let is_held = places.know(self.address, self.number);
            // Stored under the lock: `give_back` reads it under the lock too. Of two requests that
            // come here together, the second finds nothing to remove.
            self.is_known.fetch_or(is_held, Ordering::Relaxed);
        }
    }

    /// Resolves when another connection has taken the place.
    pub(super) async fn ended(&self) {
        self.ended.cancelled().await;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.permits.lock().give_back(self);
    }
}

/// A customer usually holds a whole IPv6 /64, so addresses of one /64 are counted together.
fn neighbourhood(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn take(permits: &Permits, address: &str) -> Permit {
        permits.take(ip(address), AddressLimit::Bounded).unwrap()
    }

    fn known(permits: &Permits, address: &str) -> Permit {
        let permit = take(permits, address);
        permit.show(|| true);
        permit
    }

    #[track_caller]
    fn check_same_place(first: &str, second: &str, same: bool) {
        let permits = Permits::new(10, Some(1));
        let _held = take(&permits, first);
        let taken = permits.take(ip(second), AddressLimit::Bounded);
        assert_eq!(taken.err(), same.then_some(ConnectionLimit::PerAddress), "{first} {second}");
    }

    #[test]
    fn an_address_is_counted_with_its_neighbours() {
        check_same_place("192.0.2.1", "192.0.2.1", true);
        check_same_place("192.0.2.1", "192.0.2.2", false);
        check_same_place("192.0.2.1", "::ffff:192.0.2.1", true);
        check_same_place("2001:db8::1", "2001:db8::ffff:1", true);
        check_same_place("2001:db8::1", "2001:db8:0:1::1", false);
    }

    #[test]
    fn places_are_given_back_and_leave_nothing_behind() {
        let permits = Permits::new(2, Some(1));
        for last in 0..=255 {
            let permit =
                permits.take(IpAddr::from([192, 0, 2, last]), AddressLimit::Bounded).unwrap();
            permit.show(|| last % 2 == 0);
        }
        // Some of them lose their places to others.
        let held: Vec<_> = (0..=255)
            .map(|last| permits.take(IpAddr::from([192, 0, 2, last]), AddressLimit::Bounded))
            .collect();
        assert_eq!(permits.taken(), 2);
        drop(held);
        assert_eq!(permits.taken(), 0);
        let places = permits.lock();
        assert!(places.by_address.is_empty() && places.ranking.is_empty());
    }

    #[test]
    fn the_maximum_in_all_binds_trusted_addresses_too() {
        let permits = Permits::new(2, Some(1));
        let held = [(); 2].map(|()| {
            let permit = permits.take(ip("127.0.0.1"), AddressLimit::Unbounded).unwrap();
            permit.show(|| true);
            permit
        });
        assert_eq!(
            permits.take(ip("127.0.0.1"), AddressLimit::Unbounded).err(),
            Some(ConnectionLimit::InAll)
        );
        drop(held);
    }

    #[test]
    fn the_oldest_stranger_of_the_largest_crowd_makes_room() {
        let permits = Permits::new(6, Some(4));
        let alone = take(&permits, "192.0.2.9");
        let crowd: Vec<_> = (0..3).map(|_| take(&permits, "192.0.2.1")).collect();
        let keyed = [known(&permits, "192.0.2.1"), known(&permits, "192.0.2.2")];
        let ended = |permits: &[Permit]| -> Vec<bool> {
            permits.iter().map(|it| it.ended.is_cancelled()).collect()
        };
        let next = take(&permits, "192.0.2.3");
        assert!(next.evicted && permits.taken() == 6);
        assert_eq!(ended(&crowd), [true, false, false]);
        let more = [take(&permits, "192.0.2.4"), take(&permits, "192.0.2.5")];
        assert_eq!(ended(&crowd), [true, true, false], "one each is left");
        // Of crowds of the same size, the oldest stranger goes.
        assert!(alone.ended.is_cancelled());
        assert_eq!(ended(&keyed), [false, false]);
        // The connections that lost their places give none back.
        drop((alone, crowd));
        assert_eq!(permits.taken(), 5);
        drop((next, keyed, more));
        assert_eq!(permits.taken(), 0);
    }

    #[test]
    fn a_key_that_is_shown_too_late_does_not_bring_the_place_back() {
        let permits = Permits::new(1, None);
        let late = take(&permits, "192.0.2.1");
        let next = take(&permits, "192.0.2.2");
        late.show(|| true);
        assert!(late.ended.is_cancelled());
        drop(late);
        assert_eq!(permits.taken(), 1);
        next.show(|| true);
        next.show(|| panic!("it is known"));
        assert!(permits.take(ip("192.0.2.3"), AddressLimit::Bounded).is_err());
        drop(next);
        assert_eq!(permits.taken(), 0);
    }
}
