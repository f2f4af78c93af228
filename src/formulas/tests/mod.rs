//! The catalog is edited in `catalog.toml` and served from `catalog.txt`. These tests check the former
//! and hold the latter equal to it.

mod codes;
mod source;

use std::{env, fs};

use serde_json::{Value, json};

use super::*;
use source::{CatalogError, FORMULAS, Features, Formula};

const SOURCE: &str = include_str!("catalog.toml");

fn formulas() -> Vec<Formula> {
    source::parse(SOURCE).unwrap()
}

fn formula(id: &str) -> Formula {
    formulas().into_iter().find(|formula| formula.id == id).unwrap()
}

/// `UPDATE_CATALOG=1 cargo test --lib formulas` writes the file.
#[test]
#[expect(clippy::disallowed_methods, reason = "a person asks for the new file this way")]
fn the_embedded_documents_are_those_of_the_source() {
    let documents: Vec<String> = formulas()
        .iter()
        .map(|formula| format!("{}\n{}\n", formula.id, serde_json::to_string(formula).unwrap()))
        .collect();
    if env::var("UPDATE_CATALOG").is_ok() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/formulas/catalog.txt");
        fs::write(path, documents.concat()).unwrap();
    }
    assert!(documents.concat() == DOCUMENTS, "set UPDATE_CATALOG=1 to write catalog.txt again");
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
        let formula = formula(id);
        assert_eq!(formula.supported_currencies.len(), currencies, "{id}");
        assert_eq!(formula.supported_countries.len(), countries, "{id}");
        assert!(formula.supported_currencies.is_sorted_by(|one, next| one < next));
        assert!(formula.supported_countries.is_sorted_by(|one, next| one < next));
    }
}

#[test]
fn only_some_features_are_missing() {
    let all = Features {
        three_d_secure_pass_through: true,
        delayed_capture: true,
        partial_capture: true,
        partial_refunds: true,
        refunds: true,
        zero_auth: true,
        void: true,
    };
    let without_3ds = Features { three_d_secure_pass_through: false, ..all };
    for formula in formulas() {
        let expected = match formula.id.as_str() {
            "authorizenet-card" | "dlocal-card" | "usaepay-card" => without_3ds,
            "ebanx-card" => {
                Features { delayed_capture: false, partial_capture: false, ..without_3ds }
            }
            "razorpay-card" => Features { delayed_capture: false, zero_auth: false, ..without_3ds },
            _ => all,
        };
        assert_eq!(formula.supported_features, expected, "{}", formula.id);
    }
}

#[test]
fn an_entry_is_written_with_the_names_of_the_interface() {
    let razorpay: Value =
        serde_json::from_slice(&Catalog::load().find("razorpay-card").unwrap().json).unwrap();
    assert_eq!(
        razorpay,
        json!({
            "id": "razorpay-card",
            "display_name": "Razorpay",
            "method": "card",
            "fields": [
                {
                    "key": "key_id",
                    "display_name": "Key ID",
                    "required": true,
                    "format": "text",
                    "secret": true
                },
                {
                    "key": "key_secret",
                    "display_name": "Key Secret",
                    "required": true,
                    "format": "text",
                    "secret": true
                }
            ],
            "supported_currencies": ["INR"],
            "supported_countries": ["IN"],
            "supported_features": {
                "three_d_secure_pass_through": false,
                "delayed_capture": false,
                "partial_capture": true,
                "partial_refunds": true,
                "refunds": true,
                "zero_auth": false,
                "void": true,
                "voidAllowed": true
            }
        })
    );
    let adyen = formula("adyen-card").fields;
    let optional = adyen.iter().find(|field| field.key == "live_endpoint_prefix").unwrap();
    assert!(!optional.required && !optional.secret);
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
    assert_eq!(catalog.list().json, serde_json::to_vec(&formulas()).unwrap());
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

/// The catalog with `old` replaced by `new` once is refused, with this message.
#[track_caller]
fn check_broken(old: &str, new: &str, message: &str) {
    assert!(SOURCE.contains(old), "{old}");
    let error = source::parse(&SOURCE.replacen(old, new, 1)).unwrap_err();
    assert_eq!(error.to_string(), message);
}

#[test]
fn a_broken_entry_is_named() {
    check_broken(
        "currencies = \"INR\"",
        "currencies = \"INR BGN\"",
        "connection catalog, razorpay-card: code 2 is not in the standard's list",
    );
    check_broken(
        "countries = \"BR CO MX PE\"",
        "countries = \"BR CO CO PE\"",
        "connection catalog, ebanx-card: code 3 is out of order or there twice",
    );
    check_broken(
        "countries = \"BR CO MX PE\"",
        "countries = \"BR MX CO PE\"",
        "connection catalog, ebanx-card: code 3 is out of order or there twice",
    );
    check_broken(
        "countries = \"CA US\"",
        "countries = \" \"",
        "connection catalog, worldpayvap-card: a list of codes is empty",
    );
    check_broken(
        "id = \"nmi-card\"",
        "id = \"nmi-bank\"",
        "connection catalog, nmi-bank: the id is not of the form <processor>-card",
    );
    check_broken(
        "id = \"nmi-card\"",
        "id = \"fiserv-card\"",
        "connection catalog, fiserv-card: the id does not come after the one before it",
    );
    check_broken(
        "display_name = \"NMI\"",
        "display_name = \"\"",
        "connection catalog, nmi-card: the display name is empty",
    );
    check_broken(
        "country_set = \"checkoutcom\"",
        "country_set = \"nowhere\"",
        "connection catalog, checkoutcom-card: it names a set that does not exist",
    );
    check_broken(
        "currencies = \"INR\"",
        "currencies = \"INR\"\ncurrency_set = \"nmi\"",
        "connection catalog, razorpay-card: currencies and countries are either listed or a set, \
         one of the two",
    );
    check_broken(
        "countries = \"IN\"",
        "",
        "connection catalog, razorpay-card: currencies and countries are either listed or a set, \
         one of the two",
    );
}

#[test]
fn broken_fields_are_named() {
    check_broken(
        "{ key = \"key_secret\"",
        "{ key = \"key_id\"",
        "connection catalog, razorpay-card: field 2 has the key of another",
    );
    check_broken(
        "{ key = \"key_id\"",
        "{ key = \"\"",
        "connection catalog, razorpay-card: field 1 has no key or no display name",
    );
    check_broken(
        "    { key = \"integration_key\", display_name = \"Integration key\", secret = true },\n",
        "",
        "connection catalog, ebanx-card: there are no fields",
    );
}

#[test]
fn a_broken_set_is_named() {
    check_broken(
        "ARS BDT BOB",
        "ARS BDT BDT",
        "connection catalog, currency set dlocal: code 3 is out of order or there twice",
    );
    check_broken(
        "AR BD BO",
        "AR BD UK",
        "connection catalog, country set dlocal: code 3 is not in the standard's list",
    );
    check_broken(
        "[country_sets]\n",
        "[country_sets]\nspare = \"DE\"\n",
        "connection catalog, country set spare: no formula names this set",
    );
    check_broken(
        "[country_sets]\n",
        "[country_sets]\nworld = \"DE\"\n",
        "connection catalog, country set world: this name stands for all countries",
    );
}

#[test]
fn a_missing_formula_and_an_unknown_word_are_noticed() {
    let (others, last) = SOURCE.rsplit_once("\n[[formula]]").unwrap();
    let error = source::parse(others).unwrap_err();
    // The check for unused sets comes before the count.
    assert_eq!(
        error.to_string(),
        "connection catalog, currency set worldpayvap: no formula names this set"
    );
    let (others, usaepay) = others.rsplit_once("\n[[formula]]").unwrap();
    assert!(usaepay.contains("usaepay-card"));
    let error = source::parse(&format!("{others}\n[[formula]]{last}")).unwrap_err();
    assert_eq!(error.to_string(), "the connection catalog has 17 formulas instead of 18");
    for (old, new) in [
        ("method = \"card\"", "method = \"bank\""),
        ("secret = true", "secrets = true"),
        ("lacks = [\"three_d_secure_pass_through\"]", "lacks = [\"flying\"]"),
    ] {
        assert!(SOURCE.contains(old));
        let error = source::parse(&SOURCE.replacen(old, new, 1)).unwrap_err();
        assert!(matches!(error, CatalogError::Unreadable), "{new}");
    }
}
