//! The grace of a connection that was accepted just before a stop and has sent no request yet.
//!
//! The service manager keeps the listening socket open, so the next process serves later
//! connections; requests that have begun are finished by this one. A connection between the two
//! gets this time for its first request, so that a restart refuses no client.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Context;
use std::time::Duration;

use tokio::time::{Sleep, sleep};

/// One connection until its first request.
pub(super) struct FirstRequestGrace {
    begun: FirstRequestFlag,
    grace_max: Duration,
    /// Runs from the stop.
    grace: Option<Pin<Box<Sleep>>>,
}

/// Set when the first request has begun.
#[derive(Debug, Clone, Default)]
pub(super) struct FirstRequestFlag(Arc<AtomicBool>);

impl FirstRequestFlag {
    pub(super) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl FirstRequestGrace {
    pub(super) fn new(grace_max: Duration) -> Self {
        Self { begun: FirstRequestFlag::default(), grace_max, grace: None }
    }

    pub(super) fn flag(&self) -> FirstRequestFlag {
        self.begun.clone()
    }

    /// Returns whether the drain still waits for the first request. Call it only after the stop.
    pub(super) fn poll_is_waited_for(&mut self, cx: &mut Context<'_>) -> bool {
        if self.begun.is_set() {
            return false;
        }
        let grace_max = self.grace_max;
        let grace = self.grace.get_or_insert_with(|| Box::pin(sleep(grace_max)));
        grace.as_mut().poll(cx).is_pending()
    }

    pub(super) fn has_begun(&self) -> bool {
        self.begun.is_set()
    }
}

impl fmt::Debug for FirstRequestGrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FirstRequestGrace").field("begun", &self.begun).finish_non_exhaustive()
    }
}
