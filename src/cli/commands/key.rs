//! The keys of the vault itself: `strongroom key`.

use std::path::PathBuf;

use argh::{ArgsInfo, FromArgs};

use super::vault::vault_command;

/// List, rotate, destroy and recover the keys that seal the data. (For API keys see strongroom
/// application.)
#[derive(ArgsInfo, FromArgs, Debug)]
#[argh(subcommand, name = "key")]
pub(in crate::cli) struct KeyCommand {
    #[argh(subcommand)]
    pub(in crate::cli) action: KeyAction,
}

#[derive(ArgsInfo, FromArgs, Debug)]
#[argh(subcommand)]
pub(in crate::cli) enum KeyAction {
    Destroy(KeyDestroy),
    List(KeyList),
    Recover(KeyRecover),
    Rotate(KeyRotate),
    Shares(KeyShares),
}

vault_command! {
    /// List every key with its age, the number of values that it has sealed, and the number of records
    /// and index entries under it.
    #[argh(subcommand, name = "list")]
    pub(in crate::cli) struct KeyList {}
}

vault_command! {
    /// Make new keys, with or without a running server. A running server re-encrypts the records under
    /// the old keys in the background; without a server the command does so before it ends.
    #[argh(subcommand, name = "rotate")]
    pub(in crate::cli) struct KeyRotate {
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
        /// wait until all records are under the new keys
        #[argh(switch)]
        pub(in crate::cli) wait: bool,
        /// with --master: file for the new key; required if the settings name a systemd credential or a
        /// command
        #[argh(option)]
        pub(in crate::cli) out: Option<PathBuf>,
    }
}

vault_command! {
    /// Destroy a key under which no record is left. Index entries count as records.
    #[argh(subcommand, name = "destroy")]
    pub(in crate::cli) struct KeyDestroy {
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
}

vault_command! {
    /// Make a set of recovery shares of the master key, and check that they recover it.
    #[argh(subcommand, name = "shares")]
    pub(in crate::cli) struct KeyShares {
        /// number of shares needed and in total, such as 3-of-5
        #[argh(option)]
        pub(in crate::cli) scheme: String,
        /// directory for the shares, one file each; without it they are printed
        #[argh(option)]
        pub(in crate::cli) directory: Option<PathBuf>,
    }
}

/// Recover the file of the master key from recovery shares.
#[derive(ArgsInfo, FromArgs, Debug)]
#[argh(subcommand, name = "recover")]
pub(in crate::cli) struct KeyRecover {
    /// a file with a share; may be repeated. Without this option, shares are read from standard
    /// input, one per line
    #[argh(option)]
    pub(in crate::cli) share: Vec<PathBuf>,
    /// file for the key; no file is overwritten
    #[argh(option)]
    pub(in crate::cli) out: PathBuf,
    /// settings file of the vault, to check that the key belongs to it (default: that of the
    /// variable `STRONGROOM_CONFIG`, else /etc/strongroom/strongroom.toml)
    #[argh(option)]
    pub(in crate::cli) config: Option<PathBuf>,
    /// data directory of the vault, instead of the one in the settings
    #[argh(option)]
    pub(in crate::cli) data: Option<PathBuf>,
    /// a backup of the vault, to check that the key belongs to it
    #[argh(option)]
    pub(in crate::cli) backup: Option<PathBuf>,
    /// write the key without checking that it is the right one
    #[argh(switch)]
    pub(in crate::cli) unchecked: bool,
    /// print JSON
    #[argh(switch)]
    pub(in crate::cli) json: bool,
}
