//! The catalog of connections over HTTP.

use serde_json::{Value, json};

use crate::harness::{Vault, get, post};

const PATHS: [&str; 2] =
    ["/orchestration/connection_formulas", "/orchestration/connection/formulas"];

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
