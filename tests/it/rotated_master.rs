//! After a rotation of the master key: recovery shares of the key before it, and a source from which
//! the next start would read another key, are told everywhere that an operator looks.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::Value;

use crate::archive::text;
use crate::harness::{Running, Vault, needs_one_process, wait_until};
use crate::master_key_command::Commanded;
use crate::watch::{metric, on_socket};

fn status(vault: &Vault) -> Value {
    vault.operator(&["status", "--json"]).with_code(0).json()
}

fn make_shares(vault: &Vault, name: &str) {
    let directory = vault.directory().join(name);
    let shares = ["key", "shares", "--scheme", "2-of-3", "--directory", text(&directory)];
    vault.operator(&shares).with_code(0);
}

fn put(path: &Path, content: &[u8]) {
    fs::remove_file(path).unwrap();
    fs::write(path, content).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o400)).unwrap();
}

fn report(vault: &Vault) -> String {
    vault.operator(&["report", "--json"]).with_code(0).stdout
}

#[test]
fn shares_of_a_replaced_master_key_are_told_until_there_are_new_ones() {
    needs_one_process!("the master key is not replaced beside other processes");
    let vault = Vault::start();
    assert_eq!(status(&vault)["keys"]["recovery_shares"], "none made");
    make_shares(&vault, "old");
    assert_eq!(status(&vault)["keys"]["recovery_shares"], "of the current key");
    assert_eq!(metric(&vault, "strongroom_check{check=\"shares\"}"), 1);
    vault.operator(&["key", "rotate", "--master"]).with_code(0);
    let told = status(&vault);
    assert_eq!(told["keys"]["recovery_shares"], "of a replaced key");
    let warning = told["checks"]["shares"].as_str().unwrap();
    assert!(warning.contains("of a replaced master key"), "{warning}");
    assert!(on_socket(&vault, "/readyz").1.contains(warning), "readyz");
    assert_eq!(metric(&vault, "strongroom_check{check=\"shares\"}"), 0);
    assert_eq!(metric(&vault, "strongroom_ready"), 1, "it is a warning");
    let said = report(&vault);
    assert!(said.contains("All recovery shares are of replaced master keys"), "{said}");
    make_shares(&vault, "new");
    let told = status(&vault);
    assert_eq!(told["keys"]["recovery_shares"], "of the current key");
    assert_eq!(told["checks"]["shares"], "ok");
    let said = report(&vault);
    assert!(!said.contains("All recovery shares"), "{said}");
}

#[test]
fn a_key_file_with_another_key_than_the_vaults_is_told_before_the_next_start_fails() {
    let mut vault = Vault::start();
    assert_eq!(vault.stop(), Some(0));
    vault.restart_as_service();
    let old = fs::read(vault.master_key()).unwrap();
    vault.operator(&["key", "rotate", "--master"]).with_code(0);
    let new = fs::read(vault.master_key()).unwrap();
    let told = status(&vault);
    assert_eq!(told["keys"]["next_start_reads"], "the current key");
    assert_eq!(told["checks"]["next_start"], "ok");
    assert_eq!(metric(&vault, "strongroom_next_start_key_current"), 1);
    let said = vault.operator(&["check"]).with_code(0).stdout;
    assert!(said.contains("it is the vault's current key"), "{said}");
    // As after a restore of /etc from a backup. The server looks every ten seconds.
    put(&vault.master_key(), &old);
    wait_until("the server has read the other key", || {
        status(&vault)["keys"]["next_start_reads"] == "another key"
    });
    let told = status(&vault);
    let warning = told["checks"]["next_start"].as_str().unwrap();
    assert!(warning.contains("the next start would fail"), "{warning}");
    assert_eq!(metric(&vault, "strongroom_check{check=\"next_start\"}"), 0);
    assert!(on_socket(&vault, "/metrics").1.contains("\nstrongroom_next_start_key_current 0\n"));
    let said = vault.operator(&["check"]).with_code(77).stderr;
    assert!(said.contains("and the vault's current key is"), "{said}");
    let said = report(&vault);
    assert!(said.contains("and the vault's current key is"), "{said}");
    put(&vault.master_key(), b"nonsense");
    wait_until("the server has read that there is no key", || {
        status(&vault)["keys"]["next_start_reads"] == "not known"
    });
    assert!(!on_socket(&vault, "/metrics").1.contains("\nstrongroom_next_start_key_current "));
    // The new key is back: the next look sees it at once.
    put(&vault.master_key(), &new);
    let told = status(&vault);
    assert_eq!(told["keys"]["next_start_reads"], "the current key");
    assert_eq!(told["checks"]["next_start"], "ok");
    assert_eq!(vault.stop(), Some(0));
    let said = vault.operator(&["check"]).with_code(0).stdout;
    assert!(said.contains("no server is running that would tell"), "{said}");
}

#[test]
fn a_key_from_a_command_is_not_known_after_a_rotation_until_check_runs_it() {
    let commanded = Commanded::new("");
    let vault = &commanded.vault;
    let place = vault.directory();
    let (mut server, _) = Running::serve(&vault.config(), &place.join("service.log"));
    assert_eq!(status(vault)["keys"]["next_start_reads"], "the current key");
    let said = vault.operator(&["check"]).with_code(0).stdout;
    assert!(said.contains("strongroom check --run-command"), "{said}");
    let new = place.join("new.key");
    vault.operator(&["key", "rotate", "--master", "--out", text(&new)]).with_code(0);
    let told = status(vault);
    assert_eq!(told["keys"]["next_start_reads"], "not known");
    let warning = told["checks"]["next_start"].as_str().unwrap();
    assert!(warning.contains("was replaced since the start"), "{warning}");
    commanded.runs();
    let said = vault.operator(&["check", "--run-command"]).with_code(77).stderr;
    assert!(said.contains("it prints the key "), "{said}");
    assert_eq!(commanded.runs(), 1);
    put(&place.join("kept.key"), &fs::read(&new).unwrap());
    let said = vault.operator(&["check", "--run-command"]).with_code(0).stdout;
    assert!(said.contains("it prints the vault's current key"), "{said}");
    assert_eq!(server.terminate(), Some(0));
    let (mut server, _) = Running::serve(&vault.config(), &place.join("service.log"));
    assert_eq!(status(vault)["keys"]["next_start_reads"], "the current key");
    assert_eq!(server.terminate(), Some(0));
}
