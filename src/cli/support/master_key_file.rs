//! The master key: reading it from its source, making its file, replacing the file in a rotation.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::app::Vault;
use crate::bounds::MASTER_KEY_FILE_BYTES_MAX;
use crate::cli::support::failure::{Exit, Failure};
use crate::cli::support::files::write_secret;
use crate::cli::support::master_key_command;
use crate::cli::support::output::complain;
use crate::config::{KeyCommand, MasterKeySource};
use crate::crypto::{MasterKey, Random};
use crate::domain::hex;
use crate::secret::Secret;

/// The variable in which systemd passes the directory of credentials.
pub(in crate::cli) const CREDENTIALS_DIRECTORY: &str = "CREDENTIALS_DIRECTORY";
/// The guide has the file of the credential in that directory.
const OF_COMMAND: &str = "set CREDENTIALS_DIRECTORY=/etc/strongroom for this command, if the key file is there, or give \
     --master-key FILE";
/// The number of unreadable key files that are kept. A rotation fails when there are more.
const OLD_KEYS_UNREADABLE_MAX: u32 = 100;

/// Writes a new master key. Never overwrites a file.
pub(in crate::cli) fn make_master_key(path: &Path) -> Result<(), Failure> {
    let text = MasterKey::generate(&Random::new());
    write_secret(path, text.expose().as_bytes(), 0o400)
}

pub(in crate::cli) fn read_master_key(source: &MasterKeySource) -> Result<MasterKey, Failure> {
    Ok(read_master_text(source)?.0)
}

/// The key and the text that it was read from.
pub(in crate::cli) fn read_master_text(
    source: &MasterKeySource,
) -> Result<(MasterKey, Secret<Vec<u8>>), Failure> {
    let path = match source {
        MasterKeySource::Command(command) => return read_from_command(command),
        MasterKeySource::File(path) => path.clone(),
        MasterKeySource::Credential(name) => credential(name)?,
    };
    let failed = |why: String| {
        Failure::new(Exit::Permission, "cannot read the master key").file(&path).why(why)
    };
    let metadata = fs::metadata(&path).map_err(|error| {
        failed(error.to_string()).try_this("strongroom init, or put the key file back")
    })?;
    if !metadata.is_file() {
        return Err(failed(String::from("it is not a file")).try_this("name the file of a key"));
    }
    // systemd makes credentials readable only for the service's user, with its own modes.
    if matches!(source, MasterKeySource::File(_)) && metadata.permissions().mode() & 0o077 != 0 {
        let mode = metadata.permissions().mode() & 0o7777;
        return Err(failed(format!("other users can read it (mode {mode:04o})"))
            .try_this(format!("chmod 0400 {}", path.display())));
    }
    if metadata.len() > MASTER_KEY_FILE_BYTES_MAX {
        return Err(failed(String::from("it is too large to be a master key")));
    }
    let bytes = Secret::new(fs::read(&path).map_err(|error| failed(error.to_string()))?);
    let key = MasterKey::parse(&bytes).map_err(|invalid| {
        failed(invalid.to_string()).try_this("restore the file that strongroom init made")
    })?;
    Ok((key, bytes))
}

fn read_from_command(command: &KeyCommand) -> Result<(MasterKey, Secret<Vec<u8>>), Failure> {
    let bytes = master_key_command::run(command)?;
    let key = MasterKey::parse(&bytes).map_err(|invalid| {
        master_key_command::failure(command)
            .why(format!("what it printed is not a master key: {invalid}"))
            .try_this("print the 64 hexadecimal digits of the key and nothing else")
    })?;
    Ok((key, bytes))
}

fn credential(name: &str) -> Result<PathBuf, Failure> {
    std::env::var_os(CREDENTIALS_DIRECTORY)
        .map(|directory| Path::new(&directory).join(name))
        .ok_or_else(|| no_credential(name, OF_COMMAND))
}

/// Refuses a credential that is not passed to this process, with the advice of this command.
pub(in crate::cli) fn require_credential(
    source: &MasterKeySource,
    advice: &str,
) -> Result<(), Failure> {
    match source {
        MasterKeySource::Credential(name) if std::env::var_os(CREDENTIALS_DIRECTORY).is_none() => {
            Err(no_credential(name, advice))
        }
        MasterKeySource::Command(_) | MasterKeySource::Credential(_) | MasterKeySource::File(_) => {
            Ok(())
        }
    }
}

fn no_credential(name: &str, advice: &str) -> Failure {
    Failure::new(Exit::Permission, "cannot find the master key's credential")
        .why(format!(
            "the settings name the credential {name}, which only systemd passes to the server; \
             this was not started by systemd ({CREDENTIALS_DIRECTORY} is not set)"
        ))
        .try_this(advice)
}

/// Opens the vault with the new key of an interrupted rotation and finishes the rotation. Returns
/// `None` if there is no such key or it does not open the vault.
pub(in crate::cli) fn finish_rotation(
    path: &Path,
    open: impl FnOnce(MasterKey) -> Result<Vault, Failure>,
) -> Option<Vault> {
    let new = beside(path, "new");
    let source = MasterKeySource::File(new.clone());
    let vault = read_master_key(&source).and_then(open).ok()?;
    match put_in_place(path, &new) {
        Ok(_) => complain("strongroom: an interrupted rotation of the master key was finished"),
        Err(error) => complain(&format!(
            "strongroom: the master key is {}; an interrupted rotation could not rename it ({error})",
            new.display()
        )),
    }
    Some(vault)
}

/// The place of the new key that an interrupted rotation leaves.
pub(in crate::cli) fn left_by_rotation(path: &Path) -> (PathBuf, MasterKeySource) {
    let new = beside(path, "new");
    (new.clone(), MasterKeySource::File(new))
}

/// Moves the new key to `path` and returns the place of the old one, if there was one. Each step
/// leaves a key at `path`.
pub(in crate::cli) fn put_in_place(path: &Path, new: &Path) -> io::Result<Option<PathBuf>> {
    let old = link_old_key(path)?;
    fs::rename(new, path)?;
    sync_directory(path)?;
    Ok(old)
}

/// Gives the old key a second name: older backups need that key after `path` holds the new one.
fn link_old_key(path: &Path) -> io::Result<Option<PathBuf>> {
    let source = MasterKeySource::File(path.to_path_buf());
    let Ok(key) = read_master_key(&source) else { return link_unreadable(path) };
    let old = beside(path, &format!("old-{}", hex::encode(key.check())));
    match fs::hard_link(path, &old) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        // The name contains the id of the key, so that file holds the same key.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Some(old)),
        linked => linked.map(|()| Some(old)),
    }
}

/// A file that does not parse as a key has no id. It gets the first free number instead, because it
/// may still hold a key that somebody can repair.
fn link_unreadable(path: &Path) -> io::Result<Option<PathBuf>> {
    for number in 1..=OLD_KEYS_UNREADABLE_MAX {
        let old = beside(path, &format!("old-unreadable-{number}"));
        match fs::hard_link(path, &old) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => (),
            linked => return linked.map(|()| Some(old)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

pub(in crate::cli) fn sync_directory(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |parent| {
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        File::open(parent)?.sync_all()
    })
}

pub(in crate::cli) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_key_that_cannot_be_read_is_kept_beside_the_others() {
        let name = format!("strongroom-old-keys-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        fs::create_dir(&directory).unwrap();
        let (path, new) = (directory.join("master.key"), directory.join("master.key.new"));
        fs::write(&path, "first").unwrap();
        let mut old = Vec::new();
        for text in ["second", "third"] {
            fs::write(&new, text).unwrap();
            old.push(put_in_place(&path, &new).unwrap().unwrap());
        }
        let kept: Vec<_> = old.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
        assert_eq!(kept, ["first", "second"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), "third");
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_key_that_was_lost_leaves_no_old_key() {
        let name = format!("strongroom-lost-key-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        fs::create_dir(&directory).unwrap();
        let (path, new) = (directory.join("master.key"), directory.join("master.key.new"));
        fs::write(&new, "new").unwrap();
        assert_eq!(put_in_place(&path, &new).unwrap(), None);
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
        fs::remove_dir_all(&directory).unwrap();
    }
}
