//! The heads of requests: method, path and query, and the headers that we read.

use std::net::IpAddr;

use hyper::Method;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};

use super::check_mistakes;
use crate::bounds::PERSON_BYTES_MAX;
use crate::domain::hex;
use crate::domain::key_text::KeyText;
use crate::domain::mistakes::Mistakes;
use crate::domain::proxy::Proxy;
use crate::domain::web_origin::WebOrigin;
use crate::http::pages::language::Language;
use crate::http::passed_headers::{for_caller, for_destination};
use crate::http::reply::trace_of;
use crate::http::route::{self, NoMatch};
use crate::http::sign_on::{ConsoleAccess, ProxyHeaders, SignOnRules};
use crate::http::wire::query::{PlusSign, decode};
use crate::http::wire::{
    OffsetPage, Query, application, console, cursor, log, named, token_query, webhook,
};
use crate::idempotency;

const METHODS: [Method; 7] = [
    Method::GET,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
    Method::OPTIONS,
    Method::HEAD,
];

/// The first byte selects the method; the path and the query follow.
pub(crate) fn routes(data: &[u8]) {
    let Some((method, target)) = data.split_first() else { return };
    let Ok(target) = std::str::from_utf8(target) else { return };
    let method = METHODS.get(usize::from(*method) % METHODS.len()).unwrap_or(&Method::GET);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    match route::find_api(method, path, |_| true) {
        Ok((found, _)) => assert!(found.methods.contains(method), "a route of another method"),
        Err(NoMatch::Method { allow, route }) => {
            assert!(!route.methods.contains(method));
            assert!(!allow.split(", ").any(|it| it == method.as_str()));
        }
        Err(NoMatch::Absent(_) | NoMatch::Path) => (),
    }
    let operator = route::find_operator(method, path).is_ok();
    let results = route::find_results(method, path).is_ok();
    assert!(!(operator && results), "a path of two listeners");
    if let Some(rest) = route::proxy_rest(path) {
        assert!(path.ends_with(rest) && (rest.is_empty() || rest.starts_with('/')));
    }
    check_decoding(path);
    if let Some(query) = Query::parse(query) {
        check_query(&query);
    }
}

/// Escaping a text and reading it gives the same text.
fn check_decoding(text: &str) {
    let mut escaped = String::new();
    for byte in text.bytes() {
        escaped.extend(["%", &hex::encode_upper(&[byte])]);
    }
    for plus in [PlusSign::Itself, PlusSign::Space] {
        assert_eq!(decode(&escaped, plus).as_deref(), Some(text));
        if let Some(decoded) = decode(text, plus) {
            assert!(decoded.len() <= text.len());
        }
    }
}

fn check_query(query: &Query) {
    fn check<T>(parsed: Result<T, Mistakes>) {
        if let Err(mistakes) = parsed {
            assert!(!mistakes.is_empty(), "a refusal without a reason");
            check_mistakes(&mistakes);
        }
    }
    check(token_query::parse_list(query));
    check(token_query::parse_legacy_list(query));
    check(log::parse(query));
    check(application::parse_query(query));
    check(named::parse_query::<Proxy>(query));
    check(webhook::parse_list(query));
    check(console::parse_start(query));
    let mut mistakes = Mistakes::new();
    OffsetPage::parse(query, &mut mistakes);
    check_mistakes(&mistakes);
    for (name, value) in query.pairs() {
        assert!(query.all(name).any(|found| found == value));
        let mut mistakes = Mistakes::new();
        if let Some(bytes) = cursor::parse(Some(value), &mut mistakes) {
            assert!(mistakes.is_empty());
            assert_eq!(cursor::render(&bytes), value, "a cursor has one spelling");
        }
    }
}

/// Each line has a name, a colon and a value.
pub(crate) fn headers(data: &[u8]) {
    let mut headers = HeaderMap::new();
    for line in data.split(|byte| *byte == b'\n').take(100) {
        let Some(at) = line.iter().position(|byte| *byte == b':') else { continue };
        let (name, value) = line.split_at(at);
        let name = HeaderName::from_bytes(name).ok();
        let value = HeaderValue::from_bytes(value.get(1..).unwrap_or_default().trim_ascii()).ok();
        if let Some((name, value)) = name.zip(value) {
            headers.append(name, value);
        }
    }
    headers.get("bt-api-key").and_then(|key| key.to_str().ok()).and_then(KeyText::parse);
    Language::preferred(&headers);
    let secret = headers.get("bt-api-key");
    if let Some(trace) = trace_of(&headers, secret) {
        let trace = trace.as_str();
        let holds = |key: &str| key.len() > 11 && trace.contains(key);
        assert!(!secret.is_some_and(|key| key.to_str().is_ok_and(holds)), "the key in a trace id");
        assert!(trace.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' '));
    }
    for value in headers.values().filter_map(|value| value.to_str().ok()) {
        if let Ok(origin) = WebOrigin::parse(value) {
            assert_eq!(WebOrigin::parse(origin.as_str()).ok().as_ref(), Some(&origin));
        }
        if idempotency::is_key(value) {
            assert!((1..=255).contains(&value.len()));
            assert!(value.bytes().all(|byte| byte.is_ascii_graphic()));
        }
    }
    check_passed(&headers);
    check_person(&headers);
}

/// A trusted proxy may send anything: a name that is believed has one line and can be shown.
fn check_person(headers: &HeaderMap) {
    let own = |name: &str| String::from(name);
    let access = ConsoleAccess {
        takes_keys: true,
        sign_on: Some(SignOnRules {
            tenants: Vec::new(),
            viewers: vec![own("viewers")],
            administrators: vec![own("admins")],
            sign_out: None,
            by_proxy: "127.0.0.1/32".parse().ok().map(|peer| ProxyHeaders {
                peers: vec![peer],
                user: own("x-forwarded-user"),
                email: None,
                groups: own("x-forwarded-groups"),
                secret_header: own("x-console-secret"),
                secret: None,
            }),
        }),
    };
    let sign_on = access.sign_on(headers, IpAddr::from([127, 0, 0, 1]), None);
    if let Some(person) = sign_on.person() {
        assert_eq!(headers.get_all("x-forwarded-user").iter().count(), 1);
        assert!(person.name.len() <= PERSON_BYTES_MAX && !person.name.contains(char::is_control));
    }
    let sign_on = access.sign_on(headers, IpAddr::from([127, 0, 0, 2]), None);
    assert!(sign_on.person().is_none(), "another peer was believed");
}

/// Neither the key of the vault nor a header of the connection passes through a proxy.
fn check_passed(headers: &HeaderMap) {
    let passed = for_destination(headers, "trace", |_| false);
    for (name, _) in &passed {
        let name = name.replace('_', "-");
        let ours = ["bt-api-key", "bt-encrypted", "bt-idempotency-key", "bt-device-info"];
        let is_ours = ours.contains(&name.as_str()) || name.starts_with("bt-proxy-");
        assert!(!is_ours, "a header of the vault went on");
        let hop = ["connection", "transfer-encoding", "te", "upgrade", "host", "keep-alive"];
        assert!(!hop.contains(&name.as_str()), "a header of the connection went on");
    }
    let answered = for_caller(&passed);
    assert!(!answered.contains_key("set-cookie") && !answered.contains_key("connection"));
}
