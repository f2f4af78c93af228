//! The master key: reads it from its source, makes its file, replaces the file in a rotation.

use std::io::{self, Seek as _};
use std::path::{Path, PathBuf};

use crate::app::Vault;
use crate::bounds::MASTER_KEY_FILE_BYTES_MAX;
use crate::cli::support::{
    Exit, Failure, Result, SecretFile, complain, master_key_command, write_secret,
};
use crate::config::{KeyCommand, MasterKeySource};
use crate::crypto::{MasterKey, Random};
use crate::domain::hex;
use crate::files::{Directory, NamedFile, open_regular};
use crate::secret::Secret;

/// The variable in which systemd passes the directory of credentials.
pub const CREDENTIALS_DIRECTORY: &str = "CREDENTIALS_DIRECTORY";
/// The operator's guide puts the file of the credential into that directory.
const OF_COMMAND: &str = "set CREDENTIALS_DIRECTORY=/etc/strongroom for this command, if the key file is there, or give \
     --master-key FILE";
/// The number of unreadable key files that are kept. A rotation fails when there are more.
const OLD_KEYS_UNREADABLE_MAX: u32 = 100;

const KEY_FILE: SecretFile = SecretFile {
    what: "the master key",
    too_large: "it is too large to be a master key",
    if_missing: "strongroom init, or put the key file back",
    if_other: "name the file of a key",
    bytes_max: MASTER_KEY_FILE_BYTES_MAX,
};

/// Writes a new master key. Never overwrites a file.
pub fn make_master_key(path: &Path) -> Result<()> {
    let text = MasterKey::generate(&Random::new());
    write_secret(path, text.expose().as_bytes(), 0o400)
}

pub fn read_master_key(source: &MasterKeySource) -> Result<MasterKey> {
    Ok(read_master_text(source)?.0)
}

pub fn read_master_text(source: &MasterKeySource) -> Result<(MasterKey, Secret<Vec<u8>>)> {
    let path = match source {
        MasterKeySource::Command(command) => return read_from_command(command),
        MasterKeySource::File(path) => path.clone(),
        MasterKeySource::Credential(name) => credential(name)?,
    };
    let is_credential = matches!(source, MasterKeySource::Credential(_));
    parse(&path, KEY_FILE.read(&path, open_regular(&path), is_credential)?)
}

/// The key in the held file, even if its path now leads elsewhere.
pub fn read_held(held: &NamedFile) -> Result<(MasterKey, Secret<Vec<u8>>)> {
    let (path, mut file) = (held.path(), held.file());
    let opened = file.rewind().and_then(|()| file.try_clone());
    parse(&path, KEY_FILE.read(&path, opened, false)?)
}

fn parse(path: &Path, bytes: Secret<Vec<u8>>) -> Result<(MasterKey, Secret<Vec<u8>>)> {
    let key = MasterKey::parse(&bytes).map_err(|invalid| {
        let advice = "restore the file that strongroom init made";
        KEY_FILE.failure(path, invalid).try_this(advice)
    })?;
    Ok((key, bytes))
}

fn read_from_command(command: &KeyCommand) -> Result<(MasterKey, Secret<Vec<u8>>)> {
    let bytes = master_key_command::run(command)?;
    let key = MasterKey::parse(&bytes).map_err(|invalid| {
        master_key_command::failure(command)
            .why(format!("what it printed is not a master key: {invalid}"))
            .try_this("print the 64 hexadecimal digits of the key and nothing else")
    })?;
    Ok((key, bytes))
}

/// The path of a credential that systemd passed to this process.
pub fn credential(name: &str) -> Result<PathBuf> {
    std::env::var_os(CREDENTIALS_DIRECTORY)
        .map(|directory| Path::new(&directory).join(name))
        .ok_or_else(|| no_credential(name, OF_COMMAND))
}

/// Refuses a credential that was not passed to this process, with the advice of the command.
pub fn require_credential(source: &MasterKeySource, advice: &str) -> Result<()> {
    if let MasterKeySource::Credential(name) = source
        && std::env::var_os(CREDENTIALS_DIRECTORY).is_none()
    {
        return Err(no_credential(name, advice));
    }
    Ok(())
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
pub fn finish_rotation(
    path: &Path,
    open: impl FnOnce(MasterKey) -> Result<Vault>,
) -> Option<Vault> {
    let (directory, name) = Directory::of(&left_by_rotation(path)).ok()?;
    let new = directory.hold(name).ok()??;
    let vault = read_held(&new).and_then(|(key, _)| open(key)).ok()?;
    match put_in_place(&directory, &new, path) {
        Ok(_) => complain("strongroom: an interrupted rotation of the master key was finished"),
        Err(error) => complain(&format!(
            "strongroom: the master key is {}; an interrupted rotation could not rename it ({error})",
            new.path().display()
        )),
    }
    Some(vault)
}

/// The place where an interrupted rotation leaves the new key.
pub fn left_by_rotation(path: &Path) -> PathBuf {
    beside(path, "new")
}

/// Moves the new key to `path`, in its own directory, and returns the place of the old one, if
/// there was one. Each step leaves a key at `path`.
pub fn put_in_place(
    directory: &Directory,
    new: &NamedFile,
    path: &Path,
) -> io::Result<Option<PathBuf>> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    // The settings may name a link to the key; the new key takes the place of the link.
    let Some(old) = directory.pin(name)? else {
        new.rename(name)?;
        directory.sync()?;
        return Ok(None);
    };
    let kept = link_old_key(directory, &old, path)?;
    new.replace(&old)?;
    directory.sync()?;
    Ok(Some(kept))
}

/// Gives the old key a second name: older backups need that key after `path` holds the new one.
fn link_old_key(directory: &Directory, old: &NamedFile, path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let readable = match directory.hold(name) {
        Ok(Some(held)) => read_held(&held),
        Ok(None) | Err(_) => read_master_text(&MasterKeySource::File(path.to_path_buf())),
    };
    if let Ok((key, _)) = readable {
        let kept = beside(path, &format!("old-{}", hex::encode(key.check())));
        return match old.link(kept.file_name().unwrap_or_default()) {
            // The name contains the id of the key, so that file holds the same key.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(kept),
            linked => linked.map(|()| kept),
        };
    }
    // A file that does not parse as a key has no id. It gets the first free number instead, because
    // it may hold a key that can be repaired.
    for number in 1..=OLD_KEYS_UNREADABLE_MAX {
        let kept = beside(path, &format!("old-unreadable-{number}"));
        match old.link(kept.file_name().unwrap_or_default()) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => (),
            linked => return linked.map(|()| kept),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

pub fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A new directory that holds a new key, and the path of the old one.
    fn with_new_key(name: &str, text: &str) -> (PathBuf, Directory, NamedFile) {
        let name = format!("strongroom-{name}-{}", std::process::id());
        let place = std::env::temp_dir().join(name);
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join("master.key.new"), text).unwrap();
        let directory = Directory::open(&place).unwrap();
        let new = directory.hold("master.key.new").unwrap().unwrap();
        (place.join("master.key"), directory, new)
    }

    #[test]
    fn an_old_key_that_cannot_be_read_is_kept_beside_the_others() {
        let mut old = Vec::new();
        for text in ["first", "second", "third"] {
            let (path, directory, new) = with_new_key("old-keys", text);
            old.extend(put_in_place(&directory, &new, &path).unwrap());
        }
        let kept: Vec<_> = old.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
        assert_eq!(kept, ["first", "second"]);
        let directory = old[0].parent().unwrap();
        assert_eq!(fs::read_to_string(directory.join("master.key")).unwrap(), "third");
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_key_that_was_lost_leaves_no_old_key() {
        let (path, directory, new) = with_new_key("lost-key", "new");
        assert_eq!(put_in_place(&directory, &new, &path).unwrap(), None);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        fs::remove_dir_all(directory.path()).unwrap();
    }

    #[test]
    fn files_that_took_the_place_of_the_new_key_and_a_key_that_came_back_stay() {
        let (path, directory, new) = with_new_key("taken-key", "new");
        let taken = directory.path().join("master.key.new");
        fs::rename(&taken, directory.path().join("aside")).unwrap();
        fs::write(&taken, "of another rotation").unwrap();
        fs::write(&path, "of another rotation").unwrap();
        assert!(put_in_place(&directory, &new, &path).is_err());
        for file in [&taken, &path] {
            assert_eq!(fs::read_to_string(file).unwrap(), "of another rotation");
        }
        fs::remove_dir_all(directory.path()).unwrap();
    }
}
