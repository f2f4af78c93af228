//! News, metrics and status lines of webhooks.

use std::time::Duration;

use crate::app::Webhooks;
use crate::app::error::Error;
use crate::app::webhooks::emit::pending_of_all;
use crate::app::webhooks::state::WebhookNews;
use crate::domain::id::assigned_at;
use crate::metrics::{FamilyKind, Label, Page};
use crate::store::{Table, tables};

impl Webhooks<'_> {
    pub async fn news(self) -> WebhookNews {
        self.vault.webhooks.next_news().await
    }

    pub(in crate::app) fn measure(self, page: &mut Page) {
        // The checks report a file that cannot be read.
        if let Ok((pending, oldest)) = self.waiting() {
            page.gauge("strongroom_webhook_pending", "Events that wait for webhooks.", pending)
                .status("webhooks", "pending");
            page.gauge(
                "strongroom_webhook_oldest_seconds",
                "Age of the oldest event that waits for a webhook.",
                oldest,
            )
            .status("webhooks", "oldest_s");
        }
        let counts = &self.vault.webhooks.counts;
        let mut deliveries = page.family(
            "strongroom_webhook_deliveries_total",
            "Attempts to deliver an event to a webhook, by result.",
            FamilyKind::Counter,
        );
        for (result, count) in [
            ("delivered", &counts.delivered),
            ("broken", &counts.broken),
            ("refused", &counts.refused),
            ("status", &counts.status),
            ("timed_out", &counts.timed_out),
            ("unreachable", &counts.unreachable),
        ] {
            deliveries.sample(&[("result", Label::Name(result))], count.get());
        }
        page.counter(
            "strongroom_webhook_events_dropped_total",
            "Events that are not delivered: too many waited, or the webhook was disabled or deleted.",
            counts.dropped.get(),
        )
        .status("webhooks", "dropped");
        page.counter(
            "strongroom_webhooks_disabled_total",
            "Webhooks that were disabled after three days of failures.",
            counts.disabled.get(),
        )
        .status("webhooks", "disabled");
    }

    /// The number of pending events, and the age of the oldest. Ids of events are ordered by time,
    /// so each webhook takes one look-up.
    fn waiting(self) -> Result<(u64, Duration), Error> {
        let snapshot = self.vault.snapshot()?;
        let pending = u64::try_from(pending_of_all(&snapshot)?).unwrap_or(0);
        let now = self.vault.now();
        let mut oldest = Duration::ZERO;
        if pending > 0 {
            for row in snapshot.range(&Table::Webhooks.whole())? {
                let (key, _) = row?;
                let Some((tenant, webhook)) = tables::webhook_of_key(&key) else { continue };
                let first = snapshot.first(&tables::webhook_deliveries_of(tenant, webhook), 1)?;
                let ids = first.iter().map(|(key, _)| Table::WebhookDeliveries.id_of_key(key));
                oldest = ids.map(|id| now.since(assigned_at(id))).fold(oldest, Duration::max);
            }
        }
        Ok((pending, oldest))
    }
}
