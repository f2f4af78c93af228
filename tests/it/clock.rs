//! A clock that was ahead and was set back: what was signed and remembered in that future still counts.

use serde_json::json;

use crate::harness::{Vault, needs_one_process, post};

const HOUR_S: u64 = 3_600;

/// A restarted development server has the time of day again, whatever it was advanced by.
#[test]
fn after_the_clock_was_set_back_the_chain_is_signed_and_keys_are_remembered() {
    needs_one_process!("the clock of each process stops at its own start");
    let mut vault = Vault::start();
    vault.advance(12 * HOUR_S);
    let create = post("/tokens")
        .key(&vault.keys.private)
        .once("of-the-future")
        .json(json!({"type": "token", "data": 1}));
    let first = vault.send(&create).with_status(201);
    vault.stop_and_restart();
    let again = vault.send(&create).with_status(201);
    assert_eq!(again.header("bt-idempotent-replayed"), Some("true"));
    assert_eq!(again.id(), first.id());
    // As the sweep does every few seconds.
    vault.advance(0);
    let said = vault.operator(&["audit", "verify"]).with_code(0).stdout;
    // Entries of the requests above may come in behind the checkpoint; before, none was signed.
    let unsigned = said.split("unanchored:").nth(1).and_then(|rest| rest.trim().chars().next());
    assert!(unsigned.is_some_and(|count| ('0'..='2').contains(&count)), "{said}");
}
