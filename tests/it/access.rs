//! Access: every route of the interface with every kind of wrong key.

use serde_json::{Value, json};
use strongroom::domain::application::ApplicationKind;
use strongroom::domain::permission::Permission;
use strongroom::http::route::{ROUTES, Route};

use crate::harness::{Answer, Request, Vault};
use crate::threeds;

/// A call of a route that succeeds.
struct Example {
    method: &'static str,
    path: &'static str,
    body: Option<Value>,
    /// The status for a key with the permission.
    status: u16,
    /// The kind of thing that the path names.
    names: Names,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    Nothing,
    Resource,
}

/// One entry a route: a route that is missing here fails the tests below.
fn examples() -> Vec<Example> {
    use Names::{Nothing, Resource};
    let token = json!({"type": "token", "data": "x"});
    let card = json!({"type": "card", "data": {"number": "4242424242424242"}});
    let application = json!({"name": "n", "type": "private", "permissions": ["token:create"]});
    let update = json!({"name": "n", "permissions": ["token:create"]});
    let tenant = json!({"name": "n"});
    // A predefined id, since the body cannot know an assigned one.
    let session = json!({"token_id": "card-of-access", "device": "browser"});
    let device = json!({"device_info": {"browser_language": "en"}});
    let entries = [
        ("POST", "/3ds/sessions", Some(session), 201, Nothing),
        ("GET", "/3ds/sessions/{id}", None, 200, Resource),
        ("PUT", "/3ds/sessions/{id}", Some(device), 200, Resource),
        ("POST", "/3ds/sessions/{id}/authenticate", Some(threeds::body()), 200, Resource),
        ("GET", "/3ds/sessions/{id}/challenge-result", None, 200, Resource),
        ("POST", "/tokens", Some(token), 201, Nothing),
        ("GET", "/tokens", None, 200, Nothing),
        ("GET", "/v2/tokens", None, 200, Nothing),
        ("POST", "/tokens/search", Some(json!({})), 200, Nothing),
        ("POST", "/v2/tokens/search", Some(json!({})), 200, Nothing),
        ("GET", "/tokens/{id}", None, 200, Resource),
        ("PATCH", "/tokens/{id}", Some(json!({})), 200, Resource),
        ("DELETE", "/tokens/{id}", None, 204, Resource),
        ("POST", "/tokenize", Some(json!({"a": "x"})), 200, Nothing),
        ("POST", "/detokenize", Some(json!({"a": "x"})), 200, Nothing),
        ("POST", "/token-intents", Some(card), 201, Nothing),
        ("GET", "/token-intents/{id}", None, 200, Resource),
        ("DELETE", "/token-intents/{id}", None, 204, Resource),
        // The catalog is the same for every tenant.
        ("GET", "/orchestration/connection_formulas", None, 200, Nothing),
        ("POST", "/orchestration/connection_formulas", None, 200, Nothing),
        ("GET", "/orchestration/connection_formulas/{id}", None, 200, Nothing),
        ("POST", "/orchestration/connection_formulas/{id}", None, 200, Nothing),
        ("GET", "/orchestration/connection/formulas", None, 200, Nothing),
        ("POST", "/orchestration/connection/formulas", None, 200, Nothing),
        ("GET", "/orchestration/connection/formulas/{id}", None, 200, Nothing),
        ("POST", "/orchestration/connection/formulas/{id}", None, 200, Nothing),
        ("POST", "/applications", Some(application), 201, Nothing),
        ("GET", "/applications", None, 200, Nothing),
        ("GET", "/applications/key", None, 200, Nothing),
        ("GET", "/applications/{id}", None, 200, Resource),
        ("PUT", "/applications/{id}", Some(update), 200, Resource),
        ("DELETE", "/applications/{id}", None, 204, Resource),
        // Shut down for every caller and every application.
        ("POST", "/applications/{id}/regenerate", None, 410, Nothing),
        ("POST", "/applications/{id}/keys", None, 201, Resource),
        ("GET", "/applications/{id}/keys", None, 200, Resource),
        ("GET", "/applications/{id}/keys/{key}", None, 200, Resource),
        ("DELETE", "/applications/{id}/keys/{key}", None, 204, Resource),
        ("GET", "/permissions", None, 200, Nothing),
        ("GET", "/application-templates", None, 200, Nothing),
        // The same for every tenant.
        ("GET", "/application-templates/{id}", None, 200, Nothing),
        ("GET", "/logs", None, 200, Nothing),
        ("GET", "/logs/entity-types", None, 200, Nothing),
        ("GET", "/tenants/self", None, 200, Nothing),
        ("PUT", "/tenants/self", Some(tenant), 200, Nothing),
    ];
    let entry = |(method, path, body, status, names)| Example { method, path, body, status, names };
    entries.into_iter().map(entry).collect()
}

#[test]
fn every_route_has_an_example_and_every_example_a_route() {
    let examples = examples();
    let known: Vec<_> = examples.iter().map(|it| (it.method, it.path)).collect();
    let routes: Vec<_> = ROUTES.iter().map(|it| (it.method.as_str(), it.path)).collect();
    for route in &routes {
        assert!(known.contains(route), "{route:?} needs an example in this file");
    }
    for example in &known {
        assert!(routes.contains(example), "{example:?} is no route any more");
    }
}

#[test]
fn no_route_answers_without_a_valid_key() {
    let vault = Vault::start();
    let gone = gone_key(&vault);
    let unknown = "key_test_self_pvt_4WbQfP5hKXe9Bb2xM3Wn7a.00112233445566778899aabbccddeeff";
    let long = "k".repeat(101);
    let mut cut = vault.keys.private.clone();
    cut.pop();
    let swapped = vault.keys.private.to_uppercase();
    for route in ROUTES {
        let call = |key: &str| vault.send(&request(route, &path(&vault, route)).key(key));
        let none = call("").problem(401);
        let wrong = ["x", "two words of a key here", &long, unknown, &gone, &cut, &swapped];
        for key in wrong {
            let refused = call(key).problem(401);
            assert_eq!(refused.without_trace(), none.without_trace(), "{} {key}", name(route));
        }
    }
}

#[test]
fn no_route_answers_a_key_that_lacks_its_permission() {
    let vault = Vault::start();
    for route in ROUTES {
        if route.permissions.is_empty() {
            continue;
        }
        for kind in [ApplicationKind::Private, ApplicationKind::Public, ApplicationKind::Management]
        {
            let others = Permission::ALL.iter().filter(|it| !route.permissions.contains(it));
            let others = others.filter(|it| it.may_be_held_by(kind)).map(|it| it.as_str());
            let key = vault.key_with(kind.as_str(), &others.collect::<Vec<_>>(), &json!([]));
            let path = path(&vault, route);
            let refused = vault.send(&request(route, &path).key(&key));
            assert_eq!(refused.status, 403, "{} {}", name(route), kind.as_str());
            refused.problem(403);
        }
    }
}

#[test]
fn every_route_answers_a_key_with_its_permission_alone() {
    let vault = Vault::start();
    for route in ROUTES {
        let example = example(route);
        for kind in [ApplicationKind::Private, ApplicationKind::Public, ApplicationKind::Management]
        {
            let any: &[_] = match kind {
                ApplicationKind::Management => &[Permission::TenantRead],
                ApplicationKind::Private | ApplicationKind::Public => &[Permission::TokenCreate],
            };
            let needed = if route.permissions.is_empty() { any } else { route.permissions };
            for permission in needed.iter().filter(|it| it.may_be_held_by(kind)) {
                let key = vault.key_with(kind.as_str(), &[permission.as_str()], &json!([]));
                let path = path(&vault, route);
                let answer = vault.send(&request(route, &path).key(&key));
                assert_eq!(answer.status, example.status, "{}: {}", name(route), answer.text());
            }
        }
    }
}

#[test]
fn a_resource_of_another_tenant_cannot_be_told_from_one_that_is_not_there() {
    let vault = Vault::start();
    let other = vault.tenant("test");
    for route in ROUTES.iter().filter(|route| example(route).names == Names::Resource) {
        let key = match route.permissions.first() {
            Some(it) if it.may_be_held_by(ApplicationKind::Management) => &other.keys.management,
            _ => &other.keys.private,
        };
        let theirs = path(&vault, route);
        let missing = route
            .path
            .replace("{id}", "0190a1b2-c3d4-4e5f-8a6b-7c8d9e0f1a2b")
            .replace("{key}", "0190a1b2-c3d4-4e5f-8a6b-7c8d9e0f1a2c");
        let strange = route.path.replace("{id}", "no-such-id").replace("{key}", "nor-this");
        let [theirs, missing, strange] = [&theirs, &missing, &strange]
            .map(|path| vault.send(&request(route, path).key(key)).problem(404));
        assert_eq!(theirs.without_trace(), missing.without_trace(), "{}", name(route));
        assert_eq!(theirs.without_trace(), strange.without_trace(), "{}", name(route));
        assert_eq!(header_names(&theirs), header_names(&missing), "{}", name(route));
    }
}

#[test]
fn a_key_of_one_application_does_not_open_under_another() {
    let vault = Vault::start();
    let made = [(); 2].map(|()| vault.application("private", &["token:create"], &json!([])));
    let [(one, key), (other, _)] =
        made.map(|it| (it.id(), String::from(it.json["keys"][0]["id"].as_str().unwrap())));
    let management = &vault.keys.management;
    vault.get(&format!("/applications/{one}/keys/{key}"), management).with_status(200);
    let path = format!("/applications/{other}/keys/{key}");
    vault.get(&path, management).problem(404);
    vault.delete(&path, management).problem(404);
    vault.get(&format!("/applications/{one}/keys/{key}"), management).with_status(200);
}

#[test]
fn a_refusal_comes_before_anything_is_said_about_the_body() {
    let vault = Vault::start();
    let broken = |key: &str| {
        let request = Request::new("POST", "/tokens").header("Content-Type", "application/json");
        vault.send(&request.key(key).body("{not json"))
    };
    broken("").problem(401);
    broken(&vault.keys.management).problem(403);
    broken(&vault.keys.private).problem(400);
    let rule = json!([{
        "priority": 1, "container": "/here/", "transform": "mask", "permissions": ["token:create"],
    }]);
    let key = vault.key_with("private", &[], &rule);
    let create = |container: &str| {
        vault.post("/tokens", &key, json!({"type": "card", "data": 1, "containers": [container]}))
    };
    create("/there/").problem(403);
    create("/here/").invalid(&["data"]);
}

#[test]
fn a_deleted_key_and_the_keys_of_a_deleted_application_are_refused_at_once() {
    let vault = Vault::start();
    let management = &vault.keys.management;
    for whole in [false, true] {
        let made = vault.application("private", &["token:create"], &json!([]));
        let (id, text) = (made.id(), made.member("key"));
        vault.get("/applications/key", &text).with_status(200);
        let key = made.json["keys"][0]["id"].as_str().unwrap();
        let path = format!("/applications/{id}{}", if whole { "" } else { "/keys/" });
        let path = if whole { path } else { format!("{path}{key}") };
        vault.delete(&path, management).with_status(204);
        vault.get("/applications/key", &text).problem(401);
        vault.post("/tokens", &text, json!({"type": "token", "data": 1})).problem(401);
    }
}

#[test]
fn a_public_key_stores_values_and_does_nothing_else() {
    let vault = Vault::start();
    let key = &vault.keys.public;
    let body = json!({"type": "card_number", "data": "4242424242424242"});
    let made = vault.post("/tokens", key, body).with_status(201);
    assert_eq!(made.json["data"], "XXXXXXXXXXXX4242");
    let path = format!("/tokens/{}", made.id());
    vault.get(&path, key).problem(403);
    vault.delete(&path, key).problem(403);
    vault.get("/tenants/self", key).problem(403);
    for permission in ["token:read", "token:delete", "token:search", "token:use"] {
        let body = json!({"name": "n", "type": "public", "permissions": [permission]});
        let made = vault.post("/applications", &vault.keys.management, body);
        made.invalid(&["permissions[0]"]);
    }
}

#[test]
fn a_management_key_cannot_be_given_anything_on_token_data() {
    let vault = Vault::start();
    let key = &vault.keys.management;
    for permission in Permission::ALL.iter().filter(|it| it.concerns_tokens()) {
        let body = json!({"name": "n", "type": "management", "permissions": [permission.as_str()]});
        vault.post("/applications", key, body).invalid(&["permissions[0]"]);
        let rule = json!([{
            "priority": 1, "container": "/", "transform": "reveal",
            "permissions": [permission.as_str()],
        }]);
        let body = json!({"name": "n", "type": "management", "rules": rule});
        vault.post("/applications", key, body).problem(400);
    }
    let id = vault.token(json!({"type": "token", "data": "x"}));
    vault.get(&format!("/tokens/{id}"), key).problem(403);
    vault.delete(&format!("/tokens/{id}"), key).problem(403);
}

fn example(route: &Route) -> Example {
    let found = examples()
        .into_iter()
        .find(|it| it.method == route.method.as_str() && it.path == route.path);
    found.unwrap_or_else(|| panic!("{} needs an example in this file", name(route)))
}

fn name(route: &Route) -> String {
    format!("{} {}", route.method, route.path)
}

fn header_names(answer: &Answer) -> Vec<&str> {
    answer.headers.iter().map(|(name, _)| name.as_str()).collect()
}

/// The route's path with things of the vault's first tenant, made for this call.
fn path(vault: &Vault, route: &Route) -> String {
    if route.path.starts_with("/tokens/{id}") {
        return route.path.replace("{id}", &vault.token(json!({"type": "token", "data": "x"})));
    }
    if route.path.starts_with("/token-intents/{id}") {
        let card = json!({"type": "card", "data": {"number": "4242424242424242"}});
        let made = vault.post("/token-intents", &vault.keys.private, card).with_status(201);
        return route.path.replace("{id}", &made.id());
    }
    if route.path.starts_with("/3ds/sessions") {
        let card =
            json!({"type": "card_number", "data": "4242424242424242", "id": "card-of-access"});
        // It is there already from the second route on.
        let made = vault.post("/tokens", &vault.keys.private, card).status;
        assert!([201, 409].contains(&made));
        let session = json!({"token_id": "card-of-access", "device": "browser"});
        let made = vault.post("/3ds/sessions", &vault.keys.private, session).with_status(201);
        if route.path.ends_with("challenge-result") {
            let path = format!("/3ds/sessions/{}/authenticate", made.id());
            vault.post(&path, &vault.keys.private, threeds::body()).with_status(200);
        }
        return route.path.replace("{id}", &made.id());
    }
    if route.path.starts_with("/orchestration/") {
        return route.path.replace("{id}", "stripe-card");
    }
    if route.path.starts_with("/applications/{id}") {
        let made = vault.application("private", &["token:create"], &json!([]));
        let key = made.json["keys"][0]["id"].as_str().unwrap();
        return route.path.replace("{id}", &made.id()).replace("{key}", key);
    }
    if route.path == "/application-templates/{id}" {
        let all = vault.get("/application-templates", &vault.keys.private);
        return route.path.replace("{id}", all.json[0]["id"].as_str().unwrap());
    }
    assert!(!route.path.contains('{'), "{} needs a resource in this file", name(route));
    String::from(route.path)
}

fn request(route: &Route, path: &str) -> Request {
    let request = Request::new(route.method.as_str(), path);
    match example(route).body {
        Some(body) if route.method == "PATCH" => {
            request.header("Content-Type", "application/merge-patch+json").body(body.to_string())
        }
        Some(body) => request.json(body),
        None => request,
    }
}

fn gone_key(vault: &Vault) -> String {
    let made = vault.application("private", &["token:create"], &json!([]));
    vault.delete(&format!("/applications/{}", made.id()), &vault.keys.management).with_status(204);
    made.member("key")
}
