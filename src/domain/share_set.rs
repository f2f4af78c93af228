//! The vault's record of a set of recovery shares of the master key: hashes, never a share.

use crate::domain::hex;
use crate::domain::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareSet {
    /// The random name of the set.
    pub set: [u8; 4],
    /// The number of shares that restore the key.
    pub needed: u8,
    pub made_at: Timestamp,
    /// Identifies the master key that the shares restore, without revealing it.
    pub master: [u8; 8],
    /// The hash of each share, from number 1.
    pub hashes: Vec<[u8; 32]>,
}

impl ShareSet {
    pub fn has(&self, number: u8, hash: &[u8; 32]) -> bool {
        let at = usize::from(number).checked_sub(1);
        at.and_then(|at| self.hashes.get(at)).is_some_and(|known| known == hash)
    }

    /// The text in the audit chain: the set, the numbers of needed and of all shares, and the
    /// hashes.
    pub fn told(&self) -> String {
        let mut text =
            format!("{} {}-of-{}", hex::encode(&self.set), self.needed, self.hashes.len());
        for hash in &self.hashes {
            text.push(' ');
            text.push_str(&hex::encode(hash));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_of_a_set_by_its_number_and_its_hash() {
        let set = ShareSet {
            set: [0xab; 4],
            needed: 2,
            made_at: Timestamp::from_seconds(1),
            master: [3; 8],
            hashes: vec![[1; 32], [2; 32]],
        };
        assert!(set.has(1, &[1; 32]) && set.has(2, &[2; 32]));
        for (number, hash) in [(0, 1), (1, 2), (2, 1), (3, 2)] {
            assert!(!set.has(number, &[hash; 32]), "{number} {hash}");
        }
        assert!(set.told().starts_with("abababab 2-of-2 0101"), "{}", set.told());
        assert_eq!(set.told().split(' ').count(), 4);
    }
}
