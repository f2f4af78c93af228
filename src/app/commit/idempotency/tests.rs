//! Tests of remembered answers: nothing in the file opens after its subject is deleted.

use serde_json::{Value, json};

use super::*;
use crate::app::tokens::lists::cursor::tests::TestVault;
use crate::app::{Deduplicate, NewKey, TokenDraft, TokenPatch, Write, WriteOutcome};
use crate::crypto::TenantKeys;
use crate::domain::access::Transform;
use crate::domain::container::Container;
use crate::domain::exposure::{Exposure, Extent, Fingerprint, Right, ValueOrigin};
use crate::domain::hex;
use crate::domain::token_type::TokenType;
use crate::idempotency::{
    AnswerStatus, Disclosure, PartLifetime, RememberedAnswer, Replay, SubjectId,
};
use crate::secret::Secret;
use crate::store::record::{AnswerRecord, StoredAnswer, StoredPart, encode_answer_again};
use crate::store::tables::SealedBy;

const MARKER: &str = "mARKdata7f3";
const KEY: (&str, &str, &str) = ("POST", "/tokens", "k");

/// For tests whose answers show no token.
pub(in crate::app) fn show_nothing(
    _: &Vault,
    _: &Caller,
    _: Token,
    _: &Disclosure,
) -> RememberedAnswer {
    RememberedAnswer::empty(AnswerStatus::Created)
}

fn show_again(vault: &Vault, caller: &Caller, token: Token, made: &Disclosure) -> RememberedAnswer {
    answer_as_created(&vault.tokens(caller).as_created(token, made))
}

/// A body of two members. The second one is removed with the token.
fn answer(written: &WriteOutcome) -> RememberedAnswer {
    let token = &written.shown.token;
    let mut answer = RememberedAnswer::empty(AnswerStatus::Created);
    let name = token.name.as_ref().map(|name| String::from(name.as_str()));
    let id = SubjectId::Token { id: token.id, name };
    let subject = answer.subject(id, &token.answer_seed, &token.containers);
    answer.push(format!("{{\"id\":\"{}\"", token.public_id()).as_bytes(), PartLifetime::Always);
    answer.push(format!(",\"data\":{}", token.data.json()).as_bytes(), PartLifetime::With(subject));
    answer.push(b"}", PartLifetime::Always);
    answer
}

fn draft() -> TokenDraft {
    TokenDraft {
        kind: Some(TokenType::Token),
        data: Some(Secret::new(json!(MARKER))),
        containers: Container::parse("/a/").ok().map(|path| vec![path]),
        deduplicate: Some(Deduplicate::Yes),
        ..TokenDraft::default()
    }
}

async fn begin(vault: &TestVault, caller: &Arc<Caller>) -> Guard {
    vault.app.idempotency().begin(caller, KEY, show_again).await.unwrap()
}

async fn replay(vault: &TestVault, caller: &Arc<Caller>) -> Result<Replay, Error> {
    match vault.app.idempotency().begin(caller, KEY, show_again).await {
        Err(Error::Replayed(replay)) => Ok(*replay),
        Err(error) => Err(error),
        Ok(_) => panic!("there is no answer"),
    }
}

async fn replayed(vault: &TestVault, caller: &Arc<Caller>) -> Result<Value, Error> {
    let replay = replay(vault, caller).await?;
    Ok(serde_json::from_slice(replay.body.expose()).unwrap())
}

async fn create(vault: &TestVault, caller: &Arc<Caller>) -> WriteOutcome {
    let guard = begin(vault, caller).await;
    let write = Write { guard: Some(&guard), render: &answer };
    vault.app.tokens(caller).create(draft(), &write).await.unwrap().outcome
}

fn opened(vault: &TestVault, keys: &TenantKeys) -> Vec<(Table, Vec<u8>)> {
    let snapshot = vault.app.snapshot().unwrap();
    let sealed = |table: &&Table| matches!(table.sealed_by(), SealedBy::Tenant);
    let mut texts = Vec::new();
    for table in Table::ALL.iter().filter(sealed) {
        for (key, value) in snapshot.first(&table.whole(), usize::MAX).unwrap() {
            let plain = keys.open(table.number(), &key, &value).unwrap();
            texts.push((*table, plain.expose().clone()));
        }
    }
    texts
}

/// The tables that contain this text, or the bytes that it encodes in hexadecimal.
fn tables_with(vault: &TestVault, keys: &TenantKeys, text: &str) -> Vec<Table> {
    let forms = [Some(text.as_bytes().to_vec()), hex::decode_all(text)];
    let has = |plain: &[u8]| {
        let forms = forms.iter().flatten();
        forms.into_iter().any(|form| plain.windows(form.len()).any(|it| it == form))
    };
    let found = opened(vault, keys).into_iter().filter(|(_, plain)| has(plain));
    found.map(|(table, _)| table).collect()
}

/// The sealed parts of the only answer in the file.
fn sealed_parts(vault: &TestVault, keys: &TenantKeys) -> (Vec<u8>, Vec<u8>) {
    let snapshot = vault.app.snapshot().unwrap();
    let rows = snapshot.first(&Table::IdempotencyAnswers.whole(), usize::MAX).unwrap();
    let [(key, sealed)] = rows.as_slice() else { panic!("{} answers", rows.len()) };
    let Ok(StoredAnswer::Plain(record)) = open_answer(keys, key, sealed) else {
        panic!("no answer with parts")
    };
    let mut subjects = record.subjects;
    (key.clone(), subjects.remove(0).1)
}

#[tokio::test]
async fn after_a_delete_nothing_in_the_file_opens_what_an_answer_showed() {
    let vault = TestVault::new().await;
    let owner = vault.owner().await;
    let made = create(&vault, &owner).await;
    let id = made.shown.token.public_id();
    let seed = hex::encode(made.shown.token.answer_seed.expose());
    assert_eq!(replayed(&vault, &owner).await.unwrap(), json!({"id": id, "data": MARKER}));
    // The value and the seed are only in the token's record.
    assert_eq!(tables_with(&vault, &owner.keys, MARKER), [Table::Tokens]);
    assert_eq!(tables_with(&vault, &owner.keys, &seed), [Table::Tokens]);
    let (place, sealed) = sealed_parts(&vault, &owner.keys);
    let open = |seed| {
        let key = remember::part_key(&owner.keys, seed, &made.shown.token.containers);
        key.open(&remember::identity(&owner.tenant.id, &place), &sealed)
    };
    let opened = open(&made.shown.token.answer_seed).unwrap();
    assert!(String::from_utf8_lossy(opened.expose()).contains(MARKER));
    vault.app.tokens(&owner).delete(&id).await.unwrap();
    assert_eq!(tables_with(&vault, &owner.keys, MARKER), []);
    assert_eq!(tables_with(&vault, &owner.keys, &seed), []);
    // The sealed bytes are still there, and no other seed opens them.
    assert_eq!(sealed_parts(&vault, &owner.keys).1, sealed);
    assert!(open(&crate::domain::answer_seed::AnswerSeed::new([0; 16])).is_err());
    assert_eq!(replayed(&vault, &owner).await.unwrap(), json!({"id": id}));
}

/// The same body, rendered again from the token.
fn answer_as_created(written: &WriteOutcome) -> RememberedAnswer {
    let token = &written.shown.token;
    let mut answer = answer(written);
    let exposure = Exposure {
        extent: Extent::Full,
        transform: Transform::Reveal,
        fingerprint: Fingerprint::Shown,
    };
    let (right, value, containers) = (Right::Create, ValueOrigin::Own, token.containers.clone());
    answer.disclose(Disclosure { right, value, containers, exposure });
    answer.as_created = Some(token.created_at);
    answer
}

async fn create_as_created(vault: &TestVault, caller: &Arc<Caller>) -> WriteOutcome {
    let guard = begin(vault, caller).await;
    let write = Write { guard: Some(&guard), render: &answer_as_created };
    vault.app.tokens(caller).create(draft(), &write).await.unwrap().outcome
}

#[tokio::test]
async fn a_change_puts_the_first_version_of_a_token_into_its_answer_and_a_delete_ends_it() {
    let vault = TestVault::new().await;
    let owner = vault.owner().await;
    let made = create_as_created(&vault, &owner).await;
    let id = made.shown.token.public_id();
    assert!(sealed_parts(&vault, &owner.keys).1.is_empty(), "the token has it all");
    for changed in ["one", "two"] {
        let patch = TokenPatch { data: Some(Secret::new(json!(changed))), ..TokenPatch::default() };
        vault.app.tokens(&owner).update(&id, &patch, &Write::plain()).await.unwrap();
        assert_eq!(replayed(&vault, &owner).await.unwrap(), json!({"id": id, "data": MARKER}));
        assert_eq!(tables_with(&vault, &owner.keys, MARKER), [], "only the seed opens it");
    }
    let (place, sealed) = sealed_parts(&vault, &owner.keys);
    let key = |seed| remember::part_key(&owner.keys, seed, &made.shown.token.containers);
    let identity = remember::identity(&owner.tenant.id, &place);
    let first = key(&made.shown.token.answer_seed).open(&identity, &sealed).unwrap();
    assert!(String::from_utf8_lossy(first.expose()).contains(MARKER));
    vault.app.tokens(&owner).delete(&id).await.unwrap();
    let seed = hex::encode(made.shown.token.answer_seed.expose());
    assert_eq!(tables_with(&vault, &owner.keys, &seed), []);
    assert_eq!(replayed(&vault, &owner).await.unwrap(), json!({"id": id}));
    assert!(vault.app.verification().verify().unwrap().is_clean());
}

#[tokio::test]
async fn a_token_that_was_changed_without_its_answer_is_not_shown_as_created() {
    let vault = TestVault::new().await;
    let owner = vault.owner().await;
    let made = create_as_created(&vault, &owner).await;
    let mut token = made.shown.token;
    token.created_under = None;
    let change = vault.app.token_rows().put_again(&token, &owner.keys).unwrap();
    vault.app.store.commit(change).await.unwrap();
    assert_eq!(replayed(&vault, &owner).await.unwrap(), json!({"id": token.public_id()}));
}

#[tokio::test]
async fn after_a_key_is_deleted_nothing_in_the_file_opens_its_text() {
    let vault = TestVault::new().await;
    let owner = vault.owner().await;
    let (tenant, application) = (vault.tenant.id, owner.application.id);
    let answer = |new: &NewKey| {
        let mut answer = RememberedAnswer::empty(AnswerStatus::Created);
        let id = SubjectId::ApiKey { application, id: new.key.id };
        let subject = answer.subject(id, &new.answer_seed, &[]);
        answer.push(b"{\"v\":1", PartLifetime::Always);
        let text = format!(",\"key\":\"{}\"", new.text.expose());
        answer.push(text.as_bytes(), PartLifetime::With(subject));
        answer.push(b"}", PartLifetime::Always);
        answer
    };
    let guard = begin(&vault, &owner).await;
    let write = Write { guard: Some(&guard), render: &answer };
    let new = vault
        .app
        .access()
        .create_key(tenant, application, None, Some(&owner), &write)
        .await
        .unwrap()
        .outcome;
    drop(guard);
    let seed = hex::encode(new.answer_seed.expose());
    let shown = json!({"v": 1, "key": new.text.expose()});
    assert_eq!(replayed(&vault, &owner).await.unwrap(), shown);
    assert_eq!(tables_with(&vault, &owner.keys, new.text.expose()), []);
    assert_eq!(tables_with(&vault, &owner.keys, &seed), [Table::ApplicationKeys]);
    vault.app.access().delete_key(tenant, application, new.key.id, Some(&owner)).await.unwrap();
    assert_eq!(tables_with(&vault, &owner.keys, &seed), []);
    assert_eq!(replayed(&vault, &owner).await.unwrap(), json!({"v": 1}));
}

/// Replaces the answer to this request by a plain record.
async fn plant(vault: &TestVault, caller: &Arc<Caller>, plain: &[u8]) {
    let (blinded, now) = (blind(caller, "POST", "/tokens", "k"), vault.app.now());
    let place = tables::idempotency(caller.tenant.id, &blinded);
    let key = tables::idempotency_answers(now, caller.tenant.id, &blinded);
    let table = Table::IdempotencyAnswers.number();
    let sealed = caller.keys.seal(table, &key, plain, vault.app.random());
    let change = Change::new().put(Table::Idempotency, place, tables::idempotency_time(now)).put(
        Table::IdempotencyAnswers,
        key,
        sealed,
    );
    vault.app.store.commit(change).await.unwrap();
}

#[tokio::test]
async fn a_record_that_does_not_fit_together_is_no_answer() {
    let vault = TestVault::new().await;
    let owner = vault.owner().await;
    let container = Container::parse("/a/").unwrap();
    let exposure = Exposure {
        extent: Extent::Full,
        transform: Transform::Reveal,
        fingerprint: Fingerprint::Shown,
    };
    let (right, value) = (Right::Create, ValueOrigin::Own);
    let record = encode_answer_again(&AnswerRecord {
        answered_at: vault.app.now(),
        status: AnswerStatus::Created,
        head: None,
        location: None,
        disclosures: vec![Disclosure {
            right,
            value,
            containers: [container].into_iter().collect(),
            exposure,
        }],
        subjects: Vec::new(),
        body: vec![StoredPart::Text(Secret::new(br#"{"id":"x"}"#.to_vec()))],
    });
    let record = record.unwrap();
    for (what, at, byte) in [
        ("a status that is not remembered", 9, 9),
        ("neither a location nor none", 10, 2),
        ("neither a head nor none", 11, 2),
        ("a right that only reads", 16, 2),
        ("a container without a slash", 26, b'a'),
        ("a part of no subject", 40, 1),
        ("a text that ends before the record", 44, 9),
    ] {
        let mut wrong = record.expose().clone();
        wrong[at] = byte;
        plant(&vault, &owner, &wrong).await;
        let found = replayed(&vault, &owner).await;
        assert!(matches!(found, Err(Error::Internal(Fault::BadRecord))), "{what}: {found:?}");
    }
    plant(&vault, &owner, record.expose()).await;
    assert_eq!(replayed(&vault, &owner).await.unwrap(), json!({"id": "x"}));
}

fn rows(vault: &TestVault) -> (u64, u64) {
    let snapshot = vault.app.snapshot().unwrap();
    let count = |table| snapshot.len(table).unwrap();
    (count(Table::Idempotency), count(Table::IdempotencyAnswers))
}

#[tokio::test]
async fn an_answer_that_is_too_old_goes_with_the_next_one_or_with_the_sweep() {
    let vault = TestVault::new().await;
    let owner = vault.owner().await;
    create(&vault, &owner).await;
    assert_eq!(rows(&vault), (1, 1));
    vault.app.clock().advance(crate::idempotency::RETENTION);
    create(&vault, &owner).await;
    assert_eq!(rows(&vault), (1, 1), "the old one went");
    assert!(replay(&vault, &owner).await.is_ok());
    assert!(vault.app.verification().verify().unwrap().is_clean());
    vault.app.clock().advance(2 * crate::idempotency::RETENTION);
    vault.app.upkeep().sweep_all().await.unwrap();
    assert_eq!(rows(&vault), (0, 0));
    assert!(vault.app.verification().verify().unwrap().is_clean());
}

#[tokio::test]
async fn an_idempotency_key_that_finds_no_answer_is_a_fault_and_nothing_is_written() {
    let vault = TestVault::new().await;
    let owner = vault.owner().await;
    create(&vault, &owner).await;
    let snapshot = vault.app.snapshot().unwrap();
    let (key, _) = snapshot.first(&Table::IdempotencyAnswers.whole(), 1).unwrap().remove(0);
    vault.app.store.commit(Change::new().delete(Table::IdempotencyAnswers, key)).await.unwrap();
    let found = replay(&vault, &owner).await;
    assert!(matches!(found, Err(Error::Internal(Fault::Dangling))), "{found:?}");
}
