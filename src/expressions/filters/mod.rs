//! The filters of the language.
//!
//! A filter never changes its input and has no state. Filters that rewrite a text pass null
//! through. A list or an object is never converted to text implicitly.

mod alias;
mod arguments;
mod arithmetic;
mod card;
mod encode;
mod list;
mod number;
mod signature;
mod table;
mod text;

pub(super) use arguments::{Invocation, text_of};
pub(super) use arithmetic::calculate;
pub(super) use signature::{Action, Argument, Call, Filter, FilterPosition};
pub(super) use table::find;
#[cfg(test)]
pub(super) use table::names;
pub(super) use text::{rewrite, spell_out};
