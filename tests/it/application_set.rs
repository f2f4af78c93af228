//! `strongroom application set` and `application delete`.

use serde_json::{Value, json};

use crate::harness::{Ended, Vault};

const RULE: &str =
    r#"{"priority":1,"container":"/a/","transform":"mask","permissions":["token:read"]}"#;

fn create(vault: &Vault, kind: &str, permission: &str) -> Value {
    let tenant = vault.tenant_id.as_str();
    let made = [
        "application",
        "create",
        "--tenant",
        tenant,
        "--name",
        "Before",
        "--type",
        kind,
        "--permission",
        permission,
    ];
    vault.operator(&made).json()
}

fn set(vault: &Vault, made: &Value, options: &[&str]) -> Ended {
    let tenant = vault.tenant_id.as_str();
    let named = ["application", "set", "--tenant", tenant, "--application", text(&made["id"])];
    vault.operator(&[&named, options].concat())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[test]
fn only_the_options_that_are_given_change_and_lists_are_replaced() {
    let vault = Vault::start();
    let made = create(&vault, "private", "token:create");
    let set = |options: &[&str]| set(&vault, &made, options);
    let changed = set(&["--name", "After"]).json();
    assert_eq!(changed["name"], "After");
    assert_eq!(changed["permissions"], json!(["token:create"]));
    assert_eq!(changed["keys"], made["keys"]);
    let changed = set(&["--rule", RULE]).json();
    assert_eq!(changed["rules"][0]["container"], "/a/");
    assert_eq!(changed["name"], "After");
    assert_eq!(changed["permissions"], json!(["token:create"]));
    let changed = set(&["--permission", "token:update", "--permission", "token:delete"]).json();
    let mut permissions: Vec<_> =
        changed["permissions"].as_array().unwrap().iter().map(text).collect();
    permissions.sort_unstable();
    assert_eq!(permissions, ["token:delete", "token:update"]);
    assert_eq!(changed["rules"].as_array().unwrap().len(), 1);
    let key = text(&made["key"]);
    vault.post("/tokens", key, json!({"type": "token", "data": "x"})).problem(403);
    let changed = set(&["--no-permission"]).json();
    assert_eq!(changed["permissions"], json!([]));
    let read = vault.get(&format!("/applications/{}", text(&made["id"])), &vault.keys.management);
    assert_eq!(read.with_status(200).json["name"], "After");

    set(&[]).with_code(64);
    set(&["--rule", "{"]).with_code(64);
    set(&["--permission", "token:read", "--no-permission"]).with_code(64);
    for wrong in [
        &["--no-rule"][..],
        &["--permission", "no:such"],
        &["--permission", "application:read"],
        &["--origin", "https://shop.example"],
        &["--name", ""],
    ] {
        set(wrong).with_code(65);
    }
}

#[test]
fn the_origins_of_a_public_application_are_set_and_removed() {
    let vault = Vault::start();
    let made = create(&vault, "public", "token:create");
    let set = |options: &[&str]| set(&vault, &made, options).json();
    let origins = json!(["https://shop.example"]);
    assert_eq!(set(&["--origin", "https://shop.example"])["allowed_origins"], origins);
    assert_eq!(set(&["--name", "x"])["allowed_origins"], origins);
    assert_eq!(set(&["--no-origin"]).get("allowed_origins"), None);
}

#[test]
fn a_deleted_application_is_gone_with_its_keys_and_a_wrong_id_says_so() {
    let mut vault = Vault::start();
    let made = create(&vault, "private", "token:create");
    let (id, key) = (text(&made["id"]), text(&made["key"]));
    let tenant = vault.tenant_id.clone();
    let delete = |tenant: &str, id: &str, more: &[&str]| {
        let named = ["application", "delete", "--tenant", tenant, "--application", id];
        vault.operator(&[&named, more].concat())
    };
    let refused = delete(&tenant, id, &[]).with_code(64);
    assert!(refused.stderr.contains("--yes"), "{}", refused.stderr);
    vault.get("/applications/key", key).with_status(200);
    let other = vault.tenant("test");
    for (tenant, id) in [(tenant.as_str(), "nonsense"), (&other.id, id)] {
        let refused = delete(tenant, id, &["--yes"]).with_code(65);
        assert!(refused.stderr.contains("There is no such application."), "{}", refused.stderr);
    }
    delete(&tenant, id, &["--yes"]).with_code(0);
    vault.get("/applications/key", key).problem(401);
    delete(&tenant, id, &["--yes"]).with_code(65);
    let set = ["application", "set", "--tenant", &tenant, "--application", id, "--name", "x"];
    vault.operator(&set).with_code(65);
    vault.stop_and_verify();
}
