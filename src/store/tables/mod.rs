//! The schema: every table, its number in the identity of sealed values, and its keys. All keys of a
//! tenant's rows contain the tenant's id, and most start with it, so that a lookup cannot reach the
//! rows of another tenant. Keys that start with a time are removed by ranges of time.

mod access;
mod audit;
mod client_keys;
mod expiries;
mod idempotency;
pub mod meta;
mod owners;
mod processes;
mod proxies;
mod range;
mod sessions;
mod table;
#[cfg(test)]
mod tests;
mod threeds;
mod tokens;
mod webhooks;

pub use access::*;
pub use audit::*;
pub use client_keys::*;
pub use expiries::*;
pub use idempotency::*;
pub use owners::OwnerPlace;
pub use processes::*;
pub use proxies::*;
pub use range::KeyRange;
pub use sessions::*;
pub use table::{SealedBy, Table, tenant_of_scope};
pub use threeds::*;
pub use tokens::*;
pub use webhooks::*;
