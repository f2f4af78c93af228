//! The whole schema: every table, its number in a sealed value's identity, and how its keys are
//! made. Keys of one tenant start with the tenant's id, so that no look-up can leave it.

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
