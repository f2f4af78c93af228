//! A token's metadata: short texts that are not secret.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::bounds::{METADATA_BYTES_MAX, METADATA_COUNT_MAX, METADATA_KEY_BYTES_MAX};
use crate::domain::mistakes::Mistakes;

/// Entries whose value is `null` are left out.
pub fn check_metadata(members: &Map<String, Value>) -> Result<BTreeMap<String, String>, Mistakes> {
    let mut mistakes = Mistakes::new();
    let mut metadata = BTreeMap::new();
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
                metadata.insert(key.clone(), text.clone());
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
    Ok(metadata)
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
