use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::app::access::caller::Caller;
use crate::app::tokens::lists::cursor::tests::{TestVault, texts};
use crate::domain::access::Transform;
use crate::secret::Secret;

const ALL: PageRange = PageRange { skip: 0, take: 100 };

async fn page(
    vault: &TestVault,
    caller: &Caller,
    query: &LegacyTokenQuery,
    stretch: PageRange,
) -> (Vec<String>, usize) {
    let page = vault.app.tokens(caller).list_by_number(Permission::TokenRead, query, stretch).await;
    let page = page.unwrap();
    (texts(&page.tokens), page.total)
}

fn metadata(entries: &[(&str, &str)]) -> LegacyTokenQuery {
    let own = |(key, value): &(&str, &str)| (String::from(*key), String::from(*value));
    LegacyTokenQuery { metadata: entries.iter().map(own).collect(), ..LegacyTokenQuery::default() }
}

async fn create(vault: &TestVault, text: &str, entries: &[(&str, &str)]) -> String {
    let metadata: BTreeMap<_, _> = metadata(entries).metadata.into_iter().collect();
    vault.create_with(text, &["/a/"], |draft| draft.metadata = metadata).await
}

#[tokio::test]
async fn tokens_of_all_containers_come_newest_first_and_are_counted() {
    let vault = TestVault::new().await;
    for (text, paths) in [("1", &["/b/"][..]), ("2", &["/a/", "/c/"]), ("3", &["/c/"])] {
        vault.create(text, paths).await;
    }
    let owner = vault.owner().await;
    let query = LegacyTokenQuery::default();
    let all = |texts: &[&str], total| {
        (texts.iter().map(|text| String::from(*text)).collect::<Vec<_>>(), total)
    };
    assert_eq!(page(&vault, &owner, &query, ALL).await, all(&["3", "2", "1"], 3));
    let second = PageRange { skip: 1, take: 1 };
    assert_eq!(page(&vault, &owner, &query, second).await, all(&["2"], 3));
    let past = PageRange { skip: 300, take: 100 };
    assert_eq!(page(&vault, &owner, &query, past).await, all(&[], 3));
    let some = vault.caller(&[], &[("/a/", Transform::Mask), ("/b/", Transform::Mask)]).await;
    assert_eq!(page(&vault, &some, &query, ALL).await, all(&["2", "1"], 2));
    assert_eq!(page(&vault, &some, &query, second).await, all(&["1"], 2));
}

#[tokio::test]
async fn expired_tokens_are_neither_listed_nor_counted() {
    let vault = TestVault::new().await;
    let expiry = vault.app.now().plus(Duration::from_hours(1)).to_wire();
    let gone = vault.create_with("1", &["/a/"], |draft| draft.expires_at = Some(expiry)).await;
    vault.create("2", &["/a/"]).await;
    let owner = vault.owner().await;
    let query = LegacyTokenQuery::default();
    assert_eq!(page(&vault, &owner, &query, ALL).await.1, 2);
    vault.app.clock().advance(Duration::from_hours(2));
    assert_eq!(page(&vault, &owner, &query, ALL).await, (vec![String::from("2")], 1));
    let named = LegacyTokenQuery { ids: Some(vec![gone]), ..LegacyTokenQuery::default() };
    assert_eq!(page(&vault, &owner, &named, ALL).await, (vec![], 0));
    vault.app.upkeep().sweep_all().await.unwrap();
    assert_eq!(page(&vault, &owner, &query, ALL).await, (vec![String::from("2")], 1));
}

#[tokio::test]
async fn several_metadata_entries_must_all_match_whatever_their_case() {
    let vault = TestVault::new().await;
    create(&vault, "1", &[("User", "ANN"), ("City", "Bern")]).await;
    create(&vault, "2", &[("user", "ann"), ("city", "Basel")]).await;
    create(&vault, "3", &[("user", "ann"), ("city", "BERN"), ("more", "x")]).await;
    let owner = vault.owner().await;
    for (entries, expected) in [
        (&[("USER", "Ann")][..], &["3", "2", "1"][..]),
        (&[("user", "ann"), ("CITY", "bern")], &["3", "1"]),
        (&[("user", "ann"), ("city", "bern"), ("more", "X")], &["3"]),
        (&[("user", "ann"), ("city", "bonn")], &[]),
        (&[("city", "bern"), ("city", "basel")], &[]),
    ] {
        let (found, total) = page(&vault, &owner, &metadata(entries), ALL).await;
        assert_eq!((found.as_slice(), total), (to_strings(expected).as_slice(), expected.len()));
    }
}

#[tokio::test]
async fn ids_are_looked_up_and_what_the_caller_may_not_read_is_not_there() {
    let vault = TestVault::new().await;
    let first = create(&vault, "1", &[("k", "V")]).await;
    let name =
        vault.create_with("2", &["/b/"], |draft| draft.id = Some(String::from("my-own-id"))).await;
    let hidden = vault.create("3", &["/c/"]).await;
    let some = vault.caller(&[], &[("/a/", Transform::Mask), ("/b/", Transform::Mask)]).await;
    let absent = String::from("absent");
    let ids = vec![first.clone(), name, hidden, first, absent];
    let query = LegacyTokenQuery { ids: Some(ids.clone()), ..LegacyTokenQuery::default() };
    assert_eq!(page(&vault, &some, &query, ALL).await, (to_strings(&["2", "1"]), 2));
    let query = LegacyTokenQuery { ids: Some(ids), ..metadata(&[("K", "v")]) };
    assert_eq!(page(&vault, &some, &query, ALL).await, (to_strings(&["1"]), 1));
}

#[tokio::test]
async fn search_terms_match_by_case_in_all_containers() {
    let vault = TestVault::new().await;
    for (text, path) in [("Abc", "/b/"), ("abc", "/a/"), ("Abc", "/a/")] {
        vault.create(text, &[path]).await;
    }
    let owner = vault.owner().await;
    let search_term = Some(Secret::new(String::from("Abc")));
    let query = LegacyTokenQuery { search_term, ..LegacyTokenQuery::default() };
    assert_eq!(page(&vault, &owner, &query, ALL).await, (to_strings(&["Abc", "Abc"]), 2));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Few steps at a time, so that walks are interrupted at every possible place.
    #[test]
    fn timelines_walked_together_give_what_stands_in_all_of_them(
        tokens in prop::collection::vec(prop::collection::btree_set(0_u8..4, 0..4), 1..12),
        wanted in prop::collection::btree_set(0_u8..4, 1..4),
        steps_max in 4_usize..9,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (found, expected) = runtime.block_on(async {
            let vault = TestVault::new().await;
            let owner = vault.owner().await;
            let mut expected = Vec::new();
            for marks in &tokens {
                let entries: Vec<_> = marks.iter().map(|mark| (mark.to_string(), "x")).collect();
                let entries: Vec<_> = entries.iter().map(|(key, it)| (key.as_str(), *it)).collect();
                let id = create(&vault, "x", &entries).await;
                if wanted.is_subset(marks) {
                    expected.insert(0, id);
                }
            }
            let keys: Vec<_> = wanted.iter().map(ToString::to_string).collect();
            let filters: Vec<_> = keys.iter().map(|key| Filter::Metadata(key, "x")).collect();
            let timelines = Timelines::of(&filters, &owner.keys, vault.tenant.id);
            let snapshot = vault.app.store().snapshot().unwrap();
            let (mut found, mut from) = (Vec::new(), Some(START.to_vec()));
            while let Some(position) = from {
                let steps = timelines.walk(&snapshot, position, steps_max).unwrap();
                let id = |(key, _): &(Vec<u8>, Vec<u8>)| tables::token_of_list_key(key).unwrap();
                found.extend(steps.entries.iter().map(id).map(|id| id.to_string()));
                from = steps.from;
            }
            (found, expected)
        });
        prop_assert_eq!(found, expected);
    }
}

fn to_strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| String::from(*text)).collect()
}
