//! The scrub finds and names the same damage of records and entries as `verify`, and nothing else.

use uuid::Uuid;

use crate::app::damage::DamagedRow;
use crate::app::tests::{TestVault, card, draft, expiring, named};
use crate::app::upkeep::check::checked_tables;
use crate::app::{ScrubProgress, ScrubWalk, Vault, Write, WriteOutcome, show_nothing};
use crate::bounds::SCRUB_COST_MAX;
use crate::domain::id::{EventId, ProxyId, WebhookId};
use crate::idempotency::{AnswerStatus, RememberedAnswer};
use crate::store::tables::PendingDelivery;
use crate::store::tests::block_on;
use crate::store::{Change, Table, Verdict, tables};
use crate::waiting::steps;

fn pass(app: &Vault) -> usize {
    let mut walk = ScrubWalk::default();
    let last = steps("the end of the pass")
        .find(|_| app.upkeep().scrub_some(&mut walk).unwrap() == ScrubProgress::Everything);
    last.unwrap() + 1
}

fn found(app: &Vault) -> Vec<DamagedRow> {
    let count = app.damage.count();
    (0..count).map(|_| block_on(app.upkeep().damage_found())).collect()
}

fn rows(vault: &TestVault, table: Table) -> Vec<(Vec<u8>, Vec<u8>)> {
    vault.app.store().snapshot().unwrap().first(&table.whole(), usize::MAX).unwrap()
}

/// A vault with a token of every kind of entry, and their ids.
fn vault() -> (TestVault, Vec<Uuid>) {
    let vault = TestVault::new();
    let ids = block_on(async {
        let in_an_hour = vault.in_an_hour();
        vault.create_id(draft("one")).await;
        vault.create_id(named("two", "two")).await;
        vault.create_id(expiring("three", &in_an_hour)).await;
        rows(&vault, Table::Tokens)
            .iter()
            .map(|(key, _)| Uuid::from_slice(&key[16..]).unwrap())
            .collect()
    });
    pass(&vault.app);
    assert_eq!(vault.app.damage.count(), 0, "{:?}", found(&vault.app));
    (vault, ids)
}

fn plant(vault: &TestVault, change: Change) {
    assert_eq!(block_on(vault.app.store().commit(change)), Ok(Verdict::Applied));
    pass(&vault.app);
}

fn flipped(vault: &TestVault, table: Table, at: usize) -> Change {
    let (key, mut value) = rows(vault, table).remove(0);
    value[at] ^= 0x10;
    Change::new().put(table, key, value)
}

#[test]
fn a_damaged_record_is_named_once_and_its_entries_are_not() {
    let (vault, ids) = vault();
    plant(&vault, flipped(&vault, Table::Tokens, 30));
    let row = found(&vault.app);
    let [row] = row.as_slice() else { panic!("{row:?}") };
    assert_eq!((row.table, row.id), (Table::Tokens, ids[0]));
    assert_eq!(row.tenant, vault.caller.tenant.id.uuid());
    assert_eq!(row.why, "a token's record does not open under its key");
    assert_eq!(pass(&vault.app), 1);
    assert_eq!(vault.app.damage.count(), 1, "the same one");
    // A repaired row is forgotten by the next pass.
    let change = flipped(&vault, Table::Tokens, 30);
    plant(&vault, change);
    assert_eq!(vault.app.damage.count(), 0);
}

#[test]
fn every_missing_entry_of_a_token_is_found_with_the_token() {
    let (vault, ids) = vault();
    for table in [Table::TokenLists, Table::TokenNames, Table::Expiries] {
        for (key, value) in rows(&vault, table) {
            plant(&vault, Change::new().delete(table, key.clone()));
            let all = found(&vault.app);
            let [row] = all.as_slice() else { panic!("{all:?}") };
            assert_eq!(row.table, table);
            assert!(ids.contains(&row.id));
            plant(&vault, Change::new().put(table, key, value));
            assert_eq!(vault.app.damage.count(), 0);
        }
    }
}

#[test]
fn an_entry_that_leads_nowhere_or_elsewhere_is_found() {
    for table in [Table::TokenLists, Table::Expiries] {
        let (vault, ids) = vault();
        let (mut key, value) = rows(&vault, table).remove(0);
        *key.last_mut().unwrap() ^= 1;
        plant(&vault, Change::new().put(table, key.clone(), value.clone()));
        let all = found(&vault.app);
        let [row] = all.as_slice() else { panic!("{all:?}") };
        assert_eq!((row.table, row.why), (table, "an index entry leads to no record"));
        assert!(!ids.contains(&row.id));
    }
    // The entry leads to a token without such an entry.
    let (vault, ids) = vault();
    let (mut key, value) = rows(&vault, Table::TokenLists).remove(0);
    let at = key.len() - 16;
    let other = ids.iter().find(|id| id.as_bytes() != &key[at..]).unwrap();
    key.splice(at.., *other.as_bytes());
    plant(&vault, Change::new().put(Table::TokenLists, key, value));
    let all = found(&vault.app);
    let [row] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!((row.id, row.why), (*other, "an index entry is not its record's"));
}

/// A vault with a card that has a code and a remembered answer.
fn vault_with_answer() -> TestVault {
    let vault = TestVault::new();
    let key = ("POST", "/tokens", "k");
    let guard = vault.app.idempotency().begin(&vault.caller, key, show_nothing);
    let guard = block_on(guard).unwrap();
    let render = |_: &WriteOutcome| RememberedAnswer::empty(AnswerStatus::Created);
    let write = Write { guard: Some(&guard), render: &render };
    block_on(vault.app.tokens(&vault.caller).create(card("123"), &write)).unwrap();
    drop(guard);
    pass(&vault.app);
    assert_eq!(vault.app.damage.count(), 0, "{:?}", found(&vault.app));
    vault.assert_clean();
    vault
}

#[test]
fn a_code_or_an_answer_without_its_counterpart_is_found_also_by_verify() {
    for (table, named) in [
        (Table::Cvcs, Table::Cvcs),
        (Table::Idempotency, Table::Idempotency),
        (Table::IdempotencyAnswers, Table::Idempotency),
    ] {
        let vault = vault_with_answer();
        let (key, value) = rows(&vault, table).remove(0);
        plant(&vault, Change::new().delete(table, key.clone()));
        let all = found(&vault.app);
        let [row] = all.as_slice() else { panic!("{all:?}") };
        assert_eq!(row.table, named, "{} is missing", table.name());
        assert!(!vault.app.verification().verify().unwrap().is_clean());
        plant(&vault, Change::new().put(table, key.clone(), value.clone()));
        assert_eq!(vault.app.damage.count(), 0);
        vault.assert_clean();
        // A copy of the row, at a place that nothing leads to.
        let mut stray = key;
        *stray.last_mut().unwrap() ^= 1;
        plant(&vault, Change::new().put(table, stray, value));
        assert!(found(&vault.app).iter().any(|row| row.table == named), "{}", table.name());
        assert!(!vault.app.verification().verify().unwrap().is_clean());
    }
}

#[test]
fn a_token_that_is_gone_leaves_its_entries_to_be_found() {
    let (vault, ids) = vault();
    let (key, _) = rows(&vault, Table::Tokens).remove(0);
    plant(&vault, Change::new().delete(Table::Tokens, key));
    let all = found(&vault.app);
    assert!(!all.is_empty() && all.iter().all(|row| row.id == ids[0]), "{all:?}");
}

#[test]
fn keys_applications_and_tenants_are_looked_at() {
    for (table, at) in [
        (Table::Tenants, 30),
        (Table::Applications, 30),
        (Table::ApplicationKeys, 30),
        (Table::ApiKeys, 30),
        (Table::TokenNames, 30),
    ] {
        let (vault, _) = vault();
        let change = flipped(&vault, table, at);
        plant(&vault, change);
        let all = found(&vault.app);
        assert!(all.iter().any(|row| row.table == table), "{}: {all:?}", table.name());
    }
    for table in [Table::ApiKeys, Table::ApplicationKeys] {
        let (vault, _) = vault();
        let (key, _) = rows(&vault, table).remove(0);
        plant(&vault, Change::new().delete(table, key));
        assert_eq!(vault.app.damage.count(), 1, "{}", table.name());
    }
}

/// The walk has no list of its own, so tables that are added later are covered here too.
#[test]
fn a_row_that_makes_no_sense_is_found_in_every_table_by_the_scrub_and_by_verify() {
    for table in checked_tables() {
        let (vault, _) = vault();
        let value = if table.is_digested() { vec![1; 90] } else { vec![0; 8] };
        plant(&vault, Change::new().put(table, vec![1; 50], value));
        assert_ne!(vault.app.damage.count(), 0, "{}", table.name());
        assert!(!vault.app.verification().verify().unwrap().is_clean(), "{}", table.name());
    }
}

/// Rows that find a record of their own kind: a proxy, a session, an event.
#[test]
fn a_finder_that_leads_nowhere_is_found_by_the_scrub_and_by_verify() {
    let (vault, _) = vault();
    let tenant = vault.caller.tenant.id;
    let id = Uuid::from_u128(7);
    let event = PendingDelivery { tenant, webhook: WebhookId::new(id), event: EventId::new(id) };
    let place = tables::proxies(tenant, ProxyId::new(id));
    let in_schedule = event.schedule_key(vault.app.now());
    for (table, key, value) in [
        (Table::ProxyKeys, vec![7; 32], place.clone()),
        (Table::SessionKeys, vec![7; 32], place),
        (Table::WebhookSchedule, in_schedule, tables::attempts_value(0)),
    ] {
        plant(&vault, Change::new().put(table, key.clone(), value));
        let all = found(&vault.app);
        let [row] = all.as_slice() else { panic!("{all:?}") };
        assert_eq!((row.table, row.id, row.why), (table, id, "an index entry leads to no record"));
        let findings = vault.app.verification().verify().unwrap().findings;
        assert!(findings.contains(&row.to_string()), "{findings:?}");
        plant(&vault, Change::new().delete(table, key));
        assert_eq!(vault.app.damage.count(), 0);
    }
}

#[test]
fn a_step_costs_no_more_than_its_bound_and_a_pass_goes_on_where_it_was() {
    let vault = TestVault::new();
    block_on(async {
        for at in 0..400 {
            vault.create_id(draft(&at.to_string())).await;
        }
    });
    let all: usize = checked_tables().map(|table| rows(&vault, table).len()).sum();
    let steps = pass(&vault.app);
    assert!(steps > 400 * 16 / SCRUB_COST_MAX, "{steps} steps");
    assert_eq!(vault.app.scrubs.rows(), u64::try_from(all).unwrap(), "each row once");
    assert_eq!((vault.app.scrubs.passes(), vault.app.damage.count()), (1, 0));
}
