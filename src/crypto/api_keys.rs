//! The index of API keys: it finds a key by its text, and the text is not stored.
//!
//! A text's tag is its HMAC under the server's first index key. It stands sealed in the key's record
//! and never changes: without the text no other tag can be computed. The row that the key is found by
//! has the tag's place as its key. Under the first index key the place is the tag itself; under each
//! later one it is the HMAC of the tag under that key. So a rotation moves every row to a new place
//! without knowing a text, and whoever has an older key and a newer file finds nothing in it.
//!
//! The first key stays for good, since every tag is made with it.

use std::fmt;

use crate::crypto::index::IndexKey;
use crate::crypto::keys::{KeyMaterial, KeyPurpose, of_purpose};
use crate::crypto::phase::Phase;

pub struct ApiKeyIndex {
    tags: IndexKey,
    /// All but the first, newest first.
    later: Vec<IndexKey>,
    /// The index in `later` of the key that new rows are written under; its length stands for the
    /// first key.
    write_at: usize,
}

impl ApiKeyIndex {
    /// `None` without a key.
    pub(super) fn new(keys: &[KeyMaterial], phase: Phase) -> Option<Self> {
        let keys = of_purpose(keys, KeyPurpose::Index);
        let (first, later) = keys.split_first()?;
        let later: Vec<_> = later.iter().rev().map(|key| IndexKey::of(&key.bytes)).collect();
        let write_at = match phase {
            // Somebody may not know the new one yet.
            Phase::Announced if !later.is_empty() => 1,
            Phase::Announced | Phase::Both | Phase::Flipped | Phase::Clearing | Phase::Settled => 0,
        };
        Some(Self { tags: IndexKey::of(&first.bytes), later, write_at })
    }

    /// Stands for the text of a key, in every phase of every rotation.
    pub fn tag(&self, text: &str) -> [u8; 32] {
        self.tags.tag(&[b"api key", text.as_bytes()])
    }

    /// Where the row of a new key is written.
    pub fn place(&self, tag: &[u8; 32]) -> [u8; 32] {
        self.place_at(self.write_at, tag)
    }

    /// Where the row is when no rotation is under way.
    pub fn newest_place(&self, tag: &[u8; 32]) -> [u8; 32] {
        self.place_at(0, tag)
    }

    /// Everywhere that the row may be. It is in one of them at a time.
    pub fn places<'a>(&'a self, tag: &'a [u8; 32]) -> impl Iterator<Item = [u8; 32]> + use<'a> {
        (0..=self.later.len()).map(|at| self.place_at(at, tag))
    }

    /// Under the first key the place is the tag itself.
    fn place_at(&self, at: usize, tag: &[u8; 32]) -> [u8; 32] {
        self.later.get(at).map_or(*tag, |key| key.tag(&[b"api key place", tag]))
    }
}

impl fmt::Debug for ApiKeyIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiKeyIndex({} keys)", self.later.len().saturating_add(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;

    fn index(numbers: &[u8], phase: Phase) -> ApiKeyIndex {
        let key = |number: &u8| KeyMaterial {
            purpose: KeyPurpose::Index,
            number: u32::from(*number),
            bytes: Secret::new([*number; 32]),
        };
        ApiKeyIndex::new(&numbers.iter().map(key).collect::<Vec<_>>(), phase).unwrap()
    }

    #[test]
    fn a_tag_stays_and_a_place_changes_with_every_key() {
        let (one, two) = (index(&[1], Phase::Settled), index(&[1, 4], Phase::Settled));
        let tag = one.tag("key");
        assert_eq!((two.tag("key"), one.place(&tag)), (tag, tag));
        assert_ne!(two.place(&tag), tag);
        assert_ne!(index(&[1, 5], Phase::Settled).place(&tag), two.place(&tag));
        assert_eq!(two.places(&tag).collect::<Vec<_>>(), [two.place(&tag), tag]);
        let three = index(&[5, 1, 4], Phase::Settled);
        let places: Vec<_> = three.places(&tag).collect();
        assert_eq!(places, [three.place(&tag), two.place(&tag), tag]);
        // A key in between may be destroyed.
        assert_eq!(index(&[1, 5], Phase::Settled).place(&tag), three.place(&tag));
        assert!(ApiKeyIndex::new(&[], Phase::Settled).is_none());
    }

    #[test]
    fn nothing_is_written_under_an_announced_key_but_everything_is_looked_for() {
        let tag = [7; 32];
        let (announced, both) = (index(&[1, 2], Phase::Announced), index(&[1, 2], Phase::Both));
        assert_eq!((announced.place(&tag), announced.newest_place(&tag)), (tag, both.place(&tag)));
        assert_eq!(announced.places(&tag).count(), 2);
        assert_eq!(index(&[1], Phase::Announced).place(&tag), tag);
    }
}
