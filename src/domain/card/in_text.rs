//! Card numbers in texts that are shown and logged, such as the ids of tokens.

use crate::bounds::{CARD_NUMBER_DIGITS_MAX, CARD_NUMBER_DIGITS_MIN};
use crate::domain::luhn;

/// Shorter runs of digits are not card numbers.
const RUN_DIGITS_MIN: usize = 12;
/// Card numbers are printed in groups: 4-4-4-4, 4-6-5, 4-4-4-4-3.
const FIRST_GROUP_DIGITS: usize = 4;
const GROUP_DIGITS: std::ops::RangeInclusive<usize> = 3..=6;

/// True if the text has 12 or more digits in a row with a correct check digit, or such digits in
/// the groups of a card number. One in ten other numbers passes the check too. Digits of other
/// scripts, such as full-width ones, are not checked: their count alone decides.
pub fn holds_card_number(text: &str) -> bool {
    has_foreign_digits(text) || !numbers(text).is_empty()
}

/// As [`holds_card_number`], in groups of any sizes: a program may split a number as it likes.
pub fn holds_split_card_number(text: &str) -> bool {
    let begins_number = |groups: &[&str]| {
        let mut digits = String::new();
        groups
            .iter()
            .map_while(|group| {
                digits.push_str(group);
                let is_long = digits.len() >= RUN_DIGITS_MIN;
                (digits.len() <= CARD_NUMBER_DIGITS_MAX).then(|| is_long && luhn::passes(&digits))
            })
            .any(|is_number| is_number)
    };
    let is_split = |groups: Vec<&str>| {
        (0..groups.len()).any(|from| groups.get(from..).is_some_and(begins_number))
    };
    holds_card_number(text) || parts(text).any(is_split)
}

/// True if the text has as many digits as a card number, anywhere in it.
pub fn has_digits_of_card_number(text: &str) -> bool {
    text.chars().filter(|letter| letter.is_numeric()).count() >= RUN_DIGITS_MIN
}

/// True if the text has as many digits as a card number, and some of them are not ASCII.
fn has_foreign_digits(text: &str) -> bool {
    let is_foreign = |letter: char| letter.is_numeric() && !letter.is_ascii();
    text.chars().any(is_foreign) && has_digits_of_card_number(text)
}

/// True if the digits of the text contain a card number of the data, even between other digits or
/// with other characters in between.
pub fn repeats_card_number(text: &str, data: &str) -> bool {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    has_digits_of_card_number(text)
        && numbers(data).iter().any(|it| has_foreign_digits(text) || digits.contains(it))
}

/// The groups of digits between letters. Any other character may separate the groups: a space, a
/// hyphen, a dot, an underscore.
fn parts(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let ends = |letter: char| letter.is_alphanumeric() && !letter.is_ascii_digit();
    text.split(ends).filter(|it| it.len() >= RUN_DIGITS_MIN).map(|part| {
        let groups = part.split(|letter: char| !letter.is_ascii_digit());
        groups.filter(|group| !group.is_empty()).collect()
    })
}

fn numbers(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for groups in parts(text) {
        let is_number = |run: &&&str| run.len() >= RUN_DIGITS_MIN && luhn::passes(run);
        found.extend(groups.iter().filter(is_number).map(|run| String::from(*run)));
        found.extend((0..groups.len()).filter_map(|from| grouped(groups.get(from..)?)));
    }
    found
}

/// The number that these groups begin with.
fn grouped(groups: &[&str]) -> Option<String> {
    let mut digits = String::new();
    if groups.first()?.len() != FIRST_GROUP_DIGITS {
        return None;
    }
    for group in groups.iter().take_while(|group| GROUP_DIGITS.contains(&group.len())) {
        digits.push_str(group);
        if digits.len() > CARD_NUMBER_DIGITS_MAX {
            return None;
        }
        if digits.len() >= CARD_NUMBER_DIGITS_MIN && luhn::passes(&digits) {
            return Some(digits);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_in_a_row_with_a_check_digit_are_found_and_others_are_not() {
        for text in [
            "4242424242424242",
            "card:4242424242424242.",
            "378282246310005",
            "000000000000",
            "4242-4242-4242-4242",
            "a 4242 4242 4242 4242 b",
            "3782-822463-10005",
            "0001-4242-4242-4242-4242-17",
            "4242.4242.4242.4242",
            "x_4242_4242_4242_4242",
            "4242--4242--4242--4242",
            "4242 - 4242 - 4242 - 4242",
            "4242. 4242. 4242. 4242",
            "4242\u{a0}4242\u{2010}4242:4242",
            "\u{ff14}\u{ff12}\u{ff14}\u{ff12}4242-42424242",
            "\u{664}\u{662}\u{664}\u{662}42424241",
        ] {
            assert!(holds_card_number(text), "{text}");
        }
        for text in [
            "",
            "4242424242424241",
            "42424242420",
            "4242a4242a4242a4242",
            "\u{ff14}2424242424",
            "2026-11-17-00000000",
            "00000000-0000-0000-0000-00000000000",
            "42-42-42-42-42-42-42-42",
            "x-order-202611170002",
        ] {
            assert!(!holds_card_number(text), "{text}");
        }
    }

    #[test]
    fn a_number_in_groups_of_any_sizes_is_found() {
        for text in ["42424242 42424242", "42-42-42-42-42-42-42-42", "x 4, 242424242424242"] {
            assert!(holds_split_card_number(text) && !holds_card_number(text), "{text}");
        }
        for text in ["", "2026-11-18T06:05:25.123Z", "42424242 42424241", "4242 4242 x 4242 4242"] {
            assert!(!holds_split_card_number(text), "{text}");
        }
    }

    #[test]
    fn the_number_of_the_data_is_found_in_any_disguise_of_digits() {
        let data = r#"{"number":"4242424242424242","expiration_month":12}"#;
        for text in [
            "14242424242424242",
            "4.2.4.2.4.2.4.2.4.2.4.2.4.2.4.2",
            "a4242424242424242017",
            "\u{ff14}242424242424242",
        ] {
            assert!(repeats_card_number(text, data), "{text}");
        }
        for text in ["424242424242", "1234567890123456", "424242424242x4241"] {
            assert!(!repeats_card_number(text, data), "{text}");
        }
        assert!(
            !repeats_card_number("1234567890123456", r#""1234567890123456""#),
            "no card number"
        );
        assert!(!repeats_card_number("\u{ff14}242424242424242", r#""1234567890123456""#));
        assert!(repeats_card_number("4242 4242 4242 4242 1", r#""4242-4242-4242-4242""#));
    }
}
