//! Keys of webhooks, of the events that wait for delivery, and of their schedule.

use std::ops::Bound;

use uuid::Uuid;

use crate::domain::id::{EventId, TenantId, WebhookId};
use crate::domain::time::Timestamp;
use crate::store::tables::range::KeyRange;
use crate::store::tables::records::webhooks;
use crate::store::tables::shard::Shard;
use crate::store::tables::table::{Table, join, micros, two_ids};

/// The byte after the scope in the keys of [`webhook_counts`] and [`all_webhook_counts`].
const PENDING: u8 = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PendingDelivery {
    pub tenant: TenantId,
    pub webhook: WebhookId,
    pub event: EventId,
}

impl PendingDelivery {
    pub fn delivery_key(&self) -> Vec<u8> {
        join(&[self.tenant.bytes(), self.webhook.bytes(), self.event.bytes()])
    }

    /// The key in [`Table::WebhookSchedule`] while the next attempt is at this time.
    pub fn schedule_key(&self, at: Timestamp) -> Vec<u8> {
        join(&[&micros(at).to_be_bytes(), &self.delivery_key()])
    }
}

/// The events that wait for one webhook, oldest first.
pub fn webhook_deliveries_of(tenant: TenantId, webhook: WebhookId) -> KeyRange {
    KeyRange::prefix(Table::WebhookDeliveries, webhooks(tenant, webhook))
}

/// The rows of the schedule between two times, both included.
pub fn webhook_schedule(from: Timestamp, until: Timestamp) -> KeyRange {
    let to = match micros(until).checked_add(1) {
        Some(end) => Bound::Excluded(end.to_be_bytes().to_vec()),
        None => Bound::Unbounded,
    };
    let from = Bound::Included(micros(from).to_be_bytes().to_vec());
    KeyRange::new(Table::WebhookSchedule, from, to)
}

pub fn scheduled_of_key(key: &[u8]) -> Option<(Timestamp, PendingDelivery)> {
    let (time, rest) = key.split_first_chunk::<8>()?;
    let at = i64::try_from(u64::from_be_bytes(*time)).ok().map(Timestamp::from_micros)?;
    let (tenant, rest) = rest.split_first_chunk::<16>()?;
    let (webhook, event) = two_ids(rest)?;
    let tenant = TenantId::new(Uuid::from_bytes(*tenant));
    let (webhook, event) = (WebhookId::new(webhook), EventId::new(event));
    Some((at, PendingDelivery { tenant, webhook, event }))
}

pub fn attempts_value(attempts: u32) -> Vec<u8> {
    attempts.to_be_bytes().to_vec()
}

pub fn attempts_of_value(value: &[u8]) -> Option<u32> {
    value.try_into().ok().map(u32::from_be_bytes)
}

/// The row that counts the events that wait for a webhook.
pub fn webhook_counts(tenant: TenantId, webhook: WebhookId) -> Vec<u8> {
    join(&[tenant.bytes(), &[PENDING], webhook.bytes()])
}

pub fn webhook_counts_of(tenant: TenantId) -> KeyRange {
    KeyRange::prefix(Table::Counts, join(&[tenant.bytes(), &[PENDING]]))
}

/// Returns `None` for keys that are not of [`webhook_counts`].
pub fn webhook_of_count_key(key: &[u8]) -> Option<(TenantId, WebhookId)> {
    let (tenant, rest) = key.split_first_chunk::<16>()?;
    let (&PENDING, webhook) = rest.split_first()? else { return None };
    let webhook = Uuid::from_slice(webhook).ok()?;
    Some((TenantId::new(Uuid::from_bytes(*tenant)), WebhookId::new(webhook)))
}

/// The row that counts the events that wait for any webhook of a shard's tenants.
pub fn all_webhook_counts(shard: Shard) -> Vec<u8> {
    match shard {
        Shard::VAULT => join(&[&[0; 16], &[PENDING]]),
        _ => join(&[&[0; 16], &[PENDING], &shard.number().to_be_bytes()]),
    }
}

/// The rows of all shards.
pub fn every_webhook_count() -> KeyRange {
    KeyRange::prefix(Table::Counts, join(&[&[0; 16], &[PENDING]]))
}

/// The shard in a key of [`all_webhook_counts`].
pub fn shard_of_count(key: &[u8]) -> Option<Shard> {
    let (&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], rest) = key.split_first_chunk()? else {
        return None;
    };
    match rest {
        [PENDING] => Some(Shard::VAULT),
        [PENDING, high, low] => Some(Shard::new(u16::from_be_bytes([*high, *low]))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_the_schedule_leads_back_and_keys_sort_by_time() {
        let id = |number| Uuid::from_u128(number);
        let delivery = PendingDelivery {
            tenant: TenantId::new(id(1)),
            webhook: WebhookId::new(id(2)),
            event: EventId::new(id(3)),
        };
        let at = Timestamp::from_micros(1_700_000_000_123_456);
        let key = delivery.schedule_key(at);
        assert_eq!(scheduled_of_key(&key), Some((at, delivery)));
        assert!(webhook_schedule(at, at).contains(&key));
        let later = Timestamp::from_micros(at.micros() + 1);
        assert!(!webhook_schedule(later, later).contains(&key));
        assert!(key < delivery.schedule_key(later));
        assert_eq!(scheduled_of_key(&key[1..]), None);
        assert_eq!(attempts_of_value(&attempts_value(7)), Some(7));
    }
}
