//! A log that is damaged, incomplete or of another program: `verify` and the start name the segment
//! and say what to do.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use crate::harness::{Vault, needs_data_file};

/// The length of a sector; the first frame is behind the header, which takes one.
const SECTOR: usize = 512;

/// A vault that was killed, its first segment, and the ids of its tokens.
fn killed() -> (Vault, PathBuf, Vec<String>) {
    let mut vault = Vault::start();
    let data = vault.data();
    let ids = (0..5).map(|at| vault.token(json!({"type": "token", "data": at.to_string()})));
    let ids = ids.collect();
    vault.kill();
    vault.move_key_out();
    let names = fs::read_dir(data).unwrap().map(|entry| entry.unwrap().path());
    let segment = |path: &PathBuf| path.to_str().unwrap().contains("strongroom.log.0");
    let segment = names.filter(segment).min().unwrap();
    (vault, segment, ids)
}

#[track_caller]
fn check(vault: &Vault, words: &[&str]) {
    for refused in [vault.verify(), vault.operator(&["serve"])] {
        let text = refused.with_code(65).stderr;
        for word in words {
            assert!(text.contains(word), "{text} lacks {word}");
        }
    }
}

#[test]
fn other_bytes_over_the_last_answered_entries_are_found_by_verify_and_by_the_start() {
    needs_data_file!("it damages the log");
    let (vault, segment, _) = killed();
    let name = segment.file_name().unwrap().to_str().unwrap().to_owned();
    vault.verify().with_code(0);
    let mut damaged = fs::read(&segment).unwrap();
    let last = damaged.rchunks(SECTOR).position(|sector| sector.iter().any(|it| *it != 0)).unwrap();
    let end = damaged.len() - last * SECTOR;
    // At least the last two entries, from the start of a sector on.
    for (at, byte) in damaged[end - 8 * SECTOR..end].iter_mut().enumerate() {
        *byte = u8::try_from((at * 31 + at / 7) % 251).unwrap() | 1;
    }
    fs::write(&segment, &damaged).unwrap();
    check(&vault, &[&name, "is damaged at byte", "restore the newest backup"]);
}

#[test]
fn a_damaged_missing_or_newer_segment_is_named_with_what_to_do() {
    needs_data_file!("it damages the log");
    let (mut vault, segment, ids) = killed();
    let name = segment.file_name().unwrap().to_str().unwrap().to_owned();
    vault.verify().with_code(0);
    let whole = fs::read(&segment).unwrap();
    let mut damaged = whole.clone();
    damaged[SECTOR + 30] ^= 1;
    fs::write(&segment, &damaged).unwrap();
    check(&vault, &[&name, "byte 512", "restore the newest backup"]);
    let mut newer = whole.clone();
    newer[15] = 9;
    fs::write(&segment, &newer).unwrap();
    check(&vault, &[&name, "newer strongroom", "use the newer program"]);
    let moved = vault.directory().join("moved");
    fs::rename(&segment, &moved).unwrap();
    check(&vault, &[&name, "is missing", "move it back"]);
    // Nothing was changed: with the log as it was, everything is there.
    fs::write(&segment, &whole).unwrap();
    vault.verify().with_code(0);
    vault.restart();
    for id in &ids {
        vault.read(id).with_status(200);
    }
}
