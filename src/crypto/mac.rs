//! Keyed hashes for expressions, under keys that the expression supplies.

use ring::hmac::{Algorithm, HMAC_SHA1_FOR_LEGACY_USE_ONLY, HMAC_SHA256, HMAC_SHA512, Key, sign};

pub fn hmac_sha1(key: &[u8], message: &[u8]) -> Vec<u8> {
    hmac(HMAC_SHA1_FOR_LEGACY_USE_ONLY, key, message)
}

pub fn hmac_sha256(key: &[u8], message: &[u8]) -> Vec<u8> {
    hmac(HMAC_SHA256, key, message)
}

pub fn hmac_sha512(key: &[u8], message: &[u8]) -> Vec<u8> {
    hmac(HMAC_SHA512, key, message)
}

fn hmac(algorithm: Algorithm, key: &[u8], message: &[u8]) -> Vec<u8> {
    sign(&Key::new(algorithm, key), message).as_ref().to_vec()
}
