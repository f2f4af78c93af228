//! Files and directories that only their owner may read.

use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::Path;

use crate::cli::support::{Exit, Failure, Result, cannot, misconfigured, next_step};
use crate::files::{Directory, NamedFile};
use crate::secret::Secret;

/// Creates the directory if it does not exist. Its parent must exist.
pub fn make_directory(directory: &Path) -> Result<()> {
    match fs::DirBuilder::new().mode(0o700).create(directory) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(misconfigured("create the data directory", directory, &error)),
    }
}

pub fn check_directory(directory: &Path) -> Result<()> {
    let metadata = fs::metadata(directory).map_err(|error| {
        misconfigured("enter the data directory", directory, &error).try_this("strongroom init")
    })?;
    if metadata.mode() & 0o077 != 0 {
        let mode = metadata.mode() & 0o7777;
        return Err(Failure::new(Exit::Permission, "other users can enter the data directory")
            .file(directory)
            .why(format!("its mode is {mode:04o}"))
            .try_this(format!("chmod 0700 {}", directory.display())));
    }
    Ok(())
}

pub fn write_secret(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    let written = Directory::of(path).and_then(|(at, name)| write_new(&at, name, bytes, mode));
    written.map(drop).map_err(|error| cannot("write a secret to its file", path, &error))
}

/// Writes a new file into the held directory.
pub fn write_new(
    directory: &Directory,
    name: impl AsRef<OsStr>,
    bytes: &[u8],
    mode: u32,
) -> io::Result<NamedFile> {
    let new = directory.create(name)?;
    new.file().write_all(bytes)?;
    new.file().set_permissions(Permissions::from_mode(mode))?;
    new.file().sync_all()?;
    Ok(new)
}

/// Reads a text of at most this many bytes; the rest of a longer file is left out.
pub fn read_text(what: &str, path: &Path, most: u64) -> Result<String> {
    let text = File::open(path).and_then(|file| io::read_to_string(file.take(most)));
    text.map_err(|error| cannot(&format!("read {what}"), path, &error))
}

/// Creates a file that only its owner may read. Never overwrites one.
pub fn create_private(what: &str, path: &Path) -> Result<File> {
    let created = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    created.map_err(|error| cannot(&format!("write {what}"), path, &error))
}

/// A kind of file that holds one secret, and its messages.
pub struct SecretFile {
    pub what: &'static str,
    pub too_large: &'static str,
    pub if_missing: &'static str,
    pub if_other: &'static str,
    pub bytes_max: u64,
}

impl SecretFile {
    /// No failure shows any of the content. `is_credential` is set for a file of systemd, which
    /// makes it readable only for the service's user, with modes of its own.
    pub fn read(
        &self,
        path: &Path,
        opened: io::Result<File>,
        is_credential: bool,
    ) -> Result<Secret<Vec<u8>>> {
        let file = opened.map_err(|error| {
            if error.kind() == io::ErrorKind::InvalidInput {
                return self.failure(path, "it is not a file").try_this(self.if_other);
            }
            let is_missing = error.kind() == io::ErrorKind::NotFound;
            let advice = if is_missing { self.if_missing } else { next_step(error.kind()) };
            self.failure(path, error).try_this(advice)
        })?;
        let failed = |error: io::Error| {
            let advice = next_step(error.kind());
            self.failure(path, error).try_this(advice)
        };
        let mode = file.metadata().map_err(failed)?.mode() & 0o7777;
        if !is_credential && mode & 0o077 != 0 {
            let why = format!("other users can read it (mode {mode:04o})");
            let advice = format!("chmod 0400 {}", path.display());
            return Err(self.failure(path, why).try_this(advice));
        }
        let mut bytes = Secret::new(Vec::new());
        let read = file.take(self.bytes_max.saturating_add(1)).read_to_end(bytes.expose_mut());
        let length = read.map_err(failed)?;
        if u64::try_from(length).is_ok_and(|length| length <= self.bytes_max) {
            return Ok(bytes);
        }
        Err(self.failure(path, self.too_large).try_this(self.if_other))
    }

    pub fn failure(&self, path: &Path, why: impl fmt::Display) -> Failure {
        Failure::new(Exit::Permission, format!("cannot read {}", self.what)).file(path).why(why)
    }
}

pub fn restrict(path: &Path, mode: u32) -> Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
        .map_err(|error| cannot("set the mode of a file", path, &error))
}

pub fn give_to_owner(directory: &Path, path: &Path) -> Result<()> {
    let give = || -> io::Result<()> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        Directory::open(directory)?.hold(name)?.map_or(Ok(()), |file| file.give_to_owner())
    };
    give().map_err(|error| cannot("give a file to the data directory's owner", path, &error))
}
