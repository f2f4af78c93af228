//! The sources and documents keep their rules: rooms, sizes, import circles, plain words.

#![expect(clippy::string_slice, reason = "positions come from searches in the same text")]

mod circles;
mod documents;
mod links;
mod methods;
mod rules;
mod sources;
mod violations;
mod words;
