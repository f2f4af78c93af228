//! Hexadecimal text.

/// In lower case.
pub fn encode(bytes: &[u8]) -> String {
    digits(bytes, b'a')
}

pub fn encode_upper(bytes: &[u8]) -> String {
    digits(bytes, b'A')
}

/// `ten` is the digit of the value 10.
fn digits(bytes: &[u8], ten: u8) -> String {
    let digit = |nibble: u8| match nibble.checked_sub(10) {
        None => b'0'.wrapping_add(nibble),
        Some(above_ten) => ten.wrapping_add(above_ten),
    };
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 0x0f]).map(digit).map(char::from).collect()
}

/// Exactly `N` bytes, in either case of letters.
pub fn decode<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let digits = text.as_bytes();
    if digits.len() != N.checked_mul(2)? {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let [high, low] = pair else { return None };
        *byte = nibble(*high)? << 4 | nibble(*low)?;
    }
    Some(bytes)
}

/// Any number of bytes, in either case of letters.
pub fn decode_all(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => Some(nibble(*high)? << 4 | nibble(*low)?),
            _ => None,
        })
        .collect()
}

fn nibble(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hex_round_trips_and_refuses_what_is_not_hex() {
        assert_eq!(encode(&[0x00, 0xab, 0xff]), "00abff");
        assert_eq!(encode_upper(&[0x09, 0xab, 0xff]), "09ABFF");
        assert_eq!(decode::<3>("00ABff"), Some([0x00, 0xab, 0xff]));
        for text in ["00abf", "00abfg", "00abff00", ""] {
            assert_eq!(decode::<3>(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_byte_survives(bytes: [u8; 16]) {
            let text = encode(&bytes);
            prop_assert_eq!(decode::<16>(&text), Some(bytes));
            prop_assert_eq!(decode::<16>(&text.to_ascii_uppercase()), Some(bytes));
            prop_assert_eq!(decode_all(&text), Some(bytes.to_vec()));
        }

        #[test]
        fn what_decodes_is_hex(text in "[0-9a-fA-Fg+ ]{0,8}|\\PC{0,6}") {
            let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit()) && text.len() % 2 == 0;
            prop_assert_eq!(decode_all(&text).is_some(), is_hex);
        }
    }
}
