//! Facts about keys and rotations that the file holds in clear, in [`Table::Meta`]: the times at
//! which keys were made and destroyed, the phases of rotations, and the check value of the previous
//! master key.

use crate::crypto::{MasterKey, Phase};
use crate::domain::time::Timestamp;
use crate::store::tables::meta;
use crate::store::{Change, Snapshot, StorageFailure, Table};

/// A rotation under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::app) struct Rotation {
    pub(in crate::app) scope: [u8; 16],
    pub(in crate::app) phase: Phase,
    pub(in crate::app) started_at: Timestamp,
}

/// Both are `None` for a key that was made before the file recorded them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::app) struct KeyFacts {
    pub(in crate::app) made_at: Option<Timestamp>,
    pub(in crate::app) destroyed_at: Option<Timestamp>,
}

impl Rotation {
    pub(in crate::app) fn place(scope: &[u8; 16]) -> Vec<u8> {
        meta::rotation(scope)
    }

    pub(in crate::app) fn value(&self) -> Vec<u8> {
        [&[self.phase.code()][..], &micros(self.started_at)].concat()
    }

    pub(in crate::app) fn of(
        snapshot: &Snapshot,
        scope: &[u8; 16],
    ) -> Result<Option<Self>, StorageFailure> {
        let value = snapshot.value(Table::Meta, &Self::place(scope))?;
        value.map(|value| Self::decode(*scope, &value).ok_or_else(damaged)).transpose()
    }

    /// The rotation that is worked on.
    pub(in crate::app) fn first(snapshot: &Snapshot) -> Result<Option<Self>, StorageFailure> {
        Ok(Self::all(snapshot)?.into_iter().next())
    }

    /// In the order in which they began. In the order of scopes, one that begins later could come
    /// before the one that is worked on, whose walk would start over.
    pub(in crate::app) fn all(snapshot: &Snapshot) -> Result<Vec<Self>, StorageFailure> {
        let found = snapshot.first(&meta::rotations(), usize::MAX)?;
        let read = |(key, value): &(Vec<u8>, Vec<u8>)| {
            let rotation = meta::rotation_of_key(key).and_then(|scope| Self::decode(scope, value));
            rotation.ok_or_else(damaged)
        };
        let mut rotations = found.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        rotations.sort_unstable_by_key(|rotation| (rotation.started_at, rotation.scope));
        Ok(rotations)
    }

    fn decode(scope: [u8; 16], value: &[u8]) -> Option<Self> {
        let (code, started_at) = value.split_first()?;
        let phase = Phase::from_code(*code)?;
        Some(Self { scope, phase, started_at: time(started_at)? })
    }
}

impl KeyFacts {
    /// `key` is the key's place in [`Table::Keys`].
    pub(in crate::app) fn of(snapshot: &Snapshot, key: &[u8]) -> Result<Self, StorageFailure> {
        let value = snapshot.value(Table::Meta, &meta::key_facts(key))?;
        Ok(value.map_or_else(Self::default, |value| Self::decode(&value)))
    }

    /// With the places of the keys.
    pub(in crate::app) fn under(
        snapshot: &Snapshot,
        scope: &[u8; 16],
    ) -> Result<Vec<(Vec<u8>, Self)>, StorageFailure> {
        let found = snapshot.first(&meta::key_facts_of(scope), usize::MAX)?;
        let own = |(key, value): &(Vec<u8>, Vec<u8>)| {
            Some((meta::key_of_facts(key)?.to_vec(), Self::decode(value)))
        };
        Ok(found.iter().filter_map(own).collect())
    }

    pub(in crate::app) fn put(self, key: &[u8]) -> Change {
        let written = |at: Option<Timestamp>| at.map_or([0; 8], micros);
        let value = [written(self.made_at), written(self.destroyed_at)].concat();
        Change::new().put(Table::Meta, meta::key_facts(key), value)
    }

    fn decode(value: &[u8]) -> Self {
        let at = |from: usize| {
            let at = value.get(from..).and_then(|rest| rest.first_chunk::<8>());
            at.and_then(|bytes| time(bytes)).filter(|at| at.micros() != 0)
        };
        Self { made_at: at(0), destroyed_at: at(8) }
    }
}

pub(in crate::app) fn put_master_made(at: Timestamp) -> Change {
    Change::new().put(Table::Meta, meta::MASTER_MADE.to_vec(), micros(at).to_vec())
}

pub(in crate::app) fn master_made(
    snapshot: &Snapshot,
) -> Result<Option<Timestamp>, StorageFailure> {
    Ok(snapshot.value(Table::Meta, meta::MASTER_MADE)?.and_then(|value| time(&value)))
}

pub(in crate::app) fn put_master_before(check: [u8; 8], at: Timestamp) -> Change {
    let value = [check, micros(at)].concat();
    Change::new().put(Table::Meta, meta::MASTER_BEFORE.to_vec(), value)
}

pub(in crate::app) fn master_before(
    snapshot: &Snapshot,
) -> Result<Option<[u8; 8]>, StorageFailure> {
    let value = snapshot.value(Table::Meta, meta::MASTER_BEFORE)?;
    Ok(value.and_then(|value| value.first_chunk::<8>().copied()))
}

/// `None` unless this is the previous master key.
pub(in crate::app) fn master_replaced(
    snapshot: &Snapshot,
    master: &MasterKey,
) -> Result<Option<Timestamp>, StorageFailure> {
    let value = snapshot.value(Table::Meta, meta::MASTER_BEFORE)?;
    Ok(value.and_then(|value| {
        let (before, at) = value.split_first_chunk::<8>()?;
        time(at).filter(|_| before == master.check())
    }))
}

/// A damaged record of a rotation is an error: reading it as no rotation would select wrong keys.
fn damaged() -> StorageFailure {
    StorageFailure::Damaged(String::from("the state of a rotation makes no sense"))
}

const fn micros(at: Timestamp) -> [u8; 8] {
    at.micros().to_be_bytes()
}

fn time(bytes: &[u8]) -> Option<Timestamp> {
    bytes.try_into().ok().map(|bytes| Timestamp::from_micros(i64::from_be_bytes(bytes)))
}
