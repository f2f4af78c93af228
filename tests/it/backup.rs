//! Backups from the command line and by the schedule: what they hold, what they never hold, and
//! what is refused.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::json;

use crate::backup_load::{FIXTURES, of_format, replace};
use crate::harness::{
    Directory, Vault, needs_data_file, on_postgres, run, wait_for as wait_for_value,
};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

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
    let before = vault.get(&format!("/tokens/{named}"), &vault.keys.private).json;
    let file = vault.directory().join("a.backup");
    let said = vault.operator(&["backup", text(&file)]).with_code(0).stdout;
    assert!(said.contains("tokens:        2\n"), "{said}");
    let later = vault.token(json!({"type": "token", "data": "after the backup"}));
    assert_eq!(vault.stop(), Some(0));
    replace(&vault, text(&file));
    vault.restart();
    assert_eq!(vault.get(&format!("/tokens/{named}"), &vault.keys.private).json, before);
    let shown = vault.get(&format!("/tokens/{card}"), &vault.keys.private).with_status(200);
    assert_eq!(shown.json["data"]["number"], "4242424242424242");
    assert_eq!(shown.json["data"].get("cvc"), None);
    vault.get(&format!("/tokens/{later}"), &vault.keys.private).problem(404);
    vault.get("/tokens/by-name", &vault.keys.public).problem(403);
    assert_eq!(vault.stop(), Some(0));
    vault.verify().with_code(0);
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
    assert_eq!(vault.stop(), Some(0));
    let backups = vault.directory().join("backups");
    fs::create_dir(&backups).unwrap();
    let settings = fs::read_to_string(vault.config()).unwrap();
    let settings = format!("{settings}[backup]\ndirectory = \"{}\"\n", backups.display());
    vault.directory().write("strongroom.toml", settings, 0o600);
    vault.restart_as_service();
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
    assert_eq!(vault.stop(), Some(0));
    let settings = fs::read_to_string(vault.config()).unwrap();
    let settings = format!("{settings}[backup]\ndirectory = \"/nowhere/at/all\"\n");
    vault.directory().write("strongroom.toml", settings, 0o600);
    vault.restart_as_service();
    let failed = wait_for(&vault, "backup_failed");
    for part in [r#""path":"/nowhere/at/all""#, r#""why":"target""#, r#""cause":"missing""#] {
        assert!(failed.contains(part), "{part}: {failed}");
    }
    vault.token(json!({"type": "token", "data": "the server works on"}));
    assert_eq!(vault.stop(), Some(0));
}

/// Values of the fixture's vault, made when its format was the newest.
const TOKEN: &str = "01a1ddab-9a06-4622-918e-4c2cb78884e3";
const CARD: &str = "01a1ddab-9a27-43a1-8cea-a0d930ad747f";
const KEY: &str = "key_test_self_pvt_RkgLjUu2xb7E8DnjCXe2z6.16a37bf1a137aa872824c84e1d93f9a5";

#[test]
fn a_backup_of_the_first_format_is_verified_restored_migrated_and_served() {
    needs_data_file!("only files have older formats");
    let fixture = format!("{FIXTURES}/format-1.backup");
    let place = Directory::new();
    let copy = place.join("a.backup");
    fs::copy(&fixture, &copy).unwrap();
    let key = fs::read(format!("{FIXTURES}/format-1.key")).unwrap();
    let key = place.write("master.key", key, 0o400);
    run(&["verify", text(&copy)]).with_code(0);
    let walked = run(&["verify", text(&copy), "--key", text(&key)]).with_code(0).stdout;
    assert!(walked.contains("tokens:         4\n"), "{walked}");
    let mut vault = Vault::start();
    assert_eq!(vault.stop(), Some(0));
    let old = fs::read(&key).unwrap();
    vault.directory().write("data/master.key", old, 0o400);
    replace(&vault, text(&copy));
    vault.restart_as_service();
    let read = |id: &str| vault.get(&format!("/tokens/{id}"), KEY).with_status(200).json;
    assert_eq!(read(TOKEN)["data"], "kept since format 1");
    assert_eq!(read("named_in_format_1")["data"], "036-48-7219");
    assert_eq!(read(CARD)["containers"], json!(["/pci/high/"]));
    assert!(vault.data().join("strongroom.redb.format-1.backup").exists());
    assert_eq!(vault.stop(), Some(0));
    vault.verify().with_code(0);
}

/// Values of the fixture's vault: a token, a card and a key, made after a rotation of the master key
/// and of the server's own.
const TOKEN_2: &str = "01a1deee-b7cf-4a61-a0fa-613f6ad76e7e";
const CARD_2: &str = "01a1deee-b914-44c9-aa5a-27b0b838491b";
const KEY_2: &str = "key_test_self_pvt_9aLZpGeqVnDeGtwesXq95S.0557facdfbf964489f73c6dfbf74300a";

#[test]
fn a_file_of_the_second_format_is_migrated_also_after_a_migration_that_was_killed() {
    needs_data_file!("only files have older formats");
    let mut vault = Vault::start();
    assert_eq!(vault.stop(), Some(0));
    let key = fs::read(format!("{FIXTURES}/format-2.key")).unwrap();
    let key = vault.directory().write("data/master.key", key, 0o400);
    let (data, restored) = (vault.data(), vault.directory().join("restored"));
    run(&["restore", &format!("{FIXTURES}/format-2.backup"), "--data", text(&restored)])
        .with_code(0);
    fs::rename(restored.join("strongroom.redb"), data.join("strongroom.redb")).unwrap();
    fs::remove_file(data.join("cvc.keys")).unwrap();
    // As a process leaves it that is killed while it backs the file up before the migration.
    let before = data.join("strongroom.redb.format-2.backup");
    let cut_off = data.join("strongroom.redb.format-2.backup.unfinished");
    fs::write(&cut_off, "strongroom backup").unwrap();
    vault.restart_as_service();
    assert!(!cut_off.exists() && before.exists());
    let read = |id: &str| vault.get(&format!("/tokens/{id}"), KEY_2).with_status(200).json;
    assert_eq!(read(TOKEN_2)["data"], "kept since format 2");
    assert_eq!(read("named_in_format_2")["data"], "036-48-7219");
    assert_eq!(read(CARD_2)["containers"], json!(["/pci/high/"]));
    // The way back: it is signed as the older program signs, and holds what that one knows.
    let kept = run(&["verify", text(&before), "--key", text(&key)]).with_code(0).stdout;
    assert!(kept.contains("data file's format 2"), "{kept}");
    // Keys that an older program made and rotated go on rotating.
    vault.operator(&["key", "rotate", "--server"]).with_code(0);
    wait_for(&vault, "rotation_finished");
    assert_eq!(read(TOKEN_2)["data"], "kept since format 2");
    vault.operator(&["key", "destroy", "--server", "--number", "1"]).with_code(0);
    vault.operator(&["key", "rotate", "--master"]).with_code(0);
    let after = vault.directory().join("after.backup");
    vault.operator(&["backup", text(&after)]).with_code(0);
    assert_eq!(vault.stop(), Some(0));
    vault.verify().with_code(0);
    run(&["verify", text(&after), "--key", text(&key)]).with_code(0);
    vault.restart_as_service();
    assert_eq!(vault.get(&format!("/tokens/{TOKEN_2}"), KEY_2).with_status(200).id(), TOKEN_2);
}

const KEY_4: &str = "key_test_self_pvt_Rb8wmCFBBygsXxSwDbzC1d.2586e33d8323cbf691fda6beddb1e9b4";

#[test]
fn a_backup_of_the_fourth_format_is_restored_and_migrated() {
    needs_data_file!("only files have older formats");
    let mut vault = of_format(4);
    assert!(vault.data().join("strongroom.redb.format-4.backup").exists());
    let card = vault.get("/tokens/named_in_format_4", KEY_4).with_status(200).json;
    assert_eq!(card["data"]["number"], "4242424242424242");
    assert_eq!(vault.get("/v2/tokens", KEY_4).with_status(200).json["data"][0]["type"], "token");
    assert_eq!(vault.stop(), Some(0));
    vault.verify().with_code(0);
}

const KEY_5: &str = "key_test_self_pvt_PSGjUAaQboN1gehawamURC.60333e2e77bc292388240ee15132ca09";
const MANAGEMENT_5: &str = "key_test_self_mgt_GH5cReMmEWKAPQKR3uiGWY";

#[test]
fn a_backup_of_the_fifth_format_is_restored_and_migrated_and_notes_uses_of_keys() {
    needs_data_file!("only files have older formats");
    let mut vault = of_format(5);
    assert!(vault.data().join("strongroom.redb.format-5.backup").exists());
    let card = vault.get("/tokens/named_in_format_5", KEY_5).with_status(200).json;
    assert_eq!(card["data"]["number"], "4242424242424242");
    let tenant = card["tenant_id"].as_str().unwrap();
    for path in ["/webhooks", "/proxies"] {
        let listed = vault.get(path, MANAGEMENT_5).with_status(200).json;
        assert_eq!(listed["data"].as_array().unwrap().len(), 1, "{path}");
    }
    assert_eq!(vault.stop(), Some(0));
    vault.verify().with_code(0);
    let listed = vault.operator(&["application", "list", "--tenant", tenant]).json();
    let keys: Vec<_> = listed.as_array().unwrap().iter().map(|it| &it["keys"][0]).collect();
    let used = keys.iter().filter(|key| key["last_used_at"].is_string()).count();
    assert_eq!((keys.len(), used), (3, 2), "{listed}");
}

/// Values of the fixture's vault: tokens with metadata, one of them in several containers, and a card
/// whose creation had an idempotency key.
const CARD_3: &str = "01a1e049-71c9-4c6a-aae4-b3bd95d98ee5";
const SEVERAL_3: &str = "01a1e049-6f89-476f-8e71-003f913e69fe";
const KEY_3: &str = "key_test_self_pvt_EhaqrmJ1iq63JiC9CwAQX4.d10c95de9402b1eaafcf3806c69a4a1a";

#[test]
fn a_backup_of_the_third_format_is_restored_migrated_and_listed() {
    needs_data_file!("only files have older formats");
    let mut vault = Vault::start();
    assert_eq!(vault.stop(), Some(0));
    let key = fs::read(format!("{FIXTURES}/format-3.key")).unwrap();
    let key = vault.directory().write("data/master.key", key, 0o400);
    let fixture = format!("{FIXTURES}/format-3.backup");
    let walked = run(&["verify", &fixture, "--key", text(&key)]).with_code(0).stdout;
    assert!(walked.contains("tokens:         6\n"), "{walked}");
    replace(&vault, &fixture);
    vault.restart_as_service();
    let before = vault.data().join("strongroom.redb.format-3.backup");
    let kept = run(&["verify", text(&before), "--key", text(&key)]).with_code(0).stdout;
    assert!(kept.contains("data file's format 3"), "{kept}");
    let listed = |path: &str| {
        let answer = vault.get(path, KEY_3).with_status(200).json;
        let ids = answer["data"].as_array().unwrap().iter();
        ids.map(|token| String::from(token["id"].as_str().unwrap())).collect::<Vec<_>>()
    };
    assert_eq!(listed("/tokens").len(), 6);
    assert_eq!(listed("/tokens?metadata.USER=ANN&metadata.plan=gold"), [SEVERAL_3]);
    assert_eq!(listed("/tokens?metadata.order=a-17&metadata.user=ann"), [CARD_3]);
    assert_eq!(listed("/v2/tokens?metadata.order=A-17"), [CARD_3]);
    let card = vault.get(&format!("/tokens/{CARD_3}"), KEY_3).with_status(200).json;
    assert_eq!(card["data"]["number"], "4242424242424242");
    assert_eq!(vault.stop(), Some(0));
    vault.verify().with_code(0);
}
