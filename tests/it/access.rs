//! Authorization: every row of the routing table with every kind of caller, on every listener.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;

use serde_json::json;
use strongroom::testing::ApplicationKind;
use strongroom::testing::Permission;
use strongroom::testing::base64;
use strongroom::testing::{Access, ROUTES, Route};

use crate::access_examples::{self, Example, Names, adapted, example};
use crate::directory_servers::{Scene, challenge, with_ranges};
use crate::harness::{
    Answer, Authority, Connection, Directory, Request, Vault, get, only_rule, trusting,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Listener {
    Api,
    Operator,
    Results,
}

/// A row with one of its methods.
#[derive(Clone, Copy)]
struct Call {
    route: &'static Route,
    method: &'static str,
}

impl Call {
    const fn listener(self) -> Listener {
        match self.route.access() {
            Access::Anyone | Access::Key(_) => Listener::Api,
            Access::MutualTls => Listener::Results,
            Access::OperatorListener => Listener::Operator,
        }
    }

    fn example(self) -> Example {
        example(self.method, self.route)
    }

    fn name(self) -> String {
        format!("{} {} ({:?})", self.method, self.route.path, self.listener())
    }

    /// Checks the shape of a refusal, which is another on the path of proxies.
    #[track_caller]
    fn refusal(self, answer: Answer, status: u16) -> Answer {
        if self.route.path == "/proxy" {
            answer.proxy_error(status)
        } else {
            answer.problem(status)
        }
    }

    /// True if the table has a row with this path for the listener, whatever its method.
    fn is_on(self, listener: Listener) -> bool {
        calls().any(|call| call.listener() == listener && call.route.path == self.route.path)
    }
}

/// The kind of application whose keys alone a route answers, whatever their permissions.
fn only_kind(call: Call) -> Option<ApplicationKind> {
    match call.route.path {
        "/sessions" => Some(ApplicationKind::Public),
        "/sessions/authorize" => Some(ApplicationKind::Private),
        _ => None,
    }
}

fn calls() -> impl Iterator<Item = Call> {
    ROUTES.iter().flat_map(|route| {
        route.methods.iter().map(move |method| Call { route, method: method.as_str() })
    })
}

/// The rows that need a key, with the permissions of which it must hold one.
fn keyed() -> impl Iterator<Item = (Call, &'static [Permission])> {
    calls().filter_map(|call| match call.route.access() {
        Access::Key(permissions) => Some((call, permissions)),
        Access::Anyone | Access::MutualTls | Access::OperatorListener => None,
    })
}

fn with_access(access: Access) -> Vec<Call> {
    let found: Vec<_> = calls().filter(|call| call.route.access() == access).collect();
    assert!(!found.is_empty(), "{access:?}");
    found
}

/// Keys of every kind that a caller may send, and none.
fn all_keys(vault: &Vault) -> Vec<String> {
    let other = vault.tenant("test");
    let keys = [&vault.keys.private, &vault.keys.public, &vault.keys.management];
    let keys = keys.into_iter().chain([&other.keys.private, &other.keys.management]).cloned();
    keys.chain([String::new(), String::from(UNKNOWN), gone_key(vault)]).collect()
}

const UNKNOWN: &str = "key_test_self_pvt_4WbQfP5hKXe9Bb2xM3Wn7a.00112233445566778899aabbccddeeff";

#[test]
fn no_route_answers_without_a_valid_key() {
    let vault = Vault::start();
    let gone = gone_key(&vault);
    let long = "k".repeat(101);
    let mut cut = vault.keys.private.clone();
    cut.pop();
    let swapped = vault.keys.private.to_uppercase();
    for (call, _) in keyed() {
        let send = |key: &str| vault.send(&request(&vault, call, &path(&vault, call)).key(key));
        let none = call.refusal(send(""), 401);
        let wrong = ["x", "two words of a key here", &long, UNKNOWN, &gone, &cut, &swapped];
        for key in wrong {
            let refused = call.refusal(send(key), 401);
            assert_eq!(refused.without_trace(), none.without_trace(), "{} {key}", call.name());
        }
    }
}

#[test]
fn no_route_answers_a_key_that_lacks_its_permission() {
    let vault = Vault::start();
    for (call, permissions) in keyed().filter(|(_, permissions)| !permissions.is_empty()) {
        for kind in [ApplicationKind::Private, ApplicationKind::Public, ApplicationKind::Management]
        {
            let others = Permission::ALL.iter().filter(|it| !permissions.contains(it));
            let others = others.filter(|it| it.may_be_held_by(kind)).map(|it| it.as_str());
            let key = vault.key_with(kind.as_str(), &others.collect::<Vec<_>>(), &json!([]));
            let path = path(&vault, call);
            let refused = vault.send(&request(&vault, call, &path).key(&key));
            assert_eq!(refused.status, 403, "{} {}", call.name(), kind.as_str());
            call.refusal(refused, 403);
        }
    }
}

#[test]
fn every_route_answers_a_key_with_its_permission_alone() {
    let vault = Vault::start();
    let mut all: Vec<_> = keyed().collect();
    // No key of the tenant works after this one.
    all.sort_by_key(|(call, _)| (call.method, call.route.path) == ("DELETE", "/tenants/self"));
    for (call, permissions) in all {
        let example = call.example();
        for kind in [ApplicationKind::Private, ApplicationKind::Public, ApplicationKind::Management]
        {
            let any: &[_] = match kind {
                ApplicationKind::Management => &[Permission::TenantRead],
                ApplicationKind::Private | ApplicationKind::Public => &[Permission::TokenCreate],
            };
            let needed = if permissions.is_empty() { any } else { permissions };
            // People of the sign-on open the console there, and no key does.
            let of_people = (call.method, call.route.path) == ("POST", "/console/data/sign-on");
            let of_kind = !of_people && only_kind(call).is_none_or(|only| only == kind);
            for permission in needed.iter().filter(|it| of_kind && it.may_be_held_by(kind)) {
                let key = vault.key_with(kind.as_str(), &[permission.as_str()], &json!([]));
                let path = path(&vault, call);
                let answer = vault.send(&request(&vault, call, &path).key(&key));
                assert_eq!(answer.status, example.status, "{}: {}", call.name(), answer.text());
            }
        }
    }
}

#[test]
fn a_resource_of_another_tenant_cannot_be_told_from_one_that_is_not_there() {
    let vault = Vault::start();
    let other = vault.tenant("test");
    let resources = keyed().filter(|(call, _)| call.example().names == Names::Resource);
    for (call, permissions) in resources {
        let key = match permissions.first() {
            Some(it) if it.may_be_held_by(ApplicationKind::Management) => &other.keys.management,
            _ => &other.keys.private,
        };
        let theirs = path(&vault, call);
        let pattern = call.route.path;
        let missing = pattern
            .replace("{id}", "0190a1b2-c3d4-4e5f-8a6b-7c8d9e0f1a2b")
            .replace("{key}", "0190a1b2-c3d4-4e5f-8a6b-7c8d9e0f1a2c");
        let strange = pattern.replace("{id}", "no-such-id").replace("{key}", "nor-this");
        let [theirs, missing, strange] = [&theirs, &missing, &strange]
            .map(|path| vault.send(&request(&vault, call, path).key(key)).problem(404));
        assert_eq!(theirs.without_trace(), missing.without_trace(), "{}", call.name());
        assert_eq!(theirs.without_trace(), strange.without_trace(), "{}", call.name());
        assert_eq!(header_names(&theirs), header_names(&missing), "{}", call.name());
    }
}

#[test]
fn a_route_for_anyone_answers_every_caller_alike() {
    let vault = Vault::start();
    let keys = all_keys(&vault);
    for call in with_access(Access::Anyone) {
        for key in &keys {
            let path = path(&vault, call);
            let status = if call.method == "HEAD" {
                head_status(&vault, &path, key)
            } else {
                let answer = vault.send(&request(&vault, call, &path).key(key));
                // Files of the program are the same for every caller, and have test cards in examples.
                let is_file = !call.route.files().is_empty();
                assert!(is_file || !answer.text().contains("424242"), "{}", call.name());
                answer.status
            };
            assert_eq!(status, call.example().status, "{} {key}", call.name());
        }
    }
    // Reasons are for the operator: a key of another kind gets the same text as no key.
    let ready = |key: &str| vault.send(&get("/readyz").key(key)).with_status(200).json;
    for key in [&vault.keys.private, &vault.keys.public, UNKNOWN] {
        assert_eq!(ready(key), ready(""));
    }
}

#[test]
fn a_route_of_the_operator_answers_on_the_socket_and_no_key_opens_it_elsewhere() {
    let vault = Vault::start();
    let keys = all_keys(&vault);
    for call in with_access(Access::OperatorListener) {
        let status = call.example().status;
        assert_eq!(on_socket(&vault, call.method, call.route.path), status, "{}", call.name());
        assert_eq!(on_socket(&vault, "POST", call.route.path), 405, "{}", call.name());
        if call.is_on(Listener::Api) || call.method == "HEAD" {
            continue;
        }
        for key in &keys {
            vault.send(&get(call.route.path).key(key)).problem(404);
        }
    }
}

#[test]
fn a_route_with_mutual_tls_answers_peers_with_a_certificate_of_a_scheme_alone() {
    let scene = Scene::start(with_ranges(challenge));
    let stranger = Authority::new("Somebody").issue();
    let results = scene.vault.results.unwrap();
    let nobody = trusting(&scene.vault.directory().join("visa-ca.pem"));
    let keys = [&scene.vault.keys.private, &scene.vault.keys.management];
    for call in with_access(Access::MutualTls) {
        let message = Request::new(call.method, call.route.path).body("{}");
        let send = |connection: std::io::Result<Connection>| {
            let mut connection = connection?;
            connection.send(&message.bytes("x"))?;
            connection.receive()
        };
        assert!(send(Connection::open(results, &nobody)).is_err(), "{}", call.name());
        let other = scene.visa.client(&stranger);
        assert!(send(Connection::open(results, &other)).is_err(), "{}", call.name());
        let scheme = scene.visa.client(&scene.visa.issue());
        let answer = send(Connection::open(results, &scheme)).unwrap();
        assert_eq!(answer.status, call.example().status, "{}", call.name());
        for key in keys {
            scene.vault.send(&message.clone().key(key)).problem(404);
        }
        assert_eq!(on_socket(&scene.vault, call.method, call.route.path), 404, "{}", call.name());
    }
}

#[test]
fn no_listener_answers_the_routes_of_another() {
    let scene = Scene::start(with_ranges(challenge));
    let results = scene.vault.results.unwrap();
    let config = scene.visa.client(&scene.visa.issue());
    for call in calls() {
        let path = call.route.path.replace("{id}", "x").replace("{key}", "y").replace('*', "/x");
        if !call.is_on(Listener::Operator) {
            assert_eq!(on_socket(&scene.vault, call.method, &path), 404, "{}", call.name());
        }
        if !call.is_on(Listener::Results) && call.method != "HEAD" {
            let mut connection = Connection::open(results, &config).unwrap();
            connection.send(&Request::new(call.method, &path).bytes("x")).unwrap();
            connection.receive().unwrap().problem(404);
        }
        if !call.is_on(Listener::Api) && call.method != "HEAD" {
            let request = Request::new(call.method, &path).key(&scene.vault.keys.private);
            scene.vault.send(&request).problem(404);
        }
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
    let rule = only_rule("/here/", "mask", &["token:create"]);
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
        let rule = only_rule("/", "reveal", &[permission.as_str()]);
        let body = json!({"name": "n", "type": "management", "rules": rule});
        vault.post("/applications", key, body).problem(400);
    }
    let id = vault.token(json!({"type": "token", "data": "x"}));
    vault.get(&format!("/tokens/{id}"), key).problem(403);
    vault.delete(&format!("/tokens/{id}"), key).problem(403);
}

/// Everything that a viewer of the console may not read, and everything that changes, is refused by
/// the server, on every row of the table.
#[test]
fn a_viewer_of_the_console_changes_nothing_on_any_route() {
    let directory = Directory::new();
    let file = directory.write(
        "console.toml",
        "[console]\nproxies = [\"127.0.0.1/32\"]\nviewers = [\"viewers\"]\n",
        0o600,
    );
    let vault = Vault::start_in(directory, &["--console", file.to_str().unwrap()]);
    // These are posted and only read.
    let reading = [
        "/console/data/rules-preview",
        "/console/data/sign-on",
        "/tokens/search",
        "/v2/tokens/search",
    ];
    let is_held = |it: &Permission| {
        let word = it.as_str();
        let is_reading = word.ends_with(":read") || word.ends_with(":search");
        let of_kind = it.may_be_held_by(ApplicationKind::Management) || it.concerns_tokens();
        (is_reading && of_kind) || *it == Permission::ConnectionFormulas
    };
    for (call, permissions) in keyed() {
        let path = path(&vault, call);
        let answer = vault.send(
            &request(&vault, call, &path)
                .header("X-Forwarded-User", "victor")
                .header("X-Forwarded-Groups", "viewers")
                .header("Strongroom-Console", &vault.tenant_id),
        );
        let is_reading = reading.contains(&call.route.path)
            || call.route.path.starts_with("/orchestration/connection");
        let posted = call.method != "GET" && !is_reading;
        // Shut down; the row has methods that change something, too.
        let is_shut = call.route.path.starts_with("/reactor-formulas");
        if ["/proxy", "/applications/key"].contains(&call.route.path) {
            // A person is no caller of a proxy, and has no key.
            call.refusal(answer, 401);
        } else if posted || is_shut || (!permissions.is_empty() && !permissions.iter().any(is_held))
        {
            call.refusal(answer, 403);
        } else {
            assert!(![401, 403].contains(&answer.status), "{}: {}", call.name(), answer.text());
        }
    }
    let acts: BTreeSet<_> = vault
        .chain()
        .into_iter()
        .filter(|entry| entry["person"] == "victor")
        .map(|entry| String::from(entry["operation"].as_str().unwrap()))
        .collect();
    assert_eq!(acts, ["read", "refuse", "sign_on"].map(String::from).into());
}

fn header_names(answer: &Answer) -> Vec<&str> {
    answer.headers.iter().map(|(name, _)| name.as_str()).collect()
}

fn path(vault: &Vault, call: Call) -> String {
    access_examples::path(vault, call.route)
}

fn request(vault: &Vault, call: Call, path: &str) -> Request {
    let request = Request::new(call.method, path);
    if call.route.path.ends_with("/method-notification") {
        // The form names the session of the path.
        let id = path.split('/').nth(3).unwrap_or_default();
        let data = json!({"threeDSServerTransID": id}).to_string();
        return request.body(format!("threeDSMethodData={}", base64::encode_url(data.as_bytes())));
    }
    let body = call.example().body;
    match body.map(|body| adapted(vault, call.route.path, &body)) {
        Some(body) if call.method == "PATCH" => {
            request.header("Content-Type", "application/merge-patch+json").body(body.to_string())
        }
        Some(body) => request.json(body),
        None => request,
    }
}

fn on_socket(vault: &Vault, method: &str, path: &str) -> u16 {
    let mut stream = UnixStream::connect(vault.data().join("metrics.sock")).unwrap();
    let request = format!("{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    status_of(&text)
}

/// The status of a HEAD request, whose answer has a length and no body.
fn head_status(vault: &Vault, path: &str, key: &str) -> u16 {
    let mut connection = vault.connect();
    let head = format!(
        "HEAD {path} HTTP/1.1\r\nhost: x\r\nbt-api-key: {key}\r\nconnection: close\r\n\r\n"
    );
    connection.send(head.as_bytes()).unwrap();
    let text = String::from_utf8(connection.rest()).unwrap();
    assert!(text.ends_with("\r\n\r\n"), "{text}");
    status_of(&text)
}

fn status_of(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap()
}

fn gone_key(vault: &Vault) -> String {
    let made = vault.application("private", &["token:create"], &json!([]));
    vault.delete(&format!("/applications/{}", made.id()), &vault.keys.management).with_status(204);
    made.member("key")
}

crate::harness::again_over_http2! {
    no_route_answers_without_a_valid_key,
    a_resource_of_another_tenant_cannot_be_told_from_one_that_is_not_there,
    a_refusal_comes_before_anything_is_said_about_the_body,
    a_deleted_key_and_the_keys_of_a_deleted_application_are_refused_at_once,
}
