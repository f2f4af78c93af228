//! The number of values in JSON text, before it is parsed: a small text can become a large tree.

/// Counts values and names of members; never less than a parser would find. Each of them but the first
/// follows one of four characters, which do not count within a text.
pub fn count_values(json: &[u8]) -> usize {
    let (mut count, mut in_text, mut escaped) = (1_usize, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'"' => in_text = !in_text,
            b'\\' => escaped = in_text,
            b',' | b':' | b'[' | b'{' if !in_text => count = count.saturating_add(1),
            _ => (),
        }
    }
    count
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
