//! The only reader of the system time. On a development server the clock can be moved ahead; in
//! tests it can be stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use crate::domain::time::Timestamp;

/// A handle. All clones show the same time.
#[derive(Debug, Clone, Default)]
pub struct Clock {
    ahead_micros: Arc<AtomicI64>,
    /// The time that a stopped clock shows, instead of the time of day.
    stopped_at: Option<Timestamp>,
}

impl Clock {
    pub fn new() -> Self {
        Self::default()
    }

    /// A clock that stands still between two calls of [`Clock::advance`]. With it a test can send
    /// any number of requests within one second of a rate limit, however slow the machine is.
    pub fn stopped() -> Self {
        Self { stopped_at: Some(time_of_day()), ..Self::default() }
    }

    /// A clock that stands still at this time.
    #[cfg(test)]
    pub fn stopped_at(at: Timestamp) -> Self {
        Self { stopped_at: Some(at), ..Self::default() }
    }

    pub fn now(&self) -> Timestamp {
        let ahead = self.ahead_micros.load(Ordering::Relaxed);
        let shown = self.stopped_at.unwrap_or_else(time_of_day);
        Timestamp::from_micros(shown.micros().saturating_add(ahead))
    }

    /// The time of a clock that was moved or stopped, which other programs cannot know.
    pub fn moved(&self) -> Option<Timestamp> {
        let is_moved = self.stopped_at.is_some() || self.ahead_micros.load(Ordering::Relaxed) != 0;
        is_moved.then(|| self.now())
    }

    /// Moves this clock and all its clones ahead. Only the development server calls it.
    pub fn advance(&self, by: Duration) {
        let micros = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
        let add = |ahead: i64| Some(ahead.saturating_add(micros));
        // The closure always returns `Some`, so the update cannot fail.
        self.ahead_micros.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).ok();
    }

    /// Sets this clock and all its clones back, as an operator or the service of the time may do.
    #[cfg(test)]
    pub fn set_back(&self, by: Duration) {
        let micros = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
        self.ahead_micros.fetch_sub(micros, Ordering::Relaxed);
    }

    #[cfg(test)]
    pub fn ahead(&self) -> Duration {
        Duration::from_micros(u64::try_from(self.ahead_micros.load(Ordering::Relaxed)).unwrap_or(0))
    }
}

fn time_of_day() -> Timestamp {
    #[expect(clippy::disallowed_methods, reason = "this is the one reader of time")]
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    match since_1970 {
        Ok(since) => Timestamp::from_micros(0).plus(since),
        // A system clock before 1970 gives a negative time instead of zero.
        Err(before) => {
            let micros = i64::try_from(before.duration().as_micros()).unwrap_or(i64::MAX);
            Timestamp::from_micros(micros.saturating_neg())
        }
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
        assert!(clock.moved() >= Some(before.plus(Duration::from_hours(1))));
        assert_eq!(Clock::new().moved(), None);
    }

    #[test]
    fn a_stopped_clock_moves_only_when_it_is_advanced() {
        let clock = Clock::stopped();
        let before = clock.now();
        // The time of day moves on meanwhile.
        let real = Clock::new();
        let start = real.now();
        while real.now() == start {}
        assert_eq!(clock.now(), before);
        clock.advance(Duration::from_secs(1));
        assert_eq!(clock.clone().now(), before.plus(Duration::from_secs(1)));
    }
}
