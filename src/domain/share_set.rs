//! A set of recovery shares of the master key, as the vault remembers it: hashes, never a share.

use crate::domain::hex;
use crate::domain::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareSet {
    /// Names the set; random.
    pub set: [u8; 4],
    /// The number of shares that give the key back.
    pub needed: u8,
    pub made_at: Timestamp,
    /// Of each share, from number 1 on.
    pub hashes: Vec<[u8; 32]>,
}

impl ShareSet {
    /// Whether a share of this number and this hash is one of the set.
    pub fn has(&self, number: u8, hash: &[u8; 32]) -> bool {
        let at = usize::from(number).checked_sub(1);
        at.and_then(|at| self.hashes.get(at)).is_some_and(|known| known == hash)
    }

    /// As the audit chain has it: the set, how many are needed of how many, and the hashes in order.
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
