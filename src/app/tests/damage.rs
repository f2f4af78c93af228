//! `verify` finds damage of a file, and finds nothing in an intact file.

use std::time::Duration;

use uuid::Uuid;

use crate::app::tests::{TestVault, deduplicating, draft, expiring, named, new_tenant, prepared};
use crate::app::{Error, Report, Write};
use crate::clock::Clock;
use crate::domain::id::WebhookId;
use crate::store::tests::block_on;
use crate::store::tests::disk::{Dice, TestDisk};
use crate::store::{Change, Shard, Table, Verdict, tables};

fn rows(vault: &TestVault, table: Table) -> Vec<(Vec<u8>, Vec<u8>)> {
    vault.app.store().snapshot().unwrap().first(&table.whole(), usize::MAX).unwrap()
}

/// The report on a vault with tokens of every kind, after the change that `plant` returns.
fn damaged(plant: impl Fn(&TestVault) -> Change) -> Report {
    let vault = TestVault::new();
    block_on(async {
        vault.create_id(draft("one")).await;
        vault.create_id(named("two", "two")).await;
        let in_an_hour = vault.in_an_hour();
        vault.create_id(expiring("three", &in_an_hour)).await;
    });
    vault.assert_clean();
    let planted = block_on(vault.app.store().commit(plant(&vault)));
    assert_eq!(planted, Ok(Verdict::Applied));
    vault.app.verification().verify().unwrap()
}

#[track_caller]
fn check(finding: &str, plant: impl Fn(&TestVault) -> Change) {
    let report = damaged(plant);
    assert!(!report.is_clean(), "nothing was found");
    let found = report.findings.iter().any(|it| it.contains(finding));
    assert!(found, "{finding:?} is not in {:?}", report.findings);
}

fn remove_first(table: Table) -> impl Fn(&TestVault) -> Change {
    move |vault| Change::new().delete(table, rows(vault, table).remove(0).0)
}

/// Flips bits of the record's header, and some of its text and tag.
#[track_caller]
fn check_flipped(table: Table, finding: &str) {
    for at in [0, 1, 4, 5, 20, 21, 30] {
        check(finding, |vault| {
            let (key, mut value) = rows(vault, table).remove(0);
            value[at] ^= 0x10;
            Change::new().put(table, key, value)
        });
    }
}

/// Swaps the first two rows of a table.
#[track_caller]
fn check_moved(table: Table, finding: &str) {
    check(finding, |vault| {
        let rows = rows(vault, table);
        Change::new().put(table, rows[0].0.clone(), rows[1].1.clone()).put(
            table,
            rows[1].0.clone(),
            rows[0].1.clone(),
        )
    });
}

#[test]
fn a_removed_row_is_found() {
    for (table, finding) in [
        (Table::TokenLists, "of token_lists: an entry of a record is missing"),
        (Table::Expiries, "of due: an entry of a record is missing"),
        (Table::TokenNames, "of token_names: an entry of a record is missing"),
        (Table::Tokens, "rows of token_lists in the file"),
        (Table::Tokens, "tokens: 2 in the file, but 3 counted"),
        (Table::Applications, "the application of an API key is missing"),
        (Table::ApiKeys, "is listed but cannot be used"),
        (Table::ApplicationKeys, "can be used but is not listed"),
        (Table::Tenants, "rows belong to a missing tenant"),
    ] {
        check(finding, remove_first(table));
    }
}

#[test]
fn each_single_removed_list_entry_is_found() {
    for at in 0..12 {
        check("of token_lists: an entry of a record is missing", |vault| {
            let key = rows(vault, Table::TokenLists).remove(at).0;
            Change::new().delete(Table::TokenLists, key)
        });
    }
}

#[test]
fn an_index_entry_that_leads_nowhere_is_found() {
    for (table, finding) in [
        (Table::TokenLists, "rows of token_lists in the file, but"),
        (Table::Expiries, "of due: an index entry leads to no record"),
        (Table::TokenNames, "rows of token_names in the file, but"),
    ] {
        check(finding, |vault| {
            let (mut key, value) = rows(vault, table).remove(0);
            *key.last_mut().unwrap() ^= 1;
            Change::new().put(table, key, value)
        });
    }
}

#[test]
fn an_index_entry_with_another_value_is_found() {
    check("of token_lists: an entry of a record is missing", |vault| {
        let rows = rows(vault, Table::TokenLists);
        let (key, _) = rows.into_iter().find(|(_, value)| !value.is_empty()).unwrap();
        Change::new().put(Table::TokenLists, key, b"/elsewhere/".to_vec())
    });
}

#[test]
fn a_wrong_count_is_found() {
    // The first count that is not a digest counts the tenant's tokens.
    let count = |vault: &TestVault| {
        let mut places = rows(vault, Table::Counts).into_iter().map(|(place, _)| place);
        places.find(|place| tables::digest_of_key(place).is_none()).unwrap()
    };
    check("tokens: 3 in the file, but 4 counted", |vault| Change::new().count(count(vault), 1));
    check("3 in the file, but -1 counted", |vault| Change::new().count(count(vault), -4));
    check("3 in the file, but 0 counted", |vault| {
        Change::new().delete(Table::Counts, count(vault))
    });
}

/// A webhook whose count is too large would never get events again.
#[test]
fn a_wrong_count_of_events_or_of_uses_is_found() {
    let webhook = WebhookId::new(Uuid::from_u128(7));
    let waiting = |vault: &TestVault, by| {
        Change::new().count(tables::webhook_counts(vault.caller.tenant.id, webhook), by)
    };
    check("but 10000 counted", |vault| waiting(vault, 10_000));
    check("but -1 counted", |vault| waiting(vault, -1));
    check("events that wait for webhooks: 0 in the file", |_| {
        Change::new().count(tables::all_webhook_counts(Shard::VAULT), 1)
    });
    let uses = |vault: &TestVault, number, by| {
        Change::new().count(tables::seal_counts(vault.caller.tenant.id.bytes(), number), by)
    };
    check("which makes no sense", |vault| uses(vault, 1, -1_000_000));
    check("1 uses of key 99, which makes no sense", |vault| uses(vault, 99, 1));
    let unknown = |vault: &TestVault| [vault.caller.tenant.id.bytes().as_slice(), &[77]].concat();
    check("a row of counts: the key of a row makes no sense", |vault| {
        Change::new().count(unknown(vault), 1)
    });
}

#[test]
fn a_flipped_byte_is_found_in_every_kind_of_record() {
    check_flipped(Table::Tokens, "of tokens: a token's record does not");
    check_flipped(Table::Applications, "of applications: a record does not");
    check_flipped(Table::ApplicationKeys, "of application_keys: a record does not");
    check_flipped(Table::ApiKeys, "of api_keys: a record does not");
    check_flipped(Table::TokenNames, "of token_names: a record does not");
    check_flipped(Table::Tenants, "of tenants: a record does not");
}

#[test]
fn a_flipped_byte_is_found_in_the_keys_of_a_tenant() {
    check("the keys of a tenant do not open", |vault| {
        // The last key belongs to a tenant. Without the server's keys, which come first, nothing
        // opens.
        let (key, mut value) = rows(vault, Table::Keys).pop().unwrap();
        value[30] ^= 1;
        Change::new().put(Table::Keys, key, value)
    });
}

#[test]
fn a_record_in_the_place_of_another_is_found() {
    check_moved(Table::Tokens, "a token's record does not open");
}

#[test]
fn what_belongs_to_no_tenant_is_found() {
    let stray = || vec![0xee; 16];
    check("the keys of a tenant do not open", |_| {
        Change::new().put(Table::Keys, [stray(), vec![1; 5]].concat(), vec![1; 90])
    });
    check("the keys of a tenant do not open", |_| {
        Change::new().count([stray(), vec![1]].concat(), 1)
    });
}

#[test]
fn findings_have_a_bound_and_name_no_values() {
    let report = damaged(|vault| {
        let rows = rows(vault, Table::TokenLists);
        let stray = |change: Change, at: u8| {
            let (mut key, value) = rows[0].clone();
            key.push(at);
            change.put(Table::TokenLists, key, value)
        };
        let all = (0..200).fold(Change::new(), stray);
        rows.iter().fold(all, |change, (key, _)| change.delete(Table::TokenLists, key.clone()))
    });
    assert!(report.findings.len() <= crate::bounds::VERIFY_FINDINGS_MAX);
    assert!(!report.findings.iter().any(|it| it.contains("three") || it.contains("two")));
}

#[test]
fn nothing_is_found_after_thousands_of_operations() {
    let clock = Clock::new();
    let vault = TestVault::on(TestDisk::holding(prepared().0.clone()), clock.clone()).unwrap();
    let mut dice = Dice(7);
    let mut ids: Vec<String> = Vec::new();
    block_on(async {
        let (_, key) = new_tenant(&vault.app, "second").await;
        let second = vault.app.access().authenticate(&key).unwrap();
        for round in 0..2_000 {
            let value = dice.roll(50).to_string();
            let caller = if dice.roll(3) == 0 { &second } else { &vault.caller };
            let draft = match dice.roll(10) {
                0..3 => draft(&value),
                3 | 4 => deduplicating(&value),
                5 => named(&format!("name {value}"), &value),
                6 => {
                    let at = vault.app.now().plus(Duration::from_secs(60 + dice.roll(600)));
                    expiring(&value, &at.to_wire())
                }
                7 | 8 => {
                    let at = dice.roll(u64::try_from(ids.len()).unwrap().max(1));
                    if let Some(id) = ids.get(usize::try_from(at).unwrap()) {
                        let deleted = vault.app.tokens(caller).delete(id).await;
                        assert!(matches!(deleted, Ok(()) | Err(Error::NotFound(_))));
                    }
                    continue;
                }
                _ => {
                    clock.advance(Duration::from_secs(dice.roll(30)));
                    if dice.roll(5) == 0 {
                        vault.app.upkeep().sweep_all().await.unwrap();
                    }
                    continue;
                }
            };
            match vault.app.tokens(caller).create(draft, &Write::plain()).await {
                Ok(created) => ids.push(created.outcome.shown.token.public_id()),
                Err(error) => assert!(matches!(error, Error::Conflict(_)), "{round}: {error:?}"),
            }
        }
    });
    assert!(vault.assert_clean().tokens > 100);
}
