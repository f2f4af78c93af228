//! The audit chain as the operations keep it: every answered act is in it, in order, until its
//! retention ends.

use std::time::Duration;

use crate::app::audit::opened::Opened;
use crate::app::audit::watch::AuditFinding;
use crate::app::tests::{TestVault, draft, expiring, master, named, prepared};
use crate::app::tokens::evaluations::Work;
use crate::app::{
    AuditPolicy, Caller, Error, ExportCursor, ExportQuery, LogQuery, LogStart, TrustAnchors, Vault,
    VaultFailure,
};
use crate::bounds::{AUDIT_QUEUE_MAX, LOG_ROWS_EXAMINED_MAX};
use crate::clock::Clock;
use crate::domain::audit::{Act, AuditEntry, AuditReads, Entity, EntityKind};
use crate::metrics::{Checks, Observe as _, Readiness};
use crate::store::tests::block_on;
use crate::store::tests::disk::{Fault, Operation, TestDisk};
use crate::store::{Change, Table, tables};

/// The whole chain in clear, in order.
async fn chain(app: &Vault) -> Vec<(u64, AuditEntry)> {
    let mut entries = Vec::new();
    let mut next = Some(ExportCursor::default());
    app.audit().flush_reads().await.unwrap();
    for _ in crate::waiting::steps("the pages of the export") {
        let query = ExportQuery { next, ..ExportQuery::default() };
        let page = app.audit().export(query).await.unwrap();
        entries.extend(page.entries.into_iter().map(|it| (it.number, it.entry)));
        next = page.next;
        if next.is_none() {
            break;
        }
    }
    entries
}

/// The acts on tokens, with the tokens' public ids.
async fn of_tokens(app: &Vault) -> Vec<(Act, String)> {
    let entries = chain(app).await.into_iter().map(|(_, entry)| entry);
    let tokens = entries.filter(|entry| entry.entity.kind == EntityKind::Token);
    tokens.map(|entry| (entry.act, entry.entity.public_id())).collect()
}

async fn whole(app: &Vault) -> (u64, u64) {
    let report = app.audit().inspect(&TrustAnchors::default()).await.unwrap();
    assert_eq!(report.findings, Vec::<String>::new());
    (report.first, report.entries)
}

#[test]
fn an_operation_whose_client_disconnects_leaves_the_entries_of_what_it_opened() {
    let vault = TestVault::new();
    block_on(async {
        let id = vault.create_id(draft("one")).await;
        let tokens = vault.app.tokens(&vault.caller);
        let token = tokens.show_token(&id, vault.app.now(), &Work::Read.budget()).unwrap().token;
        let audit = vault.app.audit();
        let open = || {
            let opened = Opened::by(&vault.app, &vault.caller);
            opened.add(Act::Use, Entity::token(&token));
            opened.add(Act::Use, Entity::token(&token));
            opened
        };
        drop(open());
        open().settle(Ok::<_, Error>(())).await.unwrap();
        open().settle(Err::<(), _>(Error::Busy)).await.unwrap_err();
        let acts = async || -> Vec<_> {
            of_tokens(&vault.app).await.into_iter().map(|(act, _)| act).collect()
        };
        assert_eq!(acts().await, [Act::Create, Act::UseFailed, Act::Use, Act::UseFailed]);
        // A full queue loses no entries.
        let reads = vec![Entity::token(&token); AUDIT_QUEUE_MAX];
        audit.note_reads(&vault.caller, reads.into_iter(), vault.app.now()).await.unwrap();
        drop(open());
        let acts = acts().await;
        assert_eq!(acts.iter().filter(|act| **act == Act::UseFailed).count(), 3);
        assert_eq!(acts.len(), 5 + AUDIT_QUEUE_MAX);
    });
}

#[test]
fn what_expires_is_told_by_the_system() {
    let vault = TestVault::new();
    block_on(async {
        let in_an_hour = vault.in_an_hour();
        let id = vault.create_id(expiring("one", &in_an_hour)).await;
        vault.app.clock().advance(Duration::from_hours(2));
        vault.app.upkeep().sweep_all().await.unwrap();
        let (_, last) = chain(&vault.app).await.pop().unwrap();
        assert_eq!((last.act, last.actor.kind()), (Act::Expire, "system"));
        assert_eq!(last.entity.public_id(), id);
    });
}

fn strict() -> TestVault {
    let policy = AuditPolicy { reads: AuditReads::Strict, ..AuditPolicy::default() };
    TestVault::new().with_audit(policy)
}

pub(super) fn two_days() -> AuditPolicy {
    AuditPolicy { retention: Duration::from_hours(48), ..AuditPolicy::default() }
}

#[test]
fn a_strict_read_is_answered_when_its_entry_is_durable() {
    let vault = strict();
    block_on(async {
        let id = vault.create_id(draft("one")).await;
        let reading = async {
            for _ in 0..20 {
                vault.app.tokens(&vault.caller).read(&id).await.unwrap();
                // Compare with the vault after a loss of power at this moment.
                assert_eq!(of_tokens(&vault.again().app).await, of_tokens(&vault.app).await);
            }
        };
        tokio::select! {
            () = vault.app.audit().write_reads() => panic!("the store has failed"),
            () = reading => (),
        }
        assert_eq!(of_tokens(&vault.app).await.len(), 21);
    });
}

#[test]
fn a_strict_read_is_answered_although_the_client_that_flushed_it_has_gone() {
    let vault = strict();
    block_on(async {
        let id = vault.create_id(draft("one")).await;
        let mut read = std::pin::pin!(vault.app.tokens(&vault.caller).read(&id));
        vault.disk.plan(Operation::Sync, 1, Fault::Block);
        tokio::select! {
            biased;
            _ = &mut read => panic!("it is not written down"),
            _ = vault.app.audit().flush_reads() => panic!("it is not written down"),
            () = std::future::ready(()) => (),
        }
        vault.disk.release();
        tokio::select! {
            () = vault.app.audit().write_reads() => panic!("the store has failed"),
            answered = read => drop(answered.unwrap()),
        }
        assert_eq!(of_tokens(&vault.app).await.len(), 2);
    });
}

#[test]
fn a_read_that_cannot_be_written_down_is_not_answered() {
    let vault = strict();
    block_on(async {
        let id = vault.create_id(draft("one")).await;
        vault.disk.plan(Operation::Sync, 1, Fault::Always(5));
        let (read, flushed) = tokio::join!(
            vault.app.tokens(&vault.caller).read(&id),
            vault.app.audit().flush_reads()
        );
        assert!(read.is_err() && flushed.is_err(), "{read:?}, {flushed:?}");
        assert!(vault.app.tokens(&vault.caller).read(&id).await.is_err());
    });
}

#[test]
fn a_read_waits_for_a_place_in_the_queue() {
    let vault = TestVault::new();
    block_on(async {
        let id = vault.create_id(draft("one")).await;
        let before = vault.app.audit().status().unwrap().head.next;
        let entity = || Entity::of_server(EntityKind::Token);
        let others = (0..AUDIT_QUEUE_MAX).map(|_| entity());
        vault.app.audit().note_reads(&vault.caller, others, vault.app.now()).await.unwrap();
        let mut read = std::pin::pin!(vault.app.tokens(&vault.caller).read(&id));
        tokio::select! {
            biased;
            _ = &mut read => panic!("there was no place for it"),
            () = std::future::ready(()) => (),
        }
        vault.app.audit().flush_reads().await.unwrap();
        read.await.unwrap();
        vault.app.audit().flush_reads().await.unwrap();
        let noted = u64::try_from(AUDIT_QUEUE_MAX).unwrap() + 1;
        assert_eq!(vault.app.audit().status().unwrap().head.next, before + noted);
    });
}

#[test]
fn a_page_that_would_look_at_too_many_rows_is_short_or_refused() {
    let vault = TestVault::new();
    block_on(async {
        let (app, caller) = (&vault.app, &vault.caller);
        vault.create_id(named("deep", "1")).await;
        let mut change = Change::new();
        for _ in 0..LOG_ROWS_EXAMINED_MAX {
            let entry = app.audit().caller_entry(caller, Act::Update, &caller.tenant, app.now());
            change = change.and(entry);
        }
        app.store().commit(change).await.unwrap();
        let deep = LogQuery { entity_id: Some(String::from("deep")), ..LogQuery::default() };
        let (none, next) = logs(app, caller, &deep, LogStart::After(None)).await;
        assert_eq!(none, Vec::<String>::new());
        assert_eq!(logs(app, caller, &deep, LogStart::After(next)).await.0, ["create deep"]);
        let refused = app.audit().list_logs(caller, &deep, &LogStart::Skip(1), 2).await;
        assert!(matches!(refused, Err(Error::Unprocessable(_))));
    });
}

#[test]
fn the_chain_is_signed_each_minute_that_it_grows_and_at_the_end() {
    let vault = TestVault::new();
    let signed =
        || vault.app.audit().status().unwrap().last_checkpoint.map(|(sequence, _)| sequence);
    block_on(async {
        vault.create_id(draft("one")).await;
        vault.app.upkeep().sweep_all().await.unwrap();
        let first = signed().unwrap();
        vault.create_id(draft("two")).await;
        vault.app.upkeep().sweep_all().await.unwrap();
        assert_eq!(signed(), Some(first), "a minute has not passed");
        vault.app.clock().advance(Duration::from_mins(1));
        vault.app.upkeep().sweep_all().await.unwrap();
        assert_eq!(signed(), Some(first + 1));
        vault.app.tokens(&vault.caller).read("nobody").await.unwrap_err();
        vault.create_id(draft("three")).await;
        vault.app.audit().sign().await.unwrap();
        vault.app.audit().sign().await.unwrap();
        let report = vault.app.audit().inspect(&TrustAnchors::default()).await.unwrap();
        assert_eq!((report.unanchored, report.checkpoints), (0, 3));
        vault.create_id(draft("four")).await;
        assert!(vault.app.audit().tail_is_whole().unwrap());
        let rows = vault.app.store().snapshot().unwrap();
        let (last, mut value) = rows
            .first(&tables::audit_of(vault.caller.tenant.id.bytes()), 99)
            .unwrap()
            .pop()
            .unwrap();
        value[12] ^= 1;
        let flip = Change::new().put(Table::Audit, last.clone(), value.clone());
        vault.app.store().commit(flip).await.unwrap();
        assert!(!vault.app.audit().tail_is_whole().unwrap());
        value[12] ^= 1;
        let back = Change::new().put(Table::Audit, last, value);
        vault.app.store().commit(back).await.unwrap();
    });
    vault.assert_clean();
}

#[test]
fn entries_go_when_their_retention_is_over_and_the_rest_stays_whole() {
    let vault = TestVault::new().with_audit(two_days());
    block_on(async {
        // More rows than one batch of the sweep removes.
        for number in 0..300 {
            vault.create_id(draft(&format!("old {number}"))).await;
        }
        vault.app.upkeep().sweep_all().await.unwrap();
        let old = vault.app.audit().status().unwrap().head.next;
        vault.app.clock().advance(Duration::from_hours(47));
        let id = vault.create_id(draft("new")).await;
        vault.app.upkeep().sweep_all().await.unwrap();
        assert_eq!(whole(&vault.app).await, (0, old + 1));
        vault.app.clock().advance(Duration::from_hours(2));
        vault.app.upkeep().sweep_all().await.unwrap();
        assert_eq!(whole(&vault.app).await, (old, 1));
        assert_eq!(vault.app.audit().status().unwrap().first, old);
        assert_eq!(of_tokens(&vault.app).await, [(Act::Create, id)]);
        let rows = vault.app.store().snapshot().unwrap().len(Table::Audit).unwrap();
        assert_eq!(rows, 1);
        // In the end all entries are removed, and new ones continue the chain.
        vault.app.clock().advance(Duration::from_hours(100));
        vault.app.upkeep().sweep_all().await.unwrap();
        assert_eq!(whole(&vault.app).await, (old + 1, 0));
        vault.create_id(draft("newer")).await;
        vault.app.audit().sign().await.unwrap();
        assert_eq!(whole(&vault.app).await, (old + 1, 1));
    });
    vault.assert_clean();
}

/// The state of the chain in `/readyz`.
fn said(app: &Vault) -> String {
    let mut checks = Checks::default();
    app.check(&mut checks);
    String::from(checks.to_json(Readiness::Writes)["checks"]["audit"].as_str().unwrap())
}

#[test]
fn a_forged_checkpoint_removes_nothing_and_is_told() {
    let vault = TestVault::new().with_audit(two_days());
    block_on(async {
        for _ in 0..2 {
            vault.create_id(draft("kept")).await;
            vault.app.audit().sign().await.unwrap();
        }
        let snapshot = vault.app.store().snapshot().unwrap();
        let rows = snapshot.len(Table::Audit).unwrap();
        let (key, mut value) =
            snapshot.first(&Table::AuditCheckpoints.whole(), 1).unwrap().pop().unwrap();
        drop(snapshot);
        // Overwrite the time, so that the checkpoint looks older.
        value[8..16].fill(0);
        let forge = Change::new().put(Table::AuditCheckpoints, key, value);
        vault.app.store().commit(forge).await.unwrap();
        assert!(vault.app.audit().news().is_none());
        vault.app.upkeep().sweep_all().await.unwrap();
        assert_eq!(vault.app.audit().news(), Some(AuditFinding::ForgedCheckpoint));
        assert!(vault.app.audit().news().is_none(), "once");
        assert!(said(&vault.app).contains("forged"), "{}", said(&vault.app));
        let snapshot = vault.app.store().snapshot().unwrap();
        assert_eq!(snapshot.len(Table::Audit).unwrap(), rows);
        assert_eq!(vault.app.audit().status().unwrap().first, 0);
    });
}

#[test]
fn an_end_that_does_not_follow_is_told_at_the_next_start_and_not_signed() {
    let vault = TestVault::new();
    block_on(async {
        vault.create_id(draft("signed")).await;
        vault.app.audit().sign().await.unwrap();
        vault.create_id(draft("not signed")).await;
        let snapshot = vault.app.store().snapshot().unwrap();
        let own = vault.caller.tenant.id;
        let (last, mut value) =
            snapshot.first(&tables::audit_of(own.bytes()), 99).unwrap().pop().unwrap();
        drop(snapshot);
        value[12] ^= 1;
        vault.app.store().commit(Change::new().put(Table::Audit, last, value)).await.unwrap();
    });
    vault.app.close();
    let again = vault.again();
    let before = again.app.audit().status().unwrap().last_checkpoint;
    block_on(async {
        again.app.upkeep().sweep_all().await.unwrap();
        again.create_id(draft("served on")).await;
        again.app.audit().sign().await.unwrap();
        assert!(matches!(again.app.audit().receipt().await, Err(Error::Conflict(_))));
    });
    assert_eq!(again.app.audit().news(), Some(AuditFinding::BrokenTail));
    assert!(said(&again.app).contains("damaged"), "{}", said(&again.app));
    assert_eq!(again.app.audit().status().unwrap().last_checkpoint, before);
}

#[test]
fn a_quiet_vault_is_not_late_and_one_that_is_not_signed_is() {
    let vault = TestVault::new();
    block_on(async {
        vault.create_id(draft("one")).await;
        vault.app.audit().sign().await.unwrap();
        vault.app.clock().advance(Duration::from_hours(1));
        vault.app.upkeep().sweep_all().await.unwrap();
        vault.create_id(draft("after an idle hour")).await;
        assert_eq!(said(&vault.app), "ok");
        vault.app.clock().advance(Duration::from_mins(11));
        assert!(said(&vault.app).contains("not been signed"), "{}", said(&vault.app));
        vault.app.upkeep().sweep_all().await.unwrap();
        assert_eq!(said(&vault.app), "ok");
    });
}

#[test]
fn after_the_clock_was_set_back_the_chain_is_signed_as_before() {
    let ahead = Clock::new();
    ahead.advance(Duration::from_hours(30 * 24));
    let vault = TestVault::on(TestDisk::holding(prepared().0.clone()), ahead).unwrap();
    block_on(async {
        vault.create_id(draft("of the future")).await;
        vault.app.audit().sign().await.unwrap();
    });
    vault.app.close();
    let vault = vault.again();
    let unsigned = || vault.app.audit().status().unwrap().unsigned();
    block_on(async {
        vault.create_id(draft("one")).await;
        assert_eq!(unsigned(), 1);
        vault.app.upkeep().sweep_all().await.unwrap();
        assert_eq!(unsigned(), 0, "the newest checkpoint lies ahead");
        vault.create_id(draft("two")).await;
        vault.app.upkeep().sweep_all().await.unwrap();
        assert_eq!(unsigned(), 1, "a minute has not passed");
        vault.app.clock().advance(Duration::from_mins(1));
        vault.app.upkeep().sweep_all().await.unwrap();
        assert_eq!(unsigned(), 0);
        whole(&vault.app).await;
    });
    vault.assert_clean();
}

async fn logs(
    app: &Vault,
    caller: &Caller,
    query: &LogQuery,
    start: LogStart,
) -> (Vec<String>, Option<Vec<u8>>) {
    let page = app.audit().list_logs(caller, query, &start, 2).await.unwrap();
    let told = |(_, entry): &(_, AuditEntry)| {
        format!("{} {}", entry.act.as_str(), entry.entity.public_id())
    };
    (page.entries.iter().map(told).collect(), page.next)
}

#[test]
fn a_file_without_its_chain_gets_no_new_one() {
    let vault = TestVault::new();
    let snapshot = vault.app.store().snapshot().unwrap();
    let mut change = Change::new();
    for table in [Table::Audit, Table::AuditCheckpoints] {
        for (key, _) in snapshot.first(&table.whole(), usize::MAX).unwrap() {
            change = change.delete(table, key);
        }
    }
    for (key, _) in snapshot.first(&tables::keys_of(&[0; 16]), usize::MAX).unwrap() {
        if key[16] > 3 {
            change = change.delete(Table::Keys, key);
        }
    }
    for (key, _) in snapshot.first(&Table::Meta.whole(), usize::MAX).unwrap() {
        if key.starts_with(b"audit_") || key.starts_with(b"file_id") {
            change = change.delete(Table::Meta, key);
        }
    }
    drop(snapshot);
    block_on(vault.app.store().commit(change)).unwrap();
    vault.app.close();
    let disk = TestDisk::holding(vault.disk.durable());
    let opened = Vault::on_disk(&disk, master(), Clock::new());
    assert!(matches!(opened, Err(VaultFailure::KeysDamaged)));
}
