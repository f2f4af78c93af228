//! Permits for connections, with a maximum in all and one for each address.

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    by_address: HashMap<IpAddr, usize>,
}

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
        let mut places = self.lock();
        if places.taken >= self.in_all_max {
            return Err(ConnectionLimit::InAll);
        }
        let counted = match (share, self.per_address_max) {
            (AddressLimit::Bounded, Some(max)) => {
                let address = neighbourhood(address);
                let taken = places.by_address.get(&address).copied().unwrap_or(0);
                if taken >= max {
                    return Err(ConnectionLimit::PerAddress);
                }
                places.by_address.insert(address, taken.saturating_add(1));
                Some(address)
            }
            (AddressLimit::Bounded, None) | (AddressLimit::Unbounded, _) => None,
        };
        places.taken = places.taken.saturating_add(1);
        drop(places);
        Ok(Permit { permits: self.clone(), counted })
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

impl fmt::Debug for Permits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permits").field("taken", &self.taken()).finish_non_exhaustive()
    }
}

/// The permit of one connection, returned when dropped.
#[derive(Debug)]
pub(super) struct Permit {
    permits: Permits,
    counted: Option<IpAddr>,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut places = self.permits.lock();
        places.taken = places.taken.saturating_sub(1);
        let Some(address) = self.counted else { return };
        if let Some(taken) = places.by_address.get_mut(&address) {
            *taken = taken.saturating_sub(1);
            if *taken == 0 {
                places.by_address.remove(&address);
            }
        }
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

    #[track_caller]
    fn check_same_place(first: &str, second: &str, same: bool) {
        let permits = Permits::new(10, Some(1));
        let _held = permits.take(ip(first), AddressLimit::Bounded).unwrap();
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
            let _permit =
                permits.take(IpAddr::from([192, 0, 2, last]), AddressLimit::Bounded).unwrap();
        }
        assert_eq!(permits.taken(), 0);
        assert!(permits.lock().by_address.is_empty());
    }

    #[test]
    fn the_maximum_in_all_binds_trusted_addresses_too() {
        let permits = Permits::new(2, Some(1));
        let _first = permits.take(ip("127.0.0.1"), AddressLimit::Unbounded).unwrap();
        let _second = permits.take(ip("127.0.0.1"), AddressLimit::Unbounded).unwrap();
        assert_eq!(
            permits.take(ip("127.0.0.1"), AddressLimit::Unbounded).err(),
            Some(ConnectionLimit::InAll)
        );
    }
}
