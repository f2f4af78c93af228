//! Values and rules. No IO, no async, no clock, no cryptography, no serde derives.

pub mod mistakes;
pub mod time;
