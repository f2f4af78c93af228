//! Digests of sets: one value for all live records, updated by adding each new element and
//! subtracting each removed one.
//!
//! The digest of a set is the number of its elements and the sum, modulo 2^256, of their keyed
//! hashes: two AES-CMACs under two keys, one after the other. An element is one sealing of one
//! record: its table (1), its version (16) and its key. Adding and removing commute, so the digest
//! does not depend on the order of changes.
//!
//! The sums are never in clear. The difference of two sums is the hash of the change between them,
//! and an attacker with enough of these could search for other sets with the same sum. The file
//! holds sealed sums, and a checkpoint holds an HMAC of the sum.

use std::fmt;
use std::sync::Arc;

use ring::hmac;

use crate::crypto::cmac::CmacKey;
use crate::crypto::first;
use crate::crypto::random::Random;
use crate::crypto::seal::{Identity, OpenFailed, SealingKey, Version};
use crate::secret::Secret;

/// The keys that hash elements, commit to digests and seal digests.
#[derive(Clone)]
pub struct DigestKey {
    elements: Arc<[CmacKey; 2]>,
    commitments: hmac::Key,
    sealing: SealingKey,
}

#[derive(Clone, Copy)]
pub struct Element([u64; 4]);

#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct SetDigest {
    count: i64,
    /// Little-endian words: the least significant one comes first.
    sum: [u64; 4],
}

impl DigestKey {
    /// Derives separate keys for the three uses.
    pub fn new(key: &Secret<[u8; 32]>) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, key.expose());
        let derived = |label: &[u8]| Secret::new(first(hmac::sign(&key, label)));
        let commitments = derived(b"strongroom digest commitments 1");
        let elements: [&[u8]; 2] = [
            b"strongroom digest elements, first half 1",
            b"strongroom digest elements, second half 1",
        ];
        Self {
            elements: Arc::new(elements.map(|label| CmacKey::new(&derived(label)))),
            commitments: hmac::Key::new(hmac::HMAC_SHA256, commitments.expose()),
            sealing: SealingKey::new(1, &derived(b"strongroom digest sealing 1")),
        }
    }

    /// Only the last hashed field has a variable length, so two different elements never hash the
    /// same bytes.
    pub fn element(&self, table: u8, key: &[u8], version: &Version) -> Element {
        let halves = self.elements.each_ref().map(|half| {
            let mut cmac = half.begin();
            cmac.update(&[table]);
            cmac.update(version);
            cmac.update(key);
            cmac.finish()
        });
        Element(words(halves.as_flattened()))
    }

    /// Commits to a digest without revealing it, for checkpoints, which are in clear.
    pub fn commitment(&self, digest: &SetDigest, generation: u64) -> [u8; 32] {
        let mut context = hmac::Context::with_key(&self.commitments);
        context.update(&generation.to_be_bytes());
        context.update(digest.encode().expose());
        first(context.sign())
    }

    pub fn seal(&self, identity: &Identity<'_>, plain: &[u8], random: &Random) -> Vec<u8> {
        self.sealing.seal(identity, plain, random)
    }

    pub fn open(
        &self,
        identity: &Identity<'_>,
        sealed: &[u8],
    ) -> Result<Secret<Vec<u8>>, OpenFailed> {
        self.sealing.open(identity, sealed)
    }
}

impl SetDigest {
    pub const BYTES: usize = 8 + 32;

    /// The number of elements. It is negative only if more elements were removed than inserted.
    pub const fn count(&self) -> i64 {
        self.count
    }

    pub fn insert(&mut self, element: &Element) {
        self.combine(&Self { count: 1, sum: element.0 });
    }

    pub fn remove(&mut self, element: &Element) {
        // Two's complement: the negative of a number is its complement plus one.
        let mut negative = Self { count: -1, sum: element.0.map(|word| !word) };
        add(&mut negative.sum, &[1, 0, 0, 0]);
        self.combine(&negative);
    }

    /// Adds the elements, or the changes, of another set.
    pub fn combine(&mut self, other: &Self) {
        self.count = self.count.wrapping_add(other.count);
        add(&mut self.sum, &other.sum);
    }

    pub fn encode(&self) -> Secret<[u8; Self::BYTES]> {
        let mut encoded = Secret::new([0; Self::BYTES]);
        let words = self.sum.iter().rev().map(|word| word.to_be_bytes());
        let words = std::iter::once(self.count.to_be_bytes()).chain(words);
        for (to, word) in encoded.expose_mut().as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *to = word;
        }
        encoded
    }

    pub fn decode(encoded: &[u8]) -> Option<Self> {
        let (count, sum) = encoded.split_first_chunk()?;
        let sum: &[u8; 32] = sum.try_into().ok()?;
        Some(Self { count: i64::from_be_bytes(*count), sum: words(sum) })
    }
}

fn add(to: &mut [u64; 4], other: &[u64; 4]) {
    let mut carry = false;
    for (to, other) in to.iter_mut().zip(other) {
        let (sum, over) = to.overflowing_add(*other);
        let (sum, over_again) = sum.overflowing_add(u64::from(carry));
        *to = sum;
        carry = over || over_again;
    }
}

/// Reads a big-endian number of 32 bytes into words, the least significant one first.
fn words(bytes: &[u8]) -> [u64; 4] {
    let mut words = [0; 4];
    for (word, chunk) in words.iter_mut().rev().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_be_bytes(*chunk);
    }
    words
}

opaque_debug!(DigestKey);
opaque_debug!(Element);

impl fmt::Debug for SetDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SetDigest").field("count", &self.count).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::hex;

    fn key() -> DigestKey {
        DigestKey::new(&Secret::new([0x42; 32]))
    }

    #[test]
    fn the_digest_of_a_set_is_what_it_always_was() {
        let mut digest = SetDigest::default();
        for version in [[1; 16], [2; 16]] {
            digest.insert(&key().element(7, b"a key", &version));
        }
        let told = hex::encode(digest.encode().expose());
        assert_eq!(
            told,
            "0000000000000002fb7728ddcd0168d455e9e09e16adb85491c04642af8ed82a79975fa741191068"
        );
        let commitment = key().commitment(&digest, 9);
        assert_eq!(
            hex::encode(&commitment),
            "161f221f991d3a094d937fd58c75875d2d779cfc313f2458aeb96776c7e38ff8"
        );
    }

    #[test]
    fn a_sealed_digest_opens_in_its_place_and_under_its_key_alone() {
        let place = Identity { tenant: &[0; 16], table: 9, key: b"digest" };
        let sealed = key().seal(&place, b"a digest", &Random::new());
        assert_eq!(key().open(&place, &sealed).unwrap().expose(), b"a digest");
        let elsewhere = Identity { table: 8, ..place };
        assert!(key().open(&elsewhere, &sealed).is_err());
        assert!(DigestKey::new(&Secret::new([0x43; 32])).open(&place, &sealed).is_err());
        // The sealing key is not the one that is stored: the three uses have separate keys.
        assert!(SealingKey::new(1, &Secret::new([0x42; 32])).open(&place, &sealed).is_err());
    }

    #[test]
    fn whatever_differs_gives_another_element() {
        let one = key().element(7, b"a key", &[1; 16]).0;
        let other = DigestKey::new(&Secret::new([0x43; 32]));
        for element in [
            key().element(8, b"a key", &[1; 16]),
            key().element(7, b"b key", &[1; 16]),
            key().element(7, b"a key", &[2; 16]),
            other.element(7, b"a key", &[1; 16]),
        ] {
            assert_ne!(element.0, one);
        }
    }

    proptest! {
        #[test]
        fn only_what_is_in_the_set_counts_and_not_the_order(
            there in prop::collection::btree_set(0_u8..50, 0..20),
            gone in prop::collection::btree_set(50_u8..99, 0..20),
        ) {
            let element = |number: u8| key().element(1, &[number], &[number; 16]);
            let (mut one, mut other) = (SetDigest::default(), SetDigest::default());
            for number in there.iter().chain(&gone) {
                one.insert(&element(*number));
            }
            // Taken away before it was added: the changes of a batch are combined in any order.
            for number in &gone {
                one.remove(&element(*number));
                other.remove(&element(*number));
            }
            for number in gone.iter().chain(&there).rev() {
                other.insert(&element(*number));
            }
            prop_assert!(one == other);
            prop_assert_eq!(usize::try_from(one.count()).unwrap(), there.len());
            prop_assert!(SetDigest::decode(one.encode().expose()) == Some(one));
            prop_assert_eq!(one == SetDigest::default(), there.is_empty());
        }
    }
}
