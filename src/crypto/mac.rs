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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::hex;

    /// The second test case of RFC 2202 and RFC 4231.
    #[test]
    fn the_hashes_are_those_of_the_standards() {
        let (key, message) = (b"Jefe", b"what do ya want for nothing?");
        assert_eq!(
            hex::encode(&hmac_sha1(key, message)),
            "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"
        );
        assert_eq!(
            hex::encode(&hmac_sha256(key, message)),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        assert_eq!(
            hex::encode(&hmac_sha512(key, message)),
            "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554\
             9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737"
        );
    }
}
