//! A request for each row of the routing table, for the tests of authorization: the example of the API
//! document, or the one that stands here because it needs things of the vault under test.

use std::sync::LazyLock;

use serde_json::{Value, json};
use strongroom::testing::{Access, ROUTES, Route};

use crate::threeds;

/// A request that a route answers.
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

/// The first example of the body.
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
        // A predefined id, since the body cannot know an assigned one.
        ("POST", "/3ds/sessions") => json!({"token_id": "card-of-access", "device": "browser"}),
        ("POST", "/3ds/sessions/{id}/authenticate") => threeds::body(),
        // `request` adds the nonce of a new session.
        ("POST", "/sessions/authorize") => json!({"permissions": ["token:create"]}),
        ("PATCH", "/tokens/{id}") => json!({}),
        ("POST", "/detokenize") => json!({"a": "x"}),
        // Further settings would change the answers of other routes.
        ("PUT", "/tenants/self") => json!({"name": "n"}),
        _ => return None,
    })
}

fn own_status(path: &str) -> Option<u16> {
    match path {
        // Shut down for every caller and every application.
        "/applications/{id}/regenerate" => Some(410),
        // Not offered, for every caller; a proxy that is not there comes first.
        "/proxies/{id}/hostname" => Some(422),
        // Without a destination, without a query, and with a token that is not there.
        "/proxy"
        | "/fields/v1/access"
        | "/enrichments/card-details"
        | "/enrichments/bank-account-verify" => Some(400),
        _ => None,
    }
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
    let of_none = ["/application-templates/", "/orchestration/", "/applications/{id}/regenerate"];
    path.contains('{') && !of_none.iter().any(|start| path.starts_with(start))
}

/// The paths of all files of the pages for people.
pub fn files() -> Vec<String> {
    ROUTES.iter().flat_map(Route::files).collect()
}
