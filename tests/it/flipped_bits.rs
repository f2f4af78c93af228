//! A bit that flipped on the disk is reported as damaged data, and never causes a panic.

use std::fs;

use serde_json::json;

use crate::harness::{Vault, needs_data_file};

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
    for at in used.iter().step_by(used.len() / 150) {
        let mut flipped = bytes.clone();
        flipped[*at] ^= 4;
        fs::write(&path, flipped).unwrap();
        let ended = vault.verify();
        assert!([Some(0), Some(65)].contains(&ended.code), "byte {at}: {ended:?}");
        assert!(!ended.stderr.contains("panicked"), "byte {at}: {}", ended.stderr);
    }
}
