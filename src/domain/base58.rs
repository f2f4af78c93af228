//! Base58 with the Bitcoin alphabet: digits and letters without `0`, `O`, `I` and `l`.

const ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/// The big-endian number `bytes` in base 58, padded with `1` (zero) to `width`.
pub fn encode_padded(bytes: &[u8], width: usize) -> String {
    let mut digits: Vec<u32> = Vec::with_capacity(width);
    for byte in bytes {
        let mut carry = u32::from(*byte);
        for digit in &mut digits {
            let value = digit.wrapping_mul(256).wrapping_add(carry);
            *digit = value % 58;
            carry = value / 58;
        }
        while carry > 0 {
            digits.push(carry % 58);
            carry /= 58;
        }
    }
    digits.resize(digits.len().max(width), 0);
    // Each digit is below 58, so each has a letter.
    let letter = |digit: u32| usize::try_from(digit).ok().and_then(|at| ALPHABET.get(at));
    digits.into_iter().rev().filter_map(letter).copied().map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], width: usize, text: &str) {
        assert_eq!(encode_padded(bytes, width), text);
    }

    #[test]
    fn known_encodings() {
        check(b"Hello World!", 0, "2NEpo7TZRRrLZSi2U");
        check(&[0xff; 16], 22, "YcVfxkQb6JRzqk5kF2tNLv");
        check(&[0; 4], 3, "111");
        check(&[], 0, "");
        assert_eq!(encode_padded(&[0xff; 32], 44).len(), 44);
    }

    proptest! {
        #[test]
        fn the_text_is_the_number_in_base_58(number: u128) {
            let text = encode_padded(&number.to_be_bytes(), 22);
            prop_assert_eq!(text.len(), 22);
            let value = text.bytes().try_fold(0_u128, |value, letter| {
                let digit = ALPHABET.iter().position(|known| *known == letter)?;
                value.checked_mul(58)?.checked_add(u128::try_from(digit).ok()?)
            });
            prop_assert_eq!(value, Some(number));
        }
    }
}
