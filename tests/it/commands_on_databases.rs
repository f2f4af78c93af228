//! Commands that find no server on their host and open a database, which processes on other hosts
//! may use.

use std::fs;
use std::sync::Arc;

use serde_json::Value;

use crate::harness::{Cluster, Database, Directory, Vault, wait_until};

fn vault() -> Option<Vault> {
    let database = Arc::new(Database::new(&Cluster::shared()?));
    Some(Vault::start_over(Directory::new(), &[], Some(database)))
}

fn rotate(vault: &Vault) {
    let rotate = ["key", "rotate", "--tenant", &vault.tenant_id];
    vault.operator(&rotate).with_code(0);
}

fn rotations(vault: &Vault) -> usize {
    let list = vault.operator(&["key", "list", "--json"]).json();
    list["rotations"].as_array().unwrap().len()
}

fn value(text: &str) -> Value {
    serde_json::json!({"type": "token", "data": text})
}

fn check(vault: &Vault, id: &str, text: &str) {
    let read = vault.read(id).with_status(200);
    assert_eq!(read.json["data"], text);
}

#[test]
fn a_server_on_a_database_without_fsync_says_so_in_its_log() {
    let Some(vault) = vault() else { return };
    wait_until("the warning", || vault.log().contains("database_without_fsync"));
}

#[test]
fn a_rotation_by_a_command_does_not_wait_for_ever_for_a_process_that_was_killed() {
    let Some(mut vault) = vault() else { return };
    let id = vault.token(value("kept"));
    vault.kill();
    rotate(&vault);
    assert_eq!(rotations(&vault), 0);
    vault.restart();
    check(&vault, &id, "kept");
    vault.stop_and_verify();
}

#[test]
fn a_rotation_that_a_command_begins_is_done_by_the_process_that_leads() {
    let Some(leader) = vault() else { return };
    let id = leader.token(value("kept"));
    let mut other = leader.beside(&leader.database().unwrap().url());
    assert_eq!(other.stop(), Some(0));
    rotate(&other);
    wait_until("the rotation has ended", || rotations(&leader) == 0);
    check(&leader, &id, "kept");
    // The command has left the list of processes.
    let status = leader.operator(&["status", "--json"]).json();
    assert_eq!(status["processes"]["all"].as_array().unwrap().len(), 1, "{status}");
}

#[test]
fn the_master_key_is_replaced_after_the_only_process_was_killed_and_not_beside_a_live_one() {
    let Some(mut one) = vault() else { return };
    let mut two = one.beside(&one.database().unwrap().url());
    assert_eq!(two.stop(), Some(0));
    let replace = ["key", "rotate", "--master"];
    let refused = two.operator(&replace).with_code(65).stderr;
    assert!(refused.contains("why:   Other processes share this database"), "{refused}");
    one.kill();
    one.operator(&replace).with_code(0);
    one.verify().with_code(0);
}

#[test]
fn a_database_user_without_a_right_ends_a_command_with_77_and_the_grant_that_is_missing() {
    let Some(mut vault) = vault() else { return };
    assert_eq!(vault.stop(), Some(0));
    let database = Arc::clone(vault.database().unwrap());
    let user = format!("poor_{}", database.name());
    database.ask(&format!("CREATE ROLE {user} LOGIN"));
    let url = database.url().replace("strongroom@", &format!("{user}@"));
    let settings = fs::read_to_string(vault.config()).unwrap();
    let file = settings.lines().find_map(|line| line.strip_prefix("engine.url_file = ")).unwrap();
    fs::write(file.trim_matches('"'), url).unwrap();
    let refused = |grant: &str| {
        let ended = vault.operator(&["key", "list"]).with_code(77).stderr;
        assert!(ended.contains(grant) && !ended.contains("by itself"), "{grant}: {ended}");
    };
    refused("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES");
    database.ask(&format!("REVOKE CONNECT ON DATABASE {} FROM PUBLIC", database.name()));
    refused("GRANT CONNECT ON DATABASE");
    database.ask(&format!("DROP OWNED BY {user}; DROP ROLE {user}"));
    refused("correct the user and the password");
}
