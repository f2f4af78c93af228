//! Histograms with fixed buckets, each of them a counter.

use std::time::Duration;

use super::count::Counter;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Microseconds, shown as seconds.
    Micros,
    Plain,
}

/// Counts values by the first bucket bound that they do not exceed.
#[derive(Debug)]
pub struct Histogram {
    unit: Unit,
    bounds: &'static [u64],
    /// One more than there are bounds: the last bucket is for values above all bounds.
    counts: Box<[Counter]>,
    sum: Counter,
}

/// The contents of a histogram at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distribution {
    pub(super) unit: Unit,
    pub(super) bounds: &'static [u64],
    pub(super) counts: Vec<u64>,
    pub(super) sum: u64,
}

impl Histogram {
    /// Bounds in ascending order.
    pub fn new(unit: Unit, bounds: &'static [u64]) -> Self {
        let counts = (0..=bounds.len()).map(|_| Counter::default()).collect();
        Self { unit, bounds, counts, sum: Counter::default() }
    }

    pub fn observe(&self, value: u64) {
        let at = self.bounds.partition_point(|bound| *bound < value);
        if let Some(count) = self.counts.get(at) {
            count.add(1);
            self.sum.add(value);
        }
    }

    pub fn observe_duration(&self, duration: Duration) {
        self.observe(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX));
    }

    pub fn read(&self) -> Distribution {
        Distribution {
            unit: self.unit,
            bounds: self.bounds,
            counts: self.counts.iter().map(Counter::get).collect(),
            sum: self.sum.get(),
        }
    }
}

impl Distribution {
    pub fn count(&self) -> u64 {
        self.counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    pub const fn sum(&self) -> u64 {
        self.sum
    }

    /// Adds up two distributions with the same bounds.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count = count.saturating_add(*more);
        }
        self.sum = self.sum.saturating_add(other.sum);
        self
    }

    /// The smallest bound that at least this share of the values does not exceed, with the number
    /// of values within it. If no bound is large enough, the largest one, with the values above it.
    /// A bucket only says this much: a value inside it would be a guess. `None` without values.
    pub fn share(&self, permille: u64) -> Option<LatencyShare> {
        let of = self.count();
        let wanted = of.saturating_mul(permille).div_ceil(1_000).max(1);
        let mut below: u64 = 0;
        for (bound, in_bucket) in self.bounds.iter().zip(&self.counts) {
            below = below.saturating_add(*in_bucket);
            if below >= wanted {
                return Some(LatencyShare { bound: *bound, count: below, of, is_over: false });
            }
        }
        let (bound, count) = (*self.bounds.last()?, of.saturating_sub(below));
        (of > 0).then_some(LatencyShare { bound, count, of, is_over: true })
    }
}

/// A bound, and how many values are within it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LatencyShare {
    pub bound: u64,
    pub count: u64,
    pub of: u64,
    /// `count` values are above the bound, which is the largest.
    pub is_over: bool,
}
