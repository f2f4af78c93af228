//! A tenant's `rate_limit` quota: how much more than the table's rates it may send.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use crate::bounds::RATE_SCALE_MAX;

/// Each request of a tenant scaled by n weighs one n-th on every counter. That way a counter that
/// several tenants share, such as an address, stays fair to all of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scale {
    #[default]
    Default,
    /// No row applies.
    Lifted,
    Times(NonZeroU32),
}

impl Scale {
    /// `None` when no row applies.
    pub(super) const fn factor(self) -> Option<NonZeroU32> {
        match self {
            Self::Default => Some(NonZeroU32::MIN),
            Self::Lifted => None,
            Self::Times(factor) => Some(factor),
        }
    }
}

/// As the operator writes it: `default`, `lifted` or a whole number.
impl FromStr for Scale {
    type Err = InvalidScale;

    fn from_str(text: &str) -> Result<Self, InvalidScale> {
        match text {
            "default" => Ok(Self::Default),
            "lifted" => Ok(Self::Lifted),
            _ => match text.parse() {
                Ok(factor) if factor <= RATE_SCALE_MAX => {
                    NonZeroU32::new(factor).map(Self::Times).ok_or(InvalidScale)
                }
                Ok(_) | Err(_) => Err(InvalidScale),
            },
        }
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Lifted => f.write_str("lifted"),
            Self::Times(factor) => factor.fmt(f),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidScale;

impl fmt::Display for InvalidScale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a rate limit is 'default', 'lifted' or a whole number from 1 to {RATE_SCALE_MAX} \
             that multiplies the default rates"
        )
    }
}

impl std::error::Error for InvalidScale {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_reads_back_as_it_was_written() {
        for text in ["default", "lifted", "1", "5", "1000"] {
            assert_eq!(text.parse::<Scale>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_scale_out_of_range_or_of_another_form_is_refused() {
        for text in ["", "0", "1001", "-1", "1.5", "Default", " 5", "99999999999"] {
            assert_eq!(text.parse::<Scale>(), Err(InvalidScale), "{text}");
        }
    }
}
