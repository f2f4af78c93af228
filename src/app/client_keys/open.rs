//! Opening values that clients encrypted. Every failure has the same text, so that an answer does
//! not disclose how far a forged message got.

use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Map, Value};

use crate::app::ClientKeys;
use crate::app::audit::opened::Opened;
use crate::app::caller::Caller;
use crate::app::client_keys::jwe;
use crate::app::error::{Error, Fault};
use crate::app::records;
use crate::bounds::{ENCRYPTED_COUNT_MAX, ENCRYPTED_VALUES_MAX, JSON_DEPTH_MAX};
use crate::crypto::ClientKeyPair;
use crate::domain::audit::Act;
use crate::domain::client_key::ClientKey;
use crate::domain::json_count::count_values;
use crate::domain::merge_patch::is_within;
use crate::domain::outside_json;
use crate::domain::time::Timestamp;
use crate::secret::Secret;
use crate::store::Snapshot;

const UNOPENED: &str =
    "The encrypted value does not open with a client encryption key of this tenant.";
const NO_HEADER: &str = "The BT-ENCRYPTED header must be the base64 form of an encrypted value, or of \
                         an object of up to 20 of them.";

/// The data that a client encrypted. `kind` is the token type in the request, which is not
/// authenticated: if the message names a type, the two must be equal.
pub(in crate::app) fn open_encrypted(
    snapshot: &Snapshot,
    caller: &Caller,
    text: &str,
    kind: Option<&str>,
    now: Timestamp,
    opened: &Opened<'_>,
) -> Result<Secret<Value>, Error> {
    let Some(message) = jwe::parse(text) else { return Err(unopened()) };
    if message.kind.is_some() && message.kind.as_deref() != kind {
        return Err(unopened());
    }
    let found = records::find::<ClientKey>(snapshot, &caller.keys, message.key)?;
    let live = found.filter(|(key, _)| key.is_live(now));
    let (key, _) = live.ok_or_else(unopened)?;
    let plain = ClientKeyPair::from_private(&key.private).open(message.sealed);
    let plain = plain.ok().ok_or_else(unopened)?;
    opened.add(Act::Use, message.key.into());
    parse_plain(plain.expose()).ok_or_else(unopened)
}

impl ClientKeys<'_> {
    /// The values of a `BT-ENCRYPTED` header, for the variable `encrypted` of expressions: an
    /// object with `type` and `data`, or an object of such objects under names that the client
    /// chose.
    pub(in crate::app) fn open_header(
        self,
        caller: &Caller,
        text: &str,
        opened: &Opened<'_>,
    ) -> Result<Secret<Value>, Error> {
        let decoded = ANY_PADDING.decode(text.trim()).ok();
        let parsed = decoded.and_then(|json| outside_json::parse(&json)).ok_or_else(no_header)?;
        let members = parsed.expose().as_object().ok_or_else(no_header)?;
        let (snapshot, now) = (self.vault.snapshot()?, self.vault.now());
        let one = |members: &Map<String, Value>| {
            let encrypted = members.get("encrypted").and_then(Value::as_str);
            let encrypted = encrypted.ok_or_else(no_header)?;
            let kind = members.get("type").and_then(Value::as_str);
            let mut data = open_encrypted(&snapshot, caller, encrypted, kind, now, opened)?;
            let mut value = Map::new();
            if let Some(kind) = members.get("type") {
                value.insert(String::from("type"), kind.clone());
            }
            value.insert(String::from("data"), std::mem::take(data.expose_mut()));
            Ok::<_, Error>(Value::Object(value))
        };
        if members.get("encrypted").is_some_and(Value::is_string) {
            return one(members).map(Secret::new);
        }
        if members.is_empty() || members.len() > ENCRYPTED_COUNT_MAX {
            return Err(no_header());
        }
        let mut all = Secret::new(Value::Object(Map::new()));
        for (name, value) in members {
            let value = one(value.as_object().ok_or_else(no_header)?)?;
            let impossible = Error::Internal(Fault::Impossible("an object is not an object"));
            all.expose_mut().as_object_mut().ok_or(impossible)?.insert(name.clone(), value);
        }
        Ok(all)
    }
}

/// Clients send headers with and without padding.
const ANY_PADDING: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// `None` for text that is not JSON, or that has too many values or levels.
pub(super) fn parse_plain(json: &[u8]) -> Option<Secret<Value>> {
    if count_values(json) > ENCRYPTED_VALUES_MAX {
        return None;
    }
    let value = outside_json::parse(json)?;
    is_within(value.expose(), JSON_DEPTH_MAX).then_some(value)
}

fn unopened() -> Error {
    Error::invalid("encrypted", UNOPENED)
}

fn no_header() -> Error {
    Error::invalid("BT-ENCRYPTED", NO_HEADER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_text_is_bounded_in_values_and_levels() {
        let list = |values: usize| format!("[{}1]", "1,".repeat(values));
        assert!(parse_plain(list(ENCRYPTED_VALUES_MAX - 3).as_bytes()).is_some());
        assert!(parse_plain(list(ENCRYPTED_VALUES_MAX).as_bytes()).is_none());
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(parse_plain(nested(JSON_DEPTH_MAX).as_bytes()).is_some());
        assert!(parse_plain(nested(JSON_DEPTH_MAX + 1).as_bytes()).is_none());
        let text = serde_json::json!(r#",:[{"\"#.repeat(ENCRYPTED_VALUES_MAX)).to_string();
        assert!(parse_plain(text.as_bytes()).is_some(), "these are no values");
        assert!(parse_plain(b"not JSON").is_none());
    }
}
