//! Card verification codes in several processes: each reads the codes that the others stored.

use uuid::Uuid;

use crate::app::commit::commit_loop::Write;
use crate::app::tests::processes::{Pair, caller, create_id, pair, vaults};
use crate::app::tests::{assert_clean, card, everything, new_caller, rule};
use crate::app::tokens::codes::{CodeOwner, UsedCode};
use crate::app::tokens::evaluations::Work;
use crate::app::tokens::update::TokenPatch;
use crate::app::{ApplicationDraft, DeletionStep, Vault};
use crate::domain::access::{Access, Transform};
use crate::domain::id::TokenId;
use crate::domain::permission::Permission;
use crate::domain::process::ProcessRole;
use crate::secret::Secret;
use crate::store::shared::{CodeMessage, ProcessRow};
use crate::store::tables::{self, CodeEnd};
use crate::store::{Authority, CommitFailure};
use crate::waiting::steps;

fn code(vault: &Vault, id: &str) -> Option<String> {
    let caller = caller(vault);
    let shown = vault.tokens(&caller).show_token(id, vault.now(), &Work::Read.budget()).unwrap();
    shown.token.cvc.as_ref().map(|code| code.expose().clone())
}

fn messages(vault: &Vault) -> Vec<CodeMessage> {
    CodeMessage::all(&vault.store().snapshot().unwrap()).unwrap()
}

/// As after a restart.
fn lose_keys(vault: &Vault) {
    vault.cvcs().destroy_keys_of(caller(vault).tenant.id).unwrap();
}

/// Two processes that have exchanged their keys.
async fn settled() -> Pair {
    let pair = pair().await;
    pair.beat().await;
    assert_eq!(messages(&pair.first), []);
    pair
}

/// Both processes make a key for the same minute.
async fn codes_of_both(pair: &Pair) -> [String; 2] {
    [create_id(&pair.first, card("123")).await, create_id(&pair.second, card("456")).await]
}

#[tokio::test]
async fn a_code_is_read_at_once_by_the_process_that_did_not_take_it() {
    let pair = pair().await;
    let [one, two] = codes_of_both(&pair).await;
    for vault in [&pair.first, &pair.second] {
        assert_eq!(code(vault, &one).as_deref(), Some("123"));
        assert_eq!(code(vault, &two).as_deref(), Some("456"));
    }
    assert_clean(&pair.first);
}

#[tokio::test]
async fn messages_with_keys_are_removed_with_the_next_beat() {
    let pair = Box::pin(settled()).await;
    codes_of_both(&pair).await;
    assert_eq!(messages(&pair.first).len(), 2);
    pair.beat().await;
    assert_eq!(messages(&pair.first), []);
}

#[tokio::test]
async fn a_process_that_joins_gets_the_keys_of_earlier_codes_and_then_says_so() {
    let pair = vaults();
    let (first, second) = (pair.first.processes(), pair.second.processes());
    first.join("one.example", ProcessRole::Server).await.unwrap();
    let id = create_id(&pair.first, card("123")).await;
    second.join("two.example", ProcessRole::Server).await.unwrap();
    assert_eq!(second.not_heard().unwrap().len(), 1);
    assert_eq!(code(&pair.second, &id), None);
    first.beat().await.unwrap();
    assert_eq!(second.not_heard().unwrap(), []);
    assert_eq!(code(&pair.second, &id).as_deref(), Some("123"));
}

#[tokio::test]
async fn the_keys_of_a_process_that_has_ended_are_passed_on() {
    let pair = pair().await;
    let id = create_id(&pair.second, card("456")).await;
    pair.beat().await;
    pair.second.processes().leave().await.unwrap();
    lose_keys(&pair.second);
    pair.first.processes().beat().await.unwrap();
    pair.second.processes().join("two.example", ProcessRole::Server).await.unwrap();
    assert_eq!(code(&pair.second, &id), None);
    pair.first.processes().beat().await.unwrap();
    assert_eq!(code(&pair.second, &id).as_deref(), Some("456"));
}

#[tokio::test]
async fn keys_that_no_process_has_are_gone() {
    let pair = Box::pin(settled()).await;
    let ids = codes_of_both(&pair).await;
    pair.beat().await;
    for vault in [&pair.first, &pair.second] {
        lose_keys(vault);
    }
    pair.beat().await;
    for vault in [&pair.first, &pair.second] {
        assert_eq!(ids.each_ref().map(|id| code(vault, id)), [None, None]);
    }
}

#[tokio::test]
async fn keys_of_a_tenant_that_another_process_has_deleted_are_destroyed() {
    let pair = Box::pin(settled()).await;
    codes_of_both(&pair).await;
    let (tenant, second) = (caller(&pair.first).tenant.id, pair.second.cvcs());
    assert_eq!(second.tenants().len(), 1);
    let leader = Authority::Leader(pair.first.processes().term());
    let deletion = pair.first.deletion().by(leader);
    deletion.begin(tenant, None).await.unwrap();
    // It ends before the second process looks.
    for _ in steps("the end of the deletion") {
        if deletion.step().await.unwrap() == DeletionStep::Idle {
            break;
        }
    }
    pair.second.processes().poll().unwrap();
    assert!(second.tenants().is_empty());
    assert!(pair.second.store().is_closed(tenant.bytes()));
}

/// A row like the one of a server, which a stranger could copy into the database.
async fn add_row(vault: &Vault, code_key: Vec<u8>) -> Uuid {
    let shared = vault.store().shared().unwrap();
    let rows = ProcessRow::all(&vault.store().snapshot().unwrap()).unwrap();
    let id = Uuid::from_u128(7);
    shared.join(&ProcessRow { id, code_key, ..rows[0].clone() }).await.unwrap();
    id
}

#[tokio::test]
async fn a_row_that_no_process_has_sealed_gets_no_keys() {
    let pair = pair().await;
    codes_of_both(&pair).await;
    let rows = ProcessRow::all(&pair.first.store().snapshot().unwrap()).unwrap();
    let copied = rows[1].code_key.clone();
    for code_key in [copied, vec![9; 69], Vec::new()] {
        let stranger = add_row(&pair.first, code_key).await;
        pair.beat().await;
        create_id(&pair.second, card("789")).await;
        let sent = messages(&pair.first);
        let to_stranger = sent.iter().filter(|it| it.parties().unwrap().0 == stranger);
        assert_eq!(to_stranger.count(), 0);
    }
}

#[tokio::test]
async fn a_message_that_was_copied_or_made_by_a_stranger_adds_no_keys() {
    let pair = Box::pin(settled()).await;
    let id = create_id(&pair.first, card("123")).await;
    let [sent] = messages(&pair.first).try_into().unwrap();
    let (recipient, sender) = sent.parties().unwrap();
    let shared = pair.first.store().shared().unwrap();
    shared.remove(vec![sent.place]).await.unwrap();
    // The same bytes that were sent, at another place.
    let place = CodeMessage::place(recipient, sender, [1; 8]);
    let copy = CodeMessage { place, sealed: sent.sealed };
    let made =
        CodeMessage { place: CodeMessage::place(recipient, sender, [2; 8]), sealed: vec![3] };
    shared.send(vec![copy, made]).await.unwrap();
    pair.second.processes().poll().unwrap();
    assert_eq!(code(&pair.second, &id), None);
    pair.beat().await;
    assert_eq!(messages(&pair.first), []);
}

#[tokio::test]
async fn a_process_that_was_counted_out_sends_nothing() {
    let pair = Box::pin(settled()).await;
    let shared = pair.second.store().shared().unwrap();
    let rows = ProcessRow::all(&pair.first.store().snapshot().unwrap()).unwrap();
    let own = rows.iter().find(|row| row.id == shared.process().id()).unwrap();
    assert!(pair.first.store().shared().unwrap().count_out(own).await.unwrap());
    let place = CodeMessage::place(rows[0].id, own.id, [1; 8]);
    let refused = shared.send(vec![CodeMessage { place, sealed: vec![1] }]).await;
    assert_eq!(refused, Err(CommitFailure::Unavailable));
    assert_eq!(messages(&pair.first), []);
}

/// The code as a call through a proxy remembers it.
fn used(vault: &Vault, id: &str) -> UsedCode {
    let caller = caller(vault);
    let shown = vault.tokens(&caller).show_token(id, vault.now(), &Work::Read.budget()).unwrap();
    let (tenant, token) = (caller.tenant.id, TokenId::parse(id).unwrap());
    let (snapshot, until) = (vault.store().snapshot().unwrap(), shown.token.cvc_expires_at);
    UsedCode::find(&snapshot, tenant, CodeOwner::Token(token), until).unwrap().unwrap()
}

fn ended(vault: &Vault, end: CodeEnd) -> i64 {
    let tenant = caller(vault).tenant.id;
    vault.store().snapshot().unwrap().count(&tables::code_ends(tenant, end)).unwrap()
}

#[tokio::test]
async fn a_code_that_one_process_destroys_is_gone_in_the_other_and_counts_once() {
    let pair = Box::pin(settled()).await;
    let [one, two] = codes_of_both(&pair).await;
    pair.beat().await;
    let (first, second) = (used(&pair.first, &one), used(&pair.second, &one));
    let (caller_one, caller_two) = (caller(&pair.first), caller(&pair.second));
    // Two calls used the code at the same time, in different processes.
    let destroyed = tokio::join!(
        pair.first.tokens(&caller_one).destroy_used(std::slice::from_ref(&first)),
        pair.second.tokens(&caller_two).destroy_used(std::slice::from_ref(&second)),
    );
    assert!(destroyed.0.is_ok() && destroyed.1.is_ok(), "{destroyed:?}");
    for vault in [&pair.first, &pair.second] {
        assert_eq!((code(vault, &one), code(vault, &two).as_deref()), (None, Some("456")));
        assert_eq!(ended(vault, CodeEnd::Used), 1);
    }
    assert_clean(&pair.first);
}

#[tokio::test]
async fn a_code_that_took_the_place_of_a_used_one_stays() {
    let pair = Box::pin(settled()).await;
    let [one, two] = codes_of_both(&pair).await;
    let vault = &pair.first;
    let rule = rule("/", Transform::Reveal, &[Permission::TokenUpdate, Permission::TokenDelete]);
    let updater = ApplicationDraft { access: Access::new(vec![], vec![rule]), ..everything() };
    let caller = new_caller(vault, caller(vault).tenant.id, &updater).await;
    let codes = [used(vault, &one), used(vault, &two)];
    let patch = TokenPatch {
        data: Some(Secret::new(serde_json::json!({"cvc": "789"}))),
        ..TokenPatch::default()
    };
    vault.tokens(&caller).update(&one, &patch, &Write::plain()).await.unwrap();
    vault.tokens(&caller).delete(&two).await.unwrap();
    vault.tokens(&caller).destroy_used(&codes).await.unwrap();
    assert_eq!(code(vault, &one).as_deref(), Some("789"));
    let ends = CodeEnd::ALL.map(|end| (end.as_str(), ended(vault, end)));
    let expected = [("deleted", 1), ("expired", 0), ("used", 0), ("with the token", 1)];
    assert_eq!(ends, expected);
    assert_clean(vault);
}
