//! `PATCH /tokens/{id}`: merged data, mask and metadata, replaced rest.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::harness::{Request, Vault, names, patch, rule};
use crate::race::at_once;

const MERGE_PATCH: &str = "application/merge-patch+json";

/// As many as one address may have connections, but for one that the harness keeps.
const MANY: u32 = 255;

fn read(vault: &Vault, id: &str) -> Value {
    vault.read(id).with_status(200).json
}

#[test]
fn data_is_merged_as_the_standard_says() {
    let vault = Vault::start();
    for (before, change, after) in [
        (json!({"a": "b", "b": "c"}), json!({"a": null, "c": [1]}), json!({"b": "c", "c": [1]})),
        (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
        (json!([1, 2]), json!({"a": "b", "c": null}), json!({"a": "b"})),
        (json!({"a": "foo"}), json!("bar"), json!("bar")),
    ] {
        let id = vault.token(json!({"type": "token", "data": before}));
        let answer = vault.patch(&id, json!({"data": change})).with_status(200);
        assert_eq!(answer.json["data"], after);
        assert_eq!(read(&vault, &id)["data"], after, "{before} {change}");
    }
}

#[test]
fn mask_and_metadata_are_merged_too() {
    let vault = Vault::start();
    let id = vault.token(json!({
        "type": "token", "data": {"a": "1", "b": "2"},
        "mask": {"a": "{{ data.a }}", "deep": {"b": "{{ data.b }}", "c": "x"}},
        "metadata": {"a": "1", "b": "2"},
    }));
    let change = json!({
        "mask": {"a": null, "deep": {"c": null}, "new": "{{ data.b }}"},
        "metadata": {"a": null, "b": "3", "c": "4", "none": null},
    });
    vault.patch(&id, change).with_status(200);
    let token = read(&vault, &id);
    assert_eq!(token["mask"], json!({"deep": {"b": "{{ data.b }}"}, "new": "{{ data.b }}"}));
    assert_eq!(token["metadata"], json!({"b": "3", "c": "4"}));
    assert_eq!(token["data"], json!({"a": "1", "b": "2"}));
    // A type's own mask is what a first patch is merged into.
    let card = vault.token(json!({"type": "card", "data": {"number": "4242424242424242"}}));
    vault.patch(&card, json!({"mask": {"expiration_month": null}})).with_status(200);
    let mask = &read(&vault, &card)["mask"];
    assert_eq!(mask["number"], "{{ data.number | reveal_last: 4 }}");
    assert_eq!(mask.get("expiration_month"), None);
}

#[test]
fn the_rest_is_replaced() {
    let vault = Vault::start();
    let id = vault.token(json!({
        "type": "token", "data": {"a": "one", "b": "two"}, "containers": ["/a/", "/b/"],
        "search_indexes": ["{{ data.a }}", "{{ data.b }}"],
        "fingerprint_expression": "{{ data.a }}", "expires_at": "2100-01-01T00:00:00Z",
    }));
    let change = json!({
        "containers": ["/c/"], "search_indexes": ["{{ data.b }}"],
        "fingerprint_expression": "{{ data.b }}", "expires_at": "2101-01-01T00:00:00.0000000+00:00",
    });
    let mut answered = vault.patch(&id, change.clone()).with_status(200).json;
    let token = read(&vault, &id);
    for (name, value) in change.as_object().unwrap() {
        assert_eq!(&token[name], value);
    }
    answered.as_object_mut().unwrap().remove("_extras");
    assert_eq!(answered, token);
}

#[test]
fn null_takes_a_value_back_to_its_default() {
    let vault = Vault::start();
    let id = vault.token(json!({
        "type": "social_security_number", "data": "123-45-6789", "containers": ["/a/"],
        "mask": "{{ data | last4 }}", "metadata": {"a": "1"}, "search_indexes": ["{{ data }}"],
        "fingerprint_expression": "{{ data | last4 }}", "expires_at": "2100-01-01T00:00:00Z",
    }));
    let change = json!({
        "containers": null, "mask": null, "metadata": null, "search_indexes": null,
        "fingerprint_expression": null, "expires_at": null, "deduplicate_token": null,
    });
    vault.patch(&id, change).with_status(200);
    let token = read(&vault, &id);
    let plain = json!({"type": "social_security_number", "data": "123-45-6789"});
    let plain = read(&vault, &vault.token(plain));
    for name in ["containers", "mask", "metadata", "search_indexes", "fingerprint"] {
        assert_eq!(token[name], plain[name], "{name}");
    }
    assert_eq!(token["fingerprint_expression"], plain["fingerprint_expression"]);
    assert_eq!(token.get("expires_at"), None);
    // There is no token without data.
    vault.patch(&id, json!({"data": null})).invalid(&["data"]);
    assert_eq!(read(&vault, &id)["data"], "123-45-6789");
}

#[test]
fn any_other_content_type_is_415_and_parameters_are_allowed() {
    let vault = Vault::start();
    let id = vault.token(json!({"type": "token", "data": 1}));
    let send = |kind: Option<&str>| {
        let request = Request::new("PATCH", &format!("/tokens/{id}")).key(&vault.keys.private);
        let request = match kind {
            Some(kind) => request.header("Content-Type", kind),
            None => request,
        };
        vault.send(&request.body(r#"{"data":2}"#))
    };
    for kind in ["application/json", "application/json-patch+json", "text/plain", ""] {
        send(Some(kind)).problem(415);
    }
    send(None).problem(415);
    assert_eq!(read(&vault, &id)["data"], 1);
    for kind in
        [MERGE_PATCH, "application/merge-patch+json; charset=utf-8", "Application/Merge-Patch+JSON"]
    {
        send(Some(kind)).with_status(200);
    }
    assert_eq!(read(&vault, &id)["data"], 2);
}

#[test]
fn what_the_patch_makes_is_validated_as_a_whole_and_a_bad_one_changes_nothing() {
    let vault = Vault::start();
    let card = json!({"number": "4242424242424242", "expiration_month": 1, "cvc": "123"});
    let id = vault.token(json!({"type": "card", "data": card, "metadata": {"a": "b"}}));
    let before = read(&vault, &id);
    for (body, paths) in [
        (json!({"data": {"number": null}}), &["data.number"][..]),
        (json!({"data": {"number": "4242424242424241"}}), &["data.number"]),
        (
            json!({"data": {"expiration_month": 13, "cvc": "1"}}),
            &["data.cvc", "data.expiration_month"],
        ),
        (json!({"data": "4242424242424242"}), &["data"]),
        (json!({"metadata": {"a": 1}}), &["metadata.a"]),
        (json!({"metadata": "x"}), &["metadata"]),
        (json!({"mask": {"number": "{{ data"}}), &["mask.number"]),
        (json!({"containers": ["/pci/high/", "x"]}), &["containers[1]"]),
        (json!({"search_indexes": ["{{ data.none }}"]}), &["search_indexes[0]"]),
        (json!({"fingerprint_expression": "{{ data | no }}"}), &["fingerprint_expression"]),
        (json!({"expires_at": "2001-01-01"}), &["expires_at"]),
        (json!({"deduplicate_token": 1}), &["deduplicate_token"]),
        (
            json!({"data": {"cvc": "x"}, "metadata": {"a": []}, "expires_at": 5, "mask": "{{ x"}),
            &["data.cvc", "expires_at", "mask", "metadata.a"],
        ),
    ] {
        vault.patch(&id, body).invalid(paths);
    }
    for body in [json!([]), json!("x"), json!(1)] {
        vault.patch(&id, body).invalid(&["$"]);
    }
    assert_eq!(read(&vault, &id), before);
}

#[test]
fn the_fingerprint_the_details_and_the_indexes_follow_the_data() {
    let mut vault = Vault::start();
    let id = vault.token(json!({
        "type": "card", "data": {"number": "4242424242424242", "expiration_month": 1},
        "search_indexes": ["{{ data.number | last4 }}"], "metadata": {"a": "1"},
    }));
    let body = json!({"data": {"number": "5555555555554444"}, "metadata": {"a": "2"}});
    let patched = vault.patch(&id, body).with_status(200);
    let fresh = json!({"type": "card", "data": {"number": "5555555555554444"}});
    let fresh = read(&vault, &vault.token(fresh));
    assert_eq!(patched.json["fingerprint"], fresh["fingerprint"]);
    assert_eq!(patched.json["card"]["brand"], "mastercard");
    assert_eq!(patched.json["card"]["last4"], "4444");
    assert_eq!(patched.json["data"]["expiration_month"], 1);
    // Found as a duplicate by its new content, not by its old.
    let same = |number: &str| {
        let body = json!({"type": "card", "data": {"number": number}, "deduplicate_token": true});
        vault.create(body).with_status(201)
    };
    assert_eq!(same("4242424242424242").json["_extras"]["deduplicated"], json!(false));
    assert_eq!(same("5555555555554444").json["_extras"]["deduplicated"], json!(true));
    let found = |query: &str| {
        let body = json!({"query": query});
        let page = vault.post("/v2/tokens/search", &vault.keys.private, body).with_status(200);
        page.json["data"].as_array().unwrap().iter().any(|token| token["id"] == json!(id))
    };
    assert!(found("data:4444") && !found("data:4242"));
    assert!(found("metadata.a:2") && !found("metadata.a:1"));
    // No entry of the old content is left, none of the new is missing.
    vault
        .patch(&id, json!({"containers": ["/x/", "/y/"], "expires_at": "1/1/2100"}))
        .with_status(200);
    vault.patch(&id, json!({"containers": ["/y/"], "expires_at": null})).with_status(200);
    vault.stop_and_verify();
}

#[test]
fn a_patch_says_who_and_when() {
    let vault = Vault::start();
    let id = vault.token(json!({"type": "token", "data": 1}));
    let before = read(&vault, &id);
    assert_eq!((before.get("modified_by"), before.get("modified_at")), (None, None));
    let other = vault.application("private", &["token:update"], &json!([]));
    vault.patch_as(&other.member("key"), &id, json!({"metadata": {"a": "b"}})).with_status(200);
    let after = read(&vault, &id);
    assert_eq!(after["modified_by"], json!(other.id()));
    assert!(after["modified_at"].as_str() >= after["created_at"].as_str());
    for name in ["id", "created_by", "created_at", "type", "data", "fingerprint"] {
        assert_eq!(after[name], before[name], "{name}");
    }
}

#[test]
fn simultaneous_patches_of_different_members_all_survive() {
    let vault = Vault::start();
    let id = vault.token(json!({"type": "token", "data": {}}));
    let patches: Vec<_> = (0..MANY)
        .map(|at| {
            let mut body = json!({"data": {format!("d{at}"): at}});
            if at < 50 {
                body["metadata"] = json!({format!("m{at}"): at.to_string()});
            }
            patch(&format!("/tokens/{id}")).key(&vault.keys.private).body(body.to_string())
        })
        .collect();
    for answer in at_once(&vault, &patches) {
        answer.with_status(200);
    }
    let token = read(&vault, &id);
    let data: BTreeMap<String, u32> = serde_json::from_value(token["data"].clone()).unwrap();
    assert_eq!(data, (0..MANY).map(|at| (format!("d{at}"), at)).collect());
    assert_eq!(token["metadata"].as_object().unwrap().len(), 50);
}

#[test]
fn a_patch_needs_its_permission_in_every_container_before_and_after() {
    let vault = Vault::start();
    let rules = json!([rule(1, "/a/", "reveal", &["token:update"])]);
    let key = vault.key_with("private", &[], &rules);
    let token = |containers: Value| {
        vault.token(json!({"type": "token", "data": 1, "containers": containers}))
    };
    let change = |id: &str, body: Value| vault.patch_as(&key, id, body);
    let mine = token(json!(["/a/"]));
    change(&mine, json!({"data": 2})).with_status(200);
    change(&mine, json!({"containers": ["/a/b/"]})).with_status(200);
    change(&mine, json!({"containers": ["/b/"]})).problem(403);
    change(&mine, json!({"containers": ["/a/", "/b/"]})).problem(403);
    change(&mine, json!({"containers": null})).problem(403);
    assert_eq!(read(&vault, &mine)["containers"], json!(["/a/b/"]));
    for containers in [json!(["/b/"]), json!(["/a/", "/b/"])] {
        let theirs = token(containers);
        change(&theirs, json!({"data": 2})).problem(403);
        change(&theirs, json!({"containers": ["/a/"]})).problem(403);
        // Permission comes before what is wrong with the body.
        change(&theirs, json!({"metadata": 7})).problem(403);
    }
    let none = vault.key_with("private", &["token:read"], &json!([]));
    vault.patch_as(&none, &mine, json!({"data": 3})).problem(403);
}

#[test]
fn the_answer_goes_through_the_transform_of_the_rule_that_allowed_it() {
    let vault = Vault::start();
    let id = vault.token(json!({
        "type": "token", "data": {"foo": "bar"}, "containers": ["/a/"],
        "mask": {"foo": "{{ data.foo }}"},
    }));
    for (transform, expected) in [
        ("reveal", json!({"foo": "newbar", "new": "newerbar"})),
        ("mask", json!({"foo": "newbar", "new": "####rbar"})),
        ("redact", json!(null)),
    ] {
        let rules = json!([
            rule(1, "/a/", transform, &["token:update"]),
            rule(2, "/", "reveal", &["token:read"]),
        ]);
        let key = vault.key_with("private", &[], &rules);
        let body = json!({
            "data": {"foo": "newbar", "new": "newerbar"},
            "mask": {"new": "{{ data.new | reveal_last: 4, '#' }}"},
        });
        let answer = vault.patch_as(&key, &id, body).with_status(200);
        assert_eq!(answer.json.get("data").cloned().unwrap_or_default(), expected, "{transform}");
    }
}

#[test]
fn a_patch_that_makes_a_duplicate_changes_nothing_and_answers_with_the_other() {
    let vault = Vault::start();
    let body = |data: &str| json!({"type": "token", "data": data, "metadata": {"is": data}});
    let (first, second) = (vault.token(body("first")), vault.token(body("second")));
    let change = json!({"data": "first", "metadata": {"x": "y"}, "deduplicate_token": true});
    let answer = vault.patch(&second, change.clone()).with_status(200);
    assert_eq!(answer.id(), first);
    assert_eq!(answer.json["_extras"]["deduplicated"], json!(true));
    assert_eq!(read(&vault, &second)["data"], "second");
    assert_eq!(read(&vault, &second)["metadata"], json!({"is": "second"}));
    assert_eq!(read(&vault, &first).get("modified_at"), None);
    // A caller that cannot read the other token gets only its type.
    let blind = vault.key_with("private", &["token:update"], &json!([]));
    let answer = vault.patch_as(&blind, &second, change).with_status(200);
    assert_eq!(names(&answer.json), ["_extras", "containers", "id", "tenant_id", "type"]);
    // A token is no duplicate of itself, nor of one in another container.
    let same = vault.patch(&first, json!({"data": "first", "deduplicate_token": true}));
    assert_eq!(same.with_status(200).id(), first);
    let moved = json!({"data": "first", "containers": ["/x/"], "deduplicate_token": true});
    let moved = vault.patch(&second, moved).with_status(200);
    assert_eq!((moved.id(), &moved.json["_extras"]["deduplicated"]), (second, &json!(false)));
    // Without the flag two tokens may be the same.
    let third = vault.token(body("third"));
    assert_eq!(vault.patch(&third, json!({"data": "first"})).with_status(200).id(), third);
}

#[test]
fn what_is_not_there_cannot_be_patched() {
    let vault = Vault::start();
    vault.patch("no-such-token", json!({"data": 1})).problem(404);
    let theirs = vault.tenant("test");
    let body = json!({"type": "token", "data": 1});
    let id = vault.post("/tokens", &theirs.keys.private, body).with_status(201).id();
    vault.patch(&id, json!({"data": 2})).problem(404);
    let named = json!({"type": "token", "data": 1, "id": "named", "expires_at": "1/1/2100"});
    let named = vault.token(named);
    vault.patch(&named, json!({"data": {"a": 1}})).with_status(200);
    vault.delete("/tokens/named", &vault.keys.private).with_status(204);
    vault.patch(&named, json!({"data": 2})).problem(404);
}

#[test]
fn a_duplicate_is_shown_as_a_read_shows_it() {
    let vault = Vault::start();
    let card = json!({"number": "4242424242424242", "cvc": "123"});
    let body = json!({"type": "card", "data": card, "deduplicate_token": true});
    let id = vault.token(body.clone());
    let again = vault.create(body).with_status(201);
    assert_eq!((again.id(), &again.json["data"]), (id.clone(), &read(&vault, &id)["data"]));
    let other = vault.token(json!({"type": "card", "data": {"number": "5555555555554444"}}));
    let change = json!({"data": {"number": "4242424242424242"}, "deduplicate_token": true});
    let answer = vault.patch(&other, change).with_status(200);
    assert_eq!((answer.id(), &answer.json["data"]), (id.clone(), &read(&vault, &id)["data"]));
}

crate::harness::again_over_http2! {
    data_is_merged_as_the_standard_says,
    any_other_content_type_is_415_and_parameters_are_allowed,
    simultaneous_patches_of_different_members_all_survive,
}

#[test]
fn a_patch_cannot_give_a_token_the_card_number_of_its_id() {
    let vault = Vault::start();
    let id = "order1378282246310005";
    vault.token(json!({"type": "card", "data": {"number": "4242424242424242"}, "id": id}));
    let change = json!({"data": {"number": "378282246310005"}});
    let refused = vault.patch(id, change.clone()).invalid(&["data"]);
    assert!(refused.text().contains("id holds this card number"), "{}", refused.text());
    // The reason depends on the stored value, so a key that may not see the value gets another text.
    let blind = json!([rule(1, "/", "redact", &["token:update"])]);
    let blind = vault.key_with("private", &[], &blind);
    let refused = vault.patch_as(&blind, id, change).invalid(&["data"]);
    assert!(!refused.text().contains("card number"), "{}", refused.text());
    vault.patch(id, json!({"data": {"number": "5555555555554444"}})).with_status(200);
}
