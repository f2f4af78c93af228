//! Webhooks: requests that notify a tenant's programs of events, at URLs that they chose.
//!
//! An event is written in the same change as its act ([`emit`]): every audit entry of a tenant
//! passes through one function, which adds the event. Pending events are in the data file, so
//! neither a crash nor a restart loses one. A worker of the server sends them ([`worker`]) until
//! the receiver acknowledges them or the limits of [`queue`] are reached.

mod emit;
mod key;
mod lanes;
mod leftovers;
mod manage;
mod message;
mod observe;
mod queue;
pub(in crate::app) mod state;
mod subscriptions;
mod worker;

pub use manage::{WebhookChange, WebhookDraft};
pub use queue::{ListedWebhook, PendingEvent};
pub use state::WebhookNews;
