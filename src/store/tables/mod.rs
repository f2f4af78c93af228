//! The schema: every table, its number in the identity of sealed values, and its keys. Most keys of
//! a tenant's rows start with the tenant's id, so that a lookup cannot reach the rows of another
//! tenant.

mod access;
mod audit;
mod expiries;
pub mod meta;
mod range;
mod table;
#[cfg(test)]
mod tests;
mod threeds;
mod tokens;

pub use access::*;
pub use audit::*;
pub use expiries::*;
pub use range::KeyRange;
pub use table::{SealedBy, Table, tenant_of_scope};
pub use threeds::*;
pub use tokens::*;
