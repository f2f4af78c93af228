//! One server for a data directory. The data file has its own lock; a directory whose rows are in a
//! database needs this one, since a second server would take the sockets of the first.

use std::fs::{File, TryLockError};
use std::io;

use crate::cli::support::{Exit, Failure, Result, cannot};
use crate::config::{Config, EngineSettings};
use crate::files::Directory;

const NAME: &str = "process.lock";

/// Held while the server runs; the kernel releases it when the process ends.
#[derive(Debug)]
pub(super) struct DirectoryLock {
    _file: Option<File>,
}

impl DirectoryLock {
    pub(super) fn take(config: &Config) -> Result<Self> {
        if config.engine == EngineSettings::Local {
            return Ok(Self { _file: None });
        }
        let path = config.data_directory.join(NAME);
        let open = || {
            let directory = Directory::open(&config.data_directory)?;
            let found = directory.find(NAME)?;
            Ok(found.map_or_else(|| directory.create(NAME), Ok)?.into_file())
        };
        let file: File =
            open().map_err(|error: io::Error| cannot("open the lock", &path, &error))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: Some(file) }),
            Err(TryLockError::WouldBlock) => {
                Err(Failure::new(Exit::Unavailable, "the data directory is in use")
                    .file(&path)
                    .why("another strongroom process serves from this directory")
                    .try_this("give each process on this host a data directory of its own"))
            }
            Err(TryLockError::Error(error)) => Err(cannot("lock the directory", &path, &error)),
        }
    }
}
