//! Sealing to the public keys of people, in the age format (age-encryption.org/v1), so that the
//! file can be opened without this program.
//!
//! A file begins with its key, sealed to each of the [`recipients`], and a MAC over this header.
//! The content follows in chunks ([`stream`]). The program only writes; [`identity`] reads, for
//! tests.

mod bech32;
mod identity;
mod recipients;
mod stream;

use std::io;

pub use identity::AgeIdentity;
pub use recipients::{AgeRecipients, InvalidRecipient};
use ring::error::Unspecified;
use ring::hkdf::{HKDF_SHA256, KeyType, Salt};
pub use stream::AgeWriter;

use crate::secret::Secret;

type FileKey = Secret<[u8; 16]>;

/// HKDF-SHA-256.
fn derive(secret: &[u8], salt: &[u8], info: &[u8]) -> Result<Secret<[u8; 32]>, Unspecified> {
    struct Bytes32;

    impl KeyType for Bytes32 {
        fn len(&self) -> usize {
            32
        }
    }

    let mut key = Secret::new([0; 32]);
    let extracted = Salt::new(HKDF_SHA256, salt).extract(secret);
    extracted.expand(&[info], Bytes32)?.fill(key.expose_mut())?;
    Ok(key)
}

fn failed(Unspecified: Unspecified) -> io::Error {
    io::Error::other("the file cannot be sealed")
}
