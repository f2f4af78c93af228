//! Detokenization: expressions that name tokens and intents.

use serde_json::json;

use super::*;

struct Vault;

static CARD: std::sync::LazyLock<Value> =
    std::sync::LazyLock::new(|| json!({"number": "4242424242424242", "expiration_month": 12}));
static TOKEN: std::sync::LazyLock<Value> =
    std::sync::LazyLock::new(|| json!({"id": "abc", "data": {"number": "4111"}}));

impl Scope for Vault {
    fn variable(&self, _: &str) -> Option<ScopedValue<'_>> {
        None
    }

    fn reference(&self, reference: &Reference) -> Option<ScopedValue<'_>> {
        let value: Option<&Value> = match reference {
            Reference::TokenData(id) if id == "an id: with, 'quotes' - and.dots" => Some(&CARD),
            Reference::TokenData(id) if id == "abc" => Some(&CARD),
            Reference::Token(id) | Reference::TokenIntent(id) if id == "abc" => Some(&TOKEN),
            Reference::TokenData(_) | Reference::Token(_) | Reference::TokenIntent(_) => None,
        };
        value.map(ScopedValue::open)
    }
}

#[track_caller]
fn check_detokenized(text: &str, expected: &Value) {
    let template = Template::parse_with_references(text).unwrap();
    assert_eq!(
        template.evaluate(&Vault, &Fixed::new(), &budget()).as_ref(),
        Ok(expected),
        "{text}"
    );
}

#[test]
fn tokens_and_intents_are_embedded() {
    check_detokenized("{{ abc }}", &CARD);
    check_detokenized("{{abc}}", &CARD);
    check_detokenized("{{ abc | json: '$.expiration_month' }}", &json!(12));
    check_detokenized(
        "{{ an id: with, 'quotes' - and.dots | json: '$.number' | last4 }}",
        &json!("4242"),
    );
    check_detokenized("{{ token: abc | json: '$.data.number' }}", &json!("4111"));
    check_detokenized("{{token_intent:abc|json:'$.data.number'}}", &json!("4111"));
    check_detokenized(
        "{\"pan\": \"{{ token: abc | json: '$.data.number' }}\"}",
        &json!("{\"pan\": \"4111\"}"),
    );
    check_detokenized("a constant {% with %} braces }", &json!("a constant {% with %} braces }"));
}

#[test]
fn what_a_text_names_is_known_before_it_is_evaluated() {
    let text = "{{ token: a-1 }} {{ b-2 }} {{ token_intent: c-3 | json: '$' }} {{ b-2 }}";
    let template = Template::parse_with_references(text).unwrap();
    let found: Vec<&Reference> = template.references().collect();
    let data = Reference::TokenData("b-2".into());
    let expected =
        [&Reference::Token("a-1".into()), &data, &Reference::TokenIntent("c-3".into()), &data];
    assert_eq!(found, expected);
    assert!(!template.is_constant());
    assert!(Template::parse_with_references("x }}").unwrap().is_constant());
    assert_eq!(found[0].id(), "a-1");
}

#[test]
fn an_expression_that_takes_another_member_does_not_read_the_code() {
    for (text, reads) in [
        ("{{ abc }}", true),
        ("{{ abc | json: '$' }}", true),
        ("{{ abc | json: '$.cvc' }}", true),
        ("{{ abc | json: '$[\"cvc\"]' | upcase }}", true),
        ("{{ abc | json: '$.number' }}", false),
        ("{{ abc | json: '$.number' | last4 }}", false),
        ("{{ abc | stringify }}", true),
        ("{{ abc | json: '$..cvc' }}", true),
        ("{{ abc | json: '$..number' }}", true),
        ("{{ abc | json: '$.*' }}", true),
        ("{{ abc | json: '$[0]' }}", true),
        ("{{ abc | json: '$[\"number\", \"cvc\"]' }}", true),
        ("{{ token: abc }}", true),
        ("{{ token: abc | json: '$.data' }}", true),
        ("{{ token: abc | json: '$.data' | json: '$.number' }}", true),
        ("{{ token: abc | json: '$.data.number' }}", false),
        ("{{ token: abc | json: '$.data.cvc' }}", true),
        ("{{ token: abc | json: '$.cvc' }}", false),
        ("{{ token: abc | json: '$.metadata' }}", false),
        ("{{ token: abc | json: '$.metadata..cvc' }}", false),
        ("{{ token_intent: abc | json: '$.data.cvc' }}", true),
        ("{{ token_intent: abc | json: '$.card' }}", false),
    ] {
        let template = Template::parse_with_references(text).unwrap();
        assert_eq!(template.code_readers().count(), usize::from(reads), "{text}");
    }
}

#[test]
fn an_unknown_token_fails_the_evaluation() {
    let template = Template::parse_with_references("{{ nobody | default: 'x' }}").unwrap();
    assert_eq!(template.evaluate(&Vault, &Fixed::new(), &budget()), Err(Failed::UnknownReference));
}

#[test]
fn ids_have_the_form_of_ids() {
    let long = format!("{{{{ {} }}}}", "x".repeat(400));
    assert!(Template::parse_with_references(&long).is_ok());
    let longer = format!("{{{{ {} }}}}", "x".repeat(401));
    for (text, at, why) in [
        (longer.as_str(), 3, MalformedReason::BadReference),
        ("{{ ab }}", 3, MalformedReason::BadReference),
        ("{{ token: }}", 3, MalformedReason::BadReference),
        ("{{ a/b }}", 3, MalformedReason::BadReference),
        ("{{ ab#c }}", 3, MalformedReason::BadReference),
        ("{{ abc } }}", 7, MalformedReason::Unexpected),
        ("{{ | upcase }}", 3, MalformedReason::Empty),
        ("{{ }}", 3, MalformedReason::Empty),
        ("x {{ abc", 2, MalformedReason::Unclosed),
        ("{{", 0, MalformedReason::Unclosed),
        ("{{ abc | nothing }}", 9, MalformedReason::UnknownFilter),
    ] {
        let found = Template::parse_with_references(text).err();
        assert_eq!(found, Some(Malformed::new(at, why)), "{text}");
    }
}
