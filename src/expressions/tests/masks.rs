//! Masks show the values that they name, and none that cannot be evaluated.

use serde_json::json;

use super::*;

#[track_caller]
fn check_mask(mask: &Value, data: &Value, expected: Option<&Value>) {
    let mask = Mask::parse(mask).unwrap();
    assert_eq!(mask.apply(data, &Fixed::new(), &budget()).as_ref(), expected);
}

fn card_mask() -> Value {
    json!({
        "number": "{{ data.number | reveal_last: 4 }}",
        "expiration_month": "{{ data.expiration_month }}",
        "expiration_year": "{{ data.expiration_year }}",
    })
}

#[test]
fn the_default_mask_of_a_card_hides_all_but_four_digits_and_the_date() {
    let card = json!({"number": "4242424242424242", "expiration_month": 12, "expiration_year": 2030, "cvc": "123"});
    let shown =
        json!({"number": "XXXXXXXXXXXX4242", "expiration_month": 12, "expiration_year": 2030});
    check_mask(&card_mask(), &card, Some(&shown));
}

#[test]
fn masks_may_be_nested_and_what_they_do_not_name_is_gone() {
    let data = json!({
        "name": {"first": "John", "middle": "Wilson", "last": "Doe"},
        "ssn": "123-45-6789",
        "cvc": "123",
        "note": null,
    });
    let mask = json!({
        "name": {"first": "{{ data.name.first }}", "last": "{{ data.name.last | slice: 0, 1 }}."},
        "ssn": "{{ data.ssn | reveal_last: 4, '#' }}",
        "list": ["{{ data.name.last }}", 7, true, null, "text"],
        "note": "{{ data.note }}",
        "empty": {},
    });
    let shown = json!({
        "name": {"first": "John", "last": "D."},
        "ssn": "###-##-6789",
        "list": ["Doe", 7, true, null, "text"],
        "note": null,
        "empty": {},
    });
    check_mask(&mask, &data, Some(&shown));
    check_mask(&json!("{{ data.ssn | reveal_last: 4 }}"), &data, Some(&json!("XXX-XX-6789")));
}

#[test]
fn what_is_missing_or_cannot_be_evaluated_is_left_out() {
    let data = json!({"number": {"deep": "4242424242424242"}, "n": 1});
    check_mask(&card_mask(), &data, None);
    check_mask(&json!("{{ data.number | reveal_last: 4 }}"), &data, None);
    check_mask(&json!("{{ data.none }}"), &data, None);
    check_mask(&json!("x {{ data.number }}"), &data, None);
    check_mask(&json!({"a": {"b": ["{{ data.n | divided_by: 0 }}"]}}), &data, None);
    check_mask(
        &json!({"a": {"b": "{{ data.number | upcase }}"}, "n": "{{ data.n }}"}),
        &data,
        Some(&json!({"n": 1})),
    );
    check_mask(
        &json!(["{{ data.number | upcase }}", "{{ data.n }}"]),
        &data,
        Some(&json!([null, 1])),
    );
    check_mask(&json!("{{ data.none | default: 'x' }}"), &data, Some(&json!("x")));
}

#[test]
fn a_strict_mask_never_shows_a_whole_value() {
    let mask = Mask::parse(&json!("{{ data | reveal_last: 4 }}")).unwrap();
    for (data, documented, strict) in [
        (json!("123"), json!("123"), json!("XXX")),
        (json!("1-3"), json!("1-3"), json!("XXX")),
        (json!("1234"), json!("1234"), json!("XXXX")),
        (json!("12345"), json!("X2345"), json!("X2345")),
        (json!("------"), json!("------"), json!("XXXXXX")),
        (json!(123), json!("123"), json!("XXX")),
        (json!(12345), json!("X2345"), json!("X2345")),
        (json!(""), json!(""), json!("")),
    ] {
        assert_eq!(mask.apply(&data, &Fixed::new(), &budget()), Some(documented));
        assert_eq!(mask.apply_strict(&data, &Fixed::new(), &budget()), Some(strict));
    }
    assert_eq!(mask.apply_strict(&json!(["1234567"]), &Fixed::new(), &budget()), None);
}

#[test]
fn the_mask_of_the_published_client_tests_is_accepted() {
    let mask = json!({"number": "{{ data.number, reveal_last: 4 }}", "cvc": "{{ data.cvc }}"});
    let data = json!({"number": "4242424242424242", "cvc": 123});
    check_mask(&mask, &data, Some(&json!({"number": "XXXXXXXXXXXX4242", "cvc": 123})));
}

#[test]
fn mistakes_are_named_by_their_path() {
    let mask =
        json!({"a": {"b": "{{ data"}, "list": [1, {"c": "{{ data | x }}"}], "ok": "{{ data }}"});
    let mistakes = Mask::parse(&mask).unwrap_err();
    let expected = [
        ("a.b".to_owned(), Malformed::new(0, MalformedReason::Unclosed)),
        ("list[1].c".to_owned(), Malformed::new(10, MalformedReason::UnknownFilter)),
    ];
    assert_eq!(mistakes, expected);
    assert_eq!(Mask::parse(&json!("{{")).unwrap_err()[0].0, "");
}
