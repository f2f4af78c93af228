//! The catalog of connections over HTTP.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::harness::{Request, Vault, get, post, put};

const PATHS: [&str; 2] =
    ["/orchestration/connection_formulas", "/orchestration/connection/formulas"];

/// The ids and names that were published.
const PUBLISHED: [(&str, &str); 18] = [
    ("adyen-card", "Adyen"),
    ("authipay-card", "Authipay"),
    ("authorizenet-card", "Authorize.net"),
    ("braintree-card", "Braintree"),
    ("chaseorbital-card", "Chase Orbital"),
    ("checkoutcom-card", "Checkout.com"),
    ("cybersource-card", "CyberSource"),
    ("dlocal-card", "dlocal"),
    ("ebanx-card", "EBANX"),
    ("fiserv-card", "Fiserv"),
    ("nmi-card", "NMI"),
    ("nuvei-card", "Nuvei"),
    ("planet-card", "Planet"),
    ("razorpay-card", "Razorpay"),
    ("stripe-card", "Stripe"),
    ("trustpayments-card", "Trust Payments"),
    ("usaepay-card", "USAePay"),
    ("worldpayvap-card", "Worldpay (VAP)"),
];

const FLAGS: [&str; 8] = [
    "three_d_secure_pass_through",
    "delayed_capture",
    "partial_capture",
    "partial_refunds",
    "refunds",
    "zero_auth",
    "void",
    "voidAllowed",
];

#[test]
fn both_paths_and_both_methods_give_the_bare_array_of_18() {
    let vault = Vault::start();
    let key = &vault.keys.private;
    let first = vault.get(PATHS[0], key).with_status(200);
    assert_eq!(first.header("content-type"), Some("application/json; charset=utf-8"));
    for path in PATHS {
        for request in [get(path), post(path), post(path).json(json!({"anything": 1}))] {
            let answer = vault.send(&request.key(key)).with_status(200);
            assert_eq!(answer.bytes, first.bytes);
        }
    }
    let list = first.json.as_array().expect("a bare array");
    let found: Vec<_> =
        list.iter().map(|it| (text(&it["id"]), text(&it["display_name"]))).collect();
    assert_eq!(found, PUBLISHED);
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

#[test]
fn every_formula_has_the_published_members() {
    let vault = Vault::start();
    let list = vault.get(PATHS[0], &vault.keys.private).with_status(200).json;
    for formula in list.as_array().unwrap() {
        let id = text(&formula["id"]);
        assert_eq!(formula["method"], "card");
        let names: Vec<_> = formula.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(names.len(), 7, "{id}: {names:?}");
        for field in formula["fields"].as_array().unwrap() {
            let field: BTreeMap<_, _> = field.as_object().unwrap().iter().collect();
            let names: Vec<_> = field.keys().map(|it| it.as_str()).collect();
            assert_eq!(names, ["display_name", "format", "key", "required", "secret"], "{id}");
            assert_eq!(field[&String::from("format")], "text");
        }
        let features = formula["supported_features"].as_object().unwrap();
        assert_eq!(features.len(), FLAGS.len(), "{id}");
        assert!(FLAGS.iter().all(|flag| features[*flag].is_boolean()), "{id}");
        assert_eq!(features["void"], features["voidAllowed"], "{id}");
        for (name, length) in [("supported_currencies", 3), ("supported_countries", 2)] {
            let codes: Vec<_> = formula[name].as_array().unwrap().iter().map(text).collect();
            assert!(!codes.is_empty() && codes.is_sorted(), "{id} {name}");
            let legal = |code: &&str| {
                code.len() == length && code.bytes().all(|it| it.is_ascii_uppercase())
            };
            assert!(codes.iter().all(legal), "{id} {name}");
        }
    }
}

#[test]
fn a_few_formulas_say_what_was_published_of_them() {
    let vault = Vault::start();
    let read = |id: &str| {
        let path = format!("{}/{id}", PATHS[0]);
        vault.get(&path, &vault.keys.private).with_status(200).json
    };
    let razorpay = read("razorpay-card");
    assert_eq!(razorpay["supported_currencies"], json!(["INR"]));
    assert_eq!(razorpay["supported_countries"], json!(["IN"]));
    let off = |formula: &Value| -> Vec<String> {
        let flags = formula["supported_features"].as_object().unwrap();
        flags.iter().filter(|it| it.1 == &json!(false)).map(|it| it.0.clone()).collect()
    };
    let mut flags = off(&razorpay);
    flags.sort_unstable();
    assert_eq!(flags, ["delayed_capture", "three_d_secure_pass_through", "zero_auth"]);
    let ebanx = read("ebanx-card");
    assert_eq!(
        ebanx["fields"],
        json!([{
            "key": "integration_key", "display_name": "Integration key", "required": true,
            "format": "text", "secret": true,
        }])
    );
    let adyen = read("adyen-card");
    assert_eq!(adyen["fields"][2]["required"], json!(false));
    assert_eq!(off(&adyen), [""; 0]);
    assert_eq!(adyen["supported_currencies"].as_array().unwrap().len(), 132);
}

#[test]
fn one_formula_is_read_by_its_id_and_an_unknown_id_is_404() {
    let vault = Vault::start();
    let key = &vault.keys.private;
    let list = vault.get(PATHS[0], key).with_status(200).json;
    for path in PATHS {
        for formula in list.as_array().unwrap() {
            let one = format!("{path}/{}", text(&formula["id"]));
            assert_eq!(&vault.get(&one, key).with_status(200).json, formula);
            assert_eq!(&vault.send(&post(&one).key(key)).with_status(200).json, formula);
        }
        for id in ["stripe", "STRIPE-CARD", "none", "stripe-bank"] {
            vault.get(&format!("{path}/{id}"), key).problem(404);
        }
        vault.get(&format!("{path}/"), key).with_status(200);
    }
}

#[test]
fn the_catalog_needs_its_own_permission_and_is_read_only() {
    let vault = Vault::start();
    let without = vault.key_with("private", &["token:create", "token:read"], &json!([]));
    let with = vault.key_with("private", &["orchestration:connection_formulas"], &json!([]));
    for path in PATHS {
        for path in [String::from(path), format!("{path}/stripe-card"), format!("{path}/none")] {
            for make in [get, post] {
                vault.send(&make(&path).key(&without)).problem(403);
                vault.send(&make(&path)).problem(401);
            }
        }
        vault.get(path, &with).with_status(200);
        let change = [put(path), crate::harness::delete(path), Request::new("PATCH", path)];
        for request in change {
            let refused = vault.send(&request.key(&with)).problem(405);
            assert_eq!(refused.header("allow"), Some("GET, POST"));
        }
    }
}

#[test]
fn a_client_that_has_the_catalog_already_is_told_so() {
    let vault = Vault::start();
    let key = &vault.keys.private;
    let paths = PATHS.map(String::from).into_iter();
    for path in paths.chain([format!("{}/stripe-card", PATHS[0])]) {
        let first = vault.get(&path, key).with_status(200);
        let tag = String::from(first.header("etag").expect("a tag"));
        assert_eq!(first.header("cache-control"), Some("private, no-cache"));
        for known in [tag.clone(), format!("W/{tag}"), format!("\"x\", {tag}"), String::from("*")] {
            let same = vault.send(&get(&path).key(key).header("If-None-Match", &known));
            let same = same.with_status(304);
            assert!(same.bytes.is_empty());
            assert_eq!(same.header("etag"), Some(tag.as_str()));
        }
        let other = vault.send(&get(&path).key(key).header("If-None-Match", "\"other\""));
        assert_eq!(other.with_status(200).bytes, first.bytes);
    }
    let list = vault.get(PATHS[0], key);
    let one = vault.get(&format!("{}/stripe-card", PATHS[0]), key);
    assert_ne!(list.header("etag"), one.header("etag"));
}
