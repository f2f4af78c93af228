//! Requests as no client library would send them: every one gets a whole problem, never a reset.

use serde_json::{Value, json};

use crate::harness::{Answer, Request, Vault, get, options, over_http2, patch, post};

fn send(vault: &Vault, content_type: &str, body: impl Into<Vec<u8>>) -> Answer {
    let request = post("/tokens").key(&vault.keys.private);
    vault.send(&request.header("Content-Type", content_type).body(body))
}

fn json_body(vault: &Vault, body: impl Into<Vec<u8>>) -> Answer {
    send(vault, "application/json", body)
}

#[test]
fn all_mistakes_of_a_body_are_told_at_once_and_none_repeats_a_value() {
    let vault = Vault::start();
    let body = json!({
        "type": "card",
        "data": {
            "number": "4242424242424241", "expiration_month": 13, "expiration_year": 99,
            "cvc": "98765",
        },
        "mask": {"n": "{{ data | no_such_filter }}"},
        "id": "a/b",
        "containers": ["/a/", "nowhere", 2],
        "metadata": {"m": 1, "b": "fine"},
        "deduplicate_token": "yes",
        "expires_at": "some day",
        "search_indexes": [1, "{{ data.number }}"],
        "fingerprint_expression": 7,
    });
    let refused = vault.create(body).invalid(&[
        "containers[1]",
        "containers[2]",
        "data.cvc",
        "data.expiration_month",
        "data.expiration_year",
        "data.number",
        "deduplicate_token",
        "expires_at",
        "fingerprint_expression",
        "id",
        "mask.n",
        "metadata.m",
        "search_indexes[0]",
    ]);
    for value in ["4242424242424241", "98765", "nowhere", "some day", "a/b", "no_such_filter"] {
        assert!(!refused.text().contains(value), "{}", refused.text());
    }
    vault.create(json!({"type": "token"})).invalid(&["data"]);
    let body = json!({
        "type": "token", "data": 1, "search_indexes": ["{{ data", "{{ data }}"],
        "fingerprint_expression": "{{ nothing }}",
    });
    vault.create(body).invalid(&["fingerprint_expression", "search_indexes[0]"]);
}

#[test]
fn a_problem_of_validation_has_the_published_words() {
    let vault = Vault::start();
    let problem = vault.create(json!({"type": 1, "data": 1})).invalid(&["type"]);
    assert_eq!(problem.json["title"], "One or more validation errors occurred.");
    assert_eq!(problem.json["detail"], "The inputs supplied to the API are invalid");
    assert_eq!(problem.json["errors"]["type"], json!(["Deserialization error, invalid input."]));
}

#[test]
fn null_is_the_same_as_absent_and_unknown_members_are_ignored() {
    let vault = Vault::start();
    let body = json!({
        "type": "token", "data": "x", "id": null, "mask": null, "containers": null,
        "metadata": null, "search_indexes": null, "fingerprint_expression": null,
        "deduplicate_token": null, "expires_at": null, "no_such_member": {"deep": [1]},
        "privacy": null,
    });
    let made = vault.create(body).with_status(201);
    assert_eq!(made.json["containers"], json!(["/general/high/"]));
    assert!(made.json.get("no_such_member").is_none());
    let body = json!({"type": null, "data": null});
    vault.create(body).invalid(&["data", "type"]);
    let body = json!({"type": "token", "data": 1, "containers": []});
    let made = vault.create(body).with_status(201);
    assert_eq!(made.json["containers"], json!(["/general/high/"]));
}

#[test]
fn members_of_the_wrong_type_are_refused_under_their_names() {
    let vault = Vault::start();
    for (name, value) in [
        ("type", json!(["token"])),
        ("id", json!({})),
        ("containers", json!("/a/")),
        ("containers", json!({"0": "/a/"})),
        ("metadata", json!("a=b")),
        ("search_indexes", json!("{{ data }}")),
        ("type", json!("colour")),
        ("fingerprint_expression", json!(["{{ data }}"])),
        ("deduplicate_token", json!("true")),
        ("deduplicate_token", json!(1)),
        ("expires_at", json!({})),
    ] {
        let mut body = json!({"type": "token", "data": "x"});
        body[name] = value;
        vault.create(body).invalid(&[name]);
    }
}

#[test]
fn what_is_not_an_object_is_one_mistake() {
    let vault = Vault::start();
    let body = json!({"name": "n", "type": "private", "rules": ["a rule"]});
    vault.post("/applications", &vault.keys.management, body).invalid(&["rules[0]"]);
    for body in [json!([]), json!("text"), json!(1), json!(null)] {
        vault.create(body).invalid(&["$"]);
    }
}

#[test]
fn what_is_no_json_is_refused() {
    let vault = Vault::start();
    let bodies: [&[u8]; 14] = [
        b"",
        b" ",
        b"{",
        b"{\"type\":\"token\",\"data\":1",
        b"{'type':'token'}",
        b"{\"type\":\"token\",\"data\":1}x",
        b"{\"type\":\"token\",\"data\":1,}",
        b"{\"type\":\"token\",\"data\":NaN}",
        b"{\"type\":\"token\",\"data\":01}",
        b"{\"type\":\"token\",\"data\":\"\xff\xfe\"}",
        b"{\"type\":\"token\",\"data\":\"\xc0\x80\"}",
        b"{\"type\":\"token\",\"data\":\"\\ud800\"}",
        b"{\"type\":\"token\",\"data\":\"a\nb\"}",
        b"type=token&data=1",
    ];
    for body in bodies {
        let refused = json_body(&vault, body).problem(400);
        assert!(refused.json.get("errors").is_none(), "{}", refused.text());
    }
    let none = vault.send(&post("/tokens").key(&vault.keys.private));
    none.problem(400);
}

#[test]
fn json_with_a_byte_order_mark_or_blanks_around_it_gets_an_answer() {
    let vault = Vault::start();
    json_body(&vault, "\r\n\t {\"type\":\"token\",\"data\":1} \n").with_status(201);
    let marked = json_body(&vault, "\u{feff}{\"type\":\"token\",\"data\":1}");
    assert!([201, 400].contains(&marked.status), "{}", marked.text());
}

#[test]
fn a_member_that_stands_twice_does_not_break_anything() {
    let vault = Vault::start();
    let twice = json_body(&vault, r#"{"type":"token","data":"one","data":"two"}"#);
    if twice.status == 400 {
        twice.problem(400);
        return;
    }
    let read = vault.read(&twice.with_status(201).id()).with_status(200);
    assert_eq!(read.json["data"], "two", "the last one counts, as in most parsers");
}

#[test]
fn json_that_is_nested_too_deeply_is_refused() {
    let vault = Vault::start();
    let nested = |depth: usize| {
        let data = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        json_body(&vault, format!(r#"{{"type":"token","data":{data}}}"#))
    };
    nested(40).with_status(201);
    for depth in [100, 1_000, 100_000] {
        nested(depth).problem(400);
    }
    let objects = format!("{}1{}", "{\"a\":".repeat(5_000), "}".repeat(5_000));
    json_body(&vault, format!(r#"{{"type":"token","data":{objects}}}"#)).problem(400);
    nested(1).with_status(201);
}

#[test]
fn data_that_is_too_large_is_refused() {
    let large = "x".repeat(strongroom::testing::bounds::TOKEN_DATA_BYTES_MAX);
    Vault::start().create(json!({"type": "token", "data": large})).problem(400);
}

#[test]
fn only_json_is_taken_and_parameters_of_its_type_do_not_matter() {
    let vault = Vault::start();
    let body = r#"{"type":"token","data":1}"#;
    for good in [
        "application/json",
        "application/json; charset=utf-8",
        "APPLICATION/JSON;charset=UTF-8",
        "text/json",
        "application/json-patch+json",
        "application/vnd.x+json",
    ] {
        send(&vault, good, body).with_status(201);
    }
    for bad in
        ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "json", "*/*"]
    {
        send(&vault, bad, body).problem(415);
    }
    vault.send(&post("/tokens").key(&vault.keys.private).body(body)).with_status(201);
}

#[test]
fn paths_tolerate_a_trailing_slash_and_escapes() {
    let vault = Vault::start();
    let key = &vault.keys.private;
    let made = vault.post("/tokens/", key, json!({"type": "token", "data": 1})).with_status(201);
    let id = made.id();
    vault.get(&format!("/tokens/{id}/"), key).with_status(200);
    vault.get(&format!("/tokens/{}", id.replace('-', "%2d")), key).with_status(200);
    vault.get(&format!("/tokens/{id}?a=b&a=c"), key).with_status(200);
    for wrong in [
        "/token",
        "/Tokens/x",
        "/tokens//",
        "/tokens/a/b",
        "/tokens/%",
        "/tokens/%zz",
        "/tokens/%ff",
        "//tokens",
        "/tokens/a%2fb/c",
        "/v1/tokens",
    ] {
        vault.get(wrong, key).problem(404);
    }
    vault.get("/tokens/a%2fb", key).problem(404);
    vault.get("/tokens/%00", key).problem(404);
    vault.get(&format!("/tokens/{}", "a".repeat(5_000)), key).problem(404);
    let long = "b".repeat(strongroom::testing::bounds::QUERY_BYTES_MAX);
    vault.get(&format!("/permissions?a={long}"), key).problem(400);
    vault.get("/permissions?a=%ff", key).problem(400);
}

#[test]
fn a_method_that_a_path_does_not_know_is_answered_with_those_it_knows() {
    let vault = Vault::start();
    for (method, path, allow) in [
        ("PUT", "/tokens/x", "GET, DELETE"),
        ("PATCH", "/applications/x", "GET, PUT, DELETE"),
        ("DELETE", "/applications/x/keys", "POST, GET"),
        ("BREW", "/permissions", "GET"),
        ("POST", "/tenants/self", "GET, PUT, DELETE"),
    ] {
        let answer = vault.send(&Request::new(method, path).key(&vault.keys.private)).problem(405);
        // A path may learn further methods; those it has today are named.
        let told: Vec<_> = answer.header("allow").expect("an Allow header").split(", ").collect();
        assert!(allow.split(", ").all(|it| told.contains(&it)), "{method} {path}: {told:?}");
    }
}

#[test]
fn a_key_in_another_place_is_not_a_key() {
    let vault = Vault::start();
    let key = &vault.keys.private;
    let bearer = get("/permissions").header("Authorization", &format!("Bearer {key}"));
    vault.send(&bearer).problem(401);
    vault.send(&get(&format!("/permissions?bt-api-key={key}"))).problem(401);
    vault.send(&get("/permissions").header("bt-aPi-kEy", key)).with_status(200);
    vault.send(&options("/permissions")).with_status(204);
}

#[test]
fn a_head_of_a_read_never_holds_the_value() {
    let vault = Vault::start();
    let id = vault.token(json!({"type": "token", "data": "secret-value"}));
    let request = Request::new("HEAD", &format!("/tokens/{id}")).key(&vault.keys.private);
    let mut connection = vault.connect();
    connection.send(&request.header("Connection", "close").bytes("h")).unwrap();
    let all = String::from_utf8(connection.rest()).unwrap();
    assert!(all.starts_with("HTTP/1.1 ") && !all.contains("secret-value"), "{all}");
}

#[test]
fn a_head_over_http2_is_answered_with_the_headers_of_a_get_alone() {
    over_http2(|| {
        let vault = Vault::start();
        for path in ["/", "/healthz", "/openapi.json", "/console"] {
            let whole = vault.send(&get(path));
            let head = vault.send(&Request::new("HEAD", path));
            assert_eq!((head.status, head.text().as_str()), (200, ""), "{path}");
            let length = whole.text().len().to_string();
            assert_eq!(head.header("content-length"), Some(length.as_str()), "{path}");
        }
    });
}

#[test]
fn a_body_on_a_request_that_needs_none_is_thrown_away() {
    let vault = Vault::start();
    let made = vault.application("private", &["token:create"], &json!([]));
    let path = format!("/applications/{}/keys", made.id());
    let request = post(&path).key(&vault.keys.management);
    vault.send(&request.clone().json(json!({"unknown": 1}))).with_status(201);
    vault.send(&request.header("Content-Length", "0")).with_status(201);
    let request = get("/permissions").key(&vault.keys.private).body("{not json");
    vault.send(&request).with_status(200);
    assert_ne!(vault.get("/permissions", &vault.keys.private).json, Value::Null);
}

crate::harness::again_over_http2! {
    all_mistakes_of_a_body_are_told_at_once_and_none_repeats_a_value,
    what_is_no_json_is_refused,
    json_that_is_nested_too_deeply_is_refused,
    only_json_is_taken_and_parameters_of_its_type_do_not_matter,
    paths_tolerate_a_trailing_slash_and_escapes,
    a_method_that_a_path_does_not_know_is_answered_with_those_it_knows,
    a_key_in_another_place_is_not_a_key,
    a_body_on_a_request_that_needs_none_is_thrown_away,
}

/// The parser gives these names a meaning of its own: the value would be another one than was checked.
#[test]
fn a_member_with_a_name_that_the_parser_keeps_for_itself_is_refused() {
    let vault = Vault::start();
    let token = vault.token(json!({"type": "token", "data": {"a": 1}}));
    let many = format!("[{}0]", "0,".repeat(100_000));
    for (name, text) in [("RawValue", "7"), ("RawValue", &many), ("Number", "12")] {
        for member in
            [format!("$serde_json::private::{name}"), format!("\\u0024serde_json::private::{name}")]
        {
            for object in [
                format!("{{\"{member}\":\"{text}\"}}"),
                format!("{{\"a\":1,\"{member}\":\"{text}\"}}"),
            ] {
                let key = &vault.keys.private;
                let (json, merge) = ("application/json", "application/merge-patch+json");
                let requests = [
                    (post("/tokens"), json, format!("{{\"type\":\"token\",\"data\":{object}}}")),
                    (patch(&format!("/tokens/{token}")), merge, format!("{{\"data\":{object}}}")),
                    (post("/tokenize"), json, object),
                ];
                for (request, content_type, body) in requests {
                    let request = request.key(key).header("Content-Type", content_type).body(body);
                    let refused = vault.send(&request).problem(400);
                    assert!(refused.text().contains("No member's name"), "{}", refused.text());
                }
            }
        }
    }
    let data = json!({"$": "$serde_json::private::RawValue"});
    let kept = vault.token(json!({"type": "token", "data": data}));
    assert_eq!(vault.read(&kept).with_status(200).json["data"], data);
}
