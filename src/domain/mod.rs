//! Values and rules. No IO, no async, no clock, no cryptography, no serde derives.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

pub mod aba;
pub mod access;
pub mod answer_seed;
pub mod application;
pub mod archive;
pub mod audit;
pub mod backup;
pub mod base58;
pub mod card;
pub mod container;
pub mod data;
pub mod duration;
pub mod expires_at;
pub mod exposure;
pub mod hex;
pub mod html;
pub mod https_url;
pub mod id;
pub mod key_text;
pub mod luhn;
pub mod merge_patch;
pub mod metadata;
pub mod mistakes;
pub mod permission;
pub mod privacy;
pub mod problem_type;
pub mod quota;
pub mod search_query;
pub mod share_set;
pub mod tenant;
pub mod time;
pub mod token;
pub mod token_intent;
pub mod token_query;
pub mod token_type;
