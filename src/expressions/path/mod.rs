//! JSON paths by RFC 9535, for the `json` filter.
//!
//! Every visited value is charged, so that `$..*..*..*` and nested filters end with the budget; no
//! known crate offers that. Hyphens are accepted in shorthand names (`$.first-name`), which the RFC
//! requires to be quoted.

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

    /// The states of all patterns in it.
    pub(super) const fn states(&self) -> usize {
        self.states
    }

    /// True if the path has only names and indexes. Such a path selects the same place in all
    /// values of one shape.
    pub(super) fn is_plain(&self) -> bool {
        query::is_singular(&self.segments)
    }

    /// False if the path surely leaves this member out: it names another one on the way there.
    pub(super) fn may_reach(&self, member: &[&str]) -> bool {
        let names = self.segments.iter().map_while(Segment::only_name);
        names.zip(member).all(|(name, wanted)| name == *wanted)
    }

    /// All selected values, in order.
    #[cfg(any(fuzzing, test))]
    pub(super) fn nodes<'v>(
        &self,
        root: &'v Value,
        budget: &Budget,
    ) -> Result<Vec<&'v Value>, Failed> {
        evaluate::nodes(&self.segments, root, budget)
    }

    /// The selected value: null if nothing is selected, an error if several are.
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
