//! Idempotency: what a key is, how long an answer is remembered, and what a repetition gets. Pure;
//! the store keeps the answers and the writer decides who was first.

mod answer;

use std::time::Duration;

pub use answer::{
    AnswerPart, AnswerStatus, Disclosure, PartLifetime, RememberedAnswer, Replay, Subject,
    SubjectId,
};

use crate::bounds::IDEMPOTENCY_KEY_BYTES_MAX;
use crate::domain::time::Timestamp;

/// How long an answer is remembered, as published.
pub const RETENTION: Duration = Duration::from_hours(24);
const HALF_DAY_S: i64 = 12 * 3_600;

/// What a request with a key is to do.
#[derive(Debug, PartialEq, Eq)]
pub enum Decision {
    /// It is the first, or the first is forgotten.
    Proceed,
    Replay,
}

/// `seen_at`: when the answer to the first request of this key was given.
pub fn decide(seen_at: Option<Timestamp>, now: Timestamp) -> Decision {
    match seen_at {
        Some(at) if now < at.plus(RETENTION) => Decision::Replay,
        Some(_) | None => Decision::Proceed,
    }
}

/// Any opaque text of 1 to 255 visible characters.
pub fn is_key(text: &str) -> bool {
    (1..=IDEMPOTENCY_KEY_BYTES_MAX).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Answers are kept by half-days, so that those of one can be removed as one range.
pub fn half_day(at: Timestamp) -> u64 {
    u64::try_from(at.seconds().div_euclid(HALF_DAY_S)).unwrap_or(0)
}

/// The half-days in which an answer that is still remembered can stand, newest first. The first of
/// them has not begun: an answer stands there when the clock was ahead and was set back since, by
/// twelve hours at most. A clock that was ahead by more forgets the keys of that time.
pub fn live_half_days(now: Timestamp) -> [u64; 4] {
    let current = half_day(now);
    let [before, earlier] = [1, 2].map(|ago| current.saturating_sub(ago));
    [current.saturating_add(1), current, before, earlier]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_answer_is_replayed_for_24_hours_and_not_a_moment_longer() {
        let first = Timestamp::from_seconds(1_000_000);
        let later = |micros: i64| Timestamp::from_micros(first.micros() + micros);
        assert_eq!(decide(None, first), Decision::Proceed);
        assert_eq!(decide(Some(first), first), Decision::Replay);
        assert_eq!(decide(Some(first), later(86_400_000_000 - 1)), Decision::Replay);
        assert_eq!(decide(Some(first), later(86_400_000_000)), Decision::Proceed);
    }

    #[test]
    fn keys_have_1_to_255_visible_characters() {
        for key in ["a", "*8d0c", &"k".repeat(255), "~!@#$%^&*()"] {
            assert!(is_key(key), "{key}");
        }
        for key in ["", " ", "a b", "a\tb", "\u{e9}", &"k".repeat(256)] {
            assert!(!is_key(key), "{key}");
        }
    }

    proptest! {
        #[test]
        fn an_answer_that_is_remembered_stands_in_a_live_half_day(
            first in 200_000_i64..4_000_000_000, age_s in 0_i64..86_400,
        ) {
            let now = Timestamp::from_seconds(first + age_s);
            let kept = half_day(Timestamp::from_seconds(first));
            prop_assert!(live_half_days(now).contains(&kept));
        }

        #[test]
        fn an_answer_of_a_clock_that_was_up_to_half_a_day_ahead_is_found(
            now in 200_000_i64..4_000_000_000, ahead_s in 0_i64..=HALF_DAY_S,
        ) {
            let kept = half_day(Timestamp::from_seconds(now + ahead_s));
            prop_assert!(live_half_days(Timestamp::from_seconds(now)).contains(&kept));
        }
    }
}
