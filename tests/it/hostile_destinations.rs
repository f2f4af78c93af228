//! Destinations that send without end: heads before an answer, frames that belong to no answer, answers
//! in very small pieces. Each call ends long before its time is over, and takes little memory.

use std::fs;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use serde_json::json;
use strongroom::testing::bounds::{MEMORY_OUTBOUND_MAX, OUTBOUND_STREAM_HEADS_MAX};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;

use crate::harness::{
    Authority, Directory, END_HEADERS, Frames, Request, Vault, field, indexed_field, wait_until,
};
use crate::watch::metric;

/// The processor time that a hostile answer may take, in a build without optimisation. Each of them
/// took all of the 25 seconds of a call.
const CALL_MAX: Duration = Duration::from_secs(5);

const MANY: usize = 160;

/// The bytes that a destination sends after the head of a request, then those that it repeats until the
/// connection is closed.
#[derive(Clone)]
struct Flood {
    alpn: &'static str,
    first: Vec<u8>,
    repeated: Vec<u8>,
}

impl Flood {
    fn http1(first: &str, repeated: &str) -> Self {
        let (first, repeated) = (first.as_bytes().to_vec(), repeated.as_bytes().to_vec());
        Self { alpn: "http/1.1", first, repeated }
    }

    fn http2(first: Frames, repeated: &Frames) -> Self {
        // Few writes with many frames each.
        let copies = (64 * 1024_usize).div_ceil(repeated.0.len());
        Self { alpn: "h2", first: first.0, repeated: repeated.0.repeat(copies) }
    }
}

/// Listens on some ports, each a destination of its own.
struct Hostile {
    ports: Vec<u16>,
    directory: Directory,
    _runtime: Runtime,
}

impl Hostile {
    fn start(count: usize, flood: &Flood) -> Self {
        let authority = Authority::new("Hostile");
        let directory = Directory::new();
        directory.write("ca.pem", &authority.pem, 0o644);
        let acceptor = TlsAcceptor::from(authority.issue().server(None, &[flood.alpn]));
        let runtime = Runtime::new().unwrap();
        let ports = (0..count).map(|_| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            listener.set_nonblocking(true).unwrap();
            let port = listener.local_addr().unwrap().port();
            let (acceptor, flood, handle) =
                (acceptor.clone(), flood.clone(), runtime.handle().clone());
            runtime.spawn(async move {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                while let Ok((socket, _)) = listener.accept().await {
                    handle.spawn(send_without_end(socket, acceptor.clone(), flood.clone()));
                }
            });
            port
        });
        Self { ports: ports.collect(), directory, _runtime: runtime }
    }

    fn vault(&self) -> Vault {
        Vault::start_with(&["--outbound-ca", self.directory.join("ca.pem").to_str().unwrap()])
    }
}

/// Ends when the other side closes the connection.
async fn send_without_end(socket: TcpStream, acceptor: TlsAcceptor, flood: Flood) -> Option<()> {
    let mut stream = acceptor.accept(socket).await.ok()?;
    if flood.alpn == "h2" {
        stream.write_all(&Frames::default().settings(&[]).0).await.ok()?;
    }
    let mut got = Vec::new();
    while !has_head(flood.alpn, &got) {
        if stream.read_buf(&mut got).await.ok()? == 0 {
            return None;
        }
    }
    let (mut reader, mut writer) = tokio::io::split(stream);
    let reading = async {
        let mut scratch = vec![0; 4_096];
        while reader.read(&mut scratch).await.is_ok_and(|read| read > 0) {}
    };
    let writing = async {
        writer.write_all(&flood.first).await?;
        writer.flush().await?;
        while !flood.repeated.is_empty() {
            writer.write_all(&flood.repeated).await?;
            writer.flush().await?;
        }
        std::future::pending::<Result<(), std::io::Error>>().await
    };
    tokio::select! {
        () = reading => Some(()),
        failed = writing => failed.ok(),
    }
}

/// Returns whether the head of a request is among these bytes.
fn has_head(alpn: &str, got: &[u8]) -> bool {
    if alpn != "h2" {
        return got.windows(4).any(|end| end == b"\r\n\r\n");
    }
    let mut rest = got.get(24..).unwrap_or_default();
    while let Some((head, behind)) = rest.split_at_checked(9) {
        if head[3] == 1 {
            return true;
        }
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        rest = behind.get(usize::try_from(length).unwrap()..).unwrap_or_default();
    }
    false
}

fn call(vault: &Vault, port: u16) -> Request {
    let url = format!("https://localhost:{port}/");
    Request::new("POST", "/proxy").key(&vault.keys.private).header("BT-PROXY-URL", &url)
}

fn head(status: &str) -> Frames {
    Frames::default().headers(1, END_HEADERS, &field(":status", status))
}

fn interim_heads() -> Flood {
    Flood::http2(Frames::default(), &head("103"))
}

/// Every kind of head that a destination can send without end before its answer.
fn floods_of_heads() -> Vec<(&'static str, Flood)> {
    // Headers of one byte each, by the 62nd entry of the table: as many as fit into a head.
    let table = |status| [field(":status", status), indexed_field("a", "")].concat();
    let wide = |status, count| [field(":status", status), vec![0xbe; count]].concat();
    let headers = |fields: &[u8]| Frames::default().headers(1, END_HEADERS, fields);
    let open = |fields: &[u8]| Frames::default().headers(1, 0, fields);
    let more = Frames::default().continuation(1, 0, &vec![0xbe; 16 * 1024]);
    let h1 = |line: &str, fields: &str| format!("HTTP/1.1 {line}\r\n{fields}\r\n").repeat(1_000);
    vec![
        ("103", interim_heads()),
        (
            "103 with many headers",
            Flood::http2(headers(&table("103")), &headers(&wide("103", 900))),
        ),
        ("100", Flood::http2(Frames::default(), &head("100"))),
        (
            "a head without an end",
            Flood::http2(
                open(&field(":status", "200")),
                &Frames::default().continuation(1, 0, b""),
            ),
        ),
        ("a head of headers without an end", Flood::http2(open(&table("200")), &more)),
        ("103 of HTTP/1.1", Flood::http1("", &h1("103 Early Hints", "link: </a>\r\n"))),
        (
            "103 of HTTP/1.1 with many headers",
            Flood::http1("", &h1("103 Early Hints", &"a:\r\n".repeat(90))),
        ),
        ("100 of HTTP/1.1", Flood::http1("", &h1("100 Continue", ""))),
        (
            "headers of HTTP/1.1 without an end",
            Flood::http1("HTTP/1.1 200 OK\r\n", &"a:\r\n".repeat(1_000)),
        ),
        (
            "a header of HTTP/1.1 without an end",
            Flood::http1("HTTP/1.1 200 OK\r\na: ", &"x".repeat(64 * 1024)),
        ),
    ]
}

/// Checks that a call to such a destination is broken off, and costs little.
#[track_caller]
fn check(what: &str, flood: &Flood) {
    let hostile = Hostile::start(1, flood);
    let vault = hostile.vault();
    let before = vault.cpu_time();
    // A call whose time is over is 504.
    vault.send(&call(&vault, hostile.ports[0])).proxy_error(502);
    // The connection is closed, so that the flood has an end too.
    wait_until("the connection is closed", || {
        let taken = vault.cpu_time();
        thread::park_timeout(Duration::from_millis(100));
        vault.cpu_time() <= taken + Duration::from_millis(50)
    });
    let took = vault.cpu_time().saturating_sub(before);
    assert!(took <= CALL_MAX, "{what}: {took:?}");
}

#[test]
fn heads_before_an_answer_have_an_end() {
    for (what, flood) in floods_of_heads() {
        check(what, &flood);
    }
}

#[test]
fn frames_that_belong_to_no_answer_have_an_end() {
    let none = Frames::default;
    for (what, frames) in [
        ("PING", none().ping()),
        ("SETTINGS", none().settings(&[])),
        ("WINDOW_UPDATE", none().window(0, 1)),
        ("PRIORITY", none().priority(3)),
        ("unknown frames", none().frame(0x77, 0, 0, &[0; 100])),
    ] {
        check(what, &Flood::http2(none(), &frames));
        // As well after the head of the answer.
        check(what, &Flood::http2(head("200"), &frames));
    }
}

#[test]
fn answers_in_very_small_pieces_have_an_end() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    check("chunks of one byte", &Flood::http1(chunked, &"1\r\nx\r\n".repeat(1_000)));
    check("the size of a chunk", &Flood::http1(chunked, &"0".repeat(64 * 1024)));
    let data = |bytes: &[u8]| Frames::default().data(1, 0, bytes);
    check("empty frames", &Flood::http2(head("200"), &data(b"")));
    check("frames of one byte", &Flood::http2(head("200"), &data(b"x")));
}

#[test]
fn the_heads_that_destinations_may_send_before_an_answer_change_nothing() {
    // The answer has a head and trailers besides.
    let mut frames = Frames::default();
    for _ in 0..OUTBOUND_STREAM_HEADS_MAX - 2 {
        frames = frames.headers(1, END_HEADERS, &field(":status", "103"));
    }
    let frames = frames.headers(1, END_HEADERS, &field(":status", "200")).data(1, 0, b"hello");
    let frames = frames.headers(1, END_HEADERS | 1, &field("x-sum", "7"));
    let hostile =
        Hostile::start(1, &Flood { repeated: Vec::new(), ..Flood::http2(frames, &head("103")) });
    let vault = hostile.vault();
    let answer = vault.send(&call(&vault, hostile.ports[0])).with_status(200);
    assert_eq!(answer.text(), "hello");
}

#[test]
fn receivers_of_webhooks_are_cut_off_alike() {
    let hostile = Hostile::start(1, &interim_heads());
    let vault = hostile.vault();
    let url = format!("https://localhost:{}/", hostile.ports[0]);
    let hook = json!({"name": "Hostile", "url": url, "events": ["token.created"]});
    vault.post("/webhooks", &vault.keys.management, hook).with_status(201);
    vault.token(json!({"type": "token", "data": "x"}));
    // One whose time is over is counted as timed out.
    let broken = "strongroom_webhook_deliveries_total{result=\"broken\"}";
    wait_until("the delivery is broken off", || metric(&vault, broken) > 0);
}

#[test]
fn many_hostile_destinations_stay_within_the_memory_of_the_outbound_side() {
    for (what, flood) in floods_of_heads() {
        let hostile = Hostile::start(MANY, &flood);
        let vault = hostile.vault();
        // The connections and buffers of the callers are not counted.
        let calls: Vec<_> = hostile.ports.iter().map(|port| call(&vault, *port)).collect();
        let before = vault.resident_kib();
        thread::scope(|scope| {
            for call in &calls {
                scope.spawn(|| vault.send(call).proxy_error(502));
            }
        });
        let status = fs::read_to_string(format!("/proc/{}/status", vault.process_id())).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
        let most = u64::try_from(MEMORY_OUTBOUND_MAX / 1024).unwrap();
        let grown = peak.saturating_sub(before);
        println!("{what}: {MANY} destinations took {grown} KiB of {most}");
        assert!(grown <= most, "{what}: {MANY} destinations took {grown} KiB of {most}");
    }
}
