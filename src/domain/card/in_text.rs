//! Card numbers in texts that are shown and logged, such as the ids of tokens.

use std::collections::VecDeque;

use crate::bounds::{CARD_NUMBER_DIGITS_MAX, CARD_NUMBER_DIGITS_MIN};
use crate::domain::luhn::{self, Sums};

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
    has_foreign_digits(text) || SplitSearch::default().finds(text)
}

/// A search in one pass. Its time grows with the text alone, however the digits are grouped.
#[derive(Debug, Default)]
struct SplitSearch {
    /// Of the digits since the last letter.
    sums: Sums,
    /// The places of these digits at which a group begins, if a number can begin there.
    starts: VecDeque<usize>,
    /// The checks of digits so far.
    checks: usize,
}

impl SplitSearch {
    fn finds(&mut self, text: &str) -> bool {
        let mut is_in_group = false;
        for letter in text.chars() {
            if let Some(digit) = letter.to_digit(10) {
                if !is_in_group {
                    self.starts.push_back(self.sums.len());
                }
                is_in_group = true;
                self.sums.push(digit);
                continue;
            }
            if is_in_group && self.group_ends_number() {
                return true;
            }
            is_in_group = false;
            if letter.is_alphanumeric() {
                self.sums.clear();
                self.starts.clear();
            }
        }
        is_in_group && self.group_ends_number()
    }

    /// True if the group that ends here is the last one of a number, or a number by itself, which
    /// may be longer.
    fn group_ends_number(&mut self) -> bool {
        let (end, sums) = (self.sums.len(), &self.sums);
        let digits = |start: &usize| end.saturating_sub(*start);
        while self.starts.len() > 1
            && self.starts.front().is_some_and(|start| digits(start) > CARD_NUMBER_DIGITS_MAX)
        {
            self.starts.pop_front();
        }
        let mut long = self.starts.iter().take_while(|start| digits(start) >= RUN_DIGITS_MIN);
        long.any(|start| {
            self.checks = self.checks.saturating_add(1);
            sums.passes(*start, end)
        })
    }
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
    use proptest::prelude::*;

    use super::*;

    /// The rule of [`holds_split_card_number`], word by word.
    fn naive(text: &str) -> bool {
        let begins_number = |groups: &[&str]| {
            let mut digits = String::new();
            groups
                .iter()
                .map_while(|group| {
                    digits.push_str(group);
                    let is_long = digits.len() >= RUN_DIGITS_MIN;
                    (digits.len() <= CARD_NUMBER_DIGITS_MAX)
                        .then(|| is_long && luhn::passes(&digits))
                })
                .any(|is_number| is_number)
        };
        let is_split = |groups: Vec<&str>| {
            (0..groups.len()).any(|from| groups.get(from..).is_some_and(begins_number))
        };
        holds_card_number(text) || parts(text).any(is_split)
    }

    proptest! {
        #[test]
        fn the_search_for_split_numbers_agrees_with_the_naive_one(
            text in "([0-9]{1,6}[ .-]{0,2}|[0-9]{10,22}|[a\u{e9}\u{664}]?){0,12}",
        ) {
            prop_assert_eq!(holds_split_card_number(&text), naive(&text), "{}", text);
        }
    }

    /// The running sums make a check as short as the addition of a digit.
    #[test]
    fn a_search_checks_no_digit_more_often_than_a_number_has_lengths() {
        const LENGTHS: usize = CARD_NUMBER_DIGITS_MAX - RUN_DIGITS_MIN + 1;
        const DIGITS: usize = 4_096;
        for (separator, at_least) in [
            (" ", LENGTHS * (DIGITS - CARD_NUMBER_DIGITS_MAX)),
            ("\n", LENGTHS * (DIGITS - CARD_NUMBER_DIGITS_MAX)),
            ("--", LENGTHS * (DIGITS - CARD_NUMBER_DIGITS_MAX)),
            ("", 1),
            (" a", 0),
        ] {
            // Twelve to nineteen of these digits in a row have no correct check digit.
            let digits = (0..DIGITS).map(|place| if place % 12 == 0 { "1" } else { "0" });
            let text: String = digits.flat_map(|digit| [digit, separator]).collect();
            let mut search = SplitSearch::default();
            assert!(!search.finds(&text), "{separator:?}");
            let checks = search.checks;
            assert!((at_least..=LENGTHS * DIGITS).contains(&checks), "{separator:?}: {checks}");
        }
    }

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
