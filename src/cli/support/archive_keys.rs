//! The archive directory and the master keys that a command needs to read it, and messages for
//! archives that cannot be used.

use std::path::{Path, PathBuf};

use crate::cli::support::failure::{Exit, Failure};
use crate::cli::support::master_key_file::{read_master_key, require_credential};
use crate::config::{Config, MasterKeySource};
use crate::crypto::MasterKey;
use crate::store::archive::{ArchiveProblem, InvalidPiece};

/// The directory of the flag, or else that of the settings.
pub(in crate::cli) fn archive_directory(
    flag: Option<&Path>,
    config: &Config,
) -> Result<PathBuf, Failure> {
    let settings = config.archive.as_ref().map(|plan| plan.directory.as_path());
    flag.or(settings).map(Path::to_path_buf).ok_or_else(|| {
        Failure::new(Exit::Usage, "no archive directory is named")
            .try_this("--archive DIR, or archive.directory in the settings")
    })
}

/// The master key of the settings, and those of further files. With a further file, the key of the
/// settings may be missing: a credential is there only for a service of systemd.
pub(in crate::cli) fn read_keys(
    first: Option<&MasterKeySource>,
    further: &[PathBuf],
) -> Result<Vec<MasterKey>, Failure> {
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

pub(in crate::cli) fn explain_archive(problem: &ArchiveProblem) -> Failure {
    let exit = match problem {
        ArchiveProblem::Piece(_, InvalidPiece::Forged | InvalidPiece::UnknownKey(_)) => {
            Exit::Permission
        }
        ArchiveProblem::Directory(..)
        | ArchiveProblem::Forked(..)
        | ArchiveProblem::Missing { .. }
        | ArchiveProblem::Piece(..) => Exit::Data,
    };
    Failure::new(exit, "this archive cannot be used")
        .file(problem.path())
        .why(problem)
        .try_this(problem.advice())
}

/// The lines on archive files of an old vault from after the promotion of a standby.
pub(in crate::cli) fn refused_pieces<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> String {
    let lines = paths.into_iter().map(|path| {
        format!(
            "strongroom: {} is refused: the old vault wrote it after a standby was promoted in its \
             place",
            path.display()
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}
