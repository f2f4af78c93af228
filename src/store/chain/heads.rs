//! The ends of the chains of all shards.
//!
//! A checkpoint signs them as one position: the number of all entries, and one link. With one chain
//! this is the chain's own link. With several it is a hash over all heads, and the row of the
//! checkpoint lists them behind the signature: the number of heads (2), then each shard (2), the
//! number of its next entry (8) and its link (32).

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
        hash.update(&self.encode());
        Head { next, link: Link::from_bytes(hash.finish()) }
    }

    /// Empty for one chain, whose head the checkpoint itself names.
    pub(super) fn encode(&self) -> Vec<u8> {
        if self.is_one() {
            return Vec::new();
        }
        let count = u16::try_from(self.0.len()).unwrap_or(u16::MAX);
        let mut bytes = count.to_be_bytes().to_vec();
        for (shard, head) in &self.0 {
            bytes.extend(shard.number().to_be_bytes());
            bytes.extend(head.encode());
        }
        bytes
    }

    /// The heads of a signed position; `None` unless they are exactly those that were signed.
    pub(super) fn decode(signed: Head, bytes: &[u8]) -> Option<Self> {
        if bytes.is_empty() {
            return Some(Self(BTreeMap::from([(Shard::VAULT, signed)])));
        }
        let mut rest = bytes;
        let count = u16::from_be_bytes(take(&mut rest)?);
        let mut heads = BTreeMap::new();
        for _ in 0..count {
            let shard = Shard::new(u16::from_be_bytes(take(&mut rest)?));
            let next = u64::from_be_bytes(take(&mut rest)?);
            heads.insert(shard, Head { next, link: Link::from_bytes(take(&mut rest)?) });
        }
        let heads = Self(heads);
        (rest.is_empty() && heads.encode() == bytes && heads.position() == signed).then_some(heads)
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
    fn heads_are_read_as_they_were_signed_and_no_others_are() {
        for list in [&[(0, 3)][..], &[(0, 3), (5, 4)], &[(1, 1)], &[(0, 0), (2, 9), (16, 1)]] {
            let heads = heads(list);
            let signed = heads.position();
            assert_eq!(signed.next, list.iter().map(|(_, count)| count).sum::<u64>());
            assert_eq!(Heads::decode(signed, &heads.encode()), Some(heads.clone()));
            let other = Head { next: signed.next + 1, ..signed };
            assert!(heads.is_one() || Heads::decode(other, &heads.encode()).is_none());
            let mut longer = heads.encode();
            longer.push(0);
            assert_eq!(Heads::decode(signed, &longer), None);
        }
    }

    #[test]
    fn moving_an_entry_to_another_shard_changes_the_position() {
        assert_ne!(heads(&[(1, 2), (2, 1)]).position(), heads(&[(1, 1), (2, 2)]).position());
        assert_ne!(heads(&[(0, 3)]).position(), heads(&[(1, 3)]).position());
    }
}
