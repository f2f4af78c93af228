//! Pages and the cursors between them.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::waiting::steps;

#[tokio::test]
async fn the_last_page_has_no_cursor_even_when_it_is_full() {
    let vault = TestVault::new().await;
    let owner = vault.owner().await;
    assert_eq!(pages(&vault, &owner, &everything(), 2), [Vec::<String>::new()]);
    for text in ["1", "2", "3", "4"] {
        vault.create(text, &["/a/"]).await;
    }
    assert_eq!(pages(&vault, &owner, &everything(), 2), [["4", "3"], ["2", "1"]]);
    assert_eq!(pages(&vault, &owner, &everything(), 4), [["4", "3", "2", "1"]]);
    assert_eq!(pages(&vault, &owner, &everything(), 100), [["4", "3", "2", "1"]]);
}

#[tokio::test]
async fn a_cursor_that_this_list_did_not_give_is_refused() {
    let vault = TestVault::new().await;
    for text in ["1", "2"] {
        vault.create(text, &["/a/"]).await;
    }
    let owner = vault.owner().await;
    let list = |caller: &Caller, permission, query: &TokenQuery, after: &[u8]| {
        let start = CursorStart { after: Some(after.to_vec()), size: 1 };
        try_page(&vault, caller, permission, query, &start).map(|page| texts(&page.tokens))
    };
    let cursor = page(&vault, &owner, &everything(), &first(1)).next.unwrap();
    assert_eq!(list(&owner, Permission::TokenRead, &everything(), &cursor).unwrap(), ["1"]);

    let other = new_tenant(&vault.app).await;
    let stranger = vault.caller_of(other.id, &[], &[("/", Transform::Mask)]).await;
    let typed = TokenQuery { container: None, filter: TokenFilter::Type(TokenType::Token) };
    let refused = [
        list(&stranger, Permission::TokenRead, &everything(), &cursor),
        list(&owner, Permission::TokenSearch, &everything(), &cursor),
        list(&owner, Permission::TokenRead, &within("/a/"), &cursor),
        list(&owner, Permission::TokenRead, &within("/"), &cursor),
        list(&owner, Permission::TokenRead, &typed, &cursor),
        list(&owner, Permission::TokenRead, &everything(), &[]),
        list(&owner, Permission::TokenRead, &everything(), &cursor[1..]),
    ];
    for (at, result) in refused.into_iter().enumerate() {
        assert!(matches!(result, Err(Error::Invalid(_))), "{at}");
    }
    for at in 0..cursor.len() {
        let mut altered = cursor.clone();
        altered[at] ^= 1;
        let result = list(&owner, Permission::TokenRead, &everything(), &altered);
        assert!(matches!(result, Err(Error::Invalid(_))), "{at}");
    }
}

#[tokio::test]
async fn a_cursor_shows_neither_the_token_nor_the_container_that_it_leads_to() {
    let vault = TestVault::new().await;
    let mut lengths = BTreeSet::new();
    for path in ["/a/", "/a/container-with-a-name/"] {
        let ids = [vault.create("1", &[path]).await, vault.create("2", &[path]).await];
        let owner = vault.owner().await;
        let cursor = page(&vault, &owner, &within(path), &first(1)).next.unwrap();
        let contains = |part: &[u8]| cursor.windows(part.len()).any(|window| window == part);
        for id in ids {
            let id = TokenId::parse(&id).unwrap();
            // The first six bytes of an id are a time.
            assert!(!contains(&id.bytes()[..6]) && !contains(&id.bytes()[6..]));
        }
        assert!(!contains(path.as_bytes()));
        lengths.insert(cursor.len());
    }
    assert_eq!(lengths.len(), 1, "the length shows the length of the path");
}

#[tokio::test]
async fn a_page_that_passes_over_too_much_ends_early_and_the_next_goes_on() {
    let vault = TestVault::new().await;
    for text in ["1", "2", "3", "4", "5"] {
        vault.create(text, &["/a/", "/b/"]).await;
    }
    vault.create("b", &["/b/"]).await;
    vault.create("c", &["/c/"]).await;
    let owner = vault.owner().await;
    let (query, now) = (everything(), vault.app.now());
    let scan = Scan::new(&owner, Permission::TokenRead, &query).unwrap();
    let snapshot = vault.app.store().snapshot().unwrap();
    let mut counts = Vec::new();
    let mut after = None;
    for _ in steps("the pages of the list") {
        let page = scan.page(&snapshot, after.as_deref(), 5, 2, now).unwrap();
        counts.push(page.tokens.len());
        match page.next {
            None => break,
            next => after = next,
        }
    }
    assert_eq!(counts, [5, 1, 0, 1]);
}

/// Happens between two pages.
#[derive(Debug, Clone)]
enum Event {
    Create(usize),
    Delete(prop::sample::Index),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        (0..PLACES.len()).prop_map(Event::Create),
        any::<prop::sample::Index>().prop_map(Event::Delete),
    ]
}

const PLACES: [&[&str]; 5] = [&["/a/"], &["/a/b/"], &["/a/", "/c/"], &["/b/", "/c/"], &["/c/"]];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn no_token_that_exists_throughout_is_skipped_or_repeated(
        before in prop::collection::vec(0..PLACES.len(), 1..12),
        between in prop::collection::vec(prop::collection::vec(event(), 0..4), 1..6),
        size in 1_usize..4,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let outcome = runtime.block_on(walk_while_changing(&before, &between, size));
        outcome?;
    }
}

async fn walk_while_changing(
    before: &[usize],
    between: &[Vec<Event>],
    size: usize,
) -> Result<(), TestCaseError> {
    let vault = TestVault::new().await;
    let owner = vault.owner().await;
    let mut live = Vec::new();
    for place in before {
        live.push(vault.create("x", PLACES[*place]).await);
    }
    let mut throughout: BTreeSet<_> = live.iter().cloned().collect();
    let mut seen = Vec::new();
    let mut start = first(size);
    let mut events = between.iter();
    for _ in steps("the pages of the list") {
        let page = page(&vault, &owner, &everything(), &start);
        seen.extend(page.tokens.iter().map(|shown| shown.token.public_id()));
        let Some(next) = page.next else { break };
        start.after = Some(next);
        for event in events.next().into_iter().flatten() {
            match event {
                Event::Create(place) => live.push(vault.create("x", PLACES[*place]).await),
                Event::Delete(_) if live.is_empty() => (),
                Event::Delete(which) => {
                    let id = live.swap_remove(which.index(live.len()));
                    vault.delete(&id).await;
                    throughout.remove(&id);
                }
            }
        }
    }
    let once: BTreeSet<_> = seen.iter().cloned().collect();
    prop_assert_eq!(once.len(), seen.len(), "a token was repeated");
    prop_assert!(throughout.is_subset(&once), "a token was skipped");
    Ok(())
}
