//! A bit that flipped on the disk is reported as damaged data, and never causes a panic.

use std::fs;

use serde_json::json;

use crate::harness::{Vault, needs_data_file, thorough};

/// An eighth of the flipped bits is found at least.
const FOUND_PART: usize = 8;

#[test]
fn a_flipped_bit_is_damaged_data_or_harmless_and_never_a_panic() {
    needs_data_file!("it damages the file");
    let mut vault = Vault::start();
    for at in 0..20 {
        vault.token(json!({"type": "token", "data": at}));
    }
    assert_eq!(vault.stop(), Some(0));
    let path = vault.data().join("strongroom.redb");
    let bytes = fs::read(&path).unwrap();
    let used: Vec<_> = (0..bytes.len()).filter(|at| bytes[*at] != 0).collect();
    let (samples, mut found) = (thorough(30, 150), 0);
    for at in used.iter().step_by(used.len() / samples) {
        let mut flipped = bytes.clone();
        flipped[*at] ^= 4;
        fs::write(&path, flipped).unwrap();
        let ended = vault.verify();
        assert!([Some(0), Some(65)].contains(&ended.code), "byte {at}: {ended:?}");
        assert!(!ended.stderr.contains("panicked"), "byte {at}: {}", ended.stderr);
        found += usize::from(ended.code == Some(65));
    }
    // The others lie in pages that no row uses any more.
    println!("{found} of {samples} flipped bits were found");
    assert!(found >= samples / FOUND_PART, "{found} of {samples} were found");
}

/// No failure of the disk.
#[test]
fn a_data_file_that_ends_inside_its_header_is_damaged_data() {
    needs_data_file!("it cuts the file");
    let mut vault = Vault::start();
    assert_eq!(vault.stop(), Some(0));
    let path = vault.data().join("strongroom.redb");
    let bytes = fs::read(&path).unwrap();
    for length in [10, 100, 319] {
        fs::write(&path, &bytes[..length]).unwrap();
        vault.verify().with_code(65);
    }
}
