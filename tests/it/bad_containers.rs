//! Containers that are none are a mistake of the body, also for a key that has only rules.

use serde_json::json;

use crate::harness::Vault;

#[test]
fn containers_that_are_all_wrong_are_a_mistake_and_not_a_refusal() {
    let vault = Vault::start();
    let body = json!({"type": "token", "data": 1, "containers": ["x"]});
    vault.post("/tokens", &vault.keys.private, body).invalid(&["containers[0]"]);
}
