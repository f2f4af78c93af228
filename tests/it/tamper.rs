//! Someone who can write the data file and has none of its keys: rows that are put back, a chain that
//! is signed again; and the checks that find it without writing anything themselves.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::json;
use strongroom::testing::SigningKey;
use strongroom::testing::{Change, Store, Table, tables};
use strongroom::testing::{Checkpoint, SignatureKind, Statement};
use strongroom::testing::{Clock, Secret};

use crate::audit::receipt;
use crate::harness::{Ended, Vault, needs_data_file, run};

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

fn rows(vault: &Vault, table: Table) -> Rows {
    let store = Store::open(&vault.data(), &Clock::new()).unwrap();
    let rows = store.snapshot().unwrap().first(&table.whole(), usize::MAX).unwrap();
    store.close();
    rows.into_iter().collect()
}

fn amend(vault: &Vault, change: Change) {
    let store = Store::open(&vault.data(), &Clock::new()).unwrap();
    store.amend(change).unwrap();
    store.close();
}

#[track_caller]
fn assert_found(ended: Ended, texts: &[&str]) {
    let ended = ended.with_code(65);
    for text in texts {
        assert!(ended.stderr.contains(text), "{text}: {}", ended.stderr);
    }
}

#[test]
fn rows_of_a_revoked_key_and_of_a_deleted_token_that_are_put_back_are_found() {
    const TABLES: [Table; 5] =
        [Table::ApiKeys, Table::ApplicationKeys, Table::Tokens, Table::TokenLists, Table::Counts];
    needs_data_file!("it changes the file");
    let mut vault = Vault::start();
    let made = vault.application("private", &["token:create", "token:read"], &json!([]));
    let (application, key) = (made.id(), made.member("key"));
    let keys = format!("/applications/{application}/keys");
    let listed = vault.get(&keys, &vault.keys.management).with_status(200);
    let key_id = String::from(listed.json[0]["id"].as_str().unwrap());
    let token = vault.token(json!({"type": "token", "data": "deleted"}));
    assert_eq!(vault.stop(), Some(0));
    let before = TABLES.map(|table| (table, rows(&vault, table)));

    vault.restart();
    vault.delete(&format!("{keys}/{key_id}"), &vault.keys.management).with_status(204);
    vault.delete(&format!("/tokens/{token}"), &vault.keys.private).with_status(204);
    vault.get("/permissions", &key).problem(401);
    vault.stop_and_verify();

    let mut change = Change::new();
    for (table, rows) in before {
        for (place, value) in rows {
            // The counts as they were, but the digests as they are: those are the writer's.
            if table != Table::Counts || tables::digest_of_key(&place).is_none() {
                change = change.put(table, place, value);
            }
        }
    }
    amend(&vault, change);
    let key_text = format!("application_key {key_id}: entry");
    let token_text = format!("token {token}: entry");
    assert_found(
        vault.verify(),
        &[&key_text, &token_text, "says that it was deleted", "behind the server's back"],
    );
    // They work again: that is what is found.
    vault.restart();
    vault.read(&token).with_status(200);
    assert_eq!(vault.get("/permissions", &key).status, 200);
    assert_eq!(vault.stop(), Some(0));
    assert_found(vault.verify(), &[&key_text, &token_text]);
}

fn audit_verify(vault: &Vault, arguments: &[&str]) -> Ended {
    let data = vault.data();
    run(&[&["audit", "verify", "--data", data.to_str().unwrap()], arguments].concat())
}

/// The signing key as `audit verify` prints it.
fn signing_key(said: &str) -> String {
    let line = said.lines().find_map(|line| line.strip_prefix("signing key:  ")).unwrap();
    String::from(line.split(' ').next().unwrap())
}

/// Every checkpoint signed by a key that was made up, whose public key replaces the vault's.
fn sign_anew(vault: &Vault) {
    let stranger = SigningKey::from_seed(&Secret::new([6; 32])).unwrap();
    let store = Store::open(&vault.data(), &Clock::new()).unwrap();
    let snapshot = store.snapshot().unwrap();
    let file =
        snapshot.value(Table::Meta, tables::meta::FILE_ID).unwrap().unwrap().try_into().unwrap();
    let mut change = Change::new().put(
        Table::Meta,
        tables::meta::AUDIT_PUBLIC_KEY.to_vec(),
        stranger.public().to_vec(),
    );
    for (it, _) in Checkpoint::oldest(&snapshot, usize::MAX).unwrap() {
        let (head, previous, at) = (it.head(), it.previous, it.at);
        let (signer, state) = (it.signer, it.state);
        let statement = Statement {
            signed: SignatureKind::Checkpoint,
            file,
            head,
            previous,
            at,
            signer,
            state,
        };
        let mut value = snapshot
            .value(Table::AuditCheckpoints, &tables::audit_checkpoints(it.sequence))
            .unwrap()
            .unwrap();
        let body = value.len() - 64;
        value[body..].copy_from_slice(&statement.sign(&stranger).signature);
        change = change.put(Table::AuditCheckpoints, tables::audit_checkpoints(it.sequence), value);
    }
    drop(snapshot);
    store.amend(change).unwrap();
    store.close();
}

#[test]
fn a_chain_that_was_signed_anew_fails_against_whatever_was_kept_elsewhere() {
    needs_data_file!("it changes the file");
    let mut vault = Vault::start();
    vault.token(json!({"type": "token", "data": 1}));
    let receipt = &receipt(&vault, "receipt.json");
    let live = vault.operator(&["audit", "verify"]).with_code(0).stdout;
    assert!(live.contains("checked with: the server's own key\n"), "{live}");
    let key = signing_key(&live);
    assert_eq!(vault.stop(), Some(0));
    let said = audit_verify(&vault, &[]).with_code(0).stdout;
    assert_eq!(signing_key(&said), key);
    assert!(said.contains("checked with: only the key in the file itself"), "{said}");
    for arguments in [["--public-key", &key], ["--since", receipt]] {
        audit_verify(&vault, &arguments).with_code(0);
    }
    audit_verify(&vault, &["--public-key", "abc"]).with_code(64);

    sign_anew(&vault);
    let said = audit_verify(&vault, &[]).with_code(0).stdout;
    assert_ne!(signing_key(&said), key, "by itself it looks whole");
    assert_found(
        audit_verify(&vault, &["--public-key", &key]),
        &["the chain is not signed by the public key that was given"],
    );
    assert_found(
        audit_verify(&vault, &["--since", receipt]),
        &["the chain has another signing key than the receipt"],
    );
    assert_found(vault.verify(), &["the chain is not signed by the vault's own key"]);
    vault.restart();
    let live = vault.operator(&["audit", "verify"]);
    assert_found(live, &["the chain is not signed by the vault's own key"]);
}

#[test]
fn the_keys_of_the_chain_rotate_while_the_server_runs() {
    let mut vault = Vault::start();
    vault.token(json!({"type": "token", "data": 1}));
    let receipt = &receipt(&vault, "receipt.json");
    let old = signing_key(&vault.operator(&["audit", "verify"]).with_code(0).stdout);
    let rotated = vault.operator(&["key", "rotate", "--audit"]).json();
    let rotated = &rotated["rotated"][0];
    assert_eq!((&rotated["scope"], &rotated["number"]), (&json!("audit"), &json!(2)));
    let new = String::from(rotated["public_key"].as_str().unwrap());
    let id = vault.token(json!({"type": "token", "data": 2}));
    vault.read(&id).with_status(200);
    let pinned = |vault: &Vault| {
        for arguments in [["--public-key", &old], ["--public-key", &new], ["--since", receipt]] {
            let said = vault.operator(&[&["audit", "verify"][..], &arguments].concat());
            assert_eq!(signing_key(&said.with_code(0).stdout), new);
        }
    };
    pinned(&vault);
    assert!(vault.acts("size=1000").iter().filter(|act| *act == "create").count() > 1);
    vault.operator(&["key", "destroy", "--audit", "--number", "1"]).with_code(65);
    vault.operator(&["key", "rotate", "--audit", "--server"]).with_code(64);
    assert_eq!(vault.stop(), Some(0));
    pinned(&vault);
    vault.verify().with_code(0);
    vault.operator(&["key", "rotate", "--audit"]).with_code(0);
    vault.verify().with_code(0);
    vault.restart();
    vault.operator(&["audit", "verify", "--public-key", &old]).with_code(0);
}

fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let listed = fs::read_dir(directory).unwrap().flatten().filter(|it| it.path().is_file());
    let read =
        |it: fs::DirEntry| (it.file_name().into_string().unwrap(), fs::read(it.path()).unwrap());
    listed.map(read).collect()
}

#[track_caller]
fn assert_unwritten(vault: &Vault) {
    let data = vault.data();
    // For root these are no more than a request; then the comparison shows it.
    let mode = |directory, file| {
        fs::set_permissions(data.join(Store::FILE), Permissions::from_mode(file)).unwrap();
        fs::set_permissions(&data, Permissions::from_mode(directory)).unwrap();
    };
    mode(0o500, 0o400);
    let before = files(&data);
    let checks = [vault.verify(), audit_verify(vault, &[])];
    let after = files(&data);
    mode(0o700, 0o600);
    assert!(before == after, "{:?} {:?}", before.keys(), after.keys());
    for ended in checks {
        ended.with_code(0);
    }
}

#[test]
fn a_check_writes_to_no_file_whether_the_vault_was_closed_or_killed() {
    needs_data_file!("it changes the file");
    let mut vault = Vault::start();
    vault.token(json!({"type": "card", "data": {"number": "4242424242424242", "cvc": "123"}}));
    assert_eq!(vault.stop(), Some(0));
    assert_unwritten(&vault);
    fs::remove_file(vault.data().join("cvc.keys")).unwrap();
    assert_unwritten(&vault);
    vault.restart();
    vault.token(json!({"type": "token", "data": "last words"}));
    vault.kill();
    assert_unwritten(&vault);
    vault.restart();
    assert_eq!(vault.stop(), Some(0));
}
