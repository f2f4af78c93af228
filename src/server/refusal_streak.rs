//! Refused requests of one connection. A peer that is refused again and again, and shows no key, is
//! asked to leave: it pays for another handshake, and its connection's memory is free.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use hyper::StatusCode;

/// Counts the refusals of one connection.
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

    /// To be asked before each request is answered. A connection whose last requests were all refused
    /// goes on if this one shows a key (`knows`); otherwise this is its last one.
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

    /// Counts an answer: 4xx is a refusal, a failure of ours is not the peer's.
    pub(super) fn answered(&self, status: StatusCode) {
        if status.is_client_error() {
            self.refused();
        } else if !status.is_server_error() {
            self.refused_in_a_row.store(0, Ordering::Relaxed);
        }
    }

    /// Counts a request that was refused without an answer.
    pub(super) fn refused(&self) {
        // Far from wrapping: a connection is spent long before.
        self.refused_in_a_row.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether nothing more is taken from this connection.
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
