//! Files and directories that only their owner may read.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, lchown,
};
use std::path::Path;

use crate::cli::support::failure::{Exit, Failure};
use crate::cli::support::failure_texts::{cannot, misconfigured};

/// Creates the directory if it does not exist. Its parent must exist.
pub(in crate::cli) fn make_directory(directory: &Path) -> Result<(), Failure> {
    match fs::DirBuilder::new().mode(0o700).create(directory) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(misconfigured("create the data directory", directory, &error)),
    }
}

pub(in crate::cli) fn check_directory(directory: &Path) -> Result<(), Failure> {
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

pub(in crate::cli) fn write_secret(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Failure> {
    let written = || -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    written().map_err(|error| cannot("write a secret to its file", path, &error))
}

pub(in crate::cli) fn restrict(path: &Path, mode: u32) -> Result<(), Failure> {
    fs::set_permissions(path, Permissions::from_mode(mode))
        .map_err(|error| cannot("set the mode of a file", path, &error))
}

pub(in crate::cli) fn give_to_owner(directory: &Path, path: &Path) -> Result<(), Failure> {
    let give = || -> io::Result<()> {
        let owner = fs::metadata(directory)?;
        let file = fs::symlink_metadata(path)?;
        // The owner of the directory may place links in it. Change the owner only of a regular file
        // with one link, and never follow a link.
        if file.uid() == owner.uid() || !file.is_file() || file.nlink() != 1 {
            return Ok(());
        }
        lchown(path, Some(owner.uid()), Some(owner.gid()))
    };
    give().map_err(|error| cannot("give a file to the data directory's owner", path, &error))
}
