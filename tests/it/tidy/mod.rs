//! The sources and documents keep their rules: rooms, import circles, plain words.

#![expect(clippy::string_slice, reason = "positions come from searches in the same text")]

mod bounds;
mod circles;
pub(crate) mod documents;
mod links;
mod messages;
mod rules;
mod sources;
mod violations;
mod words;
