//! Quotas are read among the settings; a setting of the same name must not hide what applies.

use serde_json::json;

use crate::harness::Vault;

#[test]
fn a_setting_cannot_pretend_to_be_another_quota() {
    let vault = Vault::start();
    let key = &vault.keys.management;
    let body = json!({"name": "n", "settings": {"tokenize_limit": "1000"}});
    vault.put("/tenants/self", key, body);
    let read = vault.get("/tenants/self", key).with_status(200);
    assert_eq!(read.json["settings"]["tokenize_limit"], "5");
}
