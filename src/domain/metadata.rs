//! A token's metadata: short texts that are not secret.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::bounds::{METADATA_COUNT_MAX, METADATA_KEY_BYTES_MAX, METADATA_VALUE_BYTES_MAX};
use crate::domain::mistakes::Mistakes;

/// Entries whose value is `null` are left out.
pub fn check_metadata(members: &Map<String, Value>) -> Result<BTreeMap<String, String>, Mistakes> {
    let mut mistakes = Mistakes::new();
    let mut metadata = BTreeMap::new();
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
            Value::String(text) if text.len() <= METADATA_VALUE_BYTES_MAX => {
                metadata.insert(key.clone(), text.clone());
            }
            Value::String(_) => {
                let message = format!("A value has at most {METADATA_VALUE_BYTES_MAX} bytes.");
                mistakes.add(format!("metadata.{key}"), message);
            }
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                mistakes.add(format!("metadata.{key}"), "Deserialization error, invalid input.");
            }
        }
    }
    mistakes.into_result()?;
    Ok(metadata)
}
