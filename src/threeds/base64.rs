//! Base64 as EMV messages use it: the URL alphabet without padding for forms, the standard alphabet
//! with padding for authentication values.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

/// With padding.
pub fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// For URLs and forms, without padding.
pub fn encode_url(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Accepts any padding, since the protocol requires receivers to ignore it. Unused bits of the last
/// character must be zero.
pub fn decode_url(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok()
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
}
