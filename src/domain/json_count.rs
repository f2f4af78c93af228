//! The number of values in JSON text, before it is parsed: a small text can become a large tree.

/// The number of values of a JSON text, objects included; never less than a parser would find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonCount {
    /// Values and names of members.
    pub values: usize,
    pub objects: usize,
}

/// Counts the values of a text. Each value but the first follows one of four characters, which do
/// not count within a string.
pub fn count_json(json: &[u8]) -> JsonCount {
    let mut count = JsonCount { values: 1, objects: 0 };
    let (mut in_text, mut escaped) = (false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'"' => in_text = !in_text,
            b'\\' => escaped = in_text,
            b',' | b':' | b'[' if !in_text => count.values = count.values.saturating_add(1),
            b'{' if !in_text => {
                count.values = count.values.saturating_add(1);
                count.objects = count.objects.saturating_add(1);
            }
            _ => (),
        }
    }
    count
}

pub fn count_values(json: &[u8]) -> usize {
    count_json(json).values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_names_count_and_the_content_of_texts_does_not() {
        for (json, count) in [("1", 1), ("[]", 2), ("[1,2]", 3), (r#"{"a":[1]}"#, 4)] {
            assert_eq!(count_values(json.as_bytes()), count, "{json}");
        }
        assert_eq!(count_values(br#"",:[{\",:""#), 1);
    }
}
