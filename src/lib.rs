//! Strongroom: a vault for card and personal data in one binary.

pub mod app;
pub mod bounds;
pub mod cli;
pub mod clock;
pub mod config;
pub mod crypto;
pub mod domain;
pub mod expressions;
pub mod formulas;
pub mod http;
pub mod idempotency;
pub mod limits;
pub mod log;
pub mod operator;
pub mod secret;
pub mod server;
pub mod store;
