//! Selects the values of a path. Every candidate is charged before it is read.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::Value;

use super::pattern::{COMPILE, Extent, Pattern};
use super::query::{
    Comparison, Condition, Operand, PatternSource, Query, Reach, Segment, Selector, Start,
};
use crate::bounds;
use crate::expressions::budget::{Budget, STEP, Weight};
use crate::expressions::failures::Failed;
use crate::expressions::variable::place;

pub(super) fn nodes<'v>(
    segments: &[Segment],
    root: &'v Value,
    budget: &Budget,
) -> Result<Vec<&'v Value>, Failed> {
    Evaluation { root, budget }.nodes(segments, root)
}

struct Evaluation<'v, 'b> {
    root: &'v Value,
    budget: &'b Budget,
}

/// A value, or the RFC's Nothing, which is not null.
type Maybe<'v> = Option<Cow<'v, Value>>;

impl<'v> Evaluation<'v, '_> {
    fn nodes(&self, segments: &[Segment], start: &'v Value) -> Result<Vec<&'v Value>, Failed> {
        let mut nodes = vec![start];
        for segment in segments {
            let mut next = Vec::new();
            for node in nodes {
                match segment.reach {
                    Reach::Children => self.select(&segment.selectors, node, &mut next)?,
                    Reach::Descendants => self.descend(&segment.selectors, node, &mut next)?,
                }
            }
            nodes = next;
        }
        Ok(nodes)
    }

    /// Visits the node and its descendants in document order, without recursion.
    fn descend(
        &self,
        selectors: &[Selector],
        node: &'v Value,
        found: &mut Vec<&'v Value>,
    ) -> Result<(), Failed> {
        let mut waiting = vec![node];
        while let Some(node) = waiting.pop() {
            self.budget.spend(STEP)?;
            self.select(selectors, node, found)?;
            let mark = waiting.len();
            waiting.extend(children(node));
            if let Some(new) = waiting.get_mut(mark..) {
                new.reverse();
            }
        }
        Ok(())
    }

    fn select(
        &self,
        selectors: &[Selector],
        node: &'v Value,
        found: &mut Vec<&'v Value>,
    ) -> Result<(), Failed> {
        for selector in selectors {
            self.budget.spend(STEP)?;
            match (selector, node) {
                (Selector::All, _) => {
                    children(node).try_for_each(|child| self.push(child, found))?;
                }
                (Selector::Filter(condition), _) => {
                    for child in children(node) {
                        self.budget.spend(STEP)?;
                        if self.holds(condition, child)? {
                            self.push(child, found)?;
                        }
                    }
                }
                (Selector::Index(index), Value::Array(items)) => {
                    if let Some(item) = place(*index, items.len()).and_then(|at| items.get(at)) {
                        self.push(item, found)?;
                    }
                }
                (Selector::Name(name), Value::Object(members)) => {
                    // The look-up compares the name with several members, which may share a prefix.
                    self.budget.spend(name.len())?;
                    if let Some(member) = members.get(name) {
                        self.push(member, found)?;
                    }
                }
                (Selector::Slice { start, end, step }, Value::Array(items)) => {
                    self.slice(items, (*start, *end, *step), found)?;
                }
                (Selector::Index(_) | Selector::Name(_) | Selector::Slice { .. }, _) => {}
            }
        }
        Ok(())
    }

    fn push(&self, node: &'v Value, found: &mut Vec<&'v Value>) -> Result<(), Failed> {
        self.budget.spend(STEP)?;
        if found.len() >= bounds::JSON_PATH_NODES_MAX {
            return Err(Failed::TooMuchWork);
        }
        found.push(node);
        Ok(())
    }

    /// RFC 9535, 2.3.4.2.2, with the bounds clamped to the list.
    fn slice(
        &self,
        items: &'v [Value],
        (start, end, step): (Option<i64>, Option<i64>, i64),
        found: &mut Vec<&'v Value>,
    ) -> Result<(), Failed> {
        let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
        let normal = |at: i64| {
            if at < 0 { length.saturating_add(at) } else { at }
        };
        let (mut at, limit) = match step.cmp(&0) {
            Ordering::Equal => return Ok(()),
            Ordering::Greater => (
                normal(start.unwrap_or(0)).clamp(0, length),
                normal(end.unwrap_or(length)).clamp(0, length),
            ),
            Ordering::Less => (
                normal(start.unwrap_or(length.saturating_sub(1)))
                    .clamp(-1, length.saturating_sub(1)),
                end.map_or(-1, |end| normal(end).clamp(-1, length.saturating_sub(1))),
            ),
        };
        while if step > 0 { at < limit } else { at > limit } {
            if let Some(item) = usize::try_from(at).ok().and_then(|at| items.get(at)) {
                self.push(item, found)?;
            }
            at = at.saturating_add(step);
        }
        Ok(())
    }

    fn holds(&self, condition: &Condition, current: &'v Value) -> Result<bool, Failed> {
        self.budget.spend(STEP)?;
        match condition {
            Condition::All(conditions) => {
                for condition in conditions {
                    if !self.holds(condition, current)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Condition::Any(conditions) => {
                for condition in conditions {
                    if self.holds(condition, current)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Condition::Compare(a, comparison, b) => {
                let (a, b) = (self.operand(a, current)?, self.operand(b, current)?);
                self.compare(a.as_deref(), *comparison, b.as_deref())
            }
            Condition::Exists(query) => Ok(!self.query(query, current)?.is_empty()),
            Condition::Matches(text, pattern, extent) => {
                let text = self.operand(text, current)?;
                let Some(Value::String(text)) = text.as_deref() else {
                    return Ok(false);
                };
                self.matches(text, pattern, *extent, current)
            }
            Condition::Not(condition) => Ok(!self.holds(condition, current)?),
        }
    }

    fn matches(
        &self,
        text: &str,
        pattern: &PatternSource,
        extent: Extent,
        current: &'v Value,
    ) -> Result<bool, Failed> {
        match pattern {
            PatternSource::Literal(pattern) => pattern.is_match(text, self.budget),
            PatternSource::Operand(operand) => {
                let source = self.operand(operand, current)?;
                let Some(Value::String(source)) = source.as_deref() else {
                    return Ok(false);
                };
                self.budget.spend_parsing(source)?;
                self.budget.spend(COMPILE)?;
                match Pattern::parse(source, extent) {
                    Some(pattern) => pattern.is_match(text, self.budget),
                    None => Ok(false),
                }
            }
        }
    }

    fn query(&self, query: &Query, current: &'v Value) -> Result<Vec<&'v Value>, Failed> {
        let start = match query.start {
            Start::Current => current,
            Start::Root => self.root,
        };
        self.nodes(&query.segments, start)
    }

    fn operand<'o>(&self, operand: &'o Operand, current: &'v Value) -> Result<Maybe<'o>, Failed>
    where
        'v: 'o,
    {
        Ok(match operand {
            Operand::Count(query) => {
                Some(Cow::Owned(Value::from(self.query(query, current)?.len())))
            }
            Operand::Length(of) => {
                let of = self.operand(of, current)?;
                let length = match of.as_deref() {
                    Some(Value::String(text)) => {
                        self.budget.spend(text.len())?;
                        Some(text.chars().count())
                    }
                    Some(Value::Array(items)) => Some(items.len()),
                    Some(Value::Object(members)) => Some(members.len()),
                    Some(Value::Null | Value::Bool(_) | Value::Number(_)) | None => None,
                };
                length.map(|length| Cow::Owned(Value::from(length)))
            }
            Operand::Literal(value) => Some(Cow::Borrowed(value)),
            Operand::Query(query) | Operand::Value(query) => {
                match self.query(query, current)?.as_slice() {
                    [only] => Some(Cow::Borrowed(*only)),
                    _ => None,
                }
            }
        })
    }

    fn compare(
        &self,
        a: Option<&Value>,
        comparison: Comparison,
        b: Option<&Value>,
    ) -> Result<bool, Failed> {
        let read = |value: &Value| Weight::of(value).read();
        self.budget.spend(a.map_or(0, read).saturating_add(b.map_or(0, read)))?;
        let equal = || match (a, b) {
            (None, None) => true,
            (Some(a), Some(b)) => same(a, b),
            (None, Some(_)) | (Some(_), None) => false,
        };
        let less = |a: Option<&Value>, b: Option<&Value>| match (a, b) {
            (Some(Value::Number(a)), Some(Value::Number(b))) => order(a, b) == Some(Ordering::Less),
            (Some(Value::String(a)), Some(Value::String(b))) => a < b,
            _ => false,
        };
        Ok(match comparison {
            Comparison::Equal => equal(),
            Comparison::NotEqual => !equal(),
            Comparison::Less => less(a, b),
            Comparison::Greater => less(b, a),
            Comparison::LessOrEqual => less(a, b) || equal(),
            Comparison::GreaterOrEqual => less(b, a) || equal(),
        })
    }
}

fn children(node: &Value) -> impl Iterator<Item = &Value> {
    let (items, members) = match node {
        Value::Array(items) => (Some(items.iter()), None),
        Value::Object(members) => (None, Some(members.values())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => (None, None),
    };
    items.into_iter().flatten().chain(members.into_iter().flatten())
}

/// Equality of values; 1 and 1.0 are equal.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => order(a, b) == Some(Ordering::Equal),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| same(value, other)))
        }
        _ => a == b,
    }
}

fn order(a: &serde_json::Number, b: &serde_json::Number) -> Option<Ordering> {
    let whole = |number: &serde_json::Number| {
        number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
    };
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}
