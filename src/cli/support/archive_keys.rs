//! The archive directory and the master keys that a command needs to read it, and messages for
//! archives that cannot be used.

use std::path::{Path, PathBuf};

use crate::cli::support::failure::{Exit, Failure};
use crate::cli::support::master_key_file::read_master_key;
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

/// The master key of the settings, and those of further files.
pub(in crate::cli) fn read_keys(
    first: Option<&MasterKeySource>,
    further: &[PathBuf],
) -> Result<Vec<MasterKey>, Failure> {
    let further = further.iter().map(|path| MasterKeySource::File(path.clone()));
    first.cloned().into_iter().chain(further).map(|source| read_master_key(&source)).collect()
}

pub(in crate::cli) fn explain_archive(problem: &ArchiveProblem) -> Failure {
    let exit = match problem {
        ArchiveProblem::Directory(..) => Exit::Config,
        ArchiveProblem::Piece(_, InvalidPiece::Forged | InvalidPiece::UnknownKey(_)) => {
            Exit::Permission
        }
        ArchiveProblem::Forked(..) | ArchiveProblem::Missing { .. } | ArchiveProblem::Piece(..) => {
            Exit::Data
        }
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
