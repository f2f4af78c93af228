//! Values that the author of an expression may not see.

use serde_json::json;

use super::*;
use crate::domain::exposure::Computation;

/// One value under every name, with the expressions that may read it.
struct Guarded(Value, Computation);

impl Scope for Guarded {
    fn variable(&self, _: &str) -> Option<ScopedValue<'_>> {
        Some(ScopedValue { value: &self.0, computation: self.1 })
    }

    fn reference(&self, _: &Reference) -> Option<ScopedValue<'_>> {
        self.variable("")
    }
}

fn evaluate(text: &str, value: Value, computation: Computation) -> Result<Value, Failed> {
    let budget = budget();
    let (template, length) =
        Template::parse_first(text, &budget).unwrap_or_else(|_| panic!("{text}"));
    assert_eq!(length, text.len());
    template.evaluate(&Guarded(value, computation), &Fixed::new(), &budget)
}

fn card() -> Value {
    json!({"number": "4242424242424242", "list": ["a", "b"], "deep": {"x": {"y": null}}})
}

#[test]
fn a_guarded_value_is_placed_whole_or_by_names_and_indexes() {
    for (text, expected) in [
        ("{{ abc }}", card()),
        ("{{ token: abc }}", card()),
        ("{{ encrypted }}", card()),
        ("{{ abc | json: '$' }}", card()),
        ("{{ abc | json: '$.number' }}", json!("4242424242424242")),
        ("{{ abc | json: \"$['number']\" }}", json!("4242424242424242")),
        ("{{ abc | json: '$.list[1]' }}", json!("b")),
        ("{{ abc | json: '$.list[-1]' }}", json!("b")),
        ("{{ abc | json: '$.deep' | json: '$.x.y' }}", json!(null)),
        ("{{ abc | json: '$.none.of.these' }}", json!(null)),
        ("{{ abc | json: '$.number.length' }}", json!(null)),
        ("{{ encrypted.number }}", json!("4242424242424242")),
        ("{{ encrypted.list[0] }}", json!("a")),
        ("{{ encrypted.list.last }}", json!("b")),
        // A size is computed.
        ("{{ encrypted.number.size }}", json!(null)),
        ("{{ encrypted.size }}", json!(null)),
    ] {
        assert_eq!(evaluate(text, card(), Computation::Placement), Ok(expected), "{text}");
        assert_eq!(evaluate(text, card(), Computation::None), Err(Failed::Guarded), "{text}");
    }
    let sized = "{{ encrypted.number.size }}";
    assert_eq!(evaluate(sized, card(), Computation::Any), Ok(json!(16)));
}

#[test]
fn no_other_path_and_no_other_filter_reads_a_guarded_value() {
    let paths = ["$.*", "$..number", "$['a','b']", "$[0:1]", "$[?@ == 'a']", "$[?length(@) > 1]"];
    let paths = paths.map(|path| format!("json: \"{path}\""));
    let filters = filters::names().filter(|name| *name != "json").map(|name| {
        let calls = ["", ": '1'", ": 1", ": 'sha-256', 'k' | to_base64", ": 1, 'x'", ": 'MMYY'"];
        let parses = |call: &String| {
            Template::parse_first(&format!("{{{{ abc | {call} }}}}"), &budget()).is_ok()
        };
        let call = calls.map(|arguments| format!("{name}{arguments}")).into_iter().find(parses);
        call.unwrap_or_else(|| panic!("{name} has no arguments here"))
    });
    for filter in filters.chain(paths) {
        for text in [
            format!("{{{{ abc | {filter} }}}}"),
            format!("{{{{ encrypted.number | {filter} }}}}"),
            format!("{{{{ abc | json: '$.number' | {filter} }}}}"),
        ] {
            let Ok((template, _)) = Template::parse_first(&text, &budget()) else {
                panic!("{text} is malformed");
            };
            // The refusal is the same for every value.
            for value in [card(), json!(null), json!("4"), json!([1]), json!(7)] {
                let scope = Guarded(value, Computation::Placement);
                let evaluated = template.evaluate(&scope, &Fixed::new(), &budget());
                assert_eq!(evaluated, Err(Failed::Guarded), "{text}");
            }
        }
    }
}

#[test]
fn a_guarded_value_is_no_argument_of_a_filter() {
    /// All values are guarded except `proxy`.
    struct Own;
    static GUARDED: Value = Value::Null;
    static OPEN: Value = Value::Bool(true);
    impl Scope for Own {
        fn variable(&self, name: &str) -> Option<ScopedValue<'_>> {
            Some(match name {
                "proxy" => ScopedValue::open(&OPEN),
                _ => ScopedValue { value: &GUARDED, computation: Computation::Placement },
            })
        }
    }
    for (text, expected) in [
        ("{{ proxy | append: encrypted.x }}", Err(Failed::Guarded)),
        ("{{ proxy | append: 'x' | append: config.x }}", Err(Failed::Guarded)),
        ("{{ proxy | append: proxy }}", Ok(json!("truetrue"))),
    ] {
        let (template, _) = Template::parse_first(text, &budget()).unwrap_or_else(|_| panic!());
        assert_eq!(template.evaluate(&Own, &Fixed::new(), &budget()), expected, "{text}");
    }
}
