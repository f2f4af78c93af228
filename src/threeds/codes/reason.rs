//! Reasons of a transaction status.

use crate::threeds::version::ProtocolVersion::{self, V210, V220};

/// The interface's words for the codes from 01 on.
pub const REASONS: [&str; 26] = [
    "card-authentication-failed",
    "unknown-device",
    "unsupported-device",
    "too-many-authentication-attempts",
    "card-expired",
    "invalid-card-number",
    "invalid-transaction",
    "no-card-record",
    "security-failure",
    "stolen-card",
    "suspected-fraud",
    "transaction-not-permitted",
    "cardholder-not-enrolled",
    "timeout-at-acs",
    "low-confidence",
    "medium-confidence",
    "high-confidence",
    "very-high-confidence",
    "max-challenges-exceeded",
    "non-payment-transaction-not-supported",
    "3ri-not-supported",
    "acs-technical-issue",
    "decoupled-authentication-required",
    "decoupled-authentication-timeout",
    "insufficient-decoupled-authentication-time",
    "authentication-attempted-but-not-performed",
];

/// The last reason of version 2.1.0.
const REASONS_V210: usize = 21;

/// A code of [`REASONS`], or one of the range that schemes define themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Reason(u8);

impl Reason {
    pub const CARD_AUTHENTICATION_FAILED: Self = Self(1);
    pub const SUSPECTED_FRAUD: Self = Self(11);
    pub const CARDHOLDER_NOT_ENROLLED: Self = Self(13);
    pub const TIMEOUT_AT_ACS: Self = Self(14);
    pub const MAX_CHALLENGES_EXCEEDED: Self = Self(19);
    pub const ACS_TECHNICAL_ISSUE: Self = Self(22);
    pub const DECOUPLED_REQUIRED: Self = Self(23);

    pub fn from_code(code: &str, version: ProtocolVersion) -> Option<Self> {
        let is_number = code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_digit());
        let number: u8 = code.parse().ok().filter(|_| is_number)?;
        let last = match version {
            V210 => REASONS_V210,
            V220 => REASONS.len(),
        };
        let is_known = (1..=last).contains(&usize::from(number)) || (80..=99).contains(&number);
        is_known.then_some(Self(number))
    }

    pub fn code(self) -> String {
        format!("{:02}", self.0)
    }

    /// Codes that schemes define themselves have no word.
    pub fn word(self) -> Option<&'static str> {
        REASONS.get(usize::from(self.0).checked_sub(1)?).copied()
    }
}
