//! Migration of an older file to this program's format.
//!
//! The migration first writes a backup of the unchanged file beside it. Then it runs the steps.
//! Each step goes from one format to the next in one transaction, which also sets the new format.
//! After a crash the file is therefore in one of the two formats and never between them. A step
//! writes its rows in chunks, so that its memory does not grow with the file.
//!
//! A process that is killed while it writes the backup leaves an unfinished file. The next
//! migration removes that file. It holds the lock of the data file, so no other process can be
//! writing one.

mod fewer_rows;
mod old_file;
mod step_rows;
mod steps;

use std::path::{Path, PathBuf};

use crate::bounds::{CACHE_BYTES, MIGRATION_BACKUPS_MAX};
use crate::crypto::{BackupKey, MasterKey, Random};
use crate::domain::time::Timestamp;
use crate::store::backup::format::BackupFailure;
use crate::store::backup::reader::Reader;
use crate::store::backup::{self, SnapshotTimes};
use crate::store::change::Change;
use crate::store::engine::local::database::GuardedDatabase;
use crate::store::engine::local::file::{self, DataFile};
use crate::store::failure::{OpenFailure, StorageFailure};
use crate::store::handle::Store;
use crate::store::meta;
use crate::store::migration::fewer_rows::write_fewer_rows;
use crate::store::migration::old_file::OldFile;
use crate::store::migration::step_rows::StepRows;
use crate::store::migration::steps::{keep_rows, separate_master_keys, tell_vaults_apart};
use crate::store::opening::{FORMAT, check_format, first_look};
use crate::store::snapshot::Snapshot;
use crate::store::volume::{Directory, Volume};

/// The result of a migration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigrationSummary {
    pub from: u32,
    /// The backup of the file before the migration.
    pub backup: PathBuf,
}

/// The reason why a file was not migrated. The file is unchanged or in an intermediate format.
#[derive(Debug)]
pub enum MigrationFailure {
    /// The backup failed, and a migration without a backup could not be undone.
    Backup(PathBuf, BackupFailure),
    File(OpenFailure),
    WrongMasterKey,
}

/// Writes the rows of the next format. The missing tables exist already.
type Step = fn(&OldFile<'_>, &mut StepRows<'_>) -> Result<(), StorageFailure>;

/// The steps, each with the format that it migrates from.
const STEPS: &[(u32, Step)] = &[
    (1, tell_vaults_apart),
    (2, separate_master_keys),
    (3, write_fewer_rows),
    (4, keep_rows),
    (5, keep_rows),
];

impl Store {
    /// Migrates a closed file of an older format to [`FORMAT`].
    pub fn migrate(
        directory: &Path,
        master: &MasterKey,
        now: Timestamp,
    ) -> Result<MigrationSummary, MigrationFailure> {
        let storage = |failure| MigrationFailure::File(OpenFailure::Storage(failure));
        let data = DataFile::open(&Directory::new(directory), CACHE_BYTES)
            .map_err(MigrationFailure::File)?;
        let database = &data.database;
        let snapshot = first_look(database).map_err(storage)?;
        let not_ours = || MigrationFailure::File(OpenFailure::NotOurs);
        let from = meta::format(&snapshot).map_err(storage)?.ok_or_else(not_ours)?;
        let check = meta::master_check(&snapshot).map_err(storage)?.ok_or_else(not_ours)?;
        let key = master.backup_key_of(&check).ok_or(MigrationFailure::WrongMasterKey)?;
        clear_unfinished(directory)?;
        let backup = back_up(directory, from, &snapshot, (master, key), now)?;
        drop(snapshot);
        run(database, from, Some(master), &Random::new()).map_err(storage)?;
        Ok(MigrationSummary { from, backup })
    }
}

/// Removes the unfinished backups of killed migrations, of any format and number. Must be called
/// with the data file open, because the open file is the lock.
fn clear_unfinished(directory: &Path) -> Result<(), MigrationFailure> {
    let failed = |path: &Path, error| {
        MigrationFailure::Backup(path.to_path_buf(), BackupFailure::Target(error))
    };
    let listed = std::fs::read_dir(directory).map_err(|error| failed(directory, error))?;
    for entry in listed {
        let entry = entry.map_err(|error| failed(directory, error))?;
        if entry.file_name().to_str().is_some_and(is_unfinished_backup) {
            let path = entry.path();
            std::fs::remove_file(&path).map_err(|error| failed(&path, error))?;
        }
    }
    Ok(())
}

/// Returns true for the name of an unfinished backup at a [`backup_path`].
fn is_unfinished_backup(name: &str) -> bool {
    let numbers = name
        .strip_prefix(file::NAME)
        .and_then(|rest| rest.strip_prefix(".format-"))
        .and_then(|rest| rest.strip_suffix(backup::UNFINISHED))
        .and_then(|rest| rest.strip_suffix(".backup"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    numbers.is_some_and(|numbers| match numbers.split_once('-') {
        Some((format, number)) => is_number(format) && is_number(number),
        None => is_number(numbers),
    })
}

/// Writes the backup. If the newest earlier one has the same rows, only that one is kept, so that
/// repeated attempts leave one backup.
fn back_up(
    directory: &Path,
    from: u32,
    snapshot: &Snapshot,
    (master, key): (&MasterKey, &BackupKey),
    now: Timestamp,
) -> Result<PathBuf, MigrationFailure> {
    let mut before: Option<PathBuf> = None;
    for number in 1..=MIGRATION_BACKUPS_MAX {
        let path = backup_path(directory, from, number);
        if path.exists() {
            before = Some(path);
            continue;
        }
        let times = SnapshotTimes { created_at: now, settled_at: now };
        let written = backup::write(snapshot, &path, key, times);
        let written = written.map_err(|failure| MigrationFailure::Backup(path.clone(), failure))?;
        let same = before.filter(|before| {
            Reader::open(before)
                .and_then(|mut known| {
                    known.check_origin(master)?;
                    known.check_rows().map(|()| known.manifest().digest.clone())
                })
                .is_ok_and(|digest| digest == written.manifest.digest)
        });
        return Ok(match same {
            Some(same) if std::fs::remove_file(&path).is_ok() => same,
            Some(_) | None => path,
        });
    }
    let last = backup_path(directory, from, MIGRATION_BACKUPS_MAX);
    Err(MigrationFailure::Backup(last, BackupFailure::Exists))
}

/// `strongroom.redb.format-1.backup`, then `strongroom.redb.format-1-2.backup`.
fn backup_path(directory: &Path, from: u32, number: u32) -> PathBuf {
    let number = if number > 1 { format!("-{number}") } else { String::new() };
    directory.join(format!("{}.format-{from}{number}.backup", file::NAME))
}

/// Opens a data file and migrates it to the current format. For a volume that is not written.
pub(super) fn open_migrated(
    volume: &dyn Volume,
    master: Option<&MasterKey>,
) -> Result<DataFile, OpenFailure> {
    let data = DataFile::open(volume, CACHE_BYTES)?;
    match check_format(&data.database) {
        Err(OpenFailure::Older(from)) => {
            // With the key of another vault, the migration in memory leaves the file's keys as they
            // are. Opening the vault then reports the wrong key.
            let migrated = first_look(&data.database).and_then(|snapshot| {
                let check = meta::master_check(&snapshot)?.unwrap_or_default();
                drop(snapshot);
                let master = master.filter(|master| master.has_check(&check));
                run(&data.database, from, master, &Random::new())
            });
            migrated.map_err(OpenFailure::Storage)?;
        }
        checked => checked?,
    }
    Ok(data)
}

/// Runs the steps. The caller holds the lock of the file, so nothing changes between the reads and
/// the writes of a step. Without the master key the keys in the file stay as they are, which is
/// enough for a copy in memory whose keys are never opened.
pub(super) fn run(
    database: &GuardedDatabase,
    from: u32,
    master: Option<&MasterKey>,
    random: &Random,
) -> Result<(), StorageFailure> {
    for (at, step) in STEPS.iter().skip_while(|(at, _)| *at < from) {
        let next = at.saturating_add(1);
        let snapshot = first_look(database)?;
        let old = OldFile { snapshot: &snapshot, master, random };
        file::commit_with(database, |transaction| {
            let mut rows = StepRows::new(transaction);
            step(&old, &mut rows)?;
            rows.take(meta::put_format(Change::new(), next))?;
            rows.flush()
        })?;
    }
    Ok(())
}

const _: () = assert!(STEPS.len() == 5 && FORMAT == 6, "every older format has its step");
