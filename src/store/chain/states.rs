//! The states of the records of all shards at a checkpoint.
//!
//! A checkpoint signs them as one [`RecordState`]: the sum of the generations, and one commitment.
//! With one shard the commitment is the shard's own. With several it is a hash over the list of all
//! states, which is in the checkpoint's row: the number of states (2), then each shard (2), its
//! generation (8) and the commitment to its digest (32).
//!
//! States are compared shard by shard. Their sum would hide a shard that was rolled back while
//! others were written.

use std::collections::BTreeMap;

use crate::crypto::Sha256;
use crate::store::chain::checkpoint::{RecordState, take};
use crate::store::tables::Shard;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ShardStates(BTreeMap<Shard, ShardState>);

/// The state of the records of one shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShardState {
    pub generation: u64,
    /// Made by [`crate::crypto::DigestKey::commitment`].
    pub commitment: [u8; 32],
}

/// The sign that the records of a shard were rolled back between two states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rollback {
    /// Its generation is lower, or it is missing.
    Older,
    /// Its generation is the same, and its records are others.
    Other,
}

const LABEL: &[u8] = b"strongroom audit records 1\0";

impl ShardStates {
    pub fn new(states: impl Iterator<Item = (Shard, ShardState)>) -> Self {
        Self(states.collect())
    }

    /// The state that a checkpoint of one shard signs; empty if it does not cover the records.
    pub(super) fn of_one(signed: RecordState) -> Self {
        let RecordState { generation, commitment, .. } = signed;
        let state = (generation > 0).then_some(ShardState { generation, commitment });
        Self(state.into_iter().map(|state| (Shard::VAULT, state)).collect())
    }

    /// Returns true if only the vault's own shard has records.
    pub(super) fn is_one(&self) -> bool {
        self.0.keys().all(|shard| *shard == Shard::VAULT)
    }

    /// All states as one. `count` is the number of all records.
    pub fn whole(&self, count: u64) -> RecordState {
        let generations = self.0.values().map(|state| state.generation);
        let generation = generations.fold(0, u64::saturating_add);
        let commitment = match self.0.get(&Shard::VAULT) {
            Some(state) if self.is_one() => state.commitment,
            None if self.0.is_empty() => [0; 32],
            _ => {
                let mut hash = Sha256::new();
                hash.update(LABEL);
                hash.update(&self.list());
                hash.finish()
            }
        };
        RecordState { generation, count, commitment }
    }

    /// The shards whose state in `later` does not follow the one here.
    pub fn rolled_back_in(&self, later: &Self) -> Vec<(Shard, Rollback)> {
        let rolled_back = |(shard, before): (&Shard, &ShardState)| {
            let after = later.0.get(shard);
            let rollback = match after.map(|after| after.generation.cmp(&before.generation)) {
                Some(std::cmp::Ordering::Greater) => return None,
                Some(std::cmp::Ordering::Equal) if after == Some(before) => return None,
                Some(std::cmp::Ordering::Equal) => Rollback::Other,
                Some(std::cmp::Ordering::Less) | None => Rollback::Older,
            };
            Some((*shard, rollback))
        };
        self.0.iter().filter_map(rolled_back).collect()
    }

    pub(super) fn list(&self) -> Vec<u8> {
        let count = u16::try_from(self.0.len()).unwrap_or(u16::MAX);
        let mut bytes = count.to_be_bytes().to_vec();
        for (shard, state) in &self.0 {
            bytes.extend(shard.number().to_be_bytes());
            bytes.extend(state.generation.to_be_bytes());
            bytes.extend(state.commitment);
        }
        bytes
    }

    pub(super) fn take(rest: &mut &[u8]) -> Option<Self> {
        let mut states = BTreeMap::new();
        for _ in 0..u16::from_be_bytes(take(rest)?) {
            let shard = Shard::new(u16::from_be_bytes(take(rest)?));
            let generation = u64::from_be_bytes(take(rest)?);
            states.insert(shard, ShardState { generation, commitment: take(rest)? });
        }
        Some(Self(states))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn states(list: &[(u16, u64, u8)]) -> ShardStates {
        let state = |&(shard, generation, digest): &(u16, u64, u8)| {
            (Shard::new(shard), ShardState { generation, commitment: [digest; 32] })
        };
        ShardStates::new(list.iter().map(state))
    }

    #[test]
    fn a_shard_that_goes_back_is_found_whatever_the_others_did() {
        let before = states(&[(0, 4, 1), (1, 9, 1), (2, 5, 1)]);
        let found = |later: &[(u16, u64, u8)]| before.rolled_back_in(&states(later));
        assert_eq!(found(&[(0, 4, 1), (1, 9, 1), (2, 5, 1)]), []);
        assert_eq!(found(&[(0, 4, 1), (1, 10, 2), (2, 5, 1), (3, 1, 1)]), []);
        let one = [(Shard::new(1), Rollback::Older)];
        assert_eq!(found(&[(0, 40, 2), (1, 8, 3), (2, 50, 2)]), one);
        assert_eq!(found(&[(0, 40, 2), (2, 50, 2)]), one, "a digest that was removed");
        assert_eq!(found(&[(0, 40, 2), (1, 9, 2), (2, 5, 1)]), [(Shard::new(1), Rollback::Other)]);
        assert_eq!(ShardStates::default().rolled_back_in(&before), []);
    }

    #[test]
    fn the_whole_of_several_states_is_another_one_after_any_change_of_one() {
        let whole = |list: &[(u16, u64, u8)]| states(list).whole(7);
        let known = whole(&[(0, 4, 1), (1, 9, 1)]);
        assert_eq!((known.generation, known.count), (13, 7));
        for other in [[(0, 5, 1), (1, 8, 1)], [(0, 4, 1), (2, 9, 1)], [(0, 4, 1), (1, 9, 2)]] {
            assert_ne!(whole(&other).commitment, known.commitment);
        }
        let one = whole(&[(0, 4, 1)]);
        assert_eq!((one.generation, one.commitment), (4, [1; 32]), "one shard signs its own");
        assert_eq!(ShardStates::of_one(one), states(&[(0, 4, 1)]));
        assert_eq!(ShardStates::default().whole(0), RecordState::default());
    }
}
