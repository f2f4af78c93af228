//! Client encryption keys on the wire. The documentation and the published clients use different
//! names for two members, so answers have both.

use serde_json::Value;

use crate::app::ClientKeyView;
use crate::domain::mistakes::Mistakes;
use crate::http::wire::Fields;
use crate::http::wire::answer::{Answer as _, answer};
use crate::idempotency::{AnswerStatus, RememberedAnswer};
use crate::threeds::base64;

pub(crate) fn parse_expires_at(body: &Value) -> Result<Option<String>, Mistakes> {
    let mut fields = Fields::of_body(body);
    let expires_at = fields.text("expires_at").map(String::from);
    fields.mistakes.into_result()?;
    Ok(expires_at)
}

pub(crate) fn answer(key: &ClientKeyView) -> RememberedAnswer {
    let json = ClientKeyAnswer::render((key, Some(&pem(key))));
    RememberedAnswer::new(AnswerStatus::Created, json).at(format!("/keys/{}", key.id))
}

/// The public half. The text between the labels is the raw key, not a `SubjectPublicKeyInfo`:
/// published clients expect that.
pub(crate) fn pem(key: &ClientKeyView) -> String {
    let key = base64::encode(&key.public);
    format!("-----BEGIN PUBLIC KEY-----\n{key}\n-----END PUBLIC KEY-----\n")
}

answer! {
    pub(crate) ClientKeyAnswer<'a>(it: (&'a ClientKeyView, Option<&'a str>)) {
        has key_id: id = it.0.id;
        has id: id = it.0.id, "The same as `key_id`.";
        has expires_at: time = it.0.expires_at;
        may_have public_key_pem: text = it.1, "Only in the answer that made the key.";
        may_have publicKeyPEM: text = it.1, "Only in the answer that made the key.";
    }
}
