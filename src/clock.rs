//! The one reader of time. A settable clock runs ahead of the real one by what tests add to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use crate::domain::time::Timestamp;

/// A handle; clones show the same time.
#[derive(Debug, Clone, Default)]
pub struct Clock {
    ahead_micros: Arc<AtomicI64>,
}

impl Clock {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn now(&self) -> Timestamp {
        #[expect(clippy::disallowed_methods, reason = "this is the one reader of time")]
        let real = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(self.ahead_micros.load(Ordering::Relaxed)).plus(real)
    }

    /// Moves this clock and all its clones ahead. Only the development server calls it.
    pub fn advance(&self, by: Duration) {
        let micros = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
        let add = |ahead: i64| Some(ahead.saturating_add(micros));
        // The closure always gives a value, so the update cannot fail.
        self.ahead_micros.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).ok();
    }

    pub fn ahead(&self) -> Duration {
        Duration::from_micros(u64::try_from(self.ahead_micros.load(Ordering::Relaxed)).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_advanced_clock_runs_ahead_for_all_its_clones() {
        let clock = Clock::new();
        let before = clock.clone().now();
        clock.advance(Duration::from_hours(1));
        assert!(clock.clone().now() >= before.plus(Duration::from_hours(1)));
        assert_eq!(clock.ahead(), Duration::from_hours(1));
    }
}
