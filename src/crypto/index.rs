//! Blind indexes: keyed hashes for the look-up of records, and the choice between the old and the
//! new index key during a rotation.

use ring::hmac;

use crate::crypto::first;
use crate::crypto::keys::{KeyMaterial, KeyPurpose, of_purpose};
use crate::crypto::phase::Phase;
use crate::secret::Secret;

/// The key of a blind index. It hashes a search term, so that the stored entry does not reveal it.
pub struct IndexKey(hmac::Key);

/// The index keys of one phase. No entries exist under other keys.
#[derive(Debug)]
pub(super) struct IndexKeys {
    pub(super) read: IndexKey,
    /// During a rotation: the new key while `read` is the old one, and the other way round.
    pub(super) other: Option<IndexKey>,
    pub(super) phase: Phase,
}

impl IndexKeys {
    pub(super) fn new(keys: &[KeyMaterial], phase: Phase) -> Option<Self> {
        let mut all: Vec<_> = of_purpose(keys, KeyPurpose::Index)
            .into_iter()
            .map(|key| IndexKey::of(&key.bytes))
            .collect();
        let newest = all.pop()?;
        let (read, other) = match (all.pop(), phase) {
            // In `Announced` the new key is needed to delete entries: requests in the next phase
            // already write entries under it.
            (Some(previous), Phase::Announced | Phase::Both) => (previous, Some(newest)),
            (previous, Phase::Flipped | Phase::Clearing) => (newest, previous),
            (None, Phase::Announced | Phase::Both) | (_, Phase::Settled) => (newest, None),
        };
        Some(Self { read, other, phase })
    }
}

impl IndexKey {
    pub(super) fn of(key: &Secret<[u8; 32]>) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, key.expose()))
    }

    pub(super) fn derived(from: &hmac::Key, label: &[u8]) -> Self {
        let tag = hmac::sign(from, label);
        Self(hmac::Key::new(hmac::HMAC_SHA256, tag.as_ref()))
    }

    /// The first 128 bits of a keyed hash over the parts. Each part is hashed with its length, so
    /// that `("ab", "c")` and `("a", "bc")` differ.
    pub fn blind(&self, parts: &[&[u8]]) -> [u8; 16] {
        first(keyed(&self.0, parts))
    }

    /// All 256 bits of the same hash, for tags that an attacker may try to forge.
    pub fn tag(&self, parts: &[&[u8]]) -> [u8; 32] {
        first(keyed(&self.0, parts))
    }
}

pub(super) fn keyed(key: &hmac::Key, parts: &[&[u8]]) -> hmac::Tag {
    let mut context = hmac::Context::with_key(key);
    for part in parts {
        context.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        context.update(part);
    }
    context.sign()
}

opaque_debug!(IndexKey);
