//! The files of the data directory are removed or replaced while the server has them open: it ends
//! instead of answering for changes that are lost when it stops.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::harness::{Vault, needs_data_file};

#[track_caller]
fn check_ends(vault: &mut Vault, file: &Path) {
    assert_eq!(vault.wait(), Some(74), "{}", vault.log());
    let log = vault.log();
    let what = format!("{} was removed or replaced", file.display());
    assert!(log.contains(&what), "{log}");
    assert!(log.contains("move it back"), "{log}");
    assert!(log.contains("\"data_file_removed\""), "{log}");
}

#[test]
fn a_server_whose_data_file_is_removed_ends_and_says_so() {
    needs_data_file!("it removes the file");
    let mut vault = Vault::start();
    let file = vault.data().join("strongroom.redb");
    let id = vault.token(json!({"type": "token", "data": "x"}));
    let moved = vault.data().join("moved");
    fs::hard_link(&file, &moved).unwrap();
    fs::remove_file(&file).unwrap();
    check_ends(&mut vault, &file);
    // It was moved, so moving it back is all that is needed.
    fs::rename(&moved, &file).unwrap();
    vault.restart();
    vault.read(&id).with_status(200);
}

#[test]
fn a_server_whose_data_file_is_replaced_ends_and_says_so() {
    needs_data_file!("it removes the file");
    let mut vault = Vault::start();
    let file = vault.data().join("strongroom.redb");
    let copy = vault.data().join("copy");
    fs::copy(&file, &copy).unwrap();
    fs::rename(&copy, &file).unwrap();
    check_ends(&mut vault, &file);
}

#[test]
fn a_server_whose_cvc_keys_are_removed_ends_and_says_so() {
    needs_data_file!("it removes the file");
    let mut vault = Vault::start();
    let file = vault.data().join("cvc.keys");
    fs::remove_file(&file).unwrap();
    check_ends(&mut vault, &file);
}

/// A stop between two looks is no clean stop either.
#[test]
fn a_server_that_is_stopped_right_after_its_data_file_was_removed_does_not_end_well() {
    needs_data_file!("it removes the file");
    let mut vault = Vault::start();
    let file = vault.data().join("strongroom.redb");
    fs::rename(&file, vault.data().join("moved")).unwrap();
    assert_eq!(vault.stop(), Some(74));
    assert!(vault.log().contains("was removed or replaced"), "{}", vault.log());
}
