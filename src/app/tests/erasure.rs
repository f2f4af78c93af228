//! Erasure of a person's data.

use std::collections::BTreeMap;

use serde_json::json;

use crate::app::tests::{
    TestVault, assert_clean, card, draft, everything, expiring, named, new_caller, new_tenant,
};
use crate::app::{
    Erasure, Error, TokenDraft, TokenIntentDraft, Write, decode_erasure, encode_erasure,
};
use crate::domain::audit::{Act, Actor};
use crate::domain::erasure::Criterion;
use crate::domain::permission::Permission;
use crate::domain::token_type::TokenType;
use crate::secret::Secret;
use crate::store::tests::block_on;
use crate::store::{Table, Upkeep};

fn by(entries: &[(&str, &str)]) -> Criterion {
    let pairs = entries.iter().map(|(key, value)| (String::from(*key), String::from(*value)));
    Criterion::new(None, pairs.collect()).unwrap()
}

fn with(entries: &[(&str, &str)], value: &str) -> TokenDraft {
    TokenDraft { metadata: entries.iter().copied().collect(), ..draft(value) }
}

#[test]
fn exactly_the_tokens_with_all_entries_go_and_the_receipt_names_them() {
    let vault = TestVault::new();
    let tenant = vault.caller.tenant.id;
    let (both, others) = block_on(async {
        let mut both = Vec::new();
        both.push(vault.create_id(with(&[("person", "7"), ("shop", "a")], "1")).await);
        let third = [("person", "7"), ("shop", "a"), ("x", "y")];
        both.push(vault.create_id(with(&third, "2")).await);
        let soon = vault.in_an_hour();
        let short = TokenDraft { expires_at: Some(soon), ..with(&third, "3") };
        both.push(vault.create_id(short).await);
        let mut others = Vec::new();
        for entries in [
            &[("person", "7"), ("shop", "b")][..],
            &[("person", "70"), ("shop", "a")],
            &[("Person", "7"), ("shop", "a")],
            &[("person", "7")],
            &[],
        ] {
            others.push(vault.create_id(with(entries, "4")).await);
        }
        (both, others)
    });
    let criterion = by(&[("shop", "a"), ("person", "7")]);
    let found = block_on(Erasure::of(&vault.app).find(tenant, &criterion)).unwrap();
    assert_eq!(found.count(), 3);
    assert!(both.iter().all(|id| vault.data(id).is_some()), "a search deletes nothing");
    let signed = block_on(Erasure::of(&vault.app).erase(tenant, &criterion)).unwrap();
    assert!(both.iter().all(|id| vault.data(id).is_none()));
    assert!(others.iter().all(|id| vault.data(id).is_some()));
    let mut named: Vec<_> = signed.receipt.tokens.iter().map(ToString::to_string).collect();
    let mut expected = both;
    named.sort_unstable();
    expected.sort_unstable();
    assert_eq!(named, expected);
    assert!(!signed.receipt.hash.contains('7') || signed.receipt.hash.len() == 44);
    let public = vault.app.keys().system().signing().public();
    let again = decode_erasure(&encode_erasure(&signed).unwrap()).unwrap();
    assert!(again.is_signed_by(&public));
    let export = block_on(vault.app.audit().export(crate::app::ExportQuery {
        next: None,
        from: None,
        to: None,
    }));
    let entries = export.unwrap().entries;
    let own = entries.iter().find(|it| it.number == signed.receipt.entry).unwrap();
    assert_eq!((own.entry.act, own.entry.actor), (Act::Erase, Actor::Operator));
    assert_eq!(own.entry.entity.name.as_deref(), Some(signed.receipt.hash.as_str()));
    assert_eq!(entries.iter().filter(|it| it.entry.act == Act::Delete).count(), 3);
    vault.assert_clean();
}

#[test]
fn the_log_has_no_record_of_the_person_when_the_receipt_is_there() {
    let vault = TestVault::new();
    vault.app.store().set_upkeep(Upkeep::Allowed);
    let tenant = vault.caller.tenant.id;
    block_on(vault.create_id(with(&[("person", "7")], "1")));
    let range = Table::Tokens.rows_of(tenant.bytes());
    let rows = vault.app.store().snapshot().unwrap().first(&range, usize::MAX).unwrap();
    let (_, sealed) = rows.last().unwrap();
    let is_in_log = || {
        let mut log =
            vault.disk.volatile().into_iter().filter(|it| it.0.starts_with("strongroom.log."));
        log.any(|(_, bytes)| bytes.windows(sealed.len()).any(|it| it == sealed))
    };
    assert!(is_in_log());
    block_on(Erasure::of(&vault.app).erase(tenant, &by(&[("person", "7")]))).unwrap();
    assert!(!is_in_log());
}

#[test]
fn nothing_that_matches_gives_an_empty_receipt_and_an_entry() {
    let vault = TestVault::new();
    let tenant = vault.caller.tenant.id;
    let id = block_on(vault.create_id(draft("stays")));
    let signed = block_on(Erasure::of(&vault.app).erase(tenant, &by(&[("a", "b")]))).unwrap();
    assert_eq!(signed.receipt.count(), 0);
    assert!(signed.receipt.entry > 0);
    assert!(vault.data(&id).is_some());
}

#[test]
fn a_fingerprint_finds_tokens_and_intents_of_its_own_tenant_alone() {
    let TestVault { app, caller, .. } = TestVault::new();
    let tenant = caller.tenant.id;
    let mut rights = everything();
    rights.access = crate::domain::access::Access::new(
        vec![Permission::TokenCreate, Permission::TokenIntentCreate],
        Vec::new(),
    );
    block_on(async {
        let caller = new_caller(&app, tenant, &rights).await;
        let token = app.tokens(&caller).create(card("123"), &Write::plain()).await.unwrap();
        let print = token.outcome.shown.token.fingerprint.clone();
        let intent = TokenIntentDraft {
            kind: Some(TokenType::Card),
            data: Some(Secret::new(json!({"number": "4242424242424242"}))),
            ..TokenIntentDraft::default()
        };
        app.token_intents(&caller).create(&intent, &Write::plain()).await.unwrap();
        let (other, key) = new_tenant(&app, "second").await;
        let theirs = app.access().authenticate(&key).unwrap();
        app.tokens(&theirs).create(card("123"), &Write::plain()).await.unwrap();
        let criterion = Criterion::new(Some(print.clone()), BTreeMap::new()).unwrap();
        let none = Erasure::of(&app).erase(other, &criterion).await.unwrap();
        assert_eq!(none.receipt.count(), 0, "its fingerprints are others");
        let signed = Erasure::of(&app).erase(tenant, &criterion).await.unwrap();
        assert_eq!(signed.receipt.tokens.len(), 1);
        assert_eq!(signed.receipt.token_intents.len(), 1);
        assert!(!encode_erasure(&signed).unwrap().contains(&print), "it confirms the number");
        let searched = Erasure::of(&app).note_search(tenant, &criterion).await.unwrap();
        assert_eq!(signed.receipt.hash, searched);
    });
    let report = assert_clean(&app);
    assert_eq!((report.tokens, report.token_intents), (1, 0));
}

#[test]
fn a_named_token_is_erased_and_its_name_is_free_again() {
    let vault = TestVault::new();
    let tenant = vault.caller.tenant.id;
    block_on(async {
        vault.create(named("card of somebody", "v")).await.unwrap();
        let criterion = by(&[("Key", "v")]);
        let found = Erasure::of(&vault.app).find(tenant, &criterion).await.unwrap();
        assert_eq!(found.tokens.first().map(|(_, name)| name.as_str()), Some("card of somebody"));
        let signed = Erasure::of(&vault.app).erase(tenant, &criterion).await.unwrap();
        let text = encode_erasure(&signed).unwrap();
        assert!(!text.contains("somebody"), "a name may hold personal data");
        vault.create(named("card of somebody", "w")).await.unwrap();
    });
    vault.assert_clean();
}

#[test]
fn a_tenant_that_is_not_there_is_not_found() {
    let vault = TestVault::new();
    let nobody = crate::domain::id::TenantId::new(uuid::Uuid::from_u128(9));
    let erased = block_on(Erasure::of(&vault.app).erase(nobody, &by(&[("a", "b")])));
    assert!(matches!(erased, Err(Error::NotFound("tenant"))), "{erased:?}");
}

#[test]
fn an_expired_token_that_is_not_swept_yet_is_erased_too() {
    let vault = TestVault::new();
    let soon = vault.in_an_hour();
    block_on(vault.create_id(expiring("late", &soon)));
    vault.app.clock().advance(std::time::Duration::from_hours(2));
    let tenant = vault.caller.tenant.id;
    let signed = block_on(Erasure::of(&vault.app).erase(tenant, &by(&[("Key", "late")]))).unwrap();
    assert_eq!(signed.receipt.tokens.len(), 1);
    assert_eq!(vault.assert_clean().tokens, 0);
}
