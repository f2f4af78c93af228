//! HTTP ends here: routes, bodies, wire shapes, problems. The only reader of bodies and the only
//! maker of responses.
//!
//! The order of checks is the same for every route: the address's limit, the route, the key, the
//! key's limits, a permission that the key lacks everywhere, the body, and then the operation's own.

mod answers;
mod bodies;
mod body;
mod exchange;
mod operations;
mod origin;
mod pages;
mod pipeline;
mod probes;
mod problem;
mod reply;
mod request_counts;
pub mod route;
mod state;
pub(crate) mod wire;

pub use answers::Answers;
pub use bodies::Bodies;
pub use request_counts::Requests;
pub use route::RESULTS_PATH;
pub use state::{DeprecatedOperations, Http};
