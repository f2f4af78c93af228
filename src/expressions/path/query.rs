//! The parsed form of a path.

use serde_json::Value;

use super::pattern::{Extent, Pattern};

pub(super) struct Segment {
    pub(super) reach: Reach,
    pub(super) selectors: Vec<Selector>,
}

impl Segment {
    /// `None` for a segment that may select other members too.
    pub(super) fn only_name(&self) -> Option<&str> {
        match (self.reach, self.selectors.as_slice()) {
            (Reach::Children, [Selector::Name(name)]) => Some(name),
            (Reach::Children | Reach::Descendants, _) => None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    Children,
    Descendants,
}

pub(super) enum Selector {
    All,
    Filter(Condition),
    Index(i64),
    Name(String),
    Slice { start: Option<i64>, end: Option<i64>, step: i64 },
}

pub(super) struct Query {
    pub(super) start: Start,
    pub(super) segments: Vec<Segment>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    Current,
    Root,
}

impl Query {
    /// True if it selects at most one value, which comparisons require.
    pub(super) fn is_singular(&self) -> bool {
        is_singular(&self.segments)
    }
}

pub(super) fn is_singular(segments: &[Segment]) -> bool {
    segments.iter().all(|segment| {
        segment.reach == Reach::Children
            && matches!(segment.selectors.as_slice(), [Selector::Index(_) | Selector::Name(_)])
    })
}

pub(super) enum Condition {
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Compare(Operand, Comparison, Operand),
    Exists(Query),
    Matches(Operand, PatternSource, Extent),
    Not(Box<Condition>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    NotEqual,
}

pub(super) enum Operand {
    Count(Query),
    Length(Box<Operand>),
    Literal(Value),
    Query(Query),
    /// The value of any query; nothing unless it selects exactly one.
    Value(Query),
}

pub(super) enum PatternSource {
    Literal(Pattern),
    Operand(Operand),
}
