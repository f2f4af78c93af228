//! The host of expressions: supplies random bytes and keyed hashes from `crypto`.

use crate::app::vault::Vault;
use crate::crypto::{hmac_sha1, hmac_sha256, hmac_sha512};
use crate::expressions::{Hash, Host};

impl Host for Vault {
    fn random(&self, bytes: &mut [u8]) {
        self.random.fill(bytes);
    }

    fn hmac(&self, hash: Hash, key: &[u8], message: &[u8]) -> Vec<u8> {
        match hash {
            Hash::Sha1 => hmac_sha1(key, message),
            Hash::Sha256 => hmac_sha256(key, message),
            Hash::Sha512 => hmac_sha512(key, message),
        }
    }
}
