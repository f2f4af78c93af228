//! Erasing the data of one person: exactly the right records go, and the receipt can be checked.

use std::fs;

use serde_json::{Value, json};

use crate::harness::{Vault, run};
use crate::terminal::on_terminal;

fn token(vault: &Vault, person: &str, data: &str) -> String {
    let metadata = json!({"person": person, "shop": "s"});
    vault.token(json!({"type": "token", "data": data, "metadata": metadata}))
}

fn is_there(vault: &Vault, id: &str) -> bool {
    match vault.read(id).status {
        200 => true,
        404 => false,
        other => panic!("{other}"),
    }
}

fn public_key(vault: &Vault) -> String {
    let receipt = vault.operator(&["audit", "receipt"]).json();
    receipt["public_key"].as_str().unwrap().to_owned()
}

#[test]
fn the_tokens_of_one_person_go_and_the_receipt_proves_it_without_the_vault() {
    let mut vault = Vault::start();
    let tenant = vault.tenant_id.clone();
    let hers: Vec<_> = ["1", "2", "3"].map(|data| token(&vault, "person-seven", data)).into();
    let his = token(&vault, "person-eight", "4");
    let criterion =
        ["--tenant", &tenant, "--metadata", "person=person-seven", "--metadata", "shop=s"];
    let dry = vault.operator(&[&["erase"], &criterion[..], &["--dry-run"]].concat()).json();
    assert_eq!(dry["count"], 3);
    let mut listed: Vec<_> =
        dry["tokens"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    let mut expected: Vec<_> = hers.iter().map(String::as_str).collect();
    listed.sort_unstable();
    expected.sort_unstable();
    assert_eq!(listed, expected);
    assert!(hers.iter().all(|id| is_there(&vault, id)), "a dry run deletes nothing");

    let file = vault.directory().join("receipt.json");
    let path = file.to_str().unwrap();
    let erase = [&["erase"], &criterion[..], &["--yes", "--out", path]].concat();
    let said = vault.operator(&erase).with_code(0);
    assert!(said.stderr.contains("Backups"), "{}", said.stderr);
    assert!(hers.iter().all(|id| !is_there(&vault, id)));
    assert!(is_there(&vault, &his));
    let text = fs::read_to_string(&file).unwrap();
    let receipt: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(receipt["count"], 3);
    assert_eq!(receipt["criterion_hash"], dry["criterion_hash"]);
    assert!(!text.contains("person-seven"), "{text}");

    let chain = vault.operator(&["audit", "export"]).with_code(0).stdout;
    assert!(!chain.contains("person-seven"), "{chain}");
    let entry = chain.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let entry = entry.into_iter().find(|it| it["number"] == receipt["entry"]).unwrap();
    assert_eq!(entry["operation"], "erase");
    assert_eq!(entry["entity_type"], "data_subject");
    assert_eq!(entry["entity_id"], receipt["criterion_hash"]);
    let key = public_key(&vault);
    vault.stop_and_verify();

    let check = |path: &str| run(&["erase", "verify", "--receipt", path, "--public-key", &key]);
    assert!(check(path).with_code(0).stdout.ends_with("The receipt is genuine.\n"));
    // Its own key proves nothing: anyone can sign a receipt with a key of theirs.
    let alone = run(&["erase", "verify", "--receipt", path]).with_code(0).stdout;
    assert!(alone.contains("--public-key") && alone.ends_with("was not checked.\n"), "{alone}");
    assert!(!alone.contains("is genuine."), "{alone}");
    let other = "0".repeat(64);
    run(&["erase", "verify", "--receipt", path, "--public-key", &other]).with_code(65);
    let again = vault.operator(&erase);
    assert_ne!(again.code, Some(0), "it never overwrites a receipt");
    assert_eq!(fs::read_to_string(&file).unwrap(), text);

    let forged = vault.directory().join("forged.json");
    for (member, value) in [
        ("tokens", json!([])),
        ("entry", json!(1)),
        ("time_micros", json!(1)),
        ("criterion_hash", json!("x")),
        ("count", json!(2)),
        ("comment", json!("x")),
    ] {
        let mut changed = receipt.clone();
        changed[member] = value;
        fs::write(&forged, changed.to_string()).unwrap();
        check(forged.to_str().unwrap()).with_code(65);
    }
    fs::write(&forged, "x").unwrap();
    check(forged.to_str().unwrap()).with_code(65);
}

#[test]
fn a_fingerprint_erases_the_tokens_the_intents_and_the_3ds_sessions_of_a_card() {
    let vault = Vault::start();
    let card = |number: &str| {
        json!({"type": "card", "data": {"number": number, "expiration_month": 12,
               "expiration_year": 2040, "cvc": "123"}})
    };
    let key = &vault.keys.private;
    let made = vault.post("/tokens", key, card("4242424242424242")).with_status(201);
    let print = made.json["fingerprint"].as_str().unwrap().to_owned();
    let other = vault.post("/tokens", key, card("4111111111111111")).with_status(201).id();
    let intent = vault.post("/token-intents", key, card("4242424242424242")).with_status(201).id();
    let session =
        vault.post("/3ds/sessions", key, json!({"token_id": made.id(), "device": "browser"}));
    let session = session.with_status(201).id();
    let tenant = vault.tenant_id.as_str();
    let erase = ["erase", "--tenant", tenant, "--fingerprint", &print, "--yes"];
    let receipt = vault.operator(&erase).json();
    assert_eq!(receipt["tokens"], json!([made.id()]));
    assert_eq!(receipt["token_intents"], json!([intent]));
    assert_eq!(receipt["threeds_sessions"], json!([session]));
    assert_ne!(receipt["criterion_hash"], print.as_str(), "a new token would confirm the number");
    let chain = vault.operator(&["audit", "export"]).with_code(0).stdout;
    assert!(!chain.contains(&print), "{chain}");
    vault.get(&format!("/token-intents/{intent}"), key).problem(404);
    vault.get(&format!("/3ds/sessions/{session}"), key).problem(404);
    assert!(!is_there(&vault, &made.id()) && is_there(&vault, &other));
    let nothing = vault.operator(&erase).json();
    assert_eq!(nothing["count"], 0);
}

fn plain_card(number: &str) -> Value {
    json!({"type": "card", "data": {"number": number, "expiration_month": 12,
           "expiration_year": 2040}})
}

fn session_of(vault: &Vault, member: &str, id: &str) -> String {
    let body = json!({member: id, "device": "browser"});
    vault.post("/3ds/sessions", &vault.keys.private, body).with_status(201).id()
}

/// An intent, a session that was made with it, and the token that it became.
fn converted(vault: &Vault, mut body: Value) -> (String, Value) {
    let key = &vault.keys.private;
    let card = plain_card("4242424242424242");
    let intent = vault.post("/token-intents", key, card).with_status(201).id();
    let session = session_of(vault, "token_intent_id", &intent);
    body["token_intent_id"] = json!(intent);
    let token = vault.post("/tokens", key, body).with_status(201).json;
    vault.get(&format!("/token-intents/{intent}"), key).problem(404);
    (session, token)
}

#[test]
fn the_3ds_sessions_of_a_card_go_also_when_its_intent_or_token_went_before() {
    let vault = Vault::start();
    let key = &vault.keys.private;
    let (of_intent, token) = converted(&vault, json!({}));
    let deleted = vault.post("/tokens", key, plain_card("4242424242424242")).with_status(201).id();
    let of_deleted = session_of(&vault, "token_id", &deleted);
    vault.delete(&format!("/tokens/{deleted}"), key).with_status(204);
    let other = vault.post("/tokens", key, plain_card("4111111111111111")).with_status(201).id();
    let of_other = session_of(&vault, "token_id", &other);
    let print = token["fingerprint"].as_str().unwrap();
    let tenant = vault.tenant_id.as_str();
    let receipt =
        vault.operator(&["erase", "--tenant", tenant, "--fingerprint", print, "--yes"]).json();
    let erased = receipt["threeds_sessions"].as_array().unwrap();
    assert_eq!(erased.len(), 2, "{receipt}");
    for gone in [of_intent, of_deleted] {
        assert!(erased.contains(&json!(gone)), "{receipt}");
        vault.get(&format!("/3ds/sessions/{gone}"), key).problem(404);
    }
    vault.get(&format!("/3ds/sessions/{of_other}"), key).with_status(200);
}

#[test]
fn metadata_erases_the_3ds_session_of_the_intent_that_became_the_token() {
    let vault = Vault::start();
    let hers = json!({"metadata": {"person": "person-seven"}, "fingerprint_expression": "{{ data.number }}-x"});
    let (of_intent, _) = converted(&vault, hers);
    let mut his = plain_card("4242424242424242");
    his["metadata"] = json!({"person": "person-eight"});
    let his = vault.create(his).with_status(201).id();
    let of_his = session_of(&vault, "token_id", &his);
    let by = ["--tenant", &vault.tenant_id, "--metadata", "person=person-seven", "--yes"];
    let receipt = vault.operator(&[&["erase"], &by[..]].concat()).json();
    assert_eq!(receipt["threeds_sessions"], json!([of_intent]));
    vault.get(&format!("/3ds/sessions/{of_his}"), &vault.keys.private).with_status(200);
}

#[test]
fn wrong_criteria_and_missing_confirmations_are_refused_and_delete_nothing() {
    let vault = Vault::start();
    let tenant = vault.tenant_id.as_str();
    let id = token(&vault, "p", "x");
    let by = ["--metadata", "person=p"];
    let ask = |arguments: &[&str]| vault.operator(&[&["erase"], arguments].concat());
    let refused = ask(&[&["--tenant", tenant], &by[..]].concat()).with_code(64);
    assert!(refused.stderr.contains("--yes"), "{}", refused.stderr);
    for wrong in [
        &["--tenant", tenant, "--yes"][..],
        &["--tenant", tenant, "--yes", "--metadata", "person"],
        &["--tenant", tenant, "--yes", "--metadata", "person=p", "--fingerprint", "f"],
        &["--yes", "--metadata", "person=p"],
    ] {
        ask(wrong).with_code(64);
    }
    for nobody in ["nonsense", "0190a1b2-c3d4-4e5f-8a6b-7c8d9e0f1a2b"] {
        let refused = ask(&[&["--tenant", nobody, "--yes"], &by[..]].concat()).with_code(65);
        assert!(refused.stderr.contains("There is no such tenant."), "{}", refused.stderr);
    }
    let other = vault.tenant("test");
    let none = ask(&[&["--tenant", &other.id, "--yes"], &by[..]].concat()).json();
    assert_eq!(none["count"], 0, "another tenant's tokens are not found");
    assert!(is_there(&vault, &id));
    let config = vault.config();
    let typed = [
        "erase",
        "--tenant",
        tenant,
        "--metadata",
        "person=p",
        "--config",
        config.to_str().unwrap(),
    ];
    let Some((code, said)) = on_terminal(&typed, "no") else { return };
    assert_eq!(code, 65, "{said}");
    assert!(said.contains("1 token,") && is_there(&vault, &id), "{said}");
    assert_eq!(on_terminal(&typed, "erase").unwrap().0, 0);
    assert!(!is_there(&vault, &id));
}

#[test]
fn an_erasure_works_on_a_closed_file_and_webhooks_hear_of_each_token() {
    let mut vault = Vault::start();
    let hook = json!({"name": "h", "url": "https://hooks.example/x", "events": ["token.deleted"]});
    let hook = vault.post("/webhooks", &vault.keys.management, hook).with_status(201).id();
    let id = token(&vault, "p", "x");
    assert_eq!(vault.stop(), Some(0));
    let tenant = vault.tenant_id.clone();
    let receipt =
        vault.operator(&["erase", "--tenant", &tenant, "--metadata", "person=p", "--yes"]);
    assert_eq!(receipt.json()["tokens"], json!([id]));
    let waiting =
        vault.operator(&["webhook", "events", "--json", "--tenant", &tenant, "--webhook", &hook]);
    assert!(waiting.with_code(0).stdout.contains("token.deleted"));
    vault.verify().with_code(0);
}
