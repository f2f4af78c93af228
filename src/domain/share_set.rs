//! The vault's record of a set of recovery shares of the master key: hashes, never a share.

use crate::bounds::KEEPER_CHARS_MAX;
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
    /// The names of the keepers in the order of their shares, each sealed to the keeper's own key.
    /// Empty for shares that were made in clear.
    pub keepers: Vec<String>,
}

/// A name that is safe in file names, reports and the audit chain.
pub fn is_keeper_name(text: &str) -> bool {
    (1..=KEEPER_CHARS_MAX).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.@".contains(&byte))
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
        for keeper in &self.keepers {
            text.push_str(" keeper=");
            text.push_str(keeper);
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
            keepers: vec![String::from("ana"), String::from("bo@x.org")],
        };
        assert!(set.has(1, &[1; 32]) && set.has(2, &[2; 32]));
        for (number, hash) in [(0, 1), (1, 2), (2, 1), (3, 2)] {
            assert!(!set.has(number, &[hash; 32]), "{number} {hash}");
        }
        assert!(set.told().starts_with("abababab 2-of-2 0101"), "{}", set.told());
        assert!(set.told().ends_with(" keeper=ana keeper=bo@x.org"), "{}", set.told());
        assert_eq!(ShareSet { keepers: Vec::new(), ..set }.told().split(' ').count(), 4);
    }

    #[test]
    fn names_of_keepers_are_plain_words() {
        let long = "n".repeat(KEEPER_CHARS_MAX);
        for name in ["ana", "a.b@shop.example", "Bo_2-x", &long] {
            assert!(is_keeper_name(name), "{name}");
        }
        for name in ["", "a b", "a/b", "\u{e9}", "a=b", "a\n", &format!("{long}n")] {
            assert!(!is_keeper_name(name), "{name}");
        }
    }
}
