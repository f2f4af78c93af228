//! Expressions in the options of transforms: `{{ res.id }}`, `{{ config: secret }}`,
//! `{{ transform_identifier: 'card' | json: '$.id' }}`.
//!
//! They never name tokens: a call uses the tokens of its caller, who does not choose the
//! transforms.

use serde_json::{Map, Value};

use crate::bounds::{
    EXPRESSION_WORK_WRITE_MAX, PROXY_MASK_SAMPLE_STEPS_MAX, PROXY_TRANSFORMED_BYTES_MAX,
};
use crate::domain::mistakes::Mistakes;
use crate::domain::pattern::Steps;
use crate::domain::proxy::mask::measure;
use crate::domain::proxy::transform::{Side, Transform, Transforms};
use crate::expressions::{Budget, Failed, Host, Scope, Template, Unparsed};
use crate::secret::{Secret, SecretBuffer};

const NO_TOKENS: &str = "An expression of a transform names res, proxy, encrypted, config or \
                         transform_identifier, and no token.";
const MALFORMED: &str = "An expression is malformed.";
const TOO_MUCH: &str = "The expressions are too long.";
const TOO_LARGE: &str = "A value of a transform is too large.";
const SLOW_MASK: &str = "This expression, or all masks of the proxy together, would take too long \
                         for an answer of 128 KiB.";
const UNKNOWN: &str = "An expression of a transform cannot be evaluated.";

/// Members of a token whose expressions read the token's data.
const OF_THE_TOKEN: &[&str] = &["id", "mask", "search_indexes", "fingerprint_expression"];

/// A sentence without input that explains a missing value.
pub(in crate::app) type Unfilled = &'static str;

#[derive(Clone, Copy)]
pub(in crate::app) struct Filling<'a> {
    pub(in crate::app) scope: &'a dyn Scope,
    pub(in crate::app) host: &'a dyn Host,
    pub(in crate::app) budget: &'a Budget,
}

/// Also adds a mistake for masks that would take too long.
pub fn check_expressions(transforms: &Transforms, side: Side, mistakes: &mut Mistakes) {
    let budget = Budget::of(EXPRESSION_WORK_WRITE_MAX);
    let mut steps = Steps::new(PROXY_MASK_SAMPLE_STEPS_MAX);
    for (path, transform) in transforms.paths(side).zip(transforms.list()) {
        let (member, checked) = match transform {
            Transform::AppendHeader { value, .. } | Transform::AppendText { value } => {
                ("value", check_text(value.expose(), &budget))
            }
            Transform::AppendJson { value, .. } => ("value", check_value(value.expose(), &budget)),
            Transform::Tokenize { token, .. } => ("token", check_token(token.expose(), &budget)),
            Transform::Code { .. } => continue,
            Transform::Mask { matcher, .. } => {
                if measure(matcher, &mut steps).is_err() {
                    mistakes.add(format!("{path}.expression"), SLOW_MASK);
                }
                continue;
            }
        };
        if let Err(why) = checked {
            mistakes.add(format!("{path}.options.{member}"), why);
        }
    }
}

fn check_token(token: &Value, budget: &Budget) -> Result<(), Unfilled> {
    let members = token.as_object().into_iter().flatten();
    let mut evaluated = members.filter(|(name, _)| !OF_THE_TOKEN.contains(&name.as_str()));
    evaluated.try_for_each(|(_, value)| check_value(value, budget))
}

/// The recursion is no deeper than the body, which is bounded.
fn check_value(value: &Value, budget: &Budget) -> Result<(), Unfilled> {
    match value {
        Value::String(text) => check_text(text, budget),
        Value::Array(items) => items.iter().try_for_each(|item| check_value(item, budget)),
        Value::Object(members) => members.values().try_for_each(|it| check_value(it, budget)),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

fn check_text(text: &str, budget: &Budget) -> Result<(), Unfilled> {
    pieces(text, budget, |_| Ok(()), |_| Ok(()))
}

impl Filling<'_> {
    /// Objects and lists become JSON, null becomes the empty text.
    pub(in crate::app) fn text(self, text: &str) -> Result<Secret<String>, Unfilled> {
        // Both closures write.
        let out = std::cell::RefCell::new(SecretBuffer::with_capacity(text.len()));
        let write = |bytes: &[u8]| {
            let mut out = out.borrow_mut();
            out.extend(bytes);
            if out.len() > PROXY_TRANSFORMED_BYTES_MAX { Err(TOO_LARGE) } else { Ok(()) }
        };
        pieces(
            text,
            self.budget,
            |constant| write(constant.as_bytes()),
            |template| match self.evaluate(template)?.expose() {
                Value::String(text) => write(text.as_bytes()),
                Value::Null => Ok(()),
                other
                @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                    let mut json = SecretBuffer::with_capacity(64);
                    json.json(other);
                    write(json.bytes())
                }
            },
        )?;
        Ok(out.into_inner().finish_text())
    }

    /// Evaluates the texts in the value. A text that is exactly one expression takes the type of
    /// its value.
    pub(in crate::app) fn value(self, value: &Value) -> Result<Secret<Value>, Unfilled> {
        Ok(Secret::new(match value {
            Value::String(text) => match self.lone(text)? {
                Some(mut value) => std::mem::take(value.expose_mut()),
                None => Value::from(self.text(text)?.expose().as_str()),
            },
            Value::Array(items) => {
                let items = items.iter().map(|item| self.inner(item));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            Value::Object(members) => {
                let member =
                    |(name, value): (&String, &Value)| Ok((name.clone(), self.inner(value)?));
                Value::Object(members.iter().map(member).collect::<Result<_, Unfilled>>()?)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }))
    }

    /// The body of a create request. Expressions over the data of the token are kept.
    pub(in crate::app) fn token(self, token: &Value) -> Result<Secret<Value>, Unfilled> {
        let mut filled = Map::new();
        for (name, value) in token.as_object().into_iter().flatten() {
            let value = if OF_THE_TOKEN.contains(&name.as_str()) {
                value.clone()
            } else {
                self.inner(value)?
            };
            filled.insert(name.clone(), value);
        }
        Ok(Secret::new(Value::Object(filled)))
    }

    fn inner(self, value: &Value) -> Result<Value, Unfilled> {
        Ok(std::mem::take(self.value(value)?.expose_mut()))
    }

    /// `None` unless the text is exactly one expression.
    fn lone(self, text: &str) -> Result<Option<Secret<Value>>, Unfilled> {
        if !text.starts_with("{{") {
            return Ok(None);
        }
        let (template, length) =
            Template::parse_first(text, self.budget).map_err(|it| unparsed(&it))?;
        if length == text.len() { self.evaluate(&template).map(Some) } else { Ok(None) }
    }

    fn evaluate(self, template: &Template) -> Result<Secret<Value>, Unfilled> {
        if template.references().next().is_some() {
            return Err(NO_TOKENS);
        }
        let value = template.evaluate(self.scope, self.host, self.budget);
        value.map(Secret::new).map_err(|failed| {
            if failed == Failed::TooLarge {
                TOO_LARGE
            } else if failed == Failed::TooMuchWork {
                TOO_MUCH
            } else {
                UNKNOWN
            }
        })
    }
}

/// Visits the constant pieces and the expressions of a text, in order.
fn pieces(
    text: &str,
    budget: &Budget,
    constant: impl Fn(&str) -> Result<(), Unfilled>,
    expression: impl Fn(&Template) -> Result<(), Unfilled>,
) -> Result<(), Unfilled> {
    let mut rest = text;
    while let Some((before, _)) = rest.split_once("{{") {
        constant(before)?;
        let start = rest.get(before.len()..).unwrap_or_default();
        let (template, length) =
            Template::parse_first(start, budget).map_err(|it| unparsed(&it))?;
        if template.references().next().is_some() {
            return Err(NO_TOKENS);
        }
        expression(&template)?;
        rest = start.get(length..).unwrap_or_default();
    }
    constant(rest)
}

const fn unparsed(unparsed: &Unparsed) -> Unfilled {
    match unparsed {
        Unparsed::Malformed(_) => MALFORMED,
        Unparsed::Unpaid(_) => TOO_MUCH,
    }
}
