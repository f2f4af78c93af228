//! `strongroom webhook`: webhooks and the events that wait for them.

use std::path::PathBuf;

use crate::cli::command::{OnVault as _, command, group};
use crate::cli::operate::{list, send};
use crate::operator::Command;

group! {
    /// Look at webhooks and the events that wait for them, with or without a running server.
    "webhook" WebhookCommand: WebhookEvents, WebhookList, WebhookRetry, WebhookRotateKey
}

command! {
    /// List the webhooks of a tenant: status, events that wait, and the last failure.
    "list" WebhookList on tenant {} => |it| {
        let columns = [
            ("ID", "id"),
            ("STATUS", "status"),
            ("WAITING", "pending"),
            ("FAILING SINCE", "failing_since"),
            ("LAST FAILURE", "last_failure/reason"),
            ("NAME", "name"),
            ("EVENTS", "events"),
        ];
        let (vault, json) = (it.vault()?, it.json());
        list(&vault, Command::WebhookList { tenant: it.tenant }, json, &columns)
    }
}

command! {
    /// List the events that wait for a webhook, the next one first, without their content.
    "events" WebhookEvents on tenant {
        /// the webhook's id
        webhook: String = option,
    } => |it| {
        let columns = [
            ("ID", "id"),
            ("TYPE", "type"),
            ("CREATED", "created_at"),
            ("ATTEMPTS", "attempts"),
            ("NEXT ATTEMPT", "next_attempt_at"),
        ];
        let (vault, json, tenant, webhook) = (it.vault()?, it.json(), it.tenant, it.webhook);
        list(&vault, Command::WebhookEvents { tenant, webhook }, json, &columns)
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
