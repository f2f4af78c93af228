//! Finds the vault that the options of a command name.

use std::path::Path;

use crate::cli::support::failure::{Exit, Failure};
use crate::cli::support::settings::{self, read_config};
use crate::cli::support::vault_home::VaultHome;
use crate::config::{Config, MasterKeySource};

/// The master key of a vault of `strongroom dev`, in its data directory.
const DEV_MASTER_KEY: &str = "master.key";

#[derive(Debug)]
pub(in crate::cli) struct VaultPlace {
    pub(in crate::cli) home: VaultHome,
    master: Option<MasterKeySource>,
    settings: Option<Config>,
}

impl VaultPlace {
    /// With a data directory and no settings file, no settings are read: the vault may be one of
    /// `strongroom dev`, which has none and keeps its master key in that directory.
    pub(in crate::cli) fn find(
        config: Option<&Path>,
        data: Option<&Path>,
        master_key: Option<&Path>,
    ) -> Result<Self, Failure> {
        let named = master_key.map(|path| MasterKeySource::File(path.to_path_buf()));
        if let (None, Some(data)) = (config, data) {
            let own = data.join(DEV_MASTER_KEY);
            let master = named.or_else(|| own.exists().then_some(MasterKeySource::File(own)));
            return Ok(Self { home: VaultHome::without_settings(data), master, settings: None });
        }
        let settings = read_config(&settings::path(config)?)?;
        let directory = data.map_or_else(|| settings.data_directory.clone(), Path::to_path_buf);
        let master = named.unwrap_or_else(|| settings.master_key.clone());
        let home = VaultHome { directory, engine: settings.engine.clone() };
        Ok(Self { home, master: Some(master), settings: Some(settings) })
    }

    /// The data directory.
    pub(in crate::cli) fn directory(&self) -> &Path {
        &self.home.directory
    }

    /// The master key, for a command that must open the data file.
    pub(in crate::cli) fn master(&self) -> Result<MasterKeySource, Failure> {
        self.master.clone().ok_or_else(|| {
            Failure::new(Exit::Usage, "no master key is named")
                .why("the command must open the data file, since no server is running")
                .try_this("--config FILE, or --data DIR --master-key FILE")
        })
    }

    pub(in crate::cli) const fn named_master(&self) -> Option<&MasterKeySource> {
        self.master.as_ref()
    }

    /// The settings, for a command that needs more of them than the directory and the key.
    pub(in crate::cli) const fn settings(&self) -> Option<&Config> {
        self.settings.as_ref()
    }
}
