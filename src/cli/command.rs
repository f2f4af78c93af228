//! Declarations of commands: the help, the name, the options and the function of each in one place,
//! and the options that name a vault.

use std::path::Path;

use crate::cli::support::{Result, VaultPlace};

pub trait Run {
    fn run(self) -> Result<()>;
}

/// The values of the options that `on vault` adds to a command.
#[derive(Debug, Clone, Copy)]
pub struct VaultOptions<'a> {
    pub config: Option<&'a Path>,
    pub data: Option<&'a Path>,
    pub master_key: Option<&'a Path>,
    pub json: bool,
}

pub trait OnVault {
    fn options(&self) -> VaultOptions<'_>;

    fn vault(&self) -> Result<VaultPlace> {
        let VaultOptions { config, data, master_key, .. } = self.options();
        VaultPlace::find(config, data, master_key)
    }

    fn json(&self) -> bool {
        self.options().json
    }
}

/// Declares a command: its help, its name, its type, its options, and a closure that runs it.
///
/// An option is `name: type = kind(rest),` with the kind and the rest of argh's attribute. argh
/// cannot share options between commands, so `on settings` adds the settings file before a
/// command's own options, `on vault` adds all options that name a vault, and `on tenant` and
/// `on application` add their ids.
macro_rules! command {
    ($(#[$help:meta])* $name:literal $it:ident on application { $($options:tt)* } $(=> $run:expr)?) => {
        command! {
            $(#[$help])* $name $it on tenant {
                /// the application's id
                application: String = option,
                $($options)*
            } $(=> $run)?
        }
    };
    ($(#[$help:meta])* $name:literal $it:ident on tenant { $($options:tt)* } $(=> $run:expr)?) => {
        command! {
            $(#[$help])* $name $it on vault {
                /// the tenant's id
                tenant: String = option,
                $($options)*
            } $(=> $run)?
        }
    };
    ($(#[$help:meta])* $name:literal $it:ident on vault { $($options:tt)* } $(=> $run:expr)?) => {
        command! {
            $(#[$help])* $name $it on settings {
                /// data directory, instead of the one in the settings
                data: Option<PathBuf> = option,
                /// master key file, instead of the one in the settings; not needed while the server
                /// runs
                master_key: Option<PathBuf> = option,
                /// print JSON
                json: bool = switch,
                $($options)*
            } $(=> $run)?
        }

        impl $crate::cli::command::OnVault for $it {
            fn options(&self) -> $crate::cli::command::VaultOptions<'_> {
                $crate::cli::command::VaultOptions {
                    config: self.config.as_deref(),
                    data: self.data.as_deref(),
                    master_key: self.master_key.as_deref(),
                    json: self.json,
                }
            }
        }
    };
    ($(#[$help:meta])* $name:literal $it:ident on settings { $($options:tt)* } $(=> $run:expr)?) => {
        command! {
            $(#[$help])* $name $it {
                /// settings file (default: $STRONGROOM_CONFIG, else /etc/strongroom/strongroom.toml)
                config: Option<PathBuf> = option,
                $($options)*
            } $(=> $run)?
        }
    };
    ($(#[$help:meta])* $name:literal $it:ident { $(
        $(#[$text:meta])*
        $option:ident: $type:ident $(<$inner:ident>)? = $kind:ident $(($($rest:tt)*))?,
    )* } $(=> $run:expr)?) => {
        $(#[$help])*
        #[derive(argh::ArgsInfo, argh::FromArgs, Debug)]
        #[argh(subcommand, name = $name)]
        pub struct $it {
            $(
                $(#[$text])*
                #[argh($kind $(, $($rest)*)?)]
                pub $option: $type $(<$inner>)?,
            )*
        }

        $(impl $crate::cli::command::Run for $it {
            fn run(self) -> $crate::cli::support::Result<()> {
                let run: fn(Self) -> _ = $run;
                run(self)
            }
        })?
    };
}

/// Declares the enum `Action` of the subcommands, in the order of the help.
macro_rules! actions {
    ($(#[$of_enum:meta])* $($command:ident),+ $(,)?) => {
        $(#[$of_enum])*
        #[derive(argh::ArgsInfo, argh::FromArgs, Debug)]
        #[argh(subcommand)]
        pub enum Action {
            $($command($command),)+
        }

        impl $crate::cli::command::Run for Action {
            fn run(self) -> $crate::cli::support::Result<()> {
                match self {
                    $(Self::$command(it) => $crate::cli::command::Run::run(it),)+
                }
            }
        }
    };
}

/// Declares a command that has only subcommands, such as `strongroom tenant`.
macro_rules! group {
    ($(#[$help:meta])* $name:literal $it:ident: $($command:ident),+) => {
        $crate::cli::command::command! {
            $(#[$help])* $name $it {
                action: Action = subcommand,
            } => |it| $crate::cli::command::Run::run(it.action)
        }

        $crate::cli::command::actions! {
            #[expect(clippy::enum_variant_names, reason = "the names of the types of the commands")]
            $($command),+
        }
    };
}

pub(super) use actions;
pub(super) use command;
pub(super) use group;
