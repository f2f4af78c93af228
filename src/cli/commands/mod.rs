//! Every command and its flags, as `--help` shows them.

mod application;
mod audit;
mod dev;
mod key;
mod tenant;

use std::path::PathBuf;

use argh::FromArgs;

pub(super) use application::*;
pub(super) use audit::*;
pub(super) use dev::*;
pub(super) use key::*;
pub(super) use tenant::*;

/// A vault for card and personal data: programs exchange sensitive values for tokens over HTTPS.
/// Try it with `strongroom dev`; run it with `strongroom init` and `strongroom serve`.
#[derive(FromArgs, Debug)]
#[argh(
    note = "Exit codes: 0 done, 64 wrong usage, 65 bad data or refused, 69 something needed is \
            taken, 70 a fault of this program, 74 the disk, 77 a key or a permission, 78 settings."
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
    Check(Check),
    Dev(Dev),
    DevClock(DevClock),
    DevPreload(DevPreload),
    Init(Init),
    Report(Report),
    Key(KeyCommand),
    Serve(Serve),
    Tenant(TenantCommand),
    Verify(Verify),
    Version(Version),
}

/// Make a new vault: its data directory, its master key unless there is one, its data file.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "init")]
pub(super) struct Init {
    /// settings file
    #[argh(option)]
    pub(super) config: PathBuf,
    /// where to write the master key, when the settings name a systemd credential
    #[argh(option)]
    pub(super) master_key: Option<PathBuf>,
    /// make recovery shares of the master key, such as 3-of-5, and prove them
    #[argh(option)]
    pub(super) recovery_shares: Option<String>,
    /// directory for the shares, a file each; without it they are printed
    #[argh(option)]
    pub(super) shares_directory: Option<PathBuf>,
}

/// Write a dated account of the vault for auditors: retention, keys, access, backups, audit, TLS.
/// Works while the server runs and while it does not.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "report")]
pub(super) struct Report {
    /// settings file
    #[argh(option)]
    pub(super) config: PathBuf,
    /// directory for its two files, a text and a page (default: where you are)
    #[argh(option, default = "PathBuf::from(\".\")")]
    pub(super) out: PathBuf,
}

/// Run the vault. SIGTERM finishes what is in flight and stops; SIGHUP reads the
/// certificate and the BIN file again.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "serve")]
pub(super) struct Serve {
    /// settings file
    #[argh(option)]
    pub(super) config: PathBuf,
}

/// Check a settings file and report every mistake in it. Starts nothing.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "check")]
pub(super) struct Check {
    /// settings file
    #[argh(option)]
    pub(super) config: PathBuf,
}

/// Walk a stopped vault's data file: every record opens, every index entry fits, the counts agree.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "verify")]
pub(super) struct Verify {
    /// settings file of the vault
    #[argh(option)]
    pub(super) config: Option<PathBuf>,
    /// data directory, in place of the settings' own
    #[argh(option)]
    pub(super) data: Option<PathBuf>,
    /// master key file, in place of the settings' own (in a `dev` directory: its master.key)
    #[argh(option)]
    pub(super) master_key: Option<PathBuf>,
}

/// Print the version.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "version")]
pub(super) struct Version {}
