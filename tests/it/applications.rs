//! Applications, their keys, the permissions, the templates and the caller's own tenant.

use std::thread;

use serde_json::{Value, json};

use crate::harness::{Answer, Vault, names, only_rule, post, rule};

const MISSING: &str = "0190a1b2-c3d4-4e5f-8a6b-7c8d9e0f1a2b";

fn create(vault: &Vault, body: Value) -> Answer {
    vault.post("/applications", &vault.keys.management, body)
}

#[test]
fn an_application_is_created_with_a_key_that_is_shown_once_and_works_at_once() {
    let vault = Vault::start();
    let rule = rule(1, "/", "mask", &["token:read"]);
    let body = json!({
        "name": "Shop", "type": "private", "permissions": ["token:create"], "rules": [rule],
    });
    let made = create(&vault, body).with_status(201);
    let id = made.id();
    let location = format!("https://{}/applications/{id}", vault.address);
    assert_eq!(made.header("location"), Some(location.as_str()));
    let keys = &made.json["keys"];
    assert_eq!(names(&keys[0]), ["created_at", "created_by", "id", "tenant_id", "version"]);
    let by = vault.get("/applications/key", &vault.keys.management).id();
    let expected = json!({
        "id": id, "name": "Shop", "type": "private", "tenant_id": vault.tenant_id,
        "permissions": ["token:create"], "rules": [rule], "created_by": by, "keys": keys,
        "created_at": made.json["created_at"], "key": made.json["key"],
    });
    assert_eq!(made.json, expected);
    let key = made.member("key");
    check_key_text(&key, "key_test_self_pvt_");
    vault.post("/tokens", &key, json!({"type": "token", "data": 1})).with_status(201);
    let read = vault.get(&format!("/applications/{id}"), &vault.keys.management).with_status(200);
    assert!(read.json.get("key").is_none());
    let mut without = made.json.clone();
    without.as_object_mut().unwrap().remove("key");
    assert_eq!(read.json, without);
}

#[track_caller]
fn check_key_text(text: &str, start: &str) {
    let rest = text.strip_prefix(start).unwrap_or_else(|| panic!("{start}"));
    let (digits, suffix) = rest.split_once('.').unwrap_or((rest, ""));
    assert_eq!(digits.len(), 22);
    assert!(digits.bytes().all(|byte| byte.is_ascii_alphanumeric() && !b"0OIl".contains(&byte)));
    if start.contains("_pvt_") {
        assert_eq!(suffix.len(), 32);
        assert!(suffix.bytes().all(|byte| b"0123456789abcdef".contains(&byte)));
    } else {
        assert!(!rest.contains('.'));
    }
}

#[test]
fn the_texts_of_keys_tell_the_types_of_tenant_and_application() {
    let test = Vault::start();
    let production = Vault::start_with(&["--tenant-type", "production"]);
    for (vault, tenant) in [(&test, "test"), (&production, "prod")] {
        let keys = &vault.keys;
        check_key_text(&keys.private, &format!("key_{tenant}_self_pvt_"));
        check_key_text(&keys.public, &format!("key_{tenant}_self_pub_"));
        check_key_text(&keys.management, &format!("key_{tenant}_self_mgt_"));
    }
}

#[test]
fn an_application_can_be_made_without_a_key() {
    let vault = Vault::start();
    let body = json!({
        "name": "n", "type": "public", "permissions": ["token:create"], "create_key": false,
    });
    let made = create(&vault, body).with_status(201);
    assert!(made.json.get("key").is_none());
    assert_eq!(made.json["keys"], json!([]));
}

#[test]
fn a_wrong_application_is_refused_with_every_mistake() {
    let vault = Vault::start();
    let check = |body: Value, paths: &[&str]| {
        create(&vault, body).invalid(paths);
    };
    check(json!({}), &["name", "type"]);
    check(
        json!({"name": "", "type": "robot", "permissions": 7, "create_key": "no"}),
        &["create_key", "name", "permissions", "type"],
    );
    check(json!({"name": "n", "type": "private"}), &["permissions"]);
    check(
        json!({"name": "n", "type": "private", "permissions": [], "rules": []}),
        &["permissions"],
    );
    check(
        json!({"name": "n", "type": "private", "permissions": ["no:such", "token:read", 1]}),
        &["permissions[0]", "permissions[2]"],
    );
    check(
        json!({"name": "n", "type": "private", "permissions": ["application:read"]}),
        &["permissions[0]"],
    );
    let long = "n".repeat(201);
    check(json!({"name": long, "type": "private", "permissions": ["token:read"]}), &["name"]);
    let longest = "\u{e9}".repeat(200);
    let body = json!({"name": longest, "type": "private", "permissions": ["token:read"]});
    create(&vault, body).with_status(201);
    let many = vec!["token:read"; 51];
    check(json!({"name": "n", "type": "private", "permissions": many}), &["permissions"]);
}

#[test]
fn applications_are_listed_newest_first_in_pages() {
    let vault = Vault::start();
    let list = |query: &str| vault.get(&format!("/applications{query}"), &vault.keys.management);
    let mut made: Vec<_> =
        (0..5).map(|_| vault.application("public", &["token:create"], &json!([])).id()).collect();
    made.reverse();
    let all = list("").with_status(200);
    let pages = |number: u8, size: u8, count: u8| json!({"total_items": 8, "page_number": number, "page_size": size, "total_pages": count});
    assert_eq!(all.json["pagination"], pages(1, 20, 1));
    let ids = |answer: &Answer| answer.each("id");
    assert_eq!(ids(&all)[..5], made[..]);
    assert!(all.json["data"][0].get("key").is_none());
    let second = list("?page=2&size=3").with_status(200);
    assert_eq!(second.json["pagination"], pages(2, 3, 3));
    assert_eq!(ids(&second), ids(&all)[3..6]);
    for past in ["?page=4&size=3", "?page=1000000", "?page=1000000000&size=100"] {
        let page = list(past).with_status(200);
        assert_eq!(page.json["data"], json!([]), "{past}");
        assert_eq!(page.json["pagination"]["total_items"], 8);
    }
    assert_eq!(ids(&list("?type=public&size=100").with_status(200)).len(), 6);
    assert_eq!(ids(&list("?type=private&type=management").with_status(200)).len(), 2);
    let some = list(&format!("?id={}&id={}&id={MISSING}", made[1], made[3])).with_status(200);
    assert_eq!(ids(&some), [made[1].as_str(), made[3].as_str()]);
    assert_eq!(ids(&list("?id=nonsense").with_status(200)), [""; 0]);
    list("?page=0").invalid(&["page"]);
    list("?size=0&page=x&type=robot").invalid(&["page", "size", "type"]);
    list("?size=101").invalid(&["size"]);
}

#[test]
fn another_tenants_applications_are_not_listed() {
    let vault = Vault::start();
    let other = vault.tenant("test");
    let theirs = vault.get("/applications", &other.keys.management).with_status(200);
    assert_eq!(theirs.json["pagination"]["total_items"], 3);
    let mine = vault.get("/applications", &vault.keys.management).with_status(200);
    assert_eq!(mine.json["pagination"]["total_items"], 3);
    let id = mine.json["data"][0]["id"].as_str().unwrap();
    let asked = vault.get(&format!("/applications?id={id}"), &other.keys.management);
    assert_eq!(asked.with_status(200).json["data"], json!([]));
}

#[test]
fn an_update_replaces_name_permissions_and_rules_and_keeps_type_and_keys() {
    let vault = Vault::start();
    let rules = only_rule("/", "mask", &["token:read"]);
    let made = vault.application("private", &["token:create"], &rules);
    let path = format!("/applications/{}", made.id());
    let update = |body: Value| vault.put(&path, &vault.keys.management, body);
    let body = json!({"name": "New", "permissions": ["token:delete"], "type": "public"});
    let changed = update(body).with_status(200);
    assert_eq!(changed.json["name"], "New");
    assert_eq!(changed.json["permissions"], json!(["token:delete"]));
    assert_eq!(changed.json["rules"], json!([]), "what is left out is gone");
    assert_eq!(changed.json["type"], "private");
    assert_eq!(changed.json["keys"], made.json["keys"]);
    assert_eq!(changed.json["created_at"], made.json["created_at"]);
    let by = vault.get("/applications/key", &vault.keys.management).id();
    assert_eq!(changed.json["modified_by"], json!(by));
    assert!(changed.json["modified_at"].is_string() && changed.json.get("key").is_none());
    assert_eq!(vault.get(&path, &vault.keys.management).json, changed.json);
    // Its key holds what it now may, at once.
    let key = made.member("key");
    vault.post("/tokens", &key, json!({"type": "token", "data": 1})).problem(403);
    update(json!({"permissions": ["token:read"]})).invalid(&["name"]);
    update(json!({"name": "n"})).invalid(&["permissions"]);
    update(json!({"name": "n", "permissions": ["tenant:read"]})).invalid(&["permissions[0]"]);
    let missing = format!("/applications/{MISSING}");
    vault.put(&missing, &vault.keys.management, json!({"name": 1})).problem(404);
}

#[test]
fn a_deleted_application_is_gone_with_its_keys() {
    let vault = Vault::start();
    let made = vault.application("private", &["token:create"], &json!([]));
    let path = format!("/applications/{}", made.id());
    let management = &vault.keys.management;
    vault.delete(&path, management).with_status(204);
    for request in ["", "/keys"] {
        vault.get(&format!("{path}{request}"), management).problem(404);
    }
    vault.delete(&path, management).problem(404);
    vault.send(&post(&format!("{path}/keys")).key(management)).problem(404);
    vault.get("/applications/key", &made.member("key")).problem(401);
}

#[test]
fn an_application_has_at_most_three_keys_of_which_each_works() {
    let vault = Vault::start();
    let made = vault.application("private", &["token:create"], &json!([]));
    let path = format!("/applications/{}/keys", made.id());
    let management = &vault.keys.management;
    let add = || vault.send(&post(&path).key(management));
    let new = [(); 2].map(|()| add().with_status(201));
    add().problem(422);
    for key in &new {
        assert_eq!(
            names(&key.json),
            ["created_at", "created_by", "id", "key", "tenant_id", "version"]
        );
        let location = format!("https://{}{path}/{}", vault.address, key.id());
        assert_eq!(key.header("location"), Some(location.as_str()));
        check_key_text(&key.member("key"), "key_test_self_pvt_");
        let own = vault.get("/applications/key", &key.member("key")).with_status(200);
        assert_eq!(own.id(), made.id());
    }
    let listed = vault.get(&path, management).with_status(200);
    let listed = listed.json.as_array().expect("a bare array").clone();
    assert_eq!(listed.len(), 3);
    assert!(listed.iter().all(|key| key.get("key").is_none()));
    let one = vault.get(&format!("{path}/{}", new[0].id()), management).with_status(200);
    assert!(listed.contains(&one.json));
    vault.delete(&format!("{path}/{}", new[0].id()), management).with_status(204);
    vault.get("/applications/key", &new[0].member("key")).problem(401);
    vault.get("/applications/key", &new[1].member("key")).with_status(200);
    vault.delete(&format!("{path}/{}", new[0].id()), management).problem(404);
    vault.get(&format!("{path}/{}", new[0].id()), management).problem(404);
    add().with_status(201);
}

#[test]
fn simultaneous_key_creations_stop_at_three() {
    let vault = Vault::start();
    let made = vault.application("private", &["token:create"], &json!([]));
    let path = format!("/applications/{}/keys", made.id());
    let request = post(&path).key(&vault.keys.management);
    let statuses: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| vault.send(&request).status)).collect();
        threads.into_iter().map(|it| it.join().unwrap()).collect()
    });
    assert_eq!(statuses.iter().filter(|it| **it == 201).count(), 2, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|it| **it == 422).count(), 6, "{statuses:?}");
}

#[test]
fn any_key_finds_its_own_application() {
    let vault = Vault::start();
    for (key, kind) in [
        (&vault.keys.private, "private"),
        (&vault.keys.public, "public"),
        (&vault.keys.management, "management"),
    ] {
        let own = vault.get("/applications/key", key).with_status(200);
        assert_eq!(own.json["type"], kind);
        assert!(own.json.get("key").is_none());
    }
}

#[test]
fn permissions_are_listed_for_all_or_one_type_of_application() {
    let vault = Vault::start();
    let list = |query: &str| vault.get(&format!("/permissions{query}"), &vault.keys.public);
    let all = list("").with_status(200);
    let all = all.json.as_array().expect("a bare array").clone();
    for permission in &all {
        let mut names = names(permission);
        names.retain(|name| *name != "absent_feature");
        assert_eq!(names, ["application_types", "description", "type"]);
    }
    let of = |kind: &str| -> Vec<Value> {
        let listed = list(&format!("?application_type={kind}")).with_status(200);
        listed.json.as_array().unwrap().clone()
    };
    for kind in ["private", "public", "management"] {
        let wanted =
            |it: &&Value| it["application_types"].as_array().unwrap().contains(&json!(kind));
        assert_eq!(of(kind), all.iter().filter(wanted).cloned().collect::<Vec<_>>());
    }
    assert!(of("management").iter().all(|it| it["type"] != "token:read"));
    list("?application_type=robot").invalid(&["application_type"]);
}

#[test]
fn every_template_makes_an_application() {
    let vault = Vault::start();
    let all = vault.get("/application-templates", &vault.keys.public).with_status(200);
    let all = all.json.as_array().expect("a bare array").clone();
    assert!(!all.is_empty());
    for template in all {
        let id = template["id"].as_str().unwrap();
        let one = vault.get(&format!("/application-templates/{id}"), &vault.keys.private);
        assert_eq!(one.with_status(200).json, template);
        for name in ["name", "description", "application_type", "template_type", "is_starter"] {
            assert!(template.get(name).is_some(), "{name}");
        }
        let body = json!({
            "name": template["name"], "type": template["application_type"],
            "permissions": template["permissions"], "rules": template["rules"],
        });
        create(&vault, body).with_status(201);
    }
    let missing = format!("/application-templates/{MISSING}");
    vault.get(&missing, &vault.keys.private).problem(404);
}

#[test]
fn a_tenant_reads_and_renames_itself_and_keeps_its_settings() {
    let vault = Vault::start_with(&["--quota", "tokenize_limit=7"]);
    let key = &vault.keys.management;
    let read = vault.get("/tenants/self", key).with_status(200);
    assert_eq!(read.id(), vault.tenant_id);
    assert_eq!(read.json["type"], "test");
    assert!(read.json["owner_id"].is_string());
    assert_eq!(read.json["settings"]["tokenize_limit"], "7");
    let body = json!({"name": "SDK", "settings": {"deduplicate_tokens": "true", "own": "x"}});
    let changed = vault.put("/tenants/self", key, body).with_status(200);
    assert_eq!(changed.json["name"], "SDK");
    assert_eq!(changed.json["settings"]["own"], "x");
    assert_eq!(changed.json["settings"]["deduplicate_tokens"], "true");
    let settings = changed.json["settings"].as_object().unwrap();
    assert!(settings.values().all(Value::is_string));
    assert!(changed.json["modified_at"].is_string());
    assert_eq!(vault.get("/tenants/self", key).json, changed.json);
    vault.put("/tenants/self", key, json!({"settings": {"a": 1}})).invalid(&["name", "settings.a"]);
    let wrong = json!({"name": "n", "settings": {"deduplicate_tokens": "maybe"}});
    vault.put("/tenants/self", key, wrong).invalid(&["settings.deduplicate_tokens"]);
    vault.put("/tenants/self", key, json!({"name": ""})).invalid(&["name"]);
}
