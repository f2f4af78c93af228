//! The checksum of American Bankers Association routing numbers.

/// True for nine digits whose sum, with the weights 3, 7, 1 in turn, is a multiple of ten.
pub fn passes(digits: &str) -> bool {
    if digits.len() != DIGITS {
        return false;
    }
    let mut sum = 0u32;
    for (byte, weight) in digits.bytes().zip(WEIGHTS) {
        let Some(digit) = char::from(byte).to_digit(10) else { return false };
        sum = sum.saturating_add(digit.saturating_mul(weight));
    }
    sum.is_multiple_of(10)
}

const DIGITS: usize = 9;
const WEIGHTS: [u32; DIGITS] = [3, 7, 1, 3, 7, 1, 3, 7, 1];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_numbers() {
        for number in ["021000021", "110000000", "011401533", "122105155", "021000089"] {
            assert!(passes(number), "{number}");
        }
        for number in ["021000022", "", "02100002", "0210000210", "02100002a"] {
            assert!(!passes(number), "{number}");
        }
    }

    proptest! {
        #[test]
        fn a_changed_digit_is_always_caught(
            body in "[0-9]{8}", place in any::<prop::sample::Index>(), by in 1u8..=9,
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
