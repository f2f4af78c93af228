//! Strongroom: a vault for card and personal data in one binary.

pub mod bounds;
pub mod domain;
pub mod expressions;
pub mod formulas;
pub mod limits;
pub mod log;
pub mod secret;
pub mod server;
