//! Webhooks: `strongroom webhook`.

use argh::{ArgsInfo, FromArgs};

use super::vault::vault_command;

/// Look at webhooks and the events that wait for them, with or without a running server.
#[derive(ArgsInfo, FromArgs, Debug)]
#[argh(subcommand, name = "webhook")]
pub(in crate::cli) struct WebhookCommand {
    #[argh(subcommand)]
    pub(in crate::cli) action: WebhookAction,
}

#[derive(ArgsInfo, FromArgs, Debug)]
#[argh(subcommand)]
pub(in crate::cli) enum WebhookAction {
    Events(WebhookEvents),
    List(WebhookList),
    Retry(WebhookRetry),
    RotateKey(WebhookRotateKey),
}

vault_command! {
    /// List the webhooks of a tenant: status, events that wait, and the last failure.
    #[argh(subcommand, name = "list")]
    pub(in crate::cli) struct WebhookList {
        /// the tenant's id
        #[argh(option)]
        pub(in crate::cli) tenant: String,
    }
}

vault_command! {
    /// List the events that wait for a webhook, the next one first, without their content.
    #[argh(subcommand, name = "events")]
    pub(in crate::cli) struct WebhookEvents {
        /// the tenant's id
        #[argh(option)]
        pub(in crate::cli) tenant: String,
        /// the webhook's id
        #[argh(option)]
        pub(in crate::cli) webhook: String,
    }
}

vault_command! {
    /// Deliver the events that wait for a webhook now, instead of at their next attempt.
    #[argh(subcommand, name = "retry")]
    pub(in crate::cli) struct WebhookRetry {
        /// the tenant's id
        #[argh(option)]
        pub(in crate::cli) tenant: String,
        /// the webhook's id
        #[argh(option)]
        pub(in crate::cli) webhook: String,
    }
}

vault_command! {
    /// Make a new key that signs webhooks and destroy the old one. Prints the public key.
    #[argh(subcommand, name = "rotate-key")]
    pub(in crate::cli) struct WebhookRotateKey {}
}
