//! The expression language of masks, fingerprints, search indexes, ids and detokenization: Liquid
//! objects and filters, `{{ data.number | reveal_last: 4 }}`.
//!
//! Pure: no clock, no IO, no cryptography of its own; the [`Host`] supplies random bytes and keyed
//! hashes. Errors never quote the input. No text and no data can cause a panic, or more work and
//! output than `bounds` allows. Tags (`{% .. %}`) and the filter `date` are not part of the
//! language.

mod budget;
mod cache;
mod context;
mod evaluate;
mod failures;
mod filters;
mod first;
#[cfg(any(fuzzing, test))]
pub(crate) mod fuzz;
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
#[cfg(test)]
pub use failures::MalformedReason;
pub use failures::{Failed, Malformed};
pub use mask::Mask;
pub use scope::{Data, DataAndMetadata, Reference, Scope, ScopedValue};
pub use template::Template;
