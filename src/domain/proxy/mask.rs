//! Masks of answers: parts of a text are replaced, character for character.

use crate::bounds::PROXY_MASK_SAMPLE_BYTES;
use crate::domain::luhn;
use crate::domain::pattern::{Pattern, Steps, TooManySteps};
use crate::domain::proxy::transform::Matcher;
use crate::secret::{Secret, SecretBuffer};

const PAN_DIGITS: std::ops::RangeInclusive<usize> = 13..=19;

/// Replaces every character that the matcher hides.
pub fn mask(
    text: &str,
    matcher: &Matcher,
    replacement: char,
    steps: &mut Steps,
) -> Result<Secret<String>, TooManySteps> {
    let mut hidden = Hidden(vec![false; text.len()]);
    match matcher {
        Matcher::ChaseStratusPan => hidden.card_numbers(text, steps)?,
        Matcher::Pattern(pattern) => hidden.groups(text, pattern, steps)?,
    }
    let mut encoded = [0; 4];
    let replacement = replacement.encode_utf8(&mut encoded).as_bytes();
    let mut out = SecretBuffer::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        if hidden.0.get(at) == Some(&true) {
            out.extend(replacement);
        } else {
            let end = at.saturating_add(c.len_utf8());
            out.extend(text.as_bytes().get(at..end).unwrap_or_default());
        }
    }
    Ok(out.finish_text())
}

/// Masks a sample of an answer, to find a matcher that takes too long before it is used on answers.
/// The steps of a few patterns grow with the square of the text; four copies of the sample show
/// this.
pub fn measure(matcher: &Matcher, steps: &mut Steps) -> Result<(), TooManySteps> {
    let sample = SAMPLE.repeat(PROXY_MASK_SAMPLE_BYTES.div_ceil(SAMPLE.len()));
    mask(&sample, matcher, '*', steps).map(drop)
}

/// An answer about a payment: texts, numbers, times, ids and a test card number.
const SAMPLE: &str = concat!(
    r#"{"id":"pay_9f2c1e7ab84d4c0f","object":"payment","amount":129900,"currency":"EUR","#,
    r#""created":"2026-03-14T09:26:53.589Z","status":"authorized","livemode":false,"card":{"#,
    r#""number":"4242424242424242","brand":"visa","exp_month":11,"exp_year":2031,"country":"DE","#,
    r#""checks":{"cvc":"pass","address_line1":"unavailable","postal_code":"pass"}},"customer":{"#,
    r#""id":"cus_51H","email":"jane.doe@example.com","phone":"+49 30 901820","name":"Jane Doe"},"#,
    r#""metadata":{"order":"A-10027-XZ","note":"second delivery, ring at the back door"},"#,
    r#""links":[{"rel":"self","href":"https://api.example.com/v1/payments/pay_9f2c1e7ab84d4c0f"},"#,
    r#"{"rel":"refund","href":"https://api.example.com/v1/payments/pay_9f2c1e7ab84d4c0f/refunds"}],"#,
    r#""iban":"DE89370400440532013000","trace":"00-4bf92f3577b34da6a3ce929d0e0e4736-01"}"#,
);

/// For each byte of a text, whether it is hidden.
struct Hidden(Vec<bool>);

impl Hidden {
    fn hide(&mut self, from: usize, to: usize) {
        self.0.get_mut(from..to).unwrap_or_default().fill(true);
    }

    /// Hides every occurrence of a captured value in each match. The captured place itself is
    /// hidden even where occurrences overlap.
    fn groups(
        &mut self,
        text: &str,
        pattern: &Pattern,
        steps: &mut Steps,
    ) -> Result<(), TooManySteps> {
        let mut at = 0;
        while let Some(found) = pattern.find_at(text, at, steps)? {
            let (from, to) = found.whole;
            let whole = text.get(from..to).unwrap_or_default();
            for (start, end) in found.groups {
                self.hide(start, end);
                let Some(value) = text.get(start..end).filter(|value| !value.is_empty()) else {
                    continue;
                };
                steps.spend(whole.len())?;
                for (place, _) in whole.match_indices(value) {
                    let start = from.saturating_add(place);
                    self.hide(start, start.saturating_add(value.len()));
                }
            }
            // After an empty match the search goes on behind the next character.
            let next = text.get(to..).and_then(|rest| rest.chars().next());
            at = match next {
                _ if to > from => to,
                Some(next) => to.saturating_add(next.len_utf8()),
                None => break,
            };
        }
        Ok(())
    }

    /// Hides card numbers: 13 to 19 digits with a correct check digit. Records of a fixed width put
    /// other digits beside a card number, so in a longer run of digits every part that could be a
    /// card number of a known scheme is hidden. That hides some other digits too.
    fn card_numbers(&mut self, text: &str, steps: &mut Steps) -> Result<(), TooManySteps> {
        steps.spend(text.len())?;
        let bytes = text.as_bytes();
        let mut start = 0;
        while let Some(run) = bytes.get(start..).filter(|rest| !rest.is_empty()) {
            let digits = run.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if PAN_DIGITS.contains(&digits) {
                self.card_number(text, start, digits);
            } else {
                for from in start..start.saturating_add(digits) {
                    let left = start.saturating_add(digits).saturating_sub(from);
                    if !matches!(bytes.get(from), Some(b'2'..=b'6')) || left < *PAN_DIGITS.start() {
                        continue;
                    }
                    steps.spend(PAN_DIGITS.end().saturating_mul(2))?;
                    for length in PAN_DIGITS.take_while(|length| *length <= left) {
                        self.card_number(text, from, length);
                    }
                }
            }
            start = start.saturating_add(digits.max(1));
        }
        Ok(())
    }

    fn card_number(&mut self, text: &str, from: usize, digits: usize) {
        let to = from.saturating_add(digits);
        if text.get(from..to).is_some_and(luhn::passes) {
            self.hide(from, to);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bounds::PROXY_MASK_SAMPLE_STEPS_MAX;

    fn masked(text: &str, matcher: &Matcher) -> String {
        mask(text, matcher, '*', &mut Steps::new(1_000_000)).unwrap().expose().clone()
    }

    #[track_caller]
    fn check(expression: &str, text: &str, expected: &str) {
        let matcher = Matcher::Pattern(Pattern::parse(expression).unwrap());
        assert_eq!(masked(text, &matcher), expected, "{expression}");
    }

    #[test]
    fn every_occurrence_of_a_captured_value_in_a_match_is_replaced() {
        check(r"(\d{12})\d{4}", "pan=4242424242424242;", "pan=************4242;");
        check("(.*)", "all", "***");
        check("a(b)cb", "abcb b", "a*c* b");
        // The captured place is hidden even if another occurrence overlaps it.
        check("1(11)2", "1112", "***2");
        check("(x)?y", "y xy", "y *y");
        check("(\u{e9})", "caf\u{e9}\u{e9}", "caf**");
        check("(a)|(b)", "abc", "**c");
        check("(z)", "nothing", "nothing");
        check("(a*)", "", "");
    }

    #[test]
    fn a_replacement_may_be_any_character() {
        let matcher = Matcher::Pattern(Pattern::parse("(b)").unwrap());
        let shown = mask("abc", &matcher, '\u{2022}', &mut Steps::new(1_000)).unwrap();
        assert_eq!(shown.expose(), "a\u{2022}c");
    }

    #[test]
    fn card_numbers_are_hidden_alone_and_inside_longer_runs_of_digits() {
        let pans = |text: &str| masked(text, &Matcher::ChaseStratusPan);
        assert_eq!(pans("S 4242424242424242 0425"), "S **************** 0425");
        assert_eq!(pans("378282246310005"), "***************");
        assert_eq!(pans("4242424242424241 12345"), "4242424242424241 12345");
        assert!(pans("000142424242424242420425").starts_with("0001****************"));
        assert_eq!(pans(""), "");
    }

    #[test]
    fn patterns_that_take_the_square_of_a_text_are_found_by_the_sample() {
        for (expression, fits) in [
            (r"(\d{12})\d{4}", true),
            (r#""number":"(\d+)""#, true),
            (r"([A-Za-z0-9._-]+)@[a-z.]+", true),
            (r"(?:\d[ -]?){12}(\d{4})", true),
            ("(a.*#)|(a)", false),
            (r"(\w+#)|(x)|(\w.*#)", false),
        ] {
            let matcher = Matcher::Pattern(Pattern::parse(expression).unwrap());
            let mut steps = Steps::new(PROXY_MASK_SAMPLE_STEPS_MAX);
            assert_eq!(measure(&matcher, &mut steps).is_ok(), fits, "{expression}");
        }
        let mut steps = Steps::new(PROXY_MASK_SAMPLE_STEPS_MAX);
        assert!((0..10).all(|_| measure(&Matcher::ChaseStratusPan, &mut steps).is_ok()));
    }

    #[test]
    fn a_mask_that_runs_out_of_steps_shows_nothing() {
        let matcher = Matcher::Pattern(Pattern::parse("(a.*b)|(a)").unwrap());
        let text = "a".repeat(10_000);
        assert_eq!(mask(&text, &matcher, '*', &mut Steps::new(100_000)).err(), Some(TooManySteps));
        let pans = "4".repeat(10_000);
        let few = &mut Steps::new(10_100);
        assert_eq!(mask(&pans, &Matcher::ChaseStratusPan, '*', few).err(), Some(TooManySteps));
    }

    proptest! {
        #[test]
        fn a_mask_keeps_the_number_of_characters_and_every_other_character(
            text in "[a-c0-9\u{e9} ]{0,40}",
            expression in r"\(a\)|\(\[0-9\]\+\)|b\(c\*\)|\(a\)\(b\)\?|\(\.\)\.",
        ) {
            let matcher = Matcher::Pattern(Pattern::parse(&expression).unwrap());
            let shown = masked(&text, &matcher);
            prop_assert_eq!(shown.chars().count(), text.chars().count());
            for (was, is) in text.chars().zip(shown.chars()) {
                prop_assert!(is == was || is == '*');
            }
        }

        #[test]
        fn no_card_number_is_left(before in "[a-z ]{0,5}", zeros in 0_usize..4, after in "[a-z ]{0,5}") {
            let text = format!("{before}{}4242424242424242{after}", "0".repeat(zeros));
            prop_assert!(!masked(&text, &Matcher::ChaseStratusPan).contains("4242"));
        }
    }
}
