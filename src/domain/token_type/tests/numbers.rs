use serde_json::json;

use crate::domain::token_type::TokenType;
use crate::domain::token_type::check::WRONG_TYPE;
use crate::domain::token_type::tests::{check_refused, check_taken};

#[test]
fn bank_data() {
    check_taken(
        TokenType::Bank,
        &json!({ "routing_number": "021000021", "account_number": "00001" }),
    );
    check_taken(TokenType::Bank, &json!({ "routing_number": "021000021", "account_number": "1" }));
    check_taken(
        TokenType::Bank,
        &json!({ "routing_number": "021000021", "account_number": "12345678901234567", "holder": "Ann" }),
    );
    check_refused(TokenType::Bank, &json!("021000021"), &[("data", WRONG_TYPE)]);
    check_refused(
        TokenType::Bank,
        &json!({}),
        &[("data.account_number", "required"), ("data.routing_number", "required")],
    );
    check_refused(
        TokenType::Bank,
        &json!({ "routing_number": 21_000_021, "account_number": 1 }),
        &[("data.account_number", WRONG_TYPE), ("data.routing_number", WRONG_TYPE)],
    );
    check_refused(
        TokenType::Bank,
        &json!({ "routing_number": "21000021", "account_number": "123456789012345678" }),
        &[("data.account_number", "1 to 17"), ("data.routing_number", "9 digits")],
    );
}

#[test]
fn bank_numbers() {
    check_taken(TokenType::UsBankAccountNumber, &json!("123"));
    check_taken(TokenType::UsBankAccountNumber, &json!("12345678901234567"));
    for text in ["", "12", "123456789012345678", "12a", "1 2 3"] {
        check_refused(TokenType::UsBankAccountNumber, &json!(text), &[("data", "3 to 17")]);
    }
    check_refused(TokenType::UsBankAccountNumber, &json!(1234), &[("data", WRONG_TYPE)]);
    check_taken(TokenType::UsBankRoutingNumber, &json!("110000000"));
    check_refused(TokenType::UsBankRoutingNumber, &json!("110000001"), &[("data", "checksum")]);
    check_refused(TokenType::UsBankRoutingNumber, &json!("11000000"), &[("data", "9 digits")]);
    check_refused(TokenType::UsBankRoutingNumber, &json!([]), &[("data", WRONG_TYPE)]);
}

#[test]
fn numbers_of_persons_and_employers() {
    for token_type in [TokenType::SocialSecurityNumber, TokenType::EmployerIdNumber] {
        for text in ["123456789", "123-45-6789", "12-3456789", "1-2-3-4-5-6-7-8-9"] {
            check_taken(token_type, &json!(text));
        }
        for text in ["", "-", "12345678", "1234567890", "123--456789", "-123456789", "123456789-"] {
            check_refused(token_type, &json!(text), &[("data", "9 digits")]);
        }
        for text in ["123 45 6789", "12345678a", "123456789\n"] {
            check_refused(token_type, &json!(text), &[("data", "9 digits")]);
        }
        check_refused(token_type, &json!(123_456_789), &[("data", WRONG_TYPE)]);
    }
}
