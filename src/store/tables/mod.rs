//! The schema: every table, its number in the identity of sealed values, and its keys. All keys of
//! a tenant's rows contain the tenant's id, and most start with it, so that a lookup cannot reach
//! another tenant's rows. Keys that start with a time let one range remove expired rows.

mod access;
mod audit;
mod expiries;
mod idempotency;
pub mod meta;
mod processes;
mod range;
mod records;
mod shard;
mod table;
#[cfg(test)]
mod tests;
mod threeds;
mod tokens;
mod webhooks;

pub use access::*;
pub use audit::*;
pub use expiries::*;
pub use idempotency::*;
pub use processes::*;
pub use range::KeyRange;
pub use records::*;
pub use shard::Shard;
pub use table::{OwnerPlace, SealedBy, Table, tenant_of_scope};
pub use threeds::*;
pub use tokens::*;
pub use webhooks::*;
