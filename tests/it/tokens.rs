//! Tokens: created, read, deleted.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::harness::{Vault, get, post};

#[test]
fn a_token_comes_back_as_it_was_created_with_what_it_gets_by_default() {
    let vault = Vault::start();
    let data = json!({"a": [1, 2.5, "x", null, true], "empty": {}});
    let made = vault.create(json!({"type": "token", "data": data})).with_status(201);
    assert_eq!(made.header("content-type"), Some("application/json; charset=utf-8"));
    let id = made.id();
    let location = format!("https://{}/tokens/{id}", vault.address);
    assert_eq!(made.header("location"), Some(location.as_str()));
    let read = vault.read(&id).with_status(200);
    assert_eq!(read.header("content-type"), Some("application/json; charset=utf-8"));
    assert_eq!(read.header("cache-control"), Some("no-store"));
    let token = &read.json;
    assert_eq!(token["data"], data);
    assert_eq!(token["type"], "token");
    assert_eq!(token["tenant_id"], json!(vault.tenant_id));
    assert_eq!(token["containers"], json!(["/general/high/"]));
    let privacy = json!({
        "classification": "general", "impact_level": "high", "restriction_policy": "redact",
    });
    assert_eq!(token["privacy"], privacy);
    assert_eq!(token["metadata"], json!({}));
    assert_eq!(token["search_indexes"], json!([]));
    assert_eq!(token["fingerprint_expression"], "{{ data | stringify }}");
    assert!(read.member("fingerprint").bytes().all(|byte| byte.is_ascii_alphanumeric()));
    let by = vault.get("/applications/key", &vault.keys.private).id();
    assert_eq!(token["created_by"], json!(by));
    check_time(&read.member("created_at"));
    for absent in ["expires_at", "modified_by", "modified_at", "mask", "_extras"] {
        assert!(token.get(absent).is_none(), "{absent}");
    }
    let names: Vec<_> = token.as_object().unwrap().iter().collect();
    assert!(names.iter().all(|(_, value)| !value.is_null()), "{}", read.text());
    // The answer to the create says the same and that nothing was there before.
    let mut created = made.json.clone();
    let extras = created.as_object_mut().unwrap().remove("_extras");
    assert_eq!(extras, Some(json!({"deduplicated": false})));
    assert_eq!(&created, token);
}

/// `2026-11-14T09:30:00.1234567+00:00`.
#[track_caller]
fn check_time(text: &str) {
    let shape: String = text.chars().map(|it| if it.is_ascii_digit() { '0' } else { it }).collect();
    assert_eq!(shape, "0000-00-00T00:00:00.0000000+00:00", "{text}");
}

#[test]
fn an_assigned_id_is_a_uuid_of_version_4_and_of_its_own() {
    let vault = Vault::start();
    let ids: BTreeSet<_> =
        (0..50).map(|_| vault.token(json!({"type": "token", "data": "same"}))).collect();
    assert_eq!(ids.len(), 50);
    for id in &ids {
        let uuid = uuid::Uuid::parse_str(id).unwrap();
        assert_eq!(uuid.get_version_num(), 4, "{id}");
        assert_eq!(uuid.get_variant(), uuid::Variant::RFC4122, "{id}");
        assert_eq!(&uuid.to_string(), id);
    }
}

#[test]
fn any_json_value_can_be_the_data_of_a_token() {
    let vault = Vault::start();
    let values = [
        json!("text"),
        json!(""),
        json!(0),
        json!(-1.5),
        json!(true),
        json!(false),
        json!([]),
        json!({}),
        json!([[["deep"]]]),
        json!({"\u{e9}\u{1f511}": "\u{0}\u{7f}\"\\/"}),
        json!(18_446_744_073_709_551_615_u64),
        json!(i64::MIN),
    ];
    for value in values {
        let id = vault.token(json!({"type": "token", "data": value}));
        assert_eq!(vault.read(&id).with_status(200).json["data"], value);
    }
}

#[test]
fn a_deleted_token_is_gone() {
    let vault = Vault::start();
    let id = vault.token(json!({"type": "token", "data": "x"}));
    let path = format!("/tokens/{id}");
    let gone = vault.delete(&path, &vault.keys.private).with_status(204);
    assert!(gone.bytes.is_empty());
    assert_eq!(gone.header("content-type"), None);
    assert!(gone.header("bt-trace-id").is_some());
    vault.read(&id).problem(404);
    vault.delete(&path, &vault.keys.private).problem(404);
}

#[test]
fn containers_are_kept_in_lower_case_without_repetition() {
    let vault = Vault::start();
    let body = json!({"type": "token", "data": 1, "containers": ["/B/", "/a/x_1-/", "/b/"]});
    let made = vault.create(body).with_status(201);
    assert_eq!(made.json["containers"], json!(["/a/x_1-/", "/b/"]));
    let root = vault.create(json!({"type": "token", "data": 1, "containers": ["/"]}));
    assert_eq!(root.with_status(201).json["containers"], json!(["/"]));
    let ten: Vec<_> = (0..10).map(|at| format!("/c{at}/")).collect();
    vault.create(json!({"type": "token", "data": 1, "containers": ten})).with_status(201);
    let eleven: Vec<_> = (0..11).map(|at| format!("/c{at}/")).collect();
    vault
        .create(json!({"type": "token", "data": 1, "containers": eleven}))
        .invalid(&["containers"]);
    // Containers that are all wrong are a mistake of the body, and no refusal.
    vault
        .create(json!({"type": "token", "data": 1, "containers": ["x"]}))
        .invalid(&["containers[0]"]);
    let bad = json!(["/a/", "a", "/a//b/", "/a b/", 7]);
    vault.create(json!({"type": "token", "data": 1, "containers": bad})).invalid(&[
        "containers[1]",
        "containers[2]",
        "containers[3]",
        "containers[4]",
    ]);
}

#[test]
fn metadata_is_text_by_text() {
    let vault = Vault::start();
    let metadata = json!({"a": "1", "b": "", "\u{e9}": "\u{1f511}", "none": null});
    let id = vault.token(json!({"type": "token", "data": 1, "metadata": metadata}));
    let kept = json!({"a": "1", "b": "", "\u{e9}": "\u{1f511}"});
    assert_eq!(vault.read(&id).json["metadata"], kept);
    for value in [json!(1), json!(true), json!(["x"]), json!({"x": "y"})] {
        let body = json!({"type": "token", "data": 1, "metadata": {"k": value}});
        vault.create(body).invalid(&["metadata.k"]);
    }
    for value in [json!("x"), json!([]), json!(1)] {
        vault.create(json!({"type": "token", "data": 1, "metadata": value})).invalid(&["metadata"]);
    }
}

#[test]
fn a_mask_comes_back_as_it_was_written_and_a_bad_one_is_refused() {
    let vault = Vault::start();
    let key = vault.key_with("private", &["token:create", "token:read"], &json!([]));
    let body = json!({
        "type": "token",
        "data": {"name": "Ada", "number": 12345},
        "mask": {"name": "{{ data.name }}", "last": "{{ data.number | last4 }}", "fixed": "none"},
    });
    let made = vault.post("/tokens", &key, body.clone()).with_status(201);
    assert_eq!(made.json["mask"], body["mask"]);
    assert_eq!(made.json["data"]["name"], "Ada");
    assert_eq!(made.json["data"]["fixed"], "none");
    let broken = json!({"a": "{{ data", "b": {"c": "{{ data | no_such_filter }}"}});
    let body = json!({"type": "token", "data": 1, "mask": broken});
    vault.create(body).invalid(&["mask.a", "mask.b.c"]);
}

#[test]
fn a_predefined_id_is_used_and_taken_once() {
    let vault = Vault::start();
    let with = |id: &str| json!({"type": "token", "data": "x", "id": id});
    let made = vault.create(with("order 7:\u{e9}@x")).with_status(201);
    assert_eq!(made.id(), "order 7:\u{e9}@x");
    let read = vault.get("/tokens/order%207:%C3%A9%40x", &vault.keys.private).with_status(200);
    assert_eq!(read.id(), "order 7:\u{e9}@x");
    vault.create(with("order 7:\u{e9}@x")).problem(409);
    vault.delete("/tokens/order%207%3A%c3%a9@x", &vault.keys.private).with_status(204);
    vault.create(with("order 7:\u{e9}@x")).with_status(201);
    let other = vault.tenant("test");
    vault.post("/tokens", &other.keys.private, with("order 7:\u{e9}@x")).with_status(201);
    vault.create(with("abc")).with_status(201);
    vault.create(with(&"a".repeat(400))).with_status(201);
    vault.create(with("ab")).invalid(&["id"]);
    vault.create(with(&"a".repeat(401))).invalid(&["id"]);
    for character in "#/\\+?[]|&=%<>{}^".chars() {
        vault.create(with(&format!("abc{character}d"))).invalid(&["id"]);
    }
    vault.create(json!({"type": "token", "data": "x", "id": 7})).invalid(&["id"]);
}

/// Characters of an id that URLs do not have are escaped in its location.
#[test]
fn the_location_of_a_predefined_id_leads_to_the_token() {
    let vault = Vault::start();
    for id in ["plain-id", "with space", "\u{e9}t\u{e9}", "a;b,c\"d`e"] {
        let body = json!({"type": "token", "data": "x", "id": id});
        let made = vault.create(body).with_status(201);
        let location = made.header("location").expect("a location");
        let start = format!("https://{}", vault.address);
        let path = location.strip_prefix(&start).expect("absolute");
        assert!(path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"'), "{path}");
        assert_eq!(vault.get(path, &vault.keys.private).with_status(200).id(), id);
    }
}

/// A number comes back with the digits it came with, or is refused: never with others.
#[test]
fn a_number_is_not_stored_with_other_digits() {
    let vault = Vault::start();
    for number in ["12345678901234567890123", "0.12345678901234567891", "1e+400"] {
        let body = format!(r#"{{"type":"token","data":{number}}}"#);
        let request = post("/tokens").key(&vault.keys.private);
        let made = vault.send(&request.header("Content-Type", "application/json").body(body));
        if made.status == 400 {
            continue;
        }
        let read = vault.read(&made.with_status(201).id()).with_status(200);
        assert!(read.text().contains(&format!("\"data\":{number},")), "{}", read.text());
    }
}

#[test]
fn an_alias_id_is_evaluated_and_gives_way_when_it_stays_taken() {
    let vault = Vault::start();
    let body = json!({
        "type": "card_number", "data": "4242424242424242", "id": "{{ data | alias_card }}",
    });
    let made = vault.create(body).with_status(201).id();
    assert!(made.len() == 16 && made.bytes().all(|byte| byte.is_ascii_digit()), "{made}");
    assert_ne!(made, "4242424242424242");
    assert_eq!(vault.read(&made).json["data"], "4242424242424242");
    let fixed = json!({"type": "token", "data": "name-1", "id": "{{ data }}"});
    assert_eq!(vault.create(fixed.clone()).with_status(201).id(), "name-1");
    let second = vault.create(fixed).with_status(201).id();
    assert!(uuid::Uuid::parse_str(&second).is_ok(), "{second}");
    vault.create(json!({"type": "token", "data": "x", "id": "{{ data.none }}"})).invalid(&["id"]);
    vault.create(json!({"type": "token", "data": "x", "id": "{{ data"})).invalid(&["id"]);
    vault.create(json!({"type": "token", "data": "a/b/c", "id": "{{ data }}"})).invalid(&["id"]);
}

#[test]
fn a_trace_id_is_echoed_or_made() {
    let vault = Vault::start();
    for request in [get("/permissions").key(&vault.keys.private), get("/none"), post("/tokens")] {
        let own = vault.send(&request.clone().header("bt-trace-id", "my-trace.1"));
        assert_eq!(own.header("BT-TRACE-ID"), Some("my-trace.1"));
        let made = [(); 2].map(|()| vault.send(&request));
        let [one, other] = made.each_ref().map(|it| it.header("BT-TRACE-ID").unwrap());
        assert!(uuid::Uuid::parse_str(one).is_ok(), "{one}");
        assert_ne!(one, other);
        if own.status >= 400 {
            assert_eq!(own.json["trace_id"], "my-trace.1");
            assert_eq!(made[0].json["trace_id"], json!(one));
        }
    }
    let long = "t".repeat(129);
    for bad in ["two words", long.as_str(), ""] {
        let request = get("/permissions").key(&vault.keys.private).header("BT-TRACE-ID", bad);
        let answer = vault.send(&request).with_status(200);
        assert!(uuid::Uuid::parse_str(answer.header("BT-TRACE-ID").unwrap()).is_ok());
    }
}

#[test]
fn metadata_is_bounded_as_a_whole_and_long_values_are_found() {
    let vault = Vault::start();
    let key = &vault.keys.private;
    let create = |metadata: Value| {
        vault.post("/tokens", key, json!({"type": "token", "data": 1, "metadata": metadata}))
    };
    let note = "n".repeat(3_000);
    let made = create(json!({"note": note, "k": "v"})).with_status(201);
    assert_eq!(made.json["metadata"]["note"], note);
    let found = vault.get(&format!("/v2/tokens?metadata.note={note}"), key).with_status(200);
    assert_eq!(found.json["data"][0]["id"], made.id());
    create(json!({"a": "x".repeat(8 * 1024), "b": "x".repeat(8 * 1024 - 2)})).with_status(201);
    create(json!({"a": "x".repeat(8 * 1024), "b": "x".repeat(8 * 1024 - 1)}))
        .invalid(&["metadata"]);
    // A patch is bounded by its result.
    let more = json!({"metadata": {"more": "x".repeat(14_000)}});
    vault.patch(&made.id(), more).invalid(&["metadata"]);
}

crate::harness::again_over_http2! {
    a_token_comes_back_as_it_was_created_with_what_it_gets_by_default,
    any_json_value_can_be_the_data_of_a_token,
    a_deleted_token_is_gone,
    a_predefined_id_is_used_and_taken_once,
    a_trace_id_is_echoed_or_made,
    metadata_is_bounded_as_a_whole_and_long_values_are_found,
}
