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
//! The record's own key is derived by the block cipher, as in AES-GCM-SIV (RFC 8452): it is the
//! encryption of 32 zero bytes by AES-256-GCM under the sealing key with the salt's first twelve
//! bytes as nonce, without the tag. The value is encrypted under that key with the salt's last
//! twelve bytes as nonce. Two salts that derive the same key differ in their last four bytes, so no
//! key is used twice with the same nonce unless all sixteen bytes of a salt repeat.
//!
//! The additional data are format, tenant (16), table (1), sealing key's number (4) and the
//! record's key, so that a value moved to another place does not open. Test vectors, made by
//! another implementation: `tests/vectors/seal-v1.json`.

use std::fmt;

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use smallvec::SmallVec;

use crate::crypto::first;
use crate::crypto::random::Random;
use crate::secret::Secret;

const FORMAT: u8 = 1;
const SALT_BYTES: usize = 16;
const TAG_BYTES: usize = 16;
const HEADER_BYTES: usize = 1 + 4 + SALT_BYTES;
pub const SEAL_OVERHEAD_BYTES: usize = HEADER_BYTES + TAG_BYTES;
/// A sealed key of 32 bytes.
pub const SEALED_KEY_BYTES: usize = 32 + SEAL_OVERHEAD_BYTES;

/// The place that a sealed value is bound to.
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
    /// On the heap: it has half a kilobyte, and freeing it wipes it.
    deriving: Box<LessSafeKey>,
}

/// On the stack for the keys of all tables but those with chosen names.
type AdditionalData = SmallVec<[u8; 96]>;

/// The version of a sealed value, or `None` if the value is too short.
pub fn version(sealed: &[u8]) -> Option<Version> {
    sealed.get(HEADER_BYTES - SALT_BYTES..HEADER_BYTES)?.try_into().ok()
}

impl SealingKey {
    pub fn new(number: u32, key: &Secret<[u8; 32]>) -> Self {
        Self { number, deriving: Box::new(aes_key(key)) }
    }

    pub const fn number(&self) -> u32 {
        self.number
    }

    /// The number of the key that a value was sealed under.
    pub fn number_of(sealed: &[u8]) -> Option<u32> {
        sealed.get(1..5)?.try_into().ok().map(u32::from_be_bytes)
    }

    pub fn seal(&self, identity: &Identity<'_>, plain: &[u8], random: &Random) -> Vec<u8> {
        self.seal_salted(identity, &[], &[plain], random.bytes())
    }

    /// Seals the parts as one value, and puts `head` before it in clear.
    pub fn seal_after(
        &self,
        head: &[u8],
        identity: &Identity<'_>,
        plain: &[&[u8]],
        random: &Random,
    ) -> Vec<u8> {
        self.seal_salted(identity, head, plain, random.bytes())
    }

    fn seal_salted(
        &self,
        identity: &Identity<'_>,
        head: &[u8],
        plain: &[&[u8]],
        salt: Version,
    ) -> Vec<u8> {
        let bytes: usize = plain.iter().map(|part| part.len()).sum();
        let mut sealed = Vec::with_capacity(head.len() + HEADER_BYTES + bytes + TAG_BYTES);
        sealed.extend_from_slice(head);
        sealed.push(FORMAT);
        sealed.extend_from_slice(&self.number.to_be_bytes());
        sealed.extend_from_slice(&salt);
        // The ciphertext replaces the plain text in place.
        for part in plain {
            sealed.extend_from_slice(part);
        }
        let aad = Aad::from(self.aad(identity));
        let key = self.record_key(&salt);
        let tag = sealed
            .get_mut(head.len() + HEADER_BYTES..)
            .and_then(|text| key.seal_in_place_separate_tag(text_nonce(&salt), aad, text).ok());
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
        self.open_owned(identity, sealed.to_vec())
    }

    /// As [`SealingKey::open`]; the value takes the place of the sealed one.
    pub fn open_owned(
        &self,
        identity: &Identity<'_>,
        sealed: Vec<u8>,
    ) -> Result<Secret<Vec<u8>>, OpenFailed> {
        let (Some(FORMAT), Some(salt)) = (sealed.first().copied(), version(&sealed)) else {
            return Err(OpenFailed);
        };
        if Self::number_of(&sealed) != Some(self.number) {
            return Err(OpenFailed);
        }
        let mut plain = Secret::new(sealed);
        let (nonce, aad) = (text_nonce(&salt), Aad::from(self.aad(identity)));
        let length = self
            .record_key(&salt)
            .open_within(nonce, aad, plain.expose_mut(), HEADER_BYTES..)
            .map_err(|ring::error::Unspecified| OpenFailed)?
            .len();
        plain.expose_mut().truncate(length);
        Ok(plain)
    }

    #[expect(clippy::disallowed_methods, reason = "the value is bound to its place, not the key")]
    fn record_key(&self, salt: &Version) -> LessSafeKey {
        let mut key = Secret::new([0; 32]);
        let nonce = nonce(first(salt));
        let tag = self.deriving.seal_in_place_separate_tag(nonce, Aad::empty(), key.expose_mut());
        // AES-GCM fails only beyond 64 GiB.
        assert!(tag.is_ok(), "a key is too large to derive");
        aes_key(&key)
    }

    fn aad(&self, identity: &Identity<'_>) -> AdditionalData {
        let mut aad = AdditionalData::new();
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

pub(super) fn aes_key(key: &Secret<[u8; 32]>) -> LessSafeKey {
    #[expect(clippy::panic, reason = "a key of AES-256 has 32 bytes, as this one")]
    match UnboundKey::new(&AES_256_GCM, key.expose()) {
        Ok(key) => LessSafeKey::new(key),
        Err(ring::error::Unspecified) => panic!("a key has the wrong length"),
    }
}

/// The nonce of a value: the last twelve bytes of the salt. The nonce of its key lacks the last
/// four.
fn text_nonce(salt: &Version) -> Nonce {
    let [_, _, _, _, nonce_bytes @ ..] = *salt;
    nonce(nonce_bytes)
}

#[expect(clippy::disallowed_methods, reason = "the callers say why their nonces are safe")]
pub(super) fn nonce(bytes: [u8; NONCE_LEN]) -> Nonce {
    Nonce::assume_unique_for_key(bytes)
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
            let sealed = key.seal_salted(&identity, &[], &[text("plain").as_bytes()], salt);
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
