//! Erasing the data of one person: `strongroom erase`.

use std::path::PathBuf;

use argh::{ArgsInfo, FromArgs};

use super::vault::vault_command;

vault_command! {
    /// Delete all tokens of a tenant that belong to one person, with their token intents and 3DS
    /// sessions, and print a signed receipt. Works with or without a running server.
    #[argh(subcommand, name = "erase")]
    pub(in crate::cli) struct EraseCommand {
        /// the tenant's id
        #[argh(option)]
        pub(in crate::cli) tenant: Option<String>,
        /// an entry of the metadata as KEY=VALUE, spelled as it is stored; may be repeated, then a
        /// token must have all of them
        #[argh(option)]
        pub(in crate::cli) metadata: Vec<String>,
        /// the fingerprint of the tokens, instead of metadata
        #[argh(option)]
        pub(in crate::cli) fingerprint: Option<String>,
        /// list the records that match, and delete none
        #[argh(switch)]
        pub(in crate::cli) dry_run: bool,
        /// ask for no confirmation
        #[argh(switch)]
        pub(in crate::cli) yes: bool,
        /// new file for the receipt, instead of standard output
        #[argh(option)]
        pub(in crate::cli) out: Option<PathBuf>,
        #[argh(subcommand)]
        pub(in crate::cli) action: Option<EraseAction>,
    }
}

#[derive(ArgsInfo, FromArgs, Debug)]
#[argh(subcommand)]
pub(in crate::cli) enum EraseAction {
    Verify(EraseVerify),
}

/// Check the signature of a receipt. Needs no vault and none of its keys.
#[derive(ArgsInfo, FromArgs, Debug)]
#[argh(subcommand, name = "verify")]
pub(in crate::cli) struct EraseVerify {
    /// the receipt, as `strongroom erase` wrote it
    #[argh(option)]
    pub(in crate::cli) receipt: PathBuf,
    /// the public key that must have signed it, 64 hexadecimal digits, as `audit verify` prints it
    #[argh(option)]
    pub(in crate::cli) public_key: Option<String>,
}
