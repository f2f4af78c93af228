//! Card numbers do not stay in the memory of the process once they are stored and read.
//!
//! The program cannot wipe the buffers of hyper, h2 and rustls: bodies of the last requests are there
//! until later ones overwrite them, or until the connection ends. A space that this program never
//! writes marks those.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt as _;

use serde_json::json;

use crate::harness::{Vault, get, only_http1, over_http2, post, wait_until};

/// Distinct numbers that are sent in and read back.
const CARDS: usize = 400;
const CONNECTIONS: usize = 8;
/// Of requests, in buffers that are not ours. Measured: 18.
const FROM_REQUESTS_MAX: usize = 60;
/// Of anything that this program wrote. Measured: none; 60 when answers were not wiped.
const OURS_MAX: usize = 4;
const PAGE: usize = 4_096;

#[test]
fn card_numbers_are_gone_from_memory_after_their_requests() {
    only_http1();
    let vault = Vault::start();
    let numbers = store_and_read_all(&vault);
    // Whatever still holds the last of them in its hands finishes.
    for _ in 0..50 {
        vault.get("/permissions", &vault.keys.private).with_status(200);
    }
    if let Some(found) = find(&vault, &numbers) {
        let ours = found.values().filter(|origins| origins.contains(&Origin::Ours)).count();
        let all = found.len();
        println!("{all} of {CARDS} card numbers are in memory, {ours} of them written by us");
        assert!(ours <= OURS_MAX, "{ours} of {CARDS} numbers are in memory");
        assert!(all <= FROM_REQUESTS_MAX, "{all} of {CARDS} numbers are in memory");
    }
}

/// While it is open, an HTTP/2 connection has one buffer for many requests.
#[test]
fn card_numbers_of_http2_are_gone_from_memory_when_their_connections_end() {
    over_http2(|| {
        let vault = Vault::start();
        let numbers = store_and_read_all(&vault);
        vault.close_idle();
        wait_until("the server wipes the buffers of the closed connections", || {
            find(&vault, &numbers).is_none_or(|found| found.len() <= OURS_MAX)
        });
    });
}

#[test]
fn the_memory_is_closed_to_other_processes_of_the_same_user() {
    use std::os::unix::fs::MetadataExt as _;
    let vault = Vault::start();
    // The kernel gives the files of a closed process to root, whichever user runs it.
    let owner = std::fs::metadata(format!("/proc/{}/mem", vault.process_id())).unwrap().uid();
    assert_eq!(owner, 0);
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        println!("run as root, this proves nothing: everything is root's");
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", vault.process_id()));
    assert!(status.unwrap().contains("VmRSS"), "what is no secret stays readable");
}

#[test]
fn the_server_takes_no_large_pages() {
    let vault = Vault::start();
    let status = std::fs::read_to_string(format!("/proc/{}/status", vault.process_id())).unwrap();
    assert!(!status.contains("THP_enabled:\t1"), "{status}");
}

fn store_and_read_all(vault: &Vault) -> Vec<String> {
    let numbers: Vec<String> = (0..CARDS).map(number).collect();
    std::thread::scope(|scope| {
        for part in numbers.chunks(CARDS / CONNECTIONS) {
            scope.spawn(|| store_and_read(vault, part));
        }
    });
    numbers
}

fn store_and_read(vault: &Vault, numbers: &[String]) {
    let key = &vault.keys.private;
    for (at, number) in numbers.iter().enumerate() {
        let body = format!(
            r#"{{"type": "card", "data": {{"number": "{number}", "cvc": "123",
                "expiration_month": 12, "expiration_year": 2040}}}}"#
        );
        let mut create = post("/tokens").key(key).body(body);
        if at % 2 == 0 {
            let serial = format!("{:?}-{at}", std::thread::current().id());
            create = create.once(&serial);
        }
        let made = vault.send(&create).with_status(201).id();
        let read = vault.get(&format!("/tokens/{made}"), key).with_status(200);
        assert_eq!(read.json["data"]["number"], json!(number));
        if at % 2 == 0 {
            vault.send(&create).with_status(201);
        }
        if at % 10 == 0 {
            vault.send(&get("/v2/tokens?size=10").key(key)).with_status(200);
            vault.post("/detokenize", key, json!([format!("{{{{ {made} }}}}")])).with_status(200);
        }
    }
}

/// A Visa number with this serial number and its check digit.
fn number(serial: usize) -> String {
    let digits = format!("4539{:011}", serial * 7_919 + 1_234_567);
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(at, digit)| match (at % 2, u32::from(digit - b'0')) {
            (0, digit) if digit > 4 => digit * 2 - 9,
            (0, digit) => digit * 2,
            (_, digit) => digit,
        })
        .sum();
    format!("{digits}{}", (10 - sum % 10) % 10)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Origin {
    Ours,
    Request,
}

type Found = BTreeMap<Vec<u8>, BTreeSet<Origin>>;

/// The numbers that are in the memory of the server. Without root that memory is closed, as it should
/// be: `None` then.
#[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
fn find(vault: &Vault, numbers: &[String]) -> Option<Found> {
    let wanted = numbers.iter().map(String::as_bytes).collect();
    match search(vault.process_id(), &wanted) {
        Ok(found) => Some(found),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            println!("skipped: only root may read the memory of the server");
            None
        }
        Err(error) => panic!("the memory of the server cannot be read: {error}"),
    }
}

/// Which of these stand anywhere in the writable memory of the process, and where they come from.
fn search(id: u32, wanted: &BTreeSet<&[u8]>) -> io::Result<Found> {
    let memory = File::open(format!("/proc/{id}/mem"))?;
    let maps = std::fs::read_to_string(format!("/proc/{id}/maps"))?;
    let mut found = Found::new();
    for line in maps.lines().filter(|line| line.contains(" rw")) {
        let (range, _) = line.split_once(' ').unwrap();
        let (from, to) = range.split_once('-').unwrap();
        let address = |text: &str| u64::from_str_radix(text, 16).unwrap();
        search_range(&memory, address(from), address(to), wanted, &mut found);
    }
    Ok(found)
}

fn search_range(memory: &File, from: u64, to: u64, wanted: &BTreeSet<&[u8]>, found: &mut Found) {
    const STEP: usize = 256 * PAGE;
    // One page more than a step: a number may lie across the border.
    let mut buffer = vec![0; STEP + PAGE];
    let mut at = from;
    while at < to {
        let length = usize::try_from(to - at).unwrap_or(usize::MAX).min(buffer.len());
        // Parts that the kernel does not give are not the program's own.
        if memory.read_exact_at(&mut buffer[..length], at).is_ok() {
            search_bytes(&buffer[..length], wanted, found);
        }
        at += u64::try_from(STEP).unwrap();
    }
}

fn search_bytes(bytes: &[u8], wanted: &BTreeSet<&[u8]>, found: &mut Found) {
    let empty = [0; PAGE];
    for (page, content) in bytes.chunks(PAGE).enumerate() {
        if content == &empty[..content.len()] {
            continue;
        }
        let start = (page * PAGE).saturating_sub(15);
        let end = (page * PAGE + content.len()).min(bytes.len());
        for (at, window) in bytes[start..end].windows(16).enumerate() {
            if window.starts_with(b"4539") && wanted.contains(window) {
                let before = &bytes[..start + at];
                let of_request = before.ends_with(b": \"");
                let origin = if of_request { Origin::Request } else { Origin::Ours };
                found.entry(window.to_vec()).or_default().insert(origin);
            }
        }
    }
}
