//! The keys of the server and of each tenant.
//!
//! Every purpose has keys of its own, numbered from 1. Values are written under the newest and
//! read under any. A fingerprint key never changes, since clients keep fingerprints.

use std::fmt;

use ring::hmac;

use crate::crypto::chain::SigningKey;
use crate::crypto::random::Random;
use crate::crypto::seal::{Identity, OpenFailed, SealingKey};
use crate::domain::base58;
use crate::secret::Secret;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyPurpose {
    /// Seals the rows of the audit chain, and nothing else: they are never sealed again.
    Audit,
    Fingerprint,
    Index,
    Seal,
    /// Signs the audit chain's checkpoints.
    Sign,
}

/// One key as the data file keeps it, opened.
#[derive(Debug)]
pub struct KeyMaterial {
    pub purpose: KeyPurpose,
    pub number: u32,
    pub bytes: Secret<[u8; 32]>,
}

/// Keys of the server itself: they seal tenants, find API keys and keep the audit chain.
#[derive(Debug)]
pub struct SystemKeys {
    sealing: SealingKeys,
    index: IndexKey,
    audit: SealingKeys,
    signing: SigningKey,
}

/// Keys of one tenant.
#[derive(Debug)]
pub struct TenantKeys {
    tenant: [u8; 16],
    sealing: SealingKeys,
    index: IndexKey,
    fingerprint: FingerprintKey,
}

/// Turns what must be found again into bytes that tell nothing: a blind index.
pub struct IndexKey(hmac::Key);

pub struct FingerprintKey(hmac::Key);

#[derive(Debug)]
struct SealingKeys {
    newest: SealingKey,
    older: Vec<SealingKey>,
}

impl KeyPurpose {
    /// As it stands in the data file.
    pub const fn code(self) -> u8 {
        match self {
            Self::Seal => 1,
            Self::Index => 2,
            Self::Fingerprint => 3,
            Self::Audit => 4,
            Self::Sign => 5,
        }
    }

    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Seal),
            2 => Some(Self::Index),
            3 => Some(Self::Fingerprint),
            4 => Some(Self::Audit),
            5 => Some(Self::Sign),
            _ => None,
        }
    }
}

impl KeyMaterial {
    pub fn generate(purpose: KeyPurpose, number: u32, random: &Random) -> Self {
        Self { purpose, number, bytes: Secret::new(random.bytes()) }
    }
}

impl SystemKeys {
    /// `None` when a purpose has no key.
    pub fn new(keys: &[KeyMaterial]) -> Option<Self> {
        let signing = keys.iter().filter(|key| key.purpose == KeyPurpose::Sign);
        let signing = signing.max_by_key(|key| key.number)?;
        Some(Self {
            sealing: SealingKeys::new(keys, KeyPurpose::Seal)?,
            index: IndexKey::new(keys)?,
            audit: SealingKeys::new(keys, KeyPurpose::Audit)?,
            signing: SigningKey::from_seed(&signing.bytes)?,
        })
    }

    /// Seals a row of the audit chain.
    pub fn seal_audit(&self, identity: &Identity<'_>, plain: &[u8], random: &Random) -> Vec<u8> {
        self.audit.newest.seal(identity, plain, random)
    }

    pub fn open_audit(
        &self,
        identity: &Identity<'_>,
        sealed: &[u8],
    ) -> Result<Secret<Vec<u8>>, OpenFailed> {
        self.audit.open(identity, sealed)
    }

    pub const fn signing(&self) -> &SigningKey {
        &self.signing
    }

    pub fn seal(&self, identity: &Identity<'_>, plain: &[u8], random: &Random) -> Vec<u8> {
        self.sealing.newest.seal(identity, plain, random)
    }

    pub fn open(
        &self,
        identity: &Identity<'_>,
        sealed: &[u8],
    ) -> Result<Secret<Vec<u8>>, OpenFailed> {
        self.sealing.open(identity, sealed)
    }

    pub const fn index(&self) -> &IndexKey {
        &self.index
    }
}

impl TenantKeys {
    /// `None` when a purpose has no key.
    pub fn new(tenant: [u8; 16], keys: &[KeyMaterial]) -> Option<Self> {
        Some(Self {
            tenant,
            sealing: SealingKeys::new(keys, KeyPurpose::Seal)?,
            index: IndexKey::new(keys)?,
            fingerprint: FingerprintKey::new(keys)?,
        })
    }

    pub fn seal(&self, table: u8, key: &[u8], plain: &[u8], random: &Random) -> Vec<u8> {
        self.sealing.newest.seal(&self.identity(table, key), plain, random)
    }

    pub fn open(
        &self,
        table: u8,
        key: &[u8],
        sealed: &[u8],
    ) -> Result<Secret<Vec<u8>>, OpenFailed> {
        self.sealing.open(&self.identity(table, key), sealed)
    }

    pub const fn index(&self) -> &IndexKey {
        &self.index
    }

    pub const fn fingerprint(&self) -> &FingerprintKey {
        &self.fingerprint
    }

    const fn identity<'a>(&'a self, table: u8, key: &'a [u8]) -> Identity<'a> {
        Identity { tenant: &self.tenant, table, key }
    }
}

impl SealingKeys {
    fn new(keys: &[KeyMaterial], purpose: KeyPurpose) -> Option<Self> {
        let mut keys: Vec<_> = keys.iter().filter(|key| key.purpose == purpose).collect();
        keys.sort_by_key(|key| key.number);
        let mut keys = keys.into_iter().map(|key| SealingKey::new(key.number, &key.bytes));
        let newest = keys.next_back()?;
        Some(Self { newest, older: keys.collect() })
    }

    fn open(&self, identity: &Identity<'_>, sealed: &[u8]) -> Result<Secret<Vec<u8>>, OpenFailed> {
        let number = SealingKey::number_of(sealed).ok_or(OpenFailed)?;
        std::iter::once(&self.newest)
            .chain(&self.older)
            .find(|key| key.number() == number)
            .ok_or(OpenFailed)?
            .open(identity, sealed)
    }
}

impl IndexKey {
    fn new(keys: &[KeyMaterial]) -> Option<Self> {
        newest(keys, KeyPurpose::Index).map(Self)
    }

    /// 128 bits of a keyed hash over parts, each with its length, so that `("ab", "c")` and
    /// `("a", "bc")` differ.
    pub fn blind(&self, parts: &[&[u8]]) -> [u8; 16] {
        first(&keyed(&self.0, parts))
    }

    /// All 256 bits, for what an attacker may try to forge.
    pub fn tag(&self, parts: &[&[u8]]) -> [u8; 32] {
        first(&keyed(&self.0, parts))
    }
}

impl FingerprintKey {
    fn new(keys: &[KeyMaterial]) -> Option<Self> {
        newest(keys, KeyPurpose::Fingerprint).map(Self)
    }

    /// 44 base58 digits, as the published service's have.
    //= PCI DSS 4.0.1, 3.5.1.1: hashes of card numbers are keyed.
    pub fn fingerprint(&self, kind: &str, value: &str) -> String {
        base58::encode_padded(keyed(&self.0, &[kind.as_bytes(), value.as_bytes()]).as_ref(), 44)
    }
}

fn newest(keys: &[KeyMaterial], purpose: KeyPurpose) -> Option<hmac::Key> {
    keys.iter()
        .filter(|key| key.purpose == purpose)
        .max_by_key(|key| key.number)
        .map(|key| hmac::Key::new(hmac::HMAC_SHA256, key.bytes.expose()))
}

fn keyed(key: &hmac::Key, parts: &[&[u8]]) -> hmac::Tag {
    let mut context = hmac::Context::with_key(key);
    for part in parts {
        context.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        context.update(part);
    }
    context.sign()
}

fn first<const N: usize>(tag: &hmac::Tag) -> [u8; N] {
    let mut bytes = [0; N];
    for (to, from) in bytes.iter_mut().zip(tag.as_ref()) {
        *to = *from;
    }
    bytes
}

impl fmt::Debug for IndexKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IndexKey(..)")
    }
}

impl fmt::Debug for FingerprintKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FingerprintKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn material(purpose: KeyPurpose, number: u32, byte: u8) -> KeyMaterial {
        KeyMaterial { purpose, number, bytes: Secret::new([byte; 32]) }
    }

    fn keys(extra: Vec<KeyMaterial>) -> TenantKeys {
        let mut all = vec![
            material(KeyPurpose::Seal, 1, 1),
            material(KeyPurpose::Index, 1, 2),
            material(KeyPurpose::Fingerprint, 1, 3),
        ];
        all.extend(extra);
        TenantKeys::new([9; 16], &all).unwrap()
    }

    #[test]
    fn values_sealed_under_an_older_key_still_open() {
        let random = Random::new();
        let sealed = keys(vec![]).seal(1, b"key", b"plain", &random);
        let later = keys(vec![material(KeyPurpose::Seal, 2, 4)]);
        assert_eq!(later.open(1, b"key", &sealed).unwrap().expose(), b"plain");
        let newer = later.seal(1, b"key", b"plain", &random);
        assert!(keys(vec![]).open(1, b"key", &newer).is_err());
    }

    #[test]
    fn a_missing_purpose_gives_no_keys() {
        assert!(TenantKeys::new([9; 16], &[material(KeyPurpose::Seal, 1, 1)]).is_none());
    }

    #[test]
    fn blind_indexes_keep_their_parts_apart() {
        let keys = keys(vec![]);
        assert_ne!(keys.index().blind(&[b"ab", b"c"]), keys.index().blind(&[b"a", b"bc"]));
        assert_eq!(keys.index().blind(&[b"ab"]), keys.index().blind(&[b"ab"]));
    }

    #[test]
    fn fingerprints_have_44_letters_and_digits_and_differ_by_type() {
        let keys = keys(vec![]);
        let print = keys.fingerprint().fingerprint("card", "4242424242424242");
        assert_eq!(print.len(), 44);
        assert!(print.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        assert_ne!(print, keys.fingerprint().fingerprint("card_number", "4242424242424242"));
    }
}
