//! The log: one JSON line for each event.
//!
//! Invariant: no text from outside is logged. A field is a number, an id, a time, a constant of
//! this program, a path of the settings, or a trace id that passed [`Trace::from_client`].
//!
//! Writing never waits: lines go through a bounded queue to one thread. When the reader of our
//! output is too slow, lines are dropped and counted, and the count is logged when it reads again.

mod line;
mod writer;

use std::net::{IpAddr, SocketAddr};
use std::panic::Location;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use uuid::Uuid;

use crate::bounds;
use crate::domain::time::Timestamp;
use crate::metrics::{Counter, Observe, Page};

pub use self::line::{AnswerTrace, Trace};

/// The clock for the timestamps of lines.
pub type Now = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Switches the line of each request on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestLines {
    Off,
    On,
}

/// The handle to the log. Cloning it is cheap; every clone writes to the same thread.
#[derive(Clone)]
pub struct Log {
    entries: SyncSender<QueueEntry>,
    dropped: Arc<AtomicU64>,
    /// All dropped lines, including those that were reported.
    dropped_ever: Arc<Counter>,
    now: Now,
    request_lines: RequestLines,
}

impl Log {
    /// Starts the writing thread. It ends when the last clone of the handle is dropped.
    pub fn start(
        output: impl std::io::Write + Send + 'static,
        request_lines: RequestLines,
        now: Now,
    ) -> std::io::Result<Self> {
        let (entries, queue) = sync_channel(bounds::LOG_LINES_MAX);
        let dropped = Arc::new(AtomicU64::new(0));
        writer::start(output, queue, Arc::clone(&dropped), Arc::clone(&now))?;
        Ok(Self { entries, dropped, dropped_ever: Arc::default(), now, request_lines })
    }

    pub fn request(&self, line: RequestLine) {
        match self.request_lines {
            RequestLines::Off => {}
            RequestLines::On => self.push(QueueEntry::Request((self.now)(), line)),
        }
    }

    pub fn event(&self, event: Event) {
        self.push(QueueEntry::Event((self.now)(), Box::new(event)));
    }

    pub fn now(&self) -> Timestamp {
        (self.now)()
    }

    /// Waits until all lines so far are written, but no longer than `within`. It blocks its thread;
    /// call it at the end of the program.
    pub fn flush(&self, within: Duration) -> FlushOutcome {
        let (written, wait) = sync_channel(1);
        let entries = self.entries.clone();
        // The queue may be full and its reader stuck, and a channel has no send with a deadline: a
        // separate thread waits instead.
        let spawned = std::thread::Builder::new()
            .name(String::from("log-flush"))
            .spawn(move || entries.send(QueueEntry::Flush(written)).is_ok());
        match spawned.map(|_| wait.recv_timeout(within)) {
            Ok(Ok(())) => FlushOutcome::Whole,
            Ok(Err(_)) | Err(_) => FlushOutcome::Partly,
        }
    }

    fn push(&self, entry: QueueEntry) {
        match self.entries.try_send(entry) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                self.dropped.fetch_add(1, Ordering::Relaxed);
                self.dropped_ever.add(1);
            }
        }
    }
}

impl Observe for Log {
    fn measure(&self, page: &mut Page) {
        page.counter(
            "strongroom_log_lines_dropped_total",
            "Log lines that were dropped because their reader was too slow.",
            self.dropped_ever.get(),
        )
        .status("log", "dropped_lines");
    }
}

opaque_debug!(Log);

/// Logs every panic of the process as one line with its location. Its message is never logged,
/// because it may hold a secret.
pub fn install_panic_hook(log: Log) {
    std::panic::set_hook(Box::new(move |panic| {
        let event = Event::error("panic");
        log.event(match panic.location() {
            Some(place) => event.with("place", Value::Place(SourceLocation::from(place))),
            None => event,
        });
    }));
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlushOutcome {
    Partly,
    Whole,
}

#[derive(Debug, Clone)]
pub struct RequestLine {
    pub trace: Trace,
    /// The name of the route, not the path: paths hold ids that the caller chose.
    pub route: &'static str,
    /// The client's address, behind the proxies that the operator trusts.
    pub address: Option<IpAddr>,
    pub tenant: Option<Uuid>,
    pub application: Option<Uuid>,
    /// The id of the API key, never its text.
    pub key: Option<Uuid>,
    pub status: u16,
    pub duration: Duration,
}

#[derive(Debug)]
pub struct Event {
    level: Level,
    name: &'static str,
    fields: Vec<(&'static str, Value)>,
}

impl Event {
    pub const fn error(name: &'static str) -> Self {
        Self { level: Level::Error, name, fields: Vec::new() }
    }

    pub const fn info(name: &'static str) -> Self {
        Self { level: Level::Info, name, fields: Vec::new() }
    }

    pub const fn warn(name: &'static str) -> Self {
        Self { level: Level::Warn, name, fields: Vec::new() }
    }

    #[must_use]
    pub fn with(mut self, field: &'static str, value: Value) -> Self {
        self.fields.push((field, value));
        self
    }
}

/// The kinds of values that a field can hold.
#[derive(Debug)]
pub enum Value {
    /// An address that we listen on or that connected to us.
    Address(SocketAddr),
    Count(u64),
    Duration(Duration),
    Id(Uuid),
    /// A constant of this program.
    Name(&'static str),
    /// A file or a directory that the settings name.
    Path(PathBuf),
    Place(SourceLocation),
    Signed(i64),
    Time(Timestamp),
}

#[derive(Debug)]
pub struct SourceLocation {
    file: Box<str>,
    line: u32,
}

impl From<&Location<'_>> for SourceLocation {
    fn from(location: &Location<'_>) -> Self {
        Self { file: Box::from(location.file()), line: location.line() }
    }
}

#[derive(Debug, Clone, Copy)]
enum Level {
    Error,
    Info,
    Warn,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a box would cost each request an allocation")]
enum QueueEntry {
    Event(Timestamp, Box<Event>),
    Flush(SyncSender<()>),
    Request(Timestamp, RequestLine),
}

#[cfg(test)]
mod tests;
