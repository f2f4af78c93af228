//! Latency histograms and medians. It never keeps a sample by itself, so a long window costs no more memory than a short one.

use std::time::Duration;

/// Each power of two is cut into this many buckets, so a percentile is off by less than one per cent.
const STEPS_BITS: u32 = 7;
const STEPS: u64 = 1 << STEPS_BITS;
/// Eighteen minutes in nanoseconds; all slower values count as this one.
const NANOS_MAX: u64 = (1 << 40) - 1;
const BUCKETS: usize = bucket_of(NANOS_MAX) + 1;

#[derive(Clone)]
pub(crate) struct Histogram {
    counts: Vec<u64>,
    total: u64,
}

impl Histogram {
    pub(crate) fn new() -> Self {
        Self { counts: vec![0; BUCKETS], total: 0 }
    }

    pub(crate) fn record(&mut self, latency: Duration) {
        let nanos = u64::try_from(latency.as_nanos()).unwrap_or(NANOS_MAX).min(NANOS_MAX);
        self.counts[bucket_of(nanos)] += 1;
        self.total += 1;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.total += other.total;
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The latency in microseconds that `share` of the recorded ones do not exceed; 0 when nothing was recorded.
    pub(crate) fn percentile_us(&self, share: f64) -> f64 {
        let rank = ((self.total as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return middle_of(bucket) / 1_000.0;
            }
        }
        0.0
    }
}

const fn bucket_of(nanos: u64) -> usize {
    if nanos < STEPS {
        return nanos as usize;
    }
    let shift = nanos.ilog2() - STEPS_BITS;
    // Buckets 0..STEPS hold one nanosecond each; every later power of two adds STEPS more.
    (shift as u64 * STEPS + (nanos >> shift)) as usize
}

fn middle_of(bucket: usize) -> f64 {
    let bucket = bucket as u64;
    if bucket < 2 * STEPS {
        return bucket as f64;
    }
    let shift = bucket / STEPS - 1;
    let low = (bucket - shift * STEPS) << shift;
    low as f64 + (1_u64 << shift) as f64 / 2.0
}

/// The middle value, or the mean of the middle two; `None` of nothing.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

/// A quotient that stays finite for a table: nothing divided by nothing is 0.
pub(crate) fn quotient(above: f64, below: f64) -> f64 {
    if below > 0.0 { above / below } else { 0.0 }
}
