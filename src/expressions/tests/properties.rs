//! Properties of every text and every value.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::bounds;
use crate::domain::any_json::any_json;
use crate::expressions::budget::Weight;

fn values() -> impl Strategy<Value = Value> {
    any_json("[a-c]|number")
}

fn arguments() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("data".to_owned()),
        Just("data.a".to_owned()),
        Just("data[0]".to_owned()),
        Just("'true'".to_owned()),
        Just("'$..*'".to_owned()),
        Just("'$[?@.a > 1 || search(@, \"[a-c]+\")]'".to_owned()),
        Just("nil".to_owned()),
        any::<i64>().prop_map(|n| n.to_string()),
        (-3_i64..40).prop_map(|n| n.to_string()),
        (-2.0..9.0).prop_map(|n: f64| format!("{n:.2}")),
        "[^'{}]{0,3}".prop_map(|text| format!("'{text}'")),
    ]
}

/// Expressions with existing filters, whose arguments may or may not fit.
fn expressions() -> impl Strategy<Value = String> {
    let names: Vec<&str> = filters::names().collect();
    let call = (prop::sample::select(names), prop::collection::vec(arguments(), 0..5)).prop_map(
        |(name, arguments)| {
            if arguments.is_empty() {
                format!(" | {name}")
            } else {
                format!(" | {name}: {}", arguments.join(", "))
            }
        },
    );
    let source =
        prop::sample::select(vec!["data", "data.a", "data[0]", "data.size", "'x-y'", "-7"]);
    (source, prop::collection::vec(call, 1..4))
        .prop_map(|(source, calls)| format!("{{{{ {source}{} }}}}", calls.concat()))
}

fn check_total(text: &str, data: &Value) -> Result<(), TestCaseError> {
    for template in [Template::parse(text), Template::parse_with_references(text)] {
        match template {
            Err(malformed) => prop_assert!(malformed.at <= text.len()),
            Ok(template) => {
                if let Ok(value) = template.evaluate(&Data(data), &Fixed::new(), &budget()) {
                    prop_assert!(
                        Weight::of(&value).size() <= bounds::EXPRESSION_OUTPUT_BYTES_MAX + 1
                    );
                }
                drop(template.evaluate_text(&Data(data), &Fixed::new(), &budget()));
            }
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn texts_of_the_grammars_own_characters_are_parsed_or_refused(
        text in "(\\{\\{|\\}\\}|-|\\||:|,|\\.|\\[|\\]|'|\"|[0-9]|data|upcase|json|token| |\\$|\\?|@|\u{e9}){0,24}",
        data in values(),
    ) {
        check_total(&text, &data)?;
        check_total(&format!("{{{{ {text} }}}}"), &data)?;
        check_total(&format!("{{{{ data | json: '{text}' }}}}"), &data)?;
    }

    #[test]
    fn every_filter_takes_every_value_without_panicking(text in expressions(), data in values()) {
        check_total(&text, &data)?;
    }

    #[test]
    fn reveal_shows_no_more_than_the_ends(
        text in "[a-w0-9-]{0,24}", first in 0_usize..9, last in 0_usize..9,
    ) {
        let shown = evaluate(&format!("{{{{ data | reveal: {first}, {last} }}}}"), &json!(text));
        let shown = shown.unwrap();
        let shown = shown.as_str().unwrap();
        prop_assert_eq!(shown.len(), text.len());
        prop_assert!(shown.chars().filter(|c| *c != 'X').count() <= first + last);
        prop_assert!(text.is_empty() || shown != text);
    }

    #[test]
    fn reveal_last_shows_no_more_than_the_end_and_the_hyphens(
        text in "[a-w0-9-]{0,24}", last in 0_usize..9,
    ) {
        let shown = evaluate(&format!("{{{{ data | reveal_last: {last} }}}}"), &json!(text));
        let shown = shown.unwrap();
        let shown = shown.as_str().unwrap();
        prop_assert_eq!(shown.len(), text.len());
        let hidden = text.len().saturating_sub(last);
        let (masked, open) = shown.split_at(hidden);
        prop_assert!(masked.chars().all(|c| c == 'X' || c == '-'));
        prop_assert!(text.ends_with(open));
    }

    #[test]
    fn card_mask_shows_no_more_than_the_issuer_and_four_digits(
        text in "[0-9-]{0,24}", bin in any::<bool>(), last in any::<bool>(),
    ) {
        let template = format!("{{{{ data | card_mask: '{bin}', '{last}', 'X', '-' }}}}");
        let shown = evaluate(&template, &json!(text)).unwrap();
        let shown = shown.as_str().unwrap();
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        let issuer = if digits < 16 { 6 } else { 8 };
        let most = if bin { issuer } else { 0 } + if last { 4 } else { 0 };
        prop_assert!(shown.bytes().filter(u8::is_ascii_digit).count() <= most);
        prop_assert!(text.is_empty() || shown != text);
    }

    #[test]
    fn default_masks_never_show_a_whole_value(data in values(), text in ".{0,24}") {
        for data in [data, json!(text), json!({"number": text})] {
            for mask in ["{{ data | reveal_last: 4 }}", "{{ data.number | reveal_last: 4 }}"] {
                let mask = Mask::parse(&json!(mask)).unwrap();
                let Some(Value::String(shown)) = mask.apply_strict(&data, &Fixed::new(), &budget()) else {
                    continue;
                };
                let plain = data.get("number").unwrap_or(&data);
                let plain = filters::text_of(plain).unwrap();
                // A value that consists of the mask's own character looks the same when masked.
                prop_assert!(shown != plain || plain.chars().all(|c| c == 'X'));
                let chars = shown.chars().count();
                let open = |c: char| c != 'X' && c != '-';
                prop_assert!(shown.chars().filter(|c| open(*c)).count() <= 4);
                prop_assert!(chars > 4 || !shown.contains(open));
            }
        }
    }

    #[test]
    fn aliases_keep_the_length_and_differ_only_where_they_may(
        text in "[A-Z0-9 -]{6,24}", first in 0_usize..4, last in 0_usize..4,
    ) {
        for filter in ["alias_preserve_format", "alias_preserve_length"] {
            let template = format!("{{{{ data | {filter}: {first}, {last} }}}}");
            if let Ok(Value::String(alias)) = evaluate(&template, &json!(text)) {
                prop_assert_eq!(alias.len(), text.len());
                prop_assert_eq!(alias.split_at(first).0, text.split_at(first).0);
                let end = text.len() - last;
                prop_assert_eq!(alias.split_at(end).1, text.split_at(end).1);
            }
        }
    }
}
