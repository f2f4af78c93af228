//! A body that is no object is one mistake; its missing members are not reported too.

use serde_json::json;

use crate::harness::Vault;

#[test]
fn what_is_not_an_object_is_one_mistake() {
    let vault = Vault::start();
    let body = json!({"name": "n", "type": "private", "rules": ["a rule"]});
    vault.post("/applications", &vault.keys.management, body).invalid(&["rules[0]"]);
    for body in [json!([]), json!("text"), json!(1), json!(null)] {
        vault.post("/tokens", &vault.keys.private, body).invalid(&["$"]);
    }
}
