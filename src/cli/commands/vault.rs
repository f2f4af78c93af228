//! The options that name a vault, which most commands have.

use std::path::Path;

use crate::cli::support::failure::Failure;
use crate::cli::support::vault_place::VaultPlace;

/// The values of the options that [`vault_command`] adds to a command.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct VaultOptions<'a> {
    pub(super) config: Option<&'a Path>,
    pub(super) data: Option<&'a Path>,
    pub(super) master_key: Option<&'a Path>,
    pub(super) json: bool,
}

pub(in crate::cli) trait VaultCommand {
    fn options(&self) -> VaultOptions<'_>;

    /// The vault that the options name.
    fn vault(&self) -> Result<VaultPlace, Failure> {
        let VaultOptions { config, data, master_key, .. } = self.options();
        VaultPlace::find(config, data, master_key)
    }

    /// True if an option names a vault or a key, so that the default settings do not count.
    fn names_vault(&self) -> bool {
        let VaultOptions { config, data, master_key, .. } = self.options();
        config.or(data).or(master_key).is_some()
    }

    /// The settings file that an option names.
    fn settings_file(&self) -> Option<&Path> {
        self.options().config
    }

    /// True if the command prints JSON.
    fn json(&self) -> bool {
        self.options().json
    }
}

/// Defines a command on a vault: adds the options `--config`, `--data`, `--master-key` and `--json`,
/// which argh cannot share between commands, and implements [`VaultCommand`].
macro_rules! vault_command {
    (
        $(#[$of_command:meta])*
        pub(in crate::cli) struct $name:ident { $($fields:tt)* }
    ) => {
        #[derive(argh::ArgsInfo, argh::FromArgs, Debug)]
        $(#[$of_command])*
        pub(in crate::cli) struct $name {
            /// settings file (default: that of the variable `STRONGROOM_CONFIG`, else
            /// /etc/strongroom/strongroom.toml)
            #[argh(option)]
            config: Option<std::path::PathBuf>,
            /// data directory, instead of the one in the settings
            #[argh(option)]
            data: Option<std::path::PathBuf>,
            /// master key file, instead of the one in the settings; not needed while the server runs
            #[argh(option)]
            master_key: Option<std::path::PathBuf>,
            /// print JSON
            #[argh(switch)]
            json: bool,
            $($fields)*
        }

        impl $crate::cli::commands::vault::VaultCommand for $name {
            fn options(&self) -> $crate::cli::commands::vault::VaultOptions<'_> {
                $crate::cli::commands::vault::VaultOptions {
                    config: self.config.as_deref(),
                    data: self.data.as_deref(),
                    master_key: self.master_key.as_deref(),
                    json: self.json,
                }
            }
        }
    };
}

pub(super) use vault_command;
