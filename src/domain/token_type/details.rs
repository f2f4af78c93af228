//! Details of a card or a bank account that answers show in addition to the masked data.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::domain::card::CardDetails;
use crate::domain::card::bin_table::BinTable;
use crate::domain::card::expiry::{Expiry, Scalar};
use crate::domain::data::Data;
use crate::domain::token_type::TokenType;

/// The `bank` object of a bank token or intent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BankDetails {
    pub routing_number: String,
    /// Absent if the account number has at most four digits: they would be the whole number.
    pub account_number_last4: Option<String>,
}

/// The named members of an object, borrowed from its text, since every read of a card shows its
/// details. Data that is no object has no members.
fn members<'a, const N: usize>(data: &'a Data, names: [&str; N]) -> [Option<Scalar<'a>>; N] {
    let json = data.json();
    let scalars = |find: &dyn Fn(&str) -> Option<&'a RawValue>| {
        names.map(|name| Scalar::of_json(find(name)?.get()))
    };
    if let Ok(all) = serde_json::from_str::<BTreeMap<&str, &RawValue>>(json) {
        return scalars(&|name| all.get(name).copied());
    }
    // A name with an escape cannot be borrowed.
    let all: BTreeMap<String, &RawValue> = serde_json::from_str(json).unwrap_or_default();
    scalars(&|name| all.get(name).copied())
}

impl TokenType {
    /// The `card` (or `network_token`) object, for the types that hold a card number.
    pub fn card_details(self, data: &Data, table: &BinTable) -> Option<CardDetails> {
        let (number, expiry) = match self {
            Self::Card | Self::NetworkToken => {
                let [number, month, year] =
                    members(data, ["number", "expiration_month", "expiration_year"]);
                (number, Expiry::of_parts(month, year))
            }
            Self::CardNumber => (Scalar::of_json(data.json()), Expiry::default()),
            Self::Bank
            | Self::EmployerIdNumber
            | Self::SocialSecurityNumber
            | Self::Token
            | Self::UsBankAccountNumber
            | Self::UsBankRoutingNumber => return None,
        };
        CardDetails::of(number?.text()?, expiry.month, expiry.year, table)
    }

    /// The `bank` object, for the type `bank`.
    pub fn bank_details(self, data: &Data) -> Option<BankDetails> {
        if self != Self::Bank {
            return None;
        }
        let [routing_number, account_number] = members(data, ["routing_number", "account_number"]);
        let routing_number = routing_number?.text()?.to_owned();
        let account_number = account_number?.text()?;
        let hidden = account_number.len().checked_sub(SHOWN_DIGITS).filter(|hidden| *hidden > 0);
        let last4 = hidden.and_then(|hidden| account_number.get(hidden..)).map(str::to_owned);
        Some(BankDetails { routing_number, account_number_last4: last4 })
    }
}

const SHOWN_DIGITS: usize = 4;

impl BankDetails {
    /// Under the names of the published interface.
    pub fn to_value(&self) -> Value {
        let mut bank = Map::new();
        bank.insert("routing_number".to_owned(), self.routing_number.as_str().into());
        if let Some(last4) = &self.account_number_last4 {
            bank.insert("account_number_last4".to_owned(), last4.as_str().into());
        }
        Value::Object(bank)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::card::brand::{Brand, Funding};

    fn of(data: &Value) -> Data {
        Data::from_value(data)
    }

    #[test]
    fn types_with_a_card_number_have_card_details() {
        let table = BinTable::default();
        let card = json!({
            "number": "4242424242424242", "expiration_month": 4, "expiration_year": 2031,
        });
        let found = TokenType::Card.card_details(&of(&card), &table).unwrap();
        assert_eq!((found.expiration_month, found.expiration_year), (Some(4), Some(2031)));
        assert_eq!((found.brand, found.funding), (Some(Brand::Visa), Some(Funding::Credit)));
        assert_eq!(TokenType::NetworkToken.card_details(&of(&card), &table), Some(found.clone()));
        let text = json!({
            "number": "4242424242424242", "expiration_month": "04", "expiration_year": "2031",
        });
        assert_eq!(TokenType::Card.card_details(&of(&text), &table), Some(found.clone()));
        let mut escaped = card.clone();
        escaped["a \"name\""] = json!({ "number": "5555555555554444" });
        assert_eq!(TokenType::Card.card_details(&of(&escaped), &table), Some(found));
        let number = TokenType::CardNumber.card_details(&of(&json!("4242424242424242")), &table);
        assert_eq!(number.unwrap().expiration_month, None);
        for token_type in [TokenType::Token, TokenType::Bank, TokenType::SocialSecurityNumber] {
            assert_eq!(token_type.card_details(&of(&card), &table), None);
        }
        assert_eq!(TokenType::Card.card_details(&of(&json!("4242424242424242")), &table), None);
    }

    #[track_caller]
    fn check_bank(account_number: &str, last4: Option<&str>) {
        let data = json!({ "routing_number": "021000021", "account_number": account_number });
        let mut expected = json!({ "routing_number": "021000021" });
        if let Some(last4) = last4 {
            expected["account_number_last4"] = json!(last4);
        }
        assert_eq!(TokenType::Bank.bank_details(&of(&data)).unwrap().to_value(), expected);
        assert_eq!(TokenType::Token.bank_details(&of(&data)), None);
    }

    #[test]
    fn bank_details_never_show_a_whole_account_number() {
        check_bank("1234567890", Some("7890"));
        check_bank("00001", Some("0001"));
        check_bank("1234", None);
        check_bank("1", None);
        for data in [json!({}), json!("1"), json!({ "routing_number": "021000021" })] {
            assert_eq!(TokenType::Bank.bank_details(&of(&data)), None);
        }
        // Data is checked before it is stored. No text may cause a panic all the same.
        let odd = json!({ "routing_number": "", "account_number": "\u{e9}\u{e9}\u{e9}" });
        assert_eq!(
            TokenType::Bank.bank_details(&of(&odd)).unwrap().account_number_last4,
            Some("\u{e9}\u{e9}".into())
        );
    }
}
