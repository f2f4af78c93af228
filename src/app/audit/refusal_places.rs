//! The places of refused attempts: from a route and a network to neither, in steps that each hold
//! more attempts in one row.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use crate::app::audit::refusals::RefusedAttempt;
use crate::domain::audit::RefusalReason;
use crate::domain::id::KeyId;
use crate::domain::origin::Origin;

/// Attempts with equal places are in one row.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Place {
    Route(&'static str, Caller),
    /// All routes.
    Caller(Caller),
    /// All callers of a wide network.
    Wide(RefusalReason, IpAddr),
    /// All others.
    Other(RefusalReason),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Caller {
    reason: RefusalReason,
    key: Option<KeyId>,
    network: Option<IpAddr>,
    uid: Option<u32>,
}

impl Place {
    pub(super) fn of(attempt: &RefusedAttempt) -> Self {
        let RefusedAttempt { reason, route, ref origin, .. } = *attempt;
        let network = origin.address.map(network_of);
        let uid = origin.user.as_ref().map(|user| user.uid);
        Self::Route(route, Caller { reason, key: origin.key(), network, uid })
    }

    /// The next place, which holds more attempts. `None` if this one holds all of its reason.
    pub(super) fn wider(&self) -> Option<Self> {
        match self {
            Self::Route(_, caller) => Some(Self::Caller(caller.clone())),
            Self::Caller(Caller { reason, network, .. }) => Some(match network {
                Some(network) => Self::Wide(*reason, wide_network_of(*network)),
                None => Self::Other(*reason),
            }),
            Self::Wide(reason, _) => Some(Self::Other(*reason)),
            Self::Other(_) => None,
        }
    }

    /// The order in which rows with this place and number of attempts move to wider places: first the
    /// routes are given up, then the clients with the fewest attempts.
    pub(super) const fn order(&self, attempts: u64) -> (bool, u64, bool) {
        match self {
            Self::Route(..) => (false, attempts, false),
            Self::Caller(_) => (true, attempts, false),
            Self::Wide(..) | Self::Other(_) => (true, attempts, true),
        }
    }

    /// True for two routes that the same client asked for.
    pub(super) fn shares_client(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Route(_, one), Self::Route(_, two)) => {
                (one.network, one.uid) == (two.network, two.uid)
            }
            _ => false,
        }
    }
}

/// The parts that two origins have in common, and the trace of the first.
pub(super) fn common_origin(one: &Arc<Origin>, two: &Origin) -> Option<Arc<Origin>> {
    let address = match (one.address, two.address) {
        (Some(one), Some(two)) => common_network(one, two),
        _ => None,
    };
    let key = one.key().filter(|key| two.key() == Some(*key));
    let user = one.user.clone().filter(|user| two.user.as_ref() == Some(user));
    if (address, key) == (one.address, one.key()) && user == one.user {
        return Some(Arc::clone(one));
    }
    if address.is_none() && key.is_none() && user.is_none() {
        return None;
    }
    Some(Arc::new(Origin::new(address, key, one.trace.clone(), user)))
}

/// The smallest network that holds both, by its first address.
fn common_network(one: IpAddr, two: IpAddr) -> Option<IpAddr> {
    if one == two {
        return Some(one);
    }
    let equal = |of: fn(IpAddr) -> IpAddr| Some(of(one)).filter(|network| *network == of(two));
    equal(network_of).or_else(|| equal(wide_network_of))
}

/// The part of an address that one customer holds, as for the rate limits: the whole IPv4 address,
/// the first 64 bits of an IPv6 address.
fn network_of(address: IpAddr) -> IpAddr {
    first_bits(address, 32, 64)
}

/// The part of an address that one site holds: the first 24 bits of an IPv4 address, the first 48 of
/// an IPv6 address.
fn wide_network_of(address: IpAddr) -> IpAddr {
    first_bits(address, 24, 48)
}

fn first_bits(address: IpAddr, of_v4: u32, of_v6: u32) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let rest = u32::BITS.saturating_sub(of_v4);
            IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() >> rest << rest))
        }
        IpAddr::V6(address) => {
            let rest = u128::BITS.saturating_sub(of_v6);
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> rest << rest))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_addresses_have_the_smallest_network_in_common_that_holds_both() {
        for (one, two, expected) in [
            ("192.0.2.1", "192.0.2.1", Some("192.0.2.1")),
            ("192.0.2.1", "192.0.2.9", Some("192.0.2.0")),
            ("192.0.2.0", "192.0.2.9", Some("192.0.2.0")),
            ("192.0.2.1", "192.0.3.1", None),
            ("2001:db8:1:2::1", "2001:db8:1:2::2", Some("2001:db8:1:2::")),
            ("2001:db8:1:2::", "2001:db8:1:3::2", Some("2001:db8:1::")),
            ("2001:db8:1::", "2001:db8:1:3::2", Some("2001:db8:1::")),
            ("2001:db8:1::1", "2001:db8:2::1", None),
            ("192.0.2.1", "2001:db8::1", None),
        ] {
            let common = common_network(one.parse().unwrap(), two.parse().unwrap());
            assert_eq!(common, expected.map(|text| text.parse().unwrap()), "{one} {two}");
        }
    }
}
