//! Client encryption keys on the wire. The documentation and the published clients use different
//! names for two members, so answers have both.

use serde_json::Value;

use crate::app::ClientKeyView;
use crate::domain::mistakes::Mistakes;
use crate::http::wire::{Fields, Json, Object};
use crate::idempotency::{AnswerStatus, RememberedAnswer};
use crate::threeds::base64;

pub(crate) fn parse_expires_at(body: &Value) -> Result<Option<String>, Mistakes> {
    let mut fields = Fields::of_body(body);
    let expires_at = fields.text("expires_at").map(String::from);
    fields.mistakes.into_result()?;
    Ok(expires_at)
}

pub(crate) fn answer(key: &ClientKeyView) -> RememberedAnswer {
    let mut object = members(key);
    let pem = pem(key);
    object.text("public_key_pem", &pem);
    object.text("publicKeyPEM", &pem);
    RememberedAnswer::new(AnswerStatus::Created, object.close()).at(format!("/keys/{}", key.id))
}

/// The public half. The text between the labels is the raw key, not a `SubjectPublicKeyInfo`:
/// published clients expect that.
pub(crate) fn pem(key: &ClientKeyView) -> String {
    let key = base64::encode(&key.public);
    format!("-----BEGIN PUBLIC KEY-----\n{key}\n-----END PUBLIC KEY-----\n")
}

pub(crate) fn render(key: &ClientKeyView) -> Json {
    members(key).close()
}

fn members(key: &ClientKeyView) -> Object {
    let mut object = Object::new();
    object.display("key_id", key.id);
    object.display("id", key.id);
    object.time("expires_at", key.expires_at);
    object
}
