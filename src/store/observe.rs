//! The store as metrics, checks and status.

use crate::metrics::{Checks, Observe, Page, StatusValue};
use crate::store::handle::Store;

const WITHOUT_SYNC: &str =
    "The database has fsync = off: a loss of power may lose answered writes.";

impl Observe for Store {
    fn measure(&self, page: &mut Page) {
        let metrics = &self.0.metrics;
        page.gauge(
            "strongroom_commit_queue_changes",
            "Changes that wait for the writer.",
            metrics.queued.get(),
        )
        .status("store", "queued_changes");
        page.counter(
            "strongroom_commit_queue_refused_total",
            "Changes that were refused with 503 because the queue was full.",
            metrics.refused.get(),
        )
        .status("store", "refused_changes");
        let (batches, commits) = (metrics.batches.read(), metrics.commits.read());
        page.histogram("strongroom_commit_batch_changes", "Changes in one commit.", &batches);
        page.histogram(
            "strongroom_commit_duration_seconds",
            "Time from the beginning of a commit until it was durable.",
            &commits,
        );
        page.line("store", "changes", StatusValue::Count(batches.sum()));
        self.measure_engine(page);
        page.lines_of("store", ["commits", "commit_p50", "commit_p99"], &commits);
        let last = metrics.since(&metrics.ended).map(|since| StatusValue::Count(since.as_secs()));
        page.line("store", "last_commit_ago_s", last);
    }

    fn check(&self, checks: &mut Checks) {
        let wrong = if self.0.alarm.has_sounded() {
            Some("The data file has failed; the process is ending.")
        } else if self.0.metrics.is_stuck() {
            Some("A commit has been under way for too long; the disk may hang.")
        } else {
            None
        };
        checks.set("store", wrong);
        if self.0.process.is_some() {
            let lacks_sync = self.health().lacks_sync;
            checks.warn("durability", lacks_sync.then_some(WITHOUT_SYNC));
        }
    }
}

impl Store {
    fn measure_engine(&self, page: &mut Page) {
        let health = self.health();
        page.gauge("strongroom_log_bytes", "Length of the log's files.", health.log_bytes)
            .status("store", "log_bytes");
        page.gauge(
            "strongroom_unmerged_bytes",
            "Memory of rows that are in the log and not yet in the data file.",
            health.layer_bytes,
        )
        .status("store", "unmerged_bytes");
        page.gauge(
            "strongroom_merge_running",
            "1 while rows are moved from the log into the data file.",
            u64::from(health.is_merging),
        );
        page.counter(
            "strongroom_merges_total",
            "Merges of the log into the data file.",
            health.merges,
        )
        .status("store", "merges");
        page.counter(
            "strongroom_merge_waits_total",
            "Commits that waited for a merge because the memory for new rows was full.",
            health.waits,
        )
        .status("store", "merge_waits");
        page.gauge(
            "strongroom_database_connections_used",
            "Connections to the database that snapshots use.",
            health.connections_used,
        );
        page.counter(
            "strongroom_database_connects_failed_total",
            "Attempts to connect to the database that failed.",
            health.connects_failed,
        );
        page.counter(
            "strongroom_database_repeats_total",
            "Attempts to write a batch into the database that were repeated.",
            health.repeats,
        );
        // A vault on a data file has no such section.
        if self.0.engine.is_shared() {
            let mut line = |name, count| page.line("database", name, StatusValue::Count(count));
            line("connections_used", health.connections_used);
            line("connects_failed", health.connects_failed);
            line("repeated_writes", health.repeats);
        }
        page.line("store", "last_merge_us", StatusValue::Count(health.last_merge_micros));
        page.line("store", "recovered_batches", StatusValue::Count(health.recovered));
    }
}
