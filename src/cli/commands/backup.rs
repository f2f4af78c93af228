//! Backups: `strongroom backup`, `restore` and `verify`.

use std::path::PathBuf;

use argh::{ArgsInfo, FromArgs};

use super::vault::vault_command;

vault_command! {
    /// Write a backup to a new file: one consistent snapshot, sealed like the data file. Works with or
    /// without a running server. A running server continues to serve.
    #[argh(subcommand, name = "backup")]
    pub(in crate::cli) struct BackupCommand {
        /// the file to write; it must not exist yet
        #[argh(positional, arg_name = "FILE")]
        pub(in crate::cli) file: PathBuf,
    }
}

/// Restore a vault's data file from a backup, in a directory that is empty or does not exist yet.
/// With --archive, also the changes after the backup, all of them or those until a time.
#[derive(ArgsInfo, FromArgs, Debug)]
#[argh(subcommand, name = "restore")]
pub(in crate::cli) struct RestoreCommand {
    /// settings file of the vault, which names the data directory (default: that of the variable
    /// `STRONGROOM_CONFIG`, else /etc/strongroom/strongroom.toml)
    #[argh(option)]
    pub(in crate::cli) config: Option<PathBuf>,
    /// data directory, instead of the one in the settings
    #[argh(option)]
    pub(in crate::cli) data: Option<PathBuf>,
    /// master key file; a backup that was not written under it is refused. An archive needs it, or
    /// --config. May be repeated if the master key was replaced
    #[argh(option)]
    pub(in crate::cli) key: Vec<PathBuf>,
    /// archive directory, whose changes after the backup are restored, too
    #[argh(option)]
    pub(in crate::cli) archive: Option<PathBuf>,
    /// the last time to restore, such as 2026-11-14T09:30:00Z; without it, everything
    #[argh(option)]
    pub(in crate::cli) until: Option<String>,
    /// print JSON
    #[argh(switch)]
    pub(in crate::cli) json: bool,
    /// the backup
    #[argh(positional, arg_name = "FILE")]
    pub(in crate::cli) file: PathBuf,
}

vault_command! {
    /// Return the free space inside the data file of a stopped vault to the disk, as after a rotation of
    /// the keys or the deletion of many tokens.
    #[argh(subcommand, name = "compact")]
    pub(in crate::cli) struct CompactCommand {}
}

vault_command! {
    /// Check the data file of a stopped vault: records open, index entries and counts agree, the audit
    /// chain is intact. Or check a backup: manifest, digests and order of its rows; with --key also its
    /// signature and every record, in a scratch directory beside the backup.
    #[argh(subcommand, name = "verify")]
    pub(in crate::cli) struct VerifyCommand {
        /// master key file, to open every record of a backup
        #[argh(option)]
        pub(in crate::cli) key: Option<PathBuf>,
        /// a backup, instead of a vault
        #[argh(positional, arg_name = "FILE")]
        pub(in crate::cli) file: Option<PathBuf>,
    }
}
