//! The published examples of the filters that are not part of Liquid, and their edges.

use serde_json::json;

use super::*;

const CARD: &str = "3622720627165567";
const DASHED: &str = "3622-7206-2716-5567";

fn matches_shape(text: &str, shape: &str) -> bool {
    text.len() == shape.len()
        && text.chars().zip(shape.chars()).all(|(c, s)| match s {
            'd' => c.is_ascii_digit(),
            'l' => c.is_ascii_lowercase(),
            'a' => c.is_ascii_lowercase() || c.is_ascii_digit(),
            other => c == other,
        })
}

#[track_caller]
fn check_shape(filters: &str, input: &str, shape: &str) {
    let text = format!("{{{{ data | {filters} }}}}");
    let value = evaluate(&text, &json!(input)).unwrap();
    assert!(matches_shape(value.as_str().unwrap(), shape), "{text} gave {value}");
}

#[test]
fn alias_card_keeps_what_it_is_told_and_the_separators() {
    check_shape("alias_card", CARD, "dddddddddddddddd");
    check_shape("alias_card: 'true', 'false'", CARD, "36227206dddddddd");
    check_shape("alias_card: 'false', 'true'", CARD, "dddddddddddd5567");
    check_shape("alias_card: 'true', 'true'", CARD, "36227206dddd5567");
    check_shape("alias_card: true, true", DASHED, "3622-7206-dddd-5567");
    check_shape("alias_card: 'true', 'true'", "3782 822463 10005", "3782 82dddd d0005");
    check_failed("alias_card: 'true', 'true'", "3782822463", Failed::TooShort);
    check_failed("alias_card", "", Failed::TooShort);
    check_filters("alias_card", Value::Null, Value::Null);
}

#[test]
fn alias_preserve_format_keeps_letters_letters_and_digits_digits() {
    check_shape("alias_preserve_format", "ABC12345DEF67890", "lllddddd\u{6c}lld\u{64}ddd");
    check_shape("alias_preserve_format: 3, 5", "ABC12345DEF67890", "ABCdddddlll67890");
    check_shape("alias_preserve_format", "a-1 b@2", "l-d l@d");
    check_failed("alias_preserve_format: 2, 2", "ab12", Failed::TooShort);
    check_failed("alias_preserve_format", "--", Failed::TooShort);
}

#[test]
fn alias_preserve_length_replaces_every_character() {
    check_shape("alias_preserve_length", "A C-2345", "aaaaaaaa");
    check_shape("alias_preserve_length: 3, 5", "ABC12345DEF67890", "ABCaaaaaaaa67890");
    check_failed("alias_preserve_length: 4", "ab12", Failed::TooShort);
}

#[test]
fn a_source_that_gives_only_unfair_bytes_makes_no_alias() {
    struct Stuck;
    impl Host for Stuck {
        fn random(&self, bytes: &mut [u8]) {
            bytes.fill(255);
        }
        fn hmac(&self, _: Hash, _: &[u8], _: &[u8]) -> Vec<u8> {
            Vec::new()
        }
    }
    let template = Template::parse("{{ data | alias_card }}").unwrap();
    let alias = template.evaluate(&Data(&json!(CARD)), &Stuck, &budget());
    assert_eq!(alias, Err(Failed::NotRandom));
}

#[test]
fn card_bin_has_six_digits_of_a_short_number_and_eight_of_a_long_one() {
    check_filters("card_bin", CARD, "36227206");
    check_filters("card_bin", "378282246310005", "378282");
    check_filters("card_bin: '-'", DASHED, "36227206");
    check_failed("card_bin", "378282", Failed::TooShort);
}

#[test]
fn card_exp_writes_the_expiration_date_as_asked() {
    let card = json!({"number": CARD, "expiration_month": 4, "expiration_year": 2028});
    for (format, expected) in [
        ("MM", "04"),
        ("MMYY", "0428"),
        ("YYYY", "2028"),
        ("YYYYMM", "202804"),
        ("YYYY-MM", "2028-04"),
        ("YYYY/MM", "2028/04"),
        ("MM/YY", "04/28"),
        ("MM/YYYY", "04/2028"),
        ("MM_YYYY", "04_2028"),
        ("MM-YYYY", "04-2028"),
    ] {
        check_filters(&format!("card_exp: '{format}'"), card.clone(), expected);
    }
    check_filters(
        "card_exp: 'MM/YY'",
        json!({"expiration_month": "1", "expiration_year": "30"}),
        "01/30",
    );
    check_filters(
        "card_exp: 'MM/YYYY'",
        json!({"expiration_month": "04", "expiration_year": 2030.0}),
        "04/2030",
    );
    check_filters("card_exp: 'YYYY'", json!({"expiration_year": 2030}), "2030");
    check_failed("card_exp: 'MM'", json!({"expiration_year": 2030}), Failed::NotACard);
    check_failed("card_exp: 'MM'", json!({"expiration_month": 13}), Failed::NotACard);
    check_failed("card_exp: 'MM'", CARD, Failed::NotACard);
    check_malformed("{{ data | card_exp: 'DD/MM' }}", 20, MalformedReason::BadArgument);
    check_malformed("{{ data | card_exp: '-' }}", 20, MalformedReason::BadArgument);
    check_malformed("{{ data | card_exp }}", 10, MalformedReason::ArgumentCount);
}

#[test]
fn card_mask_shows_the_ends_it_is_told_to() {
    check_filters("card_mask", CARD, "XXXXXXXXXXXXXXXX");
    check_filters("card_mask: 'true', 'false', 'X', '-'", CARD, "36227206XXXXXXXX");
    check_filters("card_mask: 'true', 'true', '#', '-'", CARD, "36227206####5567");
    check_filters("card_mask: 'false', 'true', 'X', '-'", CARD, "XXXXXXXXXXXX5567");
    check_filters("card_mask: 'false', 'false', 'X', '-'", DASHED, "XXXX-XXXX-XXXX-XXXX");
    check_filters("card_mask: 'true', 'true', '#', '-'", DASHED, "3622-7206-####-5567");
    check_filters("card_mask: 'true', 'true'", "3782822463", "XXXXXXXXXX");
    check_filters("card_mask: 'false', 'false', 'X', '0123456789'", CARD, "XXXXXXXXXXXXXXXX");
}

#[test]
fn json_gives_the_one_value_at_a_path() {
    let data = json!({
        "books": [{"title": "Moby Dick", "price": 8.99}, {"title": "The Lord of the Rings", "price": 22.99}],
        "bicycle": {"color": "red", "price": 19.95},
    });
    check_filters("json: '$.bicycle.color'", data.clone(), "red");
    check_filters("json: '$.bicycle.price'", data.clone(), 19.95);
    check_filters("json: '$.books[?(@.price < 10)].title'", data.clone(), "Moby Dick");
    check_filters("json: \"$['bicycle']\"", data.clone(), json!({"color": "red", "price": 19.95}));
    check_filters("json: '$.nonexistent'", data.clone(), Value::Null);
    check_failed("json: '$.books..title'", data, Failed::ManyValues);
    check_malformed("{{ data | json: 'books' }}", 16, MalformedReason::BadJsonPath);
    check_malformed("{{ data | json: data.path }}", 16, MalformedReason::BadArgument);
    check_malformed("{{ data | json: 4 }}", 16, MalformedReason::BadArgument);
}

#[test]
fn stringify_writes_json_but_leaves_texts_and_null() {
    for name in ["stringify", "json_stringify"] {
        check_filters(
            name,
            json!({"price": 19.95, "color": "red"}),
            r#"{"price":19.95,"color":"red"}"#,
        );
        check_filters(name, "The Lord", "The Lord");
        check_filters(name, 8.99, "8.99");
        check_filters(name, Value::Null, Value::Null);
        check_malformed(
            &format!("{{{{ data | {name} | upcase }}}}"),
            13 + name.len(),
            MalformedReason::NotLast,
        );
    }
}

#[test]
fn last4_gives_four_characters_or_all_of_fewer() {
    check_filters("last4", "36227206271667", "1667");
    check_filters("slice: 12, 2 | last4", CARD, "55");
    check_filters("last4", "\u{e9}\u{e8}\u{ea}\u{eb}\u{e0}", "\u{e8}\u{ea}\u{eb}\u{e0}");
    check_filters("last4", 123_456, "3456");
    check_failed("last4", json!({}), Failed::NotText);
}

#[test]
fn padding_adds_and_never_cuts() {
    check_filters("pad_left: 6, '0'", "1234", "001234");
    check_filters("pad_left: 2, '0'", "1234", "1234");
    check_filters("pad_right: 6, 'X'", "1234", "1234XX");
    check_filters("pad_left: 3, '0'", 7, "007");
    check_filters("pad_left: 6, '0'", Value::Null, Value::Null);
    check_malformed("{{ data | pad_left: 6 }}", 10, MalformedReason::ArgumentCount);
    check_malformed("{{ data | pad_left: 6, '00' }}", 23, MalformedReason::BadArgument);
    check_malformed("{{ data | pad_left: -1, '0' }}", 20, MalformedReason::BadArgument);
}

#[test]
fn reveal_shows_both_ends_unless_that_is_everything() {
    check_filters("reveal: 6", DASHED, "3622-7XXXXXXXXXXXXX");
    check_filters("reveal: 7, 5", DASHED, "3622-72XXXXXXX-5567");
    check_filters("reveal: 7, 5, '#'", DASHED, "3622-72#######-5567");
    check_filters("reveal: 7, 4, '#', \"-\"", DASHED, "3622-72##-####-5567");
    check_filters("reveal: 10, 9", DASHED, "XXXXXXXXXXXXXXXXXXX");
    check_filters("reveal", "secret", "XXXXXX");
    check_filters("reveal: 0, 0, 'X', 'secrt'", "secret", "XXXXXX");
    check_filters("reveal: 9223372036854775807, 9223372036854775807", "secret", "XXXXXX");
}

#[test]
fn reveal_last_masks_all_but_the_end_and_the_hyphens() {
    check_filters("reveal_last: 6", "36227206271667", "XXXXXXXX271667");
    check_filters("reveal_last: 3, '#'", "36227206271667", "###########667");
    check_filters("reveal_last: 4", "4242-4242-4242-4242", "XXXX-XXXX-XXXX-4242");
    check_filters("reveal_last: 4", "123-45-6789", "XXX-XX-6789");
    check_filters("reveal_last: 4", "12-3456789", "XX-XXX6789");
    check_filters("reveal_last: 4", "Sensitive Value", "XXXXXXXXXXXalue");
    check_filters("reveal_last: 4", "123", "123");
    check_filters("reveal_last: '4'", "123456", "XX3456");
    check_filters("reveal_last: 0", "123", "XXX");
    check_filters("reveal_last: 4", Value::Null, Value::Null);
    check_failed("reveal_last: 4", json!(["4242424242424242"]), Failed::NotText);
    check_malformed("{{ data | reveal_last }}", 10, MalformedReason::ArgumentCount);
    check_malformed("{{ data | reveal_last: nil }}", 23, MalformedReason::BadArgument);
    check_malformed("{{ data | reveal_last: 1.5 }}", 23, MalformedReason::BadArgument);
}

#[test]
fn casts_take_what_can_be_cast_and_refuse_the_rest() {
    check_filters("to_boolean", "true", true);
    check_filters("to_boolean", "False", false);
    check_filters("to_boolean", Value::Null, Value::Null);
    check_failed("to_boolean", "yes", Failed::NotABoolean);
    check_failed("to_boolean", 1, Failed::NotABoolean);
    check_filters("to_number", "42", 42);
    check_filters("to_number", " 31.4159 ", 31.4159);
    check_filters("to_number", "-7", -7);
    check_filters("to_number", "9999999999999999999", 9_999_999_999_999_999_999_u64);
    check_filters("to_number", Value::Null, Value::Null);
    check_failed("to_number", "", Failed::NotANumber);
    check_failed("to_number", "1e3", Failed::NotANumber);
    check_failed("to_number", "0x10", Failed::NotANumber);
    check_failed("to_number", "99999999999999999999", Failed::Overflow);
    check_failed("to_number", true, Failed::NotANumber);
    check_filters("to_string", 31.4159, "31.4159");
    check_filters("to_string", true, "true");
    check_filters("to_string", Value::Null, Value::Null);
    check_failed("to_string", json!({"a": 1}), Failed::NotText);
}

#[test]
fn hmac_is_shown_only_encoded() {
    let published = "90A0050E90515101DCAD0F68955370CCA81F6DCB9D299E7E0585CC9746716D9B";
    let number = "4242424242424242";
    check_filters("hmac: 'sha-256', 'secretKeyValue' | to_base16", number, published);
    check_filters("hmac: nil, 'secretKeyValue' | to_base16", number, published);
    check_filters(
        "hmac: 'sha-256', 'secretKeyValue' | to_base64",
        number,
        "kKAFDpBRUQHcrQ9olVNwzKgfbcudKZ5+BYXMl0ZxbZs=",
    );
    check_filters("hmac: 'sha-1', 'k' | to_base16", "x", "01");
    check_filters("hmac: 'SHA-512', 'k' | to_base16 | downcase", "x", "05");
    check_failed("hmac: 'sha-1', 'k' | to_base16", Value::Null, Failed::NotEncodable);
    check_failed("hmac: 'sha-1', 'k' | to_base16", json!([]), Failed::NotText);
    check_failed("hmac: data.size, 'k' | to_base16", "x", Failed::BadArgument);
    check_malformed("{{ data | hmac: 'sha-1', 'k' }}", 0, MalformedReason::NotEncoded);
    check_malformed("{{ data | hmac: 'sha-1', 'k' | upcase }}", 31, MalformedReason::NotEncoded);
    check_malformed("{{ data | hmac: 'md5', 'k' | to_base16 }}", 16, MalformedReason::BadArgument);
    check_malformed("{{ data | hmac: 'sha-1' | to_base16 }}", 10, MalformedReason::ArgumentCount);
}

#[test]
fn texts_are_encoded_as_their_bytes() {
    for (text, encoded) in
        [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
    {
        check_filters("to_base64", text, encoded);
        check_filters("base64_decode", encoded, text);
        check_filters("base64_decode", encoded.trim_end_matches('='), text);
    }
    check_filters("to_base16", "\u{e9}!", "C3A921");
    check_filters("base64_url_safe_encode", "\u{3ff}\u{3ff}?", "z7_Pvz8=");
    check_filters("base64_url_safe_decode", "z7_Pvz8=", "\u{3ff}\u{3ff}?");
    check_failed("to_base64", Value::Null, Failed::NotEncodable);
    for bad in ["a", "a===", "Zg=", "Z g=", "z7_Pvz8=", "/w=="] {
        check_failed("base64_decode", bad, Failed::NotEncodable);
    }
}
