//! The timer of a connection's head deadline.
//!
//! hyper asks for a new sleep with each request. A sleep of Tokio is a place in the timer that all
//! connections share, behind a lock. So a connection has one such place, which moves only when its
//! time has come and the deadline is a later one.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use hyper::rt::{Sleep, Timer};

use crate::lock::Lock;

/// For one connection.
#[derive(Debug, Default)]
pub(super) struct HeadTimer(Arc<Place>);

type Place = Lock<Option<Pin<Box<tokio::time::Sleep>>>>;

/// A deadline that hyper waits for.
struct Deadline {
    place: Arc<Place>,
    at: tokio::time::Instant,
}

impl Timer for HeadTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        let now = Instant::now();
        self.sleep_until(now.checked_add(duration).unwrap_or(now))
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(Deadline { place: Arc::clone(&self.0), at: deadline.into() })
    }
}

impl Sleep for Deadline {}

impl Future for Deadline {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut place = self.place.lock();
        let sleep = place.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(self.at)));
        if self.at < sleep.deadline() {
            sleep.as_mut().reset(self.at);
        }
        loop {
            ready!(sleep.as_mut().poll(cx));
            if sleep.deadline() >= self.at {
                return Poll::Ready(());
            }
            sleep.as_mut().reset(self.at);
        }
    }
}
