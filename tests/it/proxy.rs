//! Calls through proxies, against a payment service provider of the tests' own.

use serde_json::{Value, json};
use strongroom::testing::base64;

use crate::client_keys::{encrypt, new_key};
use crate::harness::{
    Answer, Clients, Offer, Psp, Request, Vault, get, only_http1, only_rule, options, post,
};

pub(crate) struct Scene {
    pub(crate) psp: Psp,
    pub(crate) vault: Vault,
    pub(crate) card: String,
}

pub(crate) const CARD: &str = "4242424242424242";

impl Scene {
    pub(crate) fn start() -> Self {
        Self::start_with(Offer::Both, Clients::Anyone, &[])
    }

    pub(crate) fn start_with(offer: Offer, clients: Clients, flags: &[&str]) -> Self {
        let psp = Psp::start_with(offer, clients);
        let ca = psp.ca();
        let vault = Vault::start_with(&[&["--outbound-ca", ca.to_str().unwrap()], flags].concat());
        let card = vault.token(json!({
            "type": "card",
            "data": {"number": CARD, "expiration_month": 4, "expiration_year": 2031, "cvc": "917"},
        }));
        Self { psp, vault, card }
    }

    /// A call with the private key to a path of the PSP.
    pub(crate) fn call(&self, path: &str) -> Request {
        self.call_by("POST", path)
    }

    fn call_by(&self, method: &str, path: &str) -> Request {
        Request::new(method, "/proxy")
            .key(&self.vault.keys.private)
            .header("BT-PROXY-URL", &self.psp.url(path))
    }

    pub(crate) fn send(&self, request: &Request) -> Answer {
        self.vault.send(request)
    }

    pub(crate) fn field(&self, name: &str) -> String {
        format!("{{{{ {} | json: '$.{name}' }}}}", self.card)
    }

    /// Makes a pre-configured proxy to `/echo` and returns its answer.
    #[track_caller]
    pub(crate) fn proxy(&self, mut members: Value) -> Answer {
        let management =
            self.vault.key_with("management", &["proxy:create", "proxy:delete"], &json!([]));
        let mut body = json!({"name": "PSP", "destination_url": self.psp.url("/echo")});
        body.as_object_mut().unwrap().append(members.as_object_mut().unwrap());
        self.vault.post("/proxies", &management, body).with_status(201)
    }

    /// A call was refused and the PSP got nothing.
    #[track_caller]
    pub(crate) fn check_refused(&self, request: &Request, status: u16) -> Answer {
        let refused = self.send(request).proxy_error(status);
        assert!(self.psp.received().is_empty(), "nothing arrives");
        refused
    }
}

// Choosing a proxy.

#[test]
fn every_published_method_goes_through_the_ephemeral_proxy_of_its_url() {
    let scene = Scene::start();
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
        let answer = scene.send(&scene.call_by(method, "/echo").body("x")).with_status(200);
        assert_eq!(answer.header("bt-proxy-destination-status"), Some("200"));
        assert!(answer.header("bt-trace-id").is_some());
        assert_eq!(answer.json["method"], method);
        assert_eq!(scene.psp.received_once().text(), "x");
    }
    let refused = scene.check_refused(&scene.call_by("TRACE", "/echo"), 405);
    assert_eq!(refused.header("allow"), Some("GET, POST, PUT, PATCH, DELETE"));
}

#[test]
fn a_call_names_a_proxy_by_key_or_url_and_is_refused_without_both() {
    let scene = Scene::start();
    let key = &scene.vault.keys.private;
    scene.check_refused(&post("/proxy/x").key(key), 400);
    let proxy = scene.proxy(json!({}));
    let by_header = post("/proxy/a?b=c").key(key).header("BT-PROXY-KEY", &proxy.member("key"));
    assert_eq!(scene.send(&by_header).with_status(200).json["path"], "/echo/a");
    assert_eq!(scene.psp.received_once().target, "/echo/a?b=c");
    let path = format!("/proxy/a?b=c&bt-proxy-key={}", proxy.member("key"));
    scene.send(&post(&path).key(key)).with_status(200);
    assert_eq!(scene.psp.received_once().target, "/echo/a?b=c", "the key is no part of the query");
    scene.check_refused(&post("/proxy").key(key).header("BT-PROXY-KEY", "nosuchkey"), 404);
}

#[test]
fn a_key_wins_over_a_url_which_is_not_even_read() {
    let scene = Scene::start();
    let other = Psp::start();
    let proxy = scene.proxy(json!({}));
    for url in ["undefined/charges", &other.url("/echo"), "http://x", "\u{e9}"] {
        let call = post("/proxy").key(&scene.vault.keys.private).header("BT-PROXY-URL", url);
        scene.send(&call.header("BT-PROXY-KEY", &proxy.member("key"))).with_status(200);
        assert_eq!(scene.psp.received_once().path(), "/echo");
        assert!(other.received().is_empty());
    }
}

#[test]
fn a_stored_proxy_needs_an_api_key_unless_it_says_otherwise() {
    let scene = Scene::start();
    let call = |proxy: &Answer| post("/proxy").header("BT-PROXY-KEY", &proxy.member("key"));
    let closed = scene.proxy(json!({}));
    let refused = scene.check_refused(&call(&closed), 401);
    assert_eq!(refused.member("detail"), "The BT-API-KEY header is required");
    // A stranger cannot find out which proxy keys exist: the answers are equal.
    let unknown = scene.check_refused(&post("/proxy").header("BT-PROXY-KEY", "nosuchkey"), 401);
    assert_eq!(unknown.json, refused.json);
    let open = scene.proxy(json!({"require_auth": false}));
    scene.send(&call(&open).body("no tokens")).with_status(200);
    assert_eq!(scene.psp.received_once().text(), "no tokens");
    scene.check_refused(&call(&open).body(scene.field("number")), 403);
    let application = scene.vault.application("private", &["token:use"], &json!([]));
    let owned =
        scene.proxy(json!({"require_auth": false, "application": {"id": application.id()}}));
    scene.send(&call(&owned).body(scene.field("number"))).with_status(200);
    assert_eq!(scene.psp.received_once().text(), CARD);
}

#[test]
fn another_tenants_proxy_is_like_one_that_does_not_exist() {
    let scene = Scene::start();
    let proxy = scene.proxy(json!({}));
    let other = scene.vault.tenant("test");
    let call = |key: &str| post("/proxy").key(&other.keys.private).header("BT-PROXY-KEY", key);
    let theirs = scene.check_refused(&call(&proxy.member("key")), 404);
    let none = scene.check_refused(&call("nosuchkey"), 404);
    assert_eq!(theirs.json, none.json);
    // A proxy that needs no key is not found with the key of another tenant either.
    let open = scene.proxy(json!({"require_auth": false})).member("key");
    for key in [&other.keys.private, &other.keys.public] {
        let refused = post("/proxy").key(key).header("BT-PROXY-KEY", &open);
        assert_eq!(scene.check_refused(&refused, 404).json, none.json);
    }
    for key in ["nosuchkey", &scene.vault.keys.public] {
        let call = post("/proxy").key(key).header("BT-PROXY-KEY", &open).body("no tokens");
        scene.send(&call).with_status(200);
    }
}

#[test]
fn one_of_two_permissions_is_needed_to_call_and_the_use_of_tokens_to_detokenize() {
    let scene = Scene::start();
    let call = |key: &str, body: &str| {
        let request = post("/proxy").key(key).header("BT-PROXY-URL", &scene.psp.url("/mirror"));
        request.body(body)
    };
    let with = |permissions: &[&str]| scene.vault.key_with("private", permissions, &json!([]));
    let refused = scene.check_refused(&call(&with(&["token:create"]), ""), 403);
    assert_eq!(refused.member("detail"), "Missing permission: token:use or proxy:invoke");
    assert_eq!(refused.json["errors"], json!({}));
    let number = scene.field("number");
    assert_eq!(scene.send(&call(&with(&["token:use"]), &number)).with_status(200).text(), CARD);
    let invoking = with(&["proxy:invoke"]);
    assert_eq!(scene.send(&call(&invoking, "plain")).with_status(200).text(), "plain");
    scene.psp.received();
    // The caller chooses the destination, so it would see the value.
    scene.check_refused(&call(&invoking, &number), 403);
    let proxy = scene.proxy(json!({}));
    let stored = post("/proxy").key(&invoking).header("BT-PROXY-KEY", &proxy.member("key"));
    scene.send(&stored.clone().body(number.clone())).with_status(200);
    assert_eq!(scene.psp.received_once().text(), CARD);
    let masked = only_rule("/", "mask", &["token:use"]);
    let masking = scene.vault.key_with("private", &["proxy:invoke"], &masked);
    scene.check_refused(&call(&masking, &number), 403);
    let stored = post("/proxy").key(&masking).header("BT-PROXY-KEY", &proxy.member("key"));
    scene.check_refused(&stored.body(number), 403);
}

#[test]
fn a_tenant_can_switch_the_ephemeral_proxy_off() {
    let scene = Scene::start();
    scene.vault.set_tenant(json!({"disable_ephemeral_proxy": "true"}));
    scene.check_refused(&scene.call("/echo"), 403);
    let proxy = scene.proxy(json!({}));
    let stored = post("/proxy").key(&scene.vault.keys.private);
    scene.send(&stored.header("BT-PROXY-KEY", &proxy.member("key"))).with_status(200);
}

// Destination.

#[test]
fn the_target_is_the_base_and_what_follows_proxy() {
    let scene = Scene::start();
    let check = |base: &str, path: &str, target: &str| {
        let url = scene.psp.url(base);
        let request = get(path).key(&scene.vault.keys.private).header("BT-PROXY-URL", &url);
        scene.send(&request);
        assert_eq!(scene.psp.received_once().target, target, "{base} {path}");
    };
    check("/echo/", "/proxy", "/echo");
    check("/echo/", "/proxy/", "/echo/");
    check("/echo", "/proxy/a%2Fb/%41?x=%7b&y=+", "/echo/a%2Fb/%41?x=%7b&y=+");
    check("/echo?own=1", "/proxy/a?x=2", "/echo/a?own=1&x=2");
    check("", "/proxy/@evil.example", "/@evil.example");
    check("", "/proxy//evil.example/", "//evil.example/");
}

#[test]
fn destinations_that_are_no_https_or_not_public_are_refused_before_anything_is_sent() {
    let scene = Scene::start();
    let call = |url: &str, path: &str| {
        get(path).key(&scene.vault.keys.private).header("BT-PROXY-URL", url)
    };
    for url in ["undefined", "http://localhost", "https://", "https://u@localhost", "ftp://x"] {
        scene.check_refused(&call(url, "/proxy"), 400);
    }
    for url in ["https://169.254.169.254/latest", "https://10.0.0.1", "https://[fe80::1]"] {
        let refused = scene.check_refused(&call(url, "/proxy"), 400);
        assert!(!refused.text().contains("169.254"), "no address is told: {}", refused.text());
    }
    let base = scene.psp.url("/echo");
    for path in ["/proxy/..", "/proxy/%2e%2e/x", "/proxy/a/.%2E/x", "/proxy/a%2f..%2fb"] {
        scene.check_refused(&call(&base, path), 400);
    }
    assert_eq!(scene.vault.send(&call(&base, "/proxyx")).problem(404).status, 404);
}

#[test]
fn a_redirect_is_an_answer_like_any_other() {
    let scene = Scene::start();
    let answer = scene.send(&scene.call("/redirect")).with_status(302);
    assert_eq!(answer.header("location"), None, "it is not below the URL of the proxy");
    assert_eq!(answer.header("bt-proxy-destination-status"), Some("302"));
    assert_eq!(scene.psp.received_once().path(), "/redirect");
}

#[test]
fn a_stored_certificate_is_shown_to_a_destination_that_asks_for_it() {
    let scene = Scene::start_with(Offer::Both, Clients::Shown, &[]);
    let call = |proxy: &Answer| {
        let request = post("/proxy").key(&scene.vault.keys.private);
        scene.send(&request.header("BT-PROXY-KEY", &proxy.member("key")))
    };
    let anonymous = scene.proxy(json!({}));
    call(&anonymous).proxy_error(502);
    let identified = scene.proxy(json!({"client_certificate": scene.psp.client_pem()}));
    call(&identified).with_status(200);
    call(&anonymous).proxy_error(502);
    assert_eq!(scene.psp.received().len(), 1);
}

// Evaluation.

#[test]
fn a_json_body_arrives_with_values_and_otherwise_byte_for_byte() {
    let scene = Scene::start();
    let [number, month, cvc] = ["number", "expiration_month", "cvc"].map(|it| scene.field(it));
    let body = format!(
        r#"{{"refId" : "7","amount":10.50, "n":"{number}","m":"{month}","big":12345678901234567890123,"t":"x {cvc}","a":"\u00e9"}}"#
    );
    for kind in ["application/json", "Application/json", "application/json; charset=utf-8"] {
        scene
            .send(&scene.call("/echo").header("Content-Type", kind).body(body.as_str()))
            .with_status(200);
        let received = scene.psp.received_once();
        assert_eq!(
            received.text(),
            r#"{"refId" : "7","amount":10.50, "n":"4242424242424242","m":4,"big":12345678901234567890123,"t":"x 917","a":"\u00e9"}"#
        );
        assert_eq!(received.header("content-type"), Some(kind));
        assert_eq!(
            received.header("content-length"),
            Some(received.body.len().to_string().as_str())
        );
    }
}

#[test]
fn values_that_a_client_encrypted_go_to_the_destination_and_never_into_a_token() {
    let scene = Scene::start();
    let key = new_key(&scene.vault);
    let encrypted = encrypt(&key, &json!({"number": CARD}));
    let header = |value: &Value| {
        let text = base64::encode_url(value.to_string().as_bytes());
        text.replace('-', "+").replace('_', "/")
    };
    let value = json!({"type": "card", "encrypted": encrypted});
    let body = |path: &str| format!("{{{{ encrypted | json: '{path}' }}}}");
    let one = scene.call("/echo").header("BT-ENCRYPTED", &header(&value));
    scene.send(&one.body(body("$.data.number"))).with_status(200);
    let received = scene.psp.received_once();
    assert_eq!((received.text().as_str(), received.header("bt-encrypted")), (CARD, None));
    let several = scene.call("/echo").header("BT-ENCRYPTED", &header(&json!({"card": value})));
    scene.send(&several.body(body("$.card.data.number"))).with_status(200);
    assert_eq!(scene.psp.received_once().text(), CARD);
    let broken = scene.call("/echo").header("BT-ENCRYPTED", "bm90aGluZw");
    scene.check_refused(&broken.clone().body(body("$.data.number")), 400);
    scene.send(&broken.body("no expression needs it")).with_status(200);
}

#[test]
fn expressions_are_plain_text_where_detokenization_is_disabled() {
    let scene = Scene::start();
    let proxy = scene.proxy(json!({"disable_detokenization": true}));
    let call = post("/proxy").key(&scene.vault.keys.private);
    let call = call.header("BT-PROXY-KEY", &proxy.member("key"));
    let call = call.header("X-Value", "{{ config: KEY }}");
    scene.send(&call.body(scene.field("number"))).with_status(200);
    let received = scene.psp.received_once();
    assert_eq!(received.text(), scene.field("number"));
    assert_eq!(received.header("x-value"), Some("{{ config: KEY }}"));
}

// Transforms.

#[test]
fn transforms_of_requests_run_after_detokenizing_and_see_plain_values() {
    let scene = Scene::start();
    let proxy = scene.proxy(json!({
        "configuration": {"MERCHANT": "m-1"},
        "request_transforms": [
            {"type": "append_json", "options": {"value": "{{ config: MERCHANT }}", "location": "$.merchant"}},
            {"type": "append_header", "options": {"value": "{{ proxy.request.body }}", "location": "X-Body"}},
        ],
    }));
    let call = post("/proxy").key(&scene.vault.keys.private);
    let call = call.header("BT-PROXY-KEY", &proxy.member("key"));
    scene.send(&call.json(json!({"cvc": scene.field("cvc")}))).with_status(200);
    let received = scene.psp.received_once();
    let body: Value = serde_json::from_slice(&received.body).unwrap();
    assert_eq!(body, json!({"cvc": "917", "merchant": "m-1"}));
    assert_eq!(received.header("x-body"), Some(r#"{"cvc":"917"}"#));
}

#[test]
fn transforms_of_answers_run_on_2xx_only_and_a_failed_one_hides_the_answer() {
    let scene = Scene::start();
    let own = |received: &crate::harness::Received| {
        let status: u16 = received.header("x-status")?.parse().ok()?;
        let kind =
            if received.header("x-kind").is_some() { "text/plain" } else { "application/json" };
        Some((status, kind, format!("{{\"pan\":\"{CARD}\"}}")))
    };
    scene.psp.answer(own);
    let application = scene.vault.application("private", &["token:create"], &json!([]));
    let masking = scene.proxy(json!({
        "application": {"id": application.id()},
        "response_transforms": [
            {"type": "tokenize", "options": {
                "token": {"type": "card_number", "data": "{{ res.pan }}"}, "identifier": "card",
            }},
            {"type": "mask", "matcher": "regex", "expression": "([0-9]{12})[0-9]{4}", "replacement": "*"},
            {"type": "append_json", "options": {
                "value": "{{ transform_identifier: 'card' | json: '$.id' }}", "location": "$.token",
            }},
        ],
    }));
    let call = |status: &str| {
        let call = post("/proxy").key(&scene.vault.keys.private).header("Accept-Encoding", "gzip");
        call.header("BT-PROXY-KEY", &masking.member("key")).header("X-Status", status)
    };
    let answer = scene.send(&call("200")).with_status(200);
    assert_eq!(answer.json["pan"], "************4242");
    let made =
        scene.vault.get(&format!("/tokens/{}", answer.member("token")), &scene.vault.keys.private);
    assert_eq!(made.with_status(200).json["data"], CARD);
    assert_eq!(scene.psp.received_once().header("accept-encoding"), Some("identity"));
    let failed = scene.send(&call("402")).with_status(402);
    assert_eq!(failed.json["pan"], CARD, "only 2xx is changed");
    scene.psp.received();
    // The answer has no member to tokenize: nothing of it is passed on, and it is no 4xx.
    scene.psp.answer(|_| Some((200, "application/json", String::from("{\"other\":\"mARK\"}"))));
    let refused = scene.send(&call("200")).proxy_error(502);
    assert!(!refused.text().contains("mARK"));
    assert_eq!(scene.psp.received().len(), 1);
}

// Headers.

#[test]
fn the_callers_headers_go_on_and_those_for_the_vault_stay() {
    // HTTP/2 forbids some of these headers.
    only_http1();
    for offer in [Offer::Http1, Offer::Http2] {
        let scene = Scene::start_with(offer, Clients::Anyone, &[]);
        let call = scene
            .call("/echo")
            .header("Authorization", "Bearer x")
            .header("User-Agent", "shop/1")
            .header("Accept", "application/json")
            .header("X-Own_Name", "1")
            .header("X.Dotted", "1")
            .header("BT-TRACE-ID", "trace-7")
            .header("BT-PROXY-ID", "1")
            .once("k1")
            .header("BT-DEVICE-INFO", "x")
            .header("BT-CLIENT-USER-AGENT", "x")
            .header("X-Fern-Language", "x")
            .header("Connection", "keep-alive, X-Hop")
            .header("X-Hop", "1")
            .header("TE", "trailers");
        let answer = scene.send(&call.body("x")).with_status(200);
        assert_eq!(answer.header("bt-trace-id"), Some("trace-7"));
        let received = scene.psp.received_once();
        let mut names: Vec<_> = received.headers.iter().map(|(name, _)| name.as_str()).collect();
        names.retain(|name| *name != "host");
        names.sort_unstable();
        let expected = [
            "accept",
            "authorization",
            "bt-trace-id",
            "content-length",
            "user-agent",
            "x-own_name",
        ];
        assert_eq!(names, expected);
        assert_eq!(received.header("bt-trace-id"), Some("trace-7"));
    }
}

/// Headers that servers, caches and browsers act on.
const OF_SOFTWARE: [&str; 11] = [
    "cdn-cache-control",
    "expires",
    "link",
    "refresh",
    "surrogate-control",
    "www-authenticate",
    "x-accel-expires",
    "x-accel-redirect",
    "x-frame-options",
    "x-own",
    "x-sendfile",
];

#[test]
fn a_call_that_a_browser_makes_for_an_element_of_a_page_is_refused() {
    let scene = Scene::start();
    let stored = scene.proxy(json!({})).member("key");
    let stored = || {
        let request = get("/proxy/evil.js").key(&scene.vault.keys.private);
        request.header("BT-PROXY-KEY", &stored)
    };
    for element in ["document", "iframe", "image", "script", "style", "worker", ""] {
        for call in [scene.call("/echo"), stored()] {
            scene.check_refused(&call.header("Sec-Fetch-Dest", element), 403);
        }
    }
    // A page that names the proxy in the query needs no header of its own.
    let keyless = scene.proxy(json!({"require_auth": false})).member("key");
    let path = format!("/proxy/evil.js?bt-proxy-key={keyless}");
    scene.check_refused(&get(&path).header("Sec-Fetch-Dest", "script"), 403);
    for call in [scene.call("/echo"), stored(), get(&path)] {
        scene.send(&call.header("Sec-Fetch-Dest", "empty")).with_status(200);
    }
}

#[test]
fn a_location_leads_through_the_proxy_or_does_not_pass() {
    let scene = Scene::start();
    let answer = |location: &str| {
        let call = scene.call("/redirect").header("X-Redirect-To", location);
        scene.send(&call).with_status(302).header("location").map(String::from)
    };
    assert_eq!(answer("/redirect/b?c=d").as_deref(), Some("/proxy/b?c=d"));
    assert_eq!(answer(&scene.psp.url("/redirect/b")).as_deref(), Some("/proxy/b"));
    let id = &scene.card;
    for other in [format!("/tokens/{id}"), String::from("https://evil.example/redirect/b")] {
        assert_eq!(answer(&other), None, "{other}");
    }
}

#[test]
fn status_headers_and_body_of_the_destination_come_back() {
    let scene = Scene::start();
    for status in [200, 201, 302, 400, 402, 404, 418, 500, 503] {
        let answer = scene.send(&scene.call(&format!("/status/{status}"))).with_status(status);
        assert_eq!(answer.json["status"], status);
        let told = answer.header("bt-proxy-destination-status");
        assert_eq!(told, Some(status.to_string().as_str()));
    }
    let answer = scene.send(&scene.call("/headers")).with_status(200);
    let cookies = answer.headers.iter().filter(|(name, _)| name == "set-cookie").count();
    assert_eq!((cookies, answer.header("x-request-id")), (0, Some("7")));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("x-empty-code"), Some(""));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    for name in OF_SOFTWARE {
        assert_eq!(answer.header(name), None, "{name}");
    }
    assert_eq!(answer.header("access-control-allow-origin"), None, "nobody asked");
    assert_ne!(answer.header("strict-transport-security"), Some("max-age=1"));
    // The tests' own client takes text in heads only.
    let mut connection = scene.vault.connect();
    let latin = scene.call("/latin").header("Connection", "close");
    connection.send(&latin.bytes("x")).unwrap();
    let bytes = connection.rest();
    let holds = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    assert!(holds(b"x-latin-code: caf\xe9\r\n") && bytes.ends_with(b"\r\n\r\ncaf\xe9"));
}

#[test]
fn browsers_may_send_any_header_name_and_read_both_headers() {
    let scene = Scene::start();
    let origin = "https://shop.example";
    for path in ["/proxy", "/proxy/v1/charges"] {
        let preflight = options(path)
            .header("Origin", origin)
            .header("Access-Control-Request-Method", "POST")
            .header("Access-Control-Request-Headers", "authorization, x-own, bad name, x\u{e9}");
        let answer = scene.send(&preflight).with_status(204);
        let allowed = answer.header("access-control-allow-headers").unwrap().to_ascii_lowercase();
        let allowed: Vec<_> = allowed.split(", ").collect();
        assert!(allowed.contains(&"bt-proxy-url") && allowed.contains(&"bt-encrypted"));
        let is_valid =
            |name: &&str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        assert!(allowed.iter().all(is_valid), "{allowed:?}");
    }
    let preflight = options("/proxy/x")
        .header("Origin", origin)
        .header("Access-Control-Request-Headers", "authorization,x-own,bad name");
    let allowed = scene.send(&preflight).with_status(204);
    let allowed = allowed.header("access-control-allow-headers").unwrap().to_ascii_lowercase();
    assert!(allowed.contains("authorization, x-own") && !allowed.contains("bad"), "{allowed}");
    let answers = [
        scene.send(&scene.call("/echo").header("Origin", origin)).with_status(200),
        scene.send(&post("/proxy").header("Origin", origin)).proxy_error(401),
    ];
    for answer in answers {
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
        let exposed = answer.header("access-control-expose-headers").unwrap();
        assert!(exposed.contains("BT-TRACE-ID") && exposed.contains("BT-PROXY-DESTINATION-STATUS"));
    }
}

crate::harness::again_over_http2! {
    every_published_method_goes_through_the_ephemeral_proxy_of_its_url,
    a_json_body_arrives_with_values_and_otherwise_byte_for_byte,
    status_headers_and_body_of_the_destination_come_back,
}
