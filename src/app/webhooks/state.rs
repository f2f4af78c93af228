//! The state of webhooks in memory: subscriptions, the signing key, counters, news for the log, and
//! the last failure of each webhook.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use tokio::sync::Notify;

use crate::app::generation_cache::GenerationCache;
use crate::app::webhooks::subscriptions::Subscriber;
use crate::bounds::{TENANTS_MAX, WEBHOOK_NEWS_MAX};
use crate::crypto::WebhookKey;
use crate::domain::id::{TenantId, WebhookId};
use crate::domain::webhook::{DeliveryFailure, FailureReason};
use crate::lock::{Lock, SharedLock};
use crate::metrics::Counter;

#[derive(Debug, Default)]
pub(in crate::app) struct WebhookState {
    /// The enabled webhooks of each tenant. Requests of a tenant without webhooks then read nothing
    /// for them.
    pub(super) subscriptions: GenerationCache<TenantId, [Subscriber], TENANTS_MAX>,
    pub(super) key: SharedLock<Option<Arc<WebhookKey>>>,
    pub(super) counts: DeliveryCounts,
    /// Wakes the worker.
    pub(super) wake: Notify,
    pub(super) requests: Lock<WorkerRequests>,
    /// Only webhooks whose last delivery failed.
    failures: Lock<HashMap<WebhookId, FailureStreak>>,
    news: Lock<News>,
    has_news: Notify,
}

/// Since the last success.
#[derive(Debug, Clone, Copy)]
pub(super) struct FailureStreak {
    pub(super) last: DeliveryFailure,
    pub(super) count: u64,
}

/// Work that operations request of the worker.
#[derive(Debug, Default)]
pub(super) struct WorkerRequests {
    /// Deleted or disabled webhooks, whose events are removed.
    pub(super) purge: HashSet<(TenantId, WebhookId)>,
    /// Webhooks whose pause after a failure ends now.
    pub(super) unblock: HashSet<(TenantId, WebhookId)>,
    /// Ends all pauses, because another process has changed some webhooks.
    pub(super) unblock_all: bool,
}

/// For metrics.
#[derive(Debug, Default)]
pub(super) struct DeliveryCounts {
    pub(super) delivered: Counter,
    pub(super) broken: Counter,
    pub(super) refused: Counter,
    pub(super) status: Counter,
    pub(super) timed_out: Counter,
    pub(super) unreachable: Counter,
    pub(super) dropped: Counter,
    pub(super) disabled: Counter,
}

/// For the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebhookNews {
    /// Every delivery of three days failed.
    Disabled { tenant: TenantId, webhook: WebhookId, reason: &'static str },
    /// Events were dropped because too many wait. Logged once for each webhook.
    Dropped { tenant: TenantId, webhook: WebhookId },
}

#[derive(Debug, Default)]
struct News {
    waiting: VecDeque<WebhookNews>,
    dropped: HashSet<WebhookId>,
}

impl DeliveryCounts {
    pub(super) fn count_failure(&self, reason: FailureReason) {
        match reason {
            FailureReason::Broken => self.broken.add(1),
            FailureReason::Refused => self.refused.add(1),
            FailureReason::Status(_) => self.status.add(1),
            FailureReason::TimedOut => self.timed_out.add(1),
            FailureReason::Unreachable => self.unreachable.add(1),
        }
    }
}

impl WebhookState {
    pub(super) fn tell(&self, news: WebhookNews) {
        let mut known = self.news.lock();
        if let WebhookNews::Dropped { webhook, .. } = news {
            if known.dropped.len() >= WEBHOOK_NEWS_MAX {
                known.dropped.clear();
            }
            if !known.dropped.insert(webhook) {
                return;
            }
        }
        if known.waiting.len() < WEBHOOK_NEWS_MAX {
            known.waiting.push_back(news);
            self.has_news.notify_one();
        }
    }

    /// Another process may have replaced the key.
    pub(in crate::app) fn forget_key(&self) {
        *self.key.write() = None;
    }

    pub(super) fn purge(&self, tenant: TenantId, webhook: WebhookId) {
        self.requests.lock().purge.insert((tenant, webhook));
        self.wake.notify_one();
    }

    pub(super) fn unblock(&self, tenant: TenantId, webhook: WebhookId) {
        self.requests.lock().unblock.insert((tenant, webhook));
        self.wake.notify_one();
    }

    /// `failure` is `None` after a success. Deleted webhooks may stay in the map, which
    /// [`WEBHOOK_NEWS_MAX`] bounds.
    pub(super) fn note_outcome(&self, webhook: WebhookId, failure: Option<DeliveryFailure>) {
        let mut known = self.failures.lock();
        match failure {
            Some(last) if known.len() < WEBHOOK_NEWS_MAX || known.contains_key(&webhook) => {
                let streak = known.entry(webhook).or_insert(FailureStreak { last, count: 0 });
                *streak = FailureStreak { last, count: streak.count.saturating_add(1) };
            }
            Some(_) => (),
            None => drop(known.remove(&webhook)),
        }
    }

    pub(super) async fn next_news(&self) -> WebhookNews {
        loop {
            if let Some(news) = self.news.lock().waiting.pop_front() {
                return news;
            }
            self.has_news.notified().await;
        }
    }

    pub(super) fn failures(&self, webhook: WebhookId) -> Option<FailureStreak> {
        self.failures.lock().get(&webhook).copied()
    }
}
