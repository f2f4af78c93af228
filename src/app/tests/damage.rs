//! `verify` finds what is wrong with a file, and nothing wrong with one that is not.

use std::time::Duration;

use crate::app::tests::{TestVault, deduplicating, draft, expiring, named, new_tenant, prepared};
use crate::app::{Error, Report, Write};
use crate::clock::Clock;
use crate::store::tests::block_on;
use crate::store::tests::disk::{Dice, TestDisk};
use crate::store::{Change, Table, Verdict, tables};

fn rows(vault: &TestVault, table: Table) -> Vec<(Vec<u8>, Vec<u8>)> {
    vault.app.store().snapshot().unwrap().first(&table.whole(), usize::MAX).unwrap()
}

/// A vault with tokens of every kind, damaged by what `plant` makes of it.
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
fn check(plant: impl Fn(&TestVault) -> Change, finding: &str) {
    let report = damaged(plant);
    assert!(!report.is_clean(), "nothing was found");
    let found = report.findings.iter().any(|it| it.contains(finding));
    assert!(found, "{finding:?} is not in {:?}", report.findings);
}

fn remove_first(table: Table) -> impl Fn(&TestVault) -> Change {
    move |vault| Change::new().delete(table, rows(vault, table).remove(0).0)
}

/// Every bit of the record's header, and some of its text and tag.
#[track_caller]
fn check_flipped(table: Table, finding: &str) {
    for at in [0, 1, 4, 5, 20, 21, 30] {
        check(
            |vault| {
                let (key, mut value) = rows(vault, table).remove(0);
                value[at] ^= 0x10;
                Change::new().put(table, key, value)
            },
            finding,
        );
    }
}

/// The first two rows of a table change places.
#[track_caller]
fn check_moved(table: Table, finding: &str) {
    check(
        |vault| {
            let rows = rows(vault, table);
            Change::new().put(table, rows[0].0.clone(), rows[1].1.clone()).put(
                table,
                rows[1].0.clone(),
                rows[0].1.clone(),
            )
        },
        finding,
    );
}

#[test]
fn a_removed_index_entry_is_found() {
    check(remove_first(Table::TokenLists), "an entry of token_lists is missing");
    check(remove_first(Table::Expiries), "an entry of due is missing");
    check(remove_first(Table::TokenNames), "its predefined id does not lead to it");
}

#[test]
fn each_single_removed_list_entry_is_found() {
    let count = rows(&TestVault::new(), Table::TokenLists).len();
    assert_eq!(count, 0);
    for at in 0..12 {
        check(
            |vault| {
                let key = rows(vault, Table::TokenLists).remove(at).0;
                Change::new().delete(Table::TokenLists, key)
            },
            "an entry of token_lists is missing",
        );
    }
}

#[test]
fn an_index_entry_that_leads_nowhere_is_found() {
    for table in [Table::TokenLists, Table::Expiries, Table::TokenNames] {
        check(
            |vault| {
                let (mut key, value) = rows(vault, table).remove(0);
                *key.last_mut().unwrap() ^= 1;
                Change::new().put(table, key, value)
            },
            "index entries in the file",
        );
    }
}

#[test]
fn an_index_entry_with_another_value_is_found() {
    check(
        |vault| {
            let rows = rows(vault, Table::TokenLists);
            let (key, _) = rows.into_iter().find(|(_, value)| !value.is_empty()).unwrap();
            Change::new().put(Table::TokenLists, key, b"/elsewhere/".to_vec())
        },
        "an entry of token_lists is missing",
    );
}

#[test]
fn a_removed_token_leaves_entries_that_are_found() {
    check(remove_first(Table::Tokens), "index entries in the file");
    check(remove_first(Table::Tokens), "2 tokens, but 3 counted");
}

#[test]
fn a_wrong_count_is_found() {
    // The first that is no digest is that of the tenant's tokens.
    let count = |vault: &TestVault| {
        let mut places = rows(vault, Table::Counts).into_iter().map(|(place, _)| place);
        places.find(|place| tables::digest_of_key(place).is_none()).unwrap()
    };
    check(|vault| Change::new().count(count(vault), 1), "3 tokens, but 4 counted");
    check(|vault| Change::new().count(count(vault), -4), "3 tokens, but -1 counted");
    check(|vault| Change::new().delete(Table::Counts, count(vault)), "3 tokens, but 0 counted");
}

#[test]
fn a_flipped_byte_is_found_in_every_kind_of_record() {
    check_flipped(Table::Tokens, "its record does not open");
    check_flipped(Table::Applications, "an application does not open");
    check_flipped(Table::ApplicationKeys, "an API key does not open");
    check_flipped(Table::ApiKeys, "it is listed but cannot be used");
    check_flipped(Table::TokenNames, "its predefined id does not lead to it");
    check_flipped(Table::Tenants, "its record does not open");
}

#[test]
fn a_flipped_byte_is_found_in_the_keys_of_a_tenant() {
    check(
        |vault| {
            // The server's own come first, and without them nothing opens at all.
            let (key, mut value) = rows(vault, Table::Keys).pop().unwrap();
            value[30] ^= 1;
            Change::new().put(Table::Keys, key, value)
        },
        "its keys do not open",
    );
}

#[test]
fn a_record_in_the_place_of_another_is_found() {
    check_moved(Table::Tokens, "its record does not open");
}

#[test]
fn a_key_without_its_application_is_found() {
    check(remove_first(Table::Applications), "its application is missing");
}

#[test]
fn a_key_that_is_not_listed_or_cannot_be_used_is_found() {
    check(remove_first(Table::ApiKeys), "it is listed but cannot be used");
    check(remove_first(Table::ApplicationKeys), "API keys in the file");
}

#[test]
fn what_belongs_to_no_tenant_is_found() {
    check(remove_first(Table::Tenants), "tokens in the file, but 0 belong to something");
    let stray = || vec![0xee; 16];
    check(
        |_| Change::new().put(Table::Keys, [stray(), vec![1; 5]].concat(), vec![1; 90]),
        "cryptographic keys in the file",
    );
    check(|_| Change::new().count([stray(), vec![1]].concat(), 1), "counts in the file");
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
