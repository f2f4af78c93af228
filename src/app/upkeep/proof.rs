//! The proof of a backup: it is restored into a scratch directory and verified.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::sync::Arc;

use crate::app::Vault;
use crate::app::error::Error;
use crate::app::findings::Report;
use crate::app::open::VaultFailure;
use crate::clock::Clock;
use crate::crypto::MasterKey;
use crate::files::Directory;
use crate::metrics::Progress;
use crate::store::archive::{ArchiveDirectory, Replay};
use crate::store::backup::{InvalidBackup, Manifest, Reader};
use crate::store::{Change, RestoreFailure, Store, StorePlace};

#[derive(Debug)]
pub struct Proof {
    pub manifest: Manifest,
    pub report: Report,
}

#[derive(Debug)]
pub enum ProofFailure {
    Backup(InvalidBackup),
    /// The directory holds no backup of this vault.
    NoBackup,
    /// The scratch directory is on the disk of the data file, and a restore would leave less free
    /// space than the floor.
    NoSpace,
    /// The restore or the verification panicked.
    Panicked,
    Restore(RestoreFailure),
    /// The scratch directory could not be created or removed.
    Scratch(io::Error),
    /// Records do not open, or contradict each other.
    Unclean,
    Vault(VaultFailure),
    Verify(Error),
}

/// Restores a backup into a scratch directory, opens it with the master key and verifies all of it.
/// The directory is removed afterwards; leftovers of an earlier proof are removed first.
pub fn prove(
    backup: &Path,
    archive: Option<&Path>,
    scratch: &Path,
    (master, clock): (MasterKey, Clock),
    progress: &Arc<Progress>,
) -> Result<Proof, ProofFailure> {
    let mut backup = Reader::open(backup).map_err(ProofFailure::Backup)?;
    // Every row is read twice: it is restored, then verified.
    backup.count(progress);
    progress.set_total(backup.manifest().rows.saturating_mul(2));
    backup.check_origin(&master).map_err(ProofFailure::Backup)?;
    clear(scratch).map_err(ProofFailure::Scratch)?;
    fs::DirBuilder::new().mode(0o700).create(scratch).map_err(ProofFailure::Scratch)?;
    let made = Directory::find_directory(scratch).map_err(ProofFailure::Scratch)?;
    let proof = restore_and_verify(backup, archive, scratch, (master, clock), progress);
    made.map_or(Ok(()), |made| remove(&made)).map_err(ProofFailure::Scratch)?;
    proof
}

fn restore_and_verify(
    backup: Reader,
    archive: Option<&Path>,
    scratch: &Path,
    (master, clock): (MasterKey, Clock),
    progress: &Arc<Progress>,
) -> Result<Proof, ProofFailure> {
    let keys = [master.clone()];
    // A backup of an older program does not name its position in the history, and the archive does
    // not continue a backup whose history had left it. Timelines of other vaults in the directory
    // do not matter for the proof.
    let moment = backup.manifest().moment().filter(|_| backup.manifest().departed.is_none());
    let timeline = moment.map(|moment| moment.timeline);
    // An archive that has not reached the backup yet adds nothing.
    let archive = archive.filter(|path| match (moment, ArchiveDirectory::list(path)) {
        (None, _) => false,
        (Some(moment), Ok(directory)) => {
            directory.last_of(&moment.timeline).is_none_or(|last| last.last >= moment.sequence)
        }
        (Some(_), Err(_)) => true,
    });
    let archive = archive.map(|directory| Replay { directory, keys: &keys, until: None, timeline });
    let restored = Store::restore(scratch, backup, archive, Change::new());
    let manifest = restored.map_err(ProofFailure::Restore)?.manifest;
    let app = Vault::open(&StorePlace::Directory(scratch.to_path_buf()), master, clock)
        .map_err(ProofFailure::Vault)?;
    let report = app.verification().verify_counted(progress);
    app.close();
    Ok(Proof { manifest, report: report.map_err(ProofFailure::Verify)? })
}

/// Removes the leftovers of an earlier proof.
pub(super) fn clear(scratch: &Path) -> io::Result<()> {
    Directory::find_directory(scratch)?.map_or(Ok(()), |left| remove(&left))
}

/// Removes the files of a store and their directory. The directory stays if it has other files, or
/// if its path leads to another directory by now.
fn remove(scratch: &Directory) -> io::Result<()> {
    for name in scratch.names()? {
        if name.to_str().is_some_and(Store::makes_file)
            && let Some(file) = scratch.hold(&name)?
        {
            file.remove()?;
        }
    }
    scratch.remove_empty()
}

impl ProofFailure {
    /// The log accepts fixed texts only.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Backup(_) => "backup",
            Self::NoBackup => "no_backup",
            Self::NoSpace => "no_space",
            Self::Panicked => "panicked",
            Self::Restore(RestoreFailure::Archive(_)) => "archive",
            Self::Restore(_) => "restore",
            Self::Scratch(_) => "scratch",
            Self::Unclean => "unclean",
            Self::Vault(_) => "vault",
            Self::Verify(_) => "verify",
        }
    }
}
