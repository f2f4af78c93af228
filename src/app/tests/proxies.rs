//! Proxies by their keys, and their transforms on messages.

use serde_json::{Value, json};

use crate::app::proxies::transforms::{Message, Surroundings, TransformFailure};
use crate::app::tests::{TestVault, draft};
use crate::app::tokens::evaluations::Work;
use crate::app::{Caller, Error, TokenDraft, Write};
use crate::bounds::{PROXIES_MAX, PROXY_TRANSFORMED_BYTES_MAX};
use crate::domain::metadata::Metadata;
use crate::domain::mistakes::Mistakes;
use crate::domain::proxy::read::read_transforms;
use crate::domain::proxy::transform::Side;
use crate::domain::proxy::{Configuration, Destination, Proxy, ProxySettings};
use crate::expressions::{Scope, ScopedValue};
use crate::secret::Secret;
use crate::store::tests::block_on;
use crate::store::{Change, Table, tables};

fn settings(request: &Value, response: &Value) -> Result<ProxySettings, Mistakes> {
    let body = json!({"request_transforms": request, "response_transforms": response});
    let mut mistakes = Mistakes::new();
    let members = body.as_object().unwrap();
    let [request, response] =
        [Side::Request, Side::Response].map(|side| read_transforms(members, side, &mut mistakes));
    mistakes.into_result()?;
    Ok(ProxySettings {
        name: String::from("Charge"),
        destination: Destination::parse("https://psp.example").unwrap(),
        require_auth: true,
        application: None,
        configuration: Configuration(vec![(
            String::from("secret"),
            Secret::new(String::from("s3cret")),
        )]),
        disable_detokenization: false,
        destroy_cvc_after_use: false,
        request_transforms: request,
        response_transforms: response,
        client_certificate: None,
    })
}

pub(super) async fn create(vault: &TestVault, response: &Value) -> Result<Proxy, Error> {
    let settings = || settings(&json!([]), response);
    let made = vault.app.create_named(&vault.caller, &settings, &Write::plain()).await?;
    Ok(made.outcome)
}

struct TestScope(Value);

impl Scope for TestScope {
    fn variable(&self, name: &str) -> Option<ScopedValue<'_>> {
        self.0.get(name).map(ScopedValue::open)
    }
}

/// The caller's answer, for this answer of the destination.
fn respond(
    vault: &TestVault,
    transforms: &Value,
    status: u16,
    headers: &[(&str, &str)],
    body: &str,
) -> Result<Message, TransformFailure> {
    let scope = TestScope(json!({"config": {"secret": "s3cret"}}));
    let token = |body: &Value| TokenDraft {
        metadata: Metadata::default(),
        containers: None,
        ..draft(body["data"].as_str().unwrap())
    };
    block_on(async {
        let proxy = create(vault, transforms).await.unwrap();
        let header = |(name, value): &(&str, &str)| {
            (String::from(*name), Secret::new(value.as_bytes().to_vec()))
        };
        let message = Message {
            headers: headers.iter().map(header).collect(),
            body: Secret::new(body.as_bytes().to_vec()),
        };
        let caller: &Caller = &vault.caller;
        let (party, caller) = (caller.party(), Some(caller));
        let work = &Work::Page.budget();
        let around = Surroundings { party, work, scope: &scope, caller, draft: &token, code: None };
        vault.app.proxies().transform_response(&proxy, status, message, around).await
    })
}

#[track_caller]
fn check(transforms: &Value, body: &str, expected: &str) {
    let vault = TestVault::new();
    let answer = respond(&vault, transforms, 200, &[], body).unwrap();
    assert_eq!(String::from_utf8_lossy(answer.body.expose()), expected);
}

#[track_caller]
fn check_failure(transforms: &Value, headers: &[(&str, &str)], body: &str, words: &str) {
    let vault = TestVault::new();
    match respond(&vault, transforms, 200, headers, body) {
        Err(TransformFailure::Failed(why)) => assert!(why.contains(words), "{why}"),
        other => panic!("{other:?}"),
    }
}

fn masks() -> Value {
    let expression = r"(\d{12})\d{4}";
    json!([{"type": "mask", "matcher": "regex", "expression": expression, "replacement": "*"}])
}

#[expect(clippy::needless_pass_by_value, reason = "values are written where they are used")]
fn append(kind: &str, location: &str, value: Value) -> Value {
    json!({"type": kind, "options": {"location": location, "value": value}})
}

#[test]
fn a_proxy_is_found_by_its_whole_key_alone() {
    let vault = TestVault::new();
    block_on(async {
        let proxy = create(&vault, &json!([])).await.unwrap();
        let key = proxy.key.expose();
        let found = |text: &str| vault.app.proxies().find_by_key(text).unwrap();
        assert_eq!(found(key).unwrap().id, proxy.id);
        let (front, last) = key.split_at(key.len() - 1);
        let other = format!("{front}{}", if last == "1" { "2" } else { "1" });
        for wrong in [front, &other, "", "no key", &proxy.id.to_string()] {
            assert!(found(wrong).is_none(), "{wrong}");
        }
        vault.assert_clean();
        vault.app.delete_named::<Proxy>(&vault.caller, proxy.id).await.unwrap();
        assert!(found(key).is_none());
        vault.assert_clean();
    });
}

#[test]
fn a_row_that_leads_to_the_proxy_of_another_key_finds_nothing() {
    let vault = TestVault::new();
    block_on(async {
        let [one, other] =
            [create(&vault, &json!([])).await.unwrap(), create(&vault, &json!([])).await.unwrap()];
        let finder = tables::proxy_keys(&crate::app::records::proxy_key_hash(&one.key));
        let row = tables::proxies(other.tenant, other.id);
        vault.app.store.commit(Change::new().put(Table::ProxyKeys, finder, row)).await.unwrap();
        assert!(vault.app.proxies().find_by_key(one.key.expose()).is_err());
        assert!(vault.app.proxies().find_by_key(other.key.expose()).unwrap().is_some());
    });
}

#[test]
fn a_tenant_has_at_most_as_many_proxies_as_the_bound_says() {
    let vault = TestVault::new();
    block_on(async {
        for _ in 0..PROXIES_MAX {
            create(&vault, &json!([])).await.unwrap();
        }
        assert!(matches!(create(&vault, &json!([])).await, Err(Error::Conflict(_))));
    });
}

#[test]
fn transforms_run_in_the_order_of_the_list() {
    let pan = r#"{"pan":"4242424242424242"}"#;
    check(&masks(), pan, r#"{"pan":"************4242"}"#);
    let text = append("append_text", "", json!(" 4242424242424242"));
    let [first, second] = [json!([text, masks()[0]]), json!([masks()[0], text])];
    check(&first, pan, r#"{"pan":"************4242"} ************4242"#);
    check(&second, pan, r#"{"pan":"************4242"} 4242424242424242"#);
}

#[test]
fn values_of_options_are_expressions() {
    let body = r#"{"id":7.50,"name":"x"}"#;
    let set = |value: Value| json!([append("append_json", "$.z", value)]);
    let with = |value: &str| format!(r#"{{"id":7.50,"name":"x","z":{value}}}"#);
    check(&set(json!("{{ res.id }}")), body, &with("7.50"));
    check(&set(json!("{{ res.id }}!")), body, &with(r#""7.50!""#));
    check(&set(json!("{{ config: secret }}")), body, &with(r#""s3cret""#));
    check(&set(json!({"b": ["{{ res.name }}", 1]})), body, &with(r#"{"b":["x",1]}"#));
    check(&set(json!("{{ res.none }}")), body, &with("null"));
    check(&set(json!(1)), "", r#"{"z":1}"#);
    let text = json!([append("append_text", "", json!("-{{ res.name }}"))]);
    check(&text, body, &format!("{body}-x"));
}

#[test]
fn a_header_is_set_in_place_of_all_of_its_name() {
    let vault = TestVault::new();
    let transforms = json!([append("append_header", "X-Id", json!("{{ res.id }}"))]);
    let headers = [("x-id", "old"), ("X-ID", "older"), ("x-other", "1")];
    let answer = respond(&vault, &transforms, 201, &headers, r#"{"id":7}"#).unwrap();
    let told: Vec<_> = answer
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.expose().as_slice()))
        .collect();
    assert_eq!(told, [("x-other", b"1".as_slice()), ("x-id", b"7")]);
    check_failure(&transforms, &[], "{\"id\":\"a\\r\\nb\"}", "header");
}

#[test]
fn a_tokenize_transform_makes_a_token_whose_id_later_transforms_use() {
    let vault = TestVault::new();
    let tokenize = json!({"type": "tokenize", "options": {
        "identifier": "card",
        "token": {"type": "token", "data": "{{ res.pan }}", "mask": "{{ data | reveal_last: 4 }}"},
    }});
    let replace =
        append("append_json", "$.pan", json!("{{ transform_identifier: 'card' | json: '$.id' }}"));
    let data = append(
        "append_json",
        "$.data",
        json!("{{ transform_identifier: 'card' | json: '$.data' }}"),
    );
    let body = r#"{"pan":"4242424242424242"}"#;
    let answer = respond(&vault, &json!([tokenize, replace, data]), 200, &[], body).unwrap();
    let answer: Value = serde_json::from_slice(answer.body.expose()).unwrap();
    let id = answer["pan"].as_str().unwrap();
    assert_eq!(vault.data(id), Some(json!({"value": "4242424242424242"})));
    assert_eq!(answer["data"], Value::Null, "later transforms do not see the data");
    vault.assert_clean();
}

#[test]
fn an_answer_of_another_status_stays_as_it_is() {
    let vault = TestVault::new();
    for status in [199, 300, 400, 500] {
        let answer = respond(&vault, &masks(), status, &[], "4242424242424242").unwrap();
        assert_eq!(answer.body.expose(), b"4242424242424242");
    }
    for status in [200, 204, 299] {
        let answer = respond(&vault, &masks(), status, &[], "4242424242424242").unwrap();
        assert_eq!(answer.body.expose(), b"************4242");
    }
}

#[test]
fn all_masks_of_a_call_share_their_steps() {
    let vault = TestVault::new();
    // The pattern tries twelve digits at each digit, and masks nothing.
    let mask = json!({
        "type": "mask", "matcher": "regex", "expression": r"(\d{12})x", "replacement": "*",
    });
    let digits = "1".repeat(100_000);
    let masked =
        |count: usize| respond(&vault, &json!(vec![mask.clone(); count]), 200, &[], &digits);
    assert!(masked(1).is_ok());
    assert!(matches!(masked(10), Err(TransformFailure::Failed(why)) if why.contains("too long")));
}

#[test]
fn a_body_that_a_transform_cannot_read_is_an_error_and_not_shown() {
    let gzip = [("Content-Encoding", "gzip")];
    check_failure(&masks(), &gzip, "x", "compressed");
    check_failure(&masks(), &[], &"1".repeat(PROXY_TRANSFORMED_BYTES_MAX + 1), "large");
    check_failure(&json!([append("append_json", "$.a", json!(1))]), &[], "text", "not JSON");
    check_failure(&json!([append("append_json", "$.a", json!(1))]), &[], "[1]", "no place");
    let slow = json!([{"type": "mask", "matcher": "regex", "expression": "(a.*b)|(a)", "replacement": "*"}]);
    check_failure(&slow, &[], &"a".repeat(20_000), "too long");
    let many = format!("[{}1]", "1,".repeat(40_000));
    check_failure(&json!([append("append_text", "", json!("{{ res }}"))]), &[], &many, "large");
    // Transforms cannot name a token of the caller, whatever the record contains.
    let token =
        json!([append("append_text", "", json!("{{ 5b0f4f5e-3b1c-4d33-8f0b-0a4b7f0f6a55 }}"))]);
    check_failure(&token, &[], "x", "no token");
}
