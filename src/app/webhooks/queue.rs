//! The queue of events in the data file: settling attempts, removing and moving events, listing.

use std::time::Duration;

use crate::app::Webhooks;
use crate::app::commit::commit_loop::Priority;
use crate::app::error::Error;
use crate::app::records;
use crate::app::webhooks::emit::counted;
use crate::app::webhooks::leftovers::is_enabled;
use crate::app::webhooks::state::WebhookNews;
use crate::bounds::{
    WEBHOOK_GIVE_UP_AFTER, WEBHOOK_LISTED_MAX, WEBHOOK_PAUSES, WEBHOOK_ROWS_AT_ONCE,
};
use crate::domain::audit::{Act, Actor};
use crate::domain::id::{TenantId, WebhookId, assigned_at};
use crate::domain::time::Timestamp;
use crate::domain::webhook::{DeliveryFailure, EventKind, FailureReason, Webhook, WebhookStatus};
use crate::store::record::decode_event;
use crate::store::tables::PendingDelivery;
use crate::store::{Authority, Change, Shards, Snapshot, Table, tables};

/// A row of the schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scheduled {
    pub(super) at: Timestamp,
    pub(super) delivery: PendingDelivery,
    pub(super) attempts: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AfterAttempt {
    Delivered,
    /// The webhook was deleted or disabled: its queue is to be removed.
    Gone,
    /// The time of this event's next attempt, or `None` if it is not sent again.
    Waits(Option<Timestamp>),
}

/// For the operator and the console.
#[derive(Debug)]
pub struct ListedWebhook {
    pub webhook: Webhook,
    pub pending: u64,
    /// The time of the oldest pending event.
    pub oldest: Option<Timestamp>,
    pub last_failure: Option<DeliveryFailure>,
    /// Since the last success or the start of the server.
    pub failed_attempts: u64,
}

/// For the operator.
#[derive(Debug)]
pub struct PendingEvent {
    pub id: String,
    /// `None` if the record is damaged.
    pub kind: Option<EventKind>,
    pub at: Timestamp,
    pub attempts: u32,
    pub next_attempt_at: Timestamp,
}

impl Scheduled {
    pub(super) fn read(key: &[u8], value: &[u8]) -> Option<Self> {
        let (at, delivery) = tables::scheduled_of_key(key)?;
        Some(Self { at, delivery, attempts: tables::attempts_of_value(value)? })
    }

    fn key(&self) -> Vec<u8> {
        self.delivery.schedule_key(self.at)
    }

    pub(super) fn exists(&self, snapshot: &Snapshot) -> Result<bool, Error> {
        Ok(snapshot.value(Table::WebhookSchedule, &self.key())?.is_some())
    }

    /// Refused if the event is no longer in the queue.
    fn remove(&self, shards: Shards) -> Change {
        Change::new()
            .expect_present(Table::WebhookSchedule, self.key())
            .delete(Table::WebhookSchedule, self.key())
            .delete(Table::WebhookDeliveries, self.delivery.delivery_key())
            .and(counted(shards, &self.delivery, -1))
    }

    fn reschedule(&self, at: Timestamp, attempts: u32) -> Change {
        Change::new()
            .expect_present(Table::WebhookSchedule, self.key())
            .delete(Table::WebhookSchedule, self.key())
            .put(
                Table::WebhookSchedule,
                self.delivery.schedule_key(at),
                tables::attempts_value(attempts),
            )
    }
}

/// The pause after this number of failed attempts.
fn pause(attempts: u32) -> Duration {
    let place = usize::try_from(attempts.saturating_sub(1)).unwrap_or(usize::MAX);
    let [.., last] = WEBHOOK_PAUSES;
    WEBHOOK_PAUSES.get(place).copied().unwrap_or(last)
}

impl Webhooks<'_> {
    /// Writes the outcome of an attempt. If the row was removed or moved meanwhile, only the
    /// webhook's state is written.
    pub(super) async fn settle(
        self,
        row: Scheduled,
        failure: Option<FailureReason>,
    ) -> Result<AfterAttempt, Error> {
        let PendingDelivery { tenant, webhook: id, .. } = row.delivery;
        let settle = |snapshot: &Snapshot| self.plan_outcome(snapshot, &row, failure);
        let (after, status) = self.by.commit(self.vault, Priority::Upkeep, settle).await?;
        let state = &self.vault.webhooks;
        let failed = |reason| DeliveryFailure { at: self.vault.now(), reason };
        state.note_outcome(id, failure.map(failed));
        match failure {
            Some(reason) => state.counts.count_failure(reason),
            None => state.counts.delivered.add(1),
        }
        if after == AfterAttempt::Waits(None) {
            state.counts.dropped.add(1);
        }
        if status == Some(WebhookStatus::Disabled) {
            state.counts.disabled.add(1);
            let reason = failure.map_or("", FailureReason::name);
            state.tell(WebhookNews::Disabled { tenant, webhook: id, reason });
            return Ok(AfterAttempt::Gone);
        }
        Ok(after)
    }

    /// The change of an attempt's outcome, and the webhook's status after it; `None` if the webhook
    /// was deleted or disabled before.
    fn plan_outcome(
        self,
        snapshot: &Snapshot,
        row: &Scheduled,
        failure: Option<FailureReason>,
    ) -> Result<(Change, (AfterAttempt, Option<WebhookStatus>)), Error> {
        let PendingDelivery { tenant, webhook: id, .. } = row.delivery;
        let now = self.vault.now();
        let keys = self.vault.keys().tenant_keys(snapshot, tenant)?;
        let found = records::find::<Webhook>(snapshot, &keys, id)?;
        let enabled = found.filter(|(webhook, _)| webhook.status == WebhookStatus::Enabled);
        let Some((mut webhook, version)) = enabled else {
            return Ok((Change::new(), (AfterAttempt::Gone, None)));
        };
        let before = webhook.clone();
        let is_there = row.exists(snapshot)?;
        let mut change = Change::new();
        let after = if let Some(reason) = failure {
            let failing = *webhook.failing.get_or_insert(DeliveryFailure { at: now, reason });
            let next = next_attempt(row, now);
            if is_there {
                change = match next {
                    Some(at) => row.reschedule(at, row.attempts.saturating_add(1)),
                    None => row.remove(self.vault.store.shards()),
                };
            }
            if failing.at.plus(WEBHOOK_GIVE_UP_AFTER) <= now {
                webhook.status = WebhookStatus::Disabled;
                webhook.disabled_at = Some(now);
                let audit = self.vault.audit();
                change = change.and(audit.entry(tenant, Actor::System, Act::Update, id, now));
            }
            AfterAttempt::Waits(next)
        } else {
            if is_there {
                change = row.remove(self.vault.store.shards());
            }
            webhook.failing = None;
            AfterAttempt::Delivered
        };
        if webhook != before {
            change = change.and(self.vault.update_record(&keys, &webhook, version)?);
        }
        Ok((change, (after, Some(webhook.status))))
    }

    /// Reschedules an event whose record is damaged, so that it does not block the others.
    pub(super) async fn postpone(self, row: Scheduled) -> Result<(), Error> {
        let [.., last] = WEBHOOK_PAUSES;
        self.by
            .commit(self.vault, Priority::Upkeep, |snapshot| {
                let at = self.vault.now().plus(last);
                let is_there = row.exists(snapshot)?;
                let moved = || row.reschedule(at, row.attempts.saturating_add(1));
                Ok((if is_there { moved() } else { Change::new() }, ()))
            })
            .await
    }

    /// Removes all pending events of a deleted or disabled webhook. If it is enabled again
    /// meanwhile, the remaining events stay: each batch reads the webhook from its own snapshot.
    pub(super) async fn purge(self, tenant: TenantId, webhook: WebhookId) -> Result<(), Error> {
        let mut dropped: u64 = 0;
        let mut from = Some(Vec::new());
        while let Some(start) = from.take() {
            let is_over = |snapshot: &Snapshot| Ok(!is_enabled(self, snapshot, tenant, webhook)?);
            let shards = self.vault.store.shards();
            let remove = |change: Change, row: &Scheduled| change.and(row.remove(shards));
            let (next, removed) = self.walk((tenant, webhook), &start, is_over, remove).await?;
            from = next;
            dropped = dropped.saturating_add(removed);
        }
        self.vault.webhooks.counts.dropped.add(dropped);
        let count = tables::webhook_counts(tenant, webhook);
        self.by
            .commit(self.vault, Priority::Upkeep, |snapshot| {
                let record = tables::webhooks(tenant, webhook);
                let is_over = snapshot.value(Table::Webhooks, &record)?.is_none()
                    && snapshot.count(&count)? == 0;
                let change = Change::new().expect_counts_at_most(vec![count.clone()], 0);
                let gone = || change.delete(Table::Counts, count.clone());
                Ok((if is_over { gone() } else { Change::new() }, ()))
            })
            .await
    }

    /// Makes all events of a webhook due now. Returns their number.
    pub async fn retry(self, tenant: TenantId, webhook: WebhookId) -> Result<u64, Error> {
        self.find_for_operator(tenant, webhook)?;
        let operator = self.by(Authority::Anyone);
        let now = self.vault.now();
        let mut moved: u64 = 0;
        let mut from = Some(Vec::new());
        while let Some(start) = from.take() {
            let (next, count) = operator
                .walk(
                    (tenant, webhook),
                    &start,
                    |_| Ok(true),
                    |change, row| {
                        let due = if row.at <= now {
                            Change::new()
                        } else {
                            row.reschedule(now, row.attempts)
                        };
                        change.and(due)
                    },
                )
                .await?;
            from = next;
            moved = moved.saturating_add(count);
        }
        self.vault.webhooks.unblock(tenant, webhook);
        Ok(moved)
    }

    /// Applies `act` to a batch of one webhook's rows behind `start`, in one change, if `applies`
    /// returns true. Returns the key to continue behind, if there are more rows, and the number of
    /// handled rows.
    async fn walk(
        self,
        of: (TenantId, WebhookId),
        start: &[u8],
        applies: impl Fn(&Snapshot) -> Result<bool, Error> + Sync,
        act: impl Fn(Change, &Scheduled) -> Change + Sync,
    ) -> Result<(Option<Vec<u8>>, u64), Error> {
        self.by
            .commit(self.vault, Priority::Upkeep, |snapshot| {
                let (mut change, mut count): (_, u64) = (Change::new(), 0);
                if !applies(snapshot)? {
                    return Ok((change, (None, count)));
                }
                let range = Table::WebhookSchedule.whole().starting_after(start);
                let most = u64::try_from(WEBHOOK_ROWS_AT_ONCE).unwrap_or(u64::MAX);
                for row in snapshot.range(&range)? {
                    let (key, value) = row?;
                    let Some(row) = Scheduled::read(&key, &value) else { continue };
                    if (row.delivery.tenant, row.delivery.webhook) != of {
                        continue;
                    }
                    change = act(change, &row);
                    count = count.saturating_add(1);
                    if count >= most {
                        return Ok((change, (Some(key), count)));
                    }
                }
                Ok((change, (None, count)))
            })
            .await
    }

    pub fn list_with_queues(self, tenant: TenantId) -> Result<Vec<ListedWebhook>, Error> {
        let snapshot = self.vault.snapshot()?;
        let (_, keys) = self.vault.access().tenant_with_keys(&snapshot, tenant)?;
        let listed = |webhook: Webhook| {
            let pending = snapshot.count(&tables::webhook_counts(tenant, webhook.id))?;
            let pending = u64::try_from(pending).unwrap_or(0);
            // Ids of events are ordered by time.
            let first = snapshot.first(&tables::webhook_deliveries_of(tenant, webhook.id), 1)?;
            let oldest = first.first().map(|(key, _)| Table::WebhookDeliveries.id_of_key(key));
            let failures = self.vault.webhooks.failures(webhook.id);
            Ok(ListedWebhook {
                pending,
                oldest: oldest.map(assigned_at),
                last_failure: failures.map(|it| it.last).or(webhook.failing),
                failed_attempts: failures.map_or(0, |it| it.count),
                webhook,
            })
        };
        self.all_of(&snapshot, &keys)?.into_iter().map(listed).collect()
    }

    /// The next one first; at most [`WEBHOOK_LISTED_MAX`].
    pub async fn pending(
        self,
        tenant: TenantId,
        webhook: WebhookId,
    ) -> Result<Vec<PendingEvent>, Error> {
        self.find_for_operator(tenant, webhook)?;
        let look = || {
            let snapshot = self.vault.snapshot()?;
            let keys = self.vault.keys().tenant_keys(&snapshot, tenant)?;
            let mut found = Vec::new();
            for row in snapshot.range(&Table::WebhookSchedule.whole())? {
                let (key, value) = row?;
                let Some(row) = Scheduled::read(&key, &value) else { continue };
                let of = (row.delivery.tenant, row.delivery.webhook);
                if of != (tenant, webhook) {
                    continue;
                }
                let key = row.delivery.delivery_key();
                let sealed = snapshot.value(Table::WebhookDeliveries, &key)?;
                let event = sealed
                    .and_then(|it| keys.open(Table::WebhookDeliveries.number(), &key, &it).ok())
                    .and_then(|plain| decode_event(plain.expose()).ok());
                found.push(PendingEvent {
                    id: row.delivery.event.to_string(),
                    kind: event.as_ref().map(|event| event.kind),
                    at: assigned_at(row.delivery.event.uuid()),
                    attempts: row.attempts,
                    next_attempt_at: row.at,
                });
                if found.len() >= WEBHOOK_LISTED_MAX {
                    break;
                }
            }
            Ok(found)
        };
        self.vault.operator_walks.run(look).await?
    }

    fn find_for_operator(self, tenant: TenantId, id: WebhookId) -> Result<Webhook, Error> {
        let snapshot = self.vault.snapshot()?;
        let (_, keys) = self.vault.access().tenant_with_keys(&snapshot, tenant)?;
        Ok(records::require(&snapshot, &keys, id, self.vault.now())?.0)
    }
}

/// `None` for an event that is too old for another attempt. Otherwise an event that the receiver
/// refuses while it takes others would be repeated for ever.
fn next_attempt(row: &Scheduled, now: Timestamp) -> Option<Timestamp> {
    let next = now.plus(pause(row.attempts.saturating_add(1)));
    let last = assigned_at(row.delivery.event.uuid()).plus(WEBHOOK_GIVE_UP_AFTER);
    // The last attempt is at the very end, so that every event is tried for three whole days.
    if now >= last { None } else { Some(next.min(last)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_from_5_seconds_to_a_day() {
        let pauses: Vec<u64> = (1..=9).map(|attempts| pause(attempts).as_secs()).collect();
        assert_eq!(pauses, [5, 30, 120, 600, 3_600, 21_600, 86_400, 86_400, 86_400]);
    }
}
