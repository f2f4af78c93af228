use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::app::caller::Caller;
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
    let metadata = entries.iter().copied().collect();
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
    let first = create(&vault, "1", &[("k", "V"), ("text", "1")]).await;
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

/// A walk that fails beyond this number of containers.
fn newest<'a>(
    vault: &'a TestVault,
    caller: &Caller,
    snapshot: &'a Snapshot,
    filters: &[Filter<'_>],
    reach: &'a [Container],
    containers_max: usize,
) -> NewestTokens<'a> {
    let tenant = vault.tenant.id;
    let lists = filters.iter().map(|filter| lists_of(*filter, &caller.keys, tenant));
    let (damage, now) = (&vault.app.damage, vault.app.now());
    NewestTokens { snapshot, filters: lists.collect(), reach, tenant, damage, now, containers_max }
}

const PATHS: [&str; 5] = ["/", "/a/", "/a/b/", "/a/b-/", "/c/"];
const SPELLINGS: [&str; 3] = ["mark", "Mark", "MARK"];

/// The containers of a token, and its marks, each in one spelling.
type Planned = (BTreeSet<usize>, BTreeMap<u8, usize>);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Passes yield few tokens, so that a page takes several of them.
    #[test]
    fn a_page_has_the_newest_tokens_that_all_filters_have(
        tokens in prop::collection::vec(
            (
                prop::collection::btree_set(0_usize..PATHS.len(), 1..4),
                prop::collection::btree_map(0_u8..3, 0_usize..SPELLINGS.len(), 0..4),
            ),
            1..12,
        ),
        wanted in prop::collection::btree_set(0_u8..3, 0..3),
        reach in prop::sample::subsequence(vec![1_usize, 4], 1..=2),
        is_owner in any::<bool>(),
        pass_max in 1_usize..4,
    ) {
        let tokens: Vec<Planned> = tokens;
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let vault = TestVault::new().await;
            let owner = vault.owner().await;
            let reach: Vec<_> = if is_owner { vec![0] } else { reach };
            let reach: Vec<_> =
                reach.iter().map(|at| Container::parse(PATHS[*at]).unwrap()).collect();
            let mut expected = Vec::new();
            for (paths, marks) in &tokens {
                let paths: Vec<_> = paths.iter().map(|at| PATHS[*at]).collect();
                let entry = |(mark, spelling): (&u8, &usize)| {
                    (format!("{}{mark}", SPELLINGS[*spelling]), String::from("x"))
                };
                let metadata = marks.iter().map(entry).collect();
                let id = vault.create_with("x", &paths, |draft| draft.metadata = metadata).await;
                let is_reached = |path: &&str| reach.iter().any(|it| path.starts_with(it.as_str()));
                if paths.iter().any(is_reached) && wanted.iter().all(|it| marks.contains_key(it)) {
                    expected.insert(0, id);
                }
            }
            let names: Vec<_> = wanted.iter().map(|mark| format!("mark{mark}")).collect();
            let mut filters: Vec<_> = names.iter().map(|it| Filter::Metadata(it, "x")).collect();
            if filters.is_empty() {
                filters.push(Filter::Everything);
            }
            let snapshot = vault.app.store().snapshot().unwrap();
            let newest = newest(&vault, &owner, &snapshot, &filters, &reach, PATHS.len());
            for known_total in [None, Some(expected.len())] {
                for take in [1, 3, 100] {
                    for skip in 0..=expected.len() {
                        let stretch = PageRange { skip, take };
                        let (page, total) =
                            collect(&newest, stretch, known_total, pass_max).unwrap();
                        let page: Vec<_> = page.iter().map(ToString::to_string).collect();
                        let end = expected.len().min(skip + take);
                        assert_eq!((page.as_slice(), total), (&expected[skip..end], expected.len()));
                    }
                }
            }
        });
    }
}

#[tokio::test]
async fn a_list_over_too_many_containers_is_refused_and_the_answer_names_the_other_lists() {
    let vault = TestVault::new().await;
    for path in ["/a/", "/a/b/", "/c/", "/a/", "/c/d/"] {
        vault.create("x", &[path]).await;
    }
    let owner = vault.owner().await;
    let snapshot = vault.app.store().snapshot().unwrap();
    let page = |reach: &str, containers_max| {
        let reach = [Container::parse(reach).unwrap()];
        let filters = [Filter::Everything];
        let newest = newest(&vault, &owner, &snapshot, &filters, &reach, containers_max);
        collect(&newest, ALL, None, 100)
    };
    assert_eq!(page("/", 4).unwrap().1, 5);
    assert_eq!(page("/a/", 3).unwrap().1, 3, "containers out of reach do not count");
    match page("/", 3) {
        Err(Error::Invalid(mistakes)) => {
            assert!(format!("{mistakes:?}").contains("GET /v2/tokens"), "{mistakes:?}");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_published_bound_of_containers_holds() {
    let vault = TestVault::new().await;
    let owner = vault.owner().await;
    let list = Filter::SearchTerm("x").list(owner.keys.index(), vault.tenant.id);
    let mut change = crate::store::Change::new();
    for number in 0..=NUMBERED_CONTAINERS_MAX {
        let path = Container::parse(&format!("/{number}/")).unwrap();
        let token = TokenId::new(Uuid::from_u128(u128::try_from(number).unwrap()));
        let key = list.in_container(&path, vault.app.now(), token);
        change = change.put(Table::TokenLists, key, vec![]);
    }
    vault.app.store().commit(change).await.unwrap();
    let search_term = Some(Secret::new(String::from("x")));
    let query = LegacyTokenQuery { search_term, ..LegacyTokenQuery::default() };
    let refused = vault.app.tokens(&owner).list_by_number(Permission::TokenRead, &query, ALL);
    assert!(matches!(refused.await, Err(Error::Invalid(_))));
}

fn to_strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| String::from(*text)).collect()
}
