//! Rows that are put back: a deleted record, an earlier state of a tenant, an earlier state of all
//! records. The engine accepts them, and `verify` finds them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::app::audit::watch::AuditFinding;
use crate::app::tests::audit::two_days;
use crate::app::tests::{
    TestVault, draft, everything, expiring, named, new_caller, prepared_key, tenant_draft,
};
use crate::app::{ApplicationChange, Caller, Error, ExportQuery, Step, TrustAnchors, Walk, Write};
use crate::clock::Clock;
use crate::crypto::KeyPurpose;
use crate::domain::access::Access;
use crate::store::tests::disk::TestDisk;
use crate::store::tests::{block_on, shards};
use crate::store::{Change, Shard, Store, Table, tables};

type Rows = BTreeMap<(Table, Vec<u8>), Vec<u8>>;

/// False for the chain: its rows, its checkpoints and its ends.
fn is_of_records(table: Table, key: &[u8]) -> bool {
    let is_chain = matches!(table, Table::Audit | Table::AuditCheckpoints | Table::Meta);
    !is_chain || key == tables::meta::AUDIT_RECORDS
}

fn rows(vault: &TestVault) -> Rows {
    let snapshot = vault.app.store().snapshot().unwrap();
    let of = |table: &Table| {
        let rows = snapshot.first(&table.whole(), usize::MAX).unwrap();
        let table = *table;
        rows.into_iter().map(move |(key, value)| ((table, key), value))
    };
    Table::ALL.iter().flat_map(of).collect()
}

/// Restarts the vault after an attacker without keys has put these rows in place of the current
/// ones. `None` removes a row.
fn replant(vault: &TestVault, old: &Rows, wanted: impl Fn(Table, &[u8]) -> bool) -> TestVault {
    let new = rows(vault);
    vault.app.close();
    let disk = TestDisk::holding(vault.disk.durable());
    let mut change = Change::new();
    for (table, key) in new.keys().filter(|(table, key)| wanted(*table, key)) {
        change = change.delete(*table, key.clone());
    }
    for ((table, key), value) in old.iter().filter(|((table, key), _)| wanted(*table, key)) {
        change = change.put(*table, key.clone(), value.clone());
    }
    let store = Store::on_disk(&disk, Change::new()).unwrap();
    store.amend(change).unwrap();
    store.close();
    TestVault::on(disk, Clock::new()).unwrap()
}

fn findings(vault: &TestVault) -> Vec<String> {
    vault.app.verification().verify().unwrap().findings
}

#[track_caller]
fn assert_finds(vault: &TestVault, texts: &[&str]) {
    let found = findings(vault);
    for text in texts {
        assert!(found.iter().any(|it| it.contains(text)), "{text}: {found:?}");
    }
}

#[test]
fn a_deleted_token_that_is_put_back_is_found_by_its_id() {
    let vault = TestVault::new();
    let (id, old) = block_on(async {
        vault.create_id(draft("stays")).await;
        let id = vault.create_id(draft("goes")).await;
        let old = rows(&vault);
        vault.delete(&id).await.unwrap();
        vault.app.audit().sign().await.unwrap();
        (id, old)
    });
    vault.assert_clean();
    assert_eq!(vault.data(&id), None);
    let is_digest = |key: &[u8]| tables::digest_of_key(key).is_some();
    let vault = replant(&vault, &old, |table, key| {
        matches!(table, Table::Tokens | Table::TokenLists | Table::TokenNames | Table::Expiries)
            || (table == Table::Counts && !is_digest(key))
    });
    assert!(vault.data(&id).is_some(), "the engine takes it");
    assert_finds(
        &vault,
        &[
            &format!("token {id}: entry"),
            "says that it was deleted, but its record is there",
            "behind the server's back",
        ],
    );
    // Neither later writes nor the removal of the token hide it.
    block_on(async {
        vault.create_id(draft("later")).await;
        vault.delete(&id).await.unwrap();
        vault.app.audit().sign().await.unwrap();
    });
    assert_finds(&vault, &["behind the server's back"]);
}

#[test]
fn an_expired_token_that_is_put_back_is_found() {
    let vault = TestVault::new();
    let id = block_on(vault.create_id(expiring("goes", &vault.in_an_hour())));
    let old = rows(&vault);
    block_on(async {
        vault.app.clock().advance(Duration::from_hours(2));
        vault.app.upkeep().sweep_all().await.unwrap();
    });
    let vault = replant(&vault, &old, |table, _| table == Table::Tokens);
    assert_finds(&vault, &[&format!("token {id}: entry"), "it was expired"]);
}

#[test]
fn an_older_version_of_a_record_is_found() {
    let vault = TestVault::new();
    let old = rows(&vault);
    // The caller would hold up the rotation.
    let TestVault { app, disk, caller } = vault;
    drop(caller);
    block_on(async {
        app.rotation().rotate_server().await.unwrap();
        let mut walk = Walk::default();
        for _ in crate::waiting::steps("the end of the rotation") {
            if app.rotation().rotate_step(&mut walk).await.unwrap() == Step::Idle {
                break;
            }
        }
    });
    app.close();
    let vault = TestVault::on(TestDisk::holding(disk.durable()), Clock::new()).unwrap();
    vault.assert_clean();
    let vault = replant(&vault, &old, |table, _| table == Table::Tenants);
    assert_finds(&vault, &["server: ", "behind the server's back"]);
}

#[test]
fn a_tenant_that_is_rolled_back_with_its_digest_is_found_at_the_start() {
    let vault = TestVault::new();
    let old = rows(&vault);
    block_on(async {
        vault.create_id(draft("lost")).await;
        vault.app.audit().sign().await.unwrap();
    });
    let tenant = *vault.caller.tenant.id.bytes();
    let vault = replant(&vault, &old, |table, key| {
        matches!(table, Table::Tokens | Table::TokenLists | Table::Counts)
            && key.starts_with(&tenant)
    });
    assert_eq!(vault.app.audit().news(), Some(AuditFinding::ForeignRecords));
    assert_finds(&vault, &["do not add up"]);
}

#[test]
fn records_that_are_rolled_back_under_the_chain_are_found_at_the_start_and_ever_after() {
    let vault = TestVault::new();
    let old = rows(&vault);
    block_on(async {
        vault.create_id(draft("lost")).await;
        vault.app.audit().sign().await.unwrap();
    });
    let vault = replant(&vault, &old, is_of_records);
    assert_eq!(vault.app.audit().news(), Some(AuditFinding::ForeignRecords));
    assert_finds(&vault, &["the newest checkpoint knows", "records a change that their digest"]);
    block_on(async {
        vault.create_id(draft("later")).await;
        vault.app.audit().sign().await.unwrap();
        let report = vault.app.audit().inspect(&TrustAnchors::default()).await.unwrap();
        assert!(report.findings[0].contains("rolled back"), "{:?}", report.findings);
    });
}

/// A vault with 16 shards, and the caller of a tenant in another shard than the vault's caller. Both
/// tenants have written, and the chain is signed.
fn in_shards() -> (TestVault, Arc<Caller>) {
    let (key, value) = shards::row(16);
    let added = Rows::from([((Table::Meta, key.clone()), value)]);
    let vault = replant(&TestVault::new(), &added, |table, it| table == Table::Meta && it == key);
    let other = block_on(async {
        for _ in crate::waiting::steps("a tenant in another shard") {
            let tenant = vault.app.access().create_tenant(tenant_draft("other")).await.unwrap().id;
            let caller = new_caller(&vault.app, tenant, &everything()).await;
            if shard_of(&vault, &caller) != shard_of(&vault, &vault.caller) {
                return caller;
            }
        }
        panic!("all tenants are in one shard")
    });
    block_on(async {
        write_in_other_shard(&vault, &other).await;
        vault.create_id(draft("one")).await;
        vault.app.audit().sign().await.unwrap();
    });
    vault.assert_clean();
    (vault, other)
}

fn shard_of(vault: &TestVault, caller: &Caller) -> Shard {
    vault.app.store().shards().of_scope(caller.tenant.id.bytes())
}

async fn write_in_other_shard(vault: &TestVault, other: &Arc<Caller>) {
    for value in ["one", "two", "three", "four", "five"] {
        vault.app.tokens(other).create(draft(value), &Write::plain()).await.unwrap();
    }
}

/// Takes all rights from the application of the vault's caller.
async fn take_rights(vault: &TestVault) {
    let change = |_: &_| {
        let (name, access) = (String::from("no rights"), Access::new(vec![], vec![]));
        Ok(ApplicationChange { name, access, allowed_origins: None })
    };
    let (tenant, application) = (vault.caller.tenant.id, vault.caller.application.id);
    let access = vault.app.access();
    access.update_application(tenant, application, None, &change, &Write::plain()).await.unwrap();
}

#[test]
fn a_shard_that_is_rolled_back_is_found_although_another_one_was_written_since() {
    let (vault, other) = in_shards();
    let (tenant, shard) = (vault.caller.tenant.id, shard_of(&vault, &vault.caller));
    let old = rows(&vault);
    block_on(async {
        take_rights(&vault).await;
        vault.app.audit().sign().await.unwrap();
        write_in_other_shard(&vault, &other).await;
    });
    vault.assert_clean();
    let digests = [
        (Table::Counts, tables::digests(tenant.bytes())),
        (Table::Meta, tables::meta::audit_records(shard)),
    ];
    let vault = replant(&vault, &old, |table, key| {
        (table == Table::Applications && key.starts_with(tenant.bytes()))
            || digests.contains(&(table, key.to_vec()))
    });
    assert_ne!(vault.caller.application.access, Access::new(vec![], vec![]));
    assert_eq!(vault.app.audit().news(), Some(AuditFinding::ForeignRecords));
    let shard = shard.number();
    assert_finds(&vault, &[&format!("records of shard {shard}: the newest checkpoint knows")]);
    // The next checkpoint signs the older state, and is found by those who have no key.
    block_on(async {
        vault.app.access().create_tenant(tenant_draft("later")).await.unwrap();
        vault.app.audit().sign().await.unwrap();
        let found = vault.app.audit().inspect(&TrustAnchors::default()).await.unwrap().findings;
        let text = format!("shard {shard}: the records at the checkpoint");
        assert!(matches!(&found[..], [one] if one.starts_with(&text)), "{found:?}");
    });
    assert_finds(&vault, &[&format!("audit chain: shard {shard}: the records")]);
}

#[test]
fn a_shard_that_is_rolled_back_while_the_server_runs_is_told_at_the_next_checkpoint() {
    let (vault, other) = in_shards();
    let place = tables::meta::audit_records(shard_of(&vault, &vault.caller));
    let store = vault.app.store();
    let old = store.snapshot().unwrap().value(Table::Meta, &place).unwrap().unwrap();
    block_on(async {
        take_rights(&vault).await;
        vault.app.audit().sign().await.unwrap();
        assert_eq!(vault.app.audit().news(), None);
        store.amend(Change::new().put(Table::Meta, place, old)).unwrap();
        write_in_other_shard(&vault, &other).await;
        vault.app.audit().sign().await.unwrap();
    });
    assert_eq!(vault.app.audit().news(), Some(AuditFinding::ForeignRecords));
}

#[test]
fn what_was_lost_since_the_last_checkpoint_is_found_by_its_entries() {
    let vault = TestVault::new();
    block_on(vault.app.audit().sign()).unwrap();
    let old = rows(&vault);
    block_on(vault.create_id(draft("lost")));
    let vault = replant(&vault, &old, is_of_records);
    assert_finds(&vault, &["records a change that their digest does not count"]);
}

#[test]
fn digests_that_are_taken_away_are_missed_and_not_made_up() {
    let vault = TestVault::new();
    block_on(async {
        vault.create_id(draft("one")).await;
        vault.app.audit().sign().await.unwrap();
    });
    let vault = replant(&vault, &Rows::new(), |table, key| {
        (table == Table::Counts && tables::digest_of_key(key).is_some())
            || (table == Table::Meta && key == tables::meta::AUDIT_RECORDS)
    });
    assert_eq!(vault.app.audit().news(), Some(AuditFinding::ForeignRecords));
    assert_finds(&vault, &["their digests are missing or do not open"]);
}

#[test]
fn an_api_key_that_is_put_back_is_found_by_its_id() {
    let vault = TestVault::new();
    let (tenant, application) = (vault.caller.tenant.id, vault.caller.application.id);
    let write = Write::plain();
    let new = block_on(vault.app.access().create_key(tenant, application, None, None, &write));
    let id = new.unwrap().outcome.key.id;
    let old = rows(&vault);
    block_on(vault.app.access().delete_key(tenant, application, id, None)).unwrap();
    vault.assert_clean();
    let both = |table: Table, _: &[u8]| matches!(table, Table::ApiKeys | Table::ApplicationKeys);
    let vault = replant(&vault, &old, both);
    assert_finds(&vault, &[&format!("application_key {id}: entry"), "behind the server's back"]);
    // Only the row that finds the key remains.
    let vault = replant(&vault, &Rows::new(), |table, key| {
        table == Table::ApplicationKeys && key.ends_with(id.bytes())
    });
    let text = format!("{id} of application_keys: an API key can be used but is not listed");
    assert_finds(&vault, &[&text]);
}

#[test]
fn the_keys_of_the_chain_rotate_and_everything_stays_readable() {
    let vault = TestVault::new().with_audit(two_days());
    block_on(async {
        vault.create_id(named("old", "1")).await;
        let receipt = vault.app.audit().receipt().await.unwrap();
        let first = receipt.public_key;
        let unsigned = vault.create_id(draft("not signed yet")).await;
        let signer = vault.app.rotation().rotate_audit().await.unwrap();
        assert_eq!(signer.number, 2);
        assert_ne!(signer.public_key, first);
        vault.delete(&unsigned).await.unwrap();
        vault.app.audit().sign().await.unwrap();
        for (public_key, receipt) in
            [(None, None), (Some(first), Some(receipt)), (Some(signer.public_key), None)]
        {
            let expected = TrustAnchors { public_key, receipt, own: None };
            let report = vault.app.audit().inspect(&expected).await.unwrap();
            assert_eq!((report.findings, report.unanchored), (Vec::new(), 0));
        }
        let new = vault.app.audit().receipt().await.unwrap();
        assert_eq!((new.public_key, new.checkpoint.signer), (signer.public_key, 2));
        let page = vault.app.audit().export(ExportQuery::default()).await.unwrap();
        assert!(page.entries.iter().any(|it| it.entry.message() == "Audit chain rotated"));
        let signing = |vault: &TestVault| {
            let place = tables::keys_of_purpose(&[0; 16], KeyPurpose::Sign.code());
            vault.app.store().snapshot().unwrap().first(&place, 9).unwrap()
        };
        assert_eq!(signing(&vault).len(), 1, "the old secret key is destroyed");
    });
    vault.assert_clean();
    vault.app.close();
    let mut vault = vault.again().with_audit(two_days());
    block_on(async {
        // Entries under the first key prevent its destruction until their retention ends.
        assert!(vault.app.rotation().destroy_audit_key(1).await.is_err());
        assert!(vault.app.rotation().destroy_audit_key(2).await.is_err(), "the current one");
        vault.app.rotation().rotate_audit().await.unwrap();
        vault.app.clock().advance(Duration::from_hours(49));
        vault.create_id(draft("new")).await;
        vault.app.upkeep().sweep_all().await.unwrap();
        assert!(vault.app.audit().status().unwrap().first > 0);
        // The newest key signs the start of the chain, also after the next rotation.
        vault.app.rotation().rotate_audit().await.unwrap();
        vault.app.audit().sign().await.unwrap();
        // A caller from before the rotation may still write under the old key.
        assert!(matches!(vault.app.rotation().destroy_audit_key(1).await, Err(Error::Busy)));
        vault.app.callers.forget();
        vault.caller = vault.app.access().authenticate(&prepared_key()).unwrap();
        vault.app.rotation().destroy_audit_key(1).await.unwrap();
        let report = vault.app.audit().inspect(&TrustAnchors::default()).await.unwrap();
        assert_eq!((report.findings, report.signer.unwrap().number), (Vec::new(), 4));
    });
    vault.assert_clean();
}
