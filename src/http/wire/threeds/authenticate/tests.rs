use serde_json::json;

use super::*;
use crate::threeds::codes::AuthenticationType;

/// A body with this value at this path, and nothing else.
fn body(path: &str, value: Value) -> Value {
    path.rsplit('.').fold(value, |inner, name| json!({ name: inner }))
}

fn paths(path: &str, value: Value) -> Vec<String> {
    let (_, mistakes) = parse(&body(path, value));
    mistakes.by_path().keys().cloned().collect()
}

#[track_caller]
fn check(path: &str, right: &[Value], wrong: &[Value]) {
    for value in right {
        assert_eq!(paths(path, value.clone()), [""; 0], "{path}: {value}");
    }
    for value in wrong {
        assert_eq!(paths(path, value.clone()), [path], "{path}: {value}");
    }
}

macro_rules! check_words {
    ($($path:literal $list:ident;)+) => {$(
        let words: Vec<_> = $list::ALL.iter().map(|it| json!(it.word())).collect();
        check($path, &words, &[json!("no such word"), json!(""), json!(1), json!(["x"])]);
    )+};
}

#[test]
fn every_word_of_the_interface_is_taken_where_it_belongs_and_no_other() {
    let types = AuthenticationType::ALL.map(|it| json!(it.as_str()));
    check("authentication_type", &types, &[json!("no such word"), json!(""), json!(1)]);
    check_words! {
        "authentication_category" Category;
        "challenge_preference" ChallengePreference;
        "purchase_info.transaction_type" TransactionType;
        "merchant_info.risk_info.delivery_time_frame" DeliveryTimeFrame;
        "merchant_info.risk_info.shipping_method" ShippingMethod;
        "cardholder_info.account_type" AccountType;
        "cardholder_info.billing_shipping_address_match" YesNo;
        "cardholder_info.account_info.account_age" AccountAge;
        "cardholder_info.account_info.account_last_changed" AccountLastChanged;
        "cardholder_info.account_info.account_pwd_last_changed" PasswordLastChanged;
        "cardholder_info.account_info.payment_account_created" AccountAge;
        "cardholder_info.account_info.shipping_address_first_used" ShippingAddressFirstUsed;
        "cardholder_info.authentication_info.method" LoginMethod;
        "cardholder_info.prior_authentication_info.method" PriorMethod;
    }
}

#[test]
fn formats_are_those_of_the_interface() {
    let texts = |texts: &[&str]| texts.iter().map(|it| json!(it)).collect::<Vec<_>>();
    for (path, right, wrong) in [
        ("purchase_info.amount", &["0", "80000"][..], &["8.00", "", "-1", "8 0"][..]),
        ("purchase_info.currency", &["826", "GBP"], &["gbp", "000", "POUND"]),
        ("purchase_info.exponent", &["0", "2"], &["22", "x"]),
        ("purchase_info.date", &["20240109141010"], &["20240109", "20241309141010"]),
        ("purchase_info.installment_count", &["1", "12"], &["x", "1234"]),
        ("purchase_info.recurring_expiration", &["20301231"], &["20301232", "2030-12-31"]),
        ("purchase_info.recurring_frequency", &["30"], &["monthly"]),
        ("merchant_info.country_code", &["826"], &["GB", "8260"]),
        ("merchant_info.category_code", &["7922"], &["792", "abcd"]),
        ("merchant_info.risk_info.gift_card_amount", &["100"], &["1.5"]),
        ("merchant_info.risk_info.gift_card_currency", &["826"], &["1"]),
        ("merchant_info.risk_info.pre_order_date", &["20240131"], &["31012024"]),
        ("merchant_info.risk_info.delivery_email", &["a@b.c"], &["nobody"]),
        ("cardholder_info.email", &["a@b.c"], &["nobody", "a b@c"]),
        ("cardholder_info.billing_address.country_code", &["840"], &["US"]),
        (
            "cardholder_info.account_info.account_created_date",
            &["20200131", "2020-01-31", "2020-01-31T00:00:00Z"],
            &["yesterday"],
        ),
        ("cardholder_info.account_info.account_change_date", &["20200131"], &["2020-01-31"]),
        ("cardholder_info.account_info.transaction_count_day", &["0", "12345"], &["many"]),
        ("cardholder_info.authentication_info.timestamp", &["202401091410"], &["20240109"]),
        ("cardholder_info.prior_authentication_info.reference_id", &["any text"], &[""]),
    ] {
        check(path, &texts(right), &texts(wrong));
    }
    for path in [
        "request_decoupled_challenge",
        "merchant_info.risk_info.pre_order_purchase",
        "merchant_info.risk_info.reordered_purchase",
        "cardholder_info.account_info.shipping_account_name_match",
        "cardholder_info.account_info.suspicious_activity_observed",
    ] {
        check(path, &[json!(true), json!(false)], &[json!("true"), json!(1)]);
    }
    for path in ["purchase_info", "merchant_info", "requestor_info", "cardholder_info.phone_number"]
    {
        check(path, &[json!({}), Value::Null], &[json!("text"), json!([])]);
    }
    check("decoupled_challenge_max_time", &[json!(5)], &[json!("5"), json!(-1), json!(1.5)]);
    check("broadcast_info", &[json!({"a": [1]})], &[json!("text")]);
}

#[test]
fn extensions_carry_texts_or_objects() {
    let one = |data: Value| json!([{"id": "A1", "name": "n", "critical": true, "data": data}]);
    for data in [json!("text"), json!({"a": 1})] {
        let (request, mistakes) = parse(&json!({"message_extensions": one(data.clone())}));
        assert!(mistakes.is_empty());
        let read = request.extensions.unwrap();
        assert_eq!(read[0].data, data);
        assert!(read[0].critical);
    }
    let found = paths("message_extensions", json!([{}, {"id": "A1", "name": "n", "data": 7}]));
    assert_eq!(
        found,
        ["message_extensions[0].id", "message_extensions[0].name", "message_extensions[1].data"]
    );
}

#[test]
fn all_mistakes_are_told_at_once() {
    let (_, mistakes) = parse(&json!({
        "authentication_category": "x", "purchase_info": {"amount": "x", "currency": 5},
        "cardholder_info": {"email": "x", "account_info": {"account_age": "x"}},
    }));
    let found: Vec<_> = mistakes.by_path().keys().map(String::as_str).collect();
    assert_eq!(
        found,
        [
            "authentication_category",
            "cardholder_info.account_info.account_age",
            "cardholder_info.email",
            "purchase_info.amount",
            "purchase_info.currency",
        ]
    );
}
