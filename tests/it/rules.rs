//! Access rules: which of them decides, where, and how much an answer shows by it.

use serde_json::{Value, json};

use crate::harness::{Answer, Vault, rule};

fn masked(vault: &Vault, containers: &Value) -> String {
    vault.token(json!({
        "type": "token", "data": "secret1234", "mask": "{{ data | reveal_last: 4 }}",
        "containers": containers,
    }))
}

/// The view that a key of these rules and permissions gets of a masked token in these containers.
fn read(vault: &Vault, permissions: &[&str], rules: &Value, containers: &Value) -> Answer {
    let key = vault.key_with("private", permissions, rules);
    vault.get(&format!("/tokens/{}", masked(vault, containers)), &key)
}

#[test]
fn a_rule_reveals_masks_or_redacts() {
    let vault = Vault::start();
    let shown = |transform: &str| {
        let rules = json!([rule(1, "/", transform, &["token:read"])]);
        read(&vault, &[], &rules, &json!(["/general/high/"])).with_status(200).json
    };
    assert_eq!(shown("reveal")["data"], "secret1234");
    assert_eq!(shown("mask")["data"], "XXXXXX1234");
    let redacted = shown("redact");
    assert!(redacted.as_object().unwrap().get("data").is_none(), "{redacted}");
    assert_eq!(redacted["mask"], "{{ data | reveal_last: 4 }}");
}

#[test]
fn a_plain_permission_masks_in_every_container() {
    let vault = Vault::start();
    let answer = read(&vault, &["token:read"], &json!([]), &json!(["/far/away/"]));
    assert_eq!(answer.with_status(200).json["data"], "XXXXXX1234");
    // Without a mask there is nothing to show.
    let key = vault.key_with("private", &["token:read"], &json!([]));
    let id = vault.token(json!({"type": "token", "data": "secret1234"}));
    let answer = vault.get(&format!("/tokens/{id}"), &key).with_status(200);
    assert!(answer.json.get("data").is_none(), "{}", answer.text());
}

#[test]
fn reading_needs_one_of_the_containers_and_takes_the_best_transform() {
    let vault = Vault::start();
    let one = json!([rule(1, "/b/", "reveal", &["token:read"])]);
    let answer = read(&vault, &[], &one, &json!(["/a/", "/b/"])).with_status(200);
    assert_eq!(answer.json["data"], "secret1234");
    let both =
        json!([rule(2, "/a/", "reveal", &["token:read"]), rule(1, "/b/", "mask", &["token:read"])]);
    let answer = read(&vault, &[], &both, &json!(["/a/", "/b/"])).with_status(200);
    assert_eq!(answer.json["data"], "XXXXXX1234");
    let neither = json!([rule(1, "/c/", "reveal", &["token:read"])]);
    read(&vault, &[], &neither, &json!(["/a/", "/b/"])).problem(403);
}

#[test]
fn creating_and_deleting_need_all_of_the_containers() {
    let vault = Vault::start();
    let may = &["token:create", "token:delete"];
    let one = vault.key_with("private", &[], &json!([rule(1, "/a/", "mask", may)]));
    let both = json!([rule(1, "/a/", "mask", may), rule(2, "/b/", "mask", may)]);
    let both = vault.key_with("private", &[], &both);
    let create = |key: &str, containers: Value| {
        let body = json!({"type": "token", "data": "x", "containers": containers});
        vault.post("/tokens", key, body)
    };
    create(&one, json!(["/a/"])).with_status(201);
    create(&one, json!(["/a/", "/b/"])).problem(403);
    create(&one, json!(["/b/"])).problem(403);
    // The default container of the type is another one.
    vault.post("/tokens", &one, json!({"type": "token", "data": "x"})).problem(403);
    let made = create(&both, json!(["/a/", "/b/"])).with_status(201).id();
    let path = format!("/tokens/{made}");
    vault.delete(&path, &one).problem(403);
    vault.get(&path, &vault.keys.private).with_status(200);
    vault.delete(&path, &both).with_status(204);
    vault.delete(&path, &both).problem(404);
}

#[test]
fn the_answer_to_a_create_goes_through_the_transform_of_creating() {
    let vault = Vault::start();
    let body = json!({
        "type": "token", "data": "secret1234", "mask": "{{ data | reveal_last: 4 }}",
    });
    for (create, data) in
        [("reveal", json!("secret1234")), ("mask", json!("XXXXXX1234")), ("redact", Value::Null)]
    {
        let rules = json!([
            rule(1, "/", "reveal", &["token:read"]),
            rule(2, "/", create, &["token:create"])
        ]);
        let key = vault.key_with("private", &[], &rules);
        let made = vault.post("/tokens", &key, body.clone()).with_status(201);
        assert_eq!(made.json["data"], data, "{create}");
        let read = vault.get(&format!("/tokens/{}", made.id()), &key).with_status(200);
        assert_eq!(read.json["data"], "secret1234");
    }
}

#[test]
fn a_change_of_rules_holds_for_the_next_request() {
    let vault = Vault::start();
    let id = masked(&vault, &json!(["/a/"]));
    let path = format!("/tokens/{id}");
    let first = json!([rule(1, "/", "reveal", &["token:read"])]);
    let made = vault.application("private", &[], &first);
    let key = made.member("key");
    assert_eq!(vault.get(&path, &key).with_status(200).json["data"], "secret1234");
    vault.set_rules(&made, &json!([rule(1, "/", "mask", &["token:read"])]));
    assert_eq!(vault.get(&path, &key).with_status(200).json["data"], "XXXXXX1234");
    vault.set_rules(&made, &json!([rule(1, "/b/", "mask", &["token:read"])]));
    vault.get(&path, &key).problem(403);
}

#[test]
fn a_rule_that_is_wrong_is_refused_with_every_mistake() {
    let vault = Vault::start();
    let check = |rule: Value, paths: &[&str]| {
        let body = json!({"name": "n", "type": "private", "rules": [rule]});
        vault.post("/applications", &vault.keys.management, body).invalid(paths);
    };
    let good = rule(1, "/", "mask", &["token:read"]);
    let with = |name: &str, value: Value| {
        let mut bad = good.clone();
        bad[name] = value;
        bad
    };
    check(with("priority", json!(0)), &["rules[0].priority"]);
    check(with("priority", json!("1")), &["rules[0].priority"]);
    check(with("container", json!("pci")), &["rules[0].container"]);
    check(with("container", Value::Null), &["rules[0].container"]);
    check(with("transform", json!("show")), &["rules[0].transform"]);
    check(with("permissions", json!([])), &["rules[0].permissions"]);
    check(with("permissions", json!(["tenant:read"])), &["rules[0].permissions[0]"]);
    check(with("permissions", json!(["token:read", "no:such"])), &["rules[0].permissions[1]"]);
    check(with("conditions", json!([{"attribute": "id"}])), &["rules[0].conditions"]);
    check(
        json!({}),
        &["rules[0].container", "rules[0].permissions", "rules[0].priority", "rules[0].transform"],
    );
}
