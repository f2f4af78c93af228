//! Base58 with the Bitcoin alphabet: digits and letters without `0`, `O`, `I` and `l`.

use smallvec::SmallVec;

const ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/// Digits of base 58 that are computed together, as one digit of base 58^5.
const LIMB_DIGITS: usize = 5;
const LIMB: u64 = 58_u64.pow(5);

/// The big-endian number `bytes` in base 58, padded with `1` (zero) to `width`.
pub fn encode_padded(bytes: &[u8], width: usize) -> String {
    // The lowest limb first. Each is below 2^30, and four bytes at a time shift it to below 2^62.
    let mut limbs: SmallVec<[u64; 16]> = SmallVec::new();
    for chunk in bytes.chunks(4) {
        let mut carry = 0;
        let mut factor: u64 = 1;
        for byte in chunk {
            carry = carry << 8 | u64::from(*byte);
            factor <<= 8;
        }
        for limb in &mut limbs {
            let value = limb.wrapping_mul(factor).wrapping_add(carry);
            *limb = value % LIMB;
            carry = value / LIMB;
        }
        while carry > 0 {
            limbs.push(carry % LIMB);
            carry /= LIMB;
        }
    }
    let mut digits: SmallVec<[u64; 64]> = SmallVec::new();
    for mut limb in limbs {
        for _ in 0..LIMB_DIGITS {
            digits.push(limb % 58);
            limb /= 58;
        }
    }
    // The highest limb may begin with zeros.
    while digits.last() == Some(&0) {
        digits.pop();
    }
    digits.resize(digits.len().max(width), 0);
    // Each digit is below 58, so each has a letter.
    let letter = |digit: u64| usize::try_from(digit).ok().and_then(|at| ALPHABET.get(at));
    let mut text = String::with_capacity(digits.len());
    text.extend(digits.into_iter().rev().filter_map(letter).copied().map(char::from));
    text
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
        check(&[1, 2, 3, 4, 5], 0, "7bWpTW");
        check(&[0, 0, 0, 0, 57], 0, "z");
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
