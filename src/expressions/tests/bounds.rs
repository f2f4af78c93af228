//! Every bound of the language is reached, and one step beyond it is refused.

use serde_json::json;

use super::*;
use crate::bounds;

#[test]
fn a_template_has_a_length() {
    let text = format!("{{{{ '{}' }}}}", "x".repeat(bounds::TEMPLATE_BYTES_MAX - 8));
    assert_eq!(text.len(), bounds::TEMPLATE_BYTES_MAX);
    assert!(Template::parse(&text).is_ok());
    check_malformed(&format!("{text} "), bounds::TEMPLATE_BYTES_MAX, MalformedReason::TooLong);
    assert!(Template::parse_with_references(&"x".repeat(bounds::REFERENCES_BYTES_MAX)).is_ok());
    let longer = "x".repeat(bounds::REFERENCES_BYTES_MAX + 1);
    let expected = Malformed::new(bounds::REFERENCES_BYTES_MAX, MalformedReason::TooLong);
    assert_eq!(Template::parse_with_references(&longer).err(), Some(expected));
}

#[test]
fn expressions_filters_and_members_are_counted() {
    let text = "{{ a }}".repeat(bounds::TEMPLATE_EXPRESSIONS_MAX);
    assert!(Template::parse(&text).is_ok());
    check_malformed(&format!("{text}{{{{ a }}}}"), text.len(), MalformedReason::TooManyExpressions);

    let text = format!("{{{{ a {}", "| upcase ".repeat(bounds::FILTERS_MAX));
    assert!(Template::parse(&format!("{text}}}}}")).is_ok());
    check_malformed(&format!("{text}| upcase }}}}"), text.len(), MalformedReason::TooManyFilters);

    let text = format!("{{{{ a{}", ".b".repeat(bounds::VARIABLE_SEGMENTS_MAX));
    assert!(Template::parse(&format!("{text} }}}}")).is_ok());
    check_malformed(&format!("{text}.b }}}}"), text.len(), MalformedReason::TooManySegments);
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
fn the_largest_text_passes_through_many_filters_but_not_through_the_longest_chains() {
    let data = json!("x".repeat(bounds::TOKEN_DATA_BYTES_MAX - 2));
    let chain = |filters: usize| format!("{{{{ data {}}}}}", "| upcase ".repeat(filters));
    assert!(evaluate(&chain(16), &data).is_ok());
    let text = "{{ data | capitalize | escape | reveal_last: 4 | url_encode | replace: 'x', 'y' }}";
    assert_eq!(evaluate(text, &data), Err(Failed::TooMuchWork));
}

#[test]
fn the_largest_data_of_the_smallest_values_has_a_fingerprint_and_a_simple_mask() {
    let data = json!({"list": vec![1; bounds::JSON_VALUES_MAX - 8], "name": "Ada Lovelace"});
    let budget = budget();
    let print = Template::parse("{{ data | stringify }}").unwrap();
    assert!(print.evaluate_text(&Data(&data), &Fixed::new(), &budget).is_ok());
    budget.spend_json(&data.to_string()).unwrap();
    let mask = Mask::parse(&json!({"name": "{{ data.name | reveal_last: 4 }}"})).unwrap();
    assert!(mask.apply(&data, &Fixed::new(), &budget).is_some());
}

#[test]
fn the_whole_of_a_mask_shares_one_budget() {
    let leaf = "{{ data | upcase | downcase | upcase | downcase }}";
    let leaves: Vec<&str> = vec![leaf; bounds::MASK_MEMBERS_MAX - 1];
    let mask = Mask::parse(&json!(leaves)).unwrap();
    let data = |bytes: usize| json!("x".repeat(bytes));
    assert!(mask.apply(&data(100), &Fixed::new(), &budget()).is_some());
    let large = data(bounds::TOKEN_DATA_BYTES_MAX);
    let budget = budget();
    assert_eq!(mask.apply(&large, &Fixed::new(), &budget), None);
    assert!(budget.ran_out());
    // No other expression fits, not even the simplest.
    let simple = Mask::parse(&json!({"constant": 1})).unwrap();
    assert_eq!(simple.apply(&large, &Fixed::new(), &budget), None);
}

#[test]
fn a_budget_that_is_spent_to_the_last_unit_has_not_run_out() {
    let budget = Budget::of(10);
    assert_eq!(budget.spend(10), Ok(()));
    assert!(!budget.ran_out());
    assert_eq!(budget.spend(1), Err(Failed::TooMuchWork));
    assert!(budget.ran_out() && !budget.is_in_vain());
    assert_eq!(budget.spend(0), Err(Failed::TooMuchWork));
    let first = Budget::first(10);
    assert_eq!(first.spend(11), Err(Failed::TooMuchWork));
    assert!(first.is_in_vain());
}

#[test]
fn what_stops_at_the_bound_of_its_result_is_paid_for() {
    for filter in ["escape", "replace: '', 'xxxxxxx'", "append: data | append: data | append: data"]
    {
        let template = Template::parse(&format!("{{{{ data | {filter} | size }}}}")).unwrap();
        let data = json!("'".repeat(bounds::TOKEN_DATA_BYTES_MAX + 1));
        let budget = budget();
        let failed = template.evaluate(&Data(&data), &Fixed::new(), &budget);
        assert_eq!(failed, Err(Failed::TooLarge), "{filter}");
        let left = bounds::EXPRESSION_WORK_WRITE_MAX - bounds::EXPRESSION_OUTPUT_BYTES_MAX;
        assert_eq!(budget.spend(left), Err(Failed::TooMuchWork), "{filter}");
    }
}

#[test]
fn patterns_have_few_states_together() {
    let path = |patterns: usize| {
        let one = format!("search(@, '.{{{}}}')", bounds::PATTERN_STATES_MAX - 2);
        format!("{{{{ data | json: \"$[?{}]\" }}}}", vec![one; patterns].join(" || "))
    };
    assert!(Template::parse(&path(4)).is_ok());
    assert_eq!(
        Template::parse(&path(5)).err().map(|it| it.why),
        Some(MalformedReason::BadJsonPath)
    );
    check_malformed(
        &format!("{}{}", path(4), path(1)),
        path(4).len(),
        MalformedReason::TooManyStates,
    );
    assert!(Mask::parse(&json!(vec![path(4); 4])).is_ok());
    let mistakes = Mask::parse(&json!(vec![path(4); 7])).unwrap_err();
    assert_eq!(mistakes.len(), 1);
    assert_eq!(
        (mistakes[0].0.as_str(), mistakes[0].1.why),
        ("[4]", MalformedReason::TooManyStates)
    );
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
    check_malformed(
        &format!("{{{{ data | card_bin: '{few}-' }}}}"),
        20,
        MalformedReason::BadArgument,
    );
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
    assert_eq!(mistakes[0].1.why, MalformedReason::TooDeep);

    assert!(Mask::parse(&json!(vec![0; bounds::MASK_MEMBERS_MAX - 1])).is_ok());
    let mistakes = Mask::parse(&json!(vec![0; bounds::MASK_MEMBERS_MAX + 7])).unwrap_err();
    assert_eq!(mistakes.len(), 1);
    assert_eq!(mistakes[0].1.why, MalformedReason::TooManyMembers);

    let mistakes = Mask::parse(&json!(vec!["{{"; 100])).unwrap_err();
    assert_eq!(mistakes.len(), bounds::MASK_MISTAKES_MAX);
}

#[test]
fn a_part_that_runs_out_leaves_the_reserve_to_the_others() {
    let budget = Budget::of(100);
    assert_eq!(budget.spend_on_part(30, |part| part.spend(80)), Err(Failed::TooMuchWork));
    assert_eq!((budget.ran_out(), budget.left()), (false, 30));
    assert_eq!(budget.spend_on_part(10, |part| part.spend(15)), Ok(()));
    assert_eq!(budget.left(), 15);
    assert_eq!(budget.spend_on_part(40, |part| part.spend(1)), Err(Failed::TooMuchWork));
    assert_eq!(budget.left(), 15);
    assert_eq!(budget.spend(16), Err(Failed::TooMuchWork));
    assert_eq!(budget.spend_on_part(0, |part| part.spend(0)), Ok(()));
    assert!(budget.ran_out(), "a part does not refill the whole");
    // A larger budget follows, so the rest is in vain.
    let first = Budget::first(100);
    assert_eq!(first.spend_on_part(30, |part| part.spend(80)), Err(Failed::TooMuchWork));
    assert!(first.is_in_vain());
}
