//! Quotas of a tenant: the published defaults, adjustable by the operator at run time.

use std::num::NonZeroU32;
use std::time::Duration;

use crate::bounds::{
    BULK_TOKENS_MAX, CVC_RETENTION_MAX, INTENT_RETENTION_MAX, LOG_RETENTION_MAX,
    RATE_LIMIT_FACTOR_MAX, TOKEN_LIMIT_MAX,
};
use crate::domain::duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quotas {
    /// Tokens that one tokenize call may make.
    pub tokenize_limit: u32,
    /// Expressions that one detokenize call may hold.
    pub detokenize_limit: u32,
    pub cvc_retention: Duration,
    pub token_intent_retention: Duration,
    pub log_retention: Duration,
    pub rate_limit: RateLimit,
    /// The tenant's tokens and token intents together; `None` is unlimited.
    pub token_limit: Option<u64>,
}

/// The tenant's changes to the published rate limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateLimit {
    Default,
    /// Every rate of the tenant's keys is this many times the published one.
    Times(NonZeroU32),
    Unlimited,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InvalidQuota {
    UnknownName,
    /// The text says which values are allowed.
    Value(String),
}

impl Default for Quotas {
    fn default() -> Self {
        Self {
            tokenize_limit: 5,
            detokenize_limit: 5,
            cvc_retention: Duration::from_hours(1),
            token_intent_retention: Duration::from_hours(24),
            log_retention: Duration::from_hours(24),
            rate_limit: RateLimit::Default,
            token_limit: None,
        }
    }
}

const UNLIMITED: &str = "unlimited";

impl Quotas {
    pub const NAMES: [&str; 7] = [
        "tokenize_limit",
        "detokenize_limit",
        "cvc_retention",
        "token_intent_retention",
        "log_retention",
        "rate_limit",
        "token_limit",
    ];

    pub fn set(&mut self, name: &str, value: &str) -> Result<(), InvalidQuota> {
        match name {
            "tokenize_limit" => self.tokenize_limit = count(value, BULK_TOKENS_MAX)?,
            "detokenize_limit" => self.detokenize_limit = count(value, BULK_TOKENS_MAX)?,
            "cvc_retention" => self.cvc_retention = duration(value, CVC_RETENTION_MAX)?,
            "token_intent_retention" => {
                self.token_intent_retention = duration(value, INTENT_RETENTION_MAX)?;
            }
            "log_retention" => self.log_retention = duration(value, LOG_RETENTION_MAX)?,
            "rate_limit" => self.rate_limit = RateLimit::parse(value)?,
            "token_limit" => self.token_limit = token_limit(value)?,
            _ => return Err(InvalidQuota::UnknownName),
        }
        Ok(())
    }

    /// Each quota's name and its value in the spelling that [`Quotas::set`] takes.
    pub fn texts(&self) -> [(&'static str, String); 7] {
        let [tokenize, detokenize, cvc, intent, log, rate, tokens] = Self::NAMES;
        [
            (tokenize, self.tokenize_limit.to_string()),
            (detokenize, self.detokenize_limit.to_string()),
            (cvc, self.cvc_retention.as_secs().to_string()),
            (intent, self.token_intent_retention.as_secs().to_string()),
            (log, self.log_retention.as_secs().to_string()),
            (rate, self.rate_limit.to_text()),
            (tokens, self.token_limit.map_or_else(|| String::from(UNLIMITED), |it| it.to_string())),
        ]
    }
}

impl RateLimit {
    pub fn parse(text: &str) -> Result<Self, InvalidQuota> {
        match text {
            "default" => Ok(Self::Default),
            "unlimited" => Ok(Self::Unlimited),
            _ => text
                .strip_suffix('x')
                .and_then(|factor| factor.parse().ok())
                .filter(|factor: &NonZeroU32| factor.get() <= RATE_LIMIT_FACTOR_MAX)
                .map(Self::Times)
                .ok_or_else(|| {
                    InvalidQuota::Value(format!(
                        "'default', 'unlimited', or a factor from 1x to {RATE_LIMIT_FACTOR_MAX}x"
                    ))
                }),
        }
    }

    /// The divisor of each request's weight; `None` if no rate limit applies.
    pub const fn factor(self) -> Option<NonZeroU32> {
        match self {
            Self::Default => Some(NonZeroU32::MIN),
            Self::Times(factor) => Some(factor),
            Self::Unlimited => None,
        }
    }

    pub fn to_text(self) -> String {
        match self {
            Self::Default => String::from("default"),
            Self::Times(factor) => format!("{factor}x"),
            Self::Unlimited => String::from("unlimited"),
        }
    }
}

impl std::fmt::Display for InvalidQuota {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::UnknownName => {
                write!(f, "There is no such quota; there are {}.", Quotas::NAMES.join(", "))
            }
            Self::Value(wanted) => write!(f, "The value must be {wanted}."),
        }
    }
}

fn count(text: &str, max: u32) -> Result<u32, InvalidQuota> {
    let wanted = || InvalidQuota::Value(format!("a number from 0 to {max}"));
    text.parse().ok().filter(|count| *count <= max).ok_or_else(wanted)
}

fn token_limit(text: &str) -> Result<Option<u64>, InvalidQuota> {
    if text == UNLIMITED {
        return Ok(None);
    }
    let limit = text.parse().ok().filter(|limit| *limit <= TOKEN_LIMIT_MAX);
    limit.map(Some).ok_or_else(|| {
        InvalidQuota::Value(format!("'{UNLIMITED}', or a number from 0 to {TOKEN_LIMIT_MAX}"))
    })
}

fn duration(text: &str, max: Duration) -> Result<Duration, InvalidQuota> {
    duration::parse(text, max).ok_or_else(|| {
        let max_s = max.as_secs();
        InvalidQuota::Value(format!("from 1 to {max_s} seconds, such as 90, 90s, 15m or 1h"))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(name: &str, value: &str, expected: Option<&str>) {
        let mut quotas = Quotas::default();
        let set = quotas.set(name, value);
        let read =
            quotas.texts().into_iter().find(|(known, _)| *known == name).map(|(_, text)| text);
        if let Some(text) = expected {
            assert_eq!((set, read.as_deref()), (Ok(()), Some(text)));
        } else {
            assert!(set.is_err(), "{name}={value} was taken");
            assert_eq!(quotas, Quotas::default());
        }
    }

    #[test]
    fn quotas_take_good_values_and_refuse_bad_ones() {
        check("tokenize_limit", "100", Some("100"));
        check("tokenize_limit", "-1", None);
        check("tokenize_limit", "4294967296", None);
        check("detokenize_limit", "0", Some("0"));
        check("cvc_retention", "15m", Some("900"));
        check("cvc_retention", "0", None);
        check("cvc_retention", "25h", None);
        check("cvc_retention", "+5", None);
        check("token_intent_retention", "2d", Some("172800"));
        check("token_intent_retention", "", None);
        check("log_retention", "90s", Some("90"));
        check("rate_limit", "default", Some("default"));
        check("rate_limit", "10x", Some("10x"));
        check("rate_limit", "0x", None);
        check("rate_limit", "unlimited", Some("unlimited"));
        check("rate_limit", "x", None);
        check("token_limit", "0", Some("0"));
        check("token_limit", "1000000000000", Some("1000000000000"));
        check("token_limit", "1000000000001", None);
        check("token_limit", "unlimited", Some("unlimited"));
        check("token_limit", "-1", None);
        check("token_limit", "", None);
        check("colour", "blue", None);
    }

    proptest! {
        #[test]
        fn quotas_are_read_back_from_their_own_texts(
            counts in (0..=BULK_TOKENS_MAX, 0..=BULK_TOKENS_MAX),
            seconds in (1..=CVC_RETENTION_MAX.as_secs(), 1..=INTENT_RETENTION_MAX.as_secs()),
            log_s in 1..=LOG_RETENTION_MAX.as_secs(),
            factor in 1..=RATE_LIMIT_FACTOR_MAX,
            token_limit in proptest::option::of(0..=TOKEN_LIMIT_MAX),
        ) {
            let quotas = Quotas {
                tokenize_limit: counts.0,
                detokenize_limit: counts.1,
                cvc_retention: Duration::from_secs(seconds.0),
                token_intent_retention: Duration::from_secs(seconds.1),
                log_retention: Duration::from_secs(log_s),
                rate_limit: RateLimit::Times(NonZeroU32::new(factor).unwrap()),
                token_limit,
            };
            let mut again = Quotas::default();
            for (name, text) in quotas.texts() {
                prop_assert_eq!(again.set(name, &text), Ok(()));
            }
            prop_assert_eq!(again, quotas);
        }

        #[test]
        fn a_value_is_taken_in_bounds_or_changes_nothing(
            name in proptest::sample::select(&Quotas::NAMES[..]),
            value in "[0-9]{0,25}[smhdx]?|\\PC{0,8}",
        ) {
            let mut quotas = Quotas::default();
            if quotas.set(name, &value).is_err() {
                prop_assert_eq!(quotas, Quotas::default());
            }
            prop_assert!(quotas.tokenize_limit.max(quotas.detokenize_limit) <= BULK_TOKENS_MAX);
            prop_assert!((Duration::from_secs(1)..=CVC_RETENTION_MAX).contains(&quotas.cvc_retention));
            prop_assert!(quotas.token_intent_retention <= INTENT_RETENTION_MAX);
            prop_assert!(quotas.log_retention <= LOG_RETENTION_MAX);
        }
    }
}
