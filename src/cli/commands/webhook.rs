//! Webhooks: `strongroom webhook`.

use std::path::PathBuf;

use argh::FromArgs;

/// Look at webhooks and the events that wait for them, with or without a running server.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "webhook")]
pub(in crate::cli) struct WebhookCommand {
    #[argh(subcommand)]
    pub(in crate::cli) action: WebhookAction,
}

#[derive(FromArgs, Debug)]
#[argh(subcommand)]
pub(in crate::cli) enum WebhookAction {
    Events(WebhookEvents),
    List(WebhookList),
    Retry(WebhookRetry),
    RotateKey(WebhookRotateKey),
}

/// List the webhooks of a tenant: status, events that wait, and the last failure.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "list")]
pub(in crate::cli) struct WebhookList {
    /// settings file
    #[argh(option)]
    pub(in crate::cli) config: PathBuf,
    /// the tenant's id
    #[argh(option)]
    pub(in crate::cli) tenant: String,
}

/// List the events that wait for a webhook, the next one first, without their content.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "events")]
pub(in crate::cli) struct WebhookEvents {
    /// settings file
    #[argh(option)]
    pub(in crate::cli) config: PathBuf,
    /// the tenant's id
    #[argh(option)]
    pub(in crate::cli) tenant: String,
    /// the webhook's id
    #[argh(option)]
    pub(in crate::cli) webhook: String,
}

/// Deliver the events that wait for a webhook now, instead of at their next attempt.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "retry")]
pub(in crate::cli) struct WebhookRetry {
    /// settings file
    #[argh(option)]
    pub(in crate::cli) config: PathBuf,
    /// the tenant's id
    #[argh(option)]
    pub(in crate::cli) tenant: String,
    /// the webhook's id
    #[argh(option)]
    pub(in crate::cli) webhook: String,
}

/// Make a new key that signs webhooks and destroy the old one. Prints the public key.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "rotate-key")]
pub(in crate::cli) struct WebhookRotateKey {
    /// settings file
    #[argh(option)]
    pub(in crate::cli) config: PathBuf,
}
