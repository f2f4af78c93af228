//! A trace of calls for people who write programs: start, end, time and lines of each call. It holds
//! nothing of arguments, keys, configurations or results; only the program itself can print values.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::time::Instant;

use crate::app::programs::{
    Fetching, LineLevel, ProgramCall, ProgramHost, ProgramRequest, ProgramState, Programs, Running,
};
use crate::bounds::PROGRAM_LINE_BYTES_MAX;
use crate::code::observe::End;
use crate::domain::card::in_text::holds_split_card_number;
use crate::secret::Secret;

const HIDDEN: &str = "(a line with digits of a card number)";

/// Prints one line of a trace. It escapes characters that a terminal would obey.
pub type TracePrinter = fn(&str);

/// Programs whose calls are traced.
#[derive(Debug)]
pub struct TracedPrograms {
    programs: Arc<dyn Programs>,
    print: TracePrinter,
    /// The number of calls so far.
    calls: AtomicU64,
}

/// One call. Dropping it prints its end.
#[derive(Debug)]
struct TracedCall {
    number: u64,
    begun: Instant,
    /// The call was given up, unless it has another end by now.
    end: &'static str,
    print: TracePrinter,
}

#[derive(Debug)]
struct TracedHost {
    host: Arc<dyn ProgramHost>,
    number: u64,
    print: TracePrinter,
}

impl TracedPrograms {
    pub fn new(programs: Arc<dyn Programs>, print: TracePrinter) -> Self {
        Self { programs, print, calls: AtomicU64::new(0) }
    }
}

impl Programs for TracedPrograms {
    fn run(&self, call: ProgramCall, host: Arc<dyn ProgramHost>) -> Running<'_> {
        let (number, print) = (self.calls.fetch_add(1, Ordering::Relaxed), self.print);
        let number = number.saturating_add(1);
        Box::pin(async move {
            print(&format!("program {number} of {} starts", call.owner));
            let mut traced = TracedCall { number, begun: Instant::now(), end: "given_up", print };
            let host = Arc::new(TracedHost { host, number, print });
            let ended = self.programs.run(call, host).await;
            traced.end = End::of(&ended).as_str();
            ended
        })
    }

    fn state(&self) -> ProgramState {
        self.programs.state()
    }
}

impl Drop for TracedCall {
    fn drop(&mut self) {
        let ms = self.begun.elapsed().as_millis();
        (self.print)(&format!("program {} ends after {ms} ms: {}", self.number, self.end));
    }
}

impl ProgramHost for TracedHost {
    fn caller_address(&self) -> IpAddr {
        self.host.caller_address()
    }

    fn fetch(&self, request: ProgramRequest) -> Fetching<'_> {
        self.host.fetch(request)
    }

    fn line(&self, level: LineLevel, text: Secret<String>) {
        let line = text.expose();
        let line = if holds_split_card_number(line) { HIDDEN } else { line };
        let end = line.floor_char_boundary(PROGRAM_LINE_BYTES_MAX);
        let line = line.get(..end).unwrap_or_default();
        (self.print)(&format!("program {} {}: {line}", self.number, level.as_str()));
        self.host.line(level, text);
    }
}
