//! Masks: JSON whose texts are templates, evaluated on a token's data.
//!
//! Invariant: a mask never fails open. It shows only the data that it names, and leaves out every
//! value that cannot be evaluated.

use serde_json::{Map, Value};

use super::budget::{Budget, Weight, text_made};
use super::context::{EvalContext, Host, Revealing};
use super::failures::{Malformed, MalformedReason};
use super::scope::Data;
use super::template::Template;
use crate::bounds;
use crate::secret::Secret;

pub struct Mask {
    root: Node,
    states: usize,
}

enum Node {
    Constant(Value),
    Leaf(Template),
    List(Vec<Node>),
    Object(Vec<(String, Node)>),
}

impl Mask {
    /// Returns each mistake with its path within the mask: `name.first`, `cards[0].number`; the
    /// empty path is the mask itself.
    pub fn parse(mask: &Value) -> Result<Self, Vec<(String, Malformed)>> {
        let mut parser = Parser { members: 0, states: 0, path: Vec::new(), mistakes: Vec::new() };
        let root = parser.node(mask);
        match root {
            Some(root) if parser.mistakes.is_empty() => Ok(Self { root, states: parser.states }),
            Some(_) | None => Err(parser.mistakes),
        }
    }

    /// The states of all patterns in it.
    pub(super) const fn states(&self) -> usize {
        self.states
    }

    /// The masked data. A leaf without a value in the data, or that cannot be evaluated, is left
    /// out of an object and null in a list, so that the other items keep their positions. An object
    /// or list without remaining values is left out too. `None` if nothing remains, and if the
    /// budget runs out: a result that depends on the remaining budget is never shown.
    pub fn apply(&self, data: &Value, host: &dyn Host, budget: &Budget) -> Option<Value> {
        self.apply_as(data, Revealing::AsAsked, host, budget)
    }

    /// As [`Mask::apply`], for the default masks of sensitive types: `reveal_last` hides a value
    /// that it would otherwise show whole.
    pub fn apply_strict(&self, data: &Value, host: &dyn Host, budget: &Budget) -> Option<Value> {
        self.apply_as(data, Revealing::NeverWhole, host, budget)
    }

    fn apply_as(
        &self,
        data: &Value,
        revealing: Revealing,
        host: &dyn Host,
        budget: &Budget,
    ) -> Option<Value> {
        let shown = self.root.show(Data(data), &EvalContext::new(host, budget, revealing));
        let mut shown = Secret::new(shown?);
        (!budget.ran_out()).then(|| std::mem::take(shown.expose_mut()))
    }
}

// A mask may hold an HMAC key.
opaque_debug!(Mask);

impl Node {
    fn show(&self, data: Data<'_>, context: &EvalContext<'_>) -> Option<Value> {
        if context.budget.ran_out() {
            return None;
        }
        match self {
            Self::Constant(value) => {
                context.budget.spend(Weight::of(value).made()).ok()?;
                Some(value.clone())
            }
            Self::Leaf(template) => {
                let value = template.evaluate_within(&data, context).ok()?;
                (!value.is_null() || template.is_defined(&data)).then_some(value)
            }
            Self::List(nodes) => {
                context.budget.spend(text_made(0)).ok()?;
                let shown: Vec<_> = nodes.iter().map(|node| node.show(data, context)).collect();
                let nothing = !shown.is_empty() && shown.iter().all(Option::is_none);
                let items = shown.into_iter().map(Option::unwrap_or_default).collect();
                (!nothing).then_some(Value::Array(items))
            }
            Self::Object(nodes) => {
                context.budget.spend(text_made(0)).ok()?;
                let members: Map<String, Value> = nodes
                    .iter()
                    .filter_map(|(key, node)| {
                        context.budget.spend(text_made(key.len())).ok()?;
                        Some((key.clone(), node.show(data, context)?))
                    })
                    .collect();
                let nothing = !nodes.is_empty() && members.is_empty();
                (!nothing).then_some(Value::Object(members))
            }
        }
    }
}

struct Parser<'a> {
    members: usize,
    /// The states of all patterns so far.
    states: usize,
    path: Vec<Step<'a>>,
    mistakes: Vec<(String, Malformed)>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Index(usize),
    Key(&'a str),
}

impl<'a> Parser<'a> {
    /// `None` if it has a mistake, or if the maximum number of mistakes is reached.
    fn node(&mut self, mask: &'a Value) -> Option<Node> {
        if self.mistakes.len() >= bounds::MASK_MISTAKES_MAX {
            return None;
        }
        self.members = self.members.saturating_add(1);
        if self.members > bounds::MASK_MEMBERS_MAX {
            // Reported once, not for every further member.
            if self.members == bounds::MASK_MEMBERS_MAX.saturating_add(1) {
                self.mistake(Malformed::new(0, MalformedReason::TooManyMembers));
            }
            return None;
        }
        match mask {
            Value::Null | Value::Bool(_) | Value::Number(_) => Some(Node::Constant(mask.clone())),
            Value::String(text) => match Template::parse(text) {
                Ok(template) => {
                    let before = self.states;
                    self.states = before.saturating_add(template.states);
                    if self.states > bounds::MASK_STATES_MAX {
                        // Reported once, not for every further pattern.
                        if before <= bounds::MASK_STATES_MAX {
                            self.mistake(Malformed::new(0, MalformedReason::TooManyStates));
                        }
                        return None;
                    }
                    Some(Node::Leaf(template))
                }
                Err(malformed) => {
                    self.mistake(malformed);
                    None
                }
            },
            Value::Array(_) | Value::Object(_) if self.path.len() >= bounds::MASK_DEPTH_MAX => {
                self.mistake(Malformed::new(0, MalformedReason::TooDeep));
                None
            }
            Value::Array(items) => {
                let mut nodes = Vec::new();
                for (index, item) in items.iter().enumerate() {
                    nodes.extend(self.child(Step::Index(index), item));
                }
                Some(Node::List(nodes))
            }
            Value::Object(members) => {
                let mut nodes = Vec::new();
                for (key, member) in members {
                    nodes
                        .extend(self.child(Step::Key(key), member).map(|node| (key.clone(), node)));
                }
                Some(Node::Object(nodes))
            }
        }
    }

    fn child(&mut self, step: Step<'a>, mask: &'a Value) -> Option<Node> {
        self.path.push(step);
        let node = self.node(mask);
        self.path.pop();
        node
    }

    fn mistake(&mut self, malformed: Malformed) {
        let mut path = String::new();
        for step in &self.path {
            match step {
                Step::Index(index) => path.extend(["[", &index.to_string(), "]"]),
                Step::Key(key) => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(key);
                }
            }
        }
        self.mistakes.push((path, malformed));
    }
}
