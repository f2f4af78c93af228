//! The tail of creates during a merge of the log into the data file, against the tail outside of one.
//!
//! The vault exports whether a merge runs. A thread samples this while the load runs; each request then counts as inside if
//! any part of it lies between two samples of which one saw the merge.

use crate::Outcome;
use crate::drive::{Pace, Span, Timeline, drive};
use crate::metrics::{MERGE_RUNNING, MERGES, Metrics};
use crate::report::{HEADLINE, Results};
use crate::request::{Kind, Load};
use crate::stage::Stage;
use crate::stats::{Histogram, quotient};
use serde::Serialize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A page takes 0.2 ms of the vault's processor time, so this costs it a twenty-fifth of a core.
const SAMPLE_EVERY: Duration = Duration::from_millis(5);
const SLICE: Duration = Duration::from_secs(5);
/// Fewer requests give no p99 that means anything.
const REQUESTS_MIN: u64 = 1_000;
const MERGES_MIN: usize = 3;

#[derive(Serialize)]
pub(crate) struct MergeTail {
    merges: usize,
    inside_requests: u64,
    inside_p99_us: f64,
    outside_requests: u64,
    outside_p99_us: f64,
    pub(crate) ratio: f64,
}

/// One look at the metrics: the state was seen at some time between `start` and `end`.
#[derive(Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) span: Span,
    pub(crate) is_running: bool,
    pub(crate) merges: f64,
}

/// Creates until enough requests were seen inside and outside of merges, or for as long as the plan allows.
pub(crate) fn measure(stage: &Stage<'_>, results: &mut Results) -> Outcome<()> {
    let data = &stage.place.data;
    if sample(&mut Metrics::connect(data)?)?.is_none() {
        println!("merge: not measured, the vault has no metric {MERGE_RUNNING}");
        return Ok(());
    }
    let work = stage.work(Kind::Card, Load::Create);
    let pace = Pace { window: SLICE, timeline: Timeline::Kept, ..stage.plan.pace };
    let (mut inside, mut outside, mut merges) = (Histogram::new(), Histogram::new(), 0);
    let until = Instant::now() + stage.plan.merge_max;
    let is_enough = |inside: &Histogram, outside: &Histogram, merges: usize| {
        inside.total().min(outside.total()) >= REQUESTS_MIN && merges >= MERGES_MIN
    };
    while Instant::now() < until && !is_enough(&inside, &outside, merges) {
        let ended = AtomicBool::new(false);
        let (slice, samples) = thread::scope(|scope| {
            let watcher = scope.spawn(|| sample_until(data, &ended));
            let slice = drive(&stage.vault.target, &work, HEADLINE, pace);
            ended.store(true, Ordering::Relaxed);
            let samples = watcher.join().expect("the watcher does not panic")?;
            Outcome::Ok((slice?, samples))
        })?;
        results.count_errors("merge", &slice);
        let spans = merge_spans(&samples);
        merges += spans.len();
        split(&slice.timeline, &spans, &mut inside, &mut outside);
    }
    let tail = MergeTail {
        merges,
        inside_requests: inside.total(),
        inside_p99_us: inside.percentile_us(0.99),
        outside_requests: outside.total(),
        outside_p99_us: outside.percentile_us(0.99),
        ratio: quotient(inside.percentile_us(0.99), outside.percentile_us(0.99)),
    };
    println!(
        "merge: {merges} seen; p99 of {} creates inside {:.0} us, of {} outside {:.0} us",
        tail.inside_requests, tail.inside_p99_us, tail.outside_requests, tail.outside_p99_us
    );
    if is_enough(&inside, &outside, merges) {
        results.merge_tail = Some(tail);
    } else {
        println!("merge: not measured, too few merges or too few requests inside or outside");
    }
    Ok(())
}

fn sample_until(data: &Path, ended: &AtomicBool) -> Outcome<Vec<Sample>> {
    let mut metrics = Metrics::connect(data)?;
    let mut samples = Vec::new();
    while !ended.load(Ordering::Relaxed) {
        samples.extend(sample(&mut metrics)?);
        thread::sleep(SAMPLE_EVERY);
    }
    Ok(samples)
}

fn sample(metrics: &mut Metrics) -> Outcome<Option<Sample>> {
    let start = Instant::now();
    let page = metrics.page()?;
    let span = Span { start, end: Instant::now() };
    let values = page.value(MERGE_RUNNING).zip(page.value(MERGES));
    Ok(values.map(|(running, merges)| Sample { span, is_running: running > 0.0, merges }))
}

/// The times in which a merge ran, or may have: a merge that fits between two samples shows in the count alone.
pub(crate) fn merge_spans(samples: &[Sample]) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for pair in samples.windows(2) {
        let [before, after] = [pair[0], pair[1]];
        let is_counted = before.merges.total_cmp(&after.merges).is_ne();
        if !(before.is_running || after.is_running || is_counted) {
            continue;
        }
        match spans.last_mut() {
            Some(last) if last.end >= before.span.start => last.end = after.span.end,
            _ => spans.push(Span { start: before.span.start, end: after.span.end }),
        }
    }
    spans
}

pub(crate) fn split(
    requests: &[Span],
    merges: &[Span],
    inside: &mut Histogram,
    outside: &mut Histogram,
) {
    for request in requests {
        // Merges are in order: the first one that ends after the request began is the only one that can overlap first.
        let next = merges.partition_point(|merge| merge.end < request.start);
        let is_inside = merges.get(next).is_some_and(|merge| merge.start <= request.end);
        let side = if is_inside { &mut *inside } else { &mut *outside };
        side.record(request.end - request.start);
    }
}
