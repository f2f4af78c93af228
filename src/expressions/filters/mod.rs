//! The filters: their names, what arguments they take, and how arguments are read.
//!
//! A filter never changes its input and never keeps anything. Null goes through the filters that
//! only rewrite a text; a list or an object is never silently turned into text.

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

pub(super) use arguments::{Arguments, text_of};
pub(super) use signature::{Action, Argument, Call, Filter, Place};
pub(super) use table::find;
#[cfg(test)]
pub(super) use table::names;
