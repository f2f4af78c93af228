use crate::domain::token_type::TokenType;

const CARD: &str = r#"{"number":"{{ data.number | reveal_last: 4 }}","expiration_month":"{{ data.expiration_month }}","expiration_year":"{{ data.expiration_year }}"}"#;
const BANK: &str = r#"{"routing_number":"{{ data.routing_number }}","account_number":"{{ data.account_number | reveal_last: 4 }}"}"#;
const TEXT: &str = r#""{{ data | reveal_last: 4 }}""#;

/// Clients compare fingerprints and rely on masks, so the defaults must equal the published tables.
#[test]
fn defaults_are_those_of_the_published_tables() {
    let account = "{{ data.account_number }}|{{ data.routing_number }}";
    let person = "{{ data | remove: '-' }}";
    let table = [
        (TokenType::Token, "/general/high/", "{{ data | stringify }}", None),
        (TokenType::Card, "/pci/high/", "{{ data.number }}", Some(CARD)),
        (TokenType::NetworkToken, "/pci/high/", "{{ data.number }}", Some(CARD)),
        (TokenType::Bank, "/bank/high/", account, Some(BANK)),
        (TokenType::CardNumber, "/pci/high/", "{{ data }}", Some(TEXT)),
        (TokenType::UsBankAccountNumber, "/bank/high/", "{{ data }}", Some(TEXT)),
        (TokenType::UsBankRoutingNumber, "/bank/low/", "{{ data }}", Some(TEXT)),
        (TokenType::SocialSecurityNumber, "/pii/high/", person, Some(TEXT)),
        (TokenType::EmployerIdNumber, "/pii/high/", person, Some(TEXT)),
    ];
    assert_eq!(table.len(), TokenType::ALL.len());
    for (kind, container, fingerprint, mask) in table {
        assert_eq!(kind.default_container(), container, "{kind:?}");
        assert_eq!(kind.default_fingerprint_expression(), fingerprint, "{kind:?}");
        assert_eq!(kind.default_mask(), mask, "{kind:?}");
        let three = ["{{ data }}", "{{ data | replace: '-' }}", "{{ data | last4 }}"];
        let indexes: &[&str] = if fingerprint == person { &three } else { &[] };
        assert_eq!(kind.default_search_indexes(), indexes, "{kind:?}");
    }
}
