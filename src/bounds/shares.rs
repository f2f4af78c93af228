//! Shares in the bounds that all callers have together.
//!
//! The comment of a bound of the whole process says which share an address, all callers without a
//! secret key, a key and a tenant have in it (`Shares:`), or why it needs no shares (`No share:`).
//! A test fails for a bound that says neither.

/// A share is the amount that others have left, divided by one of these numbers. Callers without a
/// secret key have a share for each address (a /64 in IPv6), one for each tenant, and one for all
/// of them. A tenant has a share for all its callers. A key has no share beside its tenant's.
pub const ADDRESS_SHARE: usize = 8;
pub const STRANGERS_SHARE: usize = 4;
pub const TENANT_STRANGERS_SHARE: usize = 6;
pub const TENANT_SHARE: usize = 2;
