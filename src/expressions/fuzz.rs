//! The fuzz targets of the language: evaluation of any text and any value ends within the budget,
//! and no error or mask shows more than it may.

use serde_json::Value;

use super::budget::{STEP, Weight};
use super::path::JsonPath;
use super::{Budget, Cache, Data, Hash, Host, Mask, Template};
use crate::bounds;
use crate::domain::merge_patch::is_within;
use crate::fuzz::check_sentence;

/// A host whose results depend only on the input, so that runs repeat.
struct PlainHost;

impl Host for PlainHost {
    fn random(&self, bytes: &mut [u8]) {
        for (byte, value) in bytes.iter_mut().zip(1_u8..=255) {
            *byte = value.wrapping_mul(73);
        }
    }

    fn hmac(&self, hash: Hash, key: &[u8], message: &[u8]) -> Vec<u8> {
        let bytes = match hash {
            Hash::Sha1 => 20,
            Hash::Sha256 => 32,
            Hash::Sha512 => 64,
        };
        let sum = key.iter().chain(message).fold(7_u8, |sum, byte| sum.wrapping_mul(31) ^ byte);
        vec![sum; bytes]
    }
}

/// The data before the first line feed is JSON. The text after it is an expression, a mask, or the
/// text of a proxy.
pub(crate) fn expressions(data: &[u8]) {
    let Some((text, value)) = text_and_value(data) else { return };
    for template in [Template::parse(text), Template::parse_with_references(text)] {
        match template {
            Ok(template) => check_template(&template, &value),
            Err(malformed) => {
                assert!(malformed.at <= text.len());
                check_sentence(&malformed.to_string());
            }
        }
    }
    check_mask(text, &value);
    let budget = write_budget();
    if let Ok((template, length)) = Template::parse_first(text, &budget) {
        assert!(text.is_char_boundary(length), "an expression ends inside of a character");
        check_template(&template, &value);
    }
    // A cached template gives the same result as a fresh one.
    let cache = Cache::new();
    let budget = write_budget();
    let first = cache.template(None, text, &budget).ok();
    let second = cache.template(None, text, &budget).ok();
    assert_eq!(first.is_some(), Template::parse(text).is_ok());
    if let (Some(first), Some(second)) = (first, second) {
        let value_of =
            |template: &Template| template.evaluate(&Data(&value), &PlainHost, &write_budget());
        assert_eq!(value_of(&first), value_of(&second));
    }
}

/// The data before the first line feed is JSON, the text after it a JSON path.
pub(crate) fn json_path(data: &[u8]) {
    let Some((text, value)) = text_and_value(data) else { return };
    if text.len() > bounds::TEMPLATE_BYTES_MAX {
        return;
    }
    let Some(path) = JsonPath::parse(text) else { return };
    assert!(path.states() <= bounds::TEMPLATE_STATES_MAX);
    let budget = write_budget();
    let Ok(nodes) = path.nodes(&value, &budget) else {
        assert!(budget.ran_out() || Weight::of(&value).size() > bounds::JSON_PATH_NODES_MAX);
        return;
    };
    assert!(nodes.len() <= bounds::JSON_PATH_NODES_MAX);
    // Each node is a part of the value.
    for node in nodes.iter().take(64) {
        assert!(contains(&value, node));
    }
    let spent = bounds::EXPRESSION_WORK_WRITE_MAX.saturating_sub(budget.left());
    // The root alone is free.
    let selected = nodes.len().saturating_sub(1).saturating_mul(STEP);
    assert!(spent >= selected, "a selected value was not charged");
    let only = path.only_value(&value, &write_budget());
    match (nodes.as_slice(), only) {
        ([], Ok(found)) => assert_eq!(found, Value::Null),
        ([node], Ok(found)) => assert_eq!(found, **node),
        ([_, _, ..], Ok(_)) => assert!(nodes.is_empty(), "one of several values was taken"),
        (_, Err(_)) => (),
    }
    // With any smaller budget the path ends too, and never with another result.
    for part in [2, 7] {
        let small = Budget::of(spent.div_euclid(part));
        if let Ok(found) = path.nodes(&value, &small) {
            assert_eq!(found, nodes);
        }
    }
}

fn text_and_value(data: &[u8]) -> Option<(&str, Value)> {
    let at = data.iter().position(|byte| *byte == b'\n')?;
    let (json, text) = data.split_at_checked(at)?;
    let text = std::str::from_utf8(text.get(1..)?).ok()?;
    let value: Value = serde_json::from_slice(json).ok()?;
    // No deeper body reaches an expression.
    is_within(&value, bounds::JSON_DEPTH_MAX).then_some((text, value))
}

const fn write_budget() -> Budget {
    Budget::of(bounds::EXPRESSION_WORK_WRITE_MAX)
}

fn check_template(template: &Template, value: &Value) {
    let budget = write_budget();
    match template.evaluate(&Data(value), &PlainHost, &budget) {
        Ok(found) => {
            let most = bounds::EXPRESSION_OUTPUT_BYTES_MAX.saturating_add(1);
            let size = Weight::of(&found).size();
            assert!(size <= most, "the output is too large");
            let spent = bounds::EXPRESSION_WORK_WRITE_MAX.saturating_sub(budget.left());
            assert!(size <= spent.saturating_add(1), "the output was not charged");
            let again = template.evaluate(&Data(value), &PlainHost, &write_budget());
            assert_eq!(again.ok(), Some(found), "a second evaluation has another result");
        }
        Err(failed) => check_sentence(&failed.to_string()),
    }
    if let Ok(text) = template.evaluate_text(&Data(value), &PlainHost, &write_budget()) {
        assert!(!text.expose().is_empty());
    }
    for member in ["number", "cvc"] {
        if !template.reads(member) {
            check_is_unread(template, value, member);
        }
    }
}

/// A member that a text does not read has no influence on its value.
fn check_is_unread(template: &Template, value: &Value, member: &str) {
    let mut other = value.clone();
    let Some(members) = other.as_object_mut() else { return };
    if members.insert(String::from(member), Value::from("5555")).is_none() {
        return;
    }
    let evaluate = |data: &Value| template.evaluate(&Data(data), &PlainHost, &write_budget()).ok();
    assert_eq!(evaluate(value), evaluate(&other), "{member} was read");
}

fn check_mask(text: &str, value: &Value) {
    let mask = match serde_json::from_str::<Value>(text) {
        Ok(mask) if is_within(&mask, bounds::JSON_DEPTH_MAX) => mask,
        Ok(_) => return,
        Err(_) => Value::from(text),
    };
    match Mask::parse(&mask) {
        Ok(mask) => {
            for shown in [
                mask.apply(value, &PlainHost, &write_budget()),
                mask.apply_strict(value, &PlainHost, &write_budget()),
            ] {
                let size = shown.as_ref().map_or(0, |shown| Weight::of(shown).size());
                let most =
                    bounds::MASK_MEMBERS_MAX.saturating_mul(bounds::EXPRESSION_OUTPUT_BYTES_MAX);
                assert!(size <= most);
            }
        }
        Err(mistakes) => {
            assert!(!mistakes.is_empty());
            assert!(mistakes.len() <= bounds::MASK_MISTAKES_MAX.saturating_add(1));
            for (_, malformed) in mistakes {
                check_sentence(&malformed.to_string());
            }
        }
    }
}

fn contains(value: &Value, node: &Value) -> bool {
    let mut waiting = vec![value];
    while let Some(value) = waiting.pop() {
        if std::ptr::eq(value, node) {
            return true;
        }
        match value {
            Value::Array(items) => waiting.extend(items),
            Value::Object(members) => waiting.extend(members.values()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => (),
        }
    }
    false
}
