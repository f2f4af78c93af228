//! The keys of the server and of each tenant.
//!
//! Each purpose has its own keys, numbered from 1. Any of them opens values; the [`Phase`] decides
//! which one seals and which ones index. A fingerprint key never changes, because clients store
//! fingerprints.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ring::hmac;
use uuid::Uuid;

use crate::crypto::api_keys::ApiKeyIndex;
use crate::crypto::chain::SigningKey;
use crate::crypto::digest::DigestKey;
use crate::crypto::first;
use crate::crypto::index::{IndexKey, IndexKeys, keyed};
use crate::crypto::phase::Phase;
use crate::crypto::random::Random;
use crate::crypto::seal::{Identity, OpenFailed, SealingKey};
use crate::crypto::uses::Uses;
use crate::domain::base58;
use crate::domain::id::TenantId;
use crate::domain::words::words;
use crate::secret::Secret;

words! {
    pub enum KeyPurpose:
        /// The code in the data file.
        code -> u8 [from_code]
    {
        Seal = "seal", 1;
        Index = "index", 2;
        Fingerprint = "fingerprint", 3;
        /// Seals only the rows of the audit chain, because these are never sealed again.
        Audit = "audit", 4;
        /// Signs the audit chain's checkpoints.
        Sign = "sign", 5;
        /// Makes and seals the digests of live records.
        Digest = "digest", 8;
        /// Signs webhooks. It is an RSA key and not 32 bytes: see [`crate::crypto::WebhookKey`].
        Webhook = "webhook", 10;
    }
}

impl KeyPurpose {
    /// With the length of the key, for the report.
    pub const fn algorithm(self) -> &'static str {
        match self {
            Self::Audit | Self::Seal => "AES-256-GCM, 256 bits",
            // Tags of API keys are HMACs.
            Self::Index => "AES-CMAC and HMAC-SHA-256, 256 bits",
            // Keys derived from these hash with AES-CMAC and seal with AES-256-GCM.
            Self::Digest | Self::Fingerprint => "HMAC-SHA-256, AES-CMAC and AES-256-GCM, 256 bits",
            Self::Sign => "Ed25519, 256 bits",
            Self::Webhook => "RSA-PSS-SHA-256, 2048 bits",
        }
    }
}

/// An opened key of the data file.
#[derive(Debug)]
pub struct KeyMaterial {
    pub purpose: KeyPurpose,
    pub number: u32,
    pub bytes: Secret<[u8; 32]>,
}

/// Keys of the server itself: they seal tenants, find API keys, and seal and sign the audit chain.
#[derive(Debug)]
pub struct SystemKeys {
    sealing: SealingKeys,
    api_keys: ApiKeyIndex,
    /// Seals new rows of the audit chain. Existing rows are never sealed again, because the links
    /// cover their sealed bytes. Older keys are kept as long as their rows.
    audit: SealingKey,
    older_audit: Vec<SealingKey>,
    /// The number of the signing key, and the key.
    signing: (u32, SigningKey),
    digests: DigestKey,
    cvcs: SealingKey,
}

/// Keys of one tenant, for one phase of their rotation.
#[derive(Debug)]
pub struct TenantKeys {
    tenant: [u8; 16],
    sealing: SealingKeys,
    index: IndexKeys,
    lasting: IndexKey,
    lasting_seal: SealingKey,
    fingerprint: FingerprintKey,
}

pub struct FingerprintKey(hmac::Key);

#[derive(Debug)]
struct SealingKeys {
    current: SealingKey,
    others: Vec<SealingKey>,
    uses: Arc<AtomicU64>,
}

impl KeyMaterial {
    pub fn generate(purpose: KeyPurpose, number: u32, random: &Random) -> Self {
        Self { purpose, number, bytes: Secret::new(random.bytes()) }
    }
}

impl SystemKeys {
    /// The scope of the server's own keys, instead of a tenant.
    pub const SCOPE: [u8; 16] = [0; 16];

    /// `None` if a purpose has no key.
    pub fn new(keys: &[KeyMaterial], phase: Phase, uses: &Uses) -> Option<Self> {
        let sealing = SealingKeys::new(&Self::SCOPE, keys, phase, uses)?;
        // Derived from the first index key, which is never destroyed: no rotation rewrites the file
        // with the keys of card verification codes.
        let index = of_purpose(keys, KeyPurpose::Index).into_iter().next()?;
        let index = hmac::Key::new(hmac::HMAC_SHA256, index.bytes.expose());
        let cvcs = Secret::new(first(hmac::sign(&index, b"strongroom cvc keys 1")));
        let audit = of_purpose(keys, KeyPurpose::Audit).into_iter();
        let mut older_audit: Vec<_> =
            audit.map(|key| SealingKey::new(key.number, &key.bytes)).collect();
        let signing = of_purpose(keys, KeyPurpose::Sign).into_iter().next_back()?;
        let digests = of_purpose(keys, KeyPurpose::Digest).into_iter().next_back()?;
        Some(Self {
            sealing,
            api_keys: ApiKeyIndex::new(keys, phase)?,
            audit: older_audit.pop()?,
            older_audit,
            signing: (signing.number, SigningKey::from_seed(&signing.bytes)?),
            digests: DigestKey::new(&digests.bytes),
            cvcs: SealingKey::new(1, &cvcs),
        })
    }

    pub fn seal_audit(&self, identity: &Identity<'_>, plain: &[u8], random: &Random) -> Vec<u8> {
        self.audit.seal(identity, plain, random)
    }

    pub fn open_audit(
        &self,
        identity: &Identity<'_>,
        sealed: &[u8],
    ) -> Result<Secret<Vec<u8>>, OpenFailed> {
        open_with(&self.audit, &self.older_audit, identity, sealed.to_vec())
    }

    pub const fn signing(&self) -> &SigningKey {
        &self.signing.1
    }

    pub const fn signer(&self) -> u32 {
        self.signing.0
    }

    pub const fn digests(&self) -> &DigestKey {
        &self.digests
    }

    pub fn seal(&self, identity: &Identity<'_>, plain: &[u8], random: &Random) -> Vec<u8> {
        self.sealing.seal(identity, plain, random)
    }

    pub fn open(
        &self,
        identity: &Identity<'_>,
        sealed: &[u8],
    ) -> Result<Secret<Vec<u8>>, OpenFailed> {
        self.sealing.open(identity, sealed.to_vec())
    }

    pub const fn api_keys(&self) -> &ApiKeyIndex {
        &self.api_keys
    }

    /// The number of the key that seals new values.
    pub const fn number(&self) -> u32 {
        self.sealing.current.number()
    }

    /// Seals the keys of card verification codes, which are in a separate file. Replacing the
    /// master key does not change this key, so the two files need no atomic change.
    pub const fn cvcs(&self) -> &SealingKey {
        &self.cvcs
    }
}

impl TenantKeys {
    /// `None` if a purpose has no key.
    pub fn new(tenant: [u8; 16], keys: &[KeyMaterial], phase: Phase, uses: &Uses) -> Option<Self> {
        let never_rotated = newest(keys, KeyPurpose::Fingerprint)?;
        Some(Self {
            tenant,
            sealing: SealingKeys::new(&tenant, keys, phase, uses)?,
            index: IndexKeys::new(keys, phase)?,
            lasting: IndexKey::derived(&never_rotated, b"strongroom lasting index 1"),
            lasting_seal: SealingKey::new(
                1,
                &Secret::new(first(hmac::sign(&never_rotated, b"strongroom lasting seal 1"))),
            ),
            fingerprint: FingerprintKey(never_rotated),
        })
    }

    pub const fn tenant(&self) -> TenantId {
        TenantId::new(Uuid::from_bytes(self.tenant))
    }

    pub fn seal(&self, table: u8, key: &[u8], plain: &[u8], random: &Random) -> Vec<u8> {
        self.sealing.seal(&self.identity(table, key), plain, random)
    }

    pub fn open(
        &self,
        table: u8,
        key: &[u8],
        sealed: &[u8],
    ) -> Result<Secret<Vec<u8>>, OpenFailed> {
        self.open_owned(table, key, sealed.to_vec())
    }

    /// As [`TenantKeys::open`]; the value takes the place of the sealed one.
    pub fn open_owned(
        &self,
        table: u8,
        key: &[u8],
        sealed: Vec<u8>,
    ) -> Result<Secret<Vec<u8>>, OpenFailed> {
        self.sealing.open(&self.identity(table, key), sealed)
    }

    /// The index key for looking up entries.
    pub const fn index(&self) -> &IndexKey {
        &self.index.read
    }

    /// The index keys under which a written record gets entries.
    pub fn write_indexes(&self) -> impl Iterator<Item = &IndexKey> {
        let both = matches!(self.index.phase, Phase::Both | Phase::Flipped);
        self.active_indexes().take(if both { 2 } else { 1 })
    }

    /// The index keys under which a record can have entries, for deleting them. The key for looking
    /// up entries comes first.
    pub fn active_indexes(&self) -> impl Iterator<Item = &IndexKey> {
        std::iter::once(&self.index.read).chain(&self.index.other)
    }

    /// The newest index key, or `None` while nothing is written under it.
    pub const fn newest_index(&self) -> Option<&IndexKey> {
        match self.index.phase {
            Phase::Announced => None,
            Phase::Both => self.index.other.as_ref(),
            Phase::Flipped | Phase::Clearing | Phase::Settled => Some(&self.index.read),
        }
    }

    /// The index key that a rotation replaces; `None` without a rotation.
    pub const fn replaced_index(&self) -> Option<&IndexKey> {
        match (self.index.phase, &self.index.other) {
            (Phase::Announced | Phase::Both, Some(_)) => Some(&self.index.read),
            (Phase::Flipped | Phase::Clearing, other) => other.as_ref(),
            (Phase::Announced | Phase::Both, None) | (Phase::Settled, _) => None,
        }
    }

    /// An index key that no rotation changes, for short-lived values that must be found across a
    /// rotation: the lists of cursors, and idempotency keys.
    pub const fn lasting(&self) -> &IndexKey {
        &self.lasting
    }

    /// Seals a value that leaves the vault and comes back, under a key that no rotation changes. It
    /// opens only in the same place.
    pub fn seal_lasting(&self, table: u8, key: &[u8], plain: &[u8], random: &Random) -> Vec<u8> {
        self.lasting_seal.seal(&self.identity(table, key), plain, random)
    }

    pub fn open_lasting(
        &self,
        table: u8,
        key: &[u8],
        sealed: &[u8],
    ) -> Result<Secret<Vec<u8>>, OpenFailed> {
        self.lasting_seal.open(&self.identity(table, key), sealed)
    }

    /// The number of the key that seals new values.
    pub const fn number(&self) -> u32 {
        self.sealing.current.number()
    }

    pub const fn phase(&self) -> Phase {
        self.index.phase
    }

    pub const fn fingerprint(&self) -> &FingerprintKey {
        &self.fingerprint
    }

    const fn identity<'a>(&'a self, table: u8, key: &'a [u8]) -> Identity<'a> {
        Identity { tenant: &self.tenant, table, key }
    }
}

impl SealingKeys {
    fn new(scope: &[u8; 16], keys: &[KeyMaterial], phase: Phase, uses: &Uses) -> Option<Self> {
        let mut others: Vec<_> = of_purpose(keys, KeyPurpose::Seal)
            .into_iter()
            .map(|key| SealingKey::new(key.number, &key.bytes))
            .collect();
        let newest = others.pop()?;
        let current = match phase {
            Phase::Announced => {
                let previous = others.pop();
                let current = previous.unwrap_or_else(|| newest.clone());
                others.push(newest);
                current
            }
            Phase::Both | Phase::Flipped | Phase::Clearing | Phase::Settled => newest,
        };
        let uses = uses.counter(scope, current.number());
        Some(Self { current, others, uses })
    }

    fn seal(&self, identity: &Identity<'_>, plain: &[u8], random: &Random) -> Vec<u8> {
        self.uses.fetch_add(1, Ordering::Relaxed);
        self.current.seal(identity, plain, random)
    }

    fn open(
        &self,
        identity: &Identity<'_>,
        sealed: Vec<u8>,
    ) -> Result<Secret<Vec<u8>>, OpenFailed> {
        open_with(&self.current, &self.others, identity, sealed)
    }
}

/// Opens a value with the key that has its number.
fn open_with(
    current: &SealingKey,
    others: &[SealingKey],
    identity: &Identity<'_>,
    sealed: Vec<u8>,
) -> Result<Secret<Vec<u8>>, OpenFailed> {
    let number = SealingKey::number_of(&sealed).ok_or(OpenFailed)?;
    let mut keys = std::iter::once(current).chain(others);
    keys.find(|key| key.number() == number).ok_or(OpenFailed)?.open_owned(identity, sealed)
}

impl FingerprintKey {
    /// A fingerprint of 44 base58 digits, as in the published interface.
    //= PCI DSS 4.0.1, 3.5.1.1: hashes of card numbers are keyed.
    pub fn fingerprint(&self, kind: &str, value: &str) -> String {
        base58::encode_padded(keyed(&self.0, &[kind.as_bytes(), value.as_bytes()]).as_ref(), 44)
    }
}

/// The keys of one purpose, oldest first.
pub(super) fn of_purpose(keys: &[KeyMaterial], purpose: KeyPurpose) -> Vec<&KeyMaterial> {
    let mut keys: Vec<_> = keys.iter().filter(|key| key.purpose == purpose).collect();
    keys.sort_by_key(|key| key.number);
    keys
}

fn newest(keys: &[KeyMaterial], purpose: KeyPurpose) -> Option<hmac::Key> {
    let newest = of_purpose(keys, purpose).pop()?;
    Some(hmac::Key::new(hmac::HMAC_SHA256, newest.bytes.expose()))
}

opaque_debug!(FingerprintKey);
