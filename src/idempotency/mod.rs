//! Idempotency: valid keys, the retention of answers, and the decision between a first request and
//! a repetition. This module does no IO; the store keeps the answers, and the writer decides which
//! of two concurrent requests was first.

mod answer;

use std::time::Duration;

pub use answer::{
    AnswerStatus, Disclosure, OwnHead, PartLifetime, RememberedAnswer, Replay, Source, Sources,
    Subject, SubjectId,
};

use crate::bounds::IDEMPOTENCY_KEY_BYTES_MAX;
use crate::domain::time::Timestamp;

/// The time for which an answer is remembered, as published.
pub const RETENTION: Duration = Duration::from_hours(24);

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

/// Older answers are no longer remembered.
pub fn remembered_since(now: Timestamp) -> Timestamp {
    now.minus(RETENTION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_replayed_for_24_hours_and_not_a_moment_longer() {
        let first = Timestamp::from_seconds(1_000_000);
        let later = |micros: i64| Timestamp::from_micros(first.micros() + micros);
        assert_eq!(decide(None, first), Decision::Proceed);
        assert_eq!(decide(Some(first), first), Decision::Replay);
        assert_eq!(decide(Some(first), later(86_400_000_000 - 1)), Decision::Replay);
        assert_eq!(decide(Some(first), later(86_400_000_000)), Decision::Proceed);
        assert_eq!(remembered_since(later(86_400_000_000)), first);
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
}
