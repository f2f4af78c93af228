//! The keys of the vault itself: `strongroom key`.

use std::path::PathBuf;

use argh::FromArgs;

/// List, rotate, destroy and recover the keys that seal the data. (For API keys see strongroom
/// application.)
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "key")]
pub(in crate::cli) struct KeyCommand {
    #[argh(subcommand)]
    pub(in crate::cli) action: KeyAction,
}

#[derive(FromArgs, Debug)]
#[argh(subcommand)]
pub(in crate::cli) enum KeyAction {
    Destroy(KeyDestroy),
    List(KeyList),
    Recover(KeyRecover),
    Rotate(KeyRotate),
    Shares(KeyShares),
}

/// List every key with its age, the number of values that it has sealed, and the number of records
/// and index entries under it.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "list")]
pub(in crate::cli) struct KeyList {
    /// settings file
    #[argh(option)]
    pub(in crate::cli) config: PathBuf,
    /// print JSON instead of a table
    #[argh(switch)]
    pub(in crate::cli) json: bool,
}

/// Make new keys, with or without a running server. A running server re-encrypts the records under
/// the old keys in the background; without a server the command does so before it ends.
#[derive(FromArgs, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
#[argh(subcommand, name = "rotate")]
pub(in crate::cli) struct KeyRotate {
    /// settings file
    #[argh(option)]
    pub(in crate::cli) config: PathBuf,
    /// the master key
    #[argh(switch)]
    pub(in crate::cli) master: bool,
    /// the keys of this tenant
    #[argh(option)]
    pub(in crate::cli) tenant: Option<String>,
    /// the keys of every tenant
    #[argh(switch)]
    pub(in crate::cli) all_tenants: bool,
    /// the keys that seal the server's own records, and the index key of API keys
    #[argh(switch)]
    pub(in crate::cli) server: bool,
    /// the keys that seal and sign the audit chain
    #[argh(switch)]
    pub(in crate::cli) audit: bool,
    /// with --master: file for the new key; required if the settings name a systemd credential
    #[argh(option)]
    pub(in crate::cli) out: Option<PathBuf>,
}

/// Destroy a key under which no record is left. Index entries count as records.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "destroy")]
pub(in crate::cli) struct KeyDestroy {
    /// settings file
    #[argh(option)]
    pub(in crate::cli) config: PathBuf,
    /// the tenant of the key
    #[argh(option)]
    pub(in crate::cli) tenant: Option<String>,
    /// a key of the server
    #[argh(switch)]
    pub(in crate::cli) server: bool,
    /// a key that sealed entries of the audit chain
    #[argh(switch)]
    pub(in crate::cli) audit: bool,
    /// the key's number
    #[argh(option)]
    pub(in crate::cli) number: u32,
}

/// Make a set of recovery shares of the master key, and check that they recover it.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "shares")]
pub(in crate::cli) struct KeyShares {
    /// settings file
    #[argh(option)]
    pub(in crate::cli) config: PathBuf,
    /// number of shares needed and in total, such as 3-of-5
    #[argh(option)]
    pub(in crate::cli) scheme: String,
    /// directory for the shares, one file each; without it they are printed
    #[argh(option)]
    pub(in crate::cli) directory: Option<PathBuf>,
    /// master key file, instead of the one in the settings
    #[argh(option)]
    pub(in crate::cli) master_key: Option<PathBuf>,
}

/// Recover the file of the master key from recovery shares.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "recover")]
pub(in crate::cli) struct KeyRecover {
    /// a file with a share; may be repeated. Without this option, shares are read from standard
    /// input, one per line
    #[argh(option)]
    pub(in crate::cli) share: Vec<PathBuf>,
    /// file for the key; no file is overwritten
    #[argh(option)]
    pub(in crate::cli) out: PathBuf,
    /// settings file of the vault, to check that the key belongs to it
    #[argh(option)]
    pub(in crate::cli) config: Option<PathBuf>,
    /// a backup of the vault, to check that the key belongs to it
    #[argh(option)]
    pub(in crate::cli) backup: Option<PathBuf>,
    /// write the key without checking that it is the right one
    #[argh(switch)]
    pub(in crate::cli) unchecked: bool,
}
