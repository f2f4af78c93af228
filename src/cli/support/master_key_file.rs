//! The file of the master key: made, read, and replaced by a rotation.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::app::Vault;
use crate::bounds::MASTER_KEY_FILE_BYTES_MAX;
use crate::cli::support::failure::{Exit, Failure};
use crate::cli::support::files::write_secret;
use crate::cli::support::output::complain;
use crate::config::MasterKeySource;
use crate::crypto::{MasterKey, Random};
use crate::domain::hex;
use crate::secret::Secret;

/// Where systemd puts the credentials of a service.
const CREDENTIALS_DIRECTORY: &str = "CREDENTIALS_DIRECTORY";

/// Writes a new master key where none is. An existing one is never touched.
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
        MasterKeySource::File(path) => path.clone(),
        MasterKeySource::Credential(name) => credential(name)?,
    };
    let failed = |why: String| {
        Failure::new(Exit::Permission, "cannot read the master key").file(&path).why(why)
    };
    let metadata = fs::metadata(&path).map_err(|error| {
        failed(error.to_string()).try_this("strongroom init, or put the key file back")
    })?;
    // systemd gives credentials to the service's user alone, with modes of its own.
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

fn credential(name: &str) -> Result<PathBuf, Failure> {
    std::env::var_os(CREDENTIALS_DIRECTORY)
        .map(|directory| Path::new(&directory).join(name))
        .ok_or_else(|| {
            Failure::new(Exit::Permission, "cannot find the master key's credential")
                .why(format!("{CREDENTIALS_DIRECTORY} is not set: this was not started by systemd"))
                .try_this("start the server first, or set master_key.file in the settings")
        })
}

/// At start: the key of an interrupted rotation, if that is what opens the file. `None` when there
/// is none, or it does not.
pub(in crate::cli) fn finish_rotation(
    path: &Path,
    open: impl FnOnce(MasterKey) -> Result<Vault, Failure>,
) -> Option<Result<Vault, Failure>> {
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
    Some(Ok(vault))
}

/// The new key of an interrupted rotation, if there is one.
pub(in crate::cli) fn left_by_rotation(path: &Path) -> (PathBuf, MasterKeySource) {
    let new = beside(path, "new");
    (new.clone(), MasterKeySource::File(new))
}

/// The old key stays under a name of its own. Each step leaves a key in its place.
pub(in crate::cli) fn put_in_place(path: &Path, new: &Path) -> io::Result<PathBuf> {
    let source = MasterKeySource::File(path.to_path_buf());
    let name = read_master_key(&source).map(|key| hex::encode(key.check()));
    let old = beside(path, &format!("old-{}", name.unwrap_or_default()));
    match fs::hard_link(path, &old) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => (),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => (),
        linked => linked?,
    }
    fs::rename(new, path)?;
    sync_directory(path)?;
    Ok(old)
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
