use proptest::prelude::*;
use serde_json::{Value, json};

use crate::domain::card::CardDetails;
use crate::domain::card::bin_table::BinTable;

const FILE: &str = "\
first,last,role,brand,funding,authentication,issuer,country,segment,product
453211,,,visa,debit,sca_required,\"Caisse, Nord\",FR,Consumer,F
453211,,additional,cartes-bancaires,debit,sca_required,\"Caisse, Nord\",FR,,
424242,,,mastercard,prepaid,,Elsewhere,DE,Commercial,
70,,,private-label,prepaid,,,,,
";

fn details(number: &str) -> Value {
    let table = BinTable::parse(FILE).unwrap();
    CardDetails::of(number, Some(12), Some(2030), &table).unwrap().to_value()
}

#[test]
fn a_number_the_file_knows_has_all_details() {
    assert_eq!(
        details("4532110000000004"),
        json!({
            "bin": "45321100",
            "last4": "0004",
            "expiration_month": 12,
            "expiration_year": 2030,
            "brand": "visa",
            "funding": "debit",
            "authentication": "sca_required",
            "issuer": { "country": "FR", "name": "Caisse, Nord" },
            "issuer_country": { "alpha2": "FR", "name": "France", "numeric": "250" },
            "segment": "Consumer",
            "product": { "code": "F" },
            "additional": [{
                "brand": "cartes-bancaires",
                "funding": "debit",
                "authentication": "sca_required",
                "issuer": { "country": "FR", "name": "Caisse, Nord" },
            }],
        })
    );
}

#[test]
fn a_number_the_file_does_not_know_has_its_brand() {
    assert_eq!(
        details("5105105105105100"),
        json!({
            "bin": "51051051", "last4": "5100", "expiration_month": 12, "expiration_year": 2030,
            "brand": "mastercard", "funding": null, "authentication": null,
        })
    );
    assert_eq!(details("7000000000000005")["brand"], json!("private-label"));
}

#[test]
fn a_number_of_no_known_brand_has_nulls() {
    let table = BinTable::default();
    let card = CardDetails::of("9000000000000001", None, None, &table).unwrap();
    assert_eq!(
        card.to_value(),
        json!({
            "bin": "90000000", "last4": "0001",
            "brand": null, "funding": null, "authentication": null,
        })
    );
    assert_eq!(
        card.enrichments(),
        json!({ "card_details": { "bin": "90000000", "last4": "0001" } })
    );
}

#[test]
fn a_documented_test_card_keeps_its_details_whatever_the_file_says() {
    assert_eq!(
        details("4242424242424242"),
        json!({
            "bin": "42424242", "last4": "4242", "expiration_month": 12, "expiration_year": 2030,
            "brand": "visa", "funding": "credit", "authentication": null,
        })
    );
    assert_eq!(details("4242420000000000")["brand"], json!("mastercard"));
    assert_eq!(
        details("4150580996517927")["additional"],
        json!([{ "brand": "cartes-bancaires", "funding": "credit" }])
    );
}

#[track_caller]
fn check_bin(number: &str, bin: &str, last4: &str) {
    let card = CardDetails::of(number, None, None, &BinTable::default()).unwrap();
    assert_eq!((card.bin.as_str(), card.last4.as_str()), (bin, last4));
}

#[test]
fn the_bin_has_eight_digits_from_sixteen_on() {
    check_bin("4222222222222", "422222", "2222");
    check_bin("36227206271667", "362272", "1667");
    check_bin("378282246310005", "378282", "0005");
    check_bin("4242424242424242", "42424242", "4242");
    check_bin("5589092000000000006", "55890920", "0006");
}

#[test]
fn what_is_no_card_number_has_no_details() {
    let table = BinTable::default();
    for text in
        ["", "424242424242", "42424242424242424242", "4242-4242-4242-42", "\u{e9}22222222222"]
    {
        assert_eq!(CardDetails::of(text, None, None, &table), None, "{text}");
    }
}

#[test]
fn enrichments_carry_the_same_facts() {
    let table = BinTable::parse(FILE).unwrap();
    let card = CardDetails::of("4532110000000004", None, None, &table).unwrap();
    assert_eq!(
        card.enrichments(),
        json!({
            "card_details": { "bin": "45321100", "last4": "0004" },
            "bin_details": {
                "card_brand": "VISA",
                "type": "DEBIT",
                "prepaid": false,
                "card_segment_type": "Consumer",
                "bank": { "name": "Caisse, Nord", "clean_name": "Caisse, Nord" },
                "product": { "code": "F" },
                "country": { "alpha2": "FR", "name": "France", "numeric": "250" },
                "bin_length": 8,
                "authentication": [{ "authentication_name": "EU PSD2 - SCA" }],
                "additional_card_brands": [{
                    "card_brand": "CARTES BANCAIRES", "card_brand_bank_name": "Caisse, Nord",
                }],
            },
        })
    );
    let prepaid = CardDetails::of("7000000000000005", None, None, &table).unwrap().enrichments();
    assert_eq!(
        prepaid["bin_details"],
        json!({ "card_brand": "PRIVATE LABEL", "type": "DEBIT", "prepaid": true, "bin_length": 8 })
    );
    let unknown_funding = CardDetails::of("5105105105105100", None, None, &table).unwrap();
    assert_eq!(
        unknown_funding.enrichments()["bin_details"],
        json!({ "card_brand": "MASTERCARD", "bin_length": 8 })
    );
}

proptest! {
    #[test]
    fn no_details_hold_the_middle_of_the_number(number in "[0-9]{13,19}") {
        let card = CardDetails::of(&number, None, None, &BinTable::default()).unwrap();
        let (bin, last4) = (card.bin.as_str(), card.last4.as_str());
        prop_assert!(number.starts_with(bin) && number.ends_with(last4));
        prop_assert!(bin.len() + last4.len() <= number.len() - 3);
    }
}
