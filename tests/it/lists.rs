//! Lists and searches over the wire: pages, cursors, parameters, and the operations that are on
//! their way out.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::harness::{Answer, Vault, card, post, rule};

/// A token whose data is also its search term.
fn token(vault: &Vault, data: &str, containers: &[&str], metadata: &Value) -> String {
    vault.token(json!({
        "type": "token", "data": data, "containers": containers, "metadata": metadata,
        "search_indexes": ["{{ data }}"],
    }))
}

#[track_caller]
fn data(answer: &Answer) -> Vec<String> {
    answer.each("data")
}

#[track_caller]
fn list(vault: &Vault, path: &str) -> Vec<String> {
    data(&vault.get(path, &vault.keys.private).with_status(200))
}

#[track_caller]
fn search(vault: &Vault, path: &str, query: &str) -> Vec<String> {
    data(&vault.post(path, &vault.keys.private, json!({"query": query})).with_status(200))
}

#[test]
fn pages_follow_each_other_by_container_and_time_until_there_is_no_next() {
    let vault = Vault::start();
    for (text, path) in [("1", "/b/"), ("2", "/a/"), ("3", "/a/"), ("4", "/a/c/"), ("5", "/b/")] {
        token(&vault, text, &[path], &json!({}));
    }
    let mut seen = Vec::new();
    let mut path = String::from("/v2/tokens?size=2");
    for page in 0.. {
        assert!(page < 10, "the list has no end");
        let answer = vault.get(&path, &vault.keys.private).with_status(200);
        assert_eq!(answer.json["pagination"]["page_size"], 2);
        seen.extend(data(&answer));
        let pagination = answer.json["pagination"].as_object().unwrap();
        let Some(next) = pagination.get("next") else { break };
        let next = next.as_str().unwrap();
        let is_safe = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_');
        assert!((1..=500).contains(&next.len()) && next.bytes().all(is_safe));
        path = format!("/v2/tokens?size=2&start={next}");
    }
    assert_eq!(seen, ["3", "2", "4", "5", "1"]);
    assert_eq!(list(&vault, "/v2/tokens?container=/a/"), ["3", "2", "4"]);
    assert_eq!(list(&vault, "/v2/tokens?container=%2FA%2FC%2F"), ["4"]);
    assert_eq!(search(&vault, "/v2/tokens/search", ""), ["3", "2", "4", "5", "1"]);
}

#[test]
fn a_listed_token_is_the_same_object_as_the_one_that_is_read() {
    let vault = Vault::start();
    let id = vault.token(json!({
        "type": "card", "metadata": {"k": "v"}, "containers": ["/a/", "/b/"], "data": card(),
    }));
    let read = vault.read(&id).with_status(200).json;
    assert_eq!(read["data"]["cvc"], "123");
    for path in ["/v2/tokens", "/tokens"] {
        for query in ["", "?metadata.k=v"] {
            let answer = vault.get(&format!("{path}{query}"), &vault.keys.private);
            assert_eq!(answer.with_status(200).json["data"], json!([read]), "{path}{query}");
        }
        let answer = vault.post(&format!("{path}/search"), &vault.keys.private, json!({}));
        assert_eq!(answer.with_status(200).json["data"], json!([read]), "{path}");
    }
}

#[test]
fn metadata_filters_arrive_in_three_spellings_and_match_by_case() {
    let vault = Vault::start();
    token(&vault, "1", &["/a/"], &json!({"Key": "Value"}));
    token(&vault, "2", &["/a/"], &json!({"key": "value", "more": "X"}));
    for query in
        ["metadata.Key=Value", "metadata%5BKey%5D=Value", "metadata=%7B%22Key%22%3A%22Value%22%7D"]
    {
        assert_eq!(list(&vault, &format!("/v2/tokens?{query}")), ["1"], "{query}");
        assert_eq!(list(&vault, &format!("/tokens?{query}")), ["2", "1"], "{query}");
    }
    assert_eq!(list(&vault, "/tokens?metadata.KEY=value&metadata.MORE=x&metadata.more=y"), ["2"]);
    assert_eq!(search(&vault, "/v2/tokens/search", "metadata.key:value"), ["2"]);
    assert_eq!(search(&vault, "/tokens/search", "metadata.KEY:VALUE"), ["2", "1"]);
    assert_eq!(search(&vault, "/tokens/search", "metadata.key:value AND metadata.more:x"), ["2"]);
}

#[test]
fn parameters_that_cannot_be_combined_are_refused_by_name() {
    let vault = Vault::start();
    for (query, paths) in [
        ("id=abc", &["id"][..]),
        ("type=card&type=card", &["type"]),
        ("type=card&fingerprint=x", &["fingerprint", "type"]),
        ("metadata.a=1&metadata.b=2", &["metadata"]),
        ("container=pci&size=1000&start=zz", &["container", "size", "start"]),
    ] {
        vault.get(&format!("/v2/tokens?{query}"), &vault.keys.private).invalid(paths);
    }
    assert_eq!(list(&vault, "/v2/tokens?colour=blue"), Vec::<String>::new());
}

#[test]
fn searching_needs_its_own_permission_and_shows_by_its_own_transform() {
    let vault = Vault::start();
    token(&vault, "seen", &["/a/"], &json!({}));
    let rules =
        json!([rule(1, "/", "redact", &["token:read"]), rule(2, "/", "reveal", &["token:search"])]);
    let key = vault.key_with("private", &[], &rules);
    assert_eq!(data(&vault.get("/v2/tokens", &key).with_status(200)), [""]);
    for path in ["/v2/tokens/search", "/tokens/search"] {
        assert_eq!(data(&vault.post(path, &key, json!({})).with_status(200)), ["seen"], "{path}");
    }
    let reader = vault.key_with("private", &["token:read"], &json!([]));
    vault.post("/v2/tokens/search", &reader, json!({})).problem(403);
}

#[test]
fn searches_find_what_was_indexed_exactly() {
    let vault = Vault::start();
    let id = token(&vault, "two words", &["/a/"], &json!({}));
    token(&vault, "Two Words", &["/b/"], &json!({}));
    for path in ["/v2/tokens/search", "/tokens/search"] {
        assert_eq!(search(&vault, path, r#"data:"two words""#), ["two words"]);
        assert_eq!(search(&vault, path, "data:two"), Vec::<String>::new());
    }
    let query = r#"container:"/b/" AND data:"Two Words""#;
    assert_eq!(search(&vault, "/v2/tokens/search", query), ["Two Words"]);
    assert_eq!(search(&vault, "/v2/tokens/search", "type:token AND container:/b/"), ["Two Words"]);
    assert_eq!(search(&vault, "/tokens/search", &format!("id:{id}")), ["two words"]);
    let print = vault.read(&id).member("fingerprint");
    assert_eq!(search(&vault, "/v2/tokens/search", &format!("fingerprint:{print}")), ["two words"]);
}

#[test]
fn queries_that_were_shut_down_are_refused_and_told_what_there_is() {
    let vault = Vault::start();
    for (path, query) in [
        ("/v2/tokens/search", "id:abc"),
        ("/v2/tokens/search", "metadata.a:1 AND metadata.b:2"),
        ("/tokens/search", "type:card"),
    ] {
        let answer = vault.post(path, &vault.keys.private, json!({"query": query}));
        let problem = answer.invalid(&["query"]);
        let message = problem.json["errors"]["query"][0].as_str().unwrap();
        assert!(message.contains("Supported are"), "{message}");
    }
}

#[test]
fn a_search_ignores_an_idempotency_key() {
    let vault = Vault::start();
    let request = post("/v2/tokens/search").key(&vault.keys.private).once("once").json(json!({}));
    assert_eq!(data(&vault.send(&request)), Vec::<String>::new());
    token(&vault, "new", &["/a/"], &json!({}));
    let answer = vault.send(&request);
    assert_eq!(data(&answer), ["new"]);
    assert_eq!(answer.header("bt-idempotent-replayed"), None);
}

#[test]
fn lists_follow_a_patch() {
    let vault = Vault::start();
    let id = token(&vault, "x", &["/a/"], &json!({"k": "1"}));
    let patch = |body: Value| drop(vault.patch(&id, body).with_status(200));
    patch(json!({"containers": ["/b/", "/c/"], "metadata": {"k": "2"}, "data": "y"}));
    for (path, expected) in [
        ("/v2/tokens", &["y"][..]),
        ("/v2/tokens?container=/a/", &[]),
        ("/v2/tokens?container=/c/", &["y"]),
        ("/v2/tokens?metadata.k=1", &[]),
        ("/v2/tokens?metadata.k=2", &["y"]),
        ("/tokens?metadata.k=1", &[]),
        ("/tokens?metadata.k=2", &["y"]),
    ] {
        assert_eq!(list(&vault, path), expected, "{path}");
    }
    for path in ["/v2/tokens/search", "/tokens/search"] {
        assert_eq!(search(&vault, path, "data:x"), Vec::<String>::new());
        assert_eq!(search(&vault, path, "data:y"), ["y"]);
    }
    patch(json!({"expires_at": "2099-01-01T00:00:00Z"}));
    assert_eq!(list(&vault, "/v2/tokens?metadata.k=2"), ["y"]);
    vault.advance(80 * 366 * 24 * 60 * 60);
    assert_eq!(list(&vault, "/v2/tokens?metadata.k=2"), Vec::<String>::new());
}

#[test]
fn numbered_pages_count_everything_and_are_empty_past_the_end() {
    let vault = Vault::start();
    for text in ["1", "2", "3"] {
        token(&vault, text, &["/a/"], &json!({}));
    }
    let answer = vault.get("/tokens?page=2&size=2", &vault.keys.private).with_status(200);
    assert_eq!(data(&answer), ["1"]);
    let expected = json!({"total_items": 3, "page_number": 2, "page_size": 2, "total_pages": 2});
    assert_eq!(answer.json["pagination"], expected);
    assert_eq!(list(&vault, "/tokens?page=3&size=2"), Vec::<String>::new());
    let body = json!({"page": 2, "size": 2});
    let answer = vault.post("/tokens/search", &vault.keys.private, body).with_status(200);
    assert_eq!((data(&answer), &answer.json["pagination"]), (vec![String::from("1")], &expected));
}

#[test]
fn deprecated_operations_say_so_on_every_answer_and_the_others_do_not() {
    let vault = Vault::start();
    let key = &vault.keys.private;
    for (answer, successor) in [
        (vault.get("/tokens", key), "/v2/tokens"),
        (vault.get("/tokens?page=0", key), "/v2/tokens"),
        (vault.get("/tokens", "no key"), "/v2/tokens"),
        (vault.post("/tokens/search", key, json!({})), "/v2/tokens/search"),
    ] {
        assert_eq!(answer.header("deprecation"), Some("@1735862400"), "{}", answer.text());
        assert_eq!(answer.header("sunset"), Some("Sat, 01 Mar 2025 00:00:00 GMT"));
        let link = format!("<{successor}>; rel=\"successor-version\"");
        assert_eq!(answer.header("link"), Some(link.as_str()));
    }
    for answer in [vault.get("/v2/tokens", key), vault.get("/tokens/abc", key)] {
        assert_eq!((answer.header("deprecation"), answer.header("sunset")), (None, None));
    }
}

#[test]
fn deprecated_operations_are_gone_once_the_operator_turns_them_off() {
    let mut vault = Vault::start();
    token(&vault, "1", &["/a/"], &json!({}));
    vault.serve("deprecated_operations = false");
    let key = vault.keys.private.clone();
    let gone = vault.get("/tokens", &key).problem(410);
    assert!(gone.member("detail").contains("GET /v2/tokens"), "{}", gone.text());
    let gone = vault.post("/tokens/search", &key, json!({})).problem(410);
    assert!(gone.member("detail").contains("POST /v2/tokens/search"), "{}", gone.text());
    vault.get("/tokens", "").problem(401);
    assert_eq!(list(&vault, "/v2/tokens"), ["1"]);
}

#[test]
fn a_page_of_large_tokens_ends_early_and_leaves_none_out() {
    let vault = Vault::start();
    let data = "x".repeat(120_000);
    let made: BTreeSet<_> =
        (0..12).map(|_| vault.token(json!({"type": "token", "data": data}))).collect();
    let mut found = Vec::new();
    let mut path = String::from("/v2/tokens?size=100");
    for _ in 0..4 {
        let page = vault.get(&path, &vault.keys.private).with_status(200);
        assert!(page.bytes.len() < 1_500_000, "{}", page.bytes.len());
        found.extend(page.each("id"));
        let Some(next) = page.json["pagination"]["next"].as_str() else { break };
        path = format!("/v2/tokens?size=100&start={next}");
    }
    assert_eq!(found.len(), made.len(), "each once");
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), made);
    // A numbered page cannot end early.
    vault.get("/tokens?size=100", &vault.keys.private).invalid(&["size"]);
    vault.get("/tokens?size=5", &vault.keys.private).with_status(200);
}

crate::harness::again_over_http2! {
    pages_follow_each_other_by_container_and_time_until_there_is_no_next,
    metadata_filters_arrive_in_three_spellings_and_match_by_case,
    parameters_that_cannot_be_combined_are_refused_by_name,
    deprecated_operations_say_so_on_every_answer_and_the_others_do_not,
    a_page_of_large_tokens_ends_early_and_leaves_none_out,
}
