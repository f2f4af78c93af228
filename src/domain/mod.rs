//! Values and rules. No IO, no async, no clock, no cryptography, no serde derives.

pub mod aba;
pub mod card;
pub mod expires_at;
pub mod luhn;
pub mod merge_patch;
pub mod mistakes;
pub mod time;
pub mod token_type;
