//! The metrics page of a running vault, over the operator's socket in its data directory.

use crate::Outcome;
use crate::client::parse;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

pub(crate) const MERGE_RUNNING: &str = "strongroom_merge_running";
pub(crate) const MERGES: &str = "strongroom_merges_total";
pub(crate) const LOG_BYTES: &str = "strongroom_log_bytes";
pub(crate) const TOKENS: &str = "strongroom_tokens";
pub(crate) const ROTATION_LEFT: &str = "strongroom_key_rotation_records_left";
const SCRUB_PASSES: &str = "strongroom_scrub_passes_total";
pub(crate) const ARCHIVE_LAG: &str = "strongroom_archive_lag_seconds";

const ANSWER_MAX: Duration = Duration::from_secs(10);
const PAGE_BYTES_MAX: usize = 1 << 20;
/// A vault that starts no merge for this long has merged what it is going to merge.
const QUIET: Duration = Duration::from_secs(3);
const QUIET_WAIT_MAX: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(100);

/// One connection to the socket, for any number of pages.
pub(crate) struct Metrics {
    stream: UnixStream,
    buffer: Vec<u8>,
}

impl Metrics {
    pub(crate) fn connect(data: &Path) -> Outcome<Self> {
        let stream = UnixStream::connect(data.join("metrics.sock"))?;
        stream.set_read_timeout(Some(ANSWER_MAX))?;
        Ok(Self { stream, buffer: vec![0; PAGE_BYTES_MAX] })
    }

    pub(crate) fn page(&mut self) -> Outcome<MetricsPage> {
        self.stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n")?;
        let mut filled = 0;
        loop {
            let read = self.stream.read(&mut self.buffer[filled..])?;
            if read == 0 {
                return Err("the metrics page ended early, or is too long".into());
            }
            filled += read;
            if let Some(answer) = parse(&self.buffer[..filled])? {
                return Ok(MetricsPage(std::str::from_utf8(&self.buffer[answer.body])?.to_owned()));
            }
        }
    }
}

pub(crate) struct MetricsPage(pub(crate) String);

impl MetricsPage {
    /// The sample of a metric without labels; `None` when the page does not have it.
    pub(crate) fn value(&self, name: &str) -> Option<f64> {
        let of_line = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok();
        self.0.lines().find_map(of_line)
    }
}

/// Waits until a new vault has checked all its rows, after which it rests for hours.
pub(crate) fn wait_until_scrubbed(data: &Path) -> Outcome<()> {
    let mut metrics = Metrics::connect(data)?;
    let give_up = Instant::now() + QUIET_WAIT_MAX;
    while metrics.page()?.value(SCRUB_PASSES) == Some(0.0) {
        if Instant::now() > give_up {
            return Err("the vault has not checked its rows in time".into());
        }
        thread::sleep(POLL);
    }
    Ok(())
}

/// Waits until the vault merges no more, so that its files hold what they will hold. A vault without merges is given the
/// same time.
pub(crate) fn wait_until_merged(data: &Path) -> Outcome<()> {
    let mut metrics = Metrics::connect(data)?;
    let give_up = Instant::now() + QUIET_WAIT_MAX;
    let (mut since, mut before) = (Instant::now(), None);
    while since.elapsed() < QUIET && Instant::now() < give_up {
        let page = metrics.page()?;
        let now = Some((page.value(MERGES), page.value(LOG_BYTES)));
        if now != before || page.value(MERGE_RUNNING) == Some(1.0) {
            (since, before) = (Instant::now(), now);
        }
        thread::sleep(POLL);
    }
    Ok(())
}
