//! Routes, bodies, wire shapes and problems. No other room reads bodies or makes responses.
//!
//! A request passes its checks in the same order on every route: the limit of its address, the
//! route, the key, the limits of the key, the permission, the body, and then the operation's own
//! checks. [`route::ROUTES`] lists all routes; `pipeline` makes the checks.

mod absent;
mod activity;
mod answers;
mod bodies;
mod body;
mod card_elements;
mod exchange;
mod front;
#[cfg(any(fuzzing, test))]
pub(crate) mod fuzz;
mod openapi;
mod operations;
mod operator_listener;
mod origin;
mod pages;
mod passed_headers;
mod path;
mod person;
mod pipeline;
mod probes;
mod problem;
mod program_state;
mod programs;
mod proxy;
mod reply;
mod request_counts;
pub mod route;
mod schema;
mod sign_on;
mod state;
pub(crate) mod wire;

pub use activity::Activity;
pub use answers::Answers;
pub use bodies::Bodies;
pub use front::examples::set_threeds_sdk;
pub use operations::tokens::{created_token, show_again};
pub use operator_listener::StandaloneProbes;
pub use problem::{LIMITED, LIMITED_ON_DEV};
pub use request_counts::Requests;
pub use route::RESULTS_PATH;
pub use sign_on::{Certified, ConsoleAccess, ProxyHeaders, SignOnRules};
pub use state::{Background, DeprecatedOperations, Http, ProgramService};

pub(in crate::http) use exchange::{Answer, BoxFuture, Exchange, OperationFailure, WriteAnswer};
pub(in crate::http) use problem::Problem;
pub(in crate::http) use reply::{Reply, RequestContext};
pub(crate) use schema::Schema;
