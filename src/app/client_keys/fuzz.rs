//! The fuzz target of encrypted values: compact JWE, and the plain text in it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::{jwe, open};
use crate::bounds::JSON_DEPTH_MAX;
use crate::crypto::ClientKeyPair;
use crate::domain::merge_patch::is_within;
use crate::secret::Secret;

/// The text is a message, or the header of an otherwise valid message.
pub(crate) fn messages(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    check_message(text);
    let (iv, tag) = (URL_SAFE_NO_PAD.encode([1; 12]), URL_SAFE_NO_PAD.encode([2; 16]));
    let header = URL_SAFE_NO_PAD.encode(text);
    check_message(&format!("{header}..{iv}.AAAA.{tag}"));
    if let Some(value) = open::parse_plain(data) {
        assert!(is_within(value.expose(), JSON_DEPTH_MAX));
    }
}

fn check_message(text: &str) {
    let Some(jwe::Message { key, sealed: message, .. }) = jwe::parse(text) else { return };
    let protected = text.split('.').next().unwrap_or_default();
    assert_eq!(message.authenticated, protected.as_bytes());
    let (sealed, tag) = message.sealed.split_at(message.sealed.len().saturating_sub(16));
    let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let written =
        format!("{protected}..{}.{}.{}", encode(&message.iv), encode(sealed), encode(tag));
    assert_eq!(written, text, "a message has one spelling");
    let header = URL_SAFE_NO_PAD.decode(protected).unwrap_or_default();
    let header = String::from_utf8_lossy(&header).into_owned();
    assert!(header.contains("X25519") && header.contains("A256GCM"), "an unknown algorithm");
    assert_eq!(crate::domain::id::ClientKeyId::parse(&key.to_string()), Some(key));
    let pair = ClientKeyPair::from_private(&Secret::new([9; 32]));
    assert!(pair.open(message).is_err(), "a forged message opened");
}
