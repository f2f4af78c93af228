//! `strongroom webhook`: webhooks and the events that wait for them.

use std::path::PathBuf;

use crate::cli::command::{OnVault as _, command, group};
use crate::cli::operate::send;
use crate::operator::Command;

group! {
    /// Look at webhooks and the events that wait for them, with or without a running server.
    "webhook" WebhookCommand: WebhookEvents, WebhookList, WebhookRetry, WebhookRotateKey
}

command! {
    /// List the webhooks of a tenant: status, events that wait, and the last failure.
    "list" WebhookList on tenant {} => |it| send(&it.vault()?, Command::WebhookList { tenant: it.tenant })
}

command! {
    /// List the events that wait for a webhook, the next one first, without their content.
    "events" WebhookEvents on tenant {
        /// the webhook's id
        webhook: String = option,
    } => |it| {
        let (vault, tenant, webhook) = (it.vault()?, it.tenant, it.webhook);
        send(&vault, Command::WebhookEvents { tenant, webhook })
    }
}

command! {
    /// Deliver the events that wait for a webhook now, instead of at their next attempt.
    "retry" WebhookRetry on tenant {
        /// the webhook's id
        webhook: String = option,
    } => |it| {
        let (vault, tenant, webhook) = (it.vault()?, it.tenant, it.webhook);
        send(&vault, Command::WebhookRetry { tenant, webhook })
    }
}

command! {
    /// Make a new key that signs webhooks and destroy the old one. Prints the public key.
    "rotate-key" WebhookRotateKey on vault {} => |it| send(&it.vault()?, Command::WebhookRotateKey)
}
