//! A token's metadata: short texts that are not secret.

use std::fmt;

use serde_json::{Map, Value};
use smallvec::SmallVec;

use crate::bounds::{METADATA_BYTES_MAX, METADATA_COUNT_MAX, METADATA_KEY_BYTES_MAX};
use crate::domain::mistakes::Mistakes;

/// Names and values, in the order of the names. One text holds all of them, since every read of a
/// token decodes them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Metadata {
    text: String,
    /// The ends of each name and of its value in the text.
    ends: SmallVec<[(usize, usize); 4]>,
}

impl Metadata {
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        let mut from = 0;
        self.ends.iter().map(move |(name_end, end)| {
            let part = |from, to| self.text.get(from..to).unwrap_or_default();
            let entry = (part(from, *name_end), part(*name_end, *end));
            from = *end;
            entry
        })
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn to_value(&self) -> Value {
        let members = self.iter().map(|(name, value)| (String::from(name), Value::from(value)));
        Value::Object(members.collect())
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }
}

/// Of two entries with the same name, the last one stays.
impl<N: AsRef<str>, V: AsRef<str>> FromIterator<(N, V)> for Metadata {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(entries: I) -> Self {
        let mut entries: SmallVec<[(N, V); 4]> = entries.into_iter().collect();
        // As records have them.
        if !entries.is_sorted_by(|(one, _), (other, _)| one.as_ref() < other.as_ref()) {
            entries.reverse();
            entries.sort_by(|(one, _), (other, _)| one.as_ref().cmp(other.as_ref()));
            entries.dedup_by(|(later, _), (first, _)| later.as_ref() == first.as_ref());
        }
        let bytes = entries.iter().flat_map(|(name, value)| [name.as_ref(), value.as_ref()]);
        let mut text = String::with_capacity(bytes.map(str::len).sum());
        let end = |text: &mut String, part: &str| {
            text.push_str(part);
            text.len()
        };
        let ends = entries.iter();
        let ends = ends
            .map(|(name, value)| (end(&mut text, name.as_ref()), end(&mut text, value.as_ref())))
            .collect();
        Self { text, ends }
    }
}

impl fmt::Debug for Metadata {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(self.iter()).finish()
    }
}

/// Entries whose value is `null` are left out.
pub fn check_metadata(members: &Map<String, Value>) -> Result<Metadata, Mistakes> {
    let mut mistakes = Mistakes::new();
    let mut metadata: SmallVec<[_; 4]> = SmallVec::with_capacity(members.len());
    let mut bytes = 0_usize;
    if members.len() > METADATA_COUNT_MAX {
        let message = format!("There may be at most {METADATA_COUNT_MAX} entries.");
        return Err(Mistakes::one("metadata", message));
    }
    for (key, value) in members {
        if !(1..=METADATA_KEY_BYTES_MAX).contains(&key.len()) {
            let message = format!("A key has 1 to {METADATA_KEY_BYTES_MAX} bytes.");
            mistakes.add("metadata", message);
            continue;
        }
        match value {
            Value::Null => (),
            Value::String(text) => {
                bytes = bytes.saturating_add(key.len()).saturating_add(text.len());
                metadata.push((key, text));
            }
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                mistakes.add(format!("metadata.{key}"), "Deserialization error, invalid input.");
            }
        }
    }
    if bytes > METADATA_BYTES_MAX {
        let message =
            format!("All keys and values together have at most {METADATA_BYTES_MAX} bytes.");
        mistakes.add("metadata", message);
    }
    mistakes.into_result()?;
    Ok(metadata.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(sizes: &[usize]) -> Map<String, Value> {
        let entry =
            |(at, size): (usize, &usize)| (format!("k{at}"), Value::from("x".repeat(*size)));
        sizes.iter().enumerate().map(entry).collect()
    }

    #[track_caller]
    fn check(members: &Map<String, Value>, wrong: Option<&str>) {
        let found = check_metadata(members).err();
        let paths = found.map(|found| found.by_path().keys().cloned().collect::<Vec<_>>());
        assert_eq!(paths, wrong.map(|path| vec![String::from(path)]));
    }

    #[test]
    fn entries_are_in_the_order_of_their_names_and_the_last_of_a_name_stays() {
        let given = [("b", "1"), ("a", ""), ("\u{e9}", "\u{20ac}"), ("b", "2")];
        let metadata: Metadata = given.into_iter().collect();
        let shown: Vec<_> = metadata.iter().collect();
        assert_eq!(shown, [("a", ""), ("b", "2"), ("\u{e9}", "\u{20ac}")]);
        assert_eq!((metadata.len(), metadata.get("b"), metadata.get("c")), (3, Some("2"), None));
        assert_eq!(metadata, shown.into_iter().collect());
        assert_eq!(
            metadata.to_value().to_string(),
            "{\"a\":\"\",\"b\":\"2\",\"\u{e9}\":\"\u{20ac}\"}"
        );
    }

    #[test]
    fn keys_and_values_are_bounded_together() {
        check(&entries(&[METADATA_BYTES_MAX - 2]), None);
        check(&entries(&[METADATA_BYTES_MAX - 1]), Some("metadata"));
        check(&entries(&[5_000, 5_000, 5_000]), None);
        check(&entries(&[5_000, 5_000, 5_000, 5_000]), Some("metadata"));
        // An entry that is left out does not count.
        let mut members = entries(&[METADATA_BYTES_MAX - 2]);
        members.insert(String::from("k1"), Value::Null);
        check(&members, None);
        members.insert(String::from("k1"), Value::from(""));
        check(&members, Some("metadata"));
        check(&entries(&[1; METADATA_COUNT_MAX + 1]), Some("metadata"));
    }
}
