//! The files that the settings name: a running server does not need them, the next start does.
//!
//! If one is missing, the server continues. The log names it, and the readiness probe and
//! `strongroom status` report it with a warning, while there is time to put it back.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::bounds::NAMED_FILES_CHECK_EVERY;
use crate::config::{Config, MasterKeySource, PostgresSettings, UrlSource};
use crate::files::open_regular;
use crate::log::{Event, Log, Value};
use crate::metrics::{Checks, Observe};
use crate::operator::{metrics_socket_path, socket_path};
use crate::server::tasks::Tasks;
use crate::store::{CvcKeys, Store};

pub(in crate::cli) struct NamedFiles(Vec<NamedFile>);

struct NamedFile {
    path: PathBuf,
    role: Role,
    is_missing: AtomicBool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    BinFile,
    Certificate,
    /// A file of the vault. It is open, so only its permissions matter here.
    Data,
    DatabaseUrl,
    MasterKey,
    MetricsSocket(Inode),
    OperatorSocket(Inode),
    PrivateKey,
    Settings,
}

/// The device and inode number of a file.
type Inode = (u64, u64);

fn inode(path: &Path) -> Option<Inode> {
    fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

impl NamedFiles {
    /// Starts the checks of the files of these settings. The sockets are bound already.
    pub(in crate::cli) fn begin(
        config: &Config,
        settings: Option<&Path>,
        tasks: &Tasks,
        log: &Log,
    ) -> Arc<Self> {
        let files = Arc::new(Self::of(config, settings));
        tasks.spawn(watch(Arc::clone(&files), log.clone()));
        files
    }

    fn of(config: &Config, settings: Option<&Path>) -> Self {
        let data = &config.data_directory;
        let mut files = vec![
            (config.certificate.clone(), Role::Certificate),
            (config.private_key.clone(), Role::PrivateKey),
        ];
        match config.engine.postgres() {
            None => files.extend([
                (data.join(Store::FILE), Role::Data),
                (data.join(CvcKeys::FILE), Role::Data),
            ]),
            Some(PostgresSettings { url: UrlSource::File(path), .. }) => {
                files.push((path.clone(), Role::DatabaseUrl));
            }
            Some(_) => (),
        }
        if let MasterKeySource::File(path) = &config.master_key {
            files.push((path.clone(), Role::MasterKey));
        }
        files.extend(config.bin_file.clone().map(|path| (path, Role::BinFile)));
        files.extend(settings.map(|path| (path.to_path_buf(), Role::Settings)));
        let operator = socket_path(data);
        files.extend(inode(&operator).map(|it| (operator, Role::OperatorSocket(it))));
        let metrics = metrics_socket_path(data);
        files.extend(inode(&metrics).map(|it| (metrics, Role::MetricsSocket(it))));
        let watched = files.into_iter().map(|(path, role)| NamedFile {
            path,
            role,
            is_missing: AtomicBool::new(false),
        });
        Self(watched.collect())
    }

    /// Checks all files, and logs each one that became missing or is back.
    fn look(&self, log: &Log) {
        for file in &self.0 {
            let is_missing = !file.role.is_usable(&file.path);
            if file.is_missing.swap(is_missing, Ordering::Relaxed) == is_missing {
                continue;
            }
            let event =
                if is_missing { Event::error("file_missing") } else { Event::info("file_back") };
            let event = event.with("file", Value::Name(file.role.texts().0));
            log.event(event.with("path", Value::Path(file.path.clone())));
        }
    }
}

async fn watch(files: Arc<NamedFiles>, log: Log) {
    loop {
        tokio::time::sleep(NAMED_FILES_CHECK_EVERY).await;
        let (files, log) = (Arc::clone(&files), log.clone());
        // A disk that hangs must not block a thread that answers requests. The panic hook logs the
        // location of a panic.
        tokio::task::spawn_blocking(move || files.look(&log)).await.ok();
    }
}

impl Observe for NamedFiles {
    fn check(&self, checks: &mut Checks) {
        let missing = self.0.iter().find(|file| file.is_missing.load(Ordering::Relaxed));
        checks.warn("files", missing.map(|file| file.role.texts().1));
    }
}

impl Role {
    fn is_usable(self, path: &Path) -> bool {
        let Ok(found) = fs::metadata(path) else {
            // The store reports a data file that is gone.
            return self == Self::Data;
        };
        match self {
            Self::Data => found.mode() & OWNER_MAY_WRITE == OWNER_MAY_WRITE,
            Self::MetricsSocket(inode) | Self::OperatorSocket(inode) => {
                found.file_type().is_socket() && (found.dev(), found.ino()) == inode
            }
            Self::BinFile
            | Self::Certificate
            | Self::DatabaseUrl
            | Self::MasterKey
            | Self::PrivateKey
            | Self::Settings => {
                found.is_file() && found.mode() & OWNER_MAY_READ != 0 && open_regular(path).is_ok()
            }
        }
    }

    /// The word for the log, and the sentence for the readiness probe.
    const fn texts(self) -> (&'static str, &'static str) {
        match self {
            Self::BinFile => ("bin_file", "The BIN file cannot be read; the next start needs it."),
            Self::Certificate => {
                ("certificate", "The certificate cannot be read; the next start needs it.")
            }
            Self::Data => {
                ("data", "A data file has lost its owner's permissions; the next start needs them.")
            }
            Self::DatabaseUrl => {
                ("database_url", "The database's URL cannot be read; the next start needs it.")
            }
            Self::MasterKey => {
                ("master_key", "The master key's file cannot be read; the next start needs it.")
            }
            Self::MetricsSocket(_) => {
                ("metrics_socket", "The socket for metrics was removed; a restart makes it again.")
            }
            Self::OperatorSocket(_) => {
                ("operator_socket", "The operator's socket was removed; a restart makes it again.")
            }
            Self::PrivateKey => {
                ("private_key", "The certificate's key cannot be read; the next start needs it.")
            }
            Self::Settings => {
                ("settings", "The settings cannot be read; the next start needs them.")
            }
        }
    }
}

/// Root can open files without these bits, but the service's user cannot.
const OWNER_MAY_READ: u32 = 0o400;
const OWNER_MAY_WRITE: u32 = 0o600;
