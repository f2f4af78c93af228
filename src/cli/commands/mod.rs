//! Every command and its flags, as `--help` shows them.

mod application;
mod audit;
mod backup;
mod dev;
mod key;
mod standby;
mod status;
mod tenant;
mod webhook;

use std::path::PathBuf;

use argh::FromArgs;

pub(super) use application::*;
pub(super) use audit::*;
pub(super) use backup::*;
pub(super) use dev::*;
pub(super) use key::*;
pub(super) use standby::*;
pub(super) use status::*;
pub(super) use tenant::*;
pub(super) use webhook::*;

/// A vault for card and personal data: programs send sensitive values over HTTPS and get tokens.
/// Try it with `strongroom dev`; run it with `strongroom init` and `strongroom serve`.
#[derive(FromArgs, Debug)]
#[argh(
    note = "Exit codes: 0 success, 64 wrong usage, 65 bad data or refused, 69 something needed is \
            in use or missing, 70 a bug, 74 the disk, 77 a key or a permission, 78 settings."
)]
pub(super) struct Strongroom {
    #[argh(subcommand)]
    pub(super) command: Subcommand,
}

#[derive(FromArgs, Debug)]
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
    Follow(FollowCommand),
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
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "init")]
pub(super) struct InitCommand {
    /// settings file
    #[argh(option)]
    pub(super) config: PathBuf,
    /// file for the master key; required if the settings name a systemd credential
    #[argh(option)]
    pub(super) master_key: Option<PathBuf>,
    /// make recovery shares of the master key, such as 3-of-5, and check them
    #[argh(option)]
    pub(super) recovery_shares: Option<String>,
    /// directory for the shares, one file each; without it they are printed
    #[argh(option)]
    pub(super) shares_directory: Option<PathBuf>,
}

/// Write a dated report on the vault for auditors: retention, keys, access, backups, audit, TLS.
/// Works with or without a running server.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "report")]
pub(super) struct ReportCommand {
    /// settings file
    #[argh(option)]
    pub(super) config: PathBuf,
    /// directory for the two files of the report, text and HTML (default: the current directory)
    #[argh(option, default = "PathBuf::from(\".\")")]
    pub(super) out: PathBuf,
}

/// Run the vault. SIGTERM finishes requests in flight and stops; SIGHUP reads the certificate and
/// the BIN file again.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "serve")]
pub(super) struct ServeCommand {
    /// settings file
    #[argh(option)]
    pub(super) config: PathBuf,
}

/// Check a settings file and report every mistake in it. Starts no server, and does not check the
/// files that the settings name.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "check")]
pub(super) struct CheckCommand {
    /// settings file
    #[argh(option)]
    pub(super) config: PathBuf,
}

/// Print the version.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "version")]
pub(super) struct VersionCommand {}
