//! JSON paths after RFC 9535, for the `json` filter.
//!
//! Every value that is looked at is paid for, so that `$..*..*..*` and filters within filters end
//! when the evaluation's budget does; the crates that exist promise nothing of the kind. Hyphens are
//! taken in shorthand names (`$.first-name`), which the RFC would have quoted.

mod evaluate;
mod literals;
mod parse;
mod pattern;
mod query;
#[cfg(test)]
mod tests;

use serde_json::Value;

use super::budget::{Budget, Weight};
use super::failures::Failed;
use query::Segment;

pub(super) struct JsonPath {
    segments: Vec<Segment>,
    states: usize,
}

impl JsonPath {
    pub(super) fn parse(text: &str) -> Option<Self> {
        parse::path(text).map(|(segments, states)| Self { segments, states })
    }

    /// The states of all its patterns.
    pub(super) const fn states(&self) -> usize {
        self.states
    }

    /// Null when there is none; several are an error.
    pub(super) fn only_value(&self, root: &Value, budget: &Budget) -> Result<Value, Failed> {
        match evaluate::nodes(&self.segments, root, budget)?.as_slice() {
            [] => Ok(Value::Null),
            [only] => {
                budget.spend(Weight::of(only).made())?;
                Ok((*only).clone())
            }
            [_, _, ..] => Err(Failed::ManyValues),
        }
    }
}
