//! The file's description of itself, in clear: its format, the program that set it, and its id.

use uuid::Uuid;

use crate::domain::origin::SystemUser;
use crate::domain::share_set::ShareSet;
use crate::domain::time::Timestamp;
use crate::store::change::Change;
use crate::store::engine::Moment;
use crate::store::engine::Row;
use crate::store::failure::StorageFailure;
use crate::store::record::encoding::{BadRecord, EncodeFailed};
use crate::store::record::share_set::{decode_share_set, encode_share_set};
use crate::store::snapshot::Snapshot;
use crate::store::tables::Table;
use crate::store::tables::meta as keys;

/// The file's format; `None` for a file of another program.
pub(super) fn format(snapshot: &Snapshot) -> Result<Option<u32>, StorageFailure> {
    let value = snapshot.value(Table::Meta, keys::FORMAT)?;
    Ok(value.and_then(|bytes| bytes.try_into().ok()).map(u32::from_be_bytes))
}

/// Returns true for rows of a version before the first release.
pub(super) fn is_unreleased(snapshot: &Snapshot) -> Result<bool, StorageFailure> {
    Ok(snapshot.value(Table::Meta, keys::UNRELEASED_FORMAT)?.is_some())
}

/// Identifies the vault.
pub fn file_id(snapshot: &Snapshot) -> Result<Option<Uuid>, StorageFailure> {
    let value = snapshot.value(Table::Meta, keys::FILE_ID)?;
    let damaged = |_| StorageFailure::Damaged(String::from("the file's id makes no sense"));
    value.map(|bytes| Uuid::from_slice(&bytes).map_err(damaged)).transpose()
}

/// The version of the program that set the file's format.
pub(super) fn program(snapshot: &Snapshot) -> Result<Option<String>, StorageFailure> {
    let value = snapshot.value(Table::Meta, keys::PROGRAM)?;
    Ok(value.and_then(|bytes| String::from_utf8(bytes).ok()))
}

/// The check value of the master key that seals the file's keys.
pub fn master_check(snapshot: &Snapshot) -> Result<Option<Vec<u8>>, StorageFailure> {
    snapshot.value(Table::Meta, keys::MASTER)
}

#[must_use]
pub fn put_master_check(change: Change, check: &[u8]) -> Change {
    change.put(Table::Meta, keys::MASTER.to_vec(), check.to_vec())
}

/// The newest backup's place in the history, without its digest.
pub fn backup_moment(snapshot: &Snapshot) -> Result<Option<Moment>, StorageFailure> {
    moment(snapshot, keys::BACKUP_MOMENT)
}

/// The end of the archive when a restore read it: the operator knows that the restored vault lacks
/// the changes up to there.
pub fn archive_seen(snapshot: &Snapshot) -> Result<Option<Moment>, StorageFailure> {
    moment(snapshot, keys::ARCHIVE_SEEN)
}

fn moment(snapshot: &Snapshot, row: &[u8]) -> Result<Option<Moment>, StorageFailure> {
    let value = snapshot.value(Table::Meta, row)?;
    Ok(value.and_then(|value| {
        let (timeline, sequence) = value.split_first_chunk()?;
        let sequence = u64::from_be_bytes(sequence.try_into().ok()?);
        Some(Moment { timeline: *timeline, sequence, ..Moment::default() })
    }))
}

fn moment_value(timeline: &[u8; 16], sequence: u64) -> Vec<u8> {
    [timeline.as_slice(), &sequence.to_be_bytes()].concat()
}

#[must_use]
pub fn put_archive_seen(timeline: &[u8; 16], sequence: u64) -> Change {
    let value = moment_value(timeline, sequence);
    Change::new().put(Table::Meta, keys::ARCHIVE_SEEN.to_vec(), value)
}

/// The time of that backup.
pub fn backup_time(snapshot: &Snapshot) -> Result<Option<Timestamp>, StorageFailure> {
    let value = snapshot.value(Table::Meta, keys::BACKUP_TIME)?;
    let micros = value.and_then(|value| value.try_into().ok()).map(i64::from_be_bytes);
    Ok(micros.map(Timestamp::from_micros))
}

#[must_use]
pub fn put_backup_moment(moment: Moment, at: Timestamp) -> Change {
    let value = moment_value(&moment.timeline, moment.sequence);
    Change::new().put(Table::Meta, keys::BACKUP_MOMENT.to_vec(), value).put(
        Table::Meta,
        keys::BACKUP_TIME.to_vec(),
        at.micros().to_be_bytes().to_vec(),
    )
}

/// The state of scheduled backups, as [`crate::store::record`] encodes it.
pub fn backups(snapshot: &Snapshot) -> Result<Option<Vec<u8>>, StorageFailure> {
    snapshot.value(Table::Meta, keys::BACKUPS)
}

/// During a backup or a proof: the state that applies if the process dies before it ends.
pub fn backups_if_cut_off(snapshot: &Snapshot) -> Result<Option<Vec<u8>>, StorageFailure> {
    snapshot.value(Table::Meta, keys::BACKUPS_IF_CUT_OFF)
}

/// Stores the state after a backup or a proof.
#[must_use]
pub fn put_backups(record: Vec<u8>) -> Change {
    Change::new()
        .put(Table::Meta, keys::BACKUPS.to_vec(), record)
        .delete(Table::Meta, keys::BACKUPS_IF_CUT_OFF.to_vec())
}

#[must_use]
pub fn put_backups_if_cut_off(record: Vec<u8>) -> Change {
    Change::new().put(Table::Meta, keys::BACKUPS_IF_CUT_OFF.to_vec(), record)
}

pub fn share_set(snapshot: &Snapshot, set: [u8; 4]) -> Result<Option<ShareSet>, StorageFailure> {
    let value = snapshot.value(Table::Meta, &keys::share_set(set))?;
    value.map(|value| decoded(set, &value)).transpose()
}

pub fn share_sets(snapshot: &Snapshot) -> Result<Vec<ShareSet>, StorageFailure> {
    let rows = snapshot.first(&keys::share_sets(), usize::MAX)?;
    let mut sets = Vec::with_capacity(rows.len());
    for row in &rows {
        sets.extend(share_set_of_row(row)?);
    }
    Ok(sets)
}

/// The set in a row of [`Table::Meta`]; `None` for any other row.
pub fn share_set_of_row((key, value): &Row) -> Result<Option<ShareSet>, StorageFailure> {
    keys::share_set_of_key(key).map(|set| decoded(set, value)).transpose()
}

fn decoded(set: [u8; 4], value: &[u8]) -> Result<ShareSet, StorageFailure> {
    let damaged = |BadRecord| StorageFailure::Damaged(String::from("a set of recovery shares"));
    decode_share_set(set, value).map_err(damaged)
}

pub fn put_share_set(change: Change, set: &ShareSet) -> Result<Change, EncodeFailed> {
    Ok(change.put(Table::Meta, keys::share_set(set.set), encode_share_set(set)?))
}

/// The time when the file was restored from a backup, and the user who did it. They are kept until
/// the audit chain has an entry for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restoration {
    pub at: Timestamp,
    pub by: Option<SystemUser>,
}

pub fn restoration(snapshot: &Snapshot) -> Result<Option<Restoration>, StorageFailure> {
    let value = snapshot.value(Table::Meta, keys::RESTORED_AT)?;
    let Some(value) = value else { return Ok(None) };
    let damaged =
        || StorageFailure::Damaged(String::from("the time of the restoration makes no sense"));
    decode_restoration(&value).ok_or_else(damaged).map(Some)
}

/// As the kernel writes it.
const NO_LOGIN: u32 = u32::MAX;

/// The time in microseconds, then the user's number, login number and name, if known.
fn decode_restoration(value: &[u8]) -> Option<Restoration> {
    let (at, user) = value.split_first_chunk()?;
    let at = Timestamp::from_micros(i64::from_be_bytes(*at));
    if user.is_empty() {
        return Some(Restoration { at, by: None });
    }
    let (uid, rest) = user.split_first_chunk()?;
    let (login, name) = rest.split_first_chunk()?;
    let login = Some(u32::from_be_bytes(*login)).filter(|login| *login != NO_LOGIN);
    let name = Some(str::from_utf8(name).ok()?).filter(|name| !name.is_empty()).map(Box::from);
    Some(Restoration { at, by: Some(SystemUser { uid: u32::from_be_bytes(*uid), name, login }) })
}

/// Marks a file as restored, and deletes the state for an interrupted backup: the restored rows
/// were read during a backup.
#[must_use]
pub fn put_restored(restoration: &Restoration) -> Change {
    let mut value = restoration.at.micros().to_be_bytes().to_vec();
    if let Some(SystemUser { uid, name, login }) = &restoration.by {
        value.extend(uid.to_be_bytes());
        value.extend(login.unwrap_or(NO_LOGIN).to_be_bytes());
        value.extend(name.as_deref().unwrap_or_default().bytes());
    }
    Change::new()
        .put(Table::Meta, keys::RESTORED_AT.to_vec(), value)
        .delete(Table::Meta, keys::BACKUPS_IF_CUT_OFF.to_vec())
}

#[must_use]
pub fn forget_restored() -> Change {
    Change::new().delete(Table::Meta, keys::RESTORED_AT.to_vec())
}

/// Sets the format, and this program's version with it.
pub(super) fn put_format(change: Change, format: u32) -> Change {
    change.put(Table::Meta, keys::FORMAT.to_vec(), format.to_be_bytes().to_vec()).put(
        Table::Meta,
        keys::PROGRAM.to_vec(),
        env!("CARGO_PKG_VERSION").as_bytes().to_vec(),
    )
}

pub(super) fn put_file_id(change: Change, id: [u8; 16]) -> Change {
    change.put(Table::Meta, keys::FILE_ID.to_vec(), id.to_vec())
}
