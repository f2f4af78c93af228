//! Looks into the memory of this very process: what was dropped must be in it nowhere.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use super::*;

/// Written only by [`canary`], and held in no other spelling than with its bits flipped.
const FLIPPED: [u8; 24] = {
    let mut text = *b"cAnArY-5d1f-of-the-vault";
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

/// How many times it stands in writable memory; `None` where that cannot be read.
fn count() -> Option<usize> {
    let memory = File::open("/proc/self/mem").ok()?;
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let mut found = 0;
    let mut page = vec![0; 4_096 + FLIPPED.len()];
    for line in maps.lines().filter(|line| line.contains(" rw")) {
        let (from, to) = line.split(' ').next()?.split_once('-')?;
        let (mut at, to) = (u64::from_str_radix(from, 16).ok()?, u64::from_str_radix(to, 16).ok()?);
        while at < to {
            let length = usize::try_from(to - at).ok()?.min(page.len());
            let there = memory.read_exact_at(&mut page[..length], at).is_ok();
            let windows = page[..length].windows(FLIPPED.len());
            let is_it = |window: &&[u8]| {
                window[0] == !FLIPPED[0] && window.iter().zip(FLIPPED).all(|(one, it)| *one == !it)
            };
            found += if there { windows.filter(is_it).count() } else { 0 };
            // What was read must not be found in its turn.
            page.fill(0);
            at += 4_096;
        }
    }
    Some(found)
}

#[test]
fn what_was_sent_or_outgrown_is_nowhere_in_memory() {
    let Some(before) = count() else {
        return println!("skipped: the memory of this process cannot be read");
    };
    assert_eq!(before, 0);
    let mut buffer = SecretBuffer::with_capacity(0);
    for _ in 0..100 {
        // Far from the beginning of its allocation, where allocators write their own.
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
}

#[test]
fn debug_shows_nothing_of_the_value() {
    let secret = Secret::new(String::from("4242424242424242"));
    assert_eq!(format!("{secret:?}"), "Secret(..)");
}

#[test]
fn wiping_a_json_value_leaves_no_text_in_it() {
    let mut value = serde_json::json!(["4242", ["a", {"b": "c"}], 7, {"4242": "4242"}]);
    value.wipe();
    assert_eq!(value, serde_json::json!(["", ["", {}], null, {}]));
}
