//! `strongroom restore`: writes the data file of a backup into an empty directory.

use std::fs;
use std::path::Path;

use crate::app::VaultFailure;
use crate::cli::commands::RestoreCommand;
use crate::cli::operate::backup::manifest_text;
use crate::cli::support::failure::{Exit, Failure};
use crate::cli::support::failure_texts::{cannot, explain, explain_backup};
use crate::cli::support::files::{give_to_owner, make_directory, restrict};
use crate::cli::support::master_key_file::read_master_key;
use crate::cli::support::output::say;
use crate::cli::support::settings::place;
use crate::clock::Clock;
use crate::config::MasterKeySource;
use crate::store::backup::Reader;
use crate::store::{RestoreFailure, Store, meta};

pub(in crate::cli) fn restore(command: &RestoreCommand) -> Result<(), Failure> {
    let clock = Clock::new();
    let start = clock.now();
    let (directory, _) = place(command.config.as_deref(), command.data.as_deref(), None)?;
    let backup = Reader::open(&command.file).map_err(|it| explain_backup(&it, &command.file))?;
    if let Some(key) = &command.key {
        let master = read_master_key(&MasterKeySource::File(key.clone()))?;
        backup.check_origin(&master).map_err(|it| explain_backup(&it, &command.file))?;
    }
    let was_there = directory.exists();
    make_directory(&directory)?;
    refuse_occupied(&directory)?;
    let manifest =
        Store::restore(&directory, backup, meta::put_restored(start)).map_err(|failure| {
            if !was_there {
                fs::remove_dir(&directory).ok();
            }
            match failure {
                RestoreFailure::Backup(invalid) => explain_backup(&invalid, &command.file),
                RestoreFailure::File(failure) => explain(VaultFailure::File(failure), &directory),
            }
        })?;
    restrict(&directory, 0o700)?;
    give_to_owner(&directory, &directory.join(Store::FILE))?;
    let took = clock.now().since(start).as_secs_f64();
    say(&format!(
        "The data file is restored.\n  data file:     {}\n{}\n  took:          {took:.1} s\n\n\
         Next: install the master key of this backup, run strongroom verify, then start \
         strongroom serve.\nCard verification codes are gone: backups do not contain their keys.\n\
         Writes after the time of the backup are missing.",
        directory.join(Store::FILE).display(),
        manifest_text(&manifest)
    ));
    Ok(())
}

/// Refuses a directory with files, except the unfinished file of an interrupted restore.
fn refuse_occupied(directory: &Path) -> Result<(), Failure> {
    let listed = fs::read_dir(directory)
        .map_err(|error| cannot("read the data directory", directory, &error))?;
    for entry in listed {
        let entry = entry.map_err(|error| cannot("read the data directory", directory, &error))?;
        if entry.path() != Store::unfinished(directory) {
            return Err(Failure::new(Exit::Data, "the data directory is not empty")
                .file(&entry.path())
                .why("a restore never overwrites files")
                .try_this("move the existing files away, or choose another data directory"));
        }
    }
    Ok(())
}
