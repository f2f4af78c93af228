//! JSON paths after RFC 9535, for the `json` filter.
//!
//! Every value that is looked at is paid for, so that `$..*..*..*` and filters within filters end
//! when the evaluation's budget does; the crates that exist promise nothing of the kind. Hyphens are
//! taken in shorthand names (`$.first-name`), which the RFC would have quoted.

mod evaluate;
mod literals;
mod parse;
mod pattern;
#[cfg(test)]
mod tests;

use serde_json::Value;

use super::Failed;
use super::budget::{Budget, Weight};
use pattern::Pattern;

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

struct Segment {
    reach: Reach,
    selectors: Vec<Selector>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    Children,
    Descendants,
}

enum Selector {
    All,
    Filter(Condition),
    Index(i64),
    Name(String),
    Slice { start: Option<i64>, end: Option<i64>, step: i64 },
}

struct Query {
    start: Start,
    segments: Vec<Segment>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    Current,
    Root,
}

impl Query {
    /// Whether it can give no more than one value, which a comparison needs.
    fn is_singular(&self) -> bool {
        self.segments.iter().all(|segment| {
            segment.reach == Reach::Children
                && matches!(segment.selectors.as_slice(), [Selector::Index(_) | Selector::Name(_)])
        })
    }
}

enum Condition {
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Compare(Operand, Comparison, Operand),
    Exists(Query),
    Matches(Operand, PatternSource, Extent),
    Not(Box<Condition>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Equal,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    NotEqual,
}

enum Operand {
    Count(Query),
    Length(Box<Operand>),
    Literal(Value),
    /// Singular.
    Query(Query),
    /// Of any query; nothing unless it gives exactly one.
    Value(Query),
}

enum PatternSource {
    Literal(Pattern),
    Operand(Operand),
}

/// What a pattern must cover: the whole text (`match`) or some of it (`search`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    Some,
    Whole,
}
