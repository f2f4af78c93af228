//! Connections that are opened and not used, or used as slowly as possible.

use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use strongroom::testing::bounds::RATE_BYTES_MAX;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::harness::{
    Attacked, END_HEADERS, END_STREAM, Frames, Stranger, Vault, cpu_of_reads, get, request,
    thorough, wait_until, within,
};

/// Open files for the clients of a test; the soft limit of a shell is often 1,024.
const FILES: u64 = 4_096;
/// Resident memory for each connection that does nothing; the bounds say 60 KiB.
const IDLE_MAX_KIB: u64 = 64;
/// The memory that is left when all of them are gone: what the allocator keeps, and the rest of the
/// process at work.
const LEFT_MAX_KIB: u64 = 96 * 1024;

/// The ways in which a connection can be half open.
#[derive(Debug, Clone, Copy)]
enum Half {
    Tcp,
    Tls,
    Head,
    Body,
}

/// Sends this much of a request and returns the connection.
async fn open_half(
    stranger: &Stranger,
    number: usize,
    half: Half,
    key: &str,
) -> std::io::Result<Box<dyn AsyncRead + Send + Unpin>> {
    let bytes = match half {
        Half::Tcp => return Ok(Box::new(stranger.tcp(number).await?)),
        Half::Tls => String::new(),
        Half::Head => String::from("POST /tokens HTTP/1.1\r\nHost: x\r\nBT-API-"),
        Half::Body => format!(
            "POST /tokens HTTP/1.1\r\nHost: x\r\nBT-API-KEY: {key}\r\nContent-Length: 5000\r\n\r\n{{"
        ),
    };
    let mut stream = stranger.http1(number).await?;
    stream.write_all(bytes.as_bytes()).await?;
    stream.flush().await?;
    Ok(Box::new(stream))
}

/// Opens so many of each way, those with the shortest deadline last.
async fn open_halves(
    stranger: &Stranger,
    of_each: usize,
    key: &str,
) -> Vec<Box<dyn AsyncRead + Send + Unpin>> {
    let at_once = Arc::new(Semaphore::new(64));
    let mut opening = JoinSet::new();
    for half in [Half::Body, Half::Head, Half::Tls, Half::Tcp] {
        for number in 0..of_each {
            let (stranger, key) = (stranger.clone(), String::from(key));
            let at_once = Arc::clone(&at_once);
            opening.spawn(async move {
                let _permit = at_once.acquire().await.unwrap();
                open_half(&stranger, number, half, &key).await
            });
        }
    }
    let mut open = Vec::new();
    while let Some(opened) = within("half-open connections", opening.join_next()).await {
        // A client that has made room for others before it sent its bytes.
        open.extend(opened.unwrap().ok());
    }
    open
}

fn open_connections(vault: &Vault) -> u64 {
    let status = vault.operator(&["status", "--json"]).json();
    status["connections"]["open"].as_u64().unwrap_or_else(|| panic!("{status}"))
}

#[track_caller]
fn raise_file_limit() {
    let own = getrlimit(Resource::Nofile);
    assert!(
        own.maximum.is_none_or(|limit| limit >= FILES),
        "this test needs {FILES} open files, and the hard limit is {:?}: raise it with ulimit -n",
        own.maximum
    );
    if own.current.is_some_and(|limit| limit < FILES) {
        setrlimit(Resource::Nofile, Rlimit { current: Some(FILES), ..own }).unwrap();
    }
}

#[test]
fn clients_get_in_and_their_reads_cost_no_more_while_half_open_connections_take_all_places() {
    const PLACES: usize = 1_024;
    raise_file_limit();
    let mut vault = Vault::start();
    vault.serve(&format!("rate_limits = false\nconnections.max = {PLACES}"));
    let stranger = Stranger::of(&vault);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let alone = cpu_of_reads(&vault);
    let before = vault.resident_kib();
    let open = runtime.block_on(open_halves(&stranger, PLACES / 4, &vault.keys.public));
    let taken = open_connections(&vault);
    let grown = vault.resident_kib().saturating_sub(before);
    println!("{} were opened, {taken} are open, the memory grew by {grown} KiB", open.len());
    // A slow machine opens them for longer than the first of them may stay.
    assert!(taken > 100, "{taken} are open");
    assert!(
        grown <= IDLE_MAX_KIB * u64::try_from(PLACES).unwrap(),
        "the memory grew by {grown} KiB"
    );
    // New clients find a place, each on a connection of its own.
    for _ in 0..20 {
        let bytes = get("/permissions").key(&vault.keys.private).bytes("x");
        let mut connection = vault.connect();
        connection.send(&bytes).unwrap();
        connection.receive().unwrap().with_status(200);
    }
    let attacked = cpu_of_reads(&vault);
    println!("reads take {attacked:?} beside half-open connections, {alone:?} without");
    assert!(attacked <= alone * 2, "reads take {attacked:?} instead of {alone:?}");
    // The server closes all of them by itself, the last of them after half a minute.
    if !thorough(false, true) {
        return;
    }
    runtime.block_on(async {
        for mut connection in open {
            let mut rest = Vec::new();
            within("a half-open connection is closed", connection.read_to_end(&mut rest))
                .await
                .ok();
        }
    });
    wait_until("the server has closed its side of all of them", || open_connections(&vault) < 5);
}

#[test]
fn strangers_beyond_the_places_make_room_for_each_other_and_not_for_clients_with_a_key() {
    let mut vault = Vault::start();
    vault.serve("connections.max = 64");
    let bytes = get("/permissions").key(&vault.keys.private).bytes("x");
    let mut known = vault.connect();
    known.send(&bytes).unwrap();
    known.receive().unwrap().with_status(200);
    let stranger = Stranger::of(&vault);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let open = runtime.block_on(open_halves(&stranger, 100, &vault.keys.public));
    assert!(open_connections(&vault) <= 64);
    // All places are taken, and a client that comes now is served all the same.
    let mut other = vault.connect();
    for connection in [&mut known, &mut other] {
        connection.send(&bytes).unwrap();
        connection.receive().unwrap().with_status(200);
    }
    let event = "\"event\":\"connections_refused\"";
    wait_until("the log says that strangers made room", || vault.log().contains(event));
    let lines = vault.log().lines().filter(|line| line.contains(event)).count();
    assert!(lines < 20, "{lines} lines about 400 connections");
    drop(open);
}

/// One byte at a time, over either protocol, on two connections after each other.
async fn drip(stranger: Stranger, key: String, number: usize) {
    for _ in 0..2 {
        let (stream, head, piece) = if number.is_multiple_of(2) {
            let head = format!(
                "POST /tokens HTTP/1.1\r\nHost: x\r\nBT-API-KEY: {key}\r\nContent-Length: 5000\r\n"
            );
            // Half of them never end the head.
            let end = if number.is_multiple_of(4) { "\r\n" } else { "" };
            let piece = if number.is_multiple_of(4) { "{" } else { "x: y\r\n" };
            (stranger.http1(number).await, (head + end).into_bytes(), piece.as_bytes().to_vec())
        } else if number % 4 == 1 {
            let head = Frames::opening(&[]);
            let head = head.headers(1, END_HEADERS, &request("POST", "/tokens", &key));
            (stranger.http2(number).await, head.0, Frames::default().data(1, 0, b"{").0)
        } else {
            // Reads an answer by windows of one byte.
            let head = Frames::opening(&[(4, 0)]);
            let ask = request("GET", "/openapi.json", "");
            let head = head.headers(1, END_STREAM | END_HEADERS, &ask);
            (stranger.http2(number).await, head.0, Frames::default().window(1, 1).0)
        };
        let mut stream = stream.unwrap();
        let mut sent = stream.write_all(&head).await.is_ok();
        for _ in 0..10 {
            sleep(Duration::from_millis(50)).await;
            sent = sent && stream.write_all(&piece).await.is_ok() && stream.flush().await.is_ok();
        }
    }
}

#[test]
fn slow_readers_and_writers_hold_up_no_reads_of_others() {
    let vault = Vault::start();
    let stranger = Stranger::of(&vault);
    let key = vault.keys.public.clone();
    let before = vault.resident_kib();
    let slow_clients = async {
        let drips = (0..200).map(|number| drip(stranger.clone(), key.clone(), number));
        drips.collect::<JoinSet<_>>().join_all().await;
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    Attacked::by(&vault, || runtime.block_on(slow_clients)).check_reads_went_on();
    wait_until("the memory of slow clients is given back", || {
        vault.resident_kib().saturating_sub(before) <= LEFT_MAX_KIB
    });
}

/// The million is counted beside the limiter; this is the same over the wire.
#[test]
fn thousands_of_addresses_behind_a_proxy_leave_the_memory_of_the_limiter_bounded() {
    const AT_ONCE: u32 = 50;
    let addresses = thorough(2_000, 8_000);
    let vault = Vault::start_with(&["--rate-limits", "on", "--trusted-proxy", "127.0.0.0/8"]);
    let ask = |number: u32| {
        let address = std::net::Ipv4Addr::from_bits(0x0b00_0000 + number).to_string();
        let request = get("/permissions").header("X-Forwarded-For", &address);
        request.key(&vault.keys.private).bytes("x")
    };
    let run = |numbers: std::ops::Range<u32>| {
        let mut connection = vault.connect();
        for first in numbers.step_by(usize::try_from(AT_ONCE).unwrap()) {
            let requests: Vec<u8> = (first..first + AT_ONCE).flat_map(ask).collect();
            connection.send(&requests).unwrap();
            for _ in 0..AT_ONCE {
                let answer = connection.receive().unwrap();
                assert!([200, 429].contains(&answer.status), "{}", answer.text());
            }
        }
    };
    run(0..1_000);
    let before = vault.resident_kib();
    let run = &run;
    std::thread::scope(|scope| {
        for part in 1..=2 {
            scope.spawn(move || run(part * addresses / 2..(part + 1) * addresses / 2));
        }
    });
    let grown = vault.resident_kib().saturating_sub(before);
    println!("{addresses} addresses: the memory grew by {grown} KiB");
    let bound = u64::try_from(RATE_BYTES_MAX / 1024).unwrap() + 16 * 1024;
    assert!(grown <= bound, "the memory grew by {grown} KiB");
}
