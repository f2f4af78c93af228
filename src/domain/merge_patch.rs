//! JSON merge patch (RFC 7386).

use serde_json::{Map, Value};

use crate::bounds::JSON_DEPTH_MAX;
use crate::secret::Wipe;

/// The patch is nested deeper than `JSON_DEPTH_MAX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooDeep;

/// Applies `patch` to `target`: objects are merged member by member, `null` removes a member,
/// anything else replaces. A patch that is nested too deep changes nothing. Members keep their
/// order, and new ones follow them in the order of the patch.
///
/// Removed and replaced values are wiped, since they may be card numbers.
pub fn merge_patch(target: &mut Value, patch: &Value) -> Result<(), TooDeep> {
    if !is_within(patch, JSON_DEPTH_MAX) {
        return Err(TooDeep);
    }
    merge(target, patch);
    Ok(())
}

/// The recursion is no deeper than the patch, which is bounded.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        target.wipe();
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        target.wipe();
        *target = Value::Object(Map::new());
    }
    let Value::Object(members) = target else {
        return;
    };
    // One pass for all removals: each single one would move all members behind it.
    if changes.values().any(Value::is_null) {
        members.retain(|name, member| {
            let is_kept = !changes.get(name).is_some_and(Value::is_null);
            if !is_kept {
                member.wipe();
            }
            is_kept
        });
    }
    for (name, change) in changes.iter().filter(|(_, change)| !change.is_null()) {
        merge(members.entry(name).or_insert(Value::Null), change);
    }
}

pub fn is_within(value: &Value, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else {
        return !value.is_object() && !value.is_array();
    };
    match value {
        Value::Array(items) => items.iter().all(|item| is_within(item, below)),
        Value::Object(members) => members.values().all(|member| is_within(member, below)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::domain::any_json::any_json;

    #[track_caller]
    fn check_patch(mut target: Value, patch: &Value, expected: &Value) {
        merge_patch(&mut target, patch).unwrap();
        assert_eq!(&target, expected);
    }

    #[test]
    fn the_examples_of_the_standard() {
        check_patch(json!({"a": "b"}), &json!({"a": "c"}), &json!({"a": "c"}));
        check_patch(json!({"a": "b"}), &json!({"b": "c"}), &json!({"a": "b", "b": "c"}));
        check_patch(json!({"a": "b"}), &json!({"a": null}), &json!({}));
        check_patch(json!({"a": "b", "b": "c"}), &json!({"a": null}), &json!({"b": "c"}));
        check_patch(json!({"a": ["b"]}), &json!({"a": "c"}), &json!({"a": "c"}));
        check_patch(json!({"a": "c"}), &json!({"a": ["b"]}), &json!({"a": ["b"]}));
        check_patch(
            json!({"a": {"b": "c"}}),
            &json!({"a": {"b": "d", "c": null}}),
            &json!({"a": {"b": "d"}}),
        );
        check_patch(json!({"a": [{"b": "c"}]}), &json!({"a": [1]}), &json!({"a": [1]}));
        check_patch(json!(["a", "b"]), &json!(["c", "d"]), &json!(["c", "d"]));
        check_patch(json!({"a": "b"}), &json!(["c"]), &json!(["c"]));
        check_patch(json!({"a": "foo"}), &json!(null), &json!(null));
        check_patch(json!({"a": "foo"}), &json!("bar"), &json!("bar"));
        check_patch(json!({"e": null}), &json!({"a": 1}), &json!({"e": null, "a": 1}));
        check_patch(json!([1, 2]), &json!({"a": "b", "c": null}), &json!({"a": "b"}));
        check_patch(json!({}), &json!({"a": {"bb": {"ccc": null}}}), &json!({"a": {"bb": {}}}));
    }

    #[test]
    fn members_keep_their_order_and_new_ones_follow() {
        let mut target = json!({"z": 1, "a": {"y": 1, "b": 2}, "m": 3, "k": 4});
        let patch = json!({"new": 1, "m": 30, "z": null, "a": {"c": 5, "y": null}, "a2": 6});
        merge_patch(&mut target, &patch).unwrap();
        assert_eq!(target.to_string(), r#"{"a":{"b":2,"c":5},"m":30,"k":4,"new":1,"a2":6}"#);
    }

    fn nested(levels: usize) -> Value {
        (0..levels).fold(json!(1), |inner, _| json!({ "a": inner }))
    }

    #[test]
    fn a_patch_at_the_bound_is_applied_and_one_beyond_changes_nothing() {
        check_patch(json!({}), &nested(JSON_DEPTH_MAX), &nested(JSON_DEPTH_MAX));
        let mut target = json!({"a": "kept"});
        assert_eq!(merge_patch(&mut target, &nested(JSON_DEPTH_MAX + 1)), Err(TooDeep));
        let lists = (0..=JSON_DEPTH_MAX).fold(json!(1), |inner, _| json!([inner]));
        assert_eq!(merge_patch(&mut target, &lists), Err(TooDeep));
        assert_eq!(target, json!({"a": "kept"}));
    }

    /// The standard's pseudocode, word for word.
    fn naive(target: Value, patch: &Value) -> Value {
        let Value::Object(changes) = patch else {
            return patch.clone();
        };
        let mut members = if let Value::Object(members) = target { members } else { Map::new() };
        for (name, value) in changes {
            if value.is_null() {
                members.remove(name);
            } else {
                let old = members.remove(name).unwrap_or(Value::Null);
                members.insert(name.clone(), naive(old, value));
            }
        }
        Value::Object(members)
    }

    proptest! {
        #[test]
        fn agrees_with_the_pseudocode_and_twice_is_once(target in any_json("[a-d]"), patch in any_json("[a-d]")) {
            let mut patched = target.clone();
            merge_patch(&mut patched, &patch).unwrap();
            prop_assert_eq!(&patched, &naive(target, &patch));
            let once = patched.clone();
            merge_patch(&mut patched, &patch).unwrap();
            prop_assert_eq!(patched, once);
        }
    }
}
