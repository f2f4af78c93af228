//! Backups: `strongroom backup`, `restore` and `verify`.

use std::path::PathBuf;

use argh::FromArgs;

/// Write a backup: one consistent snapshot, sealed as the data file is, in a new file. Works while
/// the server runs, which goes on meanwhile, and while it does not.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "backup")]
pub(in crate::cli) struct Backup {
    /// settings file of the vault
    #[argh(option)]
    pub(in crate::cli) config: Option<PathBuf>,
    /// data directory, in place of the settings' own
    #[argh(option)]
    pub(in crate::cli) data: Option<PathBuf>,
    /// master key file, in place of the settings' own; a running server needs none
    #[argh(option)]
    pub(in crate::cli) master_key: Option<PathBuf>,
    /// the file to write; it must not be there yet
    #[argh(positional, arg_name = "FILE")]
    pub(in crate::cli) file: PathBuf,
}

/// Make a vault's data file out of a backup, in a directory that is empty or not there yet.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "restore")]
pub(in crate::cli) struct Restore {
    /// settings file of the vault; its data directory is restored
    #[argh(option)]
    pub(in crate::cli) config: Option<PathBuf>,
    /// data directory, in place of the settings' own
    #[argh(option)]
    pub(in crate::cli) data: Option<PathBuf>,
    /// master key file: refuse a backup that was not written under it
    #[argh(option)]
    pub(in crate::cli) key: Option<PathBuf>,
    /// the backup
    #[argh(positional, arg_name = "FILE")]
    pub(in crate::cli) file: PathBuf,
}

/// Walk a stopped vault's data file: every record opens, every index entry fits, the counts agree.
/// Or check a backup: manifest, digests and order; with --key every record, in a scratch directory
/// beside it.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "verify")]
pub(in crate::cli) struct Verify {
    /// settings file of the vault
    #[argh(option)]
    pub(in crate::cli) config: Option<PathBuf>,
    /// data directory, in place of the settings' own
    #[argh(option)]
    pub(in crate::cli) data: Option<PathBuf>,
    /// master key file, in place of the settings' own (in a `dev` directory: its master.key)
    #[argh(option)]
    pub(in crate::cli) master_key: Option<PathBuf>,
    /// master key file, to open every record of a backup
    #[argh(option)]
    pub(in crate::cli) key: Option<PathBuf>,
    /// a backup, in place of a vault
    #[argh(positional, arg_name = "FILE")]
    pub(in crate::cli) file: Option<PathBuf>,
}
