//! The check digit of card numbers (ISO/IEC 7812-1, annex B).

/// True if `digits` is one or more ASCII digits with a correct check digit at the end.
pub fn passes(digits: &str) -> bool {
    let mut sum = 0u32;
    for (place, byte) in digits.bytes().rev().enumerate() {
        let Some(digit) = char::from(byte).to_digit(10) else { return false };
        let weighed = match (place % 2, digit) {
            (0, _) => digit,
            (_, 0..=4) => digit.saturating_mul(2),
            // The digits of the double, added: 2 * 7 = 14 -> 1 + 4 = 14 - 9.
            (_, _) => digit.saturating_mul(2).saturating_sub(9),
        };
        sum = sum.saturating_add(weighed);
    }
    !digits.is_empty() && sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_numbers() {
        for number in ["4242424242424242", "378282246310005", "36227206271667", "0", "18", "00"] {
            assert!(passes(number), "{number}");
        }
        for number in ["4242424242424241", "6011601160116011", "4200000000000002", "", "4a", " 0"] {
            assert!(!passes(number), "{number}");
        }
    }

    /// The rule as the standard words it: double every second digit from the right, add all digits.
    fn naive(text: &str) -> bool {
        let digits: Vec<u32> = text.chars().rev().map(|c| c.to_digit(10).unwrap()).collect();
        let sum: u32 = digits
            .iter()
            .enumerate()
            .flat_map(|(place, digit)| {
                let value = if place % 2 == 1 { digit * 2 } else { *digit };
                [value / 10, value % 10]
            })
            .sum();
        sum.is_multiple_of(10)
    }

    proptest! {
        #[test]
        fn agrees_with_the_naive_rule(text in "[0-9]{1,40}") {
            prop_assert_eq!(passes(&text), naive(&text));
        }

        #[test]
        fn a_changed_digit_is_always_caught(
            body in "[0-9]{12,18}", place in any::<prop::sample::Index>(), by in 1u8..=9,
        ) {
            let check = (0..=9u8).map(|d| char::from(b'0' + d));
            let valid = check.map(|c| format!("{body}{c}")).find(|text| passes(text)).unwrap();
            let mut bytes = valid.into_bytes();
            let at = place.index(bytes.len());
            bytes[at] = b'0' + (bytes[at] - b'0' + by) % 10;
            prop_assert!(!passes(&String::from_utf8(bytes).unwrap()));
        }
    }
}
