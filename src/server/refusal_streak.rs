//! Counts refused requests of one connection. A peer whose requests are refused many times in a
//! row, and that shows no known key, loses its connection: a new one costs it a handshake.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use hyper::StatusCode;

/// The refusals of one connection since its last success.
#[derive(Debug)]
pub(super) struct RefusalStreak {
    refused_in_a_row: AtomicU32,
    refusals_max: u32,
    is_spent: AtomicBool,
}

impl RefusalStreak {
    pub(super) const fn new(refusals_max: u32) -> Self {
        Self { refused_in_a_row: AtomicU32::new(0), refusals_max, is_spent: AtomicBool::new(false) }
    }

    /// Call it before each request is answered. If the last requests were all refused, this one
    /// must show a known key (`knows`), or it is the connection's last one.
    pub(super) fn begin(&self, knows: impl FnOnce() -> bool) {
        if self.refused_in_a_row.load(Ordering::Relaxed) < self.refusals_max {
            return;
        }
        if knows() {
            self.refused_in_a_row.store(0, Ordering::Relaxed);
        } else {
            self.is_spent.store(true, Ordering::Relaxed);
        }
    }

    /// Counts an answer: 4xx is a refusal; 5xx, a failure of ours, changes nothing.
    pub(super) fn answered(&self, status: StatusCode) {
        if status.is_client_error() {
            self.refused();
        } else if !status.is_server_error() {
            self.refused_in_a_row.store(0, Ordering::Relaxed);
        }
    }

    /// Counts a request that was refused without an answer.
    pub(super) fn refused(&self) {
        // It cannot wrap: the connection is closed long before.
        self.refused_in_a_row.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns whether the connection takes no more requests.
    pub(super) fn is_spent(&self) -> bool {
        self.is_spent.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(times: u32) -> RefusalStreak {
        let streak = RefusalStreak::new(3);
        for _ in 0..times {
            streak.begin(|| panic!("it need not be asked yet"));
            streak.answered(StatusCode::UNAUTHORIZED);
        }
        streak
    }

    #[test]
    fn refusals_in_a_row_spend_a_connection_that_shows_no_key() {
        let streak = refused(3);
        assert!(!streak.is_spent());
        streak.begin(|| false);
        assert!(streak.is_spent());
        let streak = refused(3);
        streak.begin(|| true);
        assert!(!streak.is_spent(), "a key was shown");
        streak.begin(|| panic!("it counts from zero again"));
    }

    #[test]
    fn a_success_forgives_and_a_failure_of_ours_does_not_count() {
        let streak = refused(2);
        streak.answered(StatusCode::OK);
        streak.answered(StatusCode::NOT_FOUND);
        for _ in 0..9 {
            streak.answered(StatusCode::SERVICE_UNAVAILABLE);
        }
        streak.answered(StatusCode::NOT_FOUND);
        streak.begin(|| panic!("two are not three"));
    }
}
