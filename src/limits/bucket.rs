//! The arithmetic of one counter: a token bucket that may be blocked. It stores nothing and has no
//! identity.
//!
//! A bucket of capacity N that refills N in a period is stored as the time at which it will be full
//! again. Each request advances that time by period / N; a request that would move it further ahead
//! than a whole period is over the rate. So no task has to refill buckets.
//!
//! A block starts with an empty bucket, which refills while the block lasts. So one time is enough
//! there too: the bucket is full a whole period after the block began, and the block ends a fixed
//! time before that. After a block that is shorter than the period the bucket is partly full.

use std::num::NonZeroU32;
use std::time::Duration;

use super::rows::{Row, RowAction};
use crate::bounds::RATE_CLOCK_SKEW_MAX;
use crate::domain::time::Timestamp;

const MICROS_PER_SECOND: u64 = 1_000_000;

/// A length of time in parts of 2^-32 microseconds, so that scaled rates stay exact.
type Span = u64;

const SPAN_BITS: u32 = 32;

/// The state of a counter: the time until which its bucket refills, and whether it is blocked. A
/// counter whose time has passed is idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BucketState {
    ends_at: Timestamp,
    /// A fraction of a microsecond, in units of 2^-32.
    fraction: u32,
    phase: BucketPhase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BucketPhase {
    Blocked,
    Open,
}

/// A row as it applies to one tenant's request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    /// Requests that a full bucket admits.
    pub(super) limit: u64,
    period: Span,
    interval: Span,
    block: Option<BlockTerms>,
}

/// The time for which a counter over the rate rejects all requests, and the time that it then still
/// needs to refill.
#[derive(Debug, Clone, Copy)]
struct BlockTerms {
    refusing: Span,
    refilling_after: Span,
}

/// The decision about one request, and the state of the counter after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BucketDecision {
    Admitted { after: BucketState, remaining: u64, full_at: Timestamp },
    Refused { after: BucketState, again_at: Timestamp },
}

impl Terms {
    /// The terms of a tenant whose limits are scaled by `factor`.
    pub(super) fn of(row: &Row, factor: NonZeroU32) -> Self {
        let limit = u64::from(row.requests).saturating_mul(u64::from(factor.get()));
        let period = span(Duration::from_secs(row.period_s.into()));
        Self {
            limit,
            period,
            // Without an allowance no request fits into the period.
            interval: period.checked_div(limit).unwrap_or(Span::MAX).max(1),
            block: match row.action {
                RowAction::Block { for_s } => {
                    let refusing = span(Duration::from_secs(for_s.into()));
                    Some(BlockTerms { refusing, refilling_after: period.saturating_sub(refusing) })
                }
                RowAction::Throttle => None,
            },
        }
    }
}

impl Terms {
    /// The terms of a request that counts as several. If it counts as more than the whole bucket,
    /// it needs a full bucket; otherwise it could never be served.
    pub(super) fn counting(self, requests: NonZeroU32) -> Self {
        let requests = u64::from(requests.get()).min(self.limit.max(1));
        Self { interval: self.interval.saturating_mul(requests), ..self }
    }
}

impl BlockTerms {
    /// The time from the beginning of the block until the bucket is full.
    const fn remembered(self) -> Span {
        self.refusing.saturating_add(self.refilling_after)
    }

    /// A request during the block; `left` is the rest of [`BlockTerms::remembered`].
    fn refused(self, left: Span, now: Timestamp) -> BucketDecision {
        BucketDecision::Refused {
            after: BucketState::ending(now, left, BucketPhase::Blocked),
            again_at: later(now, left.saturating_sub(self.refilling_after)),
        }
    }
}

impl BucketState {
    /// A counter without requests.
    pub(super) const fn fresh(now: Timestamp) -> Self {
        Self { ends_at: now, fraction: 0, phase: BucketPhase::Open }
    }

    /// Decides whether one more request fits.
    pub(super) fn take(self, terms: &Terms, now: Timestamp) -> BucketDecision {
        let owed = match (self.phase, terms.block) {
            (BucketPhase::Open, _) => self.left(terms.period, now),
            (BucketPhase::Blocked, Some(block)) => {
                let left = self.left(block.remembered(), now);
                if left > block.refilling_after {
                    return block.refused(left, now);
                }
                left
            }
            // Impossible, because a counter belongs to one row: an empty bucket refuses.
            (BucketPhase::Blocked, None) => terms.period,
        };
        let owed_after = owed.saturating_add(terms.interval);
        let Some(room) = terms.period.checked_sub(owed_after) else {
            return match terms.block {
                Some(block) => block.refused(block.remembered(), now),
                None => BucketDecision::Refused {
                    after: Self::ending(now, owed, BucketPhase::Open),
                    again_at: later(now, owed_after.saturating_sub(terms.period)),
                },
            };
        };
        BucketDecision::Admitted {
            after: Self::ending(now, owed_after, BucketPhase::Open),
            remaining: room.checked_div(terms.interval).unwrap_or(0),
            full_at: later(now, owed_after),
        }
    }

    /// Gives back all but one `factor`-th of a request charged under `terms`, or all of it. A block
    /// stays.
    #[must_use]
    pub(super) fn credited(
        self,
        terms: &Terms,
        factor: Option<NonZeroU32>,
        now: Timestamp,
    ) -> Self {
        match self.phase {
            BucketPhase::Blocked => self,
            BucketPhase::Open => {
                let kept = factor
                    .and_then(|factor| terms.interval.checked_div(u64::from(factor.get())))
                    .unwrap_or(0);
                let credit = terms.interval.saturating_sub(kept);
                let owed = self.left(terms.period, now).saturating_sub(credit);
                Self::ending(now, owed, BucketPhase::Open)
            }
        }
    }

    /// The requests that the counter holds now: all of them while it blocks.
    pub(super) fn used(self, terms: &Terms, now: Timestamp) -> u64 {
        let owed = match (self.phase, terms.block) {
            (BucketPhase::Open, _) => self.left(terms.period, now),
            (BucketPhase::Blocked, Some(block)) => {
                let left = self.left(block.remembered(), now);
                if left > block.refilling_after { terms.period } else { left }
            }
            (BucketPhase::Blocked, None) => terms.period,
        };
        owed.div_ceil(terms.interval).min(terms.limit)
    }

    /// Returns whether this counter can be evicted without an effect. `life_max` is the longest
    /// life of a counter: one that seems to live longer is from before the clock was set back.
    pub(super) fn is_idle(self, life_max: Duration, now: Timestamp) -> bool {
        match micros_until(self.ends_at, now) {
            0 => self.ends_at < now || self.fraction == 0,
            left => Duration::from_micros(left) > life_max.saturating_add(RATE_CLOCK_SKEW_MAX),
        }
    }

    pub(super) const fn is_blocked(self) -> bool {
        matches!(self.phase, BucketPhase::Blocked)
    }

    pub(super) const fn ends_at(self) -> Timestamp {
        self.ends_at
    }

    /// The time until the end, at most `longest`, even if the clock was set back.
    fn left(self, longest: Span, now: Timestamp) -> Span {
        if self.ends_at < now {
            return 0;
        }
        let micros = micros_until(self.ends_at, now);
        let skew = u64::try_from(RATE_CLOCK_SKEW_MAX.as_micros()).unwrap_or(u64::MAX);
        if micros.saturating_sub(skew) > longest >> SPAN_BITS {
            return longest;
        }
        micros.saturating_mul(1 << SPAN_BITS).saturating_add(self.fraction.into())
    }

    fn ending(now: Timestamp, span: Span, phase: BucketPhase) -> Self {
        Self {
            ends_at: now.plus(Duration::from_micros(span >> SPAN_BITS)),
            fraction: u32::try_from(span & u64::from(u32::MAX)).unwrap_or(0),
            phase,
        }
    }
}

fn span(duration: Duration) -> Span {
    duration.as_secs().saturating_mul(MICROS_PER_SECOND).saturating_mul(1 << SPAN_BITS)
}

/// The first whole microsecond at which `span` has passed.
fn later(now: Timestamp, span: Span) -> Timestamp {
    now.plus(Duration::from_micros(span.div_ceil(1 << SPAN_BITS)))
}

/// Zero when `end` has passed.
fn micros_until(end: Timestamp, now: Timestamp) -> u64 {
    u64::try_from(end.micros().saturating_sub(now.micros())).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::rows::ROWS;

    const START: Timestamp = Timestamp::from_seconds(1_800_000_000);

    #[test]
    fn a_blocked_counter_under_terms_without_a_block_refuses() {
        let row = ROWS.iter().find(|row| row.action == RowAction::Throttle).unwrap();
        let terms = Terms::of(row, NonZeroU32::MIN);
        let blocked = BucketState::ending(START, terms.period, BucketPhase::Blocked);
        assert!(matches!(blocked.take(&terms, START), BucketDecision::Refused { .. }));
    }

    #[test]
    fn a_counter_is_idle_once_its_last_part_of_a_microsecond_has_passed() {
        let idle = |state: BucketState, micros| {
            state.is_idle(Duration::from_mins(1), START.plus(Duration::from_micros(micros)))
        };
        let whole = BucketState::ending(START, 5 << SPAN_BITS, BucketPhase::Open);
        assert_eq!([0, 4, 5, 6].map(|at| idle(whole, at)), [false, false, true, true]);
        let more = BucketState::ending(START, (5 << SPAN_BITS) + 1, BucketPhase::Open);
        assert_eq!([0, 5, 6, 7].map(|at| idle(more, at)), [false, false, true, true]);
    }

    #[test]
    fn a_counter_from_before_the_clock_was_set_back_is_idle() {
        let life = Duration::from_mins(1);
        let longest = life + RATE_CLOCK_SKEW_MAX;
        let until = |ends: Duration| BucketState::fresh(START.plus(ends)).is_idle(life, START);
        assert!(!until(longest) && until(longest + Duration::from_micros(1)));
    }

    #[test]
    fn a_row_without_an_allowance_refuses() {
        let [row, ..] = ROWS;
        let terms = Terms::of(&Row { requests: 0, ..row }, NonZeroU32::MIN);
        let decision = BucketState::fresh(START).take(&terms, START);
        assert!(matches!(decision, BucketDecision::Refused { .. }));
    }
}
