//! The ends of the chains of all shards.
//!
//! A checkpoint signs them as one position: the number of all entries, and one link. With one chain
//! this is the chain's own link. With several it is a hash over the list of all heads, which is in
//! the checkpoint's row: the number of heads (2), then each shard (2), the number of its next entry
//! (8) and its link (32).

use std::collections::BTreeMap;

use crate::crypto::{Link, Sha256};
use crate::store::chain::checkpoint::take;
use crate::store::chain::row::Head;
use crate::store::failure::StorageFailure;
use crate::store::snapshot::Snapshot;
use crate::store::tables::{Shard, meta};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Heads(BTreeMap<Shard, Head>);

const LABEL: &[u8] = b"strongroom audit heads 1\0";

impl Heads {
    pub fn read(snapshot: &Snapshot) -> Result<Self, StorageFailure> {
        let damaged = || StorageFailure::Damaged(String::from("the audit chain's heads"));
        let rows = snapshot.first(&meta::audit_heads(), usize::MAX)?;
        let heads = rows.iter().map(|(key, value)| {
            let shard = meta::shard_of_key(key).ok_or_else(damaged)?;
            Ok((shard, Head::decode(shard, value)?))
        });
        Ok(Self(heads.collect::<Result<_, StorageFailure>>()?))
    }

    pub fn of(&self, shard: Shard) -> Head {
        self.0.get(&shard).copied().unwrap_or_else(|| Head::first(shard))
    }

    pub fn all(&self) -> impl Iterator<Item = (Shard, Head)> {
        self.0.iter().map(|(shard, head)| (*shard, *head))
    }

    pub(super) fn set(&mut self, shard: Shard, head: Head) {
        self.0.insert(shard, head);
    }

    /// The head of the vault's own chain alone.
    pub(super) fn of_one(head: Head) -> Self {
        Self(BTreeMap::from([(Shard::VAULT, head)]))
    }

    /// Returns true if only the vault's own chain has entries.
    pub fn is_one(&self) -> bool {
        self.0.keys().all(|shard| *shard == Shard::VAULT)
    }

    /// All chains as one position.
    pub fn position(&self) -> Head {
        if self.is_one() {
            return self.of(Shard::VAULT);
        }
        let count =
            |(shard, head): (&Shard, &Head)| head.next.saturating_sub(shard.entries().start);
        let next = self.0.iter().map(count).fold(0, u64::saturating_add);
        let mut hash = Sha256::new();
        hash.update(LABEL);
        hash.update(&self.list());
        Head { next, link: Link::from_bytes(hash.finish()) }
    }

    pub(super) fn list(&self) -> Vec<u8> {
        let count = u16::try_from(self.0.len()).unwrap_or(u16::MAX);
        let mut bytes = count.to_be_bytes().to_vec();
        for (shard, head) in &self.0 {
            bytes.extend(shard.number().to_be_bytes());
            bytes.extend(head.encode());
        }
        bytes
    }

    pub(super) fn take(rest: &mut &[u8]) -> Option<Self> {
        let mut heads = BTreeMap::new();
        for _ in 0..u16::from_be_bytes(take(rest)?) {
            let shard = Shard::new(u16::from_be_bytes(take(rest)?));
            let next = u64::from_be_bytes(take(rest)?);
            heads.insert(shard, Head { next, link: Link::from_bytes(take(rest)?) });
        }
        Some(Self(heads))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heads(list: &[(u16, u64)]) -> Heads {
        let head = |(shard, count): &(u16, u64)| {
            let shard = Shard::new(*shard);
            (shard, Head { next: shard.entries().start + count, link: Link::from_bytes([7; 32]) })
        };
        Heads(list.iter().map(head).collect())
    }

    #[test]
    fn the_position_counts_the_entries_of_all_chains() {
        for list in [&[(0, 3)][..], &[(0, 3), (5, 4)], &[(1, 1)], &[(0, 0), (2, 9), (16, 1)]] {
            let count = list.iter().map(|(_, count)| count).sum::<u64>();
            assert_eq!(heads(list).position().next, count);
        }
    }

    #[test]
    fn moving_an_entry_to_another_shard_changes_the_position() {
        assert_ne!(heads(&[(1, 2), (2, 1)]).position(), heads(&[(1, 1), (2, 2)]).position());
        assert_ne!(heads(&[(0, 3)]).position(), heads(&[(1, 3)]).position());
    }
}
