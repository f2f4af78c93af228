//! `strongroom key rotate --master`: a new master key, and the order in which the files change.
//!
//! The command writes the new key to a file of its own and syncs it, seals the data file under the
//! new key, and then renames the new key file over the old one. If the command is interrupted at
//! any step, one of the two files holds a key that opens the data file. The next start or the next
//! attempt finishes the rotation.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::cli::commands::KeyRotate;
use crate::cli::support::failure::{Exit, Failure};
use crate::cli::support::failure_texts::{cannot, not_understood, refused, unreachable_server};
use crate::cli::support::master_key_file::{
    beside, make_master_key, put_in_place, read_master_text, sync_directory,
};
use crate::cli::support::open_vault;
use crate::cli::support::order::{done, sign};
use crate::cli::support::output::say;
use crate::cli::support::runtime::block_on;
use crate::clock::Clock;
use crate::config::{Config, MasterKeySource};
use crate::crypto::{KeyTransfer, MasterKey, Random};
use crate::domain::hex;
use crate::operator::{Command, CommandAnswer, CommandExchange, ask};
use crate::secret::Secret;

pub(in crate::cli) fn rotate(config: &Config, command: &KeyRotate) -> Result<(), Failure> {
    let new = place(&config.master_key, command.out.as_deref())?;
    let directory = &config.data_directory;
    let is_new = !new.exists();
    let rotated = match ask(directory, &Command::MasterHandover) {
        CommandExchange::Answered(answer) => online(directory, &new, &config.master_key, answer),
        CommandExchange::Failed(error) => {
            Err(RotationFailure::Unchanged(unreachable_server(directory, &error)))
        }
        CommandExchange::NoServer => offline(config, &new),
    };
    match rotated {
        Ok(()) => (),
        Err(RotationFailure::Unchanged(failure)) => {
            if is_new {
                // No data is sealed under this key.
                fs::remove_file(&new).ok();
            }
            return Err(failure);
        }
        Err(RotationFailure::Unknown(failure)) => return Err(failure),
    }
    match &config.master_key {
        MasterKeySource::File(path) => {
            let old = put_in_place(path, &new)
                .map_err(|error| cannot("install the new key", path, &error))?;
            say(&format!(
                "The master key is replaced.\n  new:  {}\n  old:  {}\n\nOlder backups need the \
                 old key: destroy it (shred -u) when you have deleted them all. Recovery shares \
                 of the old key do not recover the new one: make new shares with strongroom key \
                 shares.",
                path.display(),
                old.map_or_else(
                    || String::from("none, its file was missing"),
                    |it| it.display().to_string()
                )
            ));
        }
        MasterKeySource::Credential(name) => say(&format!(
            "The data file is sealed under the new master key. The server continues to run; its \
             next start needs the new key.\n  new:  {}\n\nNow replace the file that systemd \
             loads the credential {name} from (LoadCredential=; for LoadCredentialEncrypted= \
             encrypt the new file). Keep the old key for older backups, and destroy it when you \
             have deleted them all. Recovery shares of the old key do not recover the new one: \
             make new shares with strongroom key shares.",
            new.display()
        )),
    }
    Ok(())
}

/// State of the data file after a rotation that failed.
enum RotationFailure {
    /// The data file is still sealed under the old key.
    Unchanged(Failure),
    /// The data file may be sealed under either key; running the command again finishes the
    /// rotation.
    Unknown(Failure),
}

fn place(source: &MasterKeySource, out: Option<&Path>) -> Result<PathBuf, Failure> {
    match (source, out) {
        (MasterKeySource::File(path), None) => Ok(beside(path, "new")),
        (MasterKeySource::File(_), Some(_)) => {
            Err(Failure::new(Exit::Usage, "the master key has two files")
                .why("the settings name the file of the master key, and serve reads that file")
                .try_this("omit --out"))
        }
        (MasterKeySource::Credential(_), Some(out)) => Ok(out.to_path_buf()),
        (MasterKeySource::Credential(_), None) => {
            Err(Failure::new(Exit::Usage, "no file is named for the new master key")
                .why("the settings name a systemd credential, which this command cannot replace")
                .try_this("strongroom key rotate --master --out FILE"))
        }
    }
}

/// Makes the new key, or reads the one that an interrupted attempt has left.
fn new_key(new: &Path, source: &MasterKeySource) -> Result<(MasterKey, Secret<Vec<u8>>), Failure> {
    if !new.exists() {
        make_master_key(new)?;
        if let MasterKeySource::File(path) = source {
            let own = || -> io::Result<()> {
                let old = match fs::metadata(path) {
                    // The file was lost while the server ran; the rotation replaces it.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                    known => known?,
                };
                let made = fs::metadata(new)?;
                if (old.uid(), old.gid()) != (made.uid(), made.gid()) {
                    chown(new, Some(old.uid()), Some(old.gid()))?;
                }
                Ok(())
            };
            own().map_err(|error| cannot("set the owner of the new key", new, &error))?;
        }
        sync_directory(new).map_err(|error| cannot("keep the new key", new, &error))?;
    }
    read_master_text(&MasterKeySource::File(new.to_path_buf()))
}

fn online(
    directory: &Path,
    new: &Path,
    source: &MasterKeySource,
    answer: CommandAnswer,
) -> Result<(), RotationFailure> {
    let result = done(answer).map_err(RotationFailure::Unchanged)?;
    let receiver = result.get("public").and_then(Value::as_str).and_then(hex::decode);
    let receiver = receiver.ok_or_else(|| RotationFailure::Unchanged(not_understood()))?;
    let (_, text) = new_key(new, source).map_err(RotationFailure::Unchanged)?;
    let handed = KeyTransfer::send(&receiver, text.expose(), &Random::new());
    let handed = handed.map_err(|_failed| RotationFailure::Unchanged(not_understood()))?;
    let (public, sealed) = (hex::encode(&handed.public), hex::encode(&handed.sealed));
    let keep = |failure: Failure| {
        let failure = failure.line("key", new.display());
        RotationFailure::Unknown(failure.try_this("keep that file and run the same command again"))
    };
    match ask(directory, &Command::MasterRotate { public, sealed }) {
        // The server may refuse after its commit reached the disk, for example when the disk fails.
        CommandExchange::Answered(answer) => done(answer).map(drop).map_err(keep),
        CommandExchange::Failed(error) => Err(keep(unreachable_server(directory, &error))),
        CommandExchange::NoServer => Err(RotationFailure::Unchanged(
            Failure::new(Exit::Unavailable, "the server has stopped")
                .try_this("run the command again"),
        )),
    }
}

fn offline(config: &Config, new: &Path) -> Result<(), RotationFailure> {
    let clock = Clock::new();
    let vault = open_vault::open(&config.data_directory, &config.master_key, clock)
        .map_err(RotationFailure::Unchanged)?;
    let rotated = new_key(new, &config.master_key).map_err(RotationFailure::Unchanged).and_then(
        |(key, _)| {
            let rotated = async {
                let rotated = vault.rotation().rotate_master(key).await;
                sign(&vault).await;
                rotated.map_err(|error| refused(&error))
            };
            block_on(rotated).map(drop).map_err(RotationFailure::Unknown)
        },
    );
    vault.close();
    rotated
}
