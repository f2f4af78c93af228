//! `strongroom compact` on the real binary.

use serde_json::json;

use crate::harness::{Vault, needs_data_file, run};

#[test]
fn a_stopped_vault_is_compacted_and_a_running_one_is_refused() {
    needs_data_file!("only a file is compacted");
    let mut vault = Vault::start();
    let id = vault.token(json!({"type": "token", "data": "kept"}));
    let data = vault.data();
    let compact = ["compact", "--data", data.to_str().unwrap()];
    run(&compact).with_code(69);
    assert_eq!(vault.stop(), Some(0));
    let ended = run(&compact).with_code(0);
    let (measured, said) = (&ended.stderr, &ended.stdout);
    assert!(measured.starts_with("The data file has "), "{measured}");
    assert!(measured.contains(" is free: compact returns about that much"), "{measured}");
    assert!(said.contains("The data file is compacted."), "{said}");
    let facts = run(&[&compact[..], &["--json"]].concat()).with_code(0);
    assert!(facts.stderr.is_empty(), "{}", facts.stderr);
    assert!(facts.json()["free_bytes"].is_u64());
    vault.verify().with_code(0);
    vault.restart();
    let read = vault.read(&id).with_status(200);
    assert_eq!(read.json["data"], "kept");
}
