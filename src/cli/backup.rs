//! `strongroom backup`, and what commands say about a backup.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::cli::commands::Backup;
use crate::cli::failure::{Exit, Failure};
use crate::cli::operate::order;
use crate::cli::serve::read_config;
use crate::cli::{say, vault};
use crate::config::MasterKeySource;
use crate::operator::{Answer, Command};
use crate::store::backup::{InvalidBackup, Manifest};

pub(super) fn backup(command: &Backup) -> Result<(), Failure> {
    let (directory, master) =
        place(command.config.as_deref(), command.data.as_deref(), command.master_key.as_deref())?;
    let file = std::path::absolute(&command.file)
        .map_err(|error| vault::cannot("write the backup", &command.file, &error))?;
    if file.to_str().is_none() {
        return Err(Failure::new(Exit::Usage, "the backup's name is no UTF-8").file(&file));
    }
    let command = Command::Backup { file: file.clone() };
    match order(&directory, || needed(master), command)? {
        Answer::Done(told) => {
            say(&format!(
                "The backup is written.\n  file:          {}\n{}",
                file.display(),
                told_text(&told)
            ));
            Ok(())
        }
        Answer::Refused(why) => Err(Failure::new(Exit::Data, "no backup was written")
            .file(&file)
            .why(why.join("\n"))
            .try_this(
                "name a file that is not there yet, where there is room and the server may write",
            )),
    }
}

/// The data directory, and the master key where one is named.
pub(super) fn place(
    config: Option<&Path>,
    data: Option<&Path>,
    master_key: Option<&Path>,
) -> Result<(PathBuf, Option<MasterKeySource>), Failure> {
    let named = master_key.map(|path| MasterKeySource::File(path.to_path_buf()));
    match (config, data) {
        (Some(config), data) => {
            let config = read_config(config)?;
            let directory = data.map_or(config.data_directory, Path::to_path_buf);
            Ok((directory, Some(named.unwrap_or(config.master_key))))
        }
        (None, Some(data)) => Ok((data.to_path_buf(), named)),
        (None, None) => Err(Failure::new(Exit::Usage, "which vault?")
            .try_this("--config FILE, or --data DIR and, where it is needed, a master key")),
    }
}

/// The master key of a vault that has to be opened.
pub(super) fn needed(master: Option<MasterKeySource>) -> Result<MasterKeySource, Failure> {
    master.ok_or_else(|| {
        Failure::new(Exit::Usage, "which master key?")
            .why("the data file has to be opened")
            .try_this("--config FILE, or --data DIR --master-key FILE")
    })
}

/// What the one who wrote it tells.
fn told_text(told: &Value) -> String {
    let manifest = serde_json::from_value::<Manifest>(told["manifest"].clone());
    let text = manifest.map(|manifest| manifest_text(&manifest)).unwrap_or_default();
    let number = |name: &str| told[name].as_u64().unwrap_or(0);
    format!(
        "{text}\n  size:          {} bytes\n  took:          {} ms",
        number("file_bytes"),
        number("took_ms")
    )
}

pub(super) fn manifest_text(manifest: &Manifest) -> String {
    let id = manifest.file_id.as_deref().unwrap_or("none (format 1)");
    format!(
        "  shows:         {}\n  written by:    strongroom {}, data file's format {}\n  vault:         {id}\n  \
         tokens:        {}\n  rows:          {} ({} bytes)\n  digest:        {}",
        manifest.created_at().to_wire(),
        manifest.program,
        manifest.file_format,
        manifest.count("tokens"),
        manifest.rows,
        manifest.bytes,
        manifest.digest
    )
}

pub(super) fn explain(invalid: &InvalidBackup, file: &Path) -> Failure {
    let (exit, advice) = match invalid {
        InvalidBackup::CutShort | InvalidBackup::Damaged(..) => {
            (Exit::Data, "use another backup, and keep this one for examination")
        }
        InvalidBackup::Forged => (Exit::Permission, "use another backup; do not trust this one"),
        InvalidBackup::Io(error) => return vault::cannot("read the backup", file, error),
        InvalidBackup::Newer(_) => (Exit::Data, "use the newer program"),
        InvalidBackup::NotABackup => (Exit::Data, "name a file that strongroom backup wrote"),
        InvalidBackup::WrongMasterKey => {
            (Exit::Permission, "bring the master key that the vault had when this was written")
        }
    };
    Failure::new(exit, "this backup cannot be used").file(file).why(invalid).try_this(advice)
}
