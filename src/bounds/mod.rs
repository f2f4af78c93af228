//! Every maximum of the program, with its reason, and what must hold between them.
//!
//! Nothing grows without a name here. A new bound comes with the test that hits it.

mod access;
mod audit;
mod cards;
mod connections;
mod expressions;
mod operate;
mod requests;
mod store;
mod threeds;
mod tokens;

pub use access::*;
pub use audit::*;
pub use cards::*;
pub use connections::*;
pub use expressions::*;
pub use operate::*;
pub use requests::*;
pub use store::*;
pub use threeds::*;
pub use tokens::*;
