//! Finds the vault that the options of a command name.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::app::Vault;
use crate::bounds::SHARDS_DEFAULT;
use crate::cli::support::{Exit, Failure, Result, database, open_vault, read_config, settings};
use crate::clock::Clock;
use crate::config::{Config, EngineSettings, MasterKeySource, PostgresSettings, UrlSource};
use crate::store::{Store, StorePlace};

/// The master key of a vault of `strongroom dev`, in its data directory.
const DEV_MASTER_KEY: &str = "master.key";

#[derive(Debug)]
pub struct VaultPlace {
    pub home: VaultHome,
    master: Option<MasterKeySource>,
    settings: Option<Config>,
}

impl VaultPlace {
    /// With a data directory and no settings file, no settings are read: the vault may be one of
    /// `strongroom dev`, which has no settings and keeps its master key in that directory.
    pub fn find(
        config: Option<&Path>,
        data: Option<&Path>,
        master_key: Option<&Path>,
    ) -> Result<Self> {
        let named = master_key.map(|path| MasterKeySource::File(path.to_path_buf()));
        if let (None, Some(data)) = (config, data) {
            let own = data.join(DEV_MASTER_KEY);
            let master = named.or_else(|| own.exists().then_some(MasterKeySource::File(own)));
            return Ok(Self { home: VaultHome::without_settings(data), master, settings: None });
        }
        let settings = read_config(&settings::path_of_vault(config)?)?;
        let directory = data.map_or_else(|| settings.data_directory.clone(), Path::to_path_buf);
        let master = named.unwrap_or_else(|| settings.master_key.clone());
        let home = VaultHome { directory, engine: settings.engine.clone() };
        Ok(Self { home, master: Some(master), settings: Some(settings) })
    }

    pub fn directory(&self) -> &Path {
        &self.home.directory
    }

    /// The master key, for a command that opens the data file.
    pub fn master(&self) -> Result<MasterKeySource> {
        self.master.clone().ok_or_else(|| {
            Failure::new(Exit::Usage, "no master key is named")
                .why("the command must open the data file, since no server is running")
                .try_this("--config FILE, or --data DIR --master-key FILE")
        })
    }

    pub fn open(&self) -> Result<Vault> {
        let vault = open_vault::open(&self.home, &self.master()?, Clock::new())?;
        let Some(settings) = &self.settings else { return Ok(vault) };
        if let Some(plan) = &settings.archive {
            vault.upkeep().archive().notice_end(&plan.directory);
        }
        Ok(vault.with_cvc_retention_max(settings.cvc_retention_max))
    }

    pub const fn named_master(&self) -> Option<&MasterKeySource> {
        self.master.as_ref()
    }

    /// The settings, for a command that needs more than the directory and the key.
    pub const fn settings(&self) -> Option<&Config> {
        self.settings.as_ref()
    }
}

/// The file with the database's URL of a vault of `strongroom dev`, in its data directory.
pub const DEV_URL: &str = "database.url";

/// A data directory holds the operator's sockets and, with the local engine, the rows.
#[derive(Debug, Clone)]
pub struct VaultHome {
    pub directory: PathBuf,
    pub engine: EngineSettings,
}

impl VaultHome {
    pub fn of(config: &Config) -> Self {
        Self { directory: config.data_directory.clone(), engine: config.engine.clone() }
    }

    /// A vault without settings: `strongroom dev` leaves the URL of its database in the directory.
    pub fn without_settings(directory: &Path) -> Self {
        let file = directory.join(DEV_URL);
        let engine = if file.exists() { over_database(file) } else { EngineSettings::Local };
        Self { directory: directory.to_path_buf(), engine }
    }

    /// The place of the rows, for opening them. Makes no connection.
    pub fn place(&self) -> Result<StorePlace> {
        match self.engine.postgres() {
            None => Ok(StorePlace::Directory(self.directory.clone())),
            Some(settings) => database(settings).map(StorePlace::Database),
        }
    }

    pub fn is_local(&self) -> bool {
        self.engine == EngineSettings::Local
    }

    /// The directory of the data file, for a command that does not support a database.
    pub fn require_data_file(&self, command: &str) -> Result<&Path> {
        if self.is_local() {
            return Ok(&self.directory);
        }
        Err(Failure::new(Exit::Usage, format!("{command} works on a data file"))
            .why("the rows of this vault are in a database (engine.kind in the settings)")
            .try_this("use the tools of the database for its files"))
    }
}

/// Names the place of the rows for operators.
impl fmt::Display for VaultHome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.engine.postgres().map(|it| &it.url) {
            None => write!(f, "{}", self.directory.join(Store::FILE).display()),
            Some(UrlSource::Credential(name)) => write!(f, "the database of credential {name}"),
            Some(UrlSource::File(path)) => write!(f, "the database of {}", path.display()),
        }
    }
}

/// The settings of a database, with defaults for all but the URL.
pub const fn over_database(url_file: PathBuf) -> EngineSettings {
    EngineSettings::Postgres(PostgresSettings {
        url: UrlSource::File(url_file),
        ca_file: None,
        divide_rate_limits: false,
        shards: SHARDS_DEFAULT,
    })
}
