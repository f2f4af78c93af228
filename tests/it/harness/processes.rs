//! Several processes over one database for each vault of the suite, in a run over PostgreSQL with
//! `STRONGROOM_TEST_PROCESSES`.
//!
//! Each connection goes to the next process, and requests take the connections in turn. The first
//! process alone gets commands and signals except KILL, and tests read its log alone. The others
//! start, stop and are killed with it.

use std::env;
use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::harness::http2::skip_protocol;
use crate::harness::postgres::on_postgres;
use crate::harness::request::Request;
use crate::harness::vault::Vault;
use crate::harness::wait::wait_until;

/// The number of processes of each vault.
const PROCESSES: &str = "STRONGROOM_TEST_PROCESSES";
/// The time after which all processes follow a change of access or of webhooks.
const FOLLOWED: Duration = Duration::from_secs(1);
/// The time after which the entries of reads are written, on a busy machine.
const READS_WRITTEN: Duration = Duration::from_millis(500);

/// Ends the test with a line that says why, where each vault of the suite is several processes.
macro_rules! needs_one_process {
    ($why:literal) => {
        if $crate::harness::has_several_processes($why) {
            return;
        }
    };
}
pub(crate) use needs_one_process;

fn processes() -> usize {
    let Some(text) = env::var_os(PROCESSES).filter(|_| on_postgres()) else { return 1 };
    let count = text.to_str().and_then(|text| text.parse().ok()).filter(|it| (1..=8).contains(it));
    count.unwrap_or_else(|| panic!("{PROCESSES} is {}: it takes 1 to 8", text.display()))
}

pub(crate) fn has_several_processes(why: &str) -> bool {
    let has_several = processes() > 1;
    if has_several {
        skip_protocol();
        let test = std::thread::current().name().map(String::from).unwrap_or_default();
        // Past the capture of the test program, which shows only the output of failed tests.
        writeln!(std::io::stderr(), "skipped: {test} needs one process: {why}").ok();
    }
    has_several
}

/// The processes of a vault without the first.
#[derive(Default)]
pub(crate) struct Others {
    all: Vec<Vault>,
    connections: AtomicUsize,
}

impl Others {
    pub(crate) fn beside(first: &Vault) -> Self {
        let url = first.database().map(|it| it.url());
        let all = (1..processes()).filter_map(|_| Some(first.beside(url.as_ref()?))).collect();
        Self { all, connections: AtomicUsize::new(0) }
    }

    /// The address for the next connection.
    pub(crate) fn address(&self, first: SocketAddr) -> SocketAddr {
        if self.all.is_empty() {
            return first;
        }
        let next = self.connections.fetch_add(1, Ordering::Relaxed) % (self.all.len() + 1);
        next.checked_sub(1).map_or(first, |at| self.all[at].address)
    }

    /// Takes the oldest connection, once there is one for each process.
    pub(crate) fn take<T>(&self, idle: &mut Vec<T>) -> Option<T> {
        if self.all.is_empty() {
            return idle.pop();
        }
        (idle.len() > self.all.len()).then(|| idle.remove(0))
    }

    pub(crate) fn each(&mut self, work: impl FnMut(&mut Vault)) {
        self.all.iter_mut().for_each(work);
    }

    pub(crate) fn kill(&self) {
        for other in &self.all {
            other.signal("KILL");
        }
    }

    /// Moves the clocks of all by these seconds.
    pub(crate) fn advance(&self, seconds: u64) {
        for other in &self.all {
            other.advance(seconds);
        }
    }

    /// Waits after a change that the other processes follow only soon.
    pub(crate) fn follow(&self, request: &Request, status: u16) {
        let places = ["/applications", "/tenants", "/webhooks"];
        let concerns = places.iter().any(|place| request.path.starts_with(place));
        if concerns && request.method != "GET" && status < 300 {
            self.settle();
        }
    }

    /// The same after a command.
    pub(crate) fn follow_command(&self, arguments: &[&str]) {
        if ["application", "tenant", "webhook"].iter().any(|it| arguments.first() == Some(it)) {
            self.settle();
        }
    }

    /// Waits before a look at the log: a process knows only the reads that it answered itself.
    pub(crate) fn settle_reads(&self, asks: bool) {
        if asks {
            self.wait(READS_WRITTEN);
        }
    }

    fn settle(&self) {
        self.wait(FOLLOWED);
    }

    fn wait(&self, time: Duration) {
        if !self.all.is_empty() {
            let begun = Instant::now();
            wait_until("all processes follow", || begun.elapsed() > time);
        }
    }
}
