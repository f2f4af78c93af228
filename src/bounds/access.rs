//! Tenants, applications, keys and quotas.

use std::time::Duration;

/// A container path. Listing keys hold it in clear, so it is short.
pub const CONTAINER_BYTES_MAX: usize = 200;
/// Containers of one token; each costs a listing entry for each filter.
pub const CONTAINERS_MAX: usize = 10;
/// The published pattern of key texts.
pub const KEY_TEXT_BYTES_MAX: usize = 100;
/// Shorter texts could be guessed; the oldest published form has 26 characters.
pub const KEY_TEXT_BYTES_MIN: usize = 16;
/// An imported key is chosen elsewhere, perhaps by hand.
pub const IMPORTED_KEY_BYTES_MIN: usize = 20;
/// Different characters among the last characters of an imported key. One in a million random
/// hexadecimal keys has fewer.
pub const IMPORTED_KEY_LETTERS_MIN: usize = 6;
/// Keys of one application, as published.
pub const KEYS_PER_APPLICATION_MAX: usize = 3;
/// Plain permissions of one application, as published.
pub const PERMISSIONS_MAX: usize = 50;
/// Access rules of one application; each request that reads a token walks them.
pub const RULES_MAX: usize = 50;
/// Conditions of one rule of a session; each request that reads a token checks them.
pub const CONDITIONS_MAX: usize = 10;
/// Live sessions of one tenant. Public keys make them, and every visitor of a page has one. A
/// session takes about a kilobyte until it expires.
///
/// Shares: address 1/60 by the rate limit of public keys; no secret key all, since only public keys
/// make them; key as its tenant; tenant all, each has its own.
pub const SESSIONS_MAX: usize = 10_000;
/// A session that is not authorized ends after this time, as published.
pub const SESSION_LIFE: Duration = Duration::from_mins(3);
/// The longest life that an authorization may give to a session: a working day and its night.
pub const SESSION_LIFE_MAX: Duration = Duration::from_hours(24);
/// Client encryption keys of one tenant; a list shows all of them.
pub const CLIENT_KEYS_MAX: usize = 1_000;
/// The life of a client encryption key without an expiry of its own.
pub const CLIENT_KEY_LIFE: Duration = Duration::from_hours(365 * 24);
/// The longest life of a client encryption key: a year, as published, also one with a leap day.
pub const CLIENT_KEY_LIFE_MAX: Duration = Duration::from_hours(366 * 24);
/// The header of an encrypted value as JSON: an algorithm, a key's id and a public key.
pub const JWE_HEADER_BYTES_MAX: usize = 1_024;
/// Values in the plain text of an encrypted value, names of members included. A record about a
/// person has hundreds. They are not in the budget of the request's body.
pub const ENCRYPTED_VALUES_MAX: usize = 1_000;
/// Encrypted values in the header of one proxy request.
pub const ENCRYPTED_COUNT_MAX: usize = 20;
/// Keys whose last use is in memory: twice the callers that are cached, since a key stays until its
/// last use is written.
///
/// Shares: address, no secret key and key as their tenant; tenant 1/6, since it has 3,000 keys.
pub const LAST_USES_MAX: usize = 2 * super::store::CALLERS_MAX;
/// Last uses that one change writes: about a millisecond of the writer's time.
pub const LAST_USES_AT_ONCE: usize = 500;
/// The time between two writes of last uses, which are recorded to the minute.
pub const LAST_USES_PERIOD: Duration = Duration::from_mins(1);
/// The name of a tenant or an application, as published.
pub const NAME_CHARS_MAX: usize = 200;
/// Origins of pages that one public application allows; a shop has a few sites, with and without
/// `www`. The record of the application holds them.
pub const ORIGINS_MAX: usize = 50;
/// One origin: the longest host of DNS, a scheme and a port.
pub const ORIGIN_BYTES_MAX: usize = 267;
/// Hosts of `pages.elements_hosts`: each one is a place that a page can send cards to, and all of them
/// stand in one header.
pub const ELEMENTS_HOSTS_MAX: usize = 20;
/// A rule's description.
pub const DESCRIPTION_CHARS_MAX: usize = 400;
/// A tenant's settings: names and values are short words.
pub const SETTINGS_MAX: usize = 50;
pub const SETTING_BYTES_MAX: usize = 400;
/// Applications of one tenant.
pub const APPLICATIONS_MAX: usize = 1_000;
/// Tenants of one server.
///
/// No share: only the operator makes tenants.
pub const TENANTS_MAX: usize = 1_000;

/// The largest value of the quotas `tokenize_limit` and `detokenize_limit`: a call is one
/// transaction.
pub const BULK_TOKENS_MAX: u32 = 1_000;
/// Retention of card verification codes. PCI DSS wants them deleted after authorization.
pub const CVC_RETENTION_MAX: Duration = Duration::from_hours(24);
/// The same for production tenants, unless the operator's settings allow more.
pub const CVC_RETENTION_IN_PRODUCTION: Duration = Duration::from_hours(1);
const _: () = assert!(CVC_RETENTION_IN_PRODUCTION.as_secs() <= CVC_RETENTION_MAX.as_secs());
/// As published: an intent lives at most 48 hours.
pub const INTENT_RETENTION_MAX: Duration = Duration::from_hours(48);
pub const LOG_RETENTION_MAX: Duration = Duration::from_hours(400 * 24);
/// The largest `token_limit` quota: more tokens than a file can hold, and far too few to overflow a
/// counter.
pub const TOKEN_LIMIT_MAX: u64 = 1_000_000_000_000;
/// The largest factor of a tenant's `rate_limit` quota; up to here the arithmetic is exact.
pub const RATE_LIMIT_FACTOR_MAX: u32 = 1_000;
