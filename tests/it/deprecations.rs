//! Operations that the published interface has shut down, and those that this server lacks.

use serde_json::{Value, json};

use crate::harness::{Request, Vault, only_rule};

#[test]
fn operations_that_are_gone_name_what_replaces_them_and_do_nothing() {
    let vault = Vault::start();
    let made = vault.application("private", &["token:create"], &json!([]));
    let regenerate = &format!("/applications/{}/regenerate", made.id());
    for (method, path, instead) in [
        ("POST", regenerate.as_str(), "POST /applications/{id}/keys"),
        ("GET", "/reactor-formulas", "code"),
        ("POST", "/reactor-formulas", "code"),
        ("GET", "/reactor-formulas/a", "code"),
        ("PUT", "/reactor-formulas/a", "code"),
        ("DELETE", "/reactor-formulas/a", "code"),
    ] {
        let request = Request::new(method, path).key(&vault.keys.management);
        for request in [request.clone(), request.json(json!({}))] {
            let gone = vault.send(&request).problem(410);
            assert!(gone.member("detail").contains(instead), "{}", gone.text());
        }
    }
    vault.get("/applications/key", &made.member("key")).with_status(200);
    vault.post(regenerate, &vault.keys.private, json!({})).problem(403);
}

#[test]
fn an_absent_feature_is_named_with_what_to_use_instead() {
    let vault = Vault::start();
    let paths = [
        ("/account-updater/jobs", "Account updater"),
        ("/network-tokens", "Network tokens"),
        ("/documents", "Documents"),
        ("/connections/stripe-forward/tokenize", "Payment connections"),
        ("/tenants/self/connections", "Payment connections"),
        ("/apple-pay/session", "Apple Pay"),
        ("/google-pay", "Google Pay"),
        ("/proxies/x/hostname", "Hostnames of proxies"),
        ("/tenants/self/owner", "Members and invitations"),
        ("/tenants/self/members/x", "Members and invitations"),
        ("/tenants/self/invitations/x/resend", "Members and invitations"),
    ];
    for (path, feature) in paths {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            let request = Request::new(method, path).key(&vault.keys.private);
            let answer = vault.send(&request).problem(501);
            assert_eq!(answer.member("type"), "urn:strongroom:absent-feature", "{method} {path}");
            assert_eq!(answer.member("feature"), feature, "{method} {path}");
            assert!(answer.member("detail").contains(&answer.member("instead")));
            assert_eq!(answer.member("chapter"), "/#chapter/coming-from-basis-theory");
        }
    }
    // A path that was never published is only not found.
    for path in ["/no-such-path", "/tokens/x/proxies", "/tenants/self/none", "/enrichments/none"] {
        let unknown = vault.get(path, &vault.keys.private).problem(404);
        assert!(unknown.json.get("feature").is_none(), "{path}");
    }
}

#[test]
fn permissions_of_absent_features_are_marked() {
    let vault = Vault::start();
    let all = vault.get("/permissions", &vault.keys.management).with_status(200).json;
    let feature = |wanted: &str| {
        let mut all = all.as_array().unwrap().iter();
        all.find(|it| it["type"] == wanted).unwrap()["absent_feature"].clone()
    };
    assert_eq!(feature("reactor:invoke"), Value::Null);
    assert_eq!(feature("tenant:invitation:create"), "Members and invitations");
    assert_eq!(feature("token:create"), Value::Null);
    assert_eq!(feature("proxy:invoke"), Value::Null);
}

/// Creates a token of this type with this privacy and reads it: its containers and its privacy.
#[track_caller]
fn check_privacy(vault: &Vault, more: &Value, containers: &Value, privacy: Option<&Value>) {
    let mut body = json!({"type": "token", "data": "x"});
    let members = body.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    let made = vault.create(body).with_status(201);
    let read = vault.read(&made.id()).with_status(200);
    for answer in [made, read] {
        assert_eq!(&answer.json["containers"], containers);
        assert_eq!(answer.json.get("privacy"), privacy);
    }
}

#[test]
fn privacy_places_a_token_without_containers_and_answers_derive_it() {
    let vault = Vault::start();
    let policy = |classification: &str, impact_level: &str, policy: &str| {
        Some(json!({
            "classification": classification, "impact_level": impact_level,
            "restriction_policy": policy,
        }))
    };
    let given =
        json!({"classification": "PII", "impact_level": "moderate", "restriction_policy": "mask"});
    let placed = policy("pii", "moderate", "redact");
    check_privacy(&vault, &json!({"privacy": given}), &json!(["/pii/moderate/"]), placed.as_ref());
    // A missing part is that of the type.
    let card = json!({
        "type": "card", "data": {"number": "4242424242424242"}, "privacy": {"impact_level": "low"},
    });
    let placed = policy("pci", "low", "mask");
    check_privacy(&vault, &card, &json!(["/pci/low/"]), placed.as_ref());
    let empty = json!({"privacy": {}, "containers": []});
    let placed = policy("general", "high", "redact");
    check_privacy(&vault, &empty, &json!(["/general/high/"]), placed.as_ref());
    // Containers win, and one of another form has no privacy.
    let both = json!({"privacy": "anything", "containers": ["/shop/a/"]});
    check_privacy(&vault, &both, &json!(["/shop/a/"]), None);
    let several = json!({"containers": ["/shop/a/", "/pci/high/"]});
    let first = policy("pci", "high", "redact");
    check_privacy(&vault, &several, &json!(["/pci/high/", "/shop/a/"]), first.as_ref());

    let wrong = json!({
        "type": "token", "data": "x", "privacy": {"classification": "x", "impact_level": 1},
    });
    let paths = ["privacy.classification", "privacy.impact_level"];
    vault.create(wrong).invalid(&paths);
    let wrong = json!({"type": "token", "data": "x", "privacy": "high"});
    vault.create(wrong).invalid(&["privacy"]);
}

#[test]
fn access_is_checked_in_the_container_that_privacy_names() {
    let vault = Vault::start();
    let rule = only_rule("/pii/moderate/", "reveal", &["token:create", "token:read"]);
    let key = vault.key_with("private", &[], &rule);
    let create = |impact: &str| {
        let privacy = json!({"classification": "pii", "impact_level": impact});
        vault.post("/tokens", &key, json!({"type": "token", "data": "x", "privacy": privacy}))
    };
    let made = create("moderate").with_status(201);
    vault.get(&format!("/tokens/{}", made.id()), &key).with_status(200);
    create("high").problem(403);
    vault.post("/tokens", &key, json!({"type": "token", "data": "x"})).problem(403);
    // Both forms of a body are the same: a part of a `tokenize` call is placed and checked, too.
    let part = |impact: &str| {
        json!({"a": {"type": "token", "data": "x",
            "privacy": {"classification": "pii", "impact_level": impact}}})
    };
    vault.post("/tokenize", &key, part("moderate")).with_status(200);
    vault.post("/tokenize", &key, part("high")).problem(403);
}
