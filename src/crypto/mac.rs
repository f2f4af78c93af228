//! Keyed hashes under keys that a caller brings along, for expressions.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hash {
    Sha1,
    Sha256,
    Sha512,
}

pub fn hmac(hash: Hash, key: &[u8], message: &[u8]) -> Vec<u8> {
    let algorithm = match hash {
        Hash::Sha1 => ring::hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
        Hash::Sha256 => ring::hmac::HMAC_SHA256,
        Hash::Sha512 => ring::hmac::HMAC_SHA512,
    };
    let key = ring::hmac::Key::new(algorithm, key);
    ring::hmac::sign(&key, message).as_ref().to_vec()
}
