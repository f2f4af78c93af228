//! A request for each row of the routing table, for the tests of authorization.

use serde_json::{Value, json};
use strongroom::testing::{ROUTES, Route};

use crate::threeds;

/// A request that a route answers.
pub struct Example {
    pub listener: Listener,
    pub method: &'static str,
    pub path: &'static str,
    pub body: Option<Value>,
    /// The status for a caller whom the route answers.
    pub status: u16,
    pub names: Names,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listener {
    Api,
    Operator,
    Results,
}

/// The thing that the path names: nothing, or a resource that belongs to one tenant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Names {
    Nothing,
    Resource,
}

/// One entry a route: a route that is missing here fails the tests below.
pub fn examples() -> Vec<Example> {
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
        // The example has no query.
        ("GET", "/fields/v1/access", None, 400, Nothing),
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
        ("DELETE", "/tenants/self", None, 204, Nothing),
    ];
    let further = examples_of_keys_and_sessions().into_iter().chain(small_reads());
    let further = further.chain(proxy_examples()).chain(webhook_examples());
    let further = further.chain(console_examples());
    let keyed = entries.into_iter().chain(further).map(|entry| (Listener::Api, entry));
    let all = keyed.chain(examples_without_key());
    let example = |(listener, (method, path, body, status, names))| Example {
        listener,
        method,
        path,
        body,
        status,
        names,
    };
    all.map(example).collect()
}

type Entry = (&'static str, &'static str, Option<Value>, u16, Names);

/// Client encryption keys, and sessions of public applications.
fn examples_of_keys_and_sessions() -> [Entry; 6] {
    use Names::{Nothing, Resource};
    [
        ("POST", "/keys", Some(json!({})), 201, Nothing),
        ("GET", "/keys", None, 200, Nothing),
        ("GET", "/keys/{id}", None, 200, Resource),
        ("DELETE", "/keys/{id}", None, 204, Resource),
        ("POST", "/sessions", None, 201, Nothing),
        // `request` adds the nonce of a new session.
        (
            "POST",
            "/sessions/authorize",
            Some(json!({"permissions": ["token:create"]})),
            200,
            Nothing,
        ),
    ]
}

/// The console's own operations.
fn console_examples() -> [Entry; 7] {
    use Names::Nothing;
    [
        ("GET", "/console/data/activity", None, 200, Nothing),
        ("GET", "/console/data/keys", None, 200, Nothing),
        ("GET", "/console/data/limits", None, 200, Nothing),
        ("GET", "/console/data/proxies", None, 200, Nothing),
        ("POST", "/console/data/rules-preview", Some(json!({})), 200, Nothing),
        ("GET", "/console/data/3ds-sessions", None, 200, Nothing),
        ("GET", "/console/data/webhooks", None, 200, Nothing),
    ]
}

fn webhook_examples() -> [Entry; 6] {
    use Names::{Nothing, Resource};
    let webhook = json!({"name": "n", "url": "https://a.example", "events": ["token.read"]});
    [
        ("POST", "/webhooks", Some(webhook.clone()), 201, Nothing),
        ("GET", "/webhooks", None, 200, Nothing),
        ("GET", "/webhooks/event-types", None, 200, Nothing),
        ("GET", "/webhooks/{id}", None, 200, Resource),
        ("PUT", "/webhooks/{id}", Some(webhook), 200, Resource),
        ("DELETE", "/webhooks/{id}", None, 204, Resource),
    ]
}

fn small_reads() -> [Entry; 6] {
    // A token that is not there is a mistake of the body.
    let account = json!({"token_id": "no-such-token"});
    [
        ("GET", "/tenants/self/reports/usage", None, 200, Names::Nothing),
        ("GET", "/tenants/self/members", None, 200, Names::Nothing),
        ("GET", "/tenants/self/invitations", None, 200, Names::Nothing),
        ("GET", "/roles", None, 200, Names::Nothing),
        // The example has no query.
        ("GET", "/enrichments/card-details", None, 400, Names::Nothing),
        ("POST", "/enrichments/bank-account-verify", Some(account), 400, Names::Nothing),
    ]
}

fn proxy_examples() -> [Entry; 12] {
    use Names::{Nothing, Resource};
    let proxy = json!({"name": "n", "destination_url": "https://psp.example"});
    [
        ("POST", "/proxies", Some(proxy.clone()), 201, Nothing),
        ("GET", "/proxies", None, 200, Nothing),
        ("GET", "/proxies/{id}", None, 200, Resource),
        ("PUT", "/proxies/{id}", Some(proxy), 200, Resource),
        ("PATCH", "/proxies/{id}", Some(json!({})), 204, Resource),
        ("DELETE", "/proxies/{id}", None, 204, Resource),
        // Not offered, for every caller; a proxy that is not there comes first.
        ("PUT", "/proxies/{id}/hostname", Some(json!({})), 422, Resource),
        // Without a destination.
        ("GET", "/proxy", None, 400, Nothing),
        ("POST", "/proxy", None, 400, Nothing),
        ("PUT", "/proxy", None, 400, Nothing),
        ("PATCH", "/proxy", None, 400, Nothing),
        ("DELETE", "/proxy", None, 400, Nothing),
    ]
}

/// The routes for anyone, whose forms are in `request`, and those of the other listeners.
fn examples_without_key() -> impl Iterator<Item = (Listener, Entry)> {
    let entry = |method, path, status| (method, path, None, status, Names::Nothing);
    let anyone = [
        entry("GET", "/pages/method.html", 200),
        entry("GET", "/pages/challenge.html", 200),
        entry("POST", "/3ds/sessions/{id}/method-notification", 200),
        entry("POST", "/3ds/sessions/{id}/challenge-notification", 200),
        entry("POST", "/3ds/sim/acs/method", 400),
        entry("POST", "/3ds/sim/acs/challenge", 400),
        entry("GET", "/healthz", 200),
        entry("HEAD", "/healthz", 200),
        entry("GET", "/readyz", 200),
        entry("HEAD", "/readyz", 200),
        entry("GET", "/ping", 200),
        entry("HEAD", "/ping", 200),
        // Before there is a webhook there is no key.
        entry("GET", "/keys/webhooks.v1.key", 404),
        entry("HEAD", "/keys/webhooks.v1.key", 404),
        entry("GET", "/keys/webhooks.v1-test.key", 404),
        entry("HEAD", "/keys/webhooks.v1-test.key", 404),
        entry("OPTIONS", "*", 204),
    ];
    let files = ROUTES.iter().filter(|route| !route.files().is_empty());
    let files =
        files.flat_map(move |route| ["GET", "HEAD"].map(|method| entry(method, route.path, 200)));
    let operator = ["/healthz", "/readyz", "/metrics", "/status"]
        .map(|path| ["GET", "HEAD"].map(|method| (Listener::Operator, entry(method, path, 200))));
    let results = (Listener::Results, entry("POST", "/3ds/results", 200));
    let anyone = anyone.into_iter().chain(files).map(|entry| (Listener::Api, entry));
    anyone.chain(operator.into_iter().flatten()).chain([results])
}

/// The paths of all files of the pages for people.
pub fn files() -> Vec<String> {
    ROUTES.iter().flat_map(Route::files).collect()
}
