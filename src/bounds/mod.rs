//! Every maximum of the program, with its reason and the relations between them.
//!
//! Everything that can grow has a bound here. A new bound comes with a test that reaches it.

mod access;
mod archive;
mod audit;
mod backup;
mod cards;
mod code;
mod connections;
mod console;
mod database;
mod expressions;
mod names;
mod operate;
mod outbound;
mod processes;
mod program_crypto;
mod programs;
mod proxies;
mod proxy_calls;
mod requests;
mod shares;
mod store;
mod threeds;
mod tokens;
mod webhooks;

pub use access::*;
pub use archive::*;
pub use audit::*;
pub use backup::*;
pub use cards::*;
pub use code::*;
pub use connections::*;
pub use console::*;
pub use database::*;
pub use expressions::*;
pub use names::*;
pub use operate::*;
pub use outbound::*;
pub use processes::*;
pub use program_crypto::*;
pub use programs::*;
pub use proxies::*;
pub use proxy_calls::*;
pub use requests::*;
pub use shares::*;
pub use store::*;
pub use threeds::*;
pub use tokens::*;
pub use webhooks::*;
