//! The check digit of card numbers (ISO/IEC 7812-1, annex B).

/// True if `digits` is one or more ASCII digits with a correct check digit at the end.
pub fn passes(digits: &str) -> bool {
    let mut sum = 0u32;
    for (place, byte) in digits.bytes().rev().enumerate() {
        let Some(digit) = char::from(byte).to_digit(10) else { return false };
        sum = sum.saturating_add(if place % 2 == 0 { digit } else { doubled(digit) });
    }
    !digits.is_empty() && sum.is_multiple_of(10)
}

/// The digits of the double, added: 2 * 7 = 14 -> 1 + 4 = 14 - 9.
const fn doubled(digit: u32) -> u32 {
    let double = digit.saturating_mul(2);
    if double > 9 { double.saturating_sub(9) } else { double }
}

/// The sums of a sequence of digits up to each place. With them, the check of any part of the
/// sequence takes the same time, however long the part is.
#[derive(Debug, Default)]
pub struct Sums {
    /// For each place, the sums modulo 10 of the digits up to it: in the first, every other digit is
    /// doubled so that this one is not; in the second, this one is doubled.
    sums: Vec<[u32; 2]>,
}

impl Sums {
    /// The number of digits.
    pub const fn len(&self) -> usize {
        self.sums.len()
    }

    pub fn clear(&mut self) {
        self.sums.clear();
    }

    pub fn push(&mut self, digit: u32) {
        let [plain, double] = self.up_to(self.len());
        let sum = |before: u32, own: u32| before.saturating_add(own) % 10;
        self.sums.push([sum(double, digit), sum(plain, doubled(digit))]);
    }

    /// As [`passes`], for the digits from one place up to another one.
    pub fn passes(&self, from: usize, to: usize) -> bool {
        let ([before, other], [sum, _]) = (self.up_to(from), self.up_to(to));
        // The digit before the part is doubled if the last digit is an odd number of places away.
        let length = to.saturating_sub(from);
        length > 0 && sum == if length.is_multiple_of(2) { before } else { other }
    }

    fn up_to(&self, place: usize) -> [u32; 2] {
        let last = place.checked_sub(1).and_then(|place| self.sums.get(place));
        last.copied().unwrap_or_default()
    }
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
        fn sums_check_every_part_of_a_text(text in "[0-9]{1,40}") {
            let mut sums = Sums::default();
            text.chars().for_each(|digit| sums.push(digit.to_digit(10).unwrap()));
            for from in 0..=text.len() {
                for to in from..=text.len() {
                    let part = text.get(from..to).unwrap();
                    prop_assert_eq!(sums.passes(from, to), passes(part));
                }
            }
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
