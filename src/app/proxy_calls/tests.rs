//! Calls through a client that sends nothing and records every request.

use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::app::outbound::{Outbound, OutboundFailure, OutboundRequest, OutboundResponse, Sending};
use crate::app::proxy_calls::choose::ChosenProxy;
use crate::app::proxy_calls::{ProxyCall, ProxyFailure};
use crate::app::tests::{TestVault, everything, new_caller, rule};
use crate::app::{ApplicationDraft, Caller, Error, TokenDraft};
use crate::bounds::{PROXY_BODY_BYTES_MAX, PROXY_HEADER_BYTES_MAX, PROXY_TOKENS_MAX};
use crate::domain::access::{Access, AccessRule, Transform};
use crate::domain::answer_seed::AnswerSeed;
use crate::domain::id::ProxyId;
use crate::domain::permission::Permission;
use crate::domain::proxy::transform::Transforms;
use crate::domain::proxy::{Configuration, Destination, Proxy, ProxyKey, ProxySettings};
use crate::domain::quota::RateLimit;
use crate::domain::tenant::TenantKind;
use crate::domain::token_type::TokenType;
use crate::secret::Secret;
use crate::store::tests::block_on;

/// Sends nothing, and answers with a copy of the body.
#[derive(Debug, Default)]
struct Recorder(Mutex<Vec<OutboundRequest>>);

impl Outbound for Recorder {
    fn send(&self, mut request: OutboundRequest) -> Sending<'_> {
        let body = Secret::new(request.body.expose().clone());
        let failure = match request.url.path.as_str() {
            "/refused" => Some(OutboundFailure::Refused("no")),
            "/slow" => Some(OutboundFailure::TimedOut),
            _ => None,
        };
        let status =
            request.url.path.strip_prefix("/status/").map_or(200, |it| it.parse().unwrap());
        request.headers.sort_by(|one, other| one.0.cmp(&other.0));
        self.0.lock().unwrap().push(request);
        let answer = OutboundResponse { status, headers: Vec::new(), body };
        Box::pin(async move { failure.map_or(Ok(answer), Err) })
    }
}

struct Scene {
    vault: TestVault,
    sent: Arc<Recorder>,
    card: String,
}

const CARD: &str = r#"{"number":"4242424242424242","expiration_month":12,"cvc":"123"}"#;

impl Scene {
    fn new() -> Self {
        let vault = TestVault::new();
        let sent = Arc::new(Recorder::default());
        let client: Arc<dyn Outbound> = Arc::<Recorder>::clone(&sent);
        crate::app::configure_outbound(&vault.app, client);
        let mut scene = Self { vault, sent, card: String::new() };
        scene.card = scene.made(TokenType::Card, serde_json::from_str(CARD).unwrap());
        scene
    }

    fn made(&self, kind: TokenType, data: Value) -> String {
        let (kind, data) = (Some(kind), Some(Secret::new(data)));
        block_on(self.vault.create_id(TokenDraft { kind, data, ..TokenDraft::default() }))
    }

    fn token(&self, data: Value) -> String {
        self.made(TokenType::Token, data)
    }

    fn invoke(&self, call: ProxyCall) -> Result<OutboundResponse, ProxyFailure> {
        self.invoke_at("https://psp.example", call)
    }

    fn invoke_at(&self, url: &str, call: ProxyCall) -> Result<OutboundResponse, ProxyFailure> {
        let calls = self.vault.app.proxies();
        block_on(calls.invoke_ephemeral(&self.vault.caller, url, call))
    }

    /// Checks the body that arrives. `$card` stands for the id of a card.
    #[track_caller]
    fn check(&self, kind: &str, body: &str, expected: &str) {
        let body = body.replace("$card", &self.card);
        let answer = self.invoke(call(&[("content-type", kind)], body.as_bytes())).unwrap();
        assert_eq!(String::from_utf8_lossy(answer.body.expose()), expected, "{kind}: {body}");
    }

    #[track_caller]
    fn check_refused(&self, kind: &str, body: &str, expected: &str) {
        let body = body.replace("$card", &self.card);
        let refused = self.invoke(call(&[("content-type", kind)], body.as_bytes()));
        let Err(ProxyFailure::Invalid(detail)) = refused else { panic!("{refused:?}") };
        assert!(detail.contains(expected), "{detail}");
        assert!(self.sent().is_empty(), "nothing is sent");
    }

    fn sent(&self) -> Vec<OutboundRequest> {
        std::mem::take(&mut self.sent.0.lock().unwrap())
    }

    fn caller(&self, permissions: Vec<Permission>, rules: Vec<AccessRule>) -> Arc<Caller> {
        let draft = ApplicationDraft { access: Access::new(permissions, rules), ..everything() };
        block_on(new_caller(&self.vault.app, self.vault.caller.tenant.id, &draft))
    }

    /// With one entry of configuration.
    fn proxy(&self, change: impl FnOnce(&mut ProxySettings)) -> ChosenProxy {
        let now = self.vault.app.now();
        let secret = (String::from("KEY"), Secret::new(String::from("sk_1")));
        let mut settings = ProxySettings {
            name: String::from("psp"),
            destination: Destination::parse("https://psp.example/v1?m=1").unwrap(),
            require_auth: true,
            application: None,
            configuration: Configuration(vec![secret]),
            disable_detokenization: false,
            destroy_cvc_after_use: false,
            request_transforms: Transforms::default(),
            response_transforms: Transforms::default(),
            client_certificate: None,
        };
        change(&mut settings);
        let proxy = Proxy {
            id: ProxyId::new(self.vault.app.next_id(now)),
            tenant: self.vault.caller.tenant.id,
            key: ProxyKey::new(&[1; 16]),
            settings,
            created_by: self.vault.caller.application.id,
            created_at: now,
            modified_by: None,
            modified_at: None,
            answer_seed: AnswerSeed::new([1; 16]),
        };
        ChosenProxy {
            proxy,
            application: None,
            rate_limit: RateLimit::Default,
            tenant_kind: TenantKind::Test,
        }
    }

    fn invoke_chosen(
        &self,
        caller: Option<&Caller>,
        chosen: &ChosenProxy,
        call: ProxyCall,
    ) -> Result<OutboundResponse, ProxyFailure> {
        let draft = |_: &Value| TokenDraft::default();
        block_on(self.vault.app.proxies().invoke_chosen(caller, chosen, call, &draft, None))
    }
}

fn call(headers: &[(&str, &str)], body: &[u8]) -> ProxyCall {
    let header = |(name, value): &(&str, &str)| {
        (String::from(*name), Secret::new(value.as_bytes().to_vec()))
    };
    ProxyCall {
        method: String::from("POST"),
        rest: String::from("/charges"),
        query: None,
        headers: headers.iter().map(header).collect(),
        body: Secret::new(body.to_vec()),
        encrypted: None,
    }
}

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

#[test]
fn values_stand_in_place_of_expressions_and_every_other_byte_of_json_stays() {
    let scene = Scene::new();
    scene.check(
        JSON,
        r#"{ "z" : 1.50, "number": "{{ $card | json: '$.number' }}" ,"a":[1e3,"\u00e9", 12345678901234567890]}"#,
        r#"{ "z" : 1.50, "number": "4242424242424242" ,"a":[1e3,"\u00e9", 12345678901234567890]}"#,
    );
    for kind in ["Application/json", "application/json; charset=utf-8", "application/vnd.psp+json"]
    {
        scene.check(kind, r#"["{{ $card | json: '$.cvc' }}"]"#, r#"["123"]"#);
    }
}

#[test]
fn a_lone_expression_takes_the_type_of_its_value_and_mixed_text_is_text() {
    let scene = Scene::new();
    let body = r#"{"m":"{{ $card | json: '$.expiration_month' }}"}"#;
    scene.check(JSON, body, r#"{"m":12}"#);
    scene.check(JSON, r#"{"m":"m {{ $card | json: '$.expiration_month' }}"}"#, r#"{"m":"m 12"}"#);
    scene.check(
        JSON,
        r#"{"m":"{{ $card | json: '$.expiration_month' | to_string }}"}"#,
        r#"{"m":"12"}"#,
    );
    scene.check(JSON, r#""{{ $card }}""#, &sorted(CARD));
    scene.check(JSON, r#"{"t":"{{ token: $card | json: '$.type' }}"}"#, r#"{"t":"card"}"#);
}

/// The text in the form in which this program prints the value.
fn sorted(json: &str) -> String {
    serde_json::from_str::<Value>(json).unwrap().to_string()
}

#[test]
fn values_are_escaped_in_json_and_in_forms_and_not_in_other_texts() {
    let scene = Scene::new();
    let odd = scene.token(json!("a\"b\\\n<&=+ \u{e9}"));
    let fill = |body: &str| body.replace("$odd", &odd);
    scene.check(JSON, &fill(r#"{"a":"{{ $odd }}"}"#), "{\"a\":\"a\\\"b\\\\\\n<&=+ \u{e9}\"}");
    scene.check(JSON, &fill(r#"{"a":"x{{ $odd }}"}"#), "{\"a\":\"xa\\\"b\\\\\\n<&=+ \u{e9}\"}");
    scene.check(FORM, &fill("a={{+$odd+}}"), "a=a%22b%5C%0A%3C%26%3D%2B%20%C3%A9");
    scene.check("text/xml", &fill("<a>{{ $odd }}</a>"), "<a>a\"b\\\n<&=+ \u{e9}</a>");
}

#[test]
fn names_are_not_evaluated_escaped_braces_are_braces_and_other_pairs_keep_their_bytes() {
    let scene = Scene::new();
    let form = "application/x-www-form-urlencoded; charset=UTF-8";
    for (kind, body, expected) in [
        (JSON, r#"{"{{ none }}": "{{ $card | json: '$.cvc' }}"}"#, r#"{"{{ none }}": "123"}"#),
        (JSON, r#"["\u007b\u007B $card | json: '$.cvc' }}"]"#, r#"["123"]"#),
        (FORM, "c=%7B%7b%20$card%20%7C%20json%3A%20%27%24.cvc%27%20%7D%7D&d=%7b", "c=123&d=%7b"),
        (
            form,
            "card[number]={{ $card | json: '$.number' }}&phone.full=%2B1+2&&x&amount=10%2e0",
            "card[number]=4242424242424242&phone.full=%2B1+2&&x&amount=10%2e0",
        ),
    ] {
        scene.check(kind, body, expected);
    }
}

#[test]
fn bodies_without_text_and_compressed_ones_pass_unchanged() {
    let scene = Scene::new();
    let binary = [b"\xff\xfe{{ none }}".as_slice(), &[0; 5]].concat();
    for headers in [[("content-type", "application/pdf")], [("content-type", JSON)]] {
        let answer = scene.invoke(call(&headers, &binary)).unwrap();
        assert_eq!(answer.body.expose(), &binary);
    }
    let headers = [("content-type", JSON), ("content-encoding", "gzip")];
    let answer = scene.invoke(call(&headers, b"{{ none }}")).unwrap();
    assert_eq!(answer.body.expose(), b"{{ none }}");
}

#[test]
fn a_json_body_that_is_no_json_passes_without_expressions_and_is_refused_with_them() {
    let scene = Scene::new();
    scene.check(JSON, "", "");
    scene.check(JSON, "{\"a\":1}\n{\"a\":2}", "{\"a\":1}\n{\"a\":2}");
    scene.sent();
    scene.check_refused(JSON, "{\"a\":1}\n{\"a\":\"{{ $card }}\"}", "not valid JSON");
    scene.check_refused(JSON, "\"{{ $card }}", "not valid JSON");
    let deep = format!("{}\"{{{{ $card }}}}\"{}", "[".repeat(65), "]".repeat(65));
    scene.check_refused(JSON, &deep, "too deeply");
}

#[test]
fn a_bad_expression_is_refused_before_anything_is_sent() {
    let scene = Scene::new();
    for body in ["{{ $card", "{{ }}", "{{ $card | no_such_filter }}", "{{ $card | json: '$[' }}"] {
        scene.check_refused("text/plain", body, "An expression is malformed");
    }
    scene.check_refused("text/plain", "{{ $card | plus: 1 }}", "cannot be evaluated");
}

#[test]
fn twenty_tokens_may_be_used_any_number_of_times_and_not_one_more() {
    let scene = Scene::new();
    let ids: Vec<_> = (0..=PROXY_TOKENS_MAX).map(|at| scene.token(json!(at))).collect();
    let body = |ids: &[String]| {
        let expressions: Vec<_> = ids.iter().map(|id| format!("{{{{ {id} }}}}")).collect();
        expressions.concat()
    };
    let twenty = body(&ids[..PROXY_TOKENS_MAX]);
    let answer = scene.invoke(call(&[], twenty.repeat(2).as_bytes())).unwrap();
    let digits: String = (0..PROXY_TOKENS_MAX).map(|at| at.to_string()).collect();
    assert_eq!(answer.body.expose(), digits.repeat(2).as_bytes());
    scene.sent();
    scene.check_refused("text/plain", &body(&ids), "At most 20 tokens");
}

#[test]
fn a_body_that_grows_too_large_is_refused() {
    let scene = Scene::new();
    let large = scene.token(json!("x".repeat(60_000)));
    let body = format!("{{{{ {large} }}}}").repeat(PROXY_BODY_BYTES_MAX / 60_000 + 1);
    scene.check_refused("text/plain", &body, "too large");
    let uses = format!("{{{{ {large} }}}}").repeat(PROXY_BODY_BYTES_MAX / 60_000 - 1);
    assert!(scene.invoke(call(&[], uses.as_bytes())).is_ok());
}

#[track_caller]
fn header(sent: &OutboundRequest, name: &str) -> String {
    let (_, value) = sent.headers.iter().find(|(known, _)| known == name).unwrap();
    String::from_utf8(value.expose().clone()).unwrap()
}

#[test]
fn header_values_are_evaluated_and_may_sign_the_body_as_it_is_sent() {
    let scene = Scene::new();
    let chosen = scene.proxy(|_| ());
    let body = r#"{"n":"{{ $card | json: '$.cvc' }}"}"#.replace("$card", &scene.card);
    let call = call(
        &[
            ("authorization", "Bearer {{ config: KEY }}"),
            ("content-type", JSON),
            ("x-body", "{{ proxy.request.body }}"),
            ("x-date", "today"),
            ("x-mixed", "{{ proxy | json: '$.request.headers.X-Date' }} {{ proxy.config.KEY }}"),
            (
                "x-signature",
                "{{ proxy.request.headers.x-date | append: proxy.request.body | hmac: 'sha-256', config.KEY | to_base16 }}",
            ),
        ],
        body.as_bytes(),
    );
    scene
        .invoke_chosen(Some(&scene.caller(vec![Permission::TokenUse], vec![])), &chosen, call)
        .unwrap();
    let sent = scene.sent().remove(0);
    assert_eq!(sent.body.expose(), br#"{"n":"123"}"#);
    assert_eq!(header(&sent, "authorization"), "Bearer sk_1");
    assert_eq!(header(&sent, "x-body"), r#"{"n":"123"}"#);
    assert_eq!(header(&sent, "x-mixed"), "today sk_1");
    assert_eq!(header(&sent, "x-signature").len(), 64);
    assert_eq!(sent.url.path, "/v1/charges?m=1");
}

#[test]
fn a_header_that_would_get_a_line_break_or_too_many_bytes_is_refused() {
    let scene = Scene::new();
    for data in [json!("a\r\nEvil: 1"), json!("a\0"), json!("x".repeat(PROXY_HEADER_BYTES_MAX + 1))]
    {
        let id = scene.token(data);
        let value = format!("Bearer {{{{ {id} }}}}");
        let refused = scene.invoke(call(&[("authorization", &value)], b""));
        assert!(matches!(refused, Err(ProxyFailure::Invalid(_))), "{refused:?}");
        assert!(scene.sent().is_empty());
    }
}

/// The answer to a caller that may invoke proxies but see no value.
fn blind(scene: &Scene, headers: &[(&str, &str)], body: &str) -> Result<OutboundRequest, String> {
    let caller = scene.caller(vec![Permission::ProxyInvoke], vec![]);
    let call = call(headers, body.replace("$card", &scene.card).as_bytes());
    match scene.invoke_chosen(Some(&caller), &scene.proxy(|_| ()), call) {
        Ok(_) => Ok(scene.sent().remove(0)),
        Err(failure) => {
            assert!(scene.sent().is_empty(), "a refused call sends nothing");
            Err(match failure {
                ProxyFailure::App(Error::Forbidden(text)) => String::from(text),
                ProxyFailure::Invalid(text) => text,
                other @ (ProxyFailure::App(_)
                | ProxyFailure::Answer(_)
                | ProxyFailure::Answered(_)
                | ProxyFailure::Outbound(_)
                | ProxyFailure::Program { .. }) => panic!("{other:?}"),
            })
        }
    }
}

#[test]
fn a_caller_that_may_not_see_a_value_places_it_and_computes_nothing() {
    let scene = Scene::new();
    let placed = [
        ("{{ $card | json: '$.number' }}", "4242424242424242"),
        ("{{ token: $card | json: '$.data.cvc' }}", "123"),
        ("{{ token: $card | json: '$.data' | json: '$.cvc' }}", "123"),
        ("{{ $card | json: '$.none' }}", ""),
        ("{{ proxy.request.headers.X-A | upcase }}", "OWN"),
    ];
    for (body, expected) in placed {
        let sent = blind(&scene, &[("x-a", "own")], body).unwrap();
        assert_eq!(String::from_utf8_lossy(sent.body.expose()), expected, "{body}");
    }
    let refused = [
        "{{ $card | json: '$.number' | slice: 0, 1 }}",
        "{{ $card | json: '$[?@ == \"4242424242424242\"]' }}",
        "{{ $card | json: '$.cvc' | plus: 1 }}",
        "{{ proxy | append: config.KEY }}",
        "{{ config: KEY }}",
    ];
    for body in refused {
        let text = blind(&scene, &[], body).unwrap_err();
        assert!(text.contains("may not see this value in plain"), "{body}: {text}");
    }
    // The body is filled before headers read it.
    let body = "{{ $card | json: '$.cvc' }}";
    assert_eq!(
        header(&blind(&scene, &[("x-b", "{{ proxy.request.body }}")], body).unwrap(), "x-b"),
        "123"
    );
    let computed = blind(&scene, &[("x-b", "{{ proxy.request.body | size }}")], body);
    assert!(computed.unwrap_err().contains("may not see"));
    let configured = blind(&scene, &[("x-b", "a{{ proxy.config.KEY }}")], "").unwrap();
    assert_eq!(header(&configured, "x-b"), "a");
}

#[test]
fn every_value_that_cannot_be_placed_has_one_answer() {
    let scene = Scene::new();
    let large = scene.token(json!("x".repeat(PROXY_HEADER_BYTES_MAX + 1)));
    let odd = scene.token(json!("a\r\nb"));
    let header = |id: &str| format!("{{{{ {id} }}}}");
    let body =
        format!("{{{{ {large} }}}}").repeat(PROXY_BODY_BYTES_MAX / PROXY_HEADER_BYTES_MAX + 1);
    let answers = [
        blind(&scene, &[("x-a", &header(&large))], ""),
        blind(&scene, &[("x-a", &header(&odd))], ""),
        blind(&scene, &[], &body),
    ];
    let mut answers: Vec<_> = answers.into_iter().map(Result::unwrap_err).collect();
    answers.dedup();
    assert_eq!(answers, ["A value cannot be put where the call names it."]);
}

fn use_by(transform: Transform) -> AccessRule {
    rule("/", transform, &[Permission::TokenUse])
}

/// Expects a call that uses a card to be sent in plain, or to be refused.
#[track_caller]
fn check_use(
    scene: &Scene,
    chosen: Option<&ChosenProxy>,
    caller: Option<&Caller>,
    expected: Result<(), &str>,
) {
    let body = format!("{{{{ {} | json: '$.cvc' }}}}", scene.card);
    let call = call(&[], body.as_bytes());
    let calls = scene.vault.app.proxies();
    let answer = match chosen {
        Some(chosen) => scene.invoke_chosen(caller, chosen, call),
        None => block_on(calls.invoke_ephemeral(caller.unwrap(), "https://psp.example", call)),
    };
    let outcome = match &answer {
        Ok(answer) => {
            assert_eq!(answer.body.expose(), b"123");
            Ok(())
        }
        Err(ProxyFailure::App(Error::Forbidden(_))) => Err("forbidden"),
        Err(ProxyFailure::App(Error::Unauthenticated)) => Err("no key"),
        Err(other) => panic!("{other:?}"),
    };
    assert_eq!(outcome, expected);
    assert_eq!(scene.sent().len(), usize::from(expected.is_ok()), "a refused call sends nothing");
}

#[test]
fn an_ephemeral_proxy_gets_tokens_that_the_caller_may_use_in_plain() {
    let scene = Scene::new();
    let check = |permissions: &[Permission], rules: Vec<AccessRule>, expected| {
        check_use(&scene, None, Some(&scene.caller(permissions.to_vec(), rules)), expected);
    };
    check(&[Permission::TokenUse], vec![], Ok(()));
    check(&[Permission::ProxyInvoke], vec![], Err("forbidden"));
    check(&[Permission::ProxyInvoke], vec![use_by(Transform::Reveal)], Ok(()));
    check(&[Permission::ProxyInvoke], vec![use_by(Transform::Mask)], Err("forbidden"));
    check(&[Permission::ProxyInvoke], vec![use_by(Transform::Redact)], Err("forbidden"));
}

#[test]
fn a_stored_proxy_gets_tokens_of_a_caller_that_may_invoke_it_within_its_rules() {
    let scene = Scene::new();
    let chosen = scene.proxy(|_| ());
    let check = |permissions: &[Permission], rules: Vec<AccessRule>, expected| {
        let caller = scene.caller(permissions.to_vec(), rules);
        check_use(&scene, Some(&chosen), Some(&caller), expected);
    };
    check(&[Permission::TokenUse], vec![], Ok(()));
    check(&[Permission::ProxyInvoke], vec![], Ok(()));
    check(&[Permission::ProxyInvoke], vec![use_by(Transform::Reveal)], Ok(()));
    check(&[Permission::ProxyInvoke], vec![use_by(Transform::Mask)], Err("forbidden"));
    check_use(&scene, Some(&chosen), None, Err("no key"));
}

#[test]
fn a_proxy_without_a_key_uses_tokens_as_its_own_application_or_not_at_all() {
    let scene = Scene::new();
    let mut chosen = scene.proxy(|settings| settings.require_auth = false);
    // An API key of the caller changes nothing.
    check_use(&scene, Some(&chosen), Some(&scene.vault.caller), Err("forbidden"));
    check_use(&scene, Some(&chosen), None, Err("forbidden"));
    chosen.application = Some(scene.caller(vec![Permission::TokenUse], vec![]));
    check_use(&scene, Some(&chosen), None, Ok(()));
    chosen.application = Some(scene.caller(vec![Permission::TokenCreate], vec![]));
    check_use(&scene, Some(&chosen), None, Err("forbidden"));
    assert!(scene.invoke_chosen(None, &chosen, call(&[], b"no tokens")).is_ok());
}

#[test]
fn failures_of_the_client_and_strange_statuses_are_not_answers() {
    let scene = Scene::new();
    let failure = |rest: &str| {
        let mut call = call(&[], b"");
        call.rest = String::from(rest);
        match scene.invoke(call) {
            Err(ProxyFailure::Outbound(failure)) => Some(failure),
            Ok(_) => None,
            Err(other) => panic!("{other:?}"),
        }
    };
    assert_eq!(failure("/status/503"), None);
    assert_eq!(failure("/status/302"), None);
    assert_eq!(failure("/slow"), Some(OutboundFailure::TimedOut));
    assert_eq!(failure("/refused"), Some(OutboundFailure::Refused("no")));
    for status in ["/status/101", "/status/199", "/status/600"] {
        assert!(matches!(failure(status), Some(OutboundFailure::Broken(_))));
    }
}

/// JSON of any shape, with spaces and escapes, and without expressions.
fn document() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just(String::from("null")),
        "-?[1-9][0-9]{0,20}(\\.[0-9]{1,3})?([eE][+-]?[0-9])?",
        r#""([a-z {}%:,\[\]]|\\u00e9|\\u007b|\\"|\\\\|\\n){0,8}""#,
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        let list = proptest::collection::vec(inner.clone(), 0..4);
        let members = proptest::collection::vec((r#" ?"[a-z{]{0,3}" ?"#, inner), 0..4);
        prop_oneof![
            list.prop_map(|items| format!("[ {}]", items.join(" ,"))),
            members.prop_map(|members| {
                let members = members.iter().map(|(name, value)| [name.as_str(), value].join(":"));
                format!("{{{} }}", members.collect::<Vec<_>>().join(","))
            }),
        ]
    })
}

#[test]
fn documents_without_expressions_keep_every_byte() {
    let scene = Scene::new();
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(document in document())| {
        prop_assume!(!document.replace("\\u007b", "{").contains("{{"));
        for kind in [JSON, FORM, "text/plain"] {
            let answer = scene.invoke(call(&[("content-type", kind)], document.as_bytes())).unwrap();
            prop_assert_eq!(answer.body.expose(), document.as_bytes());
        }
        // The bytes around an expression stay the same.
        let body = format!("[{document} , \"{{{{ {} | json: '$.cvc' }}}}\",{document}]", scene.card);
        let answer = scene.invoke(call(&[("content-type", JSON)], body.as_bytes())).unwrap();
        let expected = format!("[{document} , \"123\",{document}]");
        prop_assert_eq!(String::from_utf8_lossy(answer.body.expose()), expected);
    });
}
