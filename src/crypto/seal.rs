//! Sealing: AES-256-GCM under a key derived for each sealing, bound to the record's identity.
//!
//! A sealed value is, byte for byte:
//!
//! | bytes | what |
//! |---|---|
//! | 1 | format, 1 |
//! | 4 | the sealing key's number, big-endian |
//! | 16 | salt, random |
//! | n + 16 | ciphertext and tag |
//!
//! The record's own key is HKDF-Expand (SHA-256) of the sealing key with the info
//! `strongroom record 1` followed by the salt. The nonce is the salt's first twelve bytes; it need
//! not be unique, since no key is used twice. The additional data are format, tenant (16), table
//! (1), sealing key's number (4) and the record's key, so that a value moved to another place does
//! not open. Test vectors: `tests/vectors/seal-v1.json`.

use std::fmt;

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Prk};

use crate::crypto::first;
use crate::crypto::random::Random;
use crate::secret::Secret;

const FORMAT: u8 = 1;
const SALT_BYTES: usize = 16;
const TAG_BYTES: usize = 16;
const HEADER_BYTES: usize = 1 + 4 + SALT_BYTES;
/// The bytes that sealing adds to a value.
pub const SEAL_OVERHEAD_BYTES: usize = HEADER_BYTES + TAG_BYTES;
/// A sealed key of 32 bytes.
pub const SEALED_KEY_BYTES: usize = 32 + SEAL_OVERHEAD_BYTES;
const INFO: &[u8] = b"strongroom record 1";

/// The location that a sealed value is bound to.
#[derive(Debug, Clone, Copy)]
pub struct Identity<'a> {
    pub tenant: &'a [u8; 16],
    pub table: u8,
    pub key: &'a [u8],
}

/// A value did not open: it was sealed under another key, moved, or damaged. AES-GCM does not
/// distinguish these cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFailed;

/// Identifies one sealing of a value. It is the salt, which is new each time.
pub type Version = [u8; SALT_BYTES];

/// A key from which a new key is derived for each sealing.
#[derive(Clone)]
pub struct SealingKey {
    number: u32,
    prk: Prk,
}

/// The version of a sealed value, or `None` if the value is too short.
pub fn version(sealed: &[u8]) -> Option<Version> {
    sealed.get(HEADER_BYTES - SALT_BYTES..HEADER_BYTES)?.try_into().ok()
}

impl SealingKey {
    pub fn new(number: u32, key: &Secret<[u8; 32]>) -> Self {
        Self { number, prk: Prk::new_less_safe(HKDF_SHA256, key.expose()) }
    }

    pub const fn number(&self) -> u32 {
        self.number
    }

    /// The number of the key that a value was sealed under.
    pub fn number_of(sealed: &[u8]) -> Option<u32> {
        sealed.get(1..5)?.try_into().ok().map(u32::from_be_bytes)
    }

    pub fn seal(&self, identity: &Identity<'_>, plain: &[u8], random: &Random) -> Vec<u8> {
        self.seal_salted(identity, plain, random.bytes())
    }

    fn seal_salted(&self, identity: &Identity<'_>, plain: &[u8], salt: Version) -> Vec<u8> {
        let mut sealed = Vec::with_capacity(HEADER_BYTES + plain.len() + TAG_BYTES);
        sealed.push(FORMAT);
        sealed.extend_from_slice(&self.number.to_be_bytes());
        sealed.extend_from_slice(&salt);
        // The ciphertext replaces the plain text in place.
        sealed.extend_from_slice(plain);
        let aad = Aad::from(self.aad(identity));
        let tag = self
            .record_key(&salt)
            .zip(sealed.get_mut(HEADER_BYTES..))
            .and_then(|(key, text)| key.seal_in_place_separate_tag(nonce(&salt), aad, text).ok());
        #[expect(clippy::panic, reason = "AES-GCM fails only beyond 64 GiB; bodies are bounded")]
        let Some(tag) = tag else {
            panic!("a value is too large to seal");
        };
        sealed.extend_from_slice(tag.as_ref());
        sealed
    }

    pub fn open(
        &self,
        identity: &Identity<'_>,
        sealed: &[u8],
    ) -> Result<Secret<Vec<u8>>, OpenFailed> {
        let (Some(FORMAT), Some(salt)) = (sealed.first().copied(), version(sealed)) else {
            return Err(OpenFailed);
        };
        if Self::number_of(sealed) != Some(self.number) {
            return Err(OpenFailed);
        }
        let text = sealed.get(HEADER_BYTES..).ok_or(OpenFailed)?;
        let mut plain = Secret::new(text.to_vec());
        let key = self.record_key(&salt).ok_or(OpenFailed)?;
        let length = key
            .open_in_place(nonce(&salt), Aad::from(self.aad(identity)), plain.expose_mut())
            .map_err(|ring::error::Unspecified| OpenFailed)?
            .len();
        plain.expose_mut().truncate(length);
        Ok(plain)
    }

    fn record_key(&self, salt: &Version) -> Option<LessSafeKey> {
        let okm = self.prk.expand(&[INFO, salt], &AES_256_GCM).ok().map(UnboundKey::from)?;
        Some(LessSafeKey::new(okm))
    }

    fn aad(&self, identity: &Identity<'_>) -> Vec<u8> {
        let mut aad = Vec::with_capacity(22 + identity.key.len());
        aad.push(FORMAT);
        aad.extend_from_slice(identity.tenant);
        aad.push(identity.table);
        aad.extend_from_slice(&self.number.to_be_bytes());
        aad.extend_from_slice(identity.key);
        aad
    }
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SealingKey({})", self.number)
    }
}

#[expect(clippy::disallowed_methods, reason = "the key is used for this one sealing only")]
fn nonce(salt: &Version) -> Nonce {
    Nonce::assume_unique_for_key(first(salt))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;
    use crate::domain::hex;

    const HERE: Identity<'static> = Identity { tenant: &[7; 16], table: 3, key: b"a key" };

    fn key(number: u32) -> SealingKey {
        SealingKey::new(number, &Secret::new([0x42; 32]))
    }

    #[test]
    fn the_published_vectors_seal_and_open() {
        let vectors: Value =
            serde_json::from_str(include_str!("../../tests/vectors/seal-v1.json")).unwrap();
        for vector in vectors.as_array().unwrap() {
            let text = |name: &str| vector[name].as_str().unwrap();
            let key = SealingKey::new(
                u32::try_from(vector["key_number"].as_u64().unwrap()).unwrap(),
                &Secret::new(hex::decode(text("key")).unwrap()),
            );
            let record_key = text("record_key").as_bytes();
            let tenant = hex::decode(text("tenant")).unwrap();
            let table = u8::try_from(vector["table"].as_u64().unwrap()).unwrap();
            let identity = Identity { tenant: &tenant, table, key: record_key };
            let salt = hex::decode(text("salt")).unwrap();
            let sealed = key.seal_salted(&identity, text("plain").as_bytes(), salt);
            assert_eq!(hex::encode(&sealed), text("sealed"));
            assert_eq!(key.open(&identity, &sealed).unwrap().expose(), text("plain").as_bytes());
        }
    }

    #[test]
    fn a_value_opens_only_in_its_own_place_and_under_its_own_key() {
        let sealed = key(1).seal(&HERE, b"4242", &Random::new());
        assert_eq!(key(1).open(&HERE, &sealed).unwrap().expose(), b"4242");
        for elsewhere in [
            Identity { tenant: &[8; 16], ..HERE },
            Identity { table: 4, ..HERE },
            Identity { key: b"b key", ..HERE },
        ] {
            assert!(key(1).open(&elsewhere, &sealed).is_err());
        }
        assert!(key(2).open(&HERE, &sealed).is_err());
        let other = SealingKey::new(1, &Secret::new([0x43; 32]));
        assert!(other.open(&HERE, &sealed).is_err());
    }

    #[test]
    fn two_sealings_of_one_value_differ_in_their_version() {
        let random = Random::new();
        let [one, two] = [(); 2].map(|()| key(1).seal(&HERE, b"4242", &random));
        assert_ne!(version(&one), version(&two));
        assert_eq!(SealingKey::number_of(&one), Some(1));
    }

    proptest! {
        #[test]
        fn what_is_sealed_opens_again(plain: Vec<u8>) {
            let sealed = key(1).seal(&HERE, &plain, &Random::new());
            let opened = key(1).open(&HERE, &sealed).unwrap();
            prop_assert_eq!(opened.expose(), &plain);
        }

        #[test]
        fn no_changed_byte_opens(at: prop::sample::Index, flip in 1_u8..) {
            let mut sealed = key(1).seal(&HERE, b"some plain text", &Random::new());
            let at = at.index(sealed.len());
            sealed[at] ^= flip;
            prop_assert!(key(1).open(&HERE, &sealed).is_err());
        }
    }
}
