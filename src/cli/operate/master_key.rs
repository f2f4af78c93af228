//! `strongroom key rotate --master`: a new master key, and the order in which the files change.
//!
//! The command writes the new key to a file of its own and syncs it, seals the data file under the
//! new key, and then renames the new key file over the old one. If the command is interrupted at
//! any step, one of the two files holds a key that opens the data file. The next start or the next
//! attempt finishes the rotation.
//!
//! With `--out FILE`, a mark `FILE.unfinished` names the new key until the rotation has ended. An
//! existing FILE is used only with its mark, so that no other key is taken for a new one.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, fchown};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::cli::support::{
    Exit, Failure, Form, Result, VaultPlace, as_member, ask_server, beside, block_on, cannot,
    find_living, key_place, left_by_rotation, not_understood, put_in_place, read_held, refused,
    sign, tell, write_new,
};
use crate::config::MasterKeySource;
use crate::crypto::{KeyTransfer, MasterKey, Random};
use crate::domain::hex;
use crate::files::{Directory, NamedFile};
use crate::operator::Command;
use crate::secret::Secret;

/// The length of the hexadecimal id of a key, with room for a line end.
const ID_BYTES_MAX: u64 = 256;

/// `out` is the file for the new key, needed if the settings name a source that is not a file.
pub fn rotate(vault: &VaultPlace, out: Option<&Path>, form: Form) -> Result<()> {
    let (source, directory) = (vault.master()?, vault.directory());
    let new = place(&source, out)?;
    if out.is_some() {
        key_place::refuse_path(directory, &new)?;
    }
    let left = NewKey::find(&new, &source)?;
    let make = || left.map_or_else(|| NewKey::make(&new, &source), Ok);
    let rotated = match ask_server(directory, &Command::MasterHandover)? {
        Some(result) => online(directory, &source, &result, make)?,
        None => offline(vault, &source, make)?,
    };
    // Without this mark, no later rotation takes the key for a new one.
    rotated.mark.as_ref().map(NamedFile::remove);
    let old = match &source {
        MasterKeySource::File(path) => put_in_place(&rotated.directory, &rotated.file, path)
            .map_err(|error| cannot("install the new key", path, &error))?,
        MasterKeySource::Command(_) | MasterKeySource::Credential(_) => None,
    };
    let facts = || {
        let path = |path: &Path| path.display().to_string();
        let (file, credential) = match &source {
            MasterKeySource::File(file) => (path(file), None),
            MasterKeySource::Command(_) => (path(&new), None),
            MasterKeySource::Credential(name) => (path(&new), Some(name)),
        };
        json!({"new": file, "old": old.as_deref().map(path), "credential": credential})
    };
    tell(form, facts, || rotated_text(&source, &new, old.as_deref()));
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

fn place(source: &MasterKeySource, out: Option<&Path>) -> Result<PathBuf> {
    match (source, out) {
        (MasterKeySource::File(path), None) => Ok(left_by_rotation(path)),
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

/// The new key and its file. The file is held open: another file under its name is left alone.
struct NewKey {
    key: MasterKey,
    text: Secret<Vec<u8>>,
    directory: Directory,
    file: NamedFile,
    /// The mark beside the file of `--out` until the rotation has ended. It contains the key's id.
    mark: Option<NamedFile>,
    /// True if this attempt made the file.
    is_made: bool,
}

impl NewKey {
    /// The key that an interrupted attempt has left. Any other file is refused: it may hold the
    /// current key, or one that was retired.
    fn find(path: &Path, source: &MasterKeySource) -> Result<Option<Self>> {
        let exists = || {
            Failure::new(Exit::Data, "the file for the new master key exists already")
                .file(path)
                .try_this("name a file that does not exist; the command makes the new key")
        };
        let failed = |error: io::Error| {
            let is_other = error.kind() == io::ErrorKind::InvalidInput;
            if is_other { exists().why(error) } else { cannot("keep the new key", path, &error) }
        };
        let (directory, name) = Directory::of(path).map_err(failed)?;
        let Some(file) = directory.hold(&name).map_err(failed)? else { return Ok(None) };
        let mut mark = None;
        if !matches!(source, MasterKeySource::File(_)) {
            mark = directory.hold(mark_of(&name)).map_err(failed)?;
            let Some(mark) = &mark else {
                return Err(exists().why("no interrupted rotation has left it"));
            };
            let id = io::read_to_string(mark.file().take(ID_BYTES_MAX)).map_err(failed)?;
            if id.trim() != hex::encode(read_held(&file)?.0.check()) {
                let why = "an interrupted rotation has left it, but with another key";
                return Err(exists().why(why));
            }
        }
        let (key, text) = read_held(&file)?;
        Ok(Some(Self { key, text, directory, file, mark, is_made: false }))
    }

    fn make(path: &Path, source: &MasterKeySource) -> Result<Self> {
        let failed = |error: io::Error| cannot("write a secret to its file", path, &error);
        let (directory, name) = Directory::of(path).map_err(failed)?;
        let text = MasterKey::generate(&Random::new());
        let file = write_new(&directory, &name, text.expose().as_bytes(), 0o400).map_err(failed)?;
        let prepared = || -> Result<_> {
            let (key, text) = read_held(&file)?;
            let mark = match source {
                MasterKeySource::File(old) => {
                    let given = give_to_owner_of(old, &file);
                    given.map_err(|error| cannot("set the owner of the new key", path, &error))?;
                    None
                }
                MasterKeySource::Command(_) | MasterKeySource::Credential(_) => {
                    let (name, id) = (mark_of(&name), hex::encode(key.check()));
                    // It may be left over from a file that was renamed since.
                    let left = directory.hold(&name).map_err(failed)?;
                    left.map_or(Ok(()), |left| left.remove()).map_err(failed)?;
                    Some(write_new(&directory, name, id.as_bytes(), 0o600).map_err(failed)?)
                }
            };
            directory.sync().map_err(|error| cannot("keep the new key", path, &error))?;
            Ok((key, text, mark))
        };
        match prepared() {
            Ok((key, text, mark)) => Ok(Self { key, text, directory, file, mark, is_made: true }),
            Err(failure) => {
                file.remove().ok();
                Err(failure)
            }
        }
    }

    /// Ends a rotation that has changed nothing: no data is sealed under the new key.
    fn discard(&self, failure: Failure) -> Failure {
        if self.is_made {
            self.file.remove().ok();
            self.mark.as_ref().map(NamedFile::remove);
        }
        failure
    }

    /// Refuses a key that was in use before. The vault stores the id of the previous key, and the
    /// files beside the master key have the ids of older ones in their names.
    fn refuse_old(&self, previous: Option<&str>, source: &MasterKeySource) -> Result<()> {
        let id = hex::encode(self.key.check());
        let is_kept = match source {
            MasterKeySource::File(path) => beside(path, &format!("old-{id}")).exists(),
            MasterKeySource::Command(_) | MasterKeySource::Credential(_) => false,
        };
        if !is_kept && previous != Some(id.as_str()) {
            return Ok(());
        }
        Err(self.discard(
            Failure::new(Exit::Data, "this master key was replaced before")
                .file(&self.file.path())
                .why(format!("its id is {id}; a rotation needs a key that was never in use"))
                .try_this("move this file away and run the same command again"),
        ))
    }
}

fn mark_of(name: &OsStr) -> PathBuf {
    beside(Path::new(name), "unfinished")
}

fn give_to_owner_of(path: &Path, file: &NamedFile) -> io::Result<()> {
    let old = match fs::metadata(path) {
        // The file was lost while the server ran; the rotation writes a new one.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        known => known?,
    };
    let made = file.file().metadata()?;
    if (old.uid(), old.gid()) != (made.uid(), made.gid()) {
        fchown(file.file(), Some(old.uid()), Some(old.gid()))?;
    }
    Ok(())
}

fn online(
    directory: &Path,
    source: &MasterKeySource,
    result: &Value,
    make: impl FnOnce() -> Result<NewKey>,
) -> Result<NewKey> {
    let receiver = result.get("public").and_then(Value::as_str).and_then(hex::decode);
    let receiver = receiver.ok_or_else(not_understood)?;
    let new = make()?;
    new.refuse_old(result.get("previous").and_then(Value::as_str), source)?;
    let handed = KeyTransfer::send(&receiver, new.text.expose(), &Random::new());
    let handed = handed.map_err(|_failed| new.discard(not_understood()))?;
    let (public, sealed) = (hex::encode(&handed.public), hex::encode(&handed.sealed));
    // From here on the data file may be sealed under either key. The server may refuse after its
    // commit reached the disk, for example if the disk fails.
    let keep = |failure: Failure| {
        let failure = failure.line("key", new.file.path().display());
        failure.try_this("keep that file and run the same command again")
    };
    if ask_server(directory, &Command::MasterRotate { public, sealed }).map_err(keep)?.is_none() {
        let failure = Failure::new(Exit::Unavailable, "the server has stopped");
        return Err(new.discard(failure.try_this("run the command again")));
    }
    Ok(new)
}

fn offline(
    place: &VaultPlace,
    source: &MasterKeySource,
    make: impl FnOnce() -> Result<NewKey>,
) -> Result<NewKey> {
    let vault = place.open()?;
    let rotated = make().and_then(|new| {
        let previous = vault.rotation().master_before();
        let previous = previous.map_err(|error| new.discard(refused(&error)))?;
        new.refuse_old(previous.as_deref(), source)?;
        let rotated = async {
            find_living(&vault).await?;
            let rotated = vault.rotation().rotate_master(new.key.clone()).await;
            sign(&vault).await;
            rotated.map_err(|error| refused(&error))
        };
        // After a failure the data file may be sealed under either key: the new file is kept.
        as_member(&vault, || block_on(rotated).map(drop))?;
        Ok(new)
    });
    vault.close();
    rotated
}
