//! Finds the client address of a request. It trusts `X-Forwarded-For` only as far as the operator
//! trusts the machines that wrote it.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// The peer or, when the peer is a trusted proxy, the right-most hop of `X-Forwarded-For` that is
/// not one. `forwarded_for` are the header's values in the order in which they arrived.
///
/// Each proxy appends the address it was called from, so the list is read from the right, as long
/// as the writer of an entry is trusted. An entry that is not an address ends the walk: a client
/// could have invented the entries left of it, so the request counts under the last trusted hop. If
/// every hop is trusted, the left-most one is the client.
pub fn client_address<Value: AsRef<[u8]>>(
    peer: IpAddr,
    forwarded_for: impl DoubleEndedIterator<Item = Value>,
    trusted: &[Network],
) -> IpAddr {
    let is_trusted = |address| trusted.iter().any(|network| network.contains(address));
    let mut client = peer.to_canonical();
    for value in forwarded_for.rev() {
        for entry in value.as_ref().rsplit(|byte| *byte == b',') {
            if !is_trusted(client) {
                return client;
            }
            match parse_hop(entry) {
                Hop::Address(address) => client = address,
                Hop::Nothing => {}
                Hop::Unreadable => return client,
            }
        }
    }
    client
}

/// A network in CIDR form, or a single address. An IPv4 network also contains its addresses in
/// their IPv6-mapped form (`::ffff:192.0.2.1`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    base: IpAddr,
    prefix_bits: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidNetwork {
    /// The address has bits set outside of the prefix: a typing mistake in one of the two.
    HostBits,
    NotAPrefix,
    NotAnAddress,
    PrefixTooLong {
        bits_max: u32,
    },
}

impl Network {
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.base, address.to_canonical()) {
            (IpAddr::V4(base), IpAddr::V4(address)) => {
                let differing = base.to_bits() ^ address.to_bits();
                differing.leading_zeros() >= self.prefix_bits
            }
            (IpAddr::V6(base), IpAddr::V6(address)) => {
                let differing = base.to_bits() ^ address.to_bits();
                differing.leading_zeros() >= self.prefix_bits
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }

    /// Returns whether `base` has no bits set after its prefix.
    const fn is_tidy(self) -> bool {
        let trailing_zeros = match self.base {
            IpAddr::V4(base) => base.to_bits().trailing_zeros(),
            IpAddr::V6(base) => base.to_bits().trailing_zeros(),
        };
        trailing_zeros >= bits(self.base).saturating_sub(self.prefix_bits)
    }

    /// `::ffff:10.0.0.0/104` is `10.0.0.0/8`.
    fn canonical(self) -> Self {
        const MAPPED_BITS: u32 = 96;
        match (self.base.to_canonical(), self.prefix_bits.checked_sub(MAPPED_BITS)) {
            // The prefix of an address that was written as IPv4 is shorter.
            (base @ IpAddr::V4(_), Some(prefix_bits)) => Self { base, prefix_bits },
            _ => self,
        }
    }
}

impl FromStr for Network {
    type Err = InvalidNetwork;

    fn from_str(text: &str) -> Result<Self, InvalidNetwork> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let Ok(base) = address.parse::<IpAddr>() else {
            return Err(InvalidNetwork::NotAnAddress);
        };
        let bits_max = bits(base);
        let prefix_bits = match prefix {
            None => bits_max,
            Some(prefix) => parse_prefix(prefix).ok_or(InvalidNetwork::NotAPrefix)?,
        };
        if prefix_bits > bits_max {
            return Err(InvalidNetwork::PrefixTooLong { bits_max });
        }
        let network = Self { base, prefix_bits };
        if network.is_tidy() { Ok(network.canonical()) } else { Err(InvalidNetwork::HostBits) }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.base, self.prefix_bits)
    }
}

impl fmt::Display for InvalidNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HostBits => f.write_str(
                "the address has bits set after the prefix; write the first address of the network",
            ),
            Self::NotAPrefix => f.write_str("what follows the slash is not a number of bits"),
            Self::NotAnAddress => f.write_str(
                "not an IP address; write a network such as 10.0.0.0/8 or fd00::/8, or one address",
            ),
            Self::PrefixTooLong { bits_max } => {
                write!(f, "the prefix is longer than the {bits_max} bits of the address")
            }
        }
    }
}

impl std::error::Error for InvalidNetwork {}

enum Hop {
    Address(IpAddr),
    /// Two commas in a row: an empty element of a list does not count.
    Nothing,
    Unreadable,
}

/// An address, alone or with a port as some proxies write it: `192.0.2.1:443`, `[2001:db8::1]:443`.
fn parse_hop(entry: &[u8]) -> Hop {
    let Ok(text) = std::str::from_utf8(entry) else {
        return Hop::Unreadable;
    };
    let text = text.trim_matches([' ', '\t']);
    if text.is_empty() {
        return Hop::Nothing;
    }
    let bracketed = || text.strip_prefix('[')?.strip_suffix(']')?.parse().ok().map(IpAddr::V6);
    let with_port = || text.parse::<std::net::SocketAddr>().ok().map(|socket| socket.ip());
    match text.parse().ok().or_else(bracketed).or_else(with_port) {
        Some(address) => Hop::Address(address.to_canonical()),
        None => Hop::Unreadable,
    }
}

/// Digits only: `+8` and `08` are typing mistakes.
fn parse_prefix(text: &str) -> Option<u32> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let padded = text.len() > 1 && text.starts_with('0');
    if plain && !padded { text.parse().ok() } else { None }
}

const fn bits(address: IpAddr) -> u32 {
    match address {
        IpAddr::V4(_) => u32::BITS,
        IpAddr::V6(_) => u128::BITS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[track_caller]
    fn check_client(peer: &str, forwarded_for: &[&str], client: &str) {
        let trusted = ["10.0.0.0/8", "fd00::/8", "192.0.2.7"].map(|text| text.parse().unwrap());
        let found = client_address(ip(peer), forwarded_for.iter(), &trusted);
        assert_eq!(found, ip(client), "{peer} {forwarded_for:?}");
    }

    #[test]
    fn an_untrusted_peer_is_the_client_whatever_it_says() {
        check_client("203.0.113.9", &[], "203.0.113.9");
        check_client("203.0.113.9", &["198.51.100.1"], "203.0.113.9");
        check_client("::ffff:203.0.113.9", &["10.1.1.1"], "203.0.113.9");
    }

    #[test]
    fn behind_trusted_proxies_the_right_most_untrusted_hop_is_the_client() {
        check_client("10.0.0.1", &["198.51.100.1"], "198.51.100.1");
        check_client("10.0.0.1", &["198.51.100.1, 10.9.9.9"], "198.51.100.1");
        check_client("10.0.0.1", &["1.1.1.1, 198.51.100.1 ,\t10.9.9.9"], "198.51.100.1");
        check_client(
            "10.0.0.1",
            &["1.1.1.1", "198.51.100.1", "fd00::7, 192.0.2.7"],
            "198.51.100.1",
        );
        check_client("::ffff:10.0.0.1", &["::ffff:198.51.100.1"], "198.51.100.1");
        check_client("fd12::1", &["2001:db8::5"], "2001:db8::5");
    }

    #[test]
    fn hops_may_carry_ports_and_empty_elements_are_skipped() {
        check_client("10.0.0.1", &["198.51.100.1:5000"], "198.51.100.1");
        check_client("10.0.0.1", &["[2001:db8::5]:5000, [fd00::1]"], "2001:db8::5");
        check_client("10.0.0.1", &["198.51.100.1, ,", "", "10.3.3.3"], "198.51.100.1");
    }

    #[test]
    fn without_an_untrusted_hop_the_farthest_one_is_the_client() {
        check_client("10.0.0.1", &[], "10.0.0.1");
        check_client("10.0.0.1", &[""], "10.0.0.1");
        check_client("10.0.0.1", &["10.0.0.3, 10.0.0.2"], "10.0.0.3");
    }

    #[test]
    fn an_unreadable_hop_ends_the_walk_at_the_last_trusted_one() {
        check_client("10.0.0.1", &["198.51.100.1, unknown"], "10.0.0.1");
        check_client("10.0.0.1", &["198.51.100.1, 1.2.3, 10.0.0.2"], "10.0.0.2");
        check_client("10.0.0.1", &["198.51.100.1", "fe80::1%eth0"], "10.0.0.1");
        check_client("10.0.0.1", &["bad, 198.51.100.1"], "198.51.100.1");
        let values = [&b"198.51.100.1, \xff"[..]];
        let trusted = ["10.0.0.0/8".parse().unwrap()];
        let client = client_address(ip("10.0.0.1"), values.into_iter(), &trusted);
        assert_eq!(client, ip("10.0.0.1"));
    }

    #[track_caller]
    fn check_network(text: &str, inside: &[&str], outside: &[&str]) {
        let network: Network = text.parse().unwrap();
        for address in inside {
            assert!(network.contains(ip(address)), "{address} is in {text}");
        }
        for address in outside {
            assert!(!network.contains(ip(address)), "{address} is not in {text}");
        }
    }

    #[test]
    fn networks_hold_their_addresses_and_no_others() {
        let v4_edges = ["10.0.0.0", "10.255.255.255", "::ffff:10.1.2.3"];
        check_network("10.0.0.0/8", &v4_edges, &["9.255.255.255", "11.0.0.0", "::10.0.0.1"]);
        check_network("::ffff:10.0.0.0/104", &v4_edges, &["11.0.0.0"]);
        check_network("192.0.2.7", &["192.0.2.7"], &["192.0.2.6", "192.0.2.8"]);
        check_network("192.0.2.6/31", &["192.0.2.6", "192.0.2.7"], &["192.0.2.8"]);
        check_network("0.0.0.0/0", &["0.0.0.0", "255.255.255.255"], &["2001:db8::1"]);
        check_network("::/0", &["::", "2001:db8::1"], &["1.2.3.4", "::ffff:1.2.3.4"]);
        check_network("2001:db8::/33", &["2001:db8:7fff::"], &["2001:db8:8000::"]);
        check_network("2001:db8::1", &["2001:db8::1"], &["2001:db8::2"]);
    }

    #[test]
    fn networks_that_cannot_be_meant_are_refused() {
        for (text, why) in [
            ("", InvalidNetwork::NotAnAddress),
            ("10.0.0/8", InvalidNetwork::NotAnAddress),
            ("localhost", InvalidNetwork::NotAnAddress),
            ("10.0.0.0/", InvalidNetwork::NotAPrefix),
            ("10.0.0.0/+8", InvalidNetwork::NotAPrefix),
            ("10.0.0.0/08", InvalidNetwork::NotAPrefix),
            ("10.0.0.0/8/8", InvalidNetwork::NotAPrefix),
            ("10.0.0.0/99999999999", InvalidNetwork::NotAPrefix),
            ("10.0.0.0/33", InvalidNetwork::PrefixTooLong { bits_max: 32 }),
            ("fd00::/129", InvalidNetwork::PrefixTooLong { bits_max: 128 }),
            ("10.0.0.1/8", InvalidNetwork::HostBits),
            ("0.0.0.1/0", InvalidNetwork::HostBits),
            ("fd00::1/8", InvalidNetwork::HostBits),
        ] {
            assert_eq!(text.parse::<Network>(), Err(why), "{text}");
        }
    }

    #[test]
    fn networks_print_as_they_are_written() {
        for (text, printed) in [
            ("10.0.0.0/8", "10.0.0.0/8"),
            ("192.0.2.7", "192.0.2.7/32"),
            ("fd00::/8", "fd00::/8"),
            ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
        ] {
            assert_eq!(text.parse::<Network>().unwrap().to_string(), printed);
        }
    }
}
