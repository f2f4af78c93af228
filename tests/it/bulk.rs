//! `POST /tokenize` and `POST /detokenize`.

use serde_json::{Value, json};

use crate::exposure::update_existing;
use crate::harness::{Answer, NUMBER, Vault, only_rule};

fn tokenize(vault: &Vault, body: Value) -> Answer {
    vault.post("/tokenize", &vault.keys.private, body)
}

fn detokenize(vault: &Vault, body: Value) -> Answer {
    vault.post("/detokenize", &vault.keys.private, body)
}

/// The number of tokens in the stopped vault, which `verify` finds in order.
pub(crate) fn count(vault: &mut Vault) -> usize {
    let report = vault.stop_and_verify().stdout;
    let count = report.lines().find_map(|line| line.strip_prefix("tokens:")).expect("a count");
    count.trim().parse().unwrap()
}

#[test]
fn the_shape_comes_back_with_tokens_in_place_of_requests_and_ids_in_place_of_values() {
    let vault = Vault::start();
    let body = json!({
        "card": {"type": "card_number", "data": NUMBER, "metadata": {"a": "b"}},
        "list": ["text", {"deep": 7}, []], "flag": true, "nothing": null, "empty": {},
    });
    let json = tokenize(&vault, body).with_status(200).json;
    assert_eq!(json["card"]["type"], "card_number");
    assert_eq!(json["card"]["data"], NUMBER);
    assert_eq!(json["card"]["_extras"], json!({"deduplicated": false}));
    assert_eq!(
        [&json["nothing"], &json["empty"], &json["list"][2]],
        [&json!(null), &json!({}), &json!([])]
    );
    let made = [
        (&json["list"][0], json!("text")),
        (&json["list"][1]["deep"], json!(7)),
        (&json["flag"], json!(true)),
    ];
    for (id, data) in made {
        let token = vault.read(id.as_str().expect("an id")).with_status(200);
        assert_eq!(token.json["type"], "token");
        assert_eq!(token.json["data"], data);
    }
    let card = vault.read(json["card"]["id"].as_str().unwrap()).with_status(200);
    assert_eq!(card.json["metadata"], json!({"a": "b"}));
}

#[test]
fn the_root_may_be_a_request_a_list_or_a_value() {
    let vault = Vault::start();
    let one = tokenize(&vault, json!({"type": "token", "data": {"a": 1}})).with_status(200);
    assert_eq!(vault.read(&one.id()).json["data"], json!({"a": 1}));
    let list = tokenize(&vault, json!([{"type": "token", "data": 1}, "x"])).with_status(200);
    assert!(list.json[0]["id"].is_string() && list.json[1].is_string());
    let value = tokenize(&vault, json!("alone")).with_status(200);
    assert_eq!(vault.read(value.json.as_str().unwrap()).json["data"], "alone");
    assert_eq!(tokenize(&vault, json!({})).with_status(200).json, json!({}));
    // `type` alone, or `data` alone, is a value like any other.
    let odd = tokenize(&vault, json!({"type": "a", "x": {"data": "b"}})).with_status(200);
    assert!(odd.json["type"].is_string() && odd.json["x"]["data"].is_string());
}

#[test]
fn a_call_makes_all_of_its_tokens_or_none() {
    let mut vault = Vault::start();
    tokenize(&vault, json!({"a": "fine", "b": {"type": "card_number", "data": "1"}})).problem(400);
    let taken = json!({"type": "token", "data": 1, "id": "taken"});
    tokenize(&vault, json!(["fine", taken, taken])).problem(409);
    vault.token(taken.clone());
    tokenize(&vault, json!(["fine", taken])).problem(409);
    tokenize(&vault, json!(["fine", {"token_intent_id": "none"}])).problem(400);
    assert_eq!(count(&mut vault), 1);
}

#[test]
fn tokenize_mistakes_stand_at_their_place_in_the_body() {
    let vault = Vault::start();
    let bad = json!({"list": ["x", {"type": "no_such", "data": 1}]});
    tokenize(&vault, bad).invalid(&["$.list[1].type"]);
    let bad = json!({"card": {"type": "card", "data": {"number": "1", "cvc": "x"}}});
    tokenize(&vault, bad).invalid(&["$.card.data.cvc", "$.card.data.number"]);
    // Mistakes of all of its requests at once.
    let bad = json!([{"type": "card_number", "data": "1"}, {"type": "no_such", "data": 1}]);
    tokenize(&vault, bad).invalid(&["$[0].data", "$[1].type"]);
}

#[test]
fn the_quotas_count_tokens_and_expressions() {
    let vault = Vault::start();
    tokenize(&vault, json!([1, 2, 3, 4, 5])).with_status(200);
    tokenize(&vault, json!([1, 2, 3, 4, 5, 6])).problem(400);
    tokenize(&vault, json!([1, 2, 3, 4, {"a": 5, "b": null, "c": {}}])).with_status(200);
    let id = vault.token(json!({"type": "token", "data": "x"}));
    let one = format!("{{{{ {id} }}}}");
    let five = vec![one.clone(); 5];
    assert_eq!(detokenize(&vault, json!(five)).with_status(200).json, json!(vec!["x"; 5]));
    detokenize(&vault, json!(vec![one.clone(); 6])).problem(400);
    detokenize(&vault, json!(one.repeat(6))).problem(400);
    detokenize(&vault, json!({"a": one.repeat(5), "b": "no expression", "c": [1, 2, 3]}))
        .with_status(200);
}

#[test]
fn tokenize_needs_its_permission_in_every_container() {
    let mut vault = Vault::start();
    let key = vault.key_with("private", &[], &only_rule("/pci/", "mask", &["token:create"]));
    let card = json!({"type": "card_number", "data": "4242424242424242"});
    let made = vault.post("/tokenize", &key, json!({"a": card})).with_status(200);
    assert_eq!(made.json["a"]["data"], "XXXXXXXXXXXX4242");
    vault.post("/tokenize", &key, json!({"a": card, "b": "plain"})).problem(403);
    let elsewhere = json!({"type": "token", "data": 1, "containers": ["/pci/", "/x/"]});
    vault.post("/tokenize", &key, json!([card, elsewhere])).problem(403);
    let none = vault.key_with("private", &["token:read"], &json!([]));
    vault.post("/tokenize", &none, json!([])).problem(403);
    assert_eq!(count(&mut vault), 1);
}

#[test]
fn two_requests_of_one_call_with_the_same_content_are_one_token_when_deduplicated() {
    let mut vault = Vault::start();
    let same =
        json!({"type": "card_number", "data": "4242424242424242", "deduplicate_token": true});
    let made = tokenize(&vault, json!([same, same])).with_status(200);
    assert_eq!(made.json[0]["id"], made.json[1]["id"]);
    assert_eq!(made.json[0]["_extras"]["deduplicated"], json!(false));
    assert_eq!(made.json[1]["_extras"]["deduplicated"], json!(true));
    assert_eq!(count(&mut vault), 1);
}

#[test]
fn requests_of_one_call_that_bring_one_token_up_to_date_all_count() {
    let mut vault = Vault::start();
    update_existing(&vault);
    let with = |name: &str| json!({"type": "token", "data": "same", "metadata": {name: "1"}});
    let id = vault.token(with("first"));
    let made = tokenize(&vault, json!([with("second"), with("third")])).with_status(200);
    assert_eq!((&made.json[0]["id"], &made.json[1]["id"]), (&json!(id), &json!(id)));
    let metadata = vault.read(&id).json["metadata"].clone();
    assert_eq!(metadata, json!({"first": "1", "second": "1", "third": "1"}));
    assert_eq!(count(&mut vault), 1);
}

#[test]
fn one_intent_cannot_become_two_tokens_of_one_call() {
    let mut vault = Vault::start();
    let convert = json!({"token_intent_id": vault.intent(&vault.keys.private)});
    tokenize(&vault, json!([convert, convert])).problem(400);
    let made = tokenize(&vault, json!([convert, "x"])).with_status(200);
    assert_eq!(made.json[0]["data"]["number"], "4242424242424242");
    assert_eq!(count(&mut vault), 2);
}

#[test]
fn intents_of_the_same_content_in_one_call_are_all_consumed() {
    let mut vault = Vault::start();
    let intents = [(); 2].map(|()| vault.intent(&vault.keys.private));
    let convert = |id: &String| json!({"token_intent_id": id, "deduplicate_token": true});
    let made = tokenize(&vault, json!(intents.each_ref().map(convert))).with_status(200);
    assert_eq!(made.json[0]["id"], made.json[1]["id"]);
    for id in &intents {
        vault.get(&format!("/token-intents/{id}"), &vault.keys.private).problem(404);
    }
    assert_eq!(count(&mut vault), 1);
}

#[test]
fn an_expression_alone_keeps_the_type_and_several_make_a_text() {
    let vault = Vault::start();
    let card = json!({
        "number": "4242424242424242", "expiration_month": 12, "expiration_year": 2030,
        "list": [1, true, null],
    });
    let id = vault.token(json!({"type": "card", "data": card, "metadata": {"a": "b"}}));
    let text = vault.token(json!({"type": "token", "data": "Ada", "id": "an id: of, mine"}));
    let number = vault.token(json!({"type": "token", "data": 12.5}));
    for (expression, value) in [
        (format!("{{{{ {id} }}}}"), card.clone()),
        (format!("{{{{{id}}}}}"), card.clone()),
        (format!("{{{{ {id} | json: '$.number' }}}}"), json!("4242424242424242")),
        (format!("{{{{ {id} | json: '$.expiration_month' }}}}"), json!(12)),
        (format!("{{{{ {id} | json: '$.list' }}}}"), json!([1, true, null])),
        (format!("{{{{ {id} | json: '$.list[1]' }}}}"), json!(true)),
        (format!("{{{{ {number} }}}}"), json!(12.5)),
        (format!("{{{{ {text} | upcase }}}}"), json!("ADA")),
        (
            format!("{{{{ {text} }}}} pays with {{{{ {id} | json: '$.number' | last4 }}}}"),
            json!("Ada pays with 4242"),
        ),
        (format!("{{{{ {number} }}}}{{{{ {number} }}}}"), json!("12.512.5")),
        (format!(" {{{{ {number} }}}}"), json!(" 12.5")),
        (format!("{{{{ token: {id} | json: '$.metadata.a' }}}}"), json!("b")),
        (format!("{{{{ token: {id} | json: '$.data.number' }}}}"), json!("4242424242424242")),
        (format!("{{{{ token: {id} | json: '$.card.brand' }}}}"), json!("visa")),
        (format!("{{{{ token: {id} | json: '$.id' }}}}"), json!(id)),
        (String::from("no expression { here }"), json!("no expression { here }")),
    ] {
        let answer = detokenize(&vault, json!({"a": [expression]})).with_status(200);
        assert_eq!(answer.json, json!({"a": [value]}), "{expression}");
    }
    let whole = detokenize(&vault, json!(format!("{{{{ {text} }}}}"))).with_status(200);
    assert_eq!(whole.json, "Ada");
    let other = json!({"a": 1, "b": null, "c": [true, {}]});
    assert_eq!(detokenize(&vault, other.clone()).with_status(200).json, other);
}

#[test]
fn enrichments_are_visible_to_expressions_alone() {
    let vault = Vault::start();
    let id = vault.token(json!({"type": "card", "data": {"number": "4242424242424242"}}));
    assert_eq!(vault.read(&id).json.get("enrichments"), None);
    let expression = format!("{{{{ token: {id} | json: '$.enrichments' }}}}");
    let seen = detokenize(&vault, json!({"e": expression})).with_status(200).json;
    assert_eq!(seen["e"]["card_details"], json!({"bin": "42424242", "last4": "4242"}));
    assert_eq!(seen["e"]["bin_details"]["card_brand"], "VISA");
    assert_eq!(seen["e"]["bin_details"]["type"], "CREDIT");
}

#[test]
fn an_unknown_token_is_400_and_one_that_may_not_be_used_403() {
    let vault = Vault::start();
    let body = |id: &str| json!({"x": format!("{{{{ {id} }}}}")});
    detokenize(&vault, body("no-such-token")).invalid(&["$.x"]);
    let both = json!({"a": "{{ none-1 }}", "b": ["{{ none-2 }}"]});
    detokenize(&vault, both).invalid(&["$.a", "$.b[0]"]);
    for bad in ["{{ a/b }}", "{{ abc", "{{ abc | no_such_filter }}", "{{ }}"] {
        detokenize(&vault, json!({"x": bad})).invalid(&["$.x"]);
    }
    let other = vault.tenant("test");
    let token = json!({"type": "token", "data": 1});
    let theirs = vault.post("/tokens", &other.keys.private, token).with_status(201).id();
    detokenize(&vault, body(&theirs)).invalid(&["$.x"]);
    let id = vault.token(json!({"type": "token", "data": 1, "containers": ["/a/"]}));
    let elsewhere = vault.key_with("private", &[], &only_rule("/b/", "reveal", &["token:use"]));
    vault.post("/detokenize", &elsewhere, body(&id)).problem(403);
    let creates = vault.key_with("private", &["token:create"], &json!([]));
    vault.post("/detokenize", &creates, json!({})).problem(403);
    vault.delete(&format!("/tokens/{id}"), &vault.keys.private).with_status(204);
    detokenize(&vault, body(&id)).invalid(&["$.x"]);
    // A filter that fails on what it was given.
    let text = vault.token(json!({"type": "token", "data": "x"}));
    let failing = format!("{{{{ {text} | to_number }}}}");
    detokenize(&vault, json!({"x": failing})).invalid(&["$.x"]);
}

#[test]
fn using_reveals_and_reading_shows_what_its_transform_does() {
    let vault = Vault::start();
    let id = vault.token(json!({"type": "card_number", "data": "4242424242424242"}));
    let body = json!({"x": format!("{{{{ {id} }}}}")});
    for (permission, transform, expected) in [
        ("token:use", "reveal", json!("4242424242424242")),
        ("token:read", "reveal", json!("4242424242424242")),
        ("token:read", "mask", json!("XXXXXXXXXXXX4242")),
        ("token:read", "redact", json!(null)),
    ] {
        let key = vault.key_with("private", &[], &only_rule("/", transform, &[permission]));
        let seen = vault.post("/detokenize", &key, body.clone()).with_status(200);
        assert_eq!(seen.json["x"], expected, "{permission} {transform}");
    }
    let plain = vault.key_with("private", &["token:use"], &json!([]));
    let seen = vault.post("/detokenize", &plain, body.clone()).with_status(200);
    assert_eq!(seen.json["x"], "4242424242424242");
    let masked = vault.key_with("private", &["token:read"], &json!([]));
    let seen = vault.post("/detokenize", &masked, body).with_status(200);
    assert_eq!(seen.json["x"], "XXXXXXXXXXXX4242");
}

#[test]
fn an_intent_can_be_used_in_an_expression() {
    let vault = Vault::start();
    let card = json!({"number": "4242424242424242", "expiration_month": 2, "cvc": "987"});
    let body = json!({"type": "card", "data": card});
    let id = vault.post("/token-intents", &vault.keys.private, body).with_status(201).id();
    let of = |path: &str| format!("{{{{ token_intent: {id} | json: '$.{path}' }}}}");
    let all = ["data.number", "data.cvc", "data.expiration_month", "card.brand"].map(of);
    let seen = detokenize(&vault, json!(all)).with_status(200);
    assert_eq!(seen.json, json!(["4242424242424242", "987", 2, "visa"]));
    // An intent is no token, and a token no intent.
    detokenize(&vault, json!({"x": format!("{{{{ {id} }}}}")})).invalid(&["$.x"]);
    let token = vault.token(json!({"type": "token", "data": 1}));
    let wrong = format!("{{{{ token_intent: {token} }}}}");
    detokenize(&vault, json!({"x": wrong})).invalid(&["$.x"]);
    let reads = vault.key_with("private", &[], &only_rule("/general/", "reveal", &["token:use"]));
    vault.post("/detokenize", &reads, json!({"x": of("data.number")})).problem(403);
}

#[test]
fn very_many_tokens_of_the_same_content_elsewhere_do_not_stop_a_deduplicating_one() {
    let vault = Vault::start();
    let body = |containers: Value| json!({"type": "token", "data": "x", "containers": containers});
    for _ in 0..110 {
        vault.token(body(json!(["/a/", "/b/"])));
    }
    let mut wanted = body(json!(["/a/"]));
    wanted["deduplicate_token"] = json!(true);
    let made = vault.create(wanted).with_status(201);
    assert_eq!(made.json["_extras"]["deduplicated"], json!(false));
}

/// The paths of its values would take gigabytes if each were written down.
#[test]
fn a_long_name_over_many_values_is_refused_at_little_cost() {
    let vault = Vault::start();
    let name = "n".repeat(100_000);
    let values = json!({ name.as_str(): vec![1; 60_000] });
    tokenize(&vault, values).problem(400);
    let broken = json!({ name.as_str(): vec!["{{"; 20_000] });
    let told = detokenize(&vault, broken).problem(400);
    assert!(told.bytes.len() < 64 * 1024);
    tokenize(&vault, json!({"a": "x"})).with_status(200);
}

/// A body may hold a great many expressions; each for itself would be cheap enough.
#[test]
fn the_expressions_of_one_call_share_the_work_they_may_do() {
    let vault = Vault::start_with(&["--quota", "detokenize_limit=1000"]);
    let id = vault.token(json!({"type": "token", "data": "x".repeat(100_000)}));
    let one = format!("{{{{ {id} | upcase }}}}");
    detokenize(&vault, json!(vec![one.clone(); 10])).with_status(200);
    let told = detokenize(&vault, json!(vec![one; 1_000])).problem(400);
    assert!(told.bytes.len() < 64 * 1024);
}
