//! Strongroom: a vault for card and personal data in one binary.

pub mod bounds;
pub mod clock;
pub mod crypto;
pub mod domain;
pub mod expressions;
pub mod formulas;
pub mod limits;
pub mod secret;
pub mod store;
