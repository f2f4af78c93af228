//! Every command and its flags, as `--help` shows them.

mod application;
mod audit;
mod backup;
mod dev;
mod erase;
mod key;
mod standby;
mod status;
mod tenant;
mod transfer;
pub(in crate::cli) mod vault;
mod webhook;

use std::path::PathBuf;

use argh::{ArgsInfo, FromArgs};

use vault::vault_command;

pub(super) use application::*;
pub(super) use audit::*;
pub(super) use backup::*;
pub(super) use dev::*;
pub(super) use erase::*;
pub(super) use key::*;
pub(super) use standby::*;
pub(super) use status::*;
pub(super) use tenant::*;
pub(super) use transfer::*;
pub(super) use webhook::*;

/// A vault for card and personal data: programs send sensitive values over HTTPS and get tokens.
/// Try it with `strongroom dev`; run it with `strongroom init` and `strongroom serve`.
#[derive(ArgsInfo, FromArgs, Debug)]
#[argh(
    note = "Exit codes: 0 success, 64 wrong usage, 65 bad data or refused, 69 something needed is \
            in use or missing, 70 a bug, 74 the disk, 77 a key or a permission, 78 settings."
)]
pub(super) struct Strongroom {
    #[argh(subcommand)]
    pub(super) command: Subcommand,
}

#[derive(ArgsInfo, FromArgs, Debug)]
#[argh(subcommand)]
pub(super) enum Subcommand {
    Application(ApplicationCommand),
    Audit(AuditCommand),
    Backup(BackupCommand),
    Check(CheckCommand),
    Compact(CompactCommand),
    Dev(DevCommand),
    DevClock(DevClockCommand),
    DevPreload(DevPreloadCommand),
    Erase(EraseCommand),
    Export(ExportCommand),
    Follow(FollowCommand),
    Import(ImportCommand),
    Init(InitCommand),
    Key(KeyCommand),
    Promote(PromoteCommand),
    Report(ReportCommand),
    Restore(RestoreCommand),
    Serve(ServeCommand),
    Status(StatusCommand),
    Tenant(TenantCommand),
    Verify(VerifyCommand),
    Version(VersionCommand),
    Webhook(WebhookCommand),
}

/// Create a new vault: its data directory, its master key unless one exists, its data file.
#[derive(ArgsInfo, FromArgs, Debug)]
#[argh(subcommand, name = "init")]
pub(super) struct InitCommand {
    /// settings file (default: that of the variable `STRONGROOM_CONFIG`, else
    /// /etc/strongroom/strongroom.toml)
    #[argh(option)]
    pub(super) config: Option<PathBuf>,
    /// file for the master key; required if the settings name a systemd credential
    #[argh(option)]
    pub(super) master_key: Option<PathBuf>,
    /// make recovery shares of the master key, such as 3-of-5, and check them
    #[argh(option)]
    pub(super) recovery_shares: Option<String>,
    /// directory for the shares, one file each; without it they are printed
    #[argh(option)]
    pub(super) shares_directory: Option<PathBuf>,
    /// print JSON; shares then need a directory
    #[argh(switch)]
    pub(super) json: bool,
}

vault_command! {
    /// Write a dated report on the vault for auditors: settings and files, retention, keys, access,
    /// audit, activity, backups, TLS. Works with or without a running server. With --json, print the
    /// facts and write no file.
    #[argh(subcommand, name = "report")]
    pub(in crate::cli) struct ReportCommand {
        /// directory for the two files of the report, text and HTML (default: the current directory)
        #[argh(option, default = "PathBuf::from(\".\")")]
        pub(in crate::cli) out: PathBuf,
        /// begin of the period, such as 2026-11-14 or 2026-11-14T09:30:00Z (default: 90 days before
        /// its end)
        #[argh(option)]
        pub(in crate::cli) from: Option<String>,
        /// end of the period (default: now)
        #[argh(option)]
        pub(in crate::cli) to: Option<String>,
    }
}

/// Run the vault. SIGTERM finishes requests in flight and stops; SIGHUP reads the certificate and
/// the BIN file again.
#[derive(ArgsInfo, FromArgs, Debug)]
#[argh(subcommand, name = "serve")]
pub(super) struct ServeCommand {
    /// settings file (default: that of the variable `STRONGROOM_CONFIG`, else
    /// /etc/strongroom/strongroom.toml)
    #[argh(option)]
    pub(super) config: Option<PathBuf>,
}

/// Check the settings and the files that they name: certificates, keys, modes, owners, directories.
/// Reports every mistake, and what could not be checked. Opens no data file and changes nothing.
#[derive(ArgsInfo, FromArgs, Debug)]
#[argh(subcommand, name = "check")]
pub(super) struct CheckCommand {
    /// settings file (default: that of the variable `STRONGROOM_CONFIG`, else
    /// /etc/strongroom/strongroom.toml)
    #[argh(option)]
    pub(super) config: Option<PathBuf>,
    /// print JSON
    #[argh(switch)]
    pub(super) json: bool,
}

/// Print the version.
#[derive(ArgsInfo, FromArgs, Debug)]
#[argh(subcommand, name = "version")]
pub(super) struct VersionCommand {
    /// print JSON
    #[argh(switch)]
    pub(super) json: bool,
}
