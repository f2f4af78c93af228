//! Observation of a standby: the operator's listeners with its metrics, its checks and its status.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use crate::cli::serve::watch::{self, Process};
use crate::cli::support::failure::Failure;
use crate::clock::Clock;
use crate::config::Config;
use crate::crypto::Random;
use crate::domain::time::Timestamp;
use crate::http::StandaloneProbes;
use crate::log::Log;
use crate::metrics::{Checks, Observe, Page, Registry, StatusValue};
use crate::server::IncomingRequest;
use crate::server::tasks::Tasks;

/// The place of a standby in the history of the vault that it follows. Times are in microseconds
/// since 1970.
pub(in crate::cli) struct StandbyWatch {
    clock: Clock,
    batch: AtomicU64,
    /// The time of that batch.
    up_to: AtomicI64,
    /// The last time at which everything in the archive was applied.
    caught_up_at: AtomicI64,
    is_waiting: AtomicBool,
}

impl StandbyWatch {
    pub(in crate::cli) fn new(clock: Clock) -> Arc<Self> {
        let started_at = clock.now().micros();
        Arc::new(Self {
            clock,
            batch: AtomicU64::new(0),
            up_to: AtomicI64::new(0),
            caught_up_at: AtomicI64::new(started_at),
            is_waiting: AtomicBool::new(false),
        })
    }

    pub(in crate::cli) fn set_place(&self, batch: u64, up_to: Timestamp) {
        self.batch.store(batch, Ordering::Relaxed);
        self.up_to.store(up_to.micros(), Ordering::Relaxed);
    }

    /// Notes the outcome of a look into the archive that began at this time.
    pub(in crate::cli) fn set_looked(&self, begun: Timestamp, is_waiting: bool) {
        self.is_waiting.store(is_waiting, Ordering::Relaxed);
        if !is_waiting {
            self.caught_up_at.store(begun.micros(), Ordering::Relaxed);
        }
    }

    /// Serves the operator's listeners. Must be called inside a Tokio runtime.
    pub(in crate::cli) fn serve(
        watched: &Arc<Self>,
        config: &Config,
        tasks: &Tasks,
        log: &Log,
    ) -> Result<(), Failure> {
        let listeners = watch::bind(&config.data_directory, config.operator_listen, log)?;
        let process = Process::new(watched.clock.clone(), &[]);
        let registry = Registry::new(vec![
            Arc::new(process),
            Arc::<Self>::clone(watched),
            Arc::new(log.clone()),
        ]);
        let random = Random::new();
        let traces = Box::new(move || random.bytes());
        let probes = Arc::new(StandaloneProbes::new(registry, traces));
        watch::serve_with(
            listeners,
            tasks,
            log,
            &move |request: IncomingRequest, _: SocketAddr| {
                let probes = Arc::clone(&probes);
                async move { probes.answer(request).await }
            },
        );
        Ok(())
    }
}

impl Observe for StandbyWatch {
    fn measure(&self, page: &mut Page) {
        let time = |at: &AtomicI64| Timestamp::from_micros(at.load(Ordering::Relaxed));
        page.gauge(
            "strongroom_standby_batch",
            "The number of the last batch of changes that the standby has.",
            self.batch.load(Ordering::Relaxed),
        )
        .status("standby", "batch");
        page.gauge(
            "strongroom_standby_up_to_timestamp_seconds",
            "The time of that batch, in seconds since 1970.",
            time(&self.up_to),
        )
        .status("standby", "up_to");
        page.gauge(
            "strongroom_standby_lag_seconds",
            "Seconds since the standby had everything that was in the archive.",
            self.clock.now().since(time(&self.caught_up_at)),
        )
        .status("standby", "lag_s");
        let is_waiting = self.is_waiting.load(Ordering::Relaxed);
        page.gauge(
            "strongroom_standby_waiting",
            "1 if a file of the archive cannot be used, else 0.",
            u64::from(is_waiting),
        );
        page.line("standby", "waiting", StatusValue::Flag(is_waiting));
    }

    fn check(&self, checks: &mut Checks) {
        let wrong = "The standby cannot use a file of the archive; its log names the file.";
        checks.set("standby", self.is_waiting.load(Ordering::Relaxed).then_some(wrong));
    }
}
