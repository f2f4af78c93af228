//! The index of API keys. It finds an API key by its text without storing the text.
//!
//! The tag of a text is its HMAC under the server's first index key. The API key's record holds the
//! sealed tag. A tag never changes, because computing another one needs the text. The lookup row of
//! an API key is stored under the tag's place. Under the first index key the place is the tag
//! itself; under each later index key it is the HMAC of the tag. A rotation can therefore move
//! every row to a new place without the texts, and an old index key finds no rows in a file that
//! was rotated since.
//!
//! The first index key is never destroyed, because every tag is made with it.

use std::fmt;

use crate::crypto::index::IndexKey;
use crate::crypto::keys::{KeyMaterial, KeyPurpose, of_purpose};
use crate::crypto::phase::Phase;

pub struct ApiKeyIndex {
    tags: IndexKey,
    /// All index keys except the first one, newest first.
    later: Vec<IndexKey>,
    /// The position in `later` of the key for new rows. `later.len()` means the first key.
    write_at: usize,
}

impl ApiKeyIndex {
    /// Returns `None` if there is no index key.
    pub(super) fn new(keys: &[KeyMaterial], phase: Phase) -> Option<Self> {
        let keys = of_purpose(keys, KeyPurpose::Index);
        let (first, later) = keys.split_first()?;
        let later: Vec<_> = later.iter().rev().map(|key| IndexKey::of(&key.bytes)).collect();
        let write_at = match phase {
            // Requests of the previous phase do not have the newest key and could not find the row.
            Phase::Announced if !later.is_empty() => 1,
            Phase::Announced | Phase::Both | Phase::Flipped | Phase::Clearing | Phase::Settled => 0,
        };
        Some(Self { tags: IndexKey::of(&first.bytes), later, write_at })
    }

    /// The tag of an API key's text. Rotations do not change it.
    pub fn tag(&self, text: &str) -> [u8; 32] {
        self.tags.tag(&[b"api key", text.as_bytes()])
    }

    /// The place of the row of a new API key.
    pub fn place(&self, tag: &[u8; 32]) -> [u8; 32] {
        self.place_at(self.write_at, tag)
    }

    /// The place of the row while no rotation is running.
    pub fn newest_place(&self, tag: &[u8; 32]) -> [u8; 32] {
        self.place_at(0, tag)
    }

    /// All places where the row can be. It is in exactly one of them at a time.
    pub fn places<'a>(&'a self, tag: &'a [u8; 32]) -> impl Iterator<Item = [u8; 32]> + use<'a> {
        (0..=self.later.len()).map(|at| self.place_at(at, tag))
    }

    /// An `at` past the end of `later` means the first key, whose place is the tag itself.
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
    fn another_text_and_another_first_key_give_another_tag() {
        let one = index(&[1], Phase::Settled);
        let tag = one.tag("key");
        for other in [one.tag("kez"), one.tag(""), index(&[2], Phase::Settled).tag("key")] {
            assert_ne!(other, tag);
        }
        assert_eq!(
            crate::domain::hex::encode(&tag),
            "443431b0060b2b28d31be09539c2e3699ff19c9808fb229f8aecc3eee422959e"
        );
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
