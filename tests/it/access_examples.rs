//! A request for each row of the routing table, from the examples of the API document. The few things
//! that no document can know stand here.

use std::sync::LazyLock;

use serde_json::{Value, json};
use strongroom::testing::{Access, ApplicationKind, Permission, ROUTES, Route};

use crate::harness::{Request, Vault, post};
use crate::threeds;

pub struct Example {
    pub body: Option<Value>,
    /// The status for a caller whom the route answers.
    pub status: u16,
    pub names: Names,
}

/// The thing that the path names: nothing, or a resource that belongs to one tenant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Names {
    Nothing,
    Resource,
}

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let text = include_str!("../fixtures/openapi.json");
    serde_json::from_str(text).unwrap()
});

pub fn example(method: &str, route: &Route) -> Example {
    if !matches!(route.access(), Access::Key(_)) {
        let status = status_for_anyone(method, route);
        return Example { body: None, status, names: Names::Nothing };
    }
    let documented = &DOCUMENT["paths"][route.path][method.to_lowercase()];
    Example {
        body: own_body(method, route.path)
            .or_else(|| documented_body(documented))
            // A destination decides what a proxy takes.
            .filter(|_| route.path != "/proxy"),
        status: own_status(route.path).unwrap_or_else(|| documented_status(documented)),
        names: if names_resource(route.path) { Names::Resource } else { Names::Nothing },
    }
}

fn documented_body(operation: &Value) -> Option<Value> {
    let content = operation["requestBody"]["content"].as_object()?.values().next()?;
    Some(content["examples"].as_object()?.values().next()?["value"].clone())
}

/// Successes stand before failures.
fn documented_status(operation: &Value) -> u16 {
    let (status, _) = operation["responses"].as_object().unwrap().iter().next().unwrap();
    status.parse().unwrap()
}

fn own_body(method: &str, path: &str) -> Option<Value> {
    Some(match (method, path) {
        // The example gives rights that few keys have.
        ("POST", "/sessions/authorize") => json!({"nonce": "", "permissions": ["token:create"]}),
        // Further settings would change the answers of other routes.
        ("PUT", "/tenants/self") => json!({"name": "n"}),
        _ => return None,
    })
}

fn own_status(path: &str) -> Option<u16> {
    match path {
        // Without a destination and without a query.
        "/proxy" | "/fields/v1/access" | "/enrichments/card-details" => Some(400),
        _ => no_success(path),
    }
}

/// The status of an operation that no request succeeds in.
pub fn no_success(path: &str) -> Option<u16> {
    match path {
        // Shut down for every caller and every application.
        "/applications/{id}/regenerate" | "/reactor-formulas" | "/reactor-formulas/{id}" => {
            Some(410)
        }
        // The example names no call that was made.
        "/reactors/{id}/results/{request}" => Some(404),
        _ => None,
    }
}

/// The id of the token in the document's examples.
pub const TOKEN: &str = "01a1dd38-4eda-4df5-855c-ecae962e987a";

/// The body of an example, with real resources in the place of those that the document shows.
pub fn adapted(vault: &Vault, path: &str, body: &Value) -> Value {
    let mut text = body.to_string();
    if text.contains(TOKEN) {
        let account = json!({"routing_number": "021000021", "account_number": "00001"});
        let token = if path == "/enrichments/bank-account-verify" {
            json!({"type": "bank", "data": account})
        } else {
            documented_body(&DOCUMENT["paths"]["/tokens"]["post"]).unwrap()
        };
        text = text.replace(TOKEN, &vault.token(token));
    }
    let mut body: Value = serde_json::from_str(&text).unwrap();
    if path == "/sessions/authorize" {
        let new = vault.send(&post("/sessions").key(&vault.keys.public)).with_status(201);
        body["nonce"] = json!(new.member("nonce"));
    }
    body
}

/// A key of the first tenant that holds one of these permissions.
pub fn key<'a>(vault: &'a Vault, permissions: &[Permission]) -> &'a str {
    match permissions.first() {
        Some(it) if it.may_be_held_by(ApplicationKind::Management) => &vault.keys.management,
        _ => &vault.keys.private,
    }
}

/// The route's path with resources of the vault's first tenant, made for the caller.
pub fn path(vault: &Vault, route: &Route) -> String {
    if let Some(file) = route.files().first() {
        return file.clone();
    }
    let mut path = String::new();
    let mut rest = route.path;
    while let Some((before, behind)) = rest.split_once('{') {
        path.push_str(before);
        let (listed, _) = route.path.split_at(route.path.len() - rest.len() + before.len() - 1);
        let id = resource(vault, listed, path.trim_end_matches('/'));
        path.push_str(&id);
        rest = behind.split_once('}').unwrap().1;
    }
    path.push_str(rest);
    if path.ends_with("/challenge-result") {
        let authenticate = path.replace("challenge-result", "authenticate");
        vault.post(&authenticate, &vault.keys.private, threeds::body()).with_status(200);
    }
    path.replace('*', "/any/path")
}

/// The id of a resource below a path: a new one by the example of its creation, or the first of a list
/// that nobody adds to.
fn resource(vault: &Vault, pattern: &str, path: &str) -> String {
    // No call of a program has this id, and formulas have none.
    if pattern == "/reactors/{id}/results" || pattern == "/reactor-formulas" {
        return String::from("01a1dd3d-8b72-4e21-9c4d-5e6f7a8b9c0d");
    }
    let creates = &DOCUMENT["paths"][pattern]["post"];
    let row = ROUTES.iter().find(|row| row.path == pattern).unwrap();
    let Access::Key(permissions) = row.access() else { panic!("{pattern} needs no key") };
    let key = key(vault, permissions);
    let list = || vault.get(path, key).with_status(200).json;
    let of_list = |list: &Value| Some(String::from(list["id"].as_str()?));
    let known = match pattern {
        // A tenant has at most five.
        "/webhooks" => of_list(&list()["data"][0]),
        _ if creates["responses"].get("201").is_none() => Some(of_list(&list()[0]).unwrap()),
        _ => None,
    };
    known.unwrap_or_else(|| {
        let request = Request::new("POST", path).key(key);
        let request = match documented_body(creates) {
            Some(body) => request.json(adapted(vault, pattern, &body)),
            None => request,
        };
        vault.send(&request).with_status(201).id()
    })
}

/// The routes for anyone, whose forms are in `request`, and those of the other listeners.
fn status_for_anyone(method: &str, route: &Route) -> u16 {
    match (method, route.path) {
        ("OPTIONS", _) => 204,
        (_, "/3ds/sim/acs/method" | "/3ds/sim/acs/challenge") => 400,
        // Before there is a webhook there is no key.
        (_, "/keys/webhooks.v1.key" | "/keys/webhooks.v1-test.key") => 404,
        _ => 200,
    }
}

/// The catalogs are the same for every tenant, and keys are regenerated for none.
fn names_resource(path: &str) -> bool {
    let of_none = [
        "/application-templates/",
        "/orchestration/",
        "/applications/{id}/regenerate",
        "/reactor-formulas/",
    ];
    path.contains('{') && !of_none.iter().any(|start| path.starts_with(start))
}

pub fn files() -> Vec<String> {
    ROUTES.iter().flat_map(Route::files).collect()
}
