//! The data directory of a vault, and the engine that has its rows.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::cli::support::database_url::database;
use crate::cli::support::failure::{Exit, Failure};
use crate::config::{Config, EngineSettings, PostgresSettings, UrlSource};
use crate::store::{Store, StorePlace};

/// The file with the database's URL of a vault of `strongroom dev`, in its data directory.
const DEV_URL: &str = "database.url";

/// A data directory has the operator's sockets, and, with the local engine, the rows.
#[derive(Debug, Clone)]
pub(in crate::cli) struct VaultHome {
    pub(in crate::cli) directory: PathBuf,
    pub(in crate::cli) engine: EngineSettings,
}

impl VaultHome {
    pub(in crate::cli) fn of(config: &Config) -> Self {
        Self { directory: config.data_directory.clone(), engine: config.engine.clone() }
    }

    /// A vault without settings: `strongroom dev` leaves the URL of its database in the directory.
    pub(in crate::cli) fn without_settings(directory: &Path) -> Self {
        let file = dev_url(directory);
        let engine = if file.exists() { over_database(file) } else { EngineSettings::Local };
        Self { directory: directory.to_path_buf(), engine }
    }

    /// The place of the rows, for opening them. Makes no connection.
    pub(in crate::cli) fn place(&self) -> Result<StorePlace, Failure> {
        match self.engine.postgres() {
            None => Ok(StorePlace::Directory(self.directory.clone())),
            Some(settings) => database(settings).map(StorePlace::Database),
        }
    }

    pub(in crate::cli) fn is_local(&self) -> bool {
        self.engine == EngineSettings::Local
    }

    /// The data file, for a command that works on nothing else.
    pub(in crate::cli) fn require_data_file(&self, command: &str) -> Result<&Path, Failure> {
        if self.is_local() {
            return Ok(&self.directory);
        }
        Err(Failure::new(Exit::Usage, format!("{command} works on a data file"))
            .why("the rows of this vault are in a database (engine.kind in the settings)")
            .try_this("use the tools of the database for its files"))
    }
}

/// Names the place of the rows for people.
impl fmt::Display for VaultHome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.engine.postgres().map(|it| &it.url) {
            None => write!(f, "{}", self.directory.join(Store::FILE).display()),
            Some(UrlSource::Credential(name)) => write!(f, "the database of credential {name}"),
            Some(UrlSource::File(path)) => write!(f, "the database of {}", path.display()),
        }
    }
}

/// The settings of a database with the defaults for the rest.
pub(in crate::cli) const fn over_database(url_file: PathBuf) -> EngineSettings {
    EngineSettings::Postgres(PostgresSettings {
        url: UrlSource::File(url_file),
        ca_file: None,
        divide_rate_limits: false,
    })
}

pub(in crate::cli) fn dev_url(directory: &Path) -> PathBuf {
    directory.join(DEV_URL)
}
