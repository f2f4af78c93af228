//! Every bound of the language is reached, and holds one step further.

use serde_json::json;

use super::*;
use crate::bounds;

#[test]
fn a_template_has_a_length() {
    let text = format!("{{{{ '{}' }}}}", "x".repeat(bounds::TEMPLATE_BYTES_MAX - 8));
    assert_eq!(text.len(), bounds::TEMPLATE_BYTES_MAX);
    assert!(Template::parse(&text).is_ok());
    check_malformed(&format!("{text} "), bounds::TEMPLATE_BYTES_MAX, Why::TooLong);
    assert!(Template::parse_with_references(&"x".repeat(bounds::REFERENCES_BYTES_MAX)).is_ok());
    let longer = "x".repeat(bounds::REFERENCES_BYTES_MAX + 1);
    let expected = Malformed { at: bounds::REFERENCES_BYTES_MAX, why: Why::TooLong };
    assert_eq!(Template::parse_with_references(&longer).err(), Some(expected));
}

#[test]
fn expressions_filters_and_members_are_counted() {
    let text = "{{ a }}".repeat(bounds::TEMPLATE_EXPRESSIONS_MAX);
    assert!(Template::parse(&text).is_ok());
    check_malformed(&format!("{text}{{{{ a }}}}"), text.len(), Why::TooManyExpressions);

    let text = format!("{{{{ a {}", "| upcase ".repeat(bounds::FILTERS_MAX));
    assert!(Template::parse(&format!("{text}}}}}")).is_ok());
    check_malformed(&format!("{text}| upcase }}}}"), text.len(), Why::TooManyFilters);

    let text = format!("{{{{ a{}", ".b".repeat(bounds::VARIABLE_SEGMENTS_MAX));
    assert!(Template::parse(&format!("{text} }}}}")).is_ok());
    check_malformed(&format!("{text}.b }}}}"), text.len(), Why::TooManySegments);
}

#[test]
fn no_filter_writes_more_than_the_bound() {
    let most = bounds::EXPRESSION_OUTPUT_BYTES_MAX;
    let half = "x".repeat(bounds::BODY_BYTES_MAX);
    check_failed("replace: '', 'xxxxxxxxxx'", half.as_str(), Failed::TooLarge);
    check_failed("replace: 'x', data", half.as_str(), Failed::TooLarge);
    check_failed("append: data | append: data", half.as_str(), Failed::TooLarge);
    check_failed(&format!("pad_left: {}, '0'", most + 1), "x", Failed::TooLarge);
    check_failed("url_encode", "%".repeat(bounds::BODY_BYTES_MAX), Failed::TooLarge);
    check_failed("escape", "'".repeat(bounds::BODY_BYTES_MAX), Failed::TooLarge);
    let text = "{{ data }}".repeat(3);
    assert_eq!(evaluate(&text, &json!(half)), Err(Failed::TooLarge));
    assert_eq!(evaluate("{{ data }}", &json!("x".repeat(most + 1))), Err(Failed::TooLarge));
    let glue = json!({"list": vec!["a"; 1_000], "glue": "x".repeat(1_000)});
    assert_eq!(evaluate("{{ data.list | join: data.glue }}", &glue), Err(Failed::TooLarge));
}

#[test]
fn a_whole_body_passes_through_the_longest_chain() {
    let body = "x".repeat(bounds::BODY_BYTES_MAX - 2);
    let text = format!("{{{{ data {}}}}}", "| upcase ".repeat(bounds::FILTERS_MAX - 1));
    assert!(evaluate(&text, &json!(body)).is_ok());
}

#[test]
fn the_whole_of_a_mask_shares_one_budget() {
    let leaf = "{{ data | upcase | downcase | upcase | downcase }}";
    let leaves: Vec<&str> = vec![leaf; bounds::MASK_MEMBERS_MAX - 1];
    let mask = Mask::parse(&json!(leaves)).unwrap();
    let shown = mask.apply(&json!("x".repeat(bounds::BODY_BYTES_MAX)), &Fixed::new()).unwrap();
    let shown = shown.as_array().unwrap();
    assert!(shown[0].is_string());
    assert!(shown.last().unwrap().is_null());
    let bytes: usize = shown.iter().filter_map(Value::as_str).map(str::len).sum();
    assert!(bytes <= bounds::EXPRESSION_WORK_MAX);
}

#[test]
fn lists_that_filters_make_have_a_length() {
    let most = bounds::EXPRESSION_ITEMS_MAX;
    check_filters("split: '' | size", "x".repeat(most), most);
    check_failed("split: ''", "x".repeat(most + 1), Failed::TooLarge);
    let list = json!({"half": vec![1; most / 2], "one": [1]});
    assert!(evaluate("{{ data.half | concat: data.half }}", &list).is_ok());
    let text = "{{ data.half | concat: data.half | concat: data.one }}";
    assert_eq!(evaluate(text, &list), Err(Failed::TooLarge));
}

#[test]
fn separators_are_few() {
    let few = "-".repeat(bounds::SEPARATORS_BYTES_MAX);
    assert!(Template::parse(&format!("{{{{ data | card_bin: '{few}' }}}}")).is_ok());
    check_malformed(&format!("{{{{ data | card_bin: '{few}-' }}}}"), 20, Why::BadArgument);
    check_failed(
        "card_bin: data",
        "4".repeat(bounds::SEPARATORS_BYTES_MAX + 1),
        Failed::BadArgument,
    );
}

#[test]
fn a_mask_has_a_depth_and_a_size() {
    let nested = |depth: usize| (0..depth).fold(json!("{{ data }}"), |mask, _| json!({"a": mask}));
    assert!(Mask::parse(&nested(bounds::MASK_DEPTH_MAX)).is_ok());
    let mistakes = Mask::parse(&nested(bounds::MASK_DEPTH_MAX + 1)).unwrap_err();
    assert_eq!(mistakes[0].1.why, Why::TooDeep);

    assert!(Mask::parse(&json!(vec![0; bounds::MASK_MEMBERS_MAX - 1])).is_ok());
    let mistakes = Mask::parse(&json!(vec![0; bounds::MASK_MEMBERS_MAX + 7])).unwrap_err();
    assert_eq!(mistakes.len(), 1);
    assert_eq!(mistakes[0].1.why, Why::TooManyMembers);

    let mistakes = Mask::parse(&json!(vec!["{{"; 100])).unwrap_err();
    assert_eq!(mistakes.len(), bounds::MASK_MISTAKES_MAX);
}
