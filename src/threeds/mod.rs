//! 3-D Secure: an EMV 3DS Server for protocol versions 2.1.0 and 2.2.0, as values and rules.
//!
//! Everything here is pure: messages are read and written, a session moves from state to state, the
//! simulator answers as a directory server and an ACS would. Nothing here reads a clock, draws
//! randomness, opens a socket or keeps anything.
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
