//! A development vault starts, serves a round trip and ends.

use serde_json::json;

use crate::harness::Vault;

#[test]
fn a_development_vault_stores_a_value_and_gives_it_back_after_a_restart() {
    let mut vault = Vault::start();
    let id = vault.token(json!({"type": "token", "data": "a secret"}));
    assert_eq!(vault.stop(), Some(0));
    vault.restart();
    let read = vault.get(&format!("/tokens/{id}"), &vault.keys.private).with_status(200);
    assert_eq!(read.json["data"], "a secret");
}

#[test]
fn a_further_tenant_has_keys_of_its_own() {
    let vault = Vault::start();
    let other = vault.tenant("production");
    let id = vault.token(json!({"type": "token", "data": "a secret"}));
    vault.get(&format!("/tokens/{id}"), &other.keys.private).problem(404);
    let read = vault.get("/tenants/self", &other.keys.management).with_status(200);
    assert_eq!(read.id(), other.id);
    assert!(other.keys.private.starts_with("key_prod_self_pvt_"));
}
