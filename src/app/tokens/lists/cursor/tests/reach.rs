//! The listed tokens, their order, and the callers that see them.

use std::time::Duration;

use super::*;
use crate::store::{Change, Table, tables};

#[tokio::test]
async fn lists_are_ordered_by_container_and_then_newest_first() {
    let vault = TestVault::new().await;
    for (text, path) in
        [("1", "/b/"), ("2", "/a/"), ("3", "/a/c/"), ("4", "/a/"), ("5", "/"), ("6", "/a-/")]
    {
        vault.create(text, &[path]).await;
    }
    let owner = vault.owner().await;
    assert_eq!(list(&vault, &owner, &everything()), ["5", "6", "4", "2", "3", "1"]);
    let expected = [vec!["5", "6"], vec!["4", "2"], vec!["3", "1"]];
    assert_eq!(pages(&vault, &owner, &everything(), 2), expected);
}

#[tokio::test]
async fn a_container_is_listed_with_its_children_but_not_its_namesakes() {
    let vault = TestVault::new().await;
    for path in ["/pci/", "/pci/high/", "/pcif/", "/pc/", "/"] {
        vault.create(path, &[path]).await;
    }
    let owner = vault.owner().await;
    assert_eq!(list(&vault, &owner, &within("/pci/")), ["/pci/", "/pci/high/"]);
    assert_eq!(list(&vault, &owner, &within("/pci/high/")), ["/pci/high/"]);
    assert_eq!(list(&vault, &owner, &within("/none/")), Vec::<String>::new());
    assert_eq!(list(&vault, &owner, &within("/")).len(), 5);
}

#[tokio::test]
async fn without_a_container_a_list_spans_all_that_the_caller_may_read() {
    let vault = TestVault::new().await;
    for path in ["/a/", "/a/x/", "/b/", "/c/", "/c/x/", "/d/"] {
        vault.create(path, &[path]).await;
    }
    let rules = [("/c/", Transform::Mask), ("/a/x/", Transform::Mask), ("/c/x/", Transform::Mask)];
    let some = vault.caller(&[], &rules).await;
    assert_eq!(list(&vault, &some, &everything()), ["/a/x/", "/c/", "/c/x/"]);
    assert_eq!(pages(&vault, &some, &everything(), 1).len(), 3);
    let plain = vault.caller(&[Permission::TokenRead], &[]).await;
    assert_eq!(list(&vault, &plain, &everything()).len(), 6);
}

#[tokio::test]
async fn a_container_that_is_named_needs_the_permission_on_it_and_not_only_on_a_child() {
    let vault = TestVault::new().await;
    let some = vault.caller(&[Permission::TokenSearch], &[("/a/x/", Transform::Mask)]).await;
    let try_list = |path, permission| try_page(&vault, &some, permission, &within(path), &first(1));
    assert!(try_list("/a/x/", Permission::TokenRead).is_ok());
    assert!(try_list("/a/x/y/", Permission::TokenRead).is_ok());
    for path in ["/a/", "/", "/b/"] {
        let refused = try_list(path, Permission::TokenRead);
        assert!(matches!(refused, Err(Error::Forbidden(_))), "{path}");
        assert!(try_list(path, Permission::TokenSearch).is_ok(), "{path}");
    }
}

#[tokio::test]
async fn a_token_in_several_containers_is_listed_once_under_the_first_that_the_list_shows() {
    let vault = TestVault::new().await;
    vault.create("a", &["/a/"]).await;
    vault.create("both", &["/a/", "/b/", "/b/c/"]).await;
    vault.create("b", &["/b/"]).await;
    vault.create("c", &["/b/c/"]).await;
    let owner = vault.owner().await;
    assert_eq!(list(&vault, &owner, &everything()), ["both", "a", "b", "c"]);
    assert_eq!(pages(&vault, &owner, &everything(), 1).concat(), ["both", "a", "b", "c"]);
    assert_eq!(list(&vault, &owner, &within("/b/")), ["b", "both", "c"]);
    assert_eq!(list(&vault, &owner, &within("/b/c/")), ["c", "both"]);
    let some = vault.caller(&[], &[("/b/c/", Transform::Mask)]).await;
    assert_eq!(list(&vault, &some, &everything()), ["c", "both"]);
}

#[tokio::test]
async fn tokens_show_what_the_rule_that_grants_the_permission_shows() {
    let vault = TestVault::new().await;
    vault.create("plain", &["/a/"]).await;
    vault.create("hidden", &["/b/"]).await;
    let rules = [("/a/", Transform::Reveal), ("/b/", Transform::Redact)];
    let some = vault.caller(&[], &rules).await;
    let page = page(&vault, &some, &everything(), &first(9));
    let kinds: Vec<_> = page.tokens.iter().map(|it| matches!(it.data, DataView::Plain)).collect();
    assert_eq!(kinds, [true, false]);
}

#[tokio::test]
async fn expired_tokens_never_appear_though_nobody_has_swept_them() {
    let vault = TestVault::new().await;
    vault.create("1", &["/a/"]).await;
    let expiry = vault.app.now().plus(Duration::from_hours(1)).to_wire();
    for (text, paths) in [("2", &["/a/"][..]), ("3", &["/a/", "/b/"])] {
        vault.create_with(text, paths, |draft| draft.expires_at = Some(expiry.clone())).await;
    }
    vault.create("4", &["/a/"]).await;
    let owner = vault.owner().await;
    assert_eq!(list(&vault, &owner, &everything()), ["4", "3", "2", "1"]);
    vault.app.clock().advance(Duration::from_hours(2));
    assert_eq!(pages(&vault, &owner, &everything(), 1), [["4"], ["1"]]);
    vault.app.upkeep().sweep_all().await.unwrap();
    assert_eq!(pages(&vault, &owner, &everything(), 1), [["4"], ["1"]]);
    assert!(vault.app.verification().verify().unwrap().is_clean());
}

#[tokio::test]
async fn no_record_is_opened_but_those_on_the_page() {
    let vault = TestVault::new().await;
    let foreign = vault.create("foreign", &["/0/"]).await;
    vault.create("seen", &["/a/"]).await;
    let later = vault.create("later", &["/b/"]).await;
    let some = vault.caller(&[], &[("/a/", Transform::Mask), ("/b/", Transform::Mask)]).await;
    for id in [foreign, later] {
        let key = tables::tokens(vault.tenant.id, TokenId::parse(&id).unwrap());
        let change =
            Change::new().put(Table::Tokens, key, b"not a record, though as long as one".to_vec());
        vault.app.store().commit(change).await.unwrap();
    }
    let list = |start: &CursorStart| page(&vault, &some, &everything(), start);
    let page = list(&first(1));
    assert_eq!(texts(&page.tokens), ["seen"]);
    assert_eq!(vault.app.damage.met(), 0);
    // The next page opens the damaged record, and skips it.
    let next = list(&CursorStart { after: page.next, size: 1 });
    assert_eq!((next.tokens.len(), vault.app.damage.met()), (0, 1));
}

#[tokio::test]
async fn data_that_is_not_shown_does_not_end_a_page_and_a_costly_mask_hides_no_other_data() {
    let vault = TestVault::new().await;
    let cost =
        "{{ data | split: 'y' | join: 'z' | replace: 'xx', 'y' | replace: 'y', 'xx' | size }}";
    for number in 0..20 {
        let is_costly = number >= 12;
        let fill = |draft: &mut TokenDraft| {
            draft.search_indexes = None;
            if is_costly {
                draft.data = Some(Secret::new(json!("x".repeat(60_000))));
                draft.mask = Some(json!([cost, cost]));
            } else {
                draft.data = Some(Secret::new(json!("x".repeat(100_000))));
                draft.mask = Some(json!("{{ data | size }}"));
            }
        };
        vault.create_with(&number.to_string(), &["/a/"], fill).await;
    }
    let owner = vault.owner().await;
    let plain = page(&vault, &owner, &everything(), &first(20));
    assert!(plain.tokens.len() < 20 && plain.next.is_some());
    let caller = vault.caller(&[], &[("/", Transform::Redact)]).await;
    assert_eq!(page(&vault, &caller, &everything(), &first(20)).tokens.len(), 20);
    // The newest tokens come first.
    let caller = vault.caller(&[], &[("/", Transform::Mask)]).await;
    let masked: Vec<_> = pages(&vault, &caller, &everything(), 20).concat();
    assert_eq!(masked.len(), 20);
    let shown = page(&vault, &caller, &everything(), &first(9)).tokens;
    let last = shown.last().map(|last| matches!(last.data, DataView::Masked(_)));
    assert_eq!(last, Some(true), "the cheap mask behind eight costly ones");
    assert!(
        shown.iter().any(|it| matches!(it.data, DataView::Absent)),
        "the costly ones are too costly"
    );
}
