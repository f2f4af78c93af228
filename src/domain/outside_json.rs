//! JSON text from outside as a tree of values.

use serde_json::Value;

use crate::secret::Secret;

/// `serde_json` gives names with this beginning a meaning of their own: it takes an object for the number
/// or for the JSON text in its first member. A tree could then have more values than were counted, and
/// a stored text would no longer mean what was checked.
const RESERVED: &str = "$serde_json::private::";

/// `None` for text that is not JSON, and for text with a reserved name.
pub fn parse(text: &[u8]) -> Option<Secret<Value>> {
    let value = || serde_json::from_slice(text).ok().map(Secret::new);
    if has_reserved_name(text) { None } else { value() }
}

/// Any object may lose its first member later, so no member may have such a name.
pub fn has_reserved_name(text: &[u8]) -> bool {
    // Most texts have neither the character nor an escape, which could stand for it.
    if !text.contains(&b'$') && !text.contains(&b'\\') {
        return false;
    }
    let mut rest = text;
    while let Some(start) = rest.iter().position(|byte| *byte == b'"') {
        let string = rest.get(start..).unwrap_or_default();
        let Some((string, after)) = string.split_at_checked(string_length(string)) else { break };
        if after.trim_ascii_start().starts_with(b":") && is_reserved(string) {
            return true;
        }
        rest = after;
    }
    false
}

/// The length of the string at the beginning of the text, with its quotes.
fn string_length(text: &[u8]) -> usize {
    // The opening quote does not end the string.
    let mut is_escaped = true;
    let end = text.iter().position(|byte| {
        let ends = !is_escaped && *byte == b'"';
        is_escaped = !is_escaped && *byte == b'\\';
        ends
    });
    end.map_or(text.len(), |end| end.saturating_add(1))
}

fn is_reserved(string: &[u8]) -> bool {
    let begins_so = string.starts_with(b"\"$") || string.starts_with(b"\"\\u0024");
    let name = || serde_json::from_slice::<String>(string).ok().map(Secret::new);
    begins_so && name().is_some_and(|name| name.expose().starts_with(RESERVED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_means_what_it_says_or_is_refused() {
        for text in [
            r#"{"$serde_json::private::RawValue":"[1,2,3]"}"#,
            r#"{"$serde_json::private::Number":"12"}"#,
            r#"{"\u0024serde_json::private::RawValue":"7"}"#,
            r#"{"$\u0073erde_json:\u003aprivate::RawValue" :"7"}"#,
            r#"[{"a":"\"","b":{"c":1,"$serde_json::private::RawValue"
                :"7"}}]"#,
            r#"{"$serde_json::private::Other":1}"#,
        ] {
            assert!(parse(text.as_bytes()).is_none(), "{text}");
        }
        for text in [
            r#"{"$":1,"$serde_json":2,"a$serde_json::private::Number":"1"}"#,
            r#"{"a":"$serde_json::private::RawValue"}"#,
            r#"["$serde_json::private::Number","\\",":",{"\\":"$","\"$serde_json::private::Number":1}]"#,
            "1e400",
            "\"\\u0024\"",
        ] {
            let value = parse(text.as_bytes()).expect(text);
            let plain = serde_json::to_string(value.expose()).unwrap();
            let same = |text: &str| text.replace("\\u0024", "$").replace("e400", "e+400");
            assert_eq!(plain, same(text), "{text}");
        }
        for text in ["", "{", "\"", "\"$", "\"\\", r#"{"$serde_json::private::Number"#, "\u{0}"] {
            assert!(parse(text.as_bytes()).is_none(), "{text}");
        }
    }
}
