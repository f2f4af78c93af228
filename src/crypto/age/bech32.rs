//! Bech32, the text form of keys: five bits in each digit, and a checksum of six digits.

const DIGITS: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
const CHECKSUM_DIGITS: usize = 6;
/// The coefficients of the checksum's polynomial.
const GENERATOR: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];

/// The 32 bytes of a text that begins with `prefix` and `1`; `None` for any other text.
pub(super) fn decode(prefix: &str, text: &str) -> Option<[u8; 32]> {
    let digits = text.strip_prefix(prefix)?.strip_prefix('1')?;
    let value =
        |digit| DIGITS.iter().position(|it| *it == digit).and_then(|at| u8::try_from(at).ok());
    let values: Vec<u8> = digits.bytes().map(value).collect::<Option<_>>()?;
    if checksum(prefix, &values) != 1 {
        return None;
    }
    let data = values.get(..values.len().checked_sub(CHECKSUM_DIGITS)?)?;
    bytes(data)?.try_into().ok()
}

pub(super) fn encode(prefix: &str, bytes: &[u8]) -> String {
    let (mut values, mut bits, mut count) = (Vec::new(), 0_u32, 0_u32);
    let mut push = |bits: u32| values.extend(u8::try_from(bits & 31));
    for byte in bytes {
        (bits, count) = ((bits << 8_u32) | u32::from(*byte), count.saturating_add(8));
        while count >= 5 {
            count = count.saturating_sub(5);
            push(bits >> count);
        }
        bits &= (1_u32 << count).saturating_sub(1);
    }
    if count > 0 {
        push(bits << 5_u32.saturating_sub(count));
    }
    let with_zeros = [values.as_slice(), &[0; CHECKSUM_DIGITS]].concat();
    let sum = checksum(prefix, &with_zeros) ^ 1;
    values.extend([25, 20, 15, 10, 5, 0_u32].map(|at| u8::try_from((sum >> at) & 31).unwrap_or(0)));
    let digit = |value: &u8| DIGITS.get(usize::from(*value)).copied().map(char::from);
    format!("{prefix}1{}", values.iter().filter_map(digit).collect::<String>())
}

/// Returns 1 if the last six digits are the right checksum.
fn checksum(prefix: &str, values: &[u8]) -> u32 {
    let high = prefix.bytes().map(|byte| byte >> 5_u8);
    let low = prefix.bytes().map(|byte| byte & 31);
    let all = high.chain([0]).chain(low).chain(values.iter().copied());
    all.fold(1, |sum: u32, value| {
        let top = sum >> 25_u32;
        let shifted = ((sum & 0x1ff_ffff) << 5_u32) ^ u32::from(value);
        let terms = (0..).zip(GENERATOR).filter(|(bit, _)| (top >> bit) & 1_u32 == 1);
        terms.fold(shifted, |sum, (_, term)| sum ^ term)
    })
}

/// The bytes of these digits. Leftover bits must be zeros, and fewer than a digit.
fn bytes(data: &[u8]) -> Option<Vec<u8>> {
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0_u32);
    for value in data {
        (bits, count) = ((bits << 5_u32) | u32::from(*value), count.saturating_add(5));
        if count >= 8 {
            count = count.saturating_sub(8);
            bytes.push(u8::try_from((bits >> count) & 0xff).ok()?);
            bits &= (1_u32 << count).saturating_sub(1);
        }
    }
    (count < 5 && bits == 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_text_gives_its_bytes_back(bytes: [u8; 32]) {
            prop_assert_eq!(decode("age", &encode("age", &bytes)), Some(bytes));
        }

        #[test]
        fn one_wrong_digit_is_noticed(bytes: [u8; 32], at in 4_usize..62, digit in 0_usize..32) {
            let text = encode("age", &bytes);
            let mut wrong = text.clone().into_bytes();
            wrong[at] = DIGITS[digit];
            let wrong = String::from_utf8(wrong).unwrap();
            let expected = (wrong == text).then_some(bytes);
            prop_assert_eq!(decode("age", &wrong), expected);
        }
    }

    #[test]
    fn other_lengths_prefixes_and_spellings_are_refused() {
        let text = encode("age", &[7; 32]);
        assert!(decode("age", &text).is_some());
        let wrong = [
            encode("age", &[7; 31]),
            encode("age", &[7; 33]),
            encode("ag", &[7; 32]),
            text.to_uppercase(),
            text.replacen("age1", "age", 1),
            String::from("age1"),
            String::new(),
        ];
        for wrong in wrong {
            assert_eq!(decode("age", &wrong), None, "{wrong}");
        }
    }
}
