//! Idempotency: valid keys, the retention of answers, and the decision between a first request and
//! a repetition. This module does no IO; the store keeps the answers, and the writer decides which
//! of two concurrent requests was first.

mod answer;

use std::time::Duration;

pub use answer::{
    AnswerStatus, Disclosure, OwnHead, PartLifetime, RememberedAnswer, Replay, Subject, SubjectId,
};

use crate::bounds::IDEMPOTENCY_KEY_BYTES_MAX;
use crate::domain::time::Timestamp;

/// The time for which an answer is remembered, as published.
pub const RETENTION: Duration = Duration::from_hours(24);
const HALF_DAY_S: i64 = 12 * 3_600;

/// The handling of a request with an idempotency key.
#[derive(Debug, PartialEq, Eq)]
pub enum Decision {
    /// The request is the first with its key, or the answer to the first is no longer remembered.
    Proceed,
    Replay,
}

/// `seen_at` is the time of the answer to the first request with this key.
pub fn decide(seen_at: Option<Timestamp>, now: Timestamp) -> Decision {
    match seen_at {
        Some(at) if now < at.plus(RETENTION) => Decision::Replay,
        Some(_) | None => Decision::Proceed,
    }
}

/// A key is an opaque text of 1 to 255 visible ASCII characters.
pub fn is_key(text: &str) -> bool {
    (1..=IDEMPOTENCY_KEY_BYTES_MAX).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Answers are found by half-day, so that expired ones are removed as one range.
pub fn half_day(at: Timestamp) -> u64 {
    u64::try_from(at.seconds().div_euclid(HALF_DAY_S)).unwrap_or(0)
}

/// The first moment of a half-day; `None` for a number beyond all times.
pub fn half_day_start(half_day: u64) -> Option<Timestamp> {
    let seconds = i64::try_from(half_day).ok()?.checked_mul(HALF_DAY_S)?;
    seconds.checked_mul(1_000_000).map(Timestamp::from_micros)
}

/// The half-days that can hold a remembered answer, newest first. The first of them is in the
/// future: it holds answers that were stored before the clock was set back by up to twelve hours.
/// If the clock was set back by more, the answers from that time are not found.
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
    fn half_days_are_counted_from_1970() {
        let at = |seconds| half_day(Timestamp::from_seconds(seconds));
        assert_eq!([0, 43_199, 43_200, 129_600].map(at), [0, 0, 1, 3]);
        assert_eq!(half_day_start(3), Some(Timestamp::from_seconds(129_600)));
        assert_eq!(live_half_days(Timestamp::from_seconds(129_600)), [4, 3, 2, 1]);
        assert_eq!(half_day_start(u64::MAX), None);
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
        fn a_half_day_starts_with_its_first_moment(at in 0_i64..4_000_000_000_000_000) {
            let half_day = half_day(Timestamp::from_micros(at));
            let start = half_day_start(half_day).unwrap();
            prop_assert!(start.micros() <= at && super::half_day(start) == half_day);
            let before = Timestamp::from_micros(start.micros() - 1);
            prop_assert!(half_day == 0 || super::half_day(before) == half_day - 1);
        }

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
