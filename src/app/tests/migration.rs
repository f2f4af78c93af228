//! A file of format 3, opened by this program: everything is found, and nothing is left over.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::app::{Caller, CursorStart, Error, PageRange, ScrubProgress, ScrubWalk, Vault};
use crate::clock::Clock;
use crate::crypto::MasterKey;
use crate::domain::key_text::KeyText;
use crate::domain::permission::Permission;
use crate::domain::time::Timestamp;
use crate::domain::token_query::{LegacyTokenQuery, TokenFilter, TokenQuery};
use crate::secret::Secret;
use crate::store::backup::Reader;
use crate::store::tests::{TestDirectory, block_on};
use crate::store::{Change, Store, StorePlace, Table};
use crate::waiting::steps;

/// Made by the last program whose format was 3, with the keys of its card verification codes and the
/// answer to the request that made its card.
const BACKUP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/format-3.backup");
const MASTER_KEY: &[u8] = include_bytes!("../../../tests/fixtures/format-3.key");
const CVC_KEYS: &[u8] = include_bytes!("../../../tests/fixtures/format-3.cvc.keys");
const ANSWER: &str = include_str!("../../../tests/fixtures/format-3.answer.json");
const API_KEY: &str = "key_test_self_pvt_EhaqrmJ1iq63JiC9CwAQX4.d10c95de9402b1eaafcf3806c69a4a1a";
/// A few seconds after the backup.
const NOW: Timestamp = Timestamp::from_seconds(1_794_764_280);

const ONE: &str = "01a1e049-6f4a-408f-b3be-6c48ebc5e30b";
const SEVERAL: &str = "01a1e049-6f89-476f-8e71-003f913e69fe";
const EXPIRING: &str = "01a1e049-702e-4c18-af93-9f9c496312f7";
const NAMED: &str = "named_in_format_3";
const CARD: &str = "01a1e049-71c9-4c6a-aae4-b3bd95d98ee5";
const ANSWERED: &str = "01a1e049-7233-4356-abd6-bfac90e36137";
const INTENT: &str = "01a1e049-70e8-4057-bcbb-ed97bb81efda";

fn master() -> MasterKey {
    MasterKey::parse(&Secret::new(MASTER_KEY.to_vec())).unwrap()
}

/// The data directory of the fixture, in the format of its backup.
fn restored(directory: &TestDirectory) -> PathBuf {
    let path = directory.join("data");
    fs::create_dir(&path).unwrap();
    Store::restore(&path, Reader::open(Path::new(BACKUP)).unwrap(), None, Change::new()).unwrap();
    fs::write(path.join("cvc.keys"), CVC_KEYS).unwrap();
    path
}

fn caller(app: &Vault) -> Arc<Caller> {
    app.access().authenticate(&KeyText::parse(API_KEY).unwrap()).unwrap()
}

fn rows(app: &Vault, table: Table) -> Vec<(Vec<u8>, Vec<u8>)> {
    app.store().snapshot().unwrap().first(&table.whole(), usize::MAX).unwrap()
}

/// The ids of a deprecated list, and its total.
fn numbered(app: &Vault, query: &LegacyTokenQuery) -> (Vec<String>, usize) {
    let caller = caller(app);
    let all = PageRange { skip: 0, take: 100 };
    let page = app.tokens(&caller).list_by_number(Permission::TokenRead, query, all);
    let page = block_on(page).unwrap();
    (page.tokens.iter().map(|shown| shown.token.public_id()).collect(), page.total)
}

fn check_metadata(app: &Vault, entries: &[(&str, &str)], expected: &[&str]) {
    let own = |(key, value): &(&str, &str)| (String::from(*key), String::from(*value));
    let metadata = entries.iter().map(own).collect();
    let found = numbered(app, &LegacyTokenQuery { metadata, ..LegacyTokenQuery::default() });
    assert_eq!((found.0, found.1), (strings(expected), expected.len()), "{entries:?}");
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| String::from(*text)).collect()
}

/// The ids of a list with cursors.
fn listed(app: &Vault, filter: TokenFilter) -> Vec<String> {
    let (caller, query) = (caller(app), TokenQuery { container: None, filter });
    let start = CursorStart { after: None, size: 100 };
    let page = app.tokens(&caller).list(Permission::TokenRead, &query, &start);
    let mut ids: Vec<_> =
        block_on(page).unwrap().tokens.iter().map(|shown| shown.token.public_id()).collect();
    ids.sort();
    ids
}

fn check_clean(app: &Vault) -> crate::app::Report {
    let report = app.verification().verify().unwrap();
    assert!(report.is_clean(), "{:?}", report.findings);
    let mut walk = ScrubWalk::default();
    steps("the end of the scrub")
        .find(|_| app.upkeep().scrub_some(&mut walk).unwrap() == ScrubProgress::Everything);
    assert_eq!(app.damage.count(), 0);
    assert_eq!(app.audit_watch.finding(), None);
    report
}

#[test]
fn a_migrated_file_has_every_token_under_every_filter() {
    let directory = TestDirectory::new();
    let app =
        Vault::open(&StorePlace::Directory(restored(&directory)), master(), Clock::stopped_at(NOW))
            .unwrap();
    assert_eq!(app.upkeep().migrated().unwrap().from, 3);
    let report = check_clean(&app);
    assert_eq!((report.tokens, report.token_intents, report.answers), (6, 2, 2));
    let everything = [ANSWERED, CARD, NAMED, EXPIRING, SEVERAL, ONE];
    assert_eq!(numbered(&app, &LegacyTokenQuery::default()), (strings(&everything), 6));
    check_metadata(&app, &[("USER", "ann")], &[CARD, NAMED, SEVERAL, ONE]);
    check_metadata(&app, &[("user", "BOB")], &[EXPIRING]);
    check_metadata(&app, &[("user", "ann"), ("CITY", "bern")], &[ONE]);
    check_metadata(&app, &[("plan", "gold"), ("user", "ann")], &[SEVERAL]);
    check_metadata(&app, &[("order", "a-17"), ("note", "X"), ("user", "ann")], &[CARD]);
    check_metadata(&app, &[("plan", "silver")], &[]);
    let search_term = Some(Secret::new(String::from("in several")));
    let found = numbered(&app, &LegacyTokenQuery { search_term, ..LegacyTokenQuery::default() });
    assert_eq!(found, (strings(&[SEVERAL]), 1));
    let metadata = |key: &str, value: &str| TokenFilter::Metadata(key.into(), value.into());
    assert_eq!(listed(&app, metadata("user", "ann")), strings(&[ONE, CARD, NAMED]));
    assert_eq!(listed(&app, metadata("USER", "Ann")), strings(&[SEVERAL]));
    assert_eq!(listed(&app, metadata("USER", "ann")), strings(&[]));
    assert_eq!(listed(&app, TokenFilter::Everything).len(), 6);
    app.close();
}

#[test]
fn codes_and_answers_of_a_migrated_file_are_read_and_go_when_they_are_due() {
    let directory = TestDirectory::new();
    let clock = Clock::stopped_at(NOW);
    let app =
        Vault::open(&StorePlace::Directory(restored(&directory)), master(), clock.clone()).unwrap();
    let caller = caller(&app);
    let report = check_clean(&app);
    assert_eq!((report.cvcs, report.cvcs_gone), (2, 0));
    let card = block_on(app.tokens(&caller).read(CARD)).unwrap().token;
    assert_eq!(card.cvc.unwrap().expose(), "123");
    let intent = block_on(app.token_intents(&caller).read(INTENT)).unwrap().intent;
    assert_eq!(intent.cvc.unwrap().expose(), "987");
    let begin = || app.idempotency().begin(&caller, "POST", "/tokens", "kept-since-format-3");
    match block_on(begin()) {
        Err(Error::Replayed(replay)) => {
            assert_eq!(replay.body.expose(), ANSWER.trim_end().as_bytes());
        }
        other => panic!("{other:?}"),
    }
    clock.advance(Duration::from_hours(2));
    assert_eq!(block_on(app.upkeep().sweep_all()).unwrap(), 2);
    let report = check_clean(&app);
    assert_eq!((report.cvcs, report.cvcs_gone, report.answers), (0, 0, 2));
    assert!(rows(&app, Table::Cvcs).is_empty());
    clock.advance(Duration::from_hours(3 * 24));
    assert_eq!(block_on(app.upkeep().sweep_all()).unwrap(), 2, "the intents");
    assert!(block_on(begin()).is_ok());
    for table in [Table::Idempotency, Table::IdempotencyAnswers] {
        assert!(rows(&app, table).is_empty(), "{}", table.name());
    }
    assert_eq!(check_clean(&app).tokens, 6);
    app.close();
}

#[test]
fn keys_of_a_migrated_file_are_rotated_with_its_answers() {
    let directory = TestDirectory::new();
    let app =
        Vault::open(&StorePlace::Directory(restored(&directory)), master(), Clock::stopped_at(NOW))
            .unwrap();
    let tenant = caller(&app).tenant.id;
    block_on(app.rotation().rotate_tenant(tenant)).unwrap();
    let mut walk = crate::app::Walk::default();
    for _ in steps("the end of the rotation") {
        if block_on(app.rotation().rotate_step(&mut walk)).unwrap() == crate::app::Step::Idle {
            break;
        }
    }
    block_on(app.rotation().destroy_key(Some(tenant), 1)).unwrap();
    let caller = caller(&app);
    let again = app.idempotency().begin(&caller, "POST", "/tokens", "kept-since-format-3");
    let again = block_on(again);
    assert!(matches!(again, Err(Error::Replayed(_))), "{again:?}");
    check_metadata(&app, &[("USER", "ann")], &[CARD, NAMED, SEVERAL, ONE]);
    check_clean(&app);
    app.close();
}

#[test]
fn a_file_of_format_3_is_verified_without_being_written() {
    let directory = TestDirectory::new();
    let path = restored(&directory);
    let before = fs::read(path.join("strongroom.redb")).unwrap();
    let (app, _) = Vault::open_unwritten(
        &StorePlace::Directory(path.clone()),
        master(),
        Clock::stopped_at(NOW),
    )
    .unwrap();
    assert_eq!(check_clean(&app).tokens, 6);
    app.close();
    assert!(fs::read(path.join("strongroom.redb")).unwrap() == before);
}
