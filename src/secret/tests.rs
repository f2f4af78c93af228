//! Searches the memory of this process: dropped secrets must not be found in it.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use super::*;

/// Only [`canary`] writes it. It is stored only with its bits flipped.
const FLIPPED: [u8; 24] = {
    let mut text = *b"918273645546372819283746";
    let mut at = 0;
    while at < text.len() {
        text[at] = !text[at];
        at += 1;
    }
    text
};

fn canary() -> Vec<u8> {
    FLIPPED.iter().map(|byte| !byte).collect()
}

/// The number of canaries in writable memory; `None` if the memory cannot be read.
fn count() -> Option<usize> {
    const CHUNK: usize = 64 * 1024;
    let memory = File::open("/proc/self/mem").ok()?;
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let zeros = vec![0; CHUNK + FLIPPED.len()];
    let mut chunk = zeros.clone();
    let mut found = 0;
    for line in maps.lines().filter(|line| line.contains(" rw")) {
        let (from, to) = line.split(' ').next()?.split_once('-')?;
        let (mut at, to) = (u64::from_str_radix(from, 16).ok()?, u64::from_str_radix(to, 16).ok()?);
        while at < to {
            let length = usize::try_from(to - at).ok()?.min(chunk.len());
            let is_read = memory.read_exact_at(&mut chunk[..length], at).is_ok();
            // Most of the memory that an allocator has reserved was never used.
            if is_read && chunk[..length] != zeros[..length] {
                found += occurrences(&chunk[..length]);
            }
            // The next pass must not find the canary in this chunk.
            chunk.fill(0);
            at += u64::try_from(CHUNK).ok()?;
        }
    }
    Some(found)
}

fn occurrences(text: &[u8]) -> usize {
    let is_it = |window: &&[u8]| window.iter().zip(FLIPPED).all(|(one, it)| *one == !it);
    let starts = text.iter().enumerate().filter(|(_, byte)| **byte == !FLIPPED[0]);
    starts.filter_map(|(at, _)| text.get(at..at + FLIPPED.len())).filter(is_it).count()
}

#[test]
fn what_was_freed_is_nowhere_in_memory() {
    let Some(before) = count() else {
        return println!("skipped: the memory of this process cannot be read");
    };
    assert_eq!(before, 0);
    let mut buffer = SecretBuffer::with_capacity(0);
    for _ in 0..100 {
        // Far from the beginning of the allocation, where allocators write their own data.
        buffer.extend(&[b'.'; 64]);
        let secret = Secret::new(canary());
        buffer.extend(secret.expose());
    }
    assert!(count() >= Some(100), "it is found while it is there");
    let body = SecretBody::new(buffer.finish());
    drop(body);
    let value = Secret::new(Value::from(vec![Value::from(String::from_utf8(canary()).unwrap())]));
    drop(value);
    assert_eq!(count(), Some(0));
    check_parsed(|digits| format!("[{digits}]"), "the digits of a number");
    check_parsed(|digits| format!("{{\"{digits}\":1}}"), "the name of a member");
    check_parsed(|digits| format!("[\"\\u0041{digits}\"]"), "a text with an escape");
}

/// The canary, as part of a JSON text that is parsed and dropped.
fn check_parsed(json: impl Fn(&str) -> String, what: &str) {
    let digits = Secret::new(String::from_utf8(canary()).unwrap());
    let text = Secret::new(json(digits.expose()));
    let value = Secret::new(serde_json::from_str::<Value>(text.expose()).unwrap());
    drop((digits, text));
    assert!(count() >= Some(1), "{what} is found while it is there");
    drop(value);
    assert_eq!(count(), Some(0), "{what}");
}

#[test]
fn debug_shows_nothing_of_the_value() {
    let secret = Secret::new(String::from("4242424242424242"));
    assert_eq!(format!("{secret:?}"), "Secret(..)");
}
