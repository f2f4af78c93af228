//! The grace of a connection that was accepted just before a stop and has sent no request yet.
//!
//! The service manager keeps the listening socket open, so the next process serves later
//! connections; this process finishes requests that have begun. A connection between the two gets
//! this time for its first request, so that a restart refuses no client.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Context;
use std::time::Duration;

use tokio::time::{Sleep, sleep};

/// One connection until its first request.
#[derive(Debug)]
pub(super) struct FirstRequestGrace {
    /// Set when the first request has begun.
    pub(super) begun: Arc<AtomicBool>,
    grace_max: Duration,
    /// Runs from the stop.
    grace: Option<Pin<Box<Sleep>>>,
}

impl FirstRequestGrace {
    pub(super) fn new(grace_max: Duration) -> Self {
        Self { begun: Arc::default(), grace_max, grace: None }
    }

    /// Returns whether the drain still waits for the first request. Call it only after the stop.
    pub(super) fn poll_is_waited_for(&mut self, cx: &mut Context<'_>) -> bool {
        if self.has_begun() {
            return false;
        }
        let grace_max = self.grace_max;
        let grace = self.grace.get_or_insert_with(|| Box::pin(sleep(grace_max)));
        grace.as_mut().poll(cx).is_pending()
    }

    pub(super) fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Relaxed)
    }
}
