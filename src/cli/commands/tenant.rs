//! Tenants: `strongroom tenant`.
#![expect(clippy::doc_markdown, reason = "these are help texts, shown as they are")]

use std::path::PathBuf;

use argh::FromArgs;

/// Create, list and change tenants, with or without a running server.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "tenant")]
pub(in crate::cli) struct TenantCommand {
    #[argh(subcommand)]
    pub(in crate::cli) action: TenantAction,
}

#[derive(FromArgs, Debug)]
#[argh(subcommand)]
pub(in crate::cli) enum TenantAction {
    Create(TenantCreate),
    List(TenantList),
    Set(TenantSet),
}

/// Create a tenant with its own keys.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "create")]
pub(in crate::cli) struct TenantCreate {
    /// settings file
    #[argh(option)]
    pub(in crate::cli) config: PathBuf,
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

/// List all tenants.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "list")]
pub(in crate::cli) struct TenantList {
    /// settings file
    #[argh(option)]
    pub(in crate::cli) config: PathBuf,
}

/// Change a tenant; options that are not given change nothing.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "set")]
pub(in crate::cli) struct TenantSet {
    /// settings file
    #[argh(option)]
    pub(in crate::cli) config: PathBuf,
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
