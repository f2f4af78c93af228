//! Readings of the audit log: each is an entry, whoever reads and however.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use serde_json::{Value, json};

use crate::harness::Vault;

/// Sends a line to the operator's socket, as a program of another maker could.
#[track_caller]
fn command(vault: &Vault, command: &Value) -> Value {
    let mut stream = UnixStream::connect(vault.data().join("operator.sock")).unwrap();
    stream.write_all(command.to_string().as_bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    serde_json::from_str::<Value>(&answer).unwrap()["done"].clone()
}

/// Entries of readings of the chain, with the one of this look.
fn readings(vault: &Vault) -> usize {
    let is_reading =
        |it: &&Value| it["entity_type"] == "audit_chain" && it["operation"] == "export";
    vault.chain().iter().filter(is_reading).count()
}

#[test]
fn a_page_of_the_chain_that_belongs_to_no_reading_has_an_entry_of_its_own() {
    let vault = Vault::start();
    let mut expected = readings(&vault);
    let export: fn(&Value) -> Value = |reading| json!({"command": "audit_export", "next": "0", "from": null, "to": null, "reading": reading});
    let follow: fn(&Value) -> Value =
        |reading| json!({"command": "audit_follow", "after": null, "reading": reading});
    let stranger = json!("9b2f4c1e-52cc-4d61-8c2b-f06b4ab1b2c3");
    for pages in [export, follow] {
        for unknown in [&Value::Null, &stranger] {
            let page = command(&vault, &pages(unknown));
            let read = page["entries"].as_array().or(page["items"].as_array()).unwrap().len();
            assert!(read > 0, "{page}");
            // The pages that follow belong to the reading.
            for _ in 0..3 {
                let further = command(&vault, &pages(&page["reading"]));
                assert_eq!(further["reading"], page["reading"]);
            }
            expected += 2;
            assert_eq!(readings(&vault), expected, "this one, and the one of the look");
        }
    }
    // After a day the reading is over.
    let page = command(&vault, &follow(&Value::Null));
    vault.advance(86_400);
    let further = command(&vault, &follow(&page["reading"]));
    assert_ne!(further["reading"], page["reading"]);
    assert_eq!(readings(&vault), expected + 3);
}

#[test]
fn each_reading_of_a_tenants_log_is_in_the_log() {
    let vault = Vault::start();
    let read = || vault.logged("entity_type=log");
    assert_eq!(read(), Vec::<Value>::new());
    for expected in 1..4 {
        let entries = read();
        assert_eq!(entries.len(), expected, "{entries:?}");
        assert_eq!(entries[0]["operation"], "read");
        assert!(entries[0]["key_id"].is_string() && entries[0]["address"].is_string());
    }
    // A refused one has none.
    vault.get("/logs?start=nonsense", &vault.keys.management).problem(400);
    assert_eq!(read().len(), 4);
}

#[test]
fn commands_that_only_show_something_have_entries_with_the_user_and_the_login() {
    let vault = Vault::start();
    let tenant = ["--tenant", vault.tenant_id.as_str()];
    vault.operator(&["tenant", "list"]).with_code(0);
    vault.operator(&[&["application", "list"][..], &tenant].concat()).with_code(0);
    vault.operator(&[&["webhook", "list"][..], &tenant].concat()).with_code(0);
    vault.operator(&["key", "list"]).with_code(0);
    vault.operator(&["audit", "verify"]).with_code(0);
    vault.operator(&["audit", "receipt"]).with_code(0);
    let login = fs::read_to_string("/proc/self/loginuid").unwrap_or_default();
    let login = login.trim().parse::<u32>().ok().filter(|it| *it != u32::MAX);
    let entries = vault.chain();
    for name in [
        "tenant list",
        "application list",
        "webhook list",
        "key list",
        "audit verify",
        "audit receipt",
    ] {
        let entry = entries.iter().find(|it| it["entity_id"] == name);
        let entry = entry.unwrap_or_else(|| panic!("{name}: {entries:?}"));
        assert_eq!(
            (&entry["operation"], &entry["actor_type"]),
            (&json!("read"), &json!("operator"))
        );
        assert!(entry["uid"].is_u64(), "{entry}");
        assert_eq!(entry["login_uid"], json!(login), "{entry}");
    }
}

#[test]
fn entries_of_commands_name_the_records_that_they_are_about() {
    let vault = Vault::start();
    let tenant = vault.tenant_id.clone();
    vault.operator(&["application", "list", "--tenant", &tenant]).with_code(0);
    let search = ["erase", "--tenant", &tenant, "--metadata", "person=7", "--dry-run"];
    let found: Value = serde_json::from_str(&vault.operator(&search).with_code(0).stdout).unwrap();
    for of in [&["--server"][..], &["--tenant", &tenant], &["--audit"]] {
        vault.operator(&[&["key", "rotate", "--wait"], of].concat()).with_code(0);
    }
    vault.operator(&["key", "destroy", "--server", "--number", "1"]).with_code(0);
    vault.operator(&["key", "destroy", "--tenant", &tenant, "--number", "1"]).with_code(0);
    let nil = "00000000-0000-0000-0000-000000000000";
    let of_tenant = format!("{tenant} key");
    let entries = vault.chain();
    for (operation, kind, id, record) in [
        ("read", "vault", String::from("application list"), tenant.as_str()),
        ("read", "data_subject", found["criterion_hash"].as_str().unwrap().to_owned(), nil),
        ("rotate", "encryption_key", String::from("server key 2"), nil),
        ("rotate", "encryption_key", format!("{of_tenant} 2"), &tenant),
        ("rotate", "audit_chain", String::from("audit key 2"), nil),
        ("delete", "encryption_key", String::from("server key 1"), nil),
        ("delete", "encryption_key", format!("{of_tenant} 1"), &tenant),
    ] {
        let is_it = |it: &&Value| {
            it["operation"] == operation && it["entity_type"] == kind && it["entity_id"] == id
        };
        let entry = entries.iter().find(is_it);
        let entry = entry.unwrap_or_else(|| panic!("{operation} {kind} {id}: {entries:?}"));
        assert_eq!(entry["record_id"], record, "{entry}");
    }
    // The search is in the tenant's own log, as an erasure is.
    let own = vault.logged("entity_type=data_subject");
    assert_eq!((own.len(), &own[0]["operation"]), (1, &json!("read")), "{own:?}");
}
