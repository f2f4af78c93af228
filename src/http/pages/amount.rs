//! Amounts of money in the notation of a language.

use crate::http::pages::language::Language;
use crate::threeds::format::currency_letters;
use crate::threeds::simulator::PurchaseAmount;

const NO_BREAK_SPACE: char = '\u{a0}';
const NARROW_NO_BREAK_SPACE: char = '\u{202f}';

/// The amount with the code of its currency, or with the number of an unknown currency. Signs such
/// as `$` belong to several currencies, so the code is clearer.
pub(super) fn written(amount: &PurchaseAmount, language: Language) -> String {
    let (group, point) = match language {
        Language::English => (',', '.'),
        Language::German | Language::Spanish => ('.', ','),
        Language::French => (NARROW_NO_BREAK_SPACE, ','),
    };
    let decimals = amount.exponent.as_str().parse().unwrap_or(0_usize);
    let units = amount.units.as_str().trim_start_matches('0');
    let digits = format!("{units:0>width$}", width = decimals.saturating_add(1));
    let at = digits.len().saturating_sub(decimals);
    let (whole, minor) = digits.split_at_checked(at).unwrap_or((&digits, ""));
    let mut number = grouped(whole, group);
    if !minor.is_empty() {
        number.push(point);
        number.push_str(minor);
    }
    let code = amount.currency.as_str();
    let currency = currency_letters(code).unwrap_or(code);
    match language {
        Language::English => format!("{currency}{NO_BREAK_SPACE}{number}"),
        Language::German | Language::French | Language::Spanish => {
            format!("{number}{NO_BREAK_SPACE}{currency}")
        }
    }
}

fn grouped(digits: &str, separator: char) -> String {
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && digits.len().saturating_sub(at).is_multiple_of(3) {
            grouped.push(separator);
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threeds::message::{Digits, Numeric};

    fn amount(units: &str, currency: &str, exponent: &str) -> PurchaseAmount {
        PurchaseAmount {
            units: Digits::parse(units).unwrap(),
            currency: Numeric::parse(currency).unwrap(),
            exponent: Numeric::parse(exponent).unwrap(),
        }
    }

    #[track_caller]
    fn check(amount: &PurchaseAmount, expected: [&str; 4]) {
        let found = Language::ALL.map(|language| written(amount, language));
        // Spaces that do not break look like any other here.
        let found = found.map(|text| text.replace([NO_BREAK_SPACE, NARROW_NO_BREAK_SPACE], " "));
        assert_eq!(found, expected);
    }

    #[test]
    fn an_amount_is_written_as_in_its_language() {
        check(
            &amount("80000", "826", "2"),
            ["GBP 800.00", "800,00 GBP", "800,00 GBP", "800,00 GBP"],
        );
        check(
            &amount("123456789", "978", "2"),
            ["EUR 1,234,567.89", "1.234.567,89 EUR", "1 234 567,89 EUR", "1.234.567,89 EUR"],
        );
        check(&amount("1000", "392", "0"), ["JPY 1,000", "1.000 JPY", "1 000 JPY", "1.000 JPY"]);
    }

    #[test]
    fn every_number_of_decimals_is_shown_and_an_unknown_currency_by_its_number() {
        for (units, currency, exponent, expected) in [
            ("0", "840", "2", "USD 0.00"),
            ("5", "840", "2", "USD 0.05"),
            ("000005", "840", "2", "USD 0.05"),
            ("0", "392", "0", "JPY 0"),
            ("12345", "048", "3", "BHD 12.345"),
            ("1", "840", "9", "USD 0.000000001"),
            ("1999", "001", "2", "001 19.99"),
        ] {
            let found = written(&amount(units, currency, exponent), Language::English);
            assert_eq!(found.replace(NO_BREAK_SPACE, " "), expected);
        }
    }

    #[test]
    fn an_amount_of_any_length_keeps_its_digits() {
        proptest::proptest!(|(units in "[0-9]{1,48}", exponent in "[0-9]")| {
            for language in Language::ALL {
                let text = written(&amount(&units, "826", &exponent), language);
                let digits: String = text.chars().filter(char::is_ascii_digit).collect();
                let value = |digits: &str| String::from(digits.trim_start_matches('0'));
                proptest::prop_assert_eq!(value(&digits), value(&units));
            }
        });
    }
}
