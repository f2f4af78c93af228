//! JSON Schema, as much of it as the API document uses. A keyword that is not known here is a
//! mismatch, so that no rule of the document goes unchecked.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;

use regex_lite::Regex;
use serde_json::{Map, Value};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// The document whose `#/components` the references of a schema name.
#[derive(Clone, Copy)]
pub(crate) struct Schemas<'a> {
    document: &'a Value,
}

/// A value that breaks a rule of its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mismatch {
    /// The JSON pointer of the value.
    pub(crate) pointer: String,
    pub(crate) rule: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pointer = if self.pointer.is_empty() { "the whole value" } else { &self.pointer };
        write!(f, "{pointer}: {}", self.rule)
    }
}

type Checked = Result<(), Mismatch>;

/// Keywords that say something to people and nothing about a value.
const ANNOTATIONS: &[&str] = &[
    "$comment",
    "default",
    "deprecated",
    "description",
    "discriminator",
    "example",
    "examples",
    "readOnly",
    "title",
    "writeOnly",
];

impl<'a> Schemas<'a> {
    pub(crate) const fn of(document: &'a Value) -> Self {
        Self { document }
    }

    pub(crate) fn check(self, schema: &Value, value: &Value) -> Checked {
        self.at(schema, value, "")
    }

    /// The thing that a reference leads to, or the value itself when it is no reference.
    pub(crate) fn resolve<'b>(self, value: &'b Value) -> Result<&'b Value, Mismatch>
    where
        'a: 'b,
    {
        let Some(reference) = value.get("$ref") else { return Ok(value) };
        self.target(reference, "")
    }

    fn target(self, reference: &Value, at: &str) -> Result<&'a Value, Mismatch> {
        let pointer = reference.as_str().and_then(|text| text.strip_prefix('#'));
        let target = pointer
            .filter(|pointer| pointer.starts_with("/components/"))
            .and_then(|pointer| self.document.pointer(pointer));
        target.ok_or_else(|| mismatch(at, format!("the document has no {reference}")))
    }

    fn at(self, schema: &Value, value: &Value, at: &str) -> Checked {
        let members = match schema {
            Value::Bool(true) => return Ok(()),
            Value::Bool(false) => return Err(mismatch(at, "nothing may stand here")),
            Value::Object(members) => members,
            Value::Array(_) | Value::Null | Value::Number(_) | Value::String(_) => {
                return Err(mismatch(at, "the schema is neither an object nor true or false"));
            }
        };
        for (keyword, rule) in members {
            self.keyword((keyword, rule), members, value, at)?;
        }
        Ok(())
    }

    fn keyword(
        self,
        (keyword, rule): (&str, &Value),
        schema: &Map<String, Value>,
        value: &Value,
        at: &str,
    ) -> Checked {
        match keyword {
            "$ref" => self.at(self.target(rule, at)?, value, at),
            "allOf" => list(rule, at)?.iter().try_for_each(|one| self.at(one, value, at)),
            "anyOf" | "oneOf" => self.choice(keyword, list(rule, at)?, value, at),
            "not" => match self.at(rule, value, at) {
                Ok(()) => Err(mismatch(at, "a value that `not` excludes")),
                Err(_) => Ok(()),
            },
            "properties" => self.properties(rule, value, at),
            "additionalProperties" => self.other_members(rule, schema, value, at),
            "propertyNames" => names(value)
                .try_for_each(|name| self.at(rule, &Value::from(name.as_str()), &below(at, name))),
            "items" => self.items(rule, value, at),
            _ => alone(keyword, rule, value, at),
        }
    }

    fn choice(self, keyword: &str, choices: &[Value], value: &Value, at: &str) -> Checked {
        let results: Vec<_> = choices.iter().map(|one| self.at(one, value, at)).collect();
        let fits = results.iter().filter(|result| result.is_ok()).count();
        if fits == 1 || (fits > 1 && keyword == "anyOf") {
            return Ok(());
        }
        let reasons: Vec<_> =
            results.into_iter().filter_map(|result| Some(result.err()?.to_string())).collect();
        let rule = format!("{keyword}: {fits} of {} fit [{}]", choices.len(), reasons.join("; "));
        Err(mismatch(at, rule))
    }

    fn properties(self, rule: &Value, value: &Value, at: &str) -> Checked {
        let (Some(known), Some(members)) = (rule.as_object(), value.as_object()) else {
            return Ok(());
        };
        known.iter().try_for_each(|(name, schema)| match members.get(name) {
            Some(member) => self.at(schema, member, &below(at, name)),
            None => Ok(()),
        })
    }

    fn other_members(
        self,
        rule: &Value,
        schema: &Map<String, Value>,
        value: &Value,
        at: &str,
    ) -> Checked {
        let known = schema.get("properties").and_then(Value::as_object);
        let is_known = |name: &str| known.is_some_and(|known| known.contains_key(name));
        let Some(members) = value.as_object() else { return Ok(()) };
        for (name, member) in members.iter().filter(|(name, _)| !is_known(name)) {
            if rule == &Value::Bool(false) {
                return Err(mismatch(&below(at, name), "additionalProperties: not described"));
            }
            self.at(rule, member, &below(at, name))?;
        }
        Ok(())
    }

    fn items(self, rule: &Value, value: &Value, at: &str) -> Checked {
        let items = value.as_array().into_iter().flatten().enumerate();
        items
            .into_iter()
            .try_for_each(|(index, item)| self.at(rule, item, &below(at, &index.to_string())))
    }
}

/// A keyword whose rule needs no other schema.
fn alone(keyword: &str, rule: &Value, value: &Value, at: &str) -> Checked {
    let holds = match keyword {
        "type" => is_of_type(rule, value, at)?,
        "enum" => list(rule, at)?.contains(value),
        "const" => rule == value,
        "required" => return required(rule, value, at),
        "format" => has_format(rule, value, at)?,
        "pattern" => matches(rule, value, at)?,
        "minimum" => number(value).is_none_or(|it| number(rule).is_some_and(|least| it >= least)),
        "maximum" => number(value).is_none_or(|it| number(rule).is_some_and(|most| it <= most)),
        "minLength" => value.as_str().is_none_or(|it| is_at_least(it.chars().count(), rule)),
        "maxLength" => value.as_str().is_none_or(|it| is_at_most(it.chars().count(), rule)),
        "minItems" => value.as_array().is_none_or(|it| is_at_least(it.len(), rule)),
        "maxItems" => value.as_array().is_none_or(|it| is_at_most(it.len(), rule)),
        "minProperties" => value.as_object().is_none_or(|it| is_at_least(it.len(), rule)),
        "maxProperties" => value.as_object().is_none_or(|it| is_at_most(it.len(), rule)),
        "uniqueItems" => {
            rule == &Value::Bool(false) || value.as_array().is_none_or(|items| are_unique(items))
        }
        _ => keyword.starts_with("x-") || ANNOTATIONS.contains(&keyword),
    };
    let explain = || match keyword {
        _ if KEYWORDS.contains(&keyword) => format!("{keyword}: {rule} does not hold for {value}"),
        _ => format!("the checker does not know the keyword {keyword}"),
    };
    if holds { Ok(()) } else { Err(mismatch(at, explain())) }
}

const KEYWORDS: &[&str] = &[
    "type",
    "enum",
    "const",
    "required",
    "format",
    "pattern",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "uniqueItems",
];

fn required(rule: &Value, value: &Value, at: &str) -> Checked {
    let Some(members) = value.as_object() else { return Ok(()) };
    for name in list(rule, at)? {
        let is_there = name.as_str().is_some_and(|name| members.contains_key(name));
        if !is_there {
            return Err(mismatch(at, format!("required: {name} is missing")));
        }
    }
    Ok(())
}

fn is_of_type(rule: &Value, value: &Value, at: &str) -> Result<bool, Mismatch> {
    if let Some(types) = rule.as_array() {
        for one in types {
            if is_of_type(one, value, at)? {
                return Ok(true);
            }
        }
        return Ok(false);
    }
    Ok(match rule.as_str() {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("string") => value.is_string(),
        Some("number") => value.is_number(),
        // 1.0 is an integer by the standard.
        Some("integer") => number(value).is_some_and(|number| number.fract() == 0.0),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => return Err(mismatch(at, format!("the checker does not know the type {rule}"))),
    })
}

/// A format holds for every value that is no text.
fn has_format(rule: &Value, value: &Value, at: &str) -> Result<bool, Mismatch> {
    let text = value.as_str();
    Ok(match rule.as_str() {
        Some("uuid") => {
            text.is_none_or(|text| text.len() == 36 && uuid::Uuid::parse_str(text).is_ok())
        }
        Some("date-time") => text.is_none_or(|text| OffsetDateTime::parse(text, &Rfc3339).is_ok()),
        Some("uri") => text.is_none_or(is_uri),
        // Widths of numbers and other hints of OpenAPI, without a rule for a text.
        Some("int32" | "int64" | "double" | "password" | "binary") => true,
        _ => return Err(mismatch(at, format!("the checker does not know the format {rule}"))),
    })
}

/// A scheme and something after it, without blanks.
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(is_part)
        && !rest.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_graphic())
}

thread_local! {
    // A list of tokens has the same pattern hundreds of times.
    static PATTERNS: RefCell<HashMap<String, Regex>> = RefCell::new(HashMap::new());
}

fn matches(rule: &Value, value: &Value, at: &str) -> Result<bool, Mismatch> {
    let Some(pattern) = rule.as_str() else { return Err(mismatch(at, "the pattern is no text")) };
    let Some(text) = value.as_str() else { return Ok(true) };
    PATTERNS.with_borrow_mut(|known| {
        if !known.contains_key(pattern) {
            let regex = Regex::new(pattern)
                .map_err(|error| mismatch(at, format!("the pattern {pattern}: {error}")))?;
            known.insert(String::from(pattern), regex);
        }
        Ok(known[pattern].is_match(text))
    })
}

fn number(value: &Value) -> Option<f64> {
    value.as_number().and_then(serde_json::Number::as_f64)
}

fn is_at_least(count: usize, rule: &Value) -> bool {
    rule.as_u64().is_some_and(|least| u64::try_from(count).unwrap() >= least)
}

fn is_at_most(count: usize, rule: &Value) -> bool {
    rule.as_u64().is_some_and(|most| u64::try_from(count).unwrap() <= most)
}

fn are_unique(items: &[Value]) -> bool {
    items.iter().enumerate().all(|(index, item)| !items[..index].contains(item))
}

fn names(value: &Value) -> impl Iterator<Item = &String> {
    value.as_object().into_iter().flat_map(Map::keys)
}

fn list<'a>(rule: &'a Value, at: &str) -> Result<&'a [Value], Mismatch> {
    rule.as_array().map(Vec::as_slice).ok_or_else(|| mismatch(at, "the schema needs a list here"))
}

/// The pointer of a member, escaped by RFC 6901.
fn below(at: &str, name: &str) -> String {
    format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"))
}

fn mismatch(at: &str, rule: impl Into<String>) -> Mismatch {
    Mismatch { pointer: String::from(at), rule: rule.into() }
}
