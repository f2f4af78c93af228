//! A progress bar on standard error, for work that takes more than a second.
//!
//! A separate thread draws it, so that the work only counts. Nothing is drawn if standard error is
//! not a terminal, with `--json`, and on a terminal without control codes (`TERM=dumb`).

use std::collections::VecDeque;
use std::io::{IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::domain::counted::counted;
use crate::metrics::Progress;

/// The time before the bar appears, so that short work shows no bar.
const HIDDEN: Duration = Duration::from_secs(1);
const PERIOD: Duration = Duration::from_millis(200);
/// The period over which the rate is measured.
const WINDOW: Duration = Duration::from_secs(10);
const WIDTH_DEFAULT: usize = 80;
/// The part of the line that is drawn as a bar.
const BAR_CELLS: usize = 24;

#[derive(Debug, Clone, Copy)]
pub struct Label {
    pub work: &'static str,
    pub unit: Unit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Bytes,
    /// Work without parts that can be counted.
    None,
    Records,
    Rows,
}

/// Dropping it removes the bar from the screen.
#[derive(Debug, Default)]
pub struct ProgressBar {
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

impl ProgressBar {
    pub fn of(label: Label, json: bool, progress: &Arc<Progress>) -> Self {
        let progress = Arc::clone(progress);
        Self::show(label, json, move || Some(progress.read()))
    }

    /// `read` returns the done part and the total, which is 0 if unknown. `None` draws nothing.
    pub fn show(
        label: Label,
        json: bool,
        mut read: impl FnMut() -> Option<(u64, u64)> + Send + 'static,
    ) -> Self {
        if json || !is_drawable() {
            return Self::default();
        }
        let (stop, stopped) = channel::<()>();
        let thread = std::thread::spawn(move || {
            let start = Instant::now();
            let mut meter = Meter::default();
            let mut is_drawn = false;
            while stopped.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                let Some((done, total)) = read() else { continue };
                let elapsed = start.elapsed();
                meter.note(elapsed, done);
                if elapsed >= HIDDEN {
                    draw(&line(label, done, total, &meter, elapsed, width()));
                    is_drawn = true;
                }
            }
            if is_drawn {
                draw("");
            }
        });
        Self { thread: Some((stop, thread)) }
    }
}

impl Drop for ProgressBar {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.thread.take() {
            drop(stop);
            thread.join().ok();
        }
    }
}

fn is_drawable() -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    std::io::stderr().is_terminal() && !is_dumb
}

/// The width of the terminal, else the variable `COLUMNS`.
fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stderr()).ok();
    let columns = size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0);
    let named = || std::env::var_os("COLUMNS")?.to_str()?.parse().ok();
    columns.or_else(named).unwrap_or(WIDTH_DEFAULT)
}

/// Replaces the line. Errors are ignored: a closed terminal must not end the work.
fn draw(line: &str) {
    let mut out = std::io::stderr().lock();
    write!(out, "\r\x1b[K{line}").and_then(|()| out.flush()).ok();
}

#[derive(Debug, Default)]
struct Meter(VecDeque<(Duration, u64)>);

impl Meter {
    fn note(&mut self, at: Duration, done: u64) {
        self.0.push_back((at, done));
        while self.0.front().is_some_and(|(first, _)| at.saturating_sub(*first) > WINDOW) {
            self.0.pop_front();
        }
    }

    fn rate(&self) -> u64 {
        let (Some((from, before)), Some((to, done))) = (self.0.front(), self.0.back()) else {
            return 0;
        };
        let millis = u64::try_from(to.saturating_sub(*from).as_millis()).unwrap_or(u64::MAX);
        done.saturating_sub(*before).saturating_mul(1_000).checked_div(millis).unwrap_or(0)
    }
}

/// The text of the bar, at most as wide as the terminal.
fn line(
    label: Label,
    done: u64,
    total: u64,
    meter: &Meter,
    elapsed: Duration,
    width: usize,
) -> String {
    let rate = meter.rate();
    let mut parts = vec![String::from(label.work)];
    if total > 0 {
        // The total may be an estimate, so only the end of the work shows a hundred percent.
        let done = done.min(total);
        let percent = done.saturating_mul(100).checked_div(total).unwrap_or(0).min(99);
        let cells = usize::try_from(percent).unwrap_or(0).saturating_mul(BAR_CELLS) / 100;
        let (full, empty) = ("#".repeat(cells), " ".repeat(BAR_CELLS.saturating_sub(cells)));
        parts.push(format!("[{full}{empty}] {percent:>2}%"));
    }
    if label.unit != Unit::None {
        parts.push(format!("{}  {}/s", label.unit.text(done), label.unit.text(rate)));
    }
    let left = total.saturating_sub(done).checked_div(rate).filter(|_| total > 0 && done <= total);
    parts.push(match left {
        Some(seconds) => format!("{} left", clock(seconds)),
        None => clock(elapsed.as_secs()),
    });
    // One column stays free: some terminals wrap after a full line.
    let text = parts.join("  ");
    text.chars().take(width.saturating_sub(1)).collect()
}

impl Unit {
    fn text(self, number: u64) -> String {
        match self {
            Self::Bytes => {
                let tenths = number.saturating_mul(10) >> 20;
                format!("{}.{} MiB", tenths.div_euclid(10), tenths.rem_euclid(10))
            }
            Self::None => String::new(),
            Self::Records => counted(number, "record", "records"),
            Self::Rows => counted(number, "row", "rows"),
        }
    }
}

fn clock(seconds: u64) -> String {
    let (hours, rest) = (seconds.div_euclid(3_600), seconds.rem_euclid(3_600));
    let (minutes, seconds) = (rest.div_euclid(60), rest.rem_euclid(60));
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: Label = Label { work: "backup", unit: Unit::Rows };

    fn meter(counts: &[(u64, u64)]) -> Meter {
        let mut meter = Meter::default();
        for (second, done) in counts {
            meter.note(Duration::from_secs(*second), *done);
        }
        meter
    }

    #[test]
    fn a_bar_shows_share_rate_and_time_left() {
        let meter = meter(&[(0, 0), (2, 5_000)]);
        let text = line(ROWS, 5_000, 10_000, &meter, Duration::from_secs(2), 120);
        assert_eq!(
            text,
            "backup  [############            ] 50%  5000 rows  2500 rows/s  0:02 left"
        );
        let text = line(ROWS, 5_000, 0, &meter, Duration::from_secs(3_661), 120);
        assert_eq!(text, "backup  5000 rows  2500 rows/s  1:01:01");
        let none = Label { work: "compact", unit: Unit::None };
        assert_eq!(line(none, 0, 0, &meter, Duration::from_secs(61), 120), "compact  1:01");
    }

    #[test]
    fn a_bar_is_never_wider_than_the_terminal_and_never_says_a_hundred_percent() {
        let meter = meter(&[(0, 0), (1, 90)]);
        for width in 0..100 {
            let text = line(ROWS, 90, 80, &meter, Duration::from_secs(1), width);
            assert!(text.len() <= width.saturating_sub(1), "{width}: {text}");
        }
        let text = line(ROWS, 90, 80, &meter, Duration::from_secs(1), 200);
        assert!(text.contains("99%"), "{text}");
    }

    #[test]
    fn the_rate_is_that_of_the_last_seconds() {
        let meter = meter(&[(0, 0), (10, 1_000_000), (20, 1_000_100), (30, 1_000_200)]);
        assert_eq!(meter.rate(), 10);
        assert_eq!(Meter::default().rate(), 0);
    }

    #[test]
    fn sizes_are_in_mebibytes() {
        assert_eq!(Unit::Bytes.text(3 << 19), "1.5 MiB");
    }
}
