//! Shares in the bounds that all callers have together.
//!
//! A bound of the whole process says in its comment which share an address, all callers without a
//! secret key, a key and a tenant have in it (`Shares:`), or why it needs none (`No share:`). A test
//! fails for one that says neither.

/// The amount that others have left is divided by this. The result is the share of an address (of one
/// /64 in IPv6) whose callers show no secret key, of all such callers together, of those of one
/// tenant, and of a tenant, its callers without a secret key included. A key has the share of its
/// tenant.
pub const ADDRESS_SHARE: usize = 8;
pub const STRANGERS_SHARE: usize = 4;
pub const TENANT_STRANGERS_SHARE: usize = 6;
pub const TENANT_SHARE: usize = 2;
