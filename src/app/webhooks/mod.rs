//! Webhooks: a tenant's programs hear of events by requests to URLs that they chose.
//!
//! An event is written in the same change as its act ([`subject`], [`emit`]): every
//! audit entry of a tenant passes through one function, which adds the event. The events wait in the
//! data file, so that neither a crash nor a restart loses one. A worker of the server sends them
//! ([`worker`]) until the receiver acknowledges them or the limits of [`queue`] are reached.

mod emit;
mod key;
mod leftovers;
mod manage;
mod message;
mod observe;
mod queue;
pub(in crate::app) mod state;
pub(in crate::app) mod subject;
mod subscription_cache;
mod subscriptions;
mod worker;

pub(in crate::app) use manage::open_webhook;
pub use manage::{WebhookChange, WebhookDraft};
pub use queue::{ListedWebhook, PendingEvent};
pub use state::WebhookNews;

use crate::app::vault::Vault;

/// A tenant's webhooks, the events that wait for them, and their delivery.
#[derive(Debug, Clone, Copy)]
pub struct Webhooks<'a> {
    pub(in crate::app) vault: &'a Vault,
}

impl Vault {
    pub const fn webhooks(&self) -> Webhooks<'_> {
        Webhooks { vault: self }
    }
}
