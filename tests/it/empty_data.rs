//! Type `token` takes any value, the empty text too: its default fingerprint must not refuse it.

use serde_json::json;

use crate::harness::Vault;

#[test]
fn an_empty_text_can_be_the_data_of_a_token() {
    let vault = Vault::start();
    let id = vault.token(json!({"type": "token", "data": ""}));
    let read = vault.get(&format!("/tokens/{id}"), &vault.keys.private).with_status(200);
    assert_eq!(read.json["data"], "");
}
