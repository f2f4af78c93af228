//! The checker of schemas checks itself by tables: without these a checker that lets everything pass
//! would look like a server without faults.

use serde_json::{Value, json};

use crate::harness::answer::Answer;
use crate::harness::contract::Asked;
use crate::harness::contract::document::Document;
use crate::harness::contract::schema::Schemas;

/// A schema, values that it takes, and values that it refuses.
type Row = (Value, Vec<Value>, Vec<Value>);

fn rows_of_values() -> Vec<Row> {
    vec![
        (json!(true), vec![json!(1), json!(null)], vec![]),
        (json!(false), vec![], vec![json!(1), json!(null)]),
        (json!({"type": "string"}), vec![json!("")], vec![json!(1), json!(null)]),
        (json!({"type": ["string", "null"]}), vec![json!("a"), json!(null)], vec![json!(1)]),
        (json!({"type": "integer"}), vec![json!(1), json!(-3), json!(1.0)], vec![json!(1.5)]),
        (json!({"type": "number"}), vec![json!(1), json!(1.5)], vec![json!("1")]),
        (json!({"type": "boolean"}), vec![json!(false)], vec![json!(0), json!("false")]),
        (json!({"type": "object"}), vec![json!({})], vec![json!([])]),
        (json!({"type": "array"}), vec![json!([])], vec![json!({})]),
        (json!({"enum": ["a", null]}), vec![json!("a"), json!(null)], vec![json!("A")]),
        (json!({"const": 7}), vec![json!(7)], vec![json!(8), json!("7")]),
        (json!({"minimum": 2, "maximum": 4}), vec![json!(2), json!(4)], vec![json!(1), json!(5)]),
        (
            json!({"minLength": 2, "maxLength": 2}),
            vec![json!("\u{e4}b"), json!(3)],
            vec![json!("a"), json!("abc")],
        ),
        (
            json!({"pattern": "^[0-9]+$"}),
            vec![json!("12"), json!(null)],
            vec![json!("1a"), json!("")],
        ),
        (
            json!({"format": "uuid"}),
            vec![json!("c06d0789-0a38-40be-b7cc-c28a718f76f1"), json!(1)],
            vec![json!("c06d07890a3840beb7ccc28a718f76f1"), json!("x")],
        ),
        (
            json!({"format": "date-time"}),
            vec![json!("2026-01-02T03:04:05.6789Z"), json!("2026-01-02T03:04:05+00:00")],
            vec![json!("2026-01-02 03:04"), json!("")],
        ),
        (
            json!({"format": "uri"}),
            vec![json!("https://a.example/b?c")],
            vec![json!("/b"), json!("a b:c"), json!("a:")],
        ),
    ]
}

fn rows_of_containers() -> Vec<Row> {
    let closed = json!({"properties": {"a": {"type": "string"}}, "additionalProperties": false});
    let map = json!({"additionalProperties": {"type": "integer"}});
    let named = json!({"propertyNames": {"maxLength": 1}});
    let strings = json!({"items": {"type": "string"}, "minItems": 1, "maxItems": 2});
    let one = json!({"oneOf": [{"type": "string"}, {"maxLength": 3}]});
    let any = json!({"anyOf": [{"type": "string"}, {"type": "integer"}]});
    let all = json!({"allOf": [{"required": ["a"]}, {"required": ["b"]}]});
    vec![
        (
            closed,
            vec![json!({"a": "x"}), json!({}), json!(1)],
            vec![json!({"a": 1}), json!({"b": "x"})],
        ),
        (map, vec![json!({"a": 1}), json!({})], vec![json!({"a": "1"})]),
        (named, vec![json!({"a": 1})], vec![json!({"ab": 1})]),
        (json!({"required": ["a"]}), vec![json!({"a": null}), json!([])], vec![json!({"b": 1})]),
        (
            json!({"minProperties": 1, "maxProperties": 1}),
            vec![json!({"a": 1})],
            vec![json!({}), json!({"a": 1, "b": 2})],
        ),
        (
            strings,
            vec![json!(["a"]), json!({})],
            vec![json!([]), json!([1]), json!(["a", "b", "c"])],
        ),
        (json!({"uniqueItems": true}), vec![json!([1, 2])], vec![json!([1, 2, 1])]),
        (one, vec![json!("long text"), json!(5)], vec![json!("abc")]),
        (any, vec![json!("a"), json!(1)], vec![json!(null)]),
        (all, vec![json!({"a": 1, "b": 2})], vec![json!({"a": 1}), json!({"b": 2})]),
        (json!({"not": {"type": "string"}}), vec![json!(1)], vec![json!("a")]),
        (
            json!({"$ref": "#/components/schemas/Tree"}),
            vec![json!({"children": [{"children": []}]})],
            vec![json!({"children": [{"children": [7]}]})],
        ),
    ]
}

fn document() -> Value {
    let tree = json!({
        "type": "object",
        "properties": {"children": {"items": {"$ref": "#/components/schemas/Tree"}}},
    });
    json!({"components": {"schemas": {"Tree": tree, "a/b": {"type": "null"}}}})
}

#[test]
fn each_keyword_takes_the_right_values_and_refuses_the_others() {
    let document = document();
    let schemas = Schemas::of(&document);
    for (schema, right, wrong) in rows_of_values().into_iter().chain(rows_of_containers()) {
        for value in &right {
            assert_eq!(schemas.check(&schema, value), Ok(()), "{schema} takes {value}");
        }
        for value in &wrong {
            assert!(schemas.check(&schema, value).is_err(), "{schema} refuses {value}");
        }
    }
}

#[test]
fn a_mismatch_names_the_place_and_the_rule() {
    let document = document();
    let schemas = Schemas::of(&document);
    let schema = json!({"properties": {"a/b": {"items": {"type": "string"}}}});
    let found = schemas.check(&schema, &json!({"a/b": ["x", 1]})).unwrap_err();
    assert_eq!(found.pointer, "/a~1b/1");
    assert!(found.rule.starts_with("type: "), "{found}");
}

#[test]
fn a_keyword_a_type_a_format_or_a_reference_that_is_not_known_is_a_mismatch() {
    let document = document();
    let schemas = Schemas::of(&document);
    for schema in [
        json!({"multipleOf": 2}),
        json!({"unevaluatedProperties": false}),
        json!({"type": "text"}),
        json!({"format": "email"}),
        json!({"pattern": "("}),
        json!({"$ref": "#/components/schemas/Nothing"}),
        json!({"$ref": "https://a.example/schema"}),
        json!({"$ref": "#/info"}),
        json!("string"),
    ] {
        assert!(schemas.check(&schema, &json!("x")).is_err(), "{schema}");
    }
    assert_eq!(schemas.check(&json!({"description": "d", "x-a": 1}), &json!("x")), Ok(()));
}

fn small_document() -> Document {
    let answer = |schema: Value| json!({"content": {"application/json": {"schema": schema}}});
    let trace = json!({"required": true, "schema": {"type": "string", "minLength": 3}});
    let mut read = answer(json!({"type": "object", "required": ["id"]}));
    read["headers"] = json!({"BT-TRACE-ID": trace, "Retry-After": {"schema": {"type": "integer"}}});
    let any = json!({"*/*": {"schema": {}}});
    let document = json!({
        "paths": {
            "/things/{id}": {
                "get": {"responses": {"200": read, "4XX": answer(json!({"type": "string"}))}},
                "delete": {"responses": {"204": {"description": "gone"}}},
            },
            "/things/all": {
                "get": {"responses": {"200": answer(json!({"type": "array"}))}},
                "put": {
                    "requestBody": answer(json!({"items": {"type": "integer"}})),
                    "responses": {"default": answer(json!({"type": "array"}))},
                },
            },
            "/proxy": {"get": {"responses": {"default": {"content": any}}}},
        },
        "components": {"schemas": {"Problem": {"type": "object", "required": ["title"]}}},
    });
    Document::parse(&document.to_string()).unwrap()
}

fn answer(status: u16, kind: &str, body: &str) -> Answer {
    let mut headers = vec![(String::from("bt-trace-id"), String::from("abc"))];
    if !kind.is_empty() {
        headers.push((String::from("content-type"), String::from(kind)));
    }
    Answer::new(status, headers, body.as_bytes().to_vec())
}

fn asked(method: &str, target: &str) -> Asked {
    Asked::read(format!("{method} {target} HTTP/1.1\r\n\r\n").as_bytes()).unwrap()
}

#[test]
fn an_answer_fits_if_its_status_headers_type_and_body_are_described() {
    let document = small_document();
    let json = "application/json; charset=utf-8";
    let fits = [
        ("GET", "/things/1?a=/b", answer(200, json, r#"{"id": 1}"#)),
        ("GET", "/things/1", answer(404, json, r#""x""#)),
        ("HEAD", "/things/1", answer(200, json, "")),
        ("DELETE", "/things/1", answer(204, "", "")),
        // A literal path wins over a parameter.
        ("GET", "/things/all", answer(200, json, "[]")),
        ("GET", "/proxy/any/path", answer(418, "text/html", "<p>")),
        ("GET", "/nothing", answer(404, json, r#"{"title": "t"}"#)),
        ("GET", "/nothing", answer(429, json, r#"{"title": "t"}"#)),
        ("PUT", "/things/1", answer(405, json, r#"{"title": "t"}"#)),
    ];
    for (method, target, answer) in fits {
        assert_eq!(document.check(&asked(method, target), &answer), Ok(()), "{method} {target}");
    }
}

#[test]
fn an_answer_that_is_not_described_is_a_mismatch() {
    let document = small_document();
    let json = "application/json";
    let with = |name: &str, value: &str| {
        let mut answer = answer(200, json, r#"{"id": 1}"#);
        answer.headers.insert(0, (String::from(name), String::from(value)));
        answer
    };
    let mut bare = with("retry-after", "1");
    bare.headers.retain(|(name, _)| name != "bt-trace-id");
    let wrong = [
        ("GET", "/things/1", answer(201, json, r#"{"id": 1}"#), "does not describe 201"),
        ("GET", "/things/1", answer(200, json, "{}"), "required"),
        ("GET", "/things/1", answer(200, json, "{"), "no JSON"),
        ("GET", "/things/1", answer(200, "text/html", "{}"), "content type"),
        ("GET", "/things/1", bare, "bt-trace-id"),
        ("GET", "/things/1", with("bt-trace-id", "ab"), "minLength"),
        ("GET", "/things/1", with("retry-after", "soon"), "type"),
        ("GET", "/things/all", answer(200, json, r#"{"id": 1}"#), "type"),
        ("DELETE", "/things/1", answer(204, json, "{}"), "no body"),
        ("GET", "/nothing", answer(200, json, r#"{"title": "t"}"#), "404 is due"),
        ("GET", "/things/", answer(200, json, r#"{"id": 1}"#), "404 is due"),
        ("PUT", "/things/1", answer(200, json, r#"{"title": "t"}"#), "405 is due"),
        ("PUT", "/things/1", answer(405, json, "{}"), "required"),
    ];
    for (method, target, answer, part) in wrong {
        let found = document.check(&asked(method, target), &answer).unwrap_err().to_string();
        let found = found.to_lowercase();
        assert!(found.contains(&part.to_lowercase()), "{method} {target}: {found}");
    }
}

#[test]
fn a_request_that_the_server_took_is_held_to_the_document_too() {
    let document = small_document();
    let sent = |body: &str| {
        let bytes = format!("PUT /things/all HTTP/1.1\r\nhost: x\r\n\r\n{body}");
        Asked::read(bytes.as_bytes()).unwrap()
    };
    let took = answer(200, "application/json", "[]");
    assert_eq!(document.check(&sent("[1]"), &took), Ok(()));
    assert_eq!(document.check(&sent(""), &took), Ok(()), "the body came later");
    let found = document.check(&sent("[\"a\"]"), &took).unwrap_err();
    assert!(found.rule.contains("took a body"), "{found}");
    let refused = answer(400, "application/json", "[]");
    assert_eq!(document.check(&sent("[\"a\"]"), &refused), Ok(()), "it was refused");
}

#[test]
fn only_a_well_formed_first_line_names_an_operation() {
    let read = |text: &str| Asked::read(text.as_bytes()).map(|it| (it.method, it.target));
    let found = Some((String::from("GET"), String::from("/a?b")));
    assert_eq!(read("GET /a?b HTTP/1.1\r\nhost: x\r\n\r\n"), found);
    for text in [
        "nonsense\r\n\r\n",
        "GET /a HTTP/1.0\r\n",
        "GET /a b HTTP/1.1\r\n",
        "GET * HTTP/1.1\r\n",
        "GET /a HTTP/1.1",
    ] {
        assert_eq!(read(text), None, "{text}");
    }
}
