//! `strongroom key rotate --master`: a new master key, and the order in which the files change.
//!
//! The command writes the new key to a file of its own and syncs it, seals the data file under the
//! new key, and then renames the new key file over the old one. If the command is interrupted at
//! any step, one of the two files holds a key that opens the data file. The next start or the next
//! attempt finishes the rotation.
//!
//! With `--out FILE`, a mark `FILE.unfinished` names the new key until the rotation has ended. An
//! existing FILE is used only with its mark, so that no other key is taken for a new one.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::cli::commands::KeyRotate;
use crate::cli::commands::vault::VaultCommand as _;
use crate::cli::support::failure::{Exit, Failure};
use crate::cli::support::failure_texts::{cannot, not_understood, refused, unreachable_server};
use crate::cli::support::files::write_secret;
use crate::cli::support::key_place;
use crate::cli::support::master_key_file::{
    beside, make_master_key, put_in_place, read_master_key, read_master_text, sync_directory,
};
use crate::cli::support::membership::{as_member, find_living};
use crate::cli::support::open_vault;
use crate::cli::support::order::{done, sign, with_space};
use crate::cli::support::output::{say, show_json};
use crate::cli::support::runtime::block_on;
use crate::cli::support::vault_home::VaultHome;
use crate::cli::support::vault_place::VaultPlace;
use crate::clock::Clock;
use crate::config::MasterKeySource;
use crate::crypto::{KeyTransfer, MasterKey, Random};
use crate::domain::hex;
use crate::operator::{Command, CommandAnswer, CommandExchange, ask};
use crate::secret::Secret;

pub(in crate::cli) fn rotate(vault: &VaultPlace, command: &KeyRotate) -> Result<(), Failure> {
    let (source, directory) = (vault.master()?, vault.directory());
    let new = place(&source, command.out.as_deref())?;
    if command.out.is_some() {
        key_place::refuse_path(directory, &new)?;
    }
    let is_new = fs::symlink_metadata(&new).is_err();
    if command.out.is_some() && !is_new {
        refuse_other_file(&new)?;
    }
    let rotated = match ask(directory, &Command::MasterHandover) {
        CommandExchange::Answered(answer) => online(directory, &new, &source, answer),
        CommandExchange::Failed(error) => {
            Err(RotationFailure::Unchanged(unreachable_server(directory, &error)))
        }
        CommandExchange::NoServer => offline(&vault.home, &source, &new),
    };
    match rotated {
        Ok(()) => (),
        Err(RotationFailure::Unchanged(failure)) => {
            if is_new {
                // No data is sealed under this key.
                fs::remove_file(&new).ok();
                fs::remove_file(unfinished(&new)).ok();
            }
            return Err(failure);
        }
        Err(RotationFailure::Unknown(failure)) => return Err(failure),
    }
    // Without this mark, no later rotation takes the key for a new one.
    fs::remove_file(unfinished(&new)).ok();
    let old = match &source {
        MasterKeySource::File(path) => {
            put_in_place(path, &new).map_err(|error| cannot("install the new key", path, &error))?
        }
        MasterKeySource::Command(_) | MasterKeySource::Credential(_) => None,
    };
    if command.json() {
        let path = |path: &Path| path.display().to_string();
        let (file, credential) = match &source {
            MasterKeySource::File(file) => (path(file), None),
            MasterKeySource::Command(_) => (path(&new), None),
            MasterKeySource::Credential(name) => (path(&new), Some(name)),
        };
        let old = old.as_deref().map(path);
        show_json(&json!({"new": file, "old": old, "credential": credential}));
    } else {
        say(&rotated_text(&source, &new, old.as_deref()));
    }
    Ok(())
}

fn rotated_text(source: &MasterKeySource, new: &Path, old: Option<&Path>) -> String {
    match source {
        MasterKeySource::File(path) => format!(
            "The master key is replaced.\n  new:  {}\n  old:  {}\n\nOlder backups need the old \
             key: destroy it (shred -u) when you have deleted them all. Recovery shares of the old \
             key do not recover the new one: make new shares with strongroom key shares.",
            path.display(),
            old.map_or_else(
                || String::from("none, its file was missing"),
                |it| it.display().to_string()
            )
        ),
        MasterKeySource::Credential(name) => format!(
            "The data file is sealed under the new master key. The server continues to run; its \
             next start needs the new key.\n  new:  {}\n\nNow replace the file that systemd \
             loads the credential {name} from (LoadCredential=; for LoadCredentialEncrypted= \
             encrypt the new file). Keep the old key for older backups, and destroy it when you \
             have deleted them all. Recovery shares of the old key do not recover the new one: \
             make new shares with strongroom key shares.",
            new.display()
        ),
        MasterKeySource::Command(command) => format!(
            "The data file is sealed under the new master key. The server continues to run; its \
             next start needs the new key.\n  new:  {}\n\nNow put the new key where {} gets it \
             from, check that the program prints it, and shred the file. Keep the old key for \
             older backups, and destroy it when you have deleted them all. Recovery shares of the \
             old key do not recover the new one: make new shares with strongroom key shares.",
            new.display(),
            command.program.display()
        ),
    }
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
        (MasterKeySource::Command(_) | MasterKeySource::Credential(_), Some(out)) => {
            Ok(out.to_path_buf())
        }
        (MasterKeySource::Command(_), None) => {
            Err(Failure::new(Exit::Usage, "no file is named for the new master key")
                .why("the settings name a command, and only you can change what it prints")
                .try_this("strongroom key rotate --master --out FILE"))
        }
        (MasterKeySource::Credential(_), None) => {
            Err(Failure::new(Exit::Usage, "no file is named for the new master key")
                .why("the settings name a systemd credential, which this command cannot replace")
                .try_this("strongroom key rotate --master --out FILE"))
        }
    }
}

/// The mark beside a new key whose rotation has not ended. It holds the id of the key.
fn unfinished(new: &Path) -> PathBuf {
    beside(new, "unfinished")
}

/// Refuses an existing file, unless an interrupted attempt made it: a key that was in use before
/// would replace nothing, or come back after its retirement.
fn refuse_other_file(new: &Path) -> Result<(), Failure> {
    let failed = || {
        Failure::new(Exit::Data, "the file for the new master key exists already")
            .file(new)
            .try_this("name a file that does not exist; the command makes the new key")
    };
    let is_file = fs::symlink_metadata(new).is_ok_and(|it| it.is_file());
    let mark = fs::read_to_string(unfinished(new)).ok().filter(|_| is_file);
    let mark = mark.ok_or_else(|| failed().why("no interrupted rotation has left it"))?;
    let key = read_master_key(&MasterKeySource::File(new.to_path_buf()))?;
    if mark.trim() != hex::encode(key.check()) {
        return Err(failed().why("an interrupted rotation has left it, but with another key"));
    }
    Ok(())
}

/// Refuses a key that was in use before. The vault knows the previous key, and the files beside the
/// master key are named by the ids of the older ones.
fn refuse_old_key(
    key: &MasterKey,
    previous: Option<&str>,
    new: &Path,
    source: &MasterKeySource,
) -> Result<(), Failure> {
    let id = hex::encode(key.check());
    let is_kept = match source {
        MasterKeySource::File(path) => beside(path, &format!("old-{id}")).exists(),
        MasterKeySource::Command(_) | MasterKeySource::Credential(_) => false,
    };
    if !is_kept && previous != Some(id.as_str()) {
        return Ok(());
    }
    Err(Failure::new(Exit::Data, "this master key was replaced before")
        .file(new)
        .why(format!("its id is {id}; a rotation needs a key that was never in use"))
        .try_this("move this file away and run the same command again"))
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
        if !matches!(source, MasterKeySource::File(_)) {
            let (mark, key) = (unfinished(new), MasterKeySource::File(new.to_path_buf()));
            // It may be left from a file that was renamed meanwhile.
            fs::remove_file(&mark).ok();
            let id = hex::encode(read_master_key(&key)?.check());
            write_secret(&mark, id.as_bytes(), 0o600)?;
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
    let previous = result.get("previous").and_then(Value::as_str);
    let (key, text) = new_key(new, source).map_err(RotationFailure::Unchanged)?;
    refuse_old_key(&key, previous, new, source).map_err(RotationFailure::Unchanged)?;
    let handed = KeyTransfer::send(&receiver, text.expose(), &Random::new());
    let handed = handed.map_err(|_failed| RotationFailure::Unchanged(not_understood()))?;
    let (public, sealed) = (hex::encode(&handed.public), hex::encode(&handed.sealed));
    let keep = |failure: Failure| {
        let failure = failure.line("key", new.display());
        RotationFailure::Unknown(failure.try_this("keep that file and run the same command again"))
    };
    match ask(directory, &Command::MasterRotate { public, sealed }) {
        // The server may refuse after its commit reached the disk, for example when the disk fails.
        CommandExchange::Answered(answer) => {
            with_space(directory, answer).and_then(done).map(drop).map_err(keep)
        }
        CommandExchange::Failed(error) => Err(keep(unreachable_server(directory, &error))),
        CommandExchange::NoServer => Err(RotationFailure::Unchanged(
            Failure::new(Exit::Unavailable, "the server has stopped")
                .try_this("run the command again"),
        )),
    }
}

fn offline(home: &VaultHome, source: &MasterKeySource, new: &Path) -> Result<(), RotationFailure> {
    let vault = open_vault::open(home, source, Clock::new());
    let vault = vault.map_err(RotationFailure::Unchanged)?;
    let prepared = new_key(new, source).and_then(|(key, _)| {
        let previous = vault.rotation().master_before().map_err(|error| refused(&error))?;
        refuse_old_key(&key, previous.as_deref(), new, source)?;
        Ok(key)
    });
    let rotated = prepared.map_err(RotationFailure::Unchanged).and_then(|key| {
        let rotated = async {
            find_living(&vault).await.map_err(|error| refused(&error))?;
            let rotated = vault.rotation().rotate_master(key).await;
            sign(&vault).await;
            rotated.map_err(|error| refused(&error))
        };
        as_member(&vault, || block_on(rotated).map(drop)).map_err(RotationFailure::Unknown)
    });
    vault.close();
    rotated
}
