//! No caller learns more of a stored value than its right to read shows, whatever it may write.

use serde_json::{Value, json};

use crate::harness::{Answer, NUMBER, Vault, names, rule};

const OTHER_NUMBER: &str = "5555555555554444";

fn create(vault: &Vault, key: &str, body: Value) -> Answer {
    vault.post("/tokens", key, body)
}

fn read(vault: &Vault, id: &str) -> Value {
    vault.read(id).with_status(200).json
}

fn card(vault: &Vault) -> String {
    vault.token(json!({
        "type": "card", "metadata": {"a": "1"},
        "data": {"number": NUMBER, "expiration_month": 1, "cvc": "987"},
    }))
}

const OUTLINE: [&str; 5] = ["_extras", "containers", "id", "tenant_id", "type"];

#[test]
fn an_update_right_does_not_unmask_a_token() {
    let vault = Vault::start();
    let id = card(&vault);
    let before = read(&vault, &id);
    let redacted =
        json!([rule(1, "/", "reveal", &["token:update"]), rule(2, "/", "redact", &["token:read"])]);
    let masked =
        json!([rule(1, "/", "reveal", &["token:update"]), rule(2, "/", "mask", &["token:read"])]);
    let keys = [
        vault.key_with("public", &["token:update"], &json!([])),
        vault.key_with("private", &["token:update"], &json!([])),
        vault.key_with("private", &["token:update", "token:read"], &json!([])),
        vault.key_with("private", &[], &redacted),
        vault.key_with("private", &[], &masked),
    ];
    for key in &keys {
        for body in [
            json!({"mask": {"number": "{{ data.number }}", "cvc": "{{ data.cvc }}"}}),
            json!({"mask": "{{ data.number }}", "data": {"expiration_month": 2}}),
            json!({"mask": null}),
            json!({"search_indexes": ["{{ data.number }}"]}),
            json!({"search_indexes": null}),
            json!({"fingerprint_expression": "{{ data.number | slice: 0 }}"}),
            json!({"fingerprint_expression": null}),
        ] {
            let refused = vault.patch_as(key, &id, body.clone()).problem(403);
            assert!(refused.member("detail").contains("in plain"), "{body}");
        }
    }
    assert_eq!(read(&vault, &id), before);
    // A caller that may see the value in plain may say how it appears to others.
    let plain =
        json!([rule(1, "/", "mask", &["token:update"]), rule(2, "/", "reveal", &["token:read"])]);
    for key in [
        vault.key_with("private", &[], &plain),
        vault.key_with("private", &["token:update", "token:use"], &json!([])),
    ] {
        vault.patch_as(&key, &id, json!({"mask": {"number": "x"}})).with_status(200);
    }
}

#[test]
fn a_patch_is_answered_with_what_the_caller_may_read() {
    let vault = Vault::start();
    let id = card(&vault);
    let updates = rule(1, "/", "reveal", &["token:update"]);
    let blind = vault.key_with("private", &[], &json!([updates]));
    let answer = vault.patch_as(&blind, &id, json!({})).with_status(200);
    assert_eq!(names(&answer.json), OUTLINE, "{}", answer.text());
    // A page collects a new code with a public key, and learns nothing.
    let public = vault.key_with("public", &["token:update"], &json!([]));
    let answer = vault.patch_as(&public, &id, json!({"data": {"cvc": "123"}})).with_status(200);
    assert_eq!(names(&answer.json), OUTLINE, "{}", answer.text());
    assert_eq!(read(&vault, &id)["data"]["cvc"], "123");
    for (transform, number) in
        [("redact", json!(null)), ("mask", json!("XXXXXXXXXXXX4242")), ("reveal", json!(NUMBER))]
    {
        let rules = json!([updates, rule(2, "/", transform, &["token:read"])]);
        let key = vault.key_with("private", &[], &rules);
        let answer = vault.patch_as(&key, &id, json!({"data": {"expiration_month": 3}}));
        let answer = answer.with_status(200);
        assert_eq!(answer.json["data"]["number"], number, "{transform}");
        assert_eq!(answer.json.get("fingerprint").is_some(), transform != "redact");
    }
}

#[test]
fn a_token_is_not_moved_to_where_the_mover_sees_more_of_it() {
    let vault = Vault::start();
    let updates = rule(3, "/", "reveal", &["token:update"]);
    for (permission, transform) in [
        ("token:read", "reveal"),
        ("token:read", "mask"),
        ("token:read", "redact"),
        ("token:search", "reveal"),
        ("token:use", "reveal"),
    ] {
        let id = card(&vault);
        let rules = json!([updates, rule(1, "/mine/", transform, &[permission])]);
        let key = vault.key_with("private", &[], &rules);
        for containers in [json!(["/mine/"]), json!(["/mine/", "/pci/high/"])] {
            vault.patch_as(&key, &id, json!({"containers": containers})).problem(403);
        }
        assert_eq!(read(&vault, &id)["containers"], json!(["/pci/high/"]));
        // To where it sees no more it may be moved.
        vault.patch_as(&key, &id, json!({"containers": ["/other/"]})).with_status(200);
    }
}

#[test]
fn an_expression_that_fails_over_hidden_data_has_one_message() {
    let vault = Vault::start();
    let public = vault.key_with("public", &["token:update"], &json!([]));
    let mut answers = Vec::new();
    for (member, expression) in [
        ("search_indexes", json!(["{{ data.a | plus: 1 }}"])),
        ("fingerprint_expression", json!("{{ data.a | plus: 1 }}")),
    ] {
        for hidden in ["1", "2"] {
            let id = vault.token(json!({
                "type": "token", "data": {"a": 1, "hidden": hidden}, member: expression,
            }));
            let refused = vault.patch_as(&public, &id, json!({"data": {"a": "text"}}));
            answers.push(refused.invalid(&["data"]).without_trace());
        }
    }
    assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{answers:?}");
}

pub(crate) fn update_existing(vault: &Vault) {
    vault.set_tenant(json!({
        "deduplicate_tokens": "true", "token_deduplication_behavior": "update_existing",
    }));
}

#[test]
fn a_chosen_expression_does_not_make_a_duplicate_of_somebody_elses_token() {
    let vault = Vault::start();
    update_existing(&vault);
    let id = card(&vault);
    let before = read(&vault, &id);
    let key = vault.key_with("private", &["token:create", "token-intent:create"], &json!([]));
    let forged = json!({
        "type": "card", "data": {"number": OTHER_NUMBER, "holder": "Mallory"},
        "fingerprint_expression": NUMBER, "metadata": {"a": "2"},
    });
    let made = create(&vault, &key, forged.clone()).with_status(201);
    assert_ne!(made.id(), id);
    assert_eq!(made.json["_extras"]["deduplicated"], json!(false));
    // Nor in one call with its own, nor by way of an intent.
    let body = json!({"type": "card", "data": {"number": OTHER_NUMBER}});
    let intent = vault.post("/token-intents", &key, body).with_status(201).id();
    let converted = json!({
        "token_intent_id": intent, "fingerprint_expression": NUMBER, "deduplicate_token": true,
    });
    let converted = create(&vault, &key, converted).with_status(201);
    assert_ne!(converted.id(), id);
    let tokenized = vault.post("/tokenize", &key, json!({"one": forged})).with_status(200);
    assert_ne!(tokenized.json["one"]["id"], json!(id));
    assert_eq!(read(&vault, &id), before);
    // Nor does a patch become a duplicate in this way.
    let other = vault.token(json!({"type": "card", "data": {"number": OTHER_NUMBER}}));
    let body = json!({"fingerprint_expression": NUMBER, "deduplicate_token": true});
    let patched = vault.patch(&other, body).with_status(200);
    assert_ne!(patched.id(), id);
}

#[test]
fn a_merge_without_the_right_to_update_leaves_what_identifies_a_token() {
    let vault = Vault::start();
    update_existing(&vault);
    let id = card(&vault);
    let body = json!({
        "type": "card", "metadata": {"a": "2", "b": "2"},
        "data": {"number": NUMBER, "expiration_month": 7, "cvc": "111", "holder": "Ada"},
    });
    let creator = vault.key_with("private", &["token:create"], &json!([]));
    let answer = create(&vault, &creator, body.clone()).with_status(201);
    assert_eq!((answer.id(), &answer.json["_extras"]["deduplicated"]), (id.clone(), &json!(true)));
    let read_back = read(&vault, &id);
    let merged = json!({"number": NUMBER, "expiration_month": 7, "cvc": "111", "holder": "Ada"});
    assert_eq!(read_back["data"], merged);
    assert_eq!(read_back["metadata"], json!({"a": "1"}));
    assert_eq!(read_back["mask"]["number"], "{{ data.number | reveal_last: 4 }}");
    let updater = vault.key_with("private", &["token:create", "token:update"], &json!([]));
    create(&vault, &updater, body).with_status(201);
    assert_eq!(read(&vault, &id)["metadata"], json!({"a": "2", "b": "2"}));
    // A member that the fingerprint reads is not replaced by another value of the same print.
    let expression = "{{ data.number | slice: -4, 4 }}";
    let with = |number: &str, holder: &str| {
        json!({
            "type": "card", "fingerprint_expression": expression,
            "data": {"number": number, "holder": holder},
        })
    };
    let victim = vault.token(with("4000000000001000", "Ada"));
    let met = create(&vault, &creator, with("4000000000181000", "Eve")).with_status(201);
    assert_eq!(met.id(), victim);
    let data = &read(&vault, &victim)["data"];
    assert_eq!((&data["number"], &data["holder"]), (&json!("4000000000001000"), &json!("Eve")));
}

#[test]
fn a_duplicate_is_shown_with_the_lesser_of_creating_and_reading() {
    let vault = Vault::start();
    let id = card(&vault);
    let body = json!({"type": "card", "data": {"number": NUMBER}, "deduplicate_token": true});
    let creates = rule(1, "/", "reveal", &["token:create", "token:update"]);
    for (transform, number) in
        [("redact", json!(null)), ("mask", json!("XXXXXXXXXXXX4242")), ("reveal", json!(NUMBER))]
    {
        let rules = json!([creates, rule(2, "/", transform, &["token:read"])]);
        let key = vault.key_with("private", &["token-intent:create"], &rules);
        let mut answers = vec![create(&vault, &key, body.clone()).with_status(201).json];
        let tokenized = vault.post("/tokenize", &key, json!({"a": body})).with_status(200);
        answers.push(tokenized.json["a"].clone());
        let other = vault.token(json!({"type": "card", "data": {"number": OTHER_NUMBER}}));
        let change = json!({"data": {"number": NUMBER}, "deduplicate_token": true});
        answers.push(vault.patch_as(&key, &other, change).with_status(200).json);
        let conversion = json!({"token_intent_id": vault.intent(&key), "deduplicate_token": true});
        answers.push(create(&vault, &key, conversion).with_status(201).json);
        for answer in answers {
            assert_eq!(answer["id"], json!(id));
            assert_eq!(answer["data"]["number"], number, "{transform} {answer}");
            assert!(transform == "reveal" || !answer.to_string().contains("\"987\""), "{answer}");
        }
    }
}

#[test]
fn a_converter_sees_no_more_of_an_intent_than_the_default_mask() {
    let vault = Vault::start();
    let intent = || {
        let body = json!({"type": "card", "data": {"number": NUMBER, "cvc": "987"}});
        vault.post("/token-intents", &vault.keys.public, body).with_status(201).id()
    };
    let reveals = json!([rule(1, "/", "reveal", &["token:create"])]);
    let reader = json!([
        rule(1, "/", "reveal", &["token:create"]),
        rule(2, "/", "mask", &["token:read", "token:search"]),
    ]);
    for (kind, permissions, rules) in [
        ("private", vec!["token:create"], json!([])),
        ("public", vec!["token:create"], json!([])),
        ("private", vec![], reveals),
        ("private", vec![], reader),
    ] {
        let key = vault.key_with(kind, &permissions, &rules);
        for (name, value) in [
            ("mask", json!({"number": "{{ data.number }}"})),
            ("mask", json!("{{ data.number }}")),
            ("id", json!("{{ data.number | append: 'x' }}")),
            ("search_indexes", json!(["{{ data.number }}"])),
            ("fingerprint_expression", json!("{{ data.number | slice: 8, 4 }}")),
        ] {
            let body = json!({"token_intent_id": intent(), name: value});
            let refused = create(&vault, &key, body.clone()).problem(403);
            assert!(!refused.text().contains(NUMBER), "{name}");
            vault.post("/tokenize", &key, json!({"a": body})).problem(403);
        }
        let made = create(&vault, &key, json!({"token_intent_id": intent()})).with_status(201);
        let shown = if kind == "public" { json!(null) } else { json!("XXXXXXXXXXXX4242") };
        assert_eq!(made.json["data"]["number"], shown, "{}", made.text());
    }
    // The maker of the intent, and a key that may see the value, convert it as they like.
    let maker = vault.key_with("private", &["token:create", "token-intent:create"], &json!([]));
    let mask = json!({"number": "{{ data.number }}"});
    let body = json!({"token_intent_id": vault.intent(&maker), "mask": mask});
    let made = create(&vault, &maker, body).with_status(201);
    assert_eq!(made.json["data"]["number"], NUMBER);
    let body = json!({"token_intent_id": intent(), "mask": mask});
    create(&vault, &vault.keys.private, body).with_status(201);
    // Every visitor has the public key, so its application does not count as the maker.
    let body = json!({"token_intent_id": intent(), "mask": mask});
    create(&vault, &vault.keys.public, body).problem(403);
}

#[test]
fn a_redacted_view_has_no_fingerprint() {
    let vault = Vault::start();
    let id = card(&vault);
    let fingerprint = read(&vault, &id)["fingerprint"].as_str().unwrap().to_owned();
    let permissions = ["token:read", "token:search", "token:create"];
    let rules = json!([rule(1, "/", "redact", &permissions)]);
    let key = vault.key_with("private", &[], &rules);
    let expression = format!("{{{{ token: {id} }}}}");
    for answer in [
        vault.get(&format!("/tokens/{id}"), &key),
        vault.get("/v2/tokens", &key),
        vault.get("/tokens", &key),
        vault.post("/v2/tokens/search", &key, json!({})),
        vault.post("/tokens/search", &key, json!({})),
        vault.post("/detokenize", &key, json!({"all": expression})),
    ] {
        let answer = answer.with_status(200);
        assert!(answer.text().contains(&id), "{}", answer.text());
        assert!(!answer.text().contains(&fingerprint), "{}", answer.text());
    }
    // It cannot be asked for in a roundabout way.
    vault.get(&format!("/v2/tokens?fingerprint={fingerprint}"), &key).problem(403);
    let query = json!({"query": format!("fingerprint:{fingerprint}")});
    vault.post("/v2/tokens/search", &key, query).problem(403);
    // A create shows the fingerprint of the value that came with it.
    let body = json!({"type": "card", "data": {"number": NUMBER}, "deduplicate_token": true});
    let met = create(&vault, &key, body.clone()).with_status(201);
    assert_eq!(met.json["fingerprint"], json!(fingerprint));
    let creator = vault.key_with("private", &["token:create"], &json!([]));
    assert_eq!(create(&vault, &creator, body).json["fingerprint"], json!(fingerprint));
    // Masked views have it, and find by it.
    let masked = vault.key_with("private", &["token:read"], &json!([]));
    let found = vault.get(&format!("/v2/tokens?fingerprint={fingerprint}"), &masked);
    assert_eq!(found.with_status(200).json["data"][0]["id"], json!(id));
}

#[test]
fn a_planted_mask_shows_nothing_of_what_others_merge_into_the_token() {
    let vault = Vault::start();
    update_existing(&vault);
    let plain = ["token:create", "token:read", "token:search"];
    let maker = vault.key_with("private", &plain, &json!([]));
    let all = json!({"cvc": "{{ data.cvc }}", "holder": "{{ data.holder }}"});
    let planted = json!({"type": "card", "data": {"number": NUMBER}, "mask": all});
    let id = create(&vault, &maker, planted.clone()).with_status(201).id();
    let data = json!({"number": NUMBER, "cvc": "987", "holder": "Ann Victim"});
    let body = json!({"type": "card", "data": data});
    let merged = create(&vault, &vault.keys.public, body.clone()).with_status(201);
    assert_ne!(merged.id(), id);
    let hit = vault.get(&format!("/tokens/{id}"), &maker).with_status(200).text();
    assert!(!hit.contains("\"987\"") && !hit.contains("Ann Victim"), "{hit}");
    // Nor by way of an intent, alone or beside the planted token in one call.
    let intent = || {
        let made = vault.post("/token-intents", &vault.keys.public, body.clone());
        json!({"token_intent_id": made.with_status(201).id(), "deduplicate_token": true})
    };
    let converted = create(&vault, &maker, intent()).with_status(201);
    assert!(!converted.text().contains("Ann Victim"), "{}", converted.text());
    let both = json!({"a": planted, "b": intent()});
    let both = vault.post("/tokenize", &maker, both).with_status(200);
    assert!(!both.text().contains("Ann Victim"), "{}", both.text());
    // Its own application may go on merging into it.
    let mut again = planted;
    again["data"]["holder"] = json!("Own");
    assert_eq!(create(&vault, &maker, again).with_status(201).id(), id);
}

#[test]
fn a_move_that_meets_a_duplicate_tells_no_fingerprint() {
    let vault = Vault::start();
    let id = card(&vault);
    let there = json!({"type": "card", "data": {"number": NUMBER}, "containers": ["/pci/b/"]});
    let other = vault.token(there);
    let rules = json!([rule(1, "/", "redact", &["token:read", "token:update"])]);
    for key in [
        vault.key_with("public", &["token:update"], &json!([])),
        vault.key_with("private", &[], &rules),
    ] {
        let body = json!({"containers": ["/pci/b/"], "deduplicate_token": true});
        let met = vault.patch_as(&key, &id, body).with_status(200);
        assert_eq!(met.id(), other);
        assert_eq!(met.json.get("fingerprint"), None, "{}", met.text());
    }
}

#[test]
fn a_key_that_is_revoked_while_its_body_arrives_does_nothing() {
    let vault = Vault::start();
    let secret = vault.token(json!({"type": "token", "data": "TOPSECRET"}));
    let application = vault.application("private", &["token:use"], &json!([]));
    let body = json!({"x": format!("{{{{ {secret} }}}}")}).to_string();
    let request = crate::harness::post("/detokenize").key(&application.member("key"));
    let bytes = request.header("Content-Type", "application/json").body(body).bytes("localhost");
    let (last, first) = bytes.split_last().unwrap();
    let mut connection = vault.connect();
    connection.send(first).unwrap();
    // While these are answered, the head of the first one is read.
    for _ in 0..30 {
        vault.get("/permissions", &vault.keys.private).with_status(200);
    }
    let path = format!("/applications/{}", application.id());
    vault.delete(&path, &vault.keys.management).with_status(204);
    connection.send(&[*last]).unwrap();
    let answer = connection.receive().unwrap();
    assert_eq!(answer.status, 401, "{}", answer.text());
}

#[test]
fn a_replay_of_several_tokens_shows_nothing_of_one_that_was_moved_to_another_ones_place() {
    let vault = Vault::start();
    let rules = json!([
        rule(1, "/a/", "reveal", &["token:create", "token:read"]),
        rule(2, "/b/", "reveal", &["token:create"]),
    ]);
    let key = vault.key_with("private", &[], &rules);
    let data = json!({"id": "n2", "s": "SECRET-B"});
    let id = vault.token(json!({
        "type": "token", "data": data, "containers": ["/a/"],
        "fingerprint_expression": "{{ data.id }}",
    }));
    let body = json!({
        "x": {
            "type": "token", "data": {"id": "n2"}, "containers": ["/a/"],
            "fingerprint_expression": "{{ data.id }}", "deduplicate_token": true,
        },
        "y": {"type": "token", "data": "other", "containers": ["/b/"]},
    });
    let request = crate::harness::post("/tokenize").key(&key).json(body);
    let request = request.once("both");
    let first = vault.send(&request).with_status(200);
    assert!(first.text().contains(&id) && first.text().contains("SECRET-B"), "{}", first.text());
    vault.patch(&id, json!({"containers": ["/b/"]})).with_status(200);
    let replay = vault.send(&request).with_status(200);
    assert!(!replay.text().contains("SECRET-B"), "{}", replay.text());
}

#[test]
fn a_replay_shows_nothing_of_a_token_that_was_moved_out_of_sight() {
    let vault = Vault::start();
    let rules = json!([rule(1, "/a/", "reveal", &["token:create", "token:read"])]);
    let key = vault.key_with("private", &[], &rules);
    let body = json!({"type": "card", "data": {"number": NUMBER}, "containers": ["/a/"]});
    let request = crate::harness::post("/tokens").key(&key).json(body);
    let request = request.once("once");
    let id = vault.send(&request).with_status(201).id();
    assert!(vault.send(&request).with_status(201).text().contains(NUMBER));
    let moved = json!({"containers": ["/secret/"]});
    vault.patch(&id, moved).with_status(200);
    let replay = vault.send(&request).with_status(201);
    assert_eq!(replay.id(), id);
    assert!(!replay.text().contains(NUMBER), "{}", replay.text());
    // To where the caller sees it as before it may move.
    vault.patch(&id, json!({"containers": ["/a/b/"]})).with_status(200);
    assert!(vault.send(&request).with_status(201).text().contains(NUMBER));
}
