//! Token types: the rules of their data, and the defaults of their tokens.
//!
//! Messages never hold the offending value.

mod check;
mod details;
#[cfg(test)]
mod tests;

pub use details::BankDetails;
use serde_json::Value;

use crate::domain::mistakes::Mistakes;
use crate::secret::Secret;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenType {
    Bank,
    Card,
    CardNumber,
    EmployerIdNumber,
    NetworkToken,
    SocialSecurityNumber,
    Token,
    UsBankAccountNumber,
    UsBankRoutingNumber,
}

/// The treatment of the documented 3DS test numbers, whose check digit is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestNumbers {
    /// Production tenants.
    Refused,
    /// Test tenants.
    Taken,
}

impl TokenType {
    pub const ALL: [Self; 9] = [
        Self::Bank,
        Self::Card,
        Self::CardNumber,
        Self::EmployerIdNumber,
        Self::NetworkToken,
        Self::SocialSecurityNumber,
        Self::Token,
        Self::UsBankAccountNumber,
        Self::UsBankRoutingNumber,
    ];

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|token_type| token_type.as_str() == text)
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bank => "bank",
            Self::Card => "card",
            Self::CardNumber => "card_number",
            Self::EmployerIdNumber => "employer_id_number",
            Self::NetworkToken => "network_token",
            Self::SocialSecurityNumber => "social_security_number",
            Self::Token => "token",
            Self::UsBankAccountNumber => "us_bank_account_number",
            Self::UsBankRoutingNumber => "us_bank_routing_number",
        }
    }

    pub const fn default_container(self) -> &'static str {
        match self {
            Self::Token => "/general/high/",
            Self::Card | Self::CardNumber | Self::NetworkToken => "/pci/high/",
            Self::Bank | Self::UsBankAccountNumber => "/bank/high/",
            Self::UsBankRoutingNumber => "/bank/low/",
            Self::EmployerIdNumber | Self::SocialSecurityNumber => "/pii/high/",
        }
    }

    pub const fn default_fingerprint_expression(self) -> &'static str {
        match self {
            Self::Token => "{{ data | stringify }}",
            Self::Card | Self::NetworkToken => "{{ data.number }}",
            Self::Bank => "{{ data.account_number }}|{{ data.routing_number }}",
            Self::CardNumber | Self::UsBankAccountNumber | Self::UsBankRoutingNumber => {
                "{{ data }}"
            }
            Self::EmployerIdNumber | Self::SocialSecurityNumber => "{{ data | remove: '-' }}",
        }
    }

    /// The mask as JSON text. `None`: a masked read shows no data at all.
    pub const fn default_mask(self) -> Option<&'static str> {
        match self {
            Self::Token => None,
            Self::Card | Self::NetworkToken => Some(concat!(
                r#"{"number":"{{ data.number | reveal_last: 4 }}","#,
                r#""expiration_month":"{{ data.expiration_month }}","#,
                r#""expiration_year":"{{ data.expiration_year }}"}"#,
            )),
            Self::Bank => Some(concat!(
                r#"{"routing_number":"{{ data.routing_number }}","#,
                r#""account_number":"{{ data.account_number | reveal_last: 4 }}"}"#,
            )),
            Self::CardNumber
            | Self::EmployerIdNumber
            | Self::SocialSecurityNumber
            | Self::UsBankAccountNumber
            | Self::UsBankRoutingNumber => Some(r#""{{ data | reveal_last: 4 }}""#),
        }
    }

    pub const fn default_search_indexes(self) -> &'static [&'static str] {
        match self {
            Self::EmployerIdNumber | Self::SocialSecurityNumber => {
                &["{{ data }}", "{{ data | replace: '-' }}", "{{ data | last4 }}"]
            }
            Self::Bank
            | Self::Card
            | Self::CardNumber
            | Self::NetworkToken
            | Self::Token
            | Self::UsBankAccountNumber
            | Self::UsBankRoutingNumber => &[],
        }
    }

    /// Every mistake of `data`, under its path (`data`, `data.expiration_month`).
    ///
    /// Members of an object that the type does not know are not checked; they are stored and returned
    /// unchanged.
    pub fn check(self, data: &Value, numbers: TestNumbers) -> Result<(), Mistakes> {
        check::check(self, data, numbers)
    }

    /// Normalizes the data: a `cvc` that is a number becomes text.
    ///
    /// For data that `check` has passed. A number cannot carry leading zeros, so `check` refuses a
    /// `cvc` below 100: `12` may mean 012 or 0012, and a wrong guess would make payments fail.
    pub fn normalize(self, data: &mut Value) {
        match self {
            Self::Card | Self::NetworkToken => {
                if let Some(cvc) = data.get_mut("cvc")
                    && let Some(digits) = cvc.as_u64()
                {
                    *cvc = Value::String(digits.to_string());
                }
            }
            Self::Bank
            | Self::CardNumber
            | Self::EmployerIdNumber
            | Self::SocialSecurityNumber
            | Self::Token
            | Self::UsBankAccountNumber
            | Self::UsBankRoutingNumber => {}
        }
    }

    /// True if the type's data may hold a card verification code.
    pub const fn has_cvc(self) -> bool {
        matches!(self, Self::Card | Self::NetworkToken)
    }

    /// Removes the card verification code from checked data; it is stored separately.
    pub fn take_cvc(self, data: &mut Value) -> Option<Secret<String>> {
        if !self.has_cvc() {
            return None;
        }
        match data.as_object_mut()?.shift_remove("cvc")? {
            Value::String(code) => Some(Secret::new(code)),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => None,
        }
    }

    /// The member that holds a card number, if the type has one.
    pub fn card_number(self, data: &Value) -> Option<&str> {
        match self {
            Self::Card | Self::NetworkToken => data.get("number")?.as_str(),
            Self::CardNumber => data.as_str(),
            Self::Bank
            | Self::EmployerIdNumber
            | Self::SocialSecurityNumber
            | Self::Token
            | Self::UsBankAccountNumber
            | Self::UsBankRoutingNumber => None,
        }
    }
}
