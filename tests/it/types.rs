//! The nine token types: the data that they take, the containers that they use, their masks and
//! fingerprints, and the details that a card number gives.

use serde_json::{Value, json};

use crate::harness::{Answer, Vault, card, only_rule, post};

fn create(vault: &Vault, kind: &str, data: &Value) -> Answer {
    vault.create(json!({"type": kind, "data": data}))
}

/// Reads a token with a key whose rule has this transform.
fn reader(vault: &Vault, transform: &str) -> String {
    let rule = only_rule("/", transform, &["token:read"]);
    vault.key_with("private", &[], &rule)
}

struct Case {
    kind: &'static str,
    data: Value,
    container: &'static str,
    fingerprint_expression: &'static str,
    masked: Value,
    search_indexes: Value,
}

fn cases() -> Vec<Case> {
    let card_mask = json!({
        "number": "XXXXXXXXXXXX4242", "expiration_month": 12, "expiration_year": 2030,
    });
    let three = json!(["{{ data }}", "{{ data | replace: '-' }}", "{{ data | last4 }}"]);
    let bank = json!({"routing_number": "021000021", "account_number": "00001234"});
    let bank_mask = json!({"routing_number": "021000021", "account_number": "XXXX1234"});
    let number = "{{ data.number }}";
    let bank_print = "{{ data.account_number }}|{{ data.routing_number }}";
    let plain = "{{ data }}";
    let no_dashes = "{{ data | remove: '-' }}";
    let entries = [
        ("token", json!({"a": 1}), "/general/high/", "{{ data | stringify }}", json!(null)),
        ("card", card(), "/pci/high/", number, card_mask.clone()),
        ("network_token", card(), "/pci/high/", number, card_mask),
        ("card_number", json!("36227206271667"), "/pci/high/", plain, json!("XXXXXXXXXX1667")),
        ("bank", bank, "/bank/high/", bank_print, bank_mask),
        ("us_bank_account_number", json!("00001234"), "/bank/high/", plain, json!("XXXX1234")),
        ("us_bank_routing_number", json!("021000021"), "/bank/low/", plain, json!("XXXXX0021")),
        (
            "social_security_number",
            json!("123-45-6789"),
            "/pii/high/",
            no_dashes,
            json!("XXX-XX-6789"),
        ),
        ("employer_id_number", json!("12-3456789"), "/pii/high/", no_dashes, json!("XX-XXX6789")),
    ];
    let case = |(kind, data, container, fingerprint_expression, masked)| Case {
        kind,
        data,
        container,
        fingerprint_expression,
        masked,
        search_indexes: if container == "/pii/high/" { three.clone() } else { json!([]) },
    };
    entries.into_iter().map(case).collect()
}

#[test]
fn each_of_the_nine_types_brings_its_own_container_fingerprint_mask_and_indexes() {
    let vault = Vault::start();
    let (masks, redacts) = (reader(&vault, "mask"), reader(&vault, "redact"));
    for case in cases() {
        let kind = case.kind;
        let made = create(&vault, kind, &case.data).with_status(201);
        let path = format!("/tokens/{}", made.id());
        let plain = vault.get(&path, &vault.keys.private).with_status(200).json;
        assert_eq!(plain["type"], kind);
        assert_eq!(plain["data"], case.data, "{kind}");
        assert_eq!(plain["containers"], json!([case.container]), "{kind}");
        assert_eq!(plain["fingerprint_expression"], case.fingerprint_expression, "{kind}");
        assert_eq!(plain["search_indexes"], case.search_indexes, "{kind}");
        assert_eq!(plain.get("mask").is_some(), kind != "token", "{kind}");
        assert_eq!(plain.get("enrichments"), None, "{kind}");
        let has = ["card", "network_token", "bank"].map(|name| plain.get(name).is_some());
        let card = matches!(kind, "card" | "card_number");
        assert_eq!(has, [card, kind == "network_token", kind == "bank"], "{kind}");
        let masked = vault.get(&path, &masks).with_status(200);
        assert_eq!(masked.json.get("data").cloned().unwrap_or_default(), case.masked, "{kind}");
        assert_eq!(masked.json.get("mask"), plain.get("mask"), "{kind}");
        let redacted = vault.get(&path, &redacts).with_status(200);
        assert_eq!(redacted.json.get("data"), None, "{kind}");
    }
}

#[test]
fn a_fingerprint_is_the_same_for_the_same_content_of_a_type_and_for_nothing_else() {
    let vault = Vault::start();
    let print = |kind: &str, data: Value| {
        create(&vault, kind, &data).with_status(201).member("fingerprint")
    };
    let card = |number: &str, year: u32| json!({"number": number, "expiration_year": year});
    let bank = |routing: &str, account: &str| json!({"routing_number": routing, "account_number": account});
    let same = [
        ("token", json!({"a": [1, "x"]}), json!({"a": [1, "x"]})),
        ("card", card("4242424242424242", 2030), card("4242424242424242", 2031)),
        ("bank", bank("021000021", "12345"), bank("021000021", "12345")),
        ("social_security_number", json!("123-45-6789"), json!("123456789")),
        ("employer_id_number", json!("12-3456789"), json!("123456789")),
    ];
    for (kind, one, other) in same {
        assert_eq!(print(kind, one), print(kind, other), "{kind}");
    }
    let different = [
        ("token", json!("1"), "token", json!("2")),
        ("card", card("4242424242424242", 2030), "card", card("4111111111111111", 2030)),
        ("card", card("4242424242424242", 2030), "network_token", card("4242424242424242", 2030)),
        ("card", card("4242424242424242", 2030), "card_number", json!("4242424242424242")),
        ("bank", bank("021000021", "12345"), "bank", bank("021000021", "12346")),
        ("bank", bank("021000021", "12345"), "bank", bank("011000015", "12345")),
        ("social_security_number", json!("123456789"), "employer_id_number", json!("123456789")),
        (
            "us_bank_account_number",
            json!("021000021"),
            "us_bank_routing_number",
            json!("021000021"),
        ),
        ("us_bank_account_number", json!("0123"), "us_bank_account_number", json!("123")),
    ];
    for (kind, one, other_kind, other) in different {
        assert_ne!(print(kind, one), print(other_kind, other), "{kind} {other_kind}");
    }
    // Another tenant's fingerprints tell nothing about this one's.
    let other = vault.tenant("test");
    let body = json!({"type": "card_number", "data": "4242424242424242"});
    let theirs = vault.post("/tokens", &other.keys.private, body).with_status(201);
    assert_ne!(theirs.member("fingerprint"), print("card_number", json!("4242424242424242")));
}

#[test]
fn a_fingerprint_expression_decides_what_the_fingerprint_is_of() {
    let vault = Vault::start();
    let print = |body: Value| vault.create(body).with_status(201).member("fingerprint");
    let with = |data: Value, metadata: &str| {
        print(json!({
            "type": "token", "data": data, "metadata": {"m": metadata},
            "fingerprint_expression": "{{ data.name }}-{{ metadata.m }}",
        }))
    };
    let first = with(json!({"name": "Ada", "x": 1}), "1");
    assert_eq!(first, with(json!({"name": "Ada", "x": 2}), "1"));
    assert_ne!(first, with(json!({"name": "Ada", "x": 1}), "2"));
    assert_eq!(first, print(json!({"type": "token", "data": "Ada-1"})));
}

#[test]
fn each_type_refuses_what_is_not_its_own() {
    let vault = Vault::start();
    let cases: [(&str, Value, &[&str]); 10] = [
        ("card", json!({"number": "4242424242424241", "cvc": "12"}), &["data.cvc", "data.number"]),
        ("card", json!("4242424242424242"), &["data"]),
        ("network_token", json!({"cvc": "x"}), &["data.cvc", "data.number"]),
        ("card_number", json!("4242424242424241"), &["data"]),
        ("bank", json!([]), &["data"]),
        ("bank", json!({}), &["data.account_number", "data.routing_number"]),
        ("us_bank_account_number", json!("12"), &["data"]),
        ("us_bank_routing_number", json!("021000020"), &["data"]),
        ("social_security_number", json!("123-45-678"), &["data"]),
        ("employer_id_number", json!(123_456_789), &["data"]),
    ];
    for (kind, data, paths) in cases {
        create(&vault, kind, &data).invalid(paths);
    }
    let key = &vault.keys.private;
    create(&vault, "no_such_type", &json!(1)).invalid(&["type"]);
    vault.post("/tokens", key, json!({})).invalid(&["data", "type"]);
    vault.post("/tokens", key, json!({"type": "token", "data": null})).invalid(&["data"]);
    vault.post("/tokens", key, json!({"type": 7, "data": 7})).invalid(&["type"]);
}

#[test]
fn a_card_takes_a_past_expiry_a_numeric_cvc_and_members_of_its_own() {
    let vault = Vault::start();
    let data = json!({
        "number": "5589092000000000006", "expiration_month": 1, "expiration_year": 1999,
        "cvc": 123, "holder": {"name": "Ada"},
    });
    let made = create(&vault, "card", &data).with_status(201);
    let read = vault.read(&made.id()).with_status(200);
    assert_eq!(read.json["data"]["cvc"], "123");
    assert_eq!(read.json["data"]["holder"], json!({"name": "Ada"}));
    assert_eq!(read.json["card"]["expiration_year"], 1999);
    create(&vault, "card", &json!({"number": "4222222222222", "cvc": "0012"})).with_status(201);
    create(&vault, "bank", &json!({"routing_number": "021000021", "account_number": "00001"}))
        .with_status(201);
}

#[test]
fn the_documented_test_cards_have_their_documented_details() {
    let vault = Vault::start();
    for (number, bin, brand, funding) in [
        ("4242424242424242", "42424242", "visa", "credit"),
        ("378282246310005", "378282", "american-express", "credit"),
        ("6011010000000003", "60110100", "discover", "debit"),
    ] {
        let details = json!({
            "bin": bin, "last4": number.split_at(number.len() - 4).1, "brand": brand, "funding": funding,
            "authentication": null,
        });
        let made = create(&vault, "card_number", &json!(number)).with_status(201);
        assert_eq!(made.json["card"], details, "{number}");
        let card = json!({"number": number, "expiration_month": 4, "expiration_year": 2031});
        let mut details = details;
        details["expiration_month"] = json!(4);
        details["expiration_year"] = json!(2031);
        let made = create(&vault, "card", &card).with_status(201);
        assert_eq!(made.json["card"], details, "{number}");
        let made = create(&vault, "network_token", &card).with_status(201);
        assert_eq!(made.json["network_token"], details, "{number}");
        assert_eq!(made.json.get("card"), None);
    }
    let made = create(&vault, "card", &json!({"number": "4150580996517927"})).with_status(201);
    let additional = json!([{"brand": "cartes-bancaires", "funding": "credit"}]);
    assert_eq!(made.json["card"]["additional"], additional);
}

#[test]
fn an_unknown_bin_has_the_default_bin_and_nulls() {
    let vault = Vault::start();
    let made = create(&vault, "card_number", &json!("9000000000000001")).with_status(201);
    let nulls = json!({
        "bin": "90000000", "last4": "0001", "brand": null, "funding": null, "authentication": null,
    });
    assert_eq!(made.json["card"], nulls);
    let short = create(&vault, "card_number", &json!("900000000000001")).with_status(201);
    assert_eq!(short.json["card"]["bin"], "900000");
    // A published range gives the brand and nothing more.
    let known = create(&vault, "card_number", &json!("5105105105105100")).with_status(201);
    assert_eq!(known.json["card"]["brand"], "mastercard");
    assert_eq!(known.json["card"]["funding"], json!(null));
}

#[test]
fn a_bank_account_has_its_details() {
    let vault = Vault::start();
    let data = json!({"routing_number": "021000021", "account_number": "0000123456"});
    let made = create(&vault, "bank", &data).with_status(201);
    let bank = json!({"routing_number": "021000021", "account_number_last4": "3456"});
    assert_eq!(made.json["bank"], bank);
}

#[test]
fn a_test_tenant_takes_the_documented_3ds_numbers_and_a_production_tenant_does_not() {
    let vault = Vault::start();
    let production = vault.tenant("production");
    let post = |key: &str, number: &str| {
        vault.post("/tokens", key, json!({"type": "card", "data": {"number": number}}))
    };
    for number in ["4200000000000002", "6011601160116011"] {
        post(&vault.keys.private, number).with_status(201);
        post(&production.keys.private, number).invalid(&["data.number"]);
    }
    post(&vault.keys.private, "4200000000000001").invalid(&["data.number"]);
    post(&production.keys.private, "4111111111111111").with_status(201);
}

/// The numbers in `card` of an answer.
fn expiry(answer: &Answer) -> (Value, Value) {
    let card = &answer.json["card"];
    (card["expiration_month"].clone(), card["expiration_year"].clone())
}

#[test]
fn months_and_years_may_be_text_which_data_keeps_and_card_shows_as_numbers() {
    let vault = Vault::start();
    let key = &vault.key_with(
        "private",
        &[],
        &only_rule("/", "reveal", &["token:create", "token:read", "token:update", "token:use"]),
    );
    let wanted = (json!(3), json!(2030));
    for (month, year) in [(r#""03""#, r#""2030""#), (r#""3""#, "2030"), ("3.0", "2030.0")] {
        let data = format!(
            r#"{{"number":"4242424242424242","expiration_month":{month},"expiration_year":{year}}}"#
        );
        let body = format!(r#"{{"type":"card","data":{data}}}"#);
        let send = |path: &str, key: &str| vault.send(&post(path).key(key).body(body.as_str()));
        let token = send("/tokens", key).with_status(201);
        for kept in
            [format!(r#""expiration_month":{month}"#), format!(r#""expiration_year":{year}"#)]
        {
            assert!(token.text().contains(&kept), "{}", token.text());
        }
        assert_eq!(expiry(&token), wanted);
        let read = vault.get(&format!("/tokens/{}", token.id()), key).with_status(200);
        assert_eq!(expiry(&read), wanted);
        let intent = send("/token-intents", &vault.keys.public).with_status(201);
        assert_eq!(expiry(&intent), wanted);
        let made = send("/tokenize", key).with_status(200);
        assert_eq!(expiry(&made), wanted);
        let expression = json!({"exp": format!("{{{{ {} | card_exp: 'MM/YY' }}}}", token.id())});
        let used = vault.post("/detokenize", key, expression).with_status(200);
        assert_eq!(used.json["exp"], "03/30");
        let change = json!({"data": {"expiration_month": "11"}});
        let patched = vault.patch_as(key, &token.id(), change).with_status(200);
        assert_eq!(expiry(&patched), (json!(11), json!(2030)));
        assert_eq!(patched.json["data"]["expiration_month"], "11");
    }
}
