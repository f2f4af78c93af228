//! The guard against request forgery: the destinations that may be called. It does no IO.
//!
//! Tenants choose the hosts of proxies and webhooks. Without a guard they could make this server
//! call the services of its own network: a database, a metadata service with credentials, the
//! operator's listener. So a host must be a DNS name, the port must be 443, and every address of
//! the name must be public. The settings list exceptions by host and port.
//!
//! One address that is not public refuses the whole name. Such an answer is a mistake or an attack,
//! and using the other addresses would make the outcome depend on their order.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::config::AllowedDestination;

pub(super) const NOT_A_NAME: &str =
    "the destination is an address and not a host name; the operator's settings can allow it";
pub(super) const PORT: &str =
    "the destination's port is not 443; the operator's settings can allow it";

/// The destinations that are allowed without an entry in the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Public addresses on port 443.
    Internet,
    /// Also this machine, on every port. For `strongroom dev`.
    Development,
}

#[derive(Debug)]
pub(super) struct Guard {
    scope: Scope,
    allowed: Vec<AllowedDestination>,
}

/// A host and a port that may be called if their addresses may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admission {
    /// The settings list it, so any address is allowed.
    Listed,
    /// Its addresses must be checked.
    Judged(Scope),
}

impl Guard {
    pub(super) const fn new(scope: Scope, allowed: Vec<AllowedDestination>) -> Self {
        Self { scope, allowed }
    }

    pub(super) fn admit(&self, host: &str, port: u16) -> Result<Admission, &'static str> {
        let listed = |it: &AllowedDestination| it.port == port && is_same_host(&it.host, host);
        if self.allowed.iter().any(listed) {
            return Ok(Admission::Listed);
        }
        let is_development = self.scope == Scope::Development;
        if port != 443 && !is_development {
            return Err(PORT);
        }
        let is_own_address = host.parse::<IpAddr>().is_ok_and(|it| it.is_loopback());
        if is_dns_name(host) || is_development && is_own_address {
            return Ok(Admission::Judged(self.scope));
        }
        Err(NOT_A_NAME)
    }
}

impl Admission {
    /// Returns whether there are addresses, and all of them may be called.
    pub(super) fn allows(self, addresses: &[IpAddr]) -> bool {
        !addresses.is_empty() && addresses.iter().all(|address| self.allows_address(*address))
    }

    fn allows_address(self, address: IpAddr) -> bool {
        match self {
            Self::Listed => true,
            Self::Judged(Scope::Internet) => is_public(address),
            Self::Judged(Scope::Development) => is_public(address) || address.is_loopback(),
        }
    }
}

/// Addresses are compared by value, since an IPv6 address has many spellings.
fn is_same_host(allowed: &str, host: &str) -> bool {
    let same_address = match (allowed.parse::<IpAddr>(), host.parse::<IpAddr>()) {
        (Ok(allowed), Ok(host)) => allowed == host,
        (Ok(_) | Err(_), Ok(_) | Err(_)) => false,
    };
    same_address || allowed.eq_ignore_ascii_case(host)
}

/// False for every spelling of an address, also for those that only the C library accepts (`127.1`,
/// `0177.0.0.1`, `0x7f000001`, `2130706433`, `fe80::1%eth0`): they all end in a number or contain a
/// colon. No top-level domain is a number.
fn is_dns_name(host: &str) -> bool {
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let is_label = |label: &str| (1..=63).contains(&label.len()) && label.bytes().all(letters);
    let last = host.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x");
    host.len() <= 253 && host.split('.').all(is_label) && !is_number
}

/// Networks of IPv4 that are not public, by RFC 6890 and its registry.
const NOT_PUBLIC_V4: &[([u8; 4], u32)] = &[
    // "This network"; Linux connects 0.0.0.0 to this machine.
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    // Shared by carriers, and by a cloud's metadata service (100.100.100.200).
    ([100, 64, 0, 0], 10),
    ([127, 0, 0, 0], 8),
    // Link-local, with the metadata service of most clouds (169.254.169.254).
    ([169, 254, 0, 0], 16),
    // A public address on which a cloud serves metadata to its machines.
    ([168, 63, 129, 16], 32),
    ([172, 16, 0, 0], 12),
    // Protocol assignments, with a cloud's metadata service (192.0.0.192).
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    // Relays of 6to4.
    ([192, 88, 99, 0], 24),
    ([192, 168, 0, 0], 16),
    ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    // Multicast.
    ([224, 0, 0, 0], 4),
    // Reserved, with the broadcast address.
    ([240, 0, 0, 0], 4),
];

/// Parts of `2000::/3`, the public addresses of IPv6, that are not public. All addresses outside of
/// it are refused: loopback, unique local and link-local addresses, multicast, and addresses that
/// contain an IPv4 address.
const NOT_PUBLIC_V6: &[([u16; 8], u32)] = &[
    // Protocol assignments: Teredo, benchmarks, ORCHID.
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 23),
    ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32),
    // 6to4 leads to any IPv4 address.
    ([0x2002, 0, 0, 0, 0, 0, 0, 0], 16),
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20),
];

/// The public addresses of IPv6.
const PUBLIC_V6: ([u16; 8], u32) = ([0x2000, 0, 0, 0, 0, 0, 0, 0], 3);
/// In networks without IPv4, name servers map public IPv4 addresses into this network.
const NAT64: ([u16; 8], u32) = ([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96);

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => is_public_v4(four),
        IpAddr::V6(six) if is_in_v6(six, NAT64) => {
            let [.., a, b, c, d] = six.octets();
            is_public_v4(Ipv4Addr::new(a, b, c, d))
        }
        IpAddr::V6(six) => {
            is_in_v6(six, PUBLIC_V6) && !NOT_PUBLIC_V6.iter().any(|network| is_in_v6(six, *network))
        }
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let is_in = |(network, length): &([u8; 4], u32)| {
        let mask = u32::MAX.checked_shl(32_u32.saturating_sub(*length)).unwrap_or(0);
        u32::from(address) & mask == u32::from(Ipv4Addr::from(*network)) & mask
    };
    !NOT_PUBLIC_V4.iter().any(is_in)
}

fn is_in_v6(address: Ipv6Addr, (network, length): ([u16; 8], u32)) -> bool {
    let mask = u128::MAX.checked_shl(128_u32.saturating_sub(length)).unwrap_or(0);
    u128::from(address) & mask == u128::from(Ipv6Addr::from(network)) & mask
}

#[cfg(test)]
mod tests;
