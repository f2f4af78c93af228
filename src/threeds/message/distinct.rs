//! Detects a JSON object that names a member twice. The JSON parser keeps the last one silently,
//! but the protocol has an error code for this.

use std::collections::HashSet;

/// Longest name that is repeated to the sender; element names are shorter.
const NAME_CHARS_MAX: usize = 64;
/// Replaces a name that must not be repeated to the sender.
const UNNAMED: &str = "?";

enum Level {
    Array,
    Object { seen: HashSet<String>, name: String, wants_name: bool },
}

/// Returns the path of the first repeated member. The text must be valid JSON.
pub fn repeated(text: &[u8]) -> Option<String> {
    let mut levels: Vec<Level> = Vec::new();
    let mut at = 0_usize;
    while let Some(byte) = text.get(at) {
        match byte {
            b'{' => levels.push(Level::Object {
                seen: HashSet::new(),
                name: String::new(),
                wants_name: true,
            }),
            b'[' => levels.push(Level::Array),
            b'}' | b']' => drop(levels.pop()),
            b',' => {
                if let Some(Level::Object { wants_name, .. }) = levels.last_mut() {
                    *wants_name = true;
                }
            }
            b'"' => {
                let after = end_of_string(text, at);
                if let Some(Level::Object { seen, name, wants_name }) = levels.last_mut()
                    && *wants_name
                {
                    // A name that is not a JSON string cannot be compared, so it is reported.
                    let string = text.get(at..after);
                    let Some(found) =
                        string.and_then(|it| serde_json::from_slice::<String>(it).ok())
                    else {
                        return Some(String::from(UNNAMED));
                    };
                    *wants_name = false;
                    name.clone_from(&found);
                    if !seen.insert(found) {
                        return Some(path(&levels));
                    }
                }
                at = after;
                continue;
            }
            _ => (),
        }
        at = at.saturating_add(1);
    }
    None
}

/// The position after the closing quote of the string that begins at `start`.
fn end_of_string(text: &[u8], start: usize) -> usize {
    let mut at = start.saturating_add(1);
    while let Some(byte) = text.get(at) {
        match byte {
            b'\\' => at = at.saturating_add(2),
            b'"' => return at.saturating_add(1),
            _ => at = at.saturating_add(1),
        }
    }
    at
}

fn path(levels: &[Level]) -> String {
    let names = levels.iter().filter_map(|level| match level {
        Level::Array => None,
        Level::Object { name, .. } => Some(shown(name)),
    });
    names.collect::<Vec<_>>().join(".")
}

/// Element names have letters and few digits; any other text may be a misplaced value.
fn shown(name: &str) -> &str {
    let is_name = !name.is_empty()
        && name.len() <= NAME_CHARS_MAX
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && name.bytes().filter(u8::is_ascii_digit).count() < 3;
    if is_name { name } else { UNNAMED }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        assert!(serde_json::from_str::<Value>(text).is_ok(), "{text}");
        assert_eq!(repeated(text.as_bytes()).as_deref(), expected, "{text}");
    }

    #[test]
    fn a_member_that_stands_twice_in_one_object_is_found() {
        check(r#"{"a":1,"b":2}"#, None);
        check(r#"{"a":1,"a":1}"#, Some("a"));
        check(r#"{"a":"a","b":["a","a",{"a":{"b":1}}]}"#, None);
        check(r#"{"a":{"b":1,"c":[1,2],"b":2}}"#, Some("a.b"));
        check(r#"[{"a":1},{"a":1,"b":{},"a":2}]"#, Some("a"));
        // Escapes in names and quotes in values do not matter.
        check(r#"{"a":"}{","\u0061":",\"a\":"}"#, Some("a"));
        check(r#"{"a\\":1,"a":"\\","b":1}"#, None);
        check(r#"{"4111111111111111":1,"4111111111111111":2}"#, Some("?"));
        check("{}", None);
        check("7", None);
    }

    #[test]
    fn a_name_that_cannot_be_read_counts_as_repeated() {
        for text in [r#"{"a"#, r#"{"\ud800":1}"#, r#"{"a\"#] {
            assert_eq!(repeated(text.as_bytes()).as_deref(), Some(UNNAMED), "{text}");
        }
    }
}
