//! Blind indexes: keyed hashes for the look-up of records, and the choice between the old and the
//! new index key during a rotation.
//!
//! A card has about seven entries. AES-CMAC (NIST SP 800-38B) makes one in a tenth of the time of
//! HMAC-SHA-256 on processors without instructions for SHA.

use ring::hmac;

use crate::crypto::cmac::CmacKey;
use crate::crypto::first;
use crate::crypto::keys::{KeyMaterial, KeyPurpose, of_purpose};
use crate::crypto::phase::Phase;
use crate::secret::Secret;

/// The key of a blind index. It hashes a search term, so that the stored entry does not reveal it.
pub struct IndexKey {
    /// On the heap: it has a quarter of a kilobyte.
    entries: Box<CmacKey>,
    tags: hmac::Key,
}

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
        Self::with_tags(hmac::Key::new(hmac::HMAC_SHA256, key.expose()))
    }

    pub(super) fn derived(from: &hmac::Key, label: &[u8]) -> Self {
        let tag = hmac::sign(from, label);
        Self::with_tags(hmac::Key::new(hmac::HMAC_SHA256, tag.as_ref()))
    }

    fn with_tags(tags: hmac::Key) -> Self {
        let key = Secret::new(first(hmac::sign(&tags, b"strongroom index entries 1")));
        Self { entries: Box::new(CmacKey::new(&key)), tags }
    }

    /// The AES-CMAC of the parts. Each part is hashed with its length, so that `("ab", "c")` and
    /// `("a", "bc")` differ.
    pub fn blind(&self, parts: &[&[u8]]) -> [u8; 16] {
        let mut cmac = self.entries.begin();
        for part in parts {
            cmac.update(&length(part));
            cmac.update(part);
        }
        cmac.finish()
    }

    /// The HMAC-SHA-256 of the parts, for tags that an attacker may try to forge.
    pub fn tag(&self, parts: &[&[u8]]) -> [u8; 32] {
        first(keyed(&self.tags, parts))
    }
}

pub(super) fn keyed(key: &hmac::Key, parts: &[&[u8]]) -> hmac::Tag {
    let mut context = hmac::Context::with_key(key);
    for part in parts {
        context.update(&length(part));
        context.update(part);
    }
    context.sign()
}

fn length(part: &[u8]) -> [u8; 8] {
    u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes()
}

opaque_debug!(IndexKey);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::hex;

    /// Computed with Python's `hmac` and OpenSSL's `CMAC`.
    #[test]
    fn an_entry_is_the_cmac_of_the_parts_with_their_lengths() {
        let key = IndexKey::of(&Secret::new([7; 32]));
        let entry = key.blind(&[b"metadata", b"customer", b"customer 7"]);
        assert_eq!(hex::encode(&entry), "4fc25c3c6c86fdabc814d693d5eeaa26");
        assert_ne!(key.blind(&[b"metadata", b"customer", b"customer", b" 7"]), entry);
        assert_ne!(key.tag(&[b"metadata", b"customer", b"customer 7"])[..16], entry);
    }
}
