//! The location of a member in a JSON body: `$.a.b`, `$.list[0].name`, `$['a b']`.

use serde_json::{Map, Value};

use crate::bounds::{PROXY_LOCATION_CHARS_MAX, PROXY_LOCATION_STEPS_MAX};

/// Has at least one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location(Vec<Step>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Index(usize),
    Member(String),
}

/// The body has something else at a step of the location.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoPlace;

impl Location {
    pub fn parse(text: &str) -> Option<Self> {
        let mut rest = text.strip_prefix('$')?;
        let mut steps = Vec::new();
        while !rest.is_empty() && steps.len() < PROXY_LOCATION_STEPS_MAX {
            let step;
            (step, rest) = next(rest)?;
            steps.push(step);
        }
        let fits = text.chars().count() <= PROXY_LOCATION_CHARS_MAX;
        (rest.is_empty() && fits && !steps.is_empty()).then_some(Self(steps))
    }

    /// Sets the member. Missing objects on the way are made; an index must exist, or be the next
    /// one of its list. Nothing changes if there is no such place.
    pub fn set(&self, body: &mut Value, value: Value) -> Result<(), NoPlace> {
        if !self.has_place(body) {
            return Err(NoPlace);
        }
        let mut at = body;
        for step in &self.0 {
            at = match step {
                Step::Member(name) => {
                    if at.is_null() {
                        *at = Value::Object(Map::new());
                    }
                    at.as_object_mut().ok_or(NoPlace)?.entry(name).or_insert(Value::Null)
                }
                Step::Index(index) => {
                    let items = at.as_array_mut().ok_or(NoPlace)?;
                    if items.len() == *index {
                        items.push(Value::Null);
                    }
                    items.get_mut(*index).ok_or(NoPlace)?
                }
            };
        }
        *at = value;
        Ok(())
    }

    /// Walks the steps without changing the body. A member that is missing would be made.
    fn has_place(&self, body: &Value) -> bool {
        let mut at = Some(body).filter(|body| !body.is_null());
        for step in &self.0 {
            at = match (step, at) {
                (Step::Member(name), Some(Value::Object(members))) => members.get(name),
                (Step::Member(_), None) => None,
                (Step::Index(index), Some(Value::Array(items))) if *index <= items.len() => {
                    items.get(*index)
                }
                (Step::Member(_) | Step::Index(_), _) => return false,
            };
            at = at.filter(|value| !value.is_null());
        }
        true
    }
}

/// One step, and the text after it.
fn next(text: &str) -> Option<(Step, &str)> {
    if let Some(name) = text.strip_prefix('.') {
        let end = name.find(['.', '[']).unwrap_or(name.len());
        let (name, rest) = name.split_at_checked(end)?;
        let is_name = !name.is_empty() && !name.contains(['*', '\'', '"', ']', '?', '@', ' ']);
        return is_name.then(|| (Step::Member(String::from(name)), rest));
    }
    let inner = text.strip_prefix('[')?;
    for quote in ['\'', '"'] {
        let Some(quoted) = inner.strip_prefix(quote) else { continue };
        let (name, rest) = quoted.split_once(quote)?;
        // Escapes are not part of this small language.
        let is_name = !name.is_empty() && !name.contains('\\');
        let rest = rest.strip_prefix(']').filter(|_| is_name)?;
        return Some((Step::Member(String::from(name)), rest));
    }
    let (index, rest) = inner.split_once(']')?;
    let is_number = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
    Some((Step::Index(index.parse().ok().filter(|_| is_number)?), rest))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "bodies are written where they are used")]
    fn check(location: &str, mut body: Value, expected: Result<Value, NoPlace>) {
        let location = Location::parse(location).unwrap();
        let before = body.clone();
        let set = location.set(&mut body, json!("new"));
        assert!(set.is_ok() || body == before, "{body}");
        assert_eq!(set.map(|()| body), expected);
    }

    #[test]
    fn a_member_is_set_and_missing_objects_are_made() {
        check("$.a", json!({"b": 1}), Ok(json!({"a": "new", "b": 1})));
        check("$.a", json!({"a": {"x": 1}}), Ok(json!({"a": "new"})));
        check("$.a.b.c", json!({}), Ok(json!({"a": {"b": {"c": "new"}}})));
        check("$['a b'].c", json!({"a b": null}), Ok(json!({"a b": {"c": "new"}})));
        check("$[\"a\"][1].b", json!({"a": [0, {}]}), Ok(json!({"a": [0, {"b": "new"}]})));
        check("$.a[1]", json!({"a": [0]}), Ok(json!({"a": [0, "new"]})));
        check("$[0]", json!([0]), Ok(json!(["new"])));
    }

    #[test]
    fn a_place_that_the_body_does_not_have_is_an_error() {
        check("$.a.b", json!({"a": 1}), Err(NoPlace));
        check("$.a[2]", json!({"a": [0]}), Err(NoPlace));
        check("$.a[0]", json!({"a": {}}), Err(NoPlace));
        check("$.a", json!([1]), Err(NoPlace));
        check("$.a", json!("text"), Err(NoPlace));
        check("$.a[0]", json!({}), Err(NoPlace));
        check("$.a[0].b[1]", json!({"a": []}), Err(NoPlace));
    }

    #[test]
    fn what_is_no_location_does_not_parse() {
        let deep = "$".to_owned() + &".a".repeat(PROXY_LOCATION_STEPS_MAX + 1);
        let long = "$.".to_owned() + &"a".repeat(PROXY_LOCATION_CHARS_MAX);
        for text in [
            "",
            "$",
            "a",
            ".a",
            "$a",
            "$.",
            "$..a",
            "$.*",
            "$[*]",
            "$[-1]",
            "$['a",
            "$[?@.a]",
            "$['a\\'b']",
            "$[]",
            "$.a b",
            &deep,
            &long,
        ] {
            assert_eq!(Location::parse(text), None, "{text}");
        }
    }
}
