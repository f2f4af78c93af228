//! A range of card numbers, given by its first and last prefix.
//!
//! Numbers and prefixes of every length become comparable by padding them to 19 digits, the length
//! of the longest card number; 19 digits fit into 64 bits.

use crate::bounds::CARD_NUMBER_DIGITS_MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) first: u64,
    pub(super) last: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpanMistake {
    Backwards,
    DifferentLengths,
    NotAPrefix,
}

impl Span {
    /// An empty `last` means the numbers that begin with `first`.
    pub(super) fn parse(first: &str, last: &str) -> Result<Self, SpanMistake> {
        let last = if last.is_empty() { first } else { last };
        let (low, low_unit) = filled(first).ok_or(SpanMistake::NotAPrefix)?;
        let (high, high_unit) = filled(last).ok_or(SpanMistake::NotAPrefix)?;
        if low_unit != high_unit {
            return Err(SpanMistake::DifferentLengths);
        }
        if high < low {
            return Err(SpanMistake::Backwards);
        }
        // At most 10^19 - 1, which fits.
        Ok(Self { first: low, last: high.saturating_add(high_unit.saturating_sub(1)) })
    }

    pub(super) const fn holds(self, key: u64) -> bool {
        self.first <= key && key <= self.last
    }

    /// The number of card numbers after the first: a smaller range is more specific.
    pub(super) const fn width(self) -> u64 {
        self.last.saturating_sub(self.first)
    }
}

/// The padded value of a card number. `None` unless it is 1 to 19 digits.
pub(super) fn key(number: &str) -> Option<u64> {
    filled(number).map(|(key, _)| key)
}

/// The digits padded with zeros, and the value of one unit in their last place.
fn filled(digits: &str) -> Option<(u64, u64)> {
    // `parse` would accept a leading plus sign.
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let missing = CARD_NUMBER_DIGITS_MAX.checked_sub(digits.len())?;
    let unit = 10u64.checked_pow(u32::try_from(missing).ok()?)?;
    Some((digits.parse::<u64>().ok()?.checked_mul(unit)?, unit))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check_mistake(first: &str, last: &str, mistake: SpanMistake) {
        assert_eq!(Span::parse(first, last), Err(mistake));
    }

    #[test]
    fn what_is_not_a_run_is_refused() {
        check_mistake("", "", SpanMistake::NotAPrefix);
        check_mistake("", "4", SpanMistake::NotAPrefix);
        check_mistake("4x", "", SpanMistake::NotAPrefix);
        check_mistake("+4", "", SpanMistake::NotAPrefix);
        check_mistake("40000000000000000000", "", SpanMistake::NotAPrefix);
        check_mistake("4", "41", SpanMistake::DifferentLengths);
        check_mistake("55", "51", SpanMistake::Backwards);
    }

    #[test]
    fn the_longest_and_the_highest_numbers_fit() {
        let span = Span::parse("9", "").unwrap();
        assert!(span.holds(key("9999999999999999999").unwrap()));
        let span = Span::parse("9999999999999999999", "").unwrap();
        assert_eq!(span.width(), 0);
    }

    proptest! {
        #[test]
        fn a_run_holds_the_numbers_between_its_prefixes(
            low in 100_000u32..999_999, more in 0u32..1000, number in "[1-9][0-9]{12,18}",
        ) {
            let high = (low + more).min(999_999);
            let span = Span::parse(&low.to_string(), &high.to_string()).unwrap();
            let prefix: u32 = number.get(..6).unwrap().parse().unwrap();
            prop_assert_eq!(span.holds(key(&number).unwrap()), (low..=high).contains(&prefix));
        }
    }
}
