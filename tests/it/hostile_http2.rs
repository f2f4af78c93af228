//! Attacks by frames of HTTP/2: the connection is closed, the memory stays bounded, the log stays
//! short, and other clients are served meanwhile.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinSet;

use crate::harness::{
    Attacked, END_HEADERS, END_STREAM, Flooded, Frames, Stranger, StreamEnd, Vault, field, flood,
    get, indexed_field, request, stream_end, wait_until, within,
};

/// RFC 9113, 7.
const FLOW_CONTROL_ERROR: u32 = 3;
const ENHANCE_YOUR_CALM: u32 = 11;
/// Frames that an attacker sends before it reads an answer.
const PER_PIECE: u32 = 100;
/// An attack that is not stopped by then goes on forever. The buffers of the kernel take much of it
/// before the server sees the first frame.
const PIECES_MAX: u32 = 400;
const SENT_MAX: usize = 16 << 20;
/// The most that the attacks may add to the resident memory, while they run and after they have ended.
const GROWTH_MAX_KIB: u64 = 48 * 1024;
/// Lines of the log for one connection of an attack, at most: its requests, and few that are not.
const LINES_MAX: usize = 600;

/// One way to attack: bytes to begin with, and pieces by their number.
struct Attack {
    name: &'static str,
    opening: Frames,
    piece: Box<dyn Fn(u32) -> Frames + Send + Sync>,
    reason: u32,
}

fn repeated(frame: impl Fn(Frames, u32) -> Frames, piece: u32) -> Frames {
    let first = piece * PER_PIECE;
    (first..first + PER_PIECE).fold(Frames::default(), frame)
}

fn stream(number: u32) -> u32 {
    2 * number + 1
}

fn attack(
    name: &'static str,
    opening: Frames,
    frame: impl Fn(Frames, u32) -> Frames + Send + Sync + 'static,
) -> Attack {
    let piece = Box::new(move |piece| repeated(&frame, piece));
    Attack { name, opening, piece, reason: ENHANCE_YOUR_CALM }
}

fn attacks(key: &str) -> Vec<Attack> {
    let opening = || Frames::opening(&[]);
    let half_a_head = || opening().headers(1, END_STREAM, &request("GET", "/permissions", ""));
    let body = opening().headers(1, END_HEADERS, &request("POST", "/tokens", key));
    let key = String::from(key);
    let mut attacks = vec![
        attack("PING", opening(), |frames, _| frames.ping()),
        attack("SETTINGS", opening(), |frames, number| frames.settings(&[(4, 60_000 + number)])),
        attack("empty SETTINGS", opening(), |frames, _| frames.settings(&[])),
        attack("WINDOW_UPDATE", opening(), |frames, _| frames.window(0, 1)),
        attack("PRIORITY", opening(), |frames, number| frames.priority(stream(number))),
        attack("unknown frames", opening(), |frames, _| frames.frame(0x77, 0, 0, b"unknown")),
        attack("rapid reset", opening(), |frames, number| {
            frames.get(stream(number), "/x", "").reset(stream(number))
        }),
        attack("rapid reset with a key", opening(), move |frames, number| {
            frames.get(stream(number), "/permissions", &key).reset(stream(number))
        }),
        attack("CONTINUATION", half_a_head(), |frames, _| {
            frames.continuation(1, 0, &field("a", "b"))
        }),
        attack("empty CONTINUATION", half_a_head(), |frames, _| frames.continuation(1, 0, &[])),
        attack("empty DATA", body, |frames, _| frames.data(1, 0, &[])),
    ];
    // Requests that stand for megabytes: one entry of the table, named thousands of times.
    let mut first = request("GET", "/x", "");
    first.extend(indexed_field("bomb", &"b".repeat(4_000)));
    let opening = opening().headers(1, END_STREAM | END_HEADERS, &first);
    let bomb = [request("GET", "/x", ""), vec![0xbe; 16_000]].concat();
    attacks.push(attack("HPACK bomb", opening, move |frames, number| {
        frames.headers(stream(number + 1), END_STREAM | END_HEADERS, &bomb)
    }));
    let fields = field("n", "v").repeat(3_000);
    let many = [request("GET", "/x", ""), fields].concat();
    attacks.push(attack("thousands of headers", Frames::opening(&[]), move |frames, number| {
        frames.headers(stream(number), END_STREAM | END_HEADERS, &many)
    }));
    let overflow =
        attack("window overflow", Frames::opening(&[]), |frames, _| frames.window(0, 0x7fff_ffff));
    attacks.push(Attack { reason: FLOW_CONTROL_ERROR, ..overflow });
    attacks
}

async fn run(stranger: &Stranger, number: usize, attack: &Attack) -> Flooded {
    let stream = within("a connection of an attacker", stranger.http2(number)).await.unwrap();
    let opening = std::iter::once(attack.opening.0.clone());
    let pieces = opening.chain((0..PIECES_MAX).map(|piece| (attack.piece)(piece).0));
    within(attack.name, flood(stream, pieces)).await
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

#[test]
fn every_flood_of_frames_ends_its_connection_and_leaves_memory_and_log_small() {
    let vault = Vault::start();
    let stranger = Stranger::of(&vault);
    vault.get("/permissions", &vault.keys.private).with_status(200);
    let before = vault.resident_kib();
    for attack in attacks(&vault.keys.private) {
        let name = attack.name;
        let lines = vault.log().lines().count();
        let ended = block_on(run(&stranger, 0, &attack));
        println!("{name}: {ended:?}, {} KiB", vault.resident_kib() - before);
        assert!(ended.is_closed && ended.sent <= SENT_MAX, "{name}: {ended:?}");
        if let Some(reason) = ended.reason {
            assert_eq!(reason, attack.reason, "{name}");
        }
        vault.get("/permissions", &vault.keys.private).with_status(200);
        let grown = vault.resident_kib().saturating_sub(before);
        assert!(grown <= GROWTH_MAX_KIB, "{name}: the memory grew by {grown} KiB");
        let lines = vault.log().lines().count() - lines;
        assert!(lines <= LINES_MAX, "{name}: {lines} lines of the log");
    }
}

#[test]
fn many_floods_at_once_stay_within_the_memory_bound_and_hold_up_no_reads() {
    let vault = Vault::start();
    let stranger = Stranger::of(&vault);
    vault.get("/permissions", &vault.keys.private).with_status(200);
    let before = vault.resident_kib();
    let floods = async {
        let mut running = JoinSet::new();
        for number in 0..4 {
            for attack in attacks(&vault.keys.public) {
                let stranger = stranger.clone();
                running.spawn(async move {
                    let ended = run(&stranger, number, &attack).await;
                    let is_stopped = ended.reason.is_none_or(|reason| reason == attack.reason);
                    assert!(ended.is_closed && is_stopped, "{}: {ended:?}", attack.name);
                });
            }
        }
        while let Some(ended) = within("the end of the floods", running.join_next()).await {
            ended.unwrap();
        }
    };
    Attacked::by(&vault, || block_on(floods)).check_reads_went_on();
    wait_until("the memory is given back after the floods", || {
        vault.resident_kib().saturating_sub(before) <= GROWTH_MAX_KIB
    });
    vault.get("/permissions", &vault.keys.private).with_status(200);
}

#[test]
fn requests_after_the_clients_own_goaway_do_no_harm() {
    let vault = Vault::start();
    let stranger = Stranger::of(&vault);
    block_on(async {
        let mut stream = stranger.http2(0).await.unwrap();
        let frames = Frames::opening(&[]).goaway().get(1, "/healthz", "").get(3, "/healthz", "");
        within("the frames", stream.write_all(&frames.0)).await.unwrap();
        within("the frames", stream.flush()).await.unwrap();
        within("the end of the connection", stream.read_to_end(&mut Vec::new())).await.ok();
    });
    vault.send(&get("/healthz")).with_status(200);
}

/// Sends the frames, which use stream 1, and returns the end of that stream; `None` if the connection
/// was closed without it.
async fn end_of_stream(stranger: &Stranger, frames: Frames) -> Option<StreamEnd> {
    let mut stream = within("a connection", stranger.http2(0)).await.unwrap();
    within("the frames are sent", stream.write_all(&frames.0)).await.unwrap();
    within("the frames are sent", stream.flush()).await.unwrap();
    let (mut received, mut piece) = (Vec::new(), vec![0; 16 * 1024]);
    loop {
        let read = within("an answer or a reset", stream.read(&mut piece)).await.unwrap_or(0);
        received.extend_from_slice(&piece[..read]);
        let end = stream_end(&received, 1);
        if end.is_some() || read == 0 {
            return end;
        }
    }
}

#[test]
fn a_request_that_http2_forbids_is_not_served() {
    let vault = Vault::start();
    let stranger = Stranger::of(&vault);
    let pseudo = |path: &str| {
        [
            field(":method", "GET"),
            field(":scheme", "https"),
            field(":authority", "localhost"),
            field(":path", path),
        ]
        .concat()
    };
    let key = field("bt-api-key", &vault.keys.private);
    let good = [pseudo("/permissions"), key.clone()].concat();
    let with = |more: Vec<u8>| [good.clone(), more].concat();
    let ask = |block: &[u8]| {
        let frames = Frames::opening(&[]).headers(1, END_STREAM | END_HEADERS, block);
        block_on(end_of_stream(&stranger, frames))
    };
    assert_eq!(ask(&good), Some(StreamEnd::Ok));
    assert_eq!(ask(&with(field("te", "trailers"))), Some(StreamEnd::Ok));
    let bad = [
        ("a name in capitals", with(field("X-Capital", "1"))),
        ("an empty name", with(field("", "1"))),
        ("a name with a blank", with(field("a b", "1"))),
        ("a name with a colon", with(field("a:b", "1"))),
        ("a name with a line break", with(field("a\r\nb", "1"))),
        ("a value with a line break", with(field("a", "1\r\nb: 2"))),
        ("a value with LF", with(field("a", "1\nb: 2"))),
        ("a value with NUL", with(field("a", "1\0"))),
        ("connection", with(field("connection", "close"))),
        ("transfer-encoding", with(field("transfer-encoding", "chunked"))),
        ("upgrade", with(field("upgrade", "h2c"))),
        ("a te that is not trailers", with(field("te", "gzip"))),
        ("another host", with(field("host", "other.example"))),
        (
            "two lengths",
            with([field("content-length", "0"), field("content-length", "1")].concat()),
        ),
        ("a length without a body", with(field("content-length", "5"))),
        ("a pseudo header at the end", with(field(":path", "/healthz"))),
        ("an unknown pseudo header", [field(":x", "1"), good.clone()].concat()),
        ("two paths", [pseudo("/permissions"), pseudo("/permissions"), key.clone()].concat()),
        ("no pseudo headers", key.clone()),
        ("an empty path", [pseudo(""), key.clone()].concat()),
        ("a path without a slash", [pseudo("permissions"), key.clone()].concat()),
        ("a path with a blank", [pseudo("/permissions HTTP/1.1"), key.clone()].concat()),
        (
            "a whole URL as the path",
            [pseudo("https://localhost/permissions"), key.clone()].concat(),
        ),
        ("an index that is not there", with(vec![0xfe])),
        ("a length that is cut", with(vec![0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])),
    ];
    for (what, block) in bad {
        assert_ne!(ask(&block), Some(StreamEnd::Ok), "{what}");
    }
    // A body that is as long as it says, longer, and shorter.
    for (length, is_good) in [("5", true), ("4", false), ("6", false)] {
        let head = request("POST", "/tokenize", &vault.keys.private);
        let head = [head, field("content-length", length)].concat();
        let frames = Frames::opening(&[]).headers(1, END_HEADERS, &head);
        let end = block_on(end_of_stream(&stranger, frames.data(1, END_STREAM, b"[\"a\"]")));
        assert_eq!(end == Some(StreamEnd::Ok), is_good, "{length}: {end:?}");
    }
    vault.get("/permissions", &vault.keys.private).with_status(200);
}
