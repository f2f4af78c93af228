//! Token types: the rules of their data, and the defaults of their tokens.
//!
//! Messages never hold the offending value.

mod check;
mod details;
#[cfg(test)]
mod tests;

pub use details::BankDetails;
use serde_json::Value;

use crate::domain::container::Container;
use crate::domain::mistakes::Mistakes;
use crate::domain::words::words;
use crate::secret::Secret;

/// The mask of a value that is text.
const LAST_4: Option<&str> = Some(r#""{{ data | reveal_last: 4 }}""#);
const CARD_MASK: Option<&str> = Some(concat!(
    r#"{"number":"{{ data.number | reveal_last: 4 }}","#,
    r#""expiration_month":"{{ data.expiration_month }}","#,
    r#""expiration_year":"{{ data.expiration_year }}"}"#,
));
const BANK_MASK: Option<&str> = Some(concat!(
    r#"{"routing_number":"{{ data.routing_number }}","#,
    r#""account_number":"{{ data.account_number | reveal_last: 4 }}"}"#,
));
const ACCOUNT_AND_ROUTING: &str = "{{ data.account_number }}|{{ data.routing_number }}";
const WITHOUT_HYPHENS: &str = "{{ data | remove: '-' }}";
/// The indexes of numbers that people write with and without hyphens.
const HYPHENATED: &[&str] = &["{{ data }}", "{{ data | replace: '-' }}", "{{ data | last4 }}"];

words! {
    pub enum TokenType:
        default_container -> &'static str,
        /// The restriction policy of the published tables.
        restriction_policy -> &'static str,
        default_fingerprint_expression -> &'static str,
        /// The mask as JSON text. `None`: a masked read shows no data at all.
        default_mask -> Option<&'static str>,
        default_search_indexes -> &'static [&'static str]
    {
        Bank = "bank", "/bank/high/", "mask", ACCOUNT_AND_ROUTING, BANK_MASK, &[];
        Card = "card", "/pci/high/", "mask", "{{ data.number }}", CARD_MASK, &[];
        CardNumber = "card_number", "/pci/high/", "mask", "{{ data }}", LAST_4, &[];
        EmployerIdNumber =
            "employer_id_number", "/pii/high/", "mask", WITHOUT_HYPHENS, LAST_4, HYPHENATED;
        NetworkToken = "network_token", "/pci/high/", "mask", "{{ data.number }}", CARD_MASK, &[];
        SocialSecurityNumber =
            "social_security_number", "/pii/high/", "mask", WITHOUT_HYPHENS, LAST_4, HYPHENATED;
        Token = "token", "/general/high/", "redact", "{{ data | stringify }}", None, &[];
        UsBankAccountNumber =
            "us_bank_account_number", "/bank/high/", "mask", "{{ data }}", LAST_4, &[];
        UsBankRoutingNumber =
            "us_bank_routing_number", "/bank/low/", "redact", "{{ data }}", LAST_4, &[];
    }
}

impl TokenType {
    /// All types, for the answer to a type that does not exist.
    pub fn list() -> String {
        Self::ALL.map(Self::as_str).join(", ")
    }
}

/// The documented 3DS test numbers have a wrong check digit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestNumbers {
    /// Production tenants.
    Refused,
    /// Test tenants.
    Taken,
}

impl TokenType {
    /// Every mistake of `data`, under its path (`data`, `data.expiration_month`).
    ///
    /// Members of an object that the type does not know are not checked; they are stored and
    /// returned unchanged.
    pub fn check(self, data: &Value, numbers: TestNumbers) -> Result<(), Mistakes> {
        check::check(self, data, numbers)
    }

    /// Normalizes the data: a `cvc` that is a number becomes text.
    ///
    /// For data that `check` has passed. A number cannot carry leading zeros, so `check` refuses a
    /// `cvc` below 100: `12` may mean 012 or 0012, and a wrong guess would make payments fail.
    pub fn normalize(self, data: &mut Value) {
        if self.has_cvc()
            && let Some(cvc) = data.get_mut("cvc")
            && let Some(digits) = cvc.as_u64()
        {
            *cvc = Value::String(digits.to_string());
        }
    }

    /// True if the type's data may hold a card verification code.
    pub const fn has_cvc(self) -> bool {
        matches!(self, Self::Card | Self::NetworkToken)
    }

    /// True if tokens of this type are in a container for cards unless a request names another.
    pub fn is_for_cards(self) -> bool {
        Container::parse(self.default_container()).is_ok_and(|it| it.is_for_cards())
    }

    /// Removes the card verification code from checked data; it is stored separately.
    pub fn take_cvc(self, data: &mut Value) -> Option<Secret<String>> {
        if !self.has_cvc() {
            return None;
        }
        let Value::String(code) = data.as_object_mut()?.shift_remove("cvc")? else { return None };
        Some(Secret::new(code))
    }
}
