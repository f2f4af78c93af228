//! The audit chain: `strongroom audit`.

use std::path::PathBuf;

use argh::{ArgsInfo, FromArgs};

use super::vault::vault_command;

/// Check and export the audit chain, with or without a running server.
#[derive(ArgsInfo, FromArgs, Debug)]
#[argh(subcommand, name = "audit")]
pub(in crate::cli) struct AuditCommand {
    #[argh(subcommand)]
    pub(in crate::cli) action: AuditAction,
}

#[derive(ArgsInfo, FromArgs, Debug)]
#[argh(subcommand)]
pub(in crate::cli) enum AuditAction {
    Export(AuditExport),
    Receipt(AuditReceipt),
    Verify(AuditVerify),
}

vault_command! {
    /// Detect edits, gaps and truncation of the chain. Needs none of the vault's keys.
    #[argh(subcommand, name = "verify")]
    pub(in crate::cli) struct AuditVerify {
        /// a receipt that was kept elsewhere; the chain must contain its checkpoint and be signed by
        /// its key, or by keys that this key introduced
        #[argh(option)]
        pub(in crate::cli) since: Option<PathBuf>,
        /// a public key that was kept elsewhere, 64 hexadecimal digits; the chain must be signed by it,
        /// or by keys that it introduced or that introduced it
        #[argh(option)]
        pub(in crate::cli) public_key: Option<String>,
    }
}

vault_command! {
    /// Write the entries of the chain in clear, one JSON object per line.
    #[argh(subcommand, name = "export")]
    pub(in crate::cli) struct AuditExport {
        /// only entries from this time on, such as 2026-11-14 or 2026-11-14T09:30:00Z
        #[argh(option)]
        pub(in crate::cli) from: Option<String>,
        /// only entries before this time
        #[argh(option)]
        pub(in crate::cli) to: Option<String>,
        /// new file to write to, instead of standard output
        #[argh(option)]
        pub(in crate::cli) out: Option<PathBuf>,
    }
}

vault_command! {
    /// Sign the current end of the chain and print the signature. Keep it on another machine.
    #[argh(subcommand, name = "receipt")]
    pub(in crate::cli) struct AuditReceipt {}
}
