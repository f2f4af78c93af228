//! Hosted card fields: the origins that applications allow, and the files of the fields.

use ring::digest::{SHA256, digest};
use serde_json::{Value, json};
use strongroom::testing::base64;
use strongroom::testing::bounds::{ORIGIN_BYTES_MAX, ORIGINS_MAX};

use crate::harness::{Answer, Vault, get, post};

const SHOP: &str = "https://shop.example";
const CREATE: &[&str] = &["token:create", "token-intent:create"];

fn body(kind: &str, origins: &Value) -> Value {
    let permissions = if kind == "management" { json!(["log:read"]) } else { json!(CREATE) };
    json!({"name": "Shop", "type": kind, "permissions": permissions, "allowed_origins": origins})
}

fn create(vault: &Vault, origins: &Value) -> Answer {
    vault.post("/applications", &vault.keys.management, body("public", origins))
}

/// The key of a public application that allows these origins.
#[track_caller]
fn key_for(vault: &Vault, origins: &Value) -> String {
    create(vault, origins).with_status(201).member("key")
}

fn ask(vault: &Vault, key: &str, origin: &str) -> Answer {
    let origin = origin.replace(':', "%3A").replace('/', "%2F");
    vault.get(&format!("/fields/v1/access?origin={origin}"), key)
}

#[track_caller]
fn check_allowed(vault: &Vault, key: &str, origin: &str) {
    let expected = json!({"allowed": true, "tenant_id": vault.tenant_id});
    assert_eq!(ask(vault, key, origin).with_status(200).json, expected, "{origin}");
}

/// The text is the same for every origin that is not allowed.
#[track_caller]
fn check_refused(vault: &Vault, key: &str, origin: &str) {
    let refused = ask(vault, key, origin).problem(403);
    let detail = refused.member("detail");
    assert!(detail.contains("allowed_origins"), "{origin}: {detail}");
}

#[test]
fn the_chapter_has_the_hash_of_the_script_and_other_origins_can_check_it() {
    let vault = Vault::start();
    let script = vault.send(&get("/fields/v1.js").header("Origin", SHOP)).with_status(200);
    // Browsers compare the hash only with a file that the page's site may read.
    let allowed = script.headers.iter().filter(|(name, _)| name == "access-control-allow-origin");
    assert_eq!(allowed.map(|(_, value)| value.as_str()).collect::<Vec<_>>(), ["*"]);
    assert_eq!(script.header("cross-origin-resource-policy"), Some("cross-origin"));
    let hash = digest(&SHA256, &script.bytes);
    let integrity = format!("integrity=\"sha256-{}\"", base64::encode(hash.as_ref()));
    let document = vault.send(&get("/openapi.json")).with_status(200).json;
    let tags = document["tags"].as_array().unwrap();
    let chapter = tags.iter().find(|it| it["name"] == "Hosted card fields").unwrap();
    let text = chapter["description"].as_str().unwrap();
    assert!(text.contains(&integrity), "{integrity}");
    assert!(text.contains("crossorigin=\"anonymous\"") && !text.contains("FIELDS_INTEGRITY"));
}

#[test]
fn a_public_application_has_allowed_origins_that_a_change_keeps_sets_or_removes() {
    let vault = Vault::start();
    let management = &vault.keys.management;
    let made = create(&vault, &json!([SHOP, "http://localhost:3000", SHOP])).with_status(201);
    let path = format!("/applications/{}", made.id());
    let read = || vault.get(&path, management).with_status(200).json;
    let both = json!(["http://localhost:3000", SHOP]);
    assert_eq!(made.json["allowed_origins"], both);
    assert_eq!(read()["allowed_origins"], both);
    let by_key = vault.get("/applications/key", &made.member("key")).with_status(200);
    assert_eq!(by_key.json["allowed_origins"], both);

    // A client of the published interface does not know them and sends back what it knows.
    let without = json!({"name": "Other", "permissions": CREATE});
    let changed = vault.put(&path, management, without.clone()).with_status(200);
    assert_eq!((&changed.json["name"], &changed.json["allowed_origins"]), (&json!("Other"), &both));

    let mut one = without.clone();
    one["allowed_origins"] = json!([SHOP]);
    let changed = vault.put(&path, management, one).with_status(200);
    assert_eq!(changed.json["allowed_origins"], json!([SHOP]));

    let mut none = without;
    none["allowed_origins"] = json!([]);
    let changed = vault.put(&path, management, none).with_status(200);
    assert_eq!(changed.json.get("allowed_origins"), None);
    assert_eq!(read().get("allowed_origins"), None);

    let acts = vault.acts("entity_type=application");
    assert_eq!(acts.iter().filter(|act| *act == "update").count(), 3, "{acts:?}");
}

#[test]
fn allowed_origins_outlive_a_restart() {
    let mut vault = Vault::start();
    let key = key_for(&vault, &json!([SHOP]));
    vault.kill();
    vault.restart();
    check_allowed(&vault, &key, SHOP);
    check_refused(&vault, &key, "https://other.example");
}

#[test]
fn wrong_origins_are_refused_with_their_places() {
    let vault = Vault::start();
    let wrong = [
        "https://Shop.example",
        "http://shop.example",
        "https://shop.example/",
        "https://shop.example:443",
        "*",
        "null",
    ];
    let paths: Vec<_> = (1..=wrong.len()).map(|at| format!("allowed_origins[{at}]")).collect();
    let paths: Vec<_> = paths.iter().map(String::as_str).collect();
    let all: Vec<_> = std::iter::once(SHOP).chain(wrong).collect();
    let refused = create(&vault, &json!(all)).invalid(&paths);
    for text in wrong.iter().filter(|text| text.len() > 4) {
        assert!(!refused.text().contains(text), "a mistake quotes {text}");
    }
    create(&vault, &json!("https://shop.example")).invalid(&["allowed_origins"]);
    create(&vault, &json!([7])).invalid(&["allowed_origins[0]"]);
    let many = |count: usize| {
        json!((0..count).map(|at| format!("https://s{at}.example")).collect::<Vec<_>>())
    };
    create(&vault, &many(ORIGINS_MAX)).with_status(201);
    create(&vault, &many(ORIGINS_MAX + 1)).invalid(&["allowed_origins"]);
    let long = format!("https://{}.example", "a.".repeat(ORIGIN_BYTES_MAX));
    create(&vault, &json!([long])).invalid(&["allowed_origins[0]"]);
    for kind in ["private", "management"] {
        let send = |origins: &Value| {
            vault.post("/applications", &vault.keys.management, body(kind, origins))
        };
        send(&json!([SHOP])).invalid(&["allowed_origins"]);
        send(&json!([])).with_status(201);
    }
}

#[test]
fn the_operator_creates_an_application_with_origins() {
    let vault = Vault::start();
    let fixed = ["application", "create", "--tenant", &vault.tenant_id, "--name", "Shop"];
    let public = ["--type", "public", "--permission", "token:create"];
    let origins = ["--origin", SHOP, "--origin", "https://www.shop.example"];
    let made = vault.operator(&[&fixed[..], &public, &origins].concat()).json();
    assert_eq!(made["allowed_origins"], json!([SHOP, "https://www.shop.example"]));
    check_allowed(&vault, made["key"].as_str().unwrap(), "https://www.shop.example");
}

#[test]
fn fields_are_for_pages_of_the_allowed_origins_alone() {
    let vault = Vault::start();
    let own = format!("https://{}", vault.address);
    let key = key_for(&vault, &json!([SHOP]));
    check_allowed(&vault, &key, SHOP);
    check_allowed(&vault, &key, &own);
    for other in [
        "https://shop.example:444",
        "https://www.shop.example",
        "http://shop.example",
        "https://SHOP.example",
        "http://localhost:3000",
        "null",
        "",
        "*",
        "https://shop.example/",
        "https://shop.example.evil.example",
    ] {
        check_refused(&vault, &key, other);
    }
    ask_without_origin(&vault, &key);
    // Without a list: a test tenant takes pages of the developer's machine, and of the vault.
    let empty = key_for(&vault, &json!([]));
    for page in [own.as_str(), "http://localhost:3000", "http://127.0.0.1:8080", "http://[::1]"] {
        check_allowed(&vault, &empty, page);
    }
    check_refused(&vault, &empty, SHOP);
}

fn ask_without_origin(vault: &Vault, key: &str) {
    vault.get("/fields/v1/access", key).invalid(&["origin"]);
}

#[test]
fn a_production_tenant_without_a_list_has_fields_in_pages_of_the_vault_alone() {
    let vault = Vault::start_with(&["--tenant-type", "production"]);
    check_allowed(&vault, &vault.keys.public, &format!("https://{}", vault.address));
    for page in ["http://localhost:3000", "http://127.0.0.1", SHOP] {
        check_refused(&vault, &vault.keys.public, page);
    }
}

#[test]
fn the_origins_are_those_of_the_keys_own_application() {
    let vault = Vault::start();
    let other = vault.tenant("test");
    let key = key_for(&vault, &json!([SHOP]));
    check_allowed(&vault, &key, SHOP);
    // Another application of the tenant, and one of another tenant.
    check_refused(&vault, &vault.keys.public, SHOP);
    check_refused(&vault, &other.keys.public, SHOP);

    // A session has the origins of the application that made it.
    let session = vault.send(&post("/sessions").key(&key)).with_status(201);
    let text = session.member("session_key");
    ask(&vault, &text, SHOP).problem(401);
    let rights = json!({"nonce": session.member("nonce"), "permissions": ["token:create"]});
    vault.post("/sessions/authorize", &vault.keys.private, rights).with_status(200);
    check_allowed(&vault, &text, SHOP);
    check_refused(&vault, &text, "https://other.example");
}

#[test]
fn only_a_key_that_belongs_into_a_page_opens_fields() {
    let vault = Vault::start();
    let own = format!("https://{}", vault.address);
    for key in [&vault.keys.private, &vault.keys.management] {
        let refused = ask(&vault, key, &own).problem(403);
        assert!(!refused.member("detail").contains("allowed_origins"), "{}", refused.text());
    }
    let other = vault.key_with("public", &["3ds:session:create"], &json!([]));
    ask(&vault, &other, &own).problem(403);
    for permission in CREATE {
        check_allowed(&vault, &vault.key_with("public", &[permission], &json!([])), &own);
    }
    ask(&vault, "", &own).problem(401);
}

#[test]
fn the_files_of_fields_say_who_may_load_them() {
    let vault = Vault::start();
    let load = |path: &str| vault.send(&get(path)).with_status(200);
    let script = load("/fields/v1.js");
    assert_eq!(script.header("content-type"), Some("text/javascript; charset=utf-8"));
    assert_eq!(script.header("cross-origin-resource-policy"), Some("cross-origin"));
    for path in ["/fields/v1/field", "/fields/v1/controller"] {
        let frame = load(path);
        let policy = frame.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; "), "{policy}");
        let scripts = format!("; script-src {}/fields/", vault.address);
        assert!(policy.ends_with(&scripts), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        // Shops show the frames, and the origin is checked by the controller.
        assert!(!policy.contains("frame-ancestors"), "{policy}");
        assert_eq!(frame.header("x-frame-options"), None);
        assert_eq!(frame.header("referrer-policy"), Some("no-referrer"));
    }
    for name in [
        "card.js",
        "controller.js",
        "field.js",
        "inputs.js",
        "rules.js",
        "texts.js",
        "field.css",
        "brands.json",
    ] {
        let part = load(&format!("/fields/v1/{name}"));
        assert_eq!(part.header("cross-origin-resource-policy"), Some("same-origin"), "{name}");
    }
    let page = load("/examples/checkout");
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("frame-src 'self'") && policy.contains("frame-ancestors 'none'"));
}

#[test]
fn dev_serves_the_sdk_that_it_is_given() {
    let vault = Vault::start();
    let without = vault.send(&get("/examples/3ds-sdk.js")).with_status(200);
    assert!(without.text().starts_with("//"));
    let file = vault.directory().join("sdk.js");
    std::fs::write(&file, "window.example = 1;").unwrap();
    let with = Vault::start_with(&["--threeds-sdk", file.to_str().unwrap()]);
    assert_eq!(with.send(&get("/examples/3ds-sdk.js")).text(), "window.example = 1;");
}

#[test]
fn a_mistake_in_a_list_is_named_by_its_own_place_behind_an_item_of_another_type() {
    let vault = Vault::start();
    let body = json!({"name": "n", "type": "public", "permissions": [7, "token:none"],
                      "allowed_origins": [7, "https://shop.example", "*"]});
    let refused = vault.post("/applications", &vault.keys.management, body).problem(400);
    let errors = refused.json["errors"].as_object().unwrap();
    let places: Vec<_> = errors.keys().map(String::as_str).collect();
    assert_eq!(
        places,
        ["allowed_origins[0]", "allowed_origins[2]", "permissions[0]", "permissions[1]"]
    );
}
