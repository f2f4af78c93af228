//! The console: counts in memory, and the lengths of its lists.

/// Tenants whose requests are counted: the last ones to send a request. Each takes up to ten
/// kilobytes.
///
/// No share: one for each tenant, and those that fall out are counted from zero.
pub const ACTIVITY_TENANTS_MAX: usize = 256;
/// Minutes and hours for which requests are counted.
pub const ACTIVITY_MINUTES: usize = 60;
pub const ACTIVITY_HOURS: usize = 24;
/// Routes that the console lists: those with the most requests.
pub const ACTIVITY_ROUTES_MAX: usize = 10;
/// Proxies whose calls are counted, and as many reactors: the last ones to be called. Each takes up to
/// a kilobyte.
///
/// Shares: address -; no secret key -; key as its tenant; tenant 1/40, since it has 250
/// proxies and 250 reactors.
pub const CALLS_COUNTED_MAX: usize = 10_000;
/// Failures that are kept of each, the last ones.
pub const CALL_FAILURES_KEPT: usize = 5;
/// 3DS sessions of one page. Each record is opened.
pub const THREEDS_LISTED_MAX: usize = 50;
/// Walks over the keys and applications of a tenant that run at the same time, and requests that
/// wait for one. A tenant with thousands of keys takes tens of milliseconds for a walk; other
/// requests have their own places.
///
/// Shares: address as its tenant; no secret key 1/2; key as its tenant; tenant one while others
/// wait.
pub const CONSOLE_WALKS_MAX: usize = 1;
/// Shares: address as its tenant; no secret key 1/2; key as its tenant; tenant 1/4.
pub const CONSOLE_WALKS_WAITING_MAX: usize = 32;
/// Bytes of a person's name, as a sign-on gives it. Two of them, with an address in angle brackets,
/// fit in an audit entry.
pub const PERSON_BYTES_MAX: usize = 120;
/// Groups of a person that are read, and the bytes of all of them.
pub const PERSON_GROUPS_MAX: usize = 500;
pub const PERSON_GROUPS_BYTES_MAX: usize = 8 * 1_024;
/// Groups and tenants that a setting names.
pub const CONSOLE_NAMES_MAX: usize = 100;
/// The length of the secret between the sign-on and the vault.
pub const CONSOLE_SECRET_BYTES_MIN: usize = 32;
pub const CONSOLE_SECRET_BYTES_MAX: usize = 512;
/// Connections at a time to the listener for people with certificates, and their further streams.
///
/// Shares: address 1/8; no secret key, key and tenant none, since only people with a certificate
/// come here.
pub const CONSOLE_CONNECTIONS_MAX: usize = 64;
/// Shares: address 1/8; no secret key, key and tenant none, since only people with a certificate
/// come here.
pub const CONSOLE_SHARED_MAX: usize = 32;
