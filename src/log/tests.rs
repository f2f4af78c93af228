use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender, channel};

use proptest::prelude::*;

use super::*;
use crate::waiting::{PATIENCE, receive};

struct Lines(Sender<String>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for line in String::from_utf8_lossy(bytes).lines() {
            drop(self.0.send(line.to_owned()));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A writer that waits for permission before each write.
struct Gate(Receiver<()>, Lines);

impl Write for Gate {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.recv_timeout(PATIENCE).ok();
        self.1.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn noon() -> Now {
    Arc::new(|| Timestamp::from_seconds(1_794_648_600))
}

fn log(request_lines: RequestLines) -> (Log, Receiver<String>) {
    let (lines, read) = channel();
    (Log::start(Lines(lines), request_lines, noon()).unwrap(), read)
}

fn request(trace: Trace) -> RequestLine {
    RequestLine {
        trace,
        route: "tokens.create",
        address: Some(IpAddr::from([192, 0, 2, 1])),
        tenant: Some(Uuid::from_u128(1)),
        application: None,
        key: Some(Uuid::from_u128(2)),
        status: 201,
        duration: Duration::from_micros(1_234),
    }
}

#[test]
fn a_request_leaves_one_line_of_json() {
    let (log, read) = log(RequestLines::On);
    log.request(request(Trace::from_client("abcdabcd-abcd-4bcd-abcd-abcdabcdabcd")));
    assert_eq!(
        receive("a line of the log", &read),
        "{\"at\":\"2026-11-14T09:30:00.0000000+00:00\",\"level\":\"info\",\"event\":\"request\",\
         \"trace\":\"abcdabcd-abcd-4bcd-abcd-abcdabcdabcd\",\"route\":\"tokens.create\",\
         \"address\":\"192.0.2.1\",\"tenant\":\"00000000-0000-0000-0000-000000000001\",\
         \"key_id\":\"00000000-0000-0000-0000-000000000002\",\"status\":201,\"duration_us\":1234}"
    );
}

#[test]
fn every_kind_of_value_is_valid_json() {
    let (log, read) = log(RequestLines::On);
    log.event(
        Event::error("all")
            .with("address", Value::Address(SocketAddr::from(([127, 0, 0, 1], 8443))))
            .with("count", Value::Count(u64::MAX))
            .with("duration_us", Value::Duration(Duration::from_secs(1)))
            .with("id", Value::Id(Uuid::from_u128(3)))
            .with("name", Value::Name("quote \" and \\ and \u{7}"))
            .with("path", Value::Path(PathBuf::from("/a \"b\"")))
            .with("place", Value::Place(SourceLocation { file: Box::from("a\\b.rs"), line: 7 }))
            .with("signed", Value::Signed(-1))
            .with("time", Value::Time(Timestamp::from_seconds(0))),
    );
    let line: serde_json::Value =
        serde_json::from_str(&receive("a line of the log", &read)).unwrap();
    assert_eq!(line["level"], "error");
    assert_eq!(line["address"], "127.0.0.1:8443");
    assert_eq!(line["count"], u64::MAX);
    assert_eq!(line["duration_us"], 1_000_000);
    assert_eq!(line["name"], "quote \" and \\ and ?");
    assert_eq!(line["path"], "/a \"b\"");
    assert_eq!(line["place"], "a\\b.rs:7");
    assert_eq!(line["signed"], -1);
    assert_eq!(line["time"], "1970-01-01T00:00:00.0000000+00:00");
}

#[test]
fn request_lines_can_be_turned_off_and_events_stay() {
    let (log, read) = log(RequestLines::Off);
    log.request(request(Trace::from_client("x")));
    log.event(Event::info("after"));
    assert!(receive("a line of the log", &read).contains("\"event\":\"after\""));
}

#[track_caller]
fn check_trace(sent: &str, logged: &str) {
    assert_eq!(Trace::from_client(sent).as_str(), logged);
}

#[test]
fn a_trace_id_from_outside_is_logged_only_if_it_cannot_be_a_card_number() {
    check_trace("checkout-17.retry_2", "checkout-17.retry_2");
    check_trace("1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed", "1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed");
    check_trace("1b9d6bcdbbfd4b2d9b5dab8dfbbd4bed", "1b9d6bcdbbfd4b2d9b5dab8dfbbd4bed");
    check_trace("00000000000000001b9d6bcdbbfd4b2d", "withheld");
    check_trace("4242424242424242a123456789012345", "withheld");
    check_trace("42424242-4242-4242-a123-456789012345", "withheld");
    check_trace("4242424242424242", "withheld");
    check_trace("card-4242-4242-4242-4242", "withheld");
    check_trace("42424242-4242-4242-4242-424242424242", "withheld");
    check_trace("", "withheld");
    check_trace("two words", "withheld");
    check_trace("\",\"level\":\"forged", "withheld");
    check_trace("na\u{ef}ve", "withheld");
    check_trace(&"a".repeat(bounds::TRACE_BYTES_MAX), &"a".repeat(bounds::TRACE_BYTES_MAX));
    check_trace(&"a".repeat(bounds::TRACE_BYTES_MAX + 1), "withheld");
}

proptest! {
    #[test]
    fn no_trace_text_breaks_the_line(sent in ".{0,80}") {
        let mut line = String::new();
        line::write_request(&mut line, Timestamp::from_seconds(0), &request(Trace::from_client(&sent)));
        let parsed: serde_json::Value = serde_json::from_str(&line).unwrap();
        prop_assert_eq!(parsed["status"].as_u64(), Some(201));
        prop_assert_eq!(line.matches('\n').count(), 1);
    }
}

#[test]
fn a_slow_reader_costs_lines_but_no_waiting_and_the_loss_is_reported() {
    let (open, gate) = channel();
    let (lines, read) = channel();
    let log = Log::start(Gate(gate, Lines(lines)), RequestLines::On, noon()).unwrap();
    // The writer holds at most one batch, and the queue its bound; the rest must be dropped, and
    // this loop ends although nothing is read.
    let sent = bounds::LOG_LINES_MAX + bounds::LOG_BATCH_BYTES;
    for _ in 0..sent {
        log.event(Event::info("flood"));
    }
    assert_eq!(log.flush(Duration::ZERO), FlushOutcome::Partly);
    drop(open);
    drop(log);
    let mut kept = 0;
    let mut lost = 0;
    // Ends when the log's thread has dropped the writer.
    while let Ok(line) = read.recv_timeout(PATIENCE) {
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        match line["event"].as_str() {
            Some("lines_dropped") => {
                lost += usize::try_from(line["count"].as_u64().unwrap()).unwrap();
            }
            _ => kept += 1,
        }
    }
    assert!(lost > 0);
    assert_eq!(kept + lost, sent);
}

#[test]
fn flush_waits_for_what_was_logged_before_it() {
    let (log, read) = log(RequestLines::On);
    log.event(Event::info("last"));
    assert_eq!(log.flush(Duration::from_mins(1)), FlushOutcome::Whole);
    assert!(read.try_recv().unwrap().contains("last"));
}

#[test]
fn a_panic_is_logged_by_its_place_and_never_by_its_text() {
    let (log, read) = log(RequestLines::On);
    let before = std::panic::take_hook();
    install_panic_hook(log);
    let line = line!() + 1;
    let payload = std::panic::catch_unwind(|| panic!("number {}", "4242424242424242"));
    std::panic::set_hook(before);
    assert!(payload.is_err());
    // Another test may panic on purpose at the same time, so its line is ignored.
    let place = format!("\"place\":\"{}:{line}\"", file!());
    let found = read.iter().find(|logged| logged.contains(&place)).unwrap();
    assert!(found.contains("\"event\":\"panic\""));
    assert!(!found.contains("4242"));
}

#[test]
fn an_id_that_we_give_out_is_shown_in_the_log() {
    let mut drawn = [[0x11; 16], [0x23; 16], [0xab; 16]].into_iter();
    let id = AnswerTrace::draw(|| drawn.next().unwrap());
    assert_eq!(id.as_str(), "abababab-abab-4bab-abab-abababababab");
    assert_eq!(Trace::from_client(id.as_str()).as_str(), id.as_str());
    assert_eq!(
        AnswerTrace::draw(|| [0x11; 16]).as_str(),
        "11111111-1111-4111-9111-111111111111",
        "an end"
    );
}
