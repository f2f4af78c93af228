//! The grammar of expressions, and the value of a text with several of them.

use serde_json::json;

use super::*;

#[test]
fn every_filter_of_the_table_is_found_and_the_table_is_in_order() {
    let names = [
        "abs append at_least at_most base64_decode base64_encode capitalize card_bin card_exp",
        "alias_card alias_preserve_format alias_preserve_length card_mask ceil compact concat",
        "default divided_by downcase escape escape_once first floor hmac join json json_stringify",
        "last last4 lstrip map minus modulo newline_to_br pad_left pad_right plus prepend remove",
        "remove_first remove_last replace replace_first replace_last reveal reveal_last reverse",
        "round rstrip size slice sort sort_natural split stringify strip strip_html strip_newlines",
        "sum times to_base16 to_base64 to_boolean to_number to_string truncate truncatewords uniq",
        "upcase url_decode url_encode where",
    ];
    for name in names.iter().flat_map(|line| line.split(' ')) {
        assert!(filters::find(name).is_some_and(|filter| filter.name == name), "{name}");
    }
}

#[test]
fn one_expression_keeps_its_type_and_mixed_text_is_text() {
    let data = json!({"n": 12, "b": true, "o": {"a": [1]}, "s": "x"});
    check("{{ data.n }}", &data, &json!(12));
    check("{{data.b}}", &data, &json!(true));
    check("{{ data.o }}", &data, &json!({"a": [1]}));
    check("{{ data.none }}", &data, &Value::Null);
    check("{{ other.none[3] }}", &data, &Value::Null);
    check(" {{ data.n }}", &data, &json!(" 12"));
    check("{{ data.n }}|{{ data.s }}{{ data.none }}.", &data, &json!("12|x."));
    check("no expression }} at all", &data, &json!("no expression }} at all"));
    check("", &data, &json!(""));
    assert_eq!(evaluate("a {{ data.o }}", &data), Err(Failed::NotText));
}

#[test]
fn members_are_reached_by_name_and_place() {
    let data = json!({"a": {"b-c": [1, [2]]}, "with space": "x", "size": "own", "l": [1, 2, 3]});
    check("{{ data.a.b-c[1][0] }}", &data, &json!(2));
    check("{{ data['with space'] }}", &data, &json!("x"));
    check("{{ data[\"with space\"] }}", &data, &json!("x"));
    check("{{ data.l[-1] }}", &data, &json!(3));
    check("{{ data.l[-4] }}", &data, &Value::Null);
    check("{{ data.l.first }}{{ data.l.last }}{{ data.l.size }}", &data, &json!("133"));
    check("{{ data.size }}", &data, &json!("own"));
    check("{{ data.a.size }}", &data, &json!(1));
    check("{{ data.l.size.size }}", &data, &Value::Null);
    check("{{ data.l['a'] }}", &data, &Value::Null);
    check("{{ data[0] }}", &data, &Value::Null);
}

#[test]
fn literals_are_values_too() {
    let null = &Value::Null;
    check("{{ 'it}}s \"x\"' }}", null, &json!("it}}s \"x\""));
    check("{{ \"it's\" }}", null, &json!("it's"));
    check("{{ -12 }}", null, &json!(-12));
    check("{{ 1.50 }}", null, &json!(1.5));
    check("{{ true }}{{ false }}{{ nil }}", null, &json!("truefalse"));
    check("{{ 18446744073709551615 }}", null, &json!(u64::MAX));
}

#[test]
fn hyphens_at_the_braces_take_white_space_away() {
    check("a {{- data -}} b", &json!("x"), &json!("axb"));
    check("{{- data-}}", &json!(7), &json!(7));
}

#[test]
fn a_comma_in_place_of_the_first_pipe_is_tolerated() {
    check("{{ data.number, reveal_last: 4 }}", &json!({"number": "424242"}), &json!("XX4242"));
    check("{{ data, reveal_last: 4, '#' | upcase }}", &json!("abcdef"), &json!("##CDEF"));
    check_malformed("{{ data | upcase, downcase }}", 16, MalformedReason::Unexpected);
}

#[test]
fn mistakes_are_found_where_they_are() {
    check_malformed("ab {{ data", 3, MalformedReason::Unclosed);
    check_malformed("{{ data | ", 0, MalformedReason::Unclosed);
    check_malformed("{{ data | upcase", 0, MalformedReason::Unclosed);
    check_malformed("{{ data }", 8, MalformedReason::Unexpected);
    check_malformed("{{}}", 2, MalformedReason::Empty);
    check_malformed("{{- -}}", 4, MalformedReason::Empty);
    check_malformed("{{ data | }}", 10, MalformedReason::FilterMissing);
    check_malformed("{{ data || upcase }}", 9, MalformedReason::FilterMissing);
    check_malformed("{{ data | shout }}", 10, MalformedReason::UnknownFilter);
    check_malformed("{{ data | date: '%Y' }}", 10, MalformedReason::UnknownFilter);
    check_malformed("{{ data | upcase: 1 }}", 10, MalformedReason::ArgumentCount);
    check_malformed("{{ data | append: }}", 18, MalformedReason::Unexpected);
    check_malformed("{{ data | append: 'a', 'b' }}", 10, MalformedReason::ArgumentCount);
    check_malformed("{{ data | append: 'a }}", 18, MalformedReason::UnclosedQuote);
    check_malformed("{{ data. }}", 7, MalformedReason::BadVariable);
    check_malformed("{{ data[a] }}", 7, MalformedReason::BadVariable);
    check_malformed("{{ data[1 }}", 7, MalformedReason::BadVariable);
    check_malformed("{{ nil.a }}", 3, MalformedReason::BadVariable);
    check_malformed("{{ 99999999999999999999 }}", 3, MalformedReason::BadNumber);
    check_malformed("{{ 1. }}", 3, MalformedReason::BadNumber);
    check_malformed("{{ - }}", 3, MalformedReason::BadNumber);
    check_malformed("{{ data upcase }}", 8, MalformedReason::Unexpected);
    check_malformed("{% if data %}{{ data }}{% endif %}", 0, MalformedReason::Tag);
}

#[test]
fn errors_and_debug_texts_quote_nothing() {
    let malformed = Template::parse("{{ data | s3cret }}").unwrap_err();
    assert_eq!(malformed.to_string(), "the filter is unknown at byte 10");
    let template = Template::parse("{{ data | append: 's3cret' }}").unwrap();
    let reference = Reference::Token("s3cret".into());
    assert_eq!(format!("{template:?} {reference:?}"), "Template(..) Token(..)");
    let value = json!("s3cret");
    let metadata = [("s3cret", "s3cret")].into_iter().collect();
    let both = DataAndMetadata::new(&value, &metadata);
    assert_eq!(format!("{:?} {both:?}", Data(&value)), "Data(..) DataAndMetadata(..)");
}

#[test]
fn a_text_is_asked_for_where_ids_and_indexes_are_made() {
    let text = |template: &str, data: Value| {
        Template::parse(template)
            .unwrap()
            .evaluate_text(&Data(&data), &Fixed::new(), &budget())
            .map(|text| text.expose().clone())
    };
    assert_eq!(text("{{ data }}", json!(12)).as_deref(), Ok("12"));
    assert_eq!(text("{{ data }}", json!(12.50)).as_deref(), Ok("12.5"));
    assert_eq!(text("{{ data }}", json!(false)).as_deref(), Ok("false"));
    assert_eq!(text("{{ data }}", json!("")), Err(Failed::Empty));
    assert_eq!(text("{{ data.x }}", json!({})), Err(Failed::Empty));
    assert_eq!(text("{{ data }}", json!([1])), Err(Failed::NotText));
    assert_eq!(text("{{ data | stringify }}", json!([1])).as_deref(), Ok("[1]"));
}

#[test]
fn fingerprints_see_metadata() {
    let template = Template::parse("{{ data }}-{{ metadata.user }}").unwrap();
    let (data, metadata) = (json!("a"), [("user", "u")].into_iter().collect());
    let scope = DataAndMetadata::new(&data, &metadata);
    assert_eq!(template.evaluate(&scope, &Fixed::new(), &budget()), Ok(json!("a-u")));
}

#[test]
fn a_template_says_which_members_of_the_data_it_may_read() {
    let reads = |text: &str, member: &str| Template::parse(text).unwrap().reads(member);
    for (text, member, expected) in [
        ("{{ data.number }}", "number", true),
        ("{{ data.number }}", "holder", false),
        ("{{ data.number.deep | upcase }}", "number", true),
        ("{{ data['number'] }}", "number", true),
        ("{{ data }}", "number", true),
        ("{{ data | json: '$.holder' }}", "number", true),
        ("{{ data[0] }}", "number", true),
        ("{{ metadata.number }}", "number", false),
        ("{{ 'x' | append: data.number }}", "number", true),
        ("{{ 'x' | append: data.holder }}", "number", false),
        ("constant {{ metadata.a }} {{ data.number }}", "number", true),
        ("constant", "number", false),
    ] {
        assert_eq!(reads(text, member), expected, "{text} {member}");
    }
}
