//! The progress of long work in `status` and in the metrics: rotations and the archive.

use std::fs;

use serde_json::{Value, json};

use crate::archive::Archived;
use crate::harness::{Vault, needs_data_file, wait_until};
use crate::watch::metric;

fn status(vault: &Vault) -> Value {
    vault.operator(&["status", "--json"]).json()
}

#[test]
fn a_rotation_shows_the_records_and_tokens_that_are_left() {
    const TOKENS: u64 = 40;
    let mut vault = Vault::start();
    for number in 0..TOKENS {
        let metadata = json!({"order": number.to_string()});
        vault.token(json!({"type": "token", "data": "x", "metadata": metadata}));
    }
    assert_eq!(vault.stop(), Some(0));
    // So slow that the rotation does not end while the test looks.
    vault.set("rate_limits = false\nkeys.reencrypt_per_second = 1");
    vault.restart_as_service();
    assert_eq!(status(&vault)["keys"]["rotations"], 0);
    assert!(status(&vault)["keys"].get("rotation_percent").is_none());
    vault.operator(&["key", "rotate", "--tenant", &vault.tenant_id]).with_code(0);
    wait_until("the rotation has looked at some records", || {
        let keys = &status(&vault)["keys"];
        keys["rotation_phase"] == "re-encrypting"
            && keys["rotation_records_done"].as_u64() > Some(0)
            && keys["rotation_left_s"].as_u64() > Some(0)
    });
    let keys = &status(&vault)["keys"];
    // Each token of this vault has its record; applications and their keys come after them.
    let left = keys["rotation_records_left"].as_u64().unwrap();
    let done = keys["rotation_records_done"].as_u64().unwrap();
    assert!(left > 0 && left + done >= TOKENS, "{keys}");
    assert_eq!(keys["rotation_tokens_left"], TOKENS);
    assert!(keys["rotation_percent"].as_u64().unwrap() < 100, "{keys}");
    assert!(metric(&vault, "strongroom_key_rotation_records_left") > 0);
    assert_eq!(metric(&vault, "strongroom_key_rotation_tokens_left"), TOKENS);
    let shown = vault.operator(&["status"]).with_code(0).stdout;
    for words in ["rotation records left", "rotation tokens left", "% done", "rotation left"] {
        assert!(shown.contains(words), "{words} in {shown}");
    }
    assert!(metric(&vault, "strongroom_key_rotation_left_seconds") > 0);
    let listed = vault.operator(&["key", "list"]).with_code(0).stdout;
    let rotation = listed.lines().find(|line| line.starts_with("rotation in progress")).unwrap();
    assert!(rotation.contains("% done, about "), "{rotation}");
    // A fast server ends it.
    vault.stop_and_restart();
    wait_until("the rotation is over", || status(&vault)["keys"]["rotations"] == 0);
    assert!(status(&vault)["keys"].get("rotation_records_left").is_none());
}

#[test]
fn the_archive_shows_the_part_of_the_log_that_it_lacks() {
    needs_data_file!("the archive copies its log");
    let archived = Archived::start();
    archived.token("1");
    archived.settle();
    wait_until("all is archived", || {
        let archive = &archived.status()["archive"];
        archive["lag_bytes"] == 0 && archive["lag_batches"] == 0 && archive["lag_s"] == 0
    });
    assert!(archived.status()["archive"]["last_piece_bytes"].as_u64() > Some(0));
    let (directory, away) = (archived.archive(), archived.vault.directory().join("away"));
    fs::rename(&directory, &away).unwrap();
    archived.token("2");
    wait_until("the archive is behind", || {
        let archive = &archived.status()["archive"];
        archive["lag_bytes"].as_u64() > Some(0) && archive["lag_batches"].as_u64() > Some(0)
    });
    assert!(metric(&archived.vault, "strongroom_archive_lag_bytes") > 0);
    assert_eq!(metric(&archived.vault, "strongroom_archive_failing"), 1);
    fs::rename(&away, &directory).unwrap();
    wait_until("the archive has caught up", || archived.status()["archive"]["lag_bytes"] == 0);
}
