//! The archive directory, the master keys that a command needs to read it, and messages for
//! archives that cannot be used.

use std::path::{Path, PathBuf};

use crate::cli::support::{Exit, Failure, Result, read_master_key, require_credential};
use crate::config::{Config, MasterKeySource};
use crate::crypto::MasterKey;
use crate::domain::hex;
use crate::store::Store;
use crate::store::archive::{ArchiveProblem, InvalidPiece};

/// The directory of the flag, or else of the settings.
pub fn archive_directory(
    flag: Option<&Path>,
    without_archive: bool,
    config: &Config,
) -> Result<Option<PathBuf>> {
    if without_archive {
        return Ok(None);
    }
    let settings = config.archive.as_ref().map(|plan| plan.directory.as_path());
    flag.or(settings).map(|path| Some(path.to_path_buf())).ok_or_else(|| {
        Failure::new(Exit::Usage, "no archive directory is named")
            .try_this("--archive DIR, or archive.directory in the settings")
    })
}

/// For a data file whose keys are sealed under another master key; `id` is that key's id.
pub fn other_master_key(whose: &str, id: &[u8], directory: &Path) -> Failure {
    Failure::new(Exit::Permission, format!("the master key is not that of the {whose}"))
        .file(&directory.join(Store::FILE))
        .why(format!("its keys are sealed under the master key {}", hex::encode(id)))
        .try_this("use the master key with this id")
}

pub fn timeline(flag: Option<&str>) -> Result<Option<[u8; 16]>> {
    let wrong = || {
        Failure::new(Exit::Usage, "--timeline is not a timeline")
            .try_this("the 32 digits of a timeline, as in the names of the archive's files")
    };
    flag.map(|text| hex::decode(text).ok_or_else(wrong)).transpose()
}

/// The master key of the settings, and the keys of further files. With a further file, the key of
/// the settings may be missing: only a systemd service has its credential.
pub fn read_keys(first: Option<&MasterKeySource>, further: &[PathBuf]) -> Result<Vec<MasterKey>> {
    let mut keys = Vec::new();
    if let Some(first) = first.filter(|_| further.is_empty()) {
        require_credential(first, "give the file of the key: --key FILE")?;
    }
    match first.map(read_master_key) {
        Some(Err(failure)) if further.is_empty() => return Err(failure),
        Some(Err(_)) | None => (),
        Some(Ok(key)) => keys.push(key),
    }
    for path in further {
        keys.push(read_master_key(&MasterKeySource::File(path.clone()))?);
    }
    Ok(keys)
}

pub fn explain_archive(problem: &ArchiveProblem) -> Failure {
    let is_key = matches!(
        problem,
        ArchiveProblem::Piece(_, InvalidPiece::Forged | InvalidPiece::UnknownKey(_))
    );
    let exit = if is_key { Exit::Permission } else { Exit::Data };
    Failure::new(exit, "this archive cannot be used")
        .file(problem.path())
        .why(problem)
        .try_this(problem.advice())
}

/// Lists archive files that an old vault wrote after the promotion of a standby.
pub fn refused_pieces<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> String {
    let lines = paths.into_iter().map(|path| {
        format!(
            "strongroom: {} is refused: the old vault wrote it after another one went on in its \
             place",
            path.display()
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}
