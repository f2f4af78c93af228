//! The keys of the vault itself: `strongroom key`.

use std::path::PathBuf;

use argh::FromArgs;

/// List, rotate, destroy and recover the keys that everything is sealed under. (API keys:
/// strongroom application.)
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

/// Every key with its age, its uses and what is under it, counted one by one.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "list")]
pub(in crate::cli) struct KeyList {
    /// settings file
    #[argh(option)]
    pub(in crate::cli) config: PathBuf,
    /// print JSON in place of a table
    #[argh(switch)]
    pub(in crate::cli) json: bool,
}

/// Make new keys while the server runs. What is sealed under the old ones is sealed anew in the
/// background.
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
    /// the keys of what the server seals for itself and finds API keys by
    #[argh(switch)]
    pub(in crate::cli) server: bool,
    /// the keys that seal and sign the audit chain from now on
    #[argh(switch)]
    pub(in crate::cli) audit: bool,
    /// with --master: where to write the new key, when the settings name a systemd credential
    #[argh(option)]
    pub(in crate::cli) out: Option<PathBuf>,
}

/// Destroy a key that nothing is under any more.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "destroy")]
pub(in crate::cli) struct KeyDestroy {
    /// settings file
    #[argh(option)]
    pub(in crate::cli) config: PathBuf,
    /// the tenant whose key it is
    #[argh(option)]
    pub(in crate::cli) tenant: Option<String>,
    /// the server's own
    #[argh(switch)]
    pub(in crate::cli) server: bool,
    /// the one that sealed entries of the audit chain
    #[argh(switch)]
    pub(in crate::cli) audit: bool,
    /// the key's number
    #[argh(option)]
    pub(in crate::cli) number: u32,
}

/// Make a set of recovery shares of the master key, and prove that they give it back.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "shares")]
pub(in crate::cli) struct KeyShares {
    /// settings file
    #[argh(option)]
    pub(in crate::cli) config: PathBuf,
    /// how many are needed of how many, such as 3-of-5
    #[argh(option)]
    pub(in crate::cli) scheme: String,
    /// directory for the shares, a file each; without it they are printed
    #[argh(option)]
    pub(in crate::cli) directory: Option<PathBuf>,
    /// master key file, in place of the settings' own
    #[argh(option)]
    pub(in crate::cli) master_key: Option<PathBuf>,
}

/// Make the master key's file from recovery shares.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "recover")]
pub(in crate::cli) struct KeyRecover {
    /// a file with a share; may be repeated. Without any, shares are read from standard input, one
    /// a line
    #[argh(option)]
    pub(in crate::cli) share: Vec<PathBuf>,
    /// where to write the key; nothing is overwritten
    #[argh(option)]
    pub(in crate::cli) out: PathBuf,
    /// settings file of the vault, to check that it is the vault's key
    #[argh(option)]
    pub(in crate::cli) config: Option<PathBuf>,
    /// a backup of the vault, to check that it is the backup's key
    #[argh(option)]
    pub(in crate::cli) backup: Option<PathBuf>,
    /// write the key without a check that it is the right one
    #[argh(switch)]
    pub(in crate::cli) unchecked: bool,
}
