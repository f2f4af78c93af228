//! Base64 as EMV messages use it: the URL alphabet without padding for what travels in forms, the
//! plain alphabet with padding for authentication values.

const PLAIN: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// With padding.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = digits(bytes, PLAIN);
    while !text.len().is_multiple_of(4) {
        text.push('=');
    }
    text
}

/// For URLs and forms, without padding.
pub fn encode_url(bytes: &[u8]) -> String {
    digits(bytes, URL)
}

/// Takes the URL alphabet, padded or not, as the protocol asks of receivers.
pub fn decode_url(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=');
    if text.len() % 4 == 1 {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut gathered: u32 = 0;
    let mut bits: u32 = 0;
    for letter in text.bytes() {
        let digit = URL.iter().position(|known| *known == letter)?;
        gathered = (gathered << 6) | u32::try_from(digit).ok()?;
        bits = bits.saturating_add(6);
        if bits >= 8 {
            bits = bits.saturating_sub(8);
            bytes.push(u8::try_from((gathered >> bits) & 0xff).ok()?);
            gathered &= !(u32::MAX << bits);
        }
    }
    (gathered == 0).then_some(bytes)
}

fn digits(bytes: &[u8], alphabet: &[u8; 64]) -> String {
    let mut text = String::with_capacity(bytes.len().saturating_mul(2));
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let whole = (byte(0) << 16) | (byte(1) << 8) | byte(2);
        for place in 0..=chunk.len() {
            let shift = 18_usize.saturating_sub(place.saturating_mul(6));
            let at = usize::try_from((whole >> shift) & 63).unwrap_or(0);
            text.push(char::from(alphabet.get(at).copied().unwrap_or(b'=')));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_texts() {
        for (bytes, text) in
            [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("fooba", "Zm9vYmE")]
        {
            assert_eq!(encode_url(bytes.as_bytes()), text);
            assert_eq!(decode_url(text).unwrap(), bytes.as_bytes());
        }
        assert_eq!(encode(b"fo"), "Zm8=");
        assert_eq!(encode(&[0xfb, 0xff]), "+/8=");
        assert_eq!(encode_url(&[0xfb, 0xff]), "-_8");
        for text in ["Z", "Zm9v!", "+/8", "Zh"] {
            assert_eq!(decode_url(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_encoded_decodes_padded_or_not() {
        proptest::proptest!(|(bytes: Vec<u8>)| {
            let text = encode_url(&bytes);
            proptest::prop_assert_eq!(decode_url(&text), Some(bytes.clone()));
            let padded = format!("{text}{}", "=".repeat((4 - text.len() % 4) % 4));
            proptest::prop_assert_eq!(decode_url(&padded), Some(bytes));
        });
    }

    #[test]
    fn no_text_makes_decoding_panic() {
        proptest::proptest!(|(text: String)| { drop(decode_url(&text)); });
    }
}
