//! The catalog is edited in `catalog.toml` and served from `catalog.txt`. These tests check the
//! former, and that the latter is equal to it.

use std::collections::BTreeSet;
use std::{env, fs};

use serde_json::{Value, json};
use toml::Table;

use super::*;

const SOURCE: &str = include_str!("catalog.toml");

const FORMULAS: usize = 18;

/// The features of the interface, in the order of its documents. `void` has a second name there.
const FEATURES: [&str; 7] = [
    "three_d_secure_pass_through",
    "delayed_capture",
    "partial_capture",
    "partial_refunds",
    "refunds",
    "zero_auth",
    "void",
];

/// The codes of a standard: ISO 4217 alphabetic codes in use, or ISO 3166-1 alpha-2 codes.
fn codes(list: &str) -> Vec<&str> {
    let lines = list.lines().filter(|line| !line.starts_with('#'));
    lines.flat_map(str::split_ascii_whitespace).collect()
}

fn currencies() -> Vec<&'static str> {
    codes(include_str!("currencies.txt"))
}

fn countries() -> Vec<&'static str> {
    codes(include_str!("countries.txt"))
}

/// The members of a table. Unknown members fail the test.
fn known<'a>(table: &'a toml::Value, names: &[&str]) -> &'a Table {
    let table = table.as_table().unwrap();
    let unknown = table.keys().find(|name| !names.contains(&name.as_str()));
    assert_eq!(unknown, None, "{table:?}");
    table
}

fn text<'a>(table: &'a Table, name: &str) -> Option<&'a str> {
    table.get(name).map(|value| value.as_str().unwrap())
}

fn documents() -> Vec<Value> {
    let source: toml::Value = SOURCE.parse::<Table>().unwrap().into();
    let source = known(&source, &["country_sets", "currency_sets", "formula"]);
    let mut used = BTreeSet::from([("country_sets", "world")]);
    let world = countries().join(" ");
    let mut documents = Vec::new();
    for entry in source["formula"].as_array().unwrap() {
        let names =
            "id display_name method fields lacks currencies currency_set countries country_set";
        let entry = known(entry, &names.split(' ').collect::<Vec<_>>());
        let mut choose = |listed: &str, set: &str, sets: &'static str| -> Vec<Value> {
            let list = match (text(entry, listed), text(entry, set)) {
                (Some(list), None) => list,
                (None, Some("world")) if sets == "country_sets" => &world,
                (None, Some(name)) => {
                    let (name, list) =
                        source[sets].as_table().unwrap().get_key_value(name).unwrap();
                    used.insert((sets, name));
                    list.as_str().unwrap()
                }
                _ => panic!("{listed} are either listed or a set: {entry:?}"),
            };
            list.split_whitespace().map(Value::from).collect()
        };
        let fields = entry["fields"].as_array().unwrap().iter().map(|field| {
            let field = known(field, &["key", "display_name", "optional", "secret"]);
            let flag = |name: &str| field.get(name).is_some_and(|it| it.as_bool().unwrap());
            json!({
                "key": text(field, "key"), "display_name": text(field, "display_name"),
                "required": !flag("optional"), "format": "text", "secret": flag("secret"),
            })
        });
        let lacks =
            entry.get("lacks").map(|all| all.as_array().unwrap().clone()).unwrap_or_default();
        let lacks: Vec<_> = lacks.iter().map(|it| it.as_str().unwrap()).collect();
        assert!(lacks.iter().all(|it| FEATURES.contains(it)), "{entry:?}");
        let mut features: serde_json::Map<_, _> = FEATURES
            .map(|name| (String::from(name), Value::from(!lacks.contains(&name))))
            .into_iter()
            .collect();
        features.insert(String::from("voidAllowed"), features["void"].clone());
        documents.push(json!({
            "id": text(entry, "id"), "display_name": text(entry, "display_name"),
            "method": text(entry, "method"), "fields": fields.collect::<Vec<_>>(),
            "supported_currencies": choose("currencies", "currency_set", "currency_sets"),
            "supported_countries": choose("countries", "country_set", "country_sets"),
            "supported_features": features,
        }));
    }
    for sets in ["currency_sets", "country_sets"] {
        for name in source[sets].as_table().unwrap().keys() {
            assert!(used.contains(&(sets, name)), "no formula names {name} of {sets}");
            assert_ne!(name, "world", "this name stands for all countries");
        }
    }
    documents
}

fn document(id: &str) -> Value {
    serde_json::from_slice(&Catalog::load().find(id).unwrap().json).unwrap()
}

/// `UPDATE_CATALOG=1 cargo test --lib formulas` writes the file.
#[test]
#[expect(clippy::disallowed_methods, reason = "a person asks for the new file this way")]
fn the_embedded_documents_are_those_of_the_source() {
    let documents = documents();
    let lines = documents.iter().map(|it| format!("{}\n{it}\n", it["id"].as_str().unwrap()));
    let lines: String = lines.collect();
    if env::var("UPDATE_CATALOG").is_ok() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/formulas/catalog.txt");
        fs::write(path, &lines).unwrap();
    }
    assert!(lines == DOCUMENTS, "set UPDATE_CATALOG=1 to write catalog.txt again");
}

#[track_caller]
fn check_codes(listed: &[&str], standard: &[&str], whose: &Value) {
    assert!(!listed.is_empty() && listed.is_sorted_by(|one, next| one < next), "{whose}");
    let unknown = listed.iter().find(|code| !standard.contains(code));
    assert_eq!(unknown, None, "{whose}");
}

#[test]
fn every_entry_is_whole_and_names_only_codes_of_the_standards() {
    for (standard, count, letters) in [(currencies(), 178, 3), (countries(), 249, 2)] {
        check_codes(&standard, &standard, &Value::Null);
        assert_eq!(standard.len(), count);
        let is_code = |code: &&str| {
            code.len() == letters && code.bytes().all(|byte| byte.is_ascii_uppercase())
        };
        assert!(standard.iter().all(is_code));
    }
    let documents = documents();
    assert_eq!(documents.len(), FORMULAS);
    assert!(documents.is_sorted_by(|one, next| one["id"].as_str() < next["id"].as_str()));
    for it in &documents {
        let id = &it["id"];
        let processor = id.as_str().unwrap().strip_suffix("-card").unwrap();
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        assert!(!processor.is_empty() && processor.bytes().all(is_plain), "{id}");
        assert!(!it["display_name"].as_str().unwrap().is_empty() && it["method"] == "card", "{id}");
        let fields = it["fields"].as_array().unwrap();
        let keys: BTreeSet<_> = fields.iter().map(|field| field["key"].as_str().unwrap()).collect();
        assert!(!fields.is_empty() && keys.len() == fields.len() && !keys.contains(""), "{id}");
        let is_named = |field: &Value| !field["display_name"].as_str().unwrap().is_empty();
        assert!(fields.iter().all(is_named), "{id}");
        for (name, standard) in
            [("supported_currencies", currencies()), ("supported_countries", countries())]
        {
            let listed = it[name].as_array().unwrap().iter().map(|code| code.as_str().unwrap());
            check_codes(&listed.collect::<Vec<_>>(), &standard, id);
        }
    }
}

#[test]
fn the_catalog_has_the_published_formulas() {
    let catalog = Catalog::load();
    let ids: Vec<&str> = catalog.entries.iter().map(|(id, _)| *id).collect();
    let processors = [
        "adyen",
        "authipay",
        "authorizenet",
        "braintree",
        "chaseorbital",
        "checkoutcom",
        "cybersource",
        "dlocal",
        "ebanx",
        "fiserv",
        "nmi",
        "nuvei",
        "planet",
        "razorpay",
        "stripe",
        "trustpayments",
        "usaepay",
        "worldpayvap",
    ];
    assert_eq!(ids, processors.map(|processor| format!("{processor}-card")));
    assert!(catalog.find("stripe").is_none());
    assert!(catalog.find("stripe-card\",\"display_name").is_none());
}

#[test]
fn the_lists_have_as_many_codes_as_the_processors_support() {
    for (id, currencies, countries) in [
        ("adyen-card", 132, 150),
        ("authipay-card", 13, 12),
        ("authorizenet-card", 128, 249),
        ("braintree-card", 128, 249),
        ("chaseorbital-card", 4, 249),
        ("checkoutcom-card", 129, 40),
        ("cybersource-card", 129, 41),
        ("dlocal-card", 34, 35),
        ("ebanx-card", 10, 4),
        ("fiserv-card", 48, 249),
        ("nmi-card", 34, 51),
        ("nuvei-card", 89, 249),
        ("planet-card", 89, 249),
        ("razorpay-card", 1, 1),
        ("stripe-card", 129, 249),
        ("trustpayments-card", 102, 249),
        ("usaepay-card", 1, 1),
        ("worldpayvap-card", 150, 2),
    ] {
        let formula = document(id);
        let count = |name: &str| formula[name].as_array().unwrap().len();
        assert_eq!(count("supported_currencies"), currencies, "{id}");
        assert_eq!(count("supported_countries"), countries, "{id}");
    }
}

#[test]
fn only_some_features_are_missing() {
    for formula in documents() {
        let missing: &[&str] = match formula["id"].as_str().unwrap() {
            "authorizenet-card" | "dlocal-card" | "usaepay-card" => &FEATURES[..1],
            "ebanx-card" => &FEATURES[..3],
            "razorpay-card" => &["three_d_secure_pass_through", "delayed_capture", "zero_auth"],
            _ => &[],
        };
        for (name, has) in formula["supported_features"].as_object().unwrap() {
            assert_eq!(*has, !missing.contains(&name.as_str()), "{name} of {}", formula["id"]);
        }
    }
}

#[test]
fn an_entry_is_written_with_the_names_of_the_interface() {
    let field = |key: &str, name: &str| {
        json!({
            "key": key, "display_name": name, "required": true, "format": "text", "secret": true,
        })
    };
    let expected = json!({
        "id": "razorpay-card", "display_name": "Razorpay", "method": "card",
        "fields": [field("key_id", "Key ID"), field("key_secret", "Key Secret")],
        "supported_currencies": ["INR"], "supported_countries": ["IN"],
        "supported_features": {
            "three_d_secure_pass_through": false, "delayed_capture": false,
            "partial_capture": true, "partial_refunds": true, "refunds": true,
            "zero_auth": false, "void": true, "voidAllowed": true,
        },
    });
    assert_eq!(document("razorpay-card"), expected);
    let adyen = document("adyen-card");
    let optional = &adyen["fields"][2];
    assert_eq!(optional["key"], "live_endpoint_prefix");
    assert_eq!((&optional["required"], &optional["secret"]), (&json!(false), &json!(false)));
}

#[test]
fn the_list_is_the_bare_array_of_all_entries() {
    let catalog = Catalog::load();
    let list: Vec<Value> = serde_json::from_slice(&catalog.list().json).unwrap();
    let entries: Vec<Value> = catalog
        .entries
        .iter()
        .map(|(_, document)| serde_json::from_slice(&document.json).unwrap())
        .collect();
    assert_eq!(list, entries);
    assert_eq!(list.len(), FORMULAS);
    assert_eq!(catalog.list().json, serde_json::to_vec(&documents()).unwrap());
}

#[test]
fn etags_are_strong_stable_and_differ_between_documents() {
    let (one, other) = (Catalog::load(), Catalog::load());
    assert_eq!(one.list(), other.list());
    let mut etags: Vec<&String> = one.entries.iter().map(|(_, document)| &document.etag).collect();
    etags.push(&one.list().etag);
    for etag in &etags {
        let hash = etag.strip_prefix('"').unwrap().strip_suffix('"').unwrap();
        assert_eq!(hash.len(), 16);
        assert!(hash.bytes().all(|byte| byte.is_ascii_hexdigit()));
    }
    etags.sort_unstable();
    etags.dedup();
    assert_eq!(etags.len(), FORMULAS + 1);
}
