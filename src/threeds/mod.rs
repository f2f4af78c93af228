//! 3-D Secure: an EMV 3DS Server for protocol versions 2.1.0 and 2.2.0, as values and rules.
//!
//! This module is pure. It reads and writes messages, moves a session from state to state, and
//! simulates a directory server and an ACS. It never reads a clock, draws randomness, opens a
//! socket or stores anything.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

pub mod base64;
pub mod codes;
pub mod format;
pub mod mapping;
pub mod message;
pub mod ranges;
pub mod receive;
pub mod request;
pub mod scheme;
pub mod session;
pub mod simulator;
pub mod state;
pub mod version;

pub use scheme::Scheme;
pub use version::{NamedVersion, ProtocolVersion};
