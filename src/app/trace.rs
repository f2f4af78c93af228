//! The id of the request that the current task serves. It goes into the events that webhooks tell of,
//! so that a receiver can find the request in its own log.
//!
//! Operations do not take the id as an argument: no decision depends on it, and most never use it.

use std::sync::Arc;

tokio::task_local! {
    static TRACE: Arc<str>;
}

/// Runs `work` as a part of the request with this id.
pub async fn traced<T>(id: &str, work: impl Future<Output = T>) -> T {
    TRACE.scope(Arc::from(id), work).await
}

/// `None` outside of a request.
pub(in crate::app) fn current() -> Option<Arc<str>> {
    TRACE.try_with(Arc::clone).ok()
}
