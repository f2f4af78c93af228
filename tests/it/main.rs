//! The real binary, from outside: over TLS, over its command line, and by killing it.
//!
//! No test here reaches into the program's memory; what the library lends are its public constants
//! and its table of routes.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]

mod access;
mod applications;
mod bodies;
mod bulk;
mod cli;
mod cors;
mod crash;
mod cvc;
mod deprecations;
mod formulas;
mod harness;
mod idempotency;
mod intents;
mod leaks;
mod lifetimes;
mod limits;
mod lists;
mod operator;
mod patch;
mod quotas;
mod race;
mod rate_limits;
mod rules;
mod service;
mod slow;
mod start;
mod tidy;
mod tokens;
mod types;
