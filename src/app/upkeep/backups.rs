//! Backups: taking one, proving that it can be restored, and both by a schedule.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::task::spawn_blocking;

use crate::app::Backups;
use crate::app::commit::disk::{Allowance, DiskFloor, DiskState};
use crate::app::error::{Error, Fault};
use crate::app::upkeep::proof::{ProofFailure, clear, prove};
use crate::domain::audit::{Act, Actor, Entity, EntityKind};
use crate::domain::backup::{
    BACKUP_MARK_DIGITS, BackupPlan, BackupState, Proven, Taken, file_name, is_file_name,
    is_file_name_of,
};
use crate::domain::time::Timestamp;
use crate::files::Directory;
use crate::store::backup::{self, BackupFailure, BackupSummary, Manifest, Reader, SnapshotTimes};
use crate::store::engine::Moment;
use crate::store::record::{decode_backups, encode_backups};
use crate::store::{Authority, StorageFailure, meta};

impl Backups<'_> {
    /// Writes one consistent snapshot to a new file. The writer continues meanwhile.
    pub async fn back_up(self, path: PathBuf) -> Result<BackupSummary, BackupFailure> {
        self.by(Authority::Anyone).back_up_at(path, Actor::Operator, self.vault.now()).await
    }

    /// Every change that was answered before `now` is in the backup. The audit chain has an entry
    /// with the true outcome: a backup that cannot be audited is removed, and counts as failed.
    async fn back_up_at(
        self,
        path: PathBuf,
        actor: Actor,
        now: Timestamp,
    ) -> Result<BackupSummary, BackupFailure> {
        self.vault.require_space_for_audit().map_err(|_full| BackupFailure::NoSpace)?;
        let (audit, vault) = (self.vault.audit(), Entity::of_server(EntityKind::Vault));
        let (written, moment) = match self.write(path, now).await {
            Ok(written) => written,
            Err(failure) => {
                // The failure is returned even if the disk takes no entry.
                audit.write_server_entry(actor, Act::BackupFailed, vault).await.ok();
                return Err(failure);
            }
        };
        if let Err(error) = audit.write_server_entry(actor, Act::Backup, vault).await {
            spawn_blocking(move || written.file.remove()).await.map_err(io::Error::from)??;
            return Err(not_now(error));
        }
        // Without this row, the archive asks for another backup, which is harmless.
        self.vault.store.commit(meta::put_backup_moment(moment, now).by(self.by)).await.ok();
        Ok(written)
    }

    /// Also returns the position of the backup in the history.
    async fn write(
        self,
        path: PathBuf,
        now: Timestamp,
    ) -> Result<(BackupSummary, Moment), BackupFailure> {
        if let Some(allowance) = self.vault.floor.as_ref().map(DiskFloor::allowance) {
            let path = path.clone();
            let admits = spawn_blocking(move || allowance.admits(parent(&path), 0)).await;
            if !admits.map_err(io::Error::from)?? {
                return Err(BackupFailure::NoSpace);
            }
        }
        let job = self.vault.jobs.begin(format!("backup {}", path.display()));
        let snapshot = self.vault.store.snapshot()?.counted(job.progress());
        let times = SnapshotTimes { created_at: now, settled_at: self.vault.now() };
        let moment = snapshot.moment()?;
        let master = self.vault.masters.of(&snapshot).map_err(not_now)?;
        let key = master.backup_key().clone();
        let written = spawn_blocking(move || backup::write(&snapshot, &path, &key, times)).await;
        let written = written.unwrap_or_else(|_panicked| {
            let what = String::from("the engine met a page that makes no sense");
            Err(BackupFailure::Vault(StorageFailure::Damaged(what)))
        })?;
        Ok((written, moment))
    }

    /// The newest backup, scheduled or taken by command. `None` if no backup was taken, or if an
    /// older program took it.
    pub(in crate::app) fn newest_at(self) -> Result<Option<Timestamp>, Error> {
        let by_any = meta::backup_time(&self.vault.snapshot()?)?;
        let by_schedule = self.state()?.taken.map(|taken| taken.at);
        Ok(by_any.max(by_schedule))
    }

    pub fn state(self) -> Result<BackupState, Error> {
        let record = meta::backups(&self.vault.snapshot()?)?;
        Ok(record.map(|record| decode_backups(&record)).transpose()?.unwrap_or_default())
    }

    /// A prefix of the vault's id. File names contain it, because several vaults may share one
    /// directory of backups.
    pub fn mark(self) -> Result<String, Error> {
        let id = meta::file_id(&self.vault.snapshot()?)?;
        let id = id.ok_or(Error::Internal(Fault::Impossible("the data file has no id")))?;
        Ok(id.simple().to_string().chars().take(BACKUP_MARK_DIGITS).collect())
    }

    /// Takes a backup if one is due, and removes the oldest ones beyond the plan's number. The
    /// result is recorded, also if the backup failed.
    pub async fn take_due(
        self,
        plan: &BackupPlan,
    ) -> Result<Option<Result<Taken, BackupFailure>>, Error> {
        let Some(state) = self.last().await? else { return Ok(None) };
        let start = self.vault.now();
        // Without another backup, a restore would need the old master key.
        let needs_old_key = self.needs_old_key(&state)?;
        let is_due = plan.backup_is_due(&state, start);
        // An archive that continues no backup cannot be restored.
        let is_needed = needs_old_key || self.vault.upkeep().archive().needs_backup()?;
        if !(is_due || (is_needed && state.failed_at.is_none())) {
            return Ok(None);
        }
        self.begin(&BackupState { failed_at: Some(start), ..state }).await?;
        let path = plan.directory.join(file_name(start, &self.mark()?));
        let written = self.back_up_at(path.clone(), Actor::System, start).await;
        let taken = match written {
            Ok(written) => {
                let series = Series::of(&written.manifest);
                let (directory, keep) = (plan.directory.clone(), plan.keep);
                // A file that could not be removed is tried again after the next backup.
                spawn_blocking(move || prune(&directory, keep, &series, &path)).await.ok();
                Ok(Taken {
                    at: written.manifest.created_at(),
                    bytes: written.file_bytes,
                    rows: written.manifest.rows,
                    took: self.vault.now().since(start),
                })
            }
            Err(failure) => Err(failure),
        };
        let state = match &taken {
            Ok(taken) => BackupState { taken: Some(*taken), failed_at: None, ..state },
            Err(_) => BackupState { failed_at: Some(self.vault.now()), ..state },
        };
        self.keep_state(&state).await?;
        Ok(Some(taken))
    }

    /// If a proof is due: restores the newest backup, and the archive after it, into a scratch
    /// directory beside the backup, and verifies the result.
    pub async fn prove_due(
        self,
        plan: &BackupPlan,
    ) -> Result<Option<Result<Proven, ProofFailure>>, Error> {
        let Some(state) = self.last().await? else { return Ok(None) };
        let start = self.vault.now();
        // The backup after a replacement of the master key may have to wait, for example after an
        // attempt that was cut off. Until then the newest backup does not open with the new key,
        // which does not mean that it is damaged.
        if !plan.proof_is_due(&state, start) || self.needs_old_key(&state)? {
            return Ok(None);
        }
        self.begin(&BackupState { proof_failed_at: Some(start), ..state }).await?;
        let snapshot = self.vault.snapshot()?;
        let own = Series {
            file_id: meta::file_id(&snapshot)?.map(|id| id.to_string()),
            timeline: Some(snapshot.moment()?.timeline),
        };
        let master = self.vault.masters.of(&snapshot)?.as_ref().clone();
        drop(snapshot);
        let now_name = file_name(start, &self.mark()?);
        let (directory, archive) = (plan.directory.clone(), self.vault.archive.directory());
        let scratch = scratch(&directory, &self.mark()?);
        let (clock, allowance) =
            (self.vault.clock.clone(), self.vault.floor.as_ref().map(DiskFloor::allowance));
        let proven = spawn_blocking(move || {
            let newest = newest(&directory, &own, &now_name)?;
            require_space(allowance.as_ref(), &directory, &newest)?;
            let proof =
                prove(&newest, archive.as_deref(), &scratch, (master, clock), &Arc::default())?;
            proof.report.is_clean().then_some(proof.manifest).ok_or(ProofFailure::Unclean)
        })
        .await;
        let proven = proven.unwrap_or(Err(ProofFailure::Panicked)).map(|manifest| {
            let now = self.vault.now();
            let (backup_at, rows) = (manifest.created_at(), manifest.rows);
            Proven { at: now, backup_at, rows, took: now.since(start) }
        });
        let state = match &proven {
            Ok(proven) => BackupState { proven: Some(*proven), proof_failed_at: None, ..state },
            Err(_) => BackupState { proof_failed_at: Some(self.vault.now()), ..state },
        };
        self.keep_state(&state).await?;
        Ok(Some(proven))
    }

    /// True if the newest scheduled backup is older than the master key.
    fn needs_old_key(self, state: &BackupState) -> Result<bool, Error> {
        let replaced_at = self.vault.keys().ages()?.master.made_at;
        Ok(state.taken.is_some_and(|it| replaced_at.is_some_and(|at| it.at < at)))
    }

    /// The recorded state before a backup or a proof. An attempt during which the process died
    /// counts as failed. `None` below the hard floor, because the result could not be recorded.
    async fn last(self) -> Result<Option<BackupState>, Error> {
        if self.vault.disk_state() == DiskState::Full {
            return Ok(None);
        }
        let Some(record) = meta::backups_if_cut_off(&self.vault.snapshot()?)? else {
            return self.state().map(Some);
        };
        let state = decode_backups(&record)?;
        self.keep_state(&state).await?;
        Ok(Some(state))
    }

    /// Records the state to assume if the process dies during the attempt. Only the schedule writes
    /// this record and the one of `keep_state`, so the changes expect no version.
    async fn begin(self, if_cut_off: &BackupState) -> Result<(), Error> {
        let change = meta::put_backups_if_cut_off(encode_backups(if_cut_off)?);
        self.vault.store.commit(change.by(self.by)).await?;
        Ok(())
    }

    async fn keep_state(self, state: &BackupState) -> Result<(), Error> {
        let change = meta::put_backups(encode_backups(state)?);
        self.vault.store.commit(change.by(self.by)).await?;
        Ok(())
    }
}

/// An operation that cannot be audited is refused.
#[expect(clippy::wildcard_enum_match_arm, reason = "any other error: no entry was written")]
fn not_now(error: Error) -> BackupFailure {
    match error {
        Error::Storage(failure) => BackupFailure::Vault(failure),
        _ => BackupFailure::NotAudited,
    }
}

/// The newest backup that does not belong to another vault. The number of the last batch gives the
/// order, since a clock that was ahead gives names of the future. Backups from before this vault was
/// restored or promoted are older than its own. A backup with an unreadable manifest is placed by
/// its name, so that the proof reports its damage; a name after `now_name` says nothing.
fn newest(directory: &Path, own: &Series, now_name: &str) -> Result<PathBuf, ProofFailure> {
    let (mut newest, mut unreadable) = (None, None);
    for path in scheduled(directory).map_err(ProofFailure::Scratch)? {
        match Reader::open(&path) {
            Ok(backup) if backup.is_of(own.file_id.as_deref()) => {
                let manifest = backup.manifest();
                let place = (Series::of(manifest) == *own, manifest.sequence, path);
                newest = newest.max(Some(place));
            }
            Err(_) if path.file_name().is_some_and(|name| name <= now_name) => {
                unreadable = Some(path);
            }
            Ok(_) | Err(_) => (),
        }
    }
    let readable = newest.map(|(_, _, path)| path);
    readable.max(unreadable).ok_or(ProofFailure::NoBackup)
}

/// The restored file needs about the size of the data file, at times a little more. The size of the
/// backup is the margin.
fn require_space(
    allowance: Option<&Allowance>,
    directory: &Path,
    backup: &Path,
) -> Result<(), ProofFailure> {
    let Some(allowance) = allowance else { return Ok(()) };
    let admits = fs::metadata(backup).and_then(|it| allowance.admits(directory, it.len()));
    admits.map_err(ProofFailure::Scratch)?.then_some(()).ok_or(ProofFailure::NoSpace)
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
}

/// The backups of one vault since it was made, restored or promoted. A restored copy has the id of
/// the vault that it was made from, but a timeline of its own.
#[derive(Debug, PartialEq, Eq)]
struct Series {
    file_id: Option<String>,
    timeline: Option<[u8; 16]>,
}

impl Series {
    fn of(manifest: &Manifest) -> Self {
        let timeline = manifest.moment().map(|moment| moment.timeline);
        Self { file_id: manifest.file_id.clone(), timeline }
    }
}

/// Removes the oldest backups beyond `keep`. Files without a name of the schedule, incomplete files
/// and backups of other vaults are neither counted nor removed, nor are those from before this
/// vault was restored or promoted: a trial restore must not push out the backups of the vault in
/// service. The number of the last batch gives the order, as in [`newest`]; `taken`, the backup that
/// was just taken, stays in any case.
fn prune(directory: &Path, keep: usize, own: &Series, taken: &Path) -> io::Result<()> {
    let mut earlier = Vec::new();
    for path in scheduled(directory)?.into_iter().filter(|path| path != taken) {
        if let Ok(backup) = Reader::open(&path)
            && Series::of(backup.manifest()) == *own
        {
            earlier.push((backup.manifest().sequence, path));
        }
    }
    earlier.sort_unstable();
    let beyond = earlier.len().saturating_sub(keep.saturating_sub(1));
    let directory = Directory::open(directory)?;
    for (_, path) in earlier.iter().take(beyond) {
        // The name may lead to another file by now: check the open file again, and remove that one.
        let name = path.file_name().unwrap_or_default();
        if let Some(file) = directory.hold(name)?
            && Reader::over(file.file()).is_ok_and(|it| Series::of(it.manifest()) == *own)
        {
            file.remove()?;
        }
    }
    Ok(())
}

/// The files with names of the schedule, in the order of their names.
fn scheduled(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(is_file_name) {
            paths.push(entry.path());
        }
    }
    paths.sort_unstable();
    Ok(paths)
}

fn scratch(directory: &Path, mark: &str) -> PathBuf {
    directory.join(format!("strongroom-proof-{mark}.scratch"))
}

/// Removes the files that a killed process of this vault left in the directory of backups. Only
/// this vault uses names with this mark.
pub fn clear_leftovers(directory: &Path, mark: &str) -> io::Result<()> {
    clear(&scratch(directory, mark))?;
    let directory = Directory::open(directory)?;
    for name in directory.names()? {
        let cut_off = name.to_str().and_then(|name| name.strip_suffix(".unfinished"));
        if cut_off.is_some_and(|name| is_file_name_of(name, mark)) {
            directory.hold(&name)?.map_or(Ok(()), |left| left.remove())?;
        }
    }
    Ok(())
}
