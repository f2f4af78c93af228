//! The grace of a connection that was accepted just before a stop and has not asked for anything.
//!
//! Behind a socket that the service manager keeps open, whoever comes later is served by the next
//! process. Who came earlier has begun a request, which is finished. This closes the gap between
//! them, so that a restart cuts nobody off.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Context;
use std::time::Duration;

use tokio::time::{Sleep, sleep};

/// One connection until its first request.
pub(super) struct FirstRequestGrace {
    asked: FirstRequestFlag,
    grace_max: Duration,
    /// Runs from the stop on.
    grace: Option<Pin<Box<Sleep>>>,
}

/// Whether the first request has begun.
#[derive(Debug, Clone, Default)]
pub(super) struct FirstRequestFlag(Arc<AtomicBool>);

impl FirstRequestFlag {
    pub(super) fn note(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_noted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl FirstRequestGrace {
    pub(super) fn new(grace_max: Duration) -> Self {
        Self { asked: FirstRequestFlag::default(), grace_max, grace: None }
    }

    pub(super) fn asked(&self) -> FirstRequestFlag {
        self.asked.clone()
    }

    /// Whether a stop shall still wait for its first request. To be called only after the stop.
    pub(super) fn poll_is_waited_for(&mut self, cx: &mut Context<'_>) -> bool {
        if self.asked.is_noted() {
            return false;
        }
        let grace_max = self.grace_max;
        let grace = self.grace.get_or_insert_with(|| Box::pin(sleep(grace_max)));
        grace.as_mut().poll(cx).is_pending()
    }

    pub(super) fn has_asked(&self) -> bool {
        self.asked.is_noted()
    }
}

impl fmt::Debug for FirstRequestGrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FirstRequestGrace").field("asked", &self.asked).finish_non_exhaustive()
    }
}
