//! Lookups of host names.

use std::time::Duration;

/// Names whose addresses are cached, and for how long. Most calls then need no lookup, and a
/// destination that moves is soon found again.
///
/// No share: a cache; a name that finds no room is looked up each time.
pub const NAMES_KEPT_MAX: usize = 1_024;
pub const NAME_KEPT: Duration = Duration::from_secs(30);
/// Names that are looked up at a time. Each lookup has a socket for each kind of address. The
/// number is the same as of requests to destinations, which hold their places meanwhile: a tenant
/// whose name servers do not answer gets the same share of lookups as of requests.
///
/// Shares: address as its tenant; no secret key 1/2; key as its tenant; tenant 1/2.
pub const NAME_LOOKUPS_MAX: usize = 2_048;
/// The deadline of a name lookup. Each name server has a share of it.
pub const NAME_LOOKUP_MAX: Duration = Duration::from_secs(3);
/// Name servers that are asked, as in the C library.
pub const NAME_SERVERS_MAX: usize = 3;
/// A name server's answer over TCP; over UDP it is shorter.
pub const NAME_ANSWER_BYTES_MAX: usize = 64 * 1024;
/// Addresses of one name that are tried.
pub const NAME_ADDRESSES_MAX: usize = 8;
/// The length of `/etc/hosts` and of `/etc/resolv.conf`.
pub const NAME_FILE_BYTES_MAX: u64 = 1024 * 1024;
