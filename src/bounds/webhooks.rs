//! Webhooks: their number, their queues and their deliveries.

use std::time::Duration;

use super::access::TENANTS_MAX;

/// Webhooks of one tenant, as published.
pub const WEBHOOKS_MAX: usize = 5;
/// Names of events in one body; there are fewer kinds.
pub const WEBHOOK_EVENTS_MAX: usize = 100;
/// An e-mail address by RFC 5321.
pub const EMAIL_CHARS_MAX: usize = 254;
/// Events that wait for one webhook: three days of one event in five seconds. An event has one or
/// two kilobytes, so this is about 100 MB.
pub const WEBHOOK_PENDING_MAX: i64 = 50_000;
/// Events that wait for all webhooks of one tenant. It takes ten tenants whose receivers do not
/// answer to fill the vault's bound, and a silent receiver leaves room for the tenant's others.
pub const WEBHOOK_PENDING_TENANT_MAX: i64 = 100_000;
/// Queues of a tenant that are counted for this bound: of its webhooks, and of deleted webhooks
/// until the worker has removed them. A tenant that has more gets no events until then.
pub const WEBHOOK_QUEUES_MAX: usize = 4 * WEBHOOKS_MAX;
/// Events that wait for all webhooks of a vault: about 2 GB.
///
/// Shares: address, no secret key and key as their tenant; tenant 1/10.
pub const WEBHOOK_PENDING_ALL_MAX: i64 = 1_000_000;
/// The deadline of a delivery: a receiver should acknowledge first and work later.
pub const WEBHOOK_TIMEOUT: Duration = Duration::from_secs(10);
/// The receiver's answer is read for its status alone.
pub const WEBHOOK_ANSWER_BYTES_MAX: usize = 64 * 1024;
/// Pauses after the first failed attempt, the second, and so on; the last one repeats.
pub const WEBHOOK_PAUSES: [Duration; 7] = [
    Duration::from_secs(5),
    Duration::from_secs(30),
    Duration::from_mins(2),
    Duration::from_mins(10),
    Duration::from_hours(1),
    Duration::from_hours(6),
    Duration::from_hours(24),
];
/// A webhook whose deliveries all failed for this long is disabled. An event that the receiver
/// refuses is dropped at this age.
pub const WEBHOOK_GIVE_UP_AFTER: Duration = Duration::from_hours(3 * 24);
/// Deliveries at a time, besides slow ones.
///
/// Shares: address, no secret key and key as their tenant; tenant 10 deliveries.
pub const WEBHOOK_DELIVERIES_MAX: usize = 64;
/// Slow deliveries at a time: those that take longer than [`WEBHOOK_SLOW_AFTER`], and those to
/// webhooks whose last delivery did so or failed. They may take the whole timeout, and have places
/// of their own so that fast receivers do not wait for them.
///
/// Shares: address, no secret key and key as their tenant; tenant 4 deliveries.
pub const WEBHOOK_SLOW_DELIVERIES_MAX: usize = 16;
/// The share of one tenant: of all deliveries, and of the slow ones. Every webhook of a tenant has
/// its two deliveries. An address or a key has no share: a tenant's webhooks take turns, whatever
/// request an event comes from.
pub const WEBHOOK_DELIVERIES_TENANT_MAX: usize = WEBHOOKS_MAX * WEBHOOK_DELIVERIES_EACH_MAX;
pub const WEBHOOK_SLOW_DELIVERIES_TENANT_MAX: usize = 4;
/// Deliveries at a time to one webhook. A slow webhook has one.
pub const WEBHOOK_DELIVERIES_EACH_MAX: usize = 2;
/// The duration from which on a delivery is slow. A receiver that acknowledges first is faster.
pub const WEBHOOK_SLOW_AFTER: Duration = Duration::from_secs(1);
/// The time for which a webhook counts as slow after a delivery that was slow or failed.
pub const WEBHOOK_SLOW_FOR: Duration = Duration::from_hours(1);
/// Due events of one webhook, and of all, that the worker holds in memory between two reads of the
/// schedule: ids and times, a few hundred bytes each.
pub const WEBHOOK_READY_EACH_MAX: usize = 64;
/// Shares: address, no secret key and key as their tenant; tenant 1/25.
pub const WEBHOOK_READY_MAX: usize = 8_192;
/// The time between two reads of the schedule.
pub const WEBHOOK_PERIOD: Duration = Duration::from_millis(500);
/// The time for which events are gathered after the first one was written, until their change is
/// durable.
pub const WEBHOOK_GATHER: Duration = Duration::from_millis(30);
/// The shortest and the longest time between two reads of the whole schedule, which may be long.
pub const WEBHOOK_WHOLE_LOOK_MIN: Duration = Duration::from_secs(2);
pub const WEBHOOK_WHOLE_LOOK_MAX: Duration = Duration::from_mins(1);
/// The other reads go back this far, since a change becomes durable some time after its timestamp,
/// and read this number of rows. A read of the whole schedule finds what they miss.
pub const WEBHOOK_OVERLAP: Duration = Duration::from_secs(30);
pub const WEBHOOK_LOOK_ROWS_MAX: usize = 10_000;
/// Rows of the queue that one change removes or moves.
pub const WEBHOOK_ROWS_AT_ONCE: usize = 500;
/// Log messages that wait, and webhooks whose last failure is remembered.
///
/// No share: one for each webhook.
pub const WEBHOOK_NEWS_MAX: usize = TENANTS_MAX * WEBHOOKS_MAX;
/// Events that `strongroom webhook events` lists.
pub const WEBHOOK_LISTED_MAX: usize = 1_000;

const _: () = assert!(WEBHOOK_PENDING_MAX < WEBHOOK_PENDING_TENANT_MAX);
const _: () = assert!(10 * WEBHOOK_PENDING_TENANT_MAX <= WEBHOOK_PENDING_ALL_MAX);
const _: () = assert!(WEBHOOKS_MAX < WEBHOOK_QUEUES_MAX);
const _: () = assert!(6 * WEBHOOK_DELIVERIES_TENANT_MAX <= WEBHOOK_DELIVERIES_MAX);
const _: () = assert!(4 * WEBHOOK_SLOW_DELIVERIES_TENANT_MAX <= WEBHOOK_SLOW_DELIVERIES_MAX);
const _: () = assert!(WEBHOOK_SLOW_DELIVERIES_TENANT_MAX < WEBHOOK_DELIVERIES_TENANT_MAX);
const _: () = assert!(WEBHOOK_SLOW_AFTER.as_secs() < WEBHOOK_TIMEOUT.as_secs());
const _: () = assert!(WEBHOOK_READY_EACH_MAX <= WEBHOOK_READY_MAX);
