//! SHA-256, for digests that are checked without a key.

use crate::crypto::first;
use ring::digest::{Context, SHA256};

/// A digest of bytes that arrive in parts.
pub struct Sha256(Context);

impl Sha256 {
    pub fn new() -> Self {
        Self(Context::new(&SHA256))
    }

    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub fn finish(self) -> [u8; 32] {
        first(self.0.finish())
    }
}

impl Default for Sha256 {
    fn default() -> Self {
        Self::new()
    }
}

opaque_debug!(Sha256);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::hex;

    #[test]
    fn the_digest_is_that_of_the_standard() {
        //= FIPS 180-4, the one-block example.
        let mut digest = Sha256::new();
        digest.update(b"a");
        digest.update(b"bc");
        assert_eq!(
            hex::encode(&digest.finish()),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
