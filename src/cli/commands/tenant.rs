//! Tenants: `strongroom tenant`.
#![expect(clippy::doc_markdown, reason = "these are help texts, shown as they are")]

use argh::{ArgsInfo, FromArgs};

use super::vault::vault_command;

/// Create, list, change and delete tenants, with or without a running server.
#[derive(ArgsInfo, FromArgs, Debug)]
#[argh(subcommand, name = "tenant")]
pub(in crate::cli) struct TenantCommand {
    #[argh(subcommand)]
    pub(in crate::cli) action: TenantAction,
}

#[derive(ArgsInfo, FromArgs, Debug)]
#[argh(subcommand)]
pub(in crate::cli) enum TenantAction {
    Create(TenantCreate),
    Delete(TenantDelete),
    List(TenantList),
    Set(TenantSet),
}

vault_command! {
    /// Create a tenant with its own keys.
    #[argh(subcommand, name = "create")]
    pub(in crate::cli) struct TenantCreate {
        /// display name
        #[argh(option)]
        pub(in crate::cli) name: String,
        /// type: test or production
        #[argh(option, long = "type")]
        pub(in crate::cli) kind: String,
        /// enable 3-D Secure
        #[argh(switch)]
        pub(in crate::cli) threeds: bool,
        /// a quota as NAME=VALUE, such as cvc_retention=30m; may be repeated
        #[argh(option)]
        pub(in crate::cli) quota: Vec<String>,
    }
}

vault_command! {
    /// Delete a tenant with everything that it has. Its keys are destroyed first.
    #[argh(subcommand, name = "delete")]
    pub(in crate::cli) struct TenantDelete {
        /// the tenant's id
        #[argh(option)]
        pub(in crate::cli) tenant: String,
        /// ask for no confirmation
        #[argh(switch)]
        pub(in crate::cli) yes: bool,
    }
}

vault_command! {
    /// List all tenants.
    #[argh(subcommand, name = "list")]
    pub(in crate::cli) struct TenantList {}
}

vault_command! {
    /// Change a tenant; options that are not given change nothing.
    #[argh(subcommand, name = "set")]
    pub(in crate::cli) struct TenantSet {
        /// the tenant's id
        #[argh(option)]
        pub(in crate::cli) tenant: String,
        /// new name
        #[argh(option)]
        pub(in crate::cli) name: Option<String>,
        /// turn 3-D Secure for the tenant on or off
        #[argh(option)]
        pub(in crate::cli) threeds: Option<String>,
        /// a quota as NAME=VALUE (tokenize_limit, detokenize_limit, cvc_retention,
        /// token_intent_retention, log_retention, rate_limit, token_limit); may be repeated
        #[argh(option)]
        pub(in crate::cli) quota: Vec<String>,
    }
}
