//! Tasks of webhooks: delivering events, and logging what the operator has to know.

use std::sync::Arc;

use crate::app::{Vault, WebhookNews};
use crate::cli::serve::processes::spawn_led;
use crate::log::{Event, Log, Value};
use crate::server::tasks::Tasks;

/// Starts the tasks, which end with `tasks`.
pub(in crate::cli) fn begin(vault: &Arc<Vault>, tasks: &Tasks, log: &Log) {
    let (sender, watched, log) = (Arc::clone(vault), Arc::clone(vault), log.clone());
    spawn_led(vault, tasks, move || {
        let sender = Arc::clone(&sender);
        async move { sender.webhooks().deliver().await }
    });
    tasks.spawn(async move {
        loop {
            log.event(event(watched.webhooks().news().await));
        }
    });
}

fn event(news: WebhookNews) -> Event {
    match news {
        WebhookNews::Disabled { tenant, webhook, reason } => Event::error("webhook_disabled")
            .with("tenant", Value::Id(tenant.uuid()))
            .with("webhook", Value::Id(webhook.uuid()))
            .with("reason", Value::Name(reason)),
        WebhookNews::Dropped { tenant, webhook } => Event::error("webhook_events_dropped")
            .with("tenant", Value::Id(tenant.uuid()))
            .with("webhook", Value::Id(webhook.uuid())),
    }
}
