//! Formats of texts in a request: dates, digits, and codes of countries and currencies.

use std::sync::LazyLock;

use time::{Date, Month, Time};

/// `YYYYMMDD`, a date that exists.
pub fn is_date(text: &str) -> bool {
    is_digits(text, 8..=8) && calendar(text).is_some()
}

/// `YYYYMMDDhhmm`.
pub fn is_minute(text: &str) -> bool {
    is_digits(text, 12..=12) && calendar(text).is_some() && clock(text, 2).is_some()
}

/// `YYYYMMDDhhmmss`.
pub fn is_second(text: &str) -> bool {
    is_digits(text, 14..=14) && calendar(text).is_some() && clock(text, 3).is_some()
}

pub fn is_digits(text: &str, lengths: std::ops::RangeInclusive<usize>) -> bool {
    lengths.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Finds the numeric code of a currency by its letters or its digits.
pub fn currency(text: &str) -> Option<&'static str> {
    let wanted = |(letters, digits): &&(&str, &str)| *letters == text || *digits == text;
    CURRENCIES.iter().find(wanted).map(|(_, digits)| *digits)
}

/// Finds the letters of a currency by its digits. If a number was reused, the last row is the
/// newest.
pub fn currency_letters(digits: &str) -> Option<&'static str> {
    CURRENCIES.iter().rfind(|(_, known)| *known == digits).map(|(letters, _)| *letters)
}

/// Requires a part before and after an at sign, and no spaces or control characters. The issuer
/// finds out if mail arrives.
pub fn is_email(text: &str) -> bool {
    let plain = !text.chars().any(|letter| letter.is_whitespace() || letter.is_control());
    plain && text.rsplit_once('@').is_some_and(|(name, host)| !name.is_empty() && !host.is_empty())
}

fn calendar(text: &str) -> Option<Date> {
    let year = text.get(..4)?.parse().ok()?;
    let month = Month::try_from(text.get(4..6)?.parse::<u8>().ok()?).ok()?;
    Date::from_calendar_date(year, month, text.get(6..8)?.parse().ok()?).ok()
}

fn clock(text: &str, parts: usize) -> Option<Time> {
    let part = |at: usize| -> Option<u8> {
        let start = at.checked_mul(2)?.checked_add(8)?;
        text.get(start..start.checked_add(2)?)?.parse().ok()
    };
    let second = if parts > 2 { part(2)? } else { 0 };
    Time::from_hms(part(0)?, part(1)?, second).ok()
}

static CURRENCIES: LazyLock<Vec<(&'static str, &'static str)>> = LazyLock::new(|| {
    let lines = include_str!("currencies.txt").lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.flat_map(|line| line.split(',')).map(str::trim);
    pairs.filter_map(|pair| pair.split_once(' ')).collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(is: fn(&str) -> bool, right: &[&str], wrong: &[&str]) {
        for text in right {
            assert!(is(text), "{text}");
        }
        for text in wrong {
            assert!(!is(text), "{text}");
        }
    }

    #[test]
    fn dates_and_times_are_those_of_the_calendar() {
        check(
            is_date,
            &["20240229", "19991231"],
            &["20230229", "2024-02-29", "2024022", "", "20241301"],
        );
        check(is_minute, &["202402292359"], &["202402292400", "2024022923", "20240229235a"]);
        check(
            is_second,
            &["20240229235959"],
            &["20240229235960", "202402292359", "20240230000000"],
        );
    }

    #[test]
    fn a_currency_has_letters_and_digits() {
        assert_eq!(currency("GBP"), Some("826"));
        assert_eq!(currency("826"), Some("826"));
        assert_eq!(currency("008"), Some("008"));
        for text in ["", "gbp", "GB", "000", "123", "GBP 826"] {
            assert_eq!(currency(text), None, "{text}");
        }
        assert_eq!(currency_letters("826"), Some("GBP"));
        assert_eq!(currency_letters("532"), Some("XCG"));
        assert_eq!(currency_letters("GBP"), None);
        assert!(CURRENCIES.len() > 170);
        let well =
            |(letters, digits): &(&str, &str)| letters.len() == 3 && is_digits(digits, 3..=3);
        assert!(CURRENCIES.iter().all(well));
    }

    #[test]
    fn an_address_has_two_sides() {
        check(is_email, &["a@b", "\"a@b\"@c.example"], &["", "a", "@b", "a@", "a b@c", "a@b\n"]);
    }
}
