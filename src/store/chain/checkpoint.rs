//! Checkpoints: signed links of the chain.
//!
//! A checkpoint is signed with Ed25519 over a label, the file's id, the number of entries and its
//! body. The body is the signing key's number (4), the number of entries of the previous checkpoint
//! (8), the time (8), the link (32), and the state of the records: their generation (8), their
//! number (8) and a commitment to their digest (32). The value in the file is a version byte (1),
//! the body and the signature. If there are several shards, the lists of their [`Heads`] and of
//! their [`ShardStates`] follow, which the link and the commitment sign.

use crate::crypto::{Link, SIGNATURE_BYTES, SigningKey, is_signed_by};
use crate::domain::time::Timestamp;
use crate::store::chain::heads::Heads;
use crate::store::chain::row::Head;
use crate::store::chain::states::ShardStates;
use crate::store::change::Change;
use crate::store::failure::StorageFailure;
use crate::store::snapshot::Snapshot;
use crate::store::tables::meta;
use crate::store::tables::{self, Table};

const VERSION: u8 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checkpoint {
    /// The number of entries that the checkpoint covers.
    pub sequence: u64,
    /// The number of entries of the previous checkpoint.
    pub previous: u64,
    pub at: Timestamp,
    pub link: Link,
    /// The number of the signing key.
    pub signer: u32,
    pub state: RecordState,
    pub signature: [u8; SIGNATURE_BYTES],
}

/// The state of the live records of all shards at a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecordState {
    /// The sum of the shards' generations; 0 if the checkpoint does not cover the records.
    pub generation: u64,
    pub count: u64,
    /// To the states of all shards, as [`ShardStates::whole`] makes it.
    pub commitment: [u8; 32],
}

/// A copy of a checkpoint for storage outside the vault, with everything needed to check it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    pub file: [u8; 16],
    pub public_key: [u8; 32],
    pub checkpoint: Checkpoint,
}

/// The purpose of a signature. It is signed too, so that a signature of one kind is not valid as
/// another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignatureKind {
    Checkpoint,
    /// The start of the chain, after older entries were removed.
    Start,
}

#[derive(Debug, Clone, Copy)]
pub struct Statement {
    pub signed: SignatureKind,
    pub file: [u8; 16],
    pub head: Head,
    pub previous: u64,
    pub at: Timestamp,
    /// The number of the signing key.
    pub signer: u32,
    pub state: RecordState,
}

impl Statement {
    pub fn sign(&self, key: &SigningKey) -> Checkpoint {
        let Self { signed, file, head, previous, at, signer, state } = *self;
        let Head { next: sequence, link } = head;
        let signature = [0; SIGNATURE_BYTES];
        let unsigned = Checkpoint { sequence, previous, at, link, signer, state, signature };
        Checkpoint { signature: key.sign(&unsigned.message(signed, &file)), ..unsigned }
    }
}

impl Checkpoint {
    /// The state of the records, if the checkpoint covers them.
    pub fn records(&self) -> Option<RecordState> {
        Some(self.state).filter(|state| state.generation > 0)
    }

    pub fn head(&self) -> Head {
        Head { next: self.sequence, link: self.link }
    }

    pub fn is_signed_by(&self, public: &[u8; 32], signed: SignatureKind, file: &[u8; 16]) -> bool {
        is_signed_by(public, &self.message(signed, file), &self.signature)
    }

    fn message(&self, signed: SignatureKind, file: &[u8; 16]) -> Vec<u8> {
        let label: &[u8] = match signed {
            SignatureKind::Checkpoint => b"strongroom audit checkpoint 1\0",
            SignatureKind::Start => b"strongroom audit start 1\0",
        };
        [label, file, &self.sequence.to_be_bytes(), &self.body()].concat()
    }

    fn body(&self) -> Vec<u8> {
        let RecordState { generation, count, commitment } = self.state;
        [
            self.signer.to_be_bytes().as_slice(),
            &self.previous.to_be_bytes(),
            &self.at.micros().to_be_bytes(),
            self.link.bytes(),
            &generation.to_be_bytes(),
            &count.to_be_bytes(),
            &commitment,
        ]
        .concat()
    }

    pub(in crate::store) fn value(&self, heads: &Heads, states: &ShardStates) -> Vec<u8> {
        let mut value = [&[VERSION], self.body().as_slice(), &self.signature].concat();
        if !heads.is_one() || !states.is_one() {
            value.extend(heads.list());
            value.extend(states.list());
        }
        value
    }

    /// `None` unless the heads and the states are exactly those that were signed.
    pub(in crate::store) fn decode(
        sequence: &[u8],
        value: &[u8],
    ) -> Option<(Self, Heads, ShardStates)> {
        let sequence = u64::from_be_bytes(sequence.try_into().ok()?);
        let mut rest = value.strip_prefix(&[VERSION])?;
        let signer = u32::from_be_bytes(take(&mut rest)?);
        let previous = u64::from_be_bytes(take(&mut rest)?);
        let at = Timestamp::from_micros(i64::from_be_bytes(take(&mut rest)?));
        let link = Link::from_bytes(take(&mut rest)?);
        let generation = u64::from_be_bytes(take(&mut rest)?);
        let count = u64::from_be_bytes(take(&mut rest)?);
        let state = RecordState { generation, count, commitment: take(&mut rest)? };
        let signature = take(&mut rest)?;
        let checkpoint = Self { sequence, previous, at, link, signer, state, signature };
        if rest.is_empty() {
            let (heads, states) = (Heads::of_one(checkpoint.head()), ShardStates::of_one(state));
            return Some((checkpoint, heads, states));
        }
        let (heads, states) = (Heads::take(&mut rest)?, ShardStates::take(&mut rest)?);
        let are_signed =
            heads.position() == checkpoint.head() && states.whole(state.count) == state;
        let has_one_form = checkpoint.value(&heads, &states) == value;
        (are_signed && has_one_form).then_some((checkpoint, heads, states))
    }

    pub fn newest(snapshot: &Snapshot) -> Result<Option<Self>, StorageFailure> {
        Ok(Self::newest_with_heads(snapshot)?.map(|(newest, _)| newest))
    }

    pub fn newest_with_heads(snapshot: &Snapshot) -> Result<Option<(Self, Heads)>, StorageFailure> {
        Ok(Self::newest_row(snapshot)?.map(|(newest, heads, _)| (newest, heads)))
    }

    /// The states of the records at the newest checkpoint; empty if it does not cover them.
    pub fn newest_states(snapshot: &Snapshot) -> Result<ShardStates, StorageFailure> {
        Ok(Self::newest_row(snapshot)?.map(|(_, _, states)| states).unwrap_or_default())
    }

    fn newest_row(
        snapshot: &Snapshot,
    ) -> Result<Option<(Self, Heads, ShardStates)>, StorageFailure> {
        let last = snapshot.range_backwards(&Table::AuditCheckpoints.whole())?.next();
        Ok(last.transpose()?.and_then(|(key, value)| Self::decode(&key, &value)))
    }

    pub fn oldest(
        snapshot: &Snapshot,
        count_max: usize,
    ) -> Result<Vec<(Self, Heads)>, StorageFailure> {
        let stored = snapshot.first(&Table::AuditCheckpoints.whole(), count_max)?;
        let decoded = stored.iter().filter_map(|(key, value)| Self::decode(key, value));
        Ok(decoded.map(|(checkpoint, heads, _)| (checkpoint, heads)).collect())
    }

    /// Reads the start of the chain; `None` if the chain starts at its first entry.
    pub fn start(snapshot: &Snapshot) -> Result<Option<Self>, StorageFailure> {
        Ok(Self::start_with_heads(snapshot)?.map(|(start, _)| start))
    }

    pub fn start_with_heads(snapshot: &Snapshot) -> Result<Option<(Self, Heads)>, StorageFailure> {
        let value = snapshot.value(Table::Meta, meta::AUDIT_START)?;
        Ok(value.as_deref().and_then(|value| {
            let (sequence, value) = value.split_at_checked(8)?;
            Self::decode(sequence, value).map(|(start, heads, _)| (start, heads))
        }))
    }

    pub fn keep(&self, heads: &Heads, states: &ShardStates) -> Change {
        let key = tables::audit_checkpoints(self.sequence);
        Change::new()
            .expect_absent(Table::AuditCheckpoints, key.clone())
            .put(Table::Meta, meta::AUDIT_NEWEST_CHECKPOINT.to_vec(), key.clone())
            .put(Table::AuditCheckpoints, key, self.value(heads, states))
    }

    /// Makes this checkpoint the start of the chain. Older entries may be removed afterwards.
    pub fn keep_as_start(&self, heads: &Heads) -> Change {
        // A start does not cover the records.
        let value = self.value(heads, &ShardStates::default());
        let value = [self.sequence.to_be_bytes().as_slice(), &value].concat();
        Change::new().put(Table::Meta, meta::AUDIT_START.to_vec(), value)
    }
}

pub(super) fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(*taken)
}
