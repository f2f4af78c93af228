//! The expression language of masks, fingerprints, search indexes, ids and detokenization:
//! Liquid objects and filters, `{{ data.number | reveal_last: 4 }}`.
//!
//! Pure: no clock, no IO, no cryptography of its own; what is random or keyed comes from
//! [`Host`]. It never quotes its input in an error, never panics whatever the text and the data
//! are, and never works or writes more than `bounds` allows. Tags (`{% .. %}`) and the filter
//! `date` are not part of it.

mod budget;
mod cache;
mod context;
mod evaluate;
mod failures;
mod filters;
mod lex;
mod mask;
mod parse;
mod path;
mod scope;
mod template;
#[cfg(test)]
mod tests;
mod variable;

pub use budget::Budget;
pub use cache::{Cache, Unparsed};
pub use context::{Hash, Host};
pub use failures::{Failed, Malformed, Why};
pub use mask::Mask;
pub use scope::{Data, DataAndMetadata, Reference, Scope};
pub use template::Template;
