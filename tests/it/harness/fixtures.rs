//! Values that many tests use.

use serde_json::{Value, json};

/// The number of a documented test card.
pub(crate) const NUMBER: &str = "4242424242424242";

pub(crate) fn card() -> Value {
    json!({"number": NUMBER, "expiration_month": 12, "expiration_year": 2030, "cvc": "123"})
}

pub(crate) fn rule(priority: u32, container: &str, transform: &str, permissions: &[&str]) -> Value {
    json!({
        "description": "d", "priority": priority, "container": container, "transform": transform,
        "permissions": permissions,
    })
}

/// The rules of an application that has one.
pub(crate) fn only_rule(container: &str, transform: &str, permissions: &[&str]) -> Value {
    json!([rule(1, container, transform, permissions)])
}

/// The names of the members of an object, in order.
#[track_caller]
pub(crate) fn names(object: &Value) -> Vec<&str> {
    let mut names: Vec<_> = object.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}
