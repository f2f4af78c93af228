use serde_json::{Value, json};

use crate::domain::token_type::TokenType;

#[track_caller]
fn check_defaults(token_type: TokenType, container: &str, fingerprint: &str) {
    assert_eq!(token_type.default_container(), container);
    assert_eq!(token_type.default_fingerprint_expression(), fingerprint);
}

#[test]
fn containers_and_fingerprints() {
    check_defaults(TokenType::Token, "/general/high/", "{{ data | stringify }}");
    check_defaults(TokenType::Card, "/pci/high/", "{{ data.number }}");
    check_defaults(TokenType::NetworkToken, "/pci/high/", "{{ data.number }}");
    let both = "{{ data.account_number }}|{{ data.routing_number }}";
    check_defaults(TokenType::Bank, "/bank/high/", both);
    check_defaults(TokenType::CardNumber, "/pci/high/", "{{ data }}");
    check_defaults(TokenType::UsBankAccountNumber, "/bank/high/", "{{ data }}");
    check_defaults(TokenType::UsBankRoutingNumber, "/bank/low/", "{{ data }}");
    let digits = "{{ data | remove: '-' }}";
    check_defaults(TokenType::SocialSecurityNumber, "/pii/high/", digits);
    check_defaults(TokenType::EmployerIdNumber, "/pii/high/", digits);
}

#[test]
fn masks() {
    let card = json!({
        "number": "{{ data.number | reveal_last: 4 }}",
        "expiration_month": "{{ data.expiration_month }}",
        "expiration_year": "{{ data.expiration_year }}",
    });
    let bank = json!({
        "routing_number": "{{ data.routing_number }}",
        "account_number": "{{ data.account_number | reveal_last: 4 }}",
    });
    for token_type in TokenType::ALL {
        let expected = match token_type {
            TokenType::Token => None,
            TokenType::Card | TokenType::NetworkToken => Some(card.clone()),
            TokenType::Bank => Some(bank.clone()),
            TokenType::CardNumber
            | TokenType::EmployerIdNumber
            | TokenType::SocialSecurityNumber
            | TokenType::UsBankAccountNumber
            | TokenType::UsBankRoutingNumber => Some(Value::from("{{ data | reveal_last: 4 }}")),
        };
        let own = token_type.default_mask().map(|text| serde_json::from_str(text).unwrap());
        assert_eq!(own, expected, "{token_type:?}");
    }
}

#[test]
fn only_numbers_of_persons_and_employers_are_searchable_unasked() {
    let three = ["{{ data }}", "{{ data | replace: '-' }}", "{{ data | last4 }}"];
    for token_type in TokenType::ALL {
        let is_searchable =
            [TokenType::EmployerIdNumber, TokenType::SocialSecurityNumber].contains(&token_type);
        let expected: &[&str] = if is_searchable { &three } else { &[] };
        assert_eq!(token_type.default_search_indexes(), expected);
    }
}
