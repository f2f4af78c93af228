//! Backups from the command line and by the schedule: what they hold, what they never hold, and
//! what is refused.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::json;

use crate::archive::text;
use crate::backup_load::replace;
use crate::harness::{
    Directory, Vault, needs_data_file, on_postgres, run, wait_for as wait_for_value,
};

fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn a_restored_vault_has_every_value_and_every_key_but_no_card_verification_code() {
    needs_data_file!("it puts a restored file in its place");
    let mut vault = Vault::start();
    let card = vault.token(json!({
        "type": "card",
        "data": {"number": "4242424242424242", "expiration_month": 12, "expiration_year": 2040,
                 "cvc": "987"},
    }));
    let named = vault.token(json!({"type": "token", "id": "by-name", "data": {"deep": ["er"]}}));
    let before = vault.read(&named).json;
    let file = vault.directory().join("a.backup");
    let said = vault.operator(&["backup", text(&file)]).with_code(0).stdout;
    assert!(said.contains("tokens:        2\n"), "{said}");
    let later = vault.token(json!({"type": "token", "data": "after the backup"}));
    assert_eq!(vault.stop(), Some(0));
    replace(&vault, text(&file));
    vault.restart();
    assert_eq!(vault.read(&named).json, before);
    let shown = vault.read(&card).with_status(200);
    assert_eq!(shown.json["data"]["number"], "4242424242424242");
    assert_eq!(shown.json["data"].get("cvc"), None);
    vault.read(&later).problem(404);
    vault.get("/tokens/by-name", &vault.keys.public).problem(403);
    vault.stop_and_verify();
}

#[test]
fn a_backup_holds_no_value_in_clear_and_no_key() {
    needs_data_file!("it searches the file");
    let vault = Vault::start();
    vault.token(json!({
        "type": "card",
        "data": {"number": "4242424242424242", "expiration_month": 12, "expiration_year": 2040,
                 "cvc": "987"},
        "metadata": {"owner": "mARKmeta9c1"},
    }));
    vault.token(json!({"type": "token", "id": "mARKname44d", "data": "mARKdata7f3"}));
    let file = vault.directory().join("a.backup");
    vault.operator(&["backup", text(&file)]).with_code(0);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let bytes = fs::read(&file).unwrap();
    for marker in ["4242424242424242", "\"987\"", "mARKmeta9c1", "mARKname44d", "mARKdata7f3"] {
        assert!(!holds(&bytes, marker.as_bytes()), "{marker}");
    }
    for key in [&vault.keys.private, &vault.keys.public, &vault.keys.management] {
        assert!(!holds(&bytes, key.as_bytes()), "an API key");
    }
    let master = fs::read_to_string(vault.data().join("master.key")).unwrap();
    let master = master.trim();
    assert!(!holds(&bytes, master.as_bytes()), "the master key's text");
    let digit = |at: usize| u8::try_from(char::from(master.as_bytes()[at]).to_digit(16).unwrap());
    let pairs: Vec<u8> =
        (0..32).map(|at| digit(2 * at).unwrap() << 4 | digit(2 * at + 1).unwrap()).collect();
    assert!(!holds(&bytes, &pairs), "the master key");
    // Not even sealed: tenant and minute stand in other places, the sealed key in none.
    let slots = fs::read(vault.data().join("cvc.keys")).unwrap();
    let mut used = slots.chunks(128).filter(|slot| slot.iter().any(|byte| *byte != 0)).peekable();
    assert!(used.peek().is_some(), "there is a key to look for");
    assert!(used.all(|slot| !holds(&bytes, &slot[24..93])), "a sealed key of codes");
    assert!(holds(&bytes, b"\"digest\":"), "the manifest stands in clear");
}

/// Of a new backup with this name.
/// The report of a backup on its tokens and its audit chain.
fn held(vault: &Vault, name: &str) -> (String, String) {
    let file = vault.directory().join(name);
    vault.operator(&["backup", text(&file)]).with_code(0);
    let said = run(&["verify", text(&file)]).with_code(0).stdout;
    let line = |name: &str| String::from(said.lines().find(|line| line.contains(name)).unwrap());
    (line("tokens:"), line("audit chain:"))
}

#[test]
fn a_backup_is_taken_from_a_running_server_and_from_a_closed_file_and_is_in_its_own_audit_chain() {
    let mut vault = Vault::start();
    vault.token(json!({"type": "token", "data": "x"}));
    let running = held(&vault, "a.backup");
    assert_eq!(vault.stop(), Some(0));
    let closed = held(&vault, "b.backup");
    assert_eq!(closed.0, running.0);
    assert_ne!(closed.1, running.1);
    let (made, new) = (vault.directory().join("b.backup"), vault.directory().join("new"));
    let restored = run(&["restore", text(&made), "--data", text(&new)]).with_code(0).stdout;
    let (now, of_backup) = restored.split_once("From the backup ").unwrap();
    for line in ["  tenants:       1\n", "  applications:  3\n", "  tokens:        1\n", &closed.1]
    {
        assert!(now.contains(line), "{line} in {restored}");
    }
    assert!(now.contains("last change:   no later than 20"), "{restored}");
    assert!(of_backup.contains(&closed.0), "{restored}");
    let chain = vault.operator(&["audit", "export"]).with_code(0).stdout;
    assert_eq!(chain.lines().filter(|line| line.contains("\"backup\"")).count(), 2, "{chain}");
    let (data, file) = (vault.data(), vault.directory().join("c.backup"));
    fs::remove_file(data.join("master.key")).unwrap();
    let asked = run(&["backup", "--data", text(&data), text(&file)]).with_code(64);
    assert!(asked.stderr.contains("--master-key"), "{}", asked.stderr);
    assert!(!file.exists());
}

#[test]
fn what_would_overwrite_or_cannot_be_trusted_is_refused() {
    let vault = Vault::start();
    vault.token(json!({"type": "token", "data": "x"}));
    let place = vault.directory();
    let (good, key) = (place.join("a.backup"), vault.data().join("master.key"));
    vault.operator(&["backup", text(&good)]).with_code(0);
    let bytes = fs::read(&good).unwrap();
    let again = vault.operator(&["backup", text(&good)]).with_code(65);
    assert!(again.stderr.contains("none is overwritten"), "{}", again.stderr);
    assert_eq!(fs::read(&good).unwrap(), bytes);
    let nowhere = place.join("missing").join("a.backup");
    vault.operator(&["backup", text(&nowhere)]).with_code(65);
    vault.token(json!({"type": "token", "data": "the server works on"}));
    // A directory that holds anything is no place for a restore.
    if !on_postgres() {
        let occupied = run(&["restore", text(&good), "--data", text(&vault.data())]).with_code(65);
        assert!(occupied.stderr.contains("not empty"), "{}", occupied.stderr);
    }
    let fresh = place.join("fresh");
    let restore = |file: &Path, key: &Path| {
        let ended = run(&["restore", text(file), "--data", text(&fresh), "--key", text(key)]);
        assert!(!fresh.exists() || ended.code == Some(0), "something was left");
        ended
    };
    let other_key = place.write("other.key", "ab".repeat(32), 0o400);
    assert!(restore(&good, &other_key).with_code(77).stderr.contains("another master key"));
    run(&["verify", text(&good), "--key", text(&other_key)]).with_code(77);
    let cut = place.write("cut.backup", &bytes[..bytes.len() - 1], 0o600);
    assert!(restore(&cut, &key).with_code(65).stderr.contains("cut short"));
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 1;
    let flipped = place.write("flipped.backup", flipped, 0o600);
    assert!(restore(&flipped, &key).with_code(65).stderr.contains("damaged from byte"));
    run(&["verify", text(&flipped)]).with_code(65);
    run(&["verify", text(&flipped), "--key", text(&key)]).with_code(65);
    let config = vault.config();
    assert!(restore(&config, &key).with_code(65).stderr.contains("not a strongroom backup"));
    assert!(restore(&nowhere, &key).with_code(65).stderr.contains("cannot read the backup"));
    restore(&good, &key).with_code(0);
    let left = fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| text(name.as_ref()).contains("scratch")).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// The line of this event in the log. The server writes it when the work is done.
fn wait_for(vault: &Vault, event: &str) -> String {
    let event = format!("\"event\":\"{event}\"");
    wait_for_value(&format!("a line of the log with {event}"), || {
        vault.log().lines().find(|line| line.contains(&event)).map(String::from)
    })
}

#[test]
fn a_server_takes_and_proves_backups_by_its_settings() {
    let mut vault = Vault::start();
    vault.token(json!({"type": "token", "data": "x"}));
    let backups = vault.directory().join("backups");
    fs::create_dir(&backups).unwrap();
    vault.serve(&format!("backup.directory = \"{}\"", backups.display()));
    wait_for(&vault, "backup_taken");
    wait_for(&vault, "backup_proven");
    assert_eq!(vault.stop(), Some(0));
    let files: Vec<_> =
        fs::read_dir(&backups).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [file] = files.as_slice() else { panic!("{files:?}") };
    let key = vault.data().join("master.key");
    run(&["verify", text(file), "--key", text(&key)]).with_code(0);
    // A restart does not take the next one before its time.
    vault.restart_as_service();
    assert_eq!(vault.stop(), Some(0));
    assert_eq!(vault.log().matches("\"event\":\"backup_taken\"").count(), 1);
}

#[test]
fn a_directory_that_cannot_be_written_to_costs_the_backup_and_nothing_else() {
    let mut vault = Vault::start();
    vault.serve("backup.directory = \"/nowhere/at/all\"");
    let failed = wait_for(&vault, "backup_failed");
    for part in [r#""path":"/nowhere/at/all""#, r#""why":"target""#, r#""cause":"missing""#] {
        assert!(failed.contains(part), "{part}: {failed}");
    }
    vault.token(json!({"type": "token", "data": "the server works on"}));
    assert_eq!(vault.stop(), Some(0));
}

/// A backup of a vault of format 1 and its master key, with a card, a token, a proxy and a webhook.
const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/format-1.backup");
const FIXTURE_KEY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/format-1.key");
const PRIVATE: &str = "key_test_self_pvt_Pgh149EUWt7pcL22SmhLR2.c70ca2d47277a629aa0868a160d64ae3";
const MANAGEMENT: &str = "key_test_self_mgt_CJcxb3YoK8uFjFaGChhtbo";
const TOKEN: &str = "01a1f462-7427-48e2-8fdd-a6996bdb2e1d";

#[test]
fn a_backup_of_format_1_is_verified_restored_and_served() {
    needs_data_file!("it puts a restored file in its place");
    let mut vault = Vault::start();
    assert_eq!(vault.stop(), Some(0));
    let key = fs::read(FIXTURE_KEY).unwrap();
    let key = vault.directory().write("data/master.key", key, 0o400);
    let walked = run(&["verify", FIXTURE, "--key", text(&key)]).with_code(0).stdout;
    assert!(walked.contains("data file's format 1"), "{walked}");
    // The log of the vault that was here is not removed for the one that takes its place.
    for file in fs::read_dir(vault.data()).unwrap().map(Result::unwrap) {
        if file.file_name().to_string_lossy().starts_with("strongroom.log.") {
            fs::remove_file(file.path()).unwrap();
        }
    }
    replace(&vault, FIXTURE);
    vault.restart_as_service();
    let read = |id: &str| vault.get(&format!("/tokens/{id}"), PRIVATE).with_status(200).json;
    assert_eq!(read(TOKEN)["data"], "kept since format 1");
    assert_eq!(read("named_in_format_1")["data"]["number"], "4242424242424242");
    let found = vault.get("/tokens?metadata.user=bob", PRIVATE).with_status(200).json;
    assert_eq!(found["data"][0]["id"], TOKEN);
    for path in ["/webhooks", "/proxies"] {
        let listed = vault.get(path, MANAGEMENT).with_status(200).json;
        assert_eq!(listed["data"].as_array().unwrap().len(), 1, "{path}");
    }
    vault.stop_and_verify();
}

#[test]
fn a_backup_from_before_the_first_release_is_refused_as_such() {
    let place = Directory::new();
    let mut bytes = fs::read(FIXTURE).unwrap();
    bytes[..17].copy_from_slice(b"strongroom backup");
    let old = place.write("old.backup", bytes, 0o600);
    let refused = run(&["verify", text(&old)]).with_code(65).stderr;
    assert!(refused.contains("a version before the first release"), "{refused}");
}
