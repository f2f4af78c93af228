//! Tests of remembered answers: nothing in the file opens once the thing that it shows is gone.

use serde_json::{Value, json};

use super::*;
use crate::app::tokens::lists::cursor::tests::TestVault;
use crate::app::{Deduplicate, NewKey, TokenDraft, Write, WriteOutcome};
use crate::crypto::TenantKeys;
use crate::domain::audit::EntityKind;
use crate::domain::container::Container;
use crate::domain::hex;
use crate::domain::id::KeyId;
use crate::domain::token_type::TokenType;
use crate::idempotency::{AnswerStatus, PartLifetime, RememberedAnswer, Replay, SubjectId};
use crate::secret::Secret;
use crate::store::record::AnswerContent;
use crate::store::tables::SealedBy;

const MARKER: &str = "mARKdata7f3";

/// A body of two members, of which the second goes with the token.
fn answer(written: &WriteOutcome) -> RememberedAnswer {
    let token = &written.shown.token;
    let mut answer = RememberedAnswer::empty(AnswerStatus::Created);
    let name = token.name.as_ref().map(|name| String::from(name.as_str()));
    let id = SubjectId::Token { id: token.id, name };
    let subject = answer.subject(id, token.answer_seed.as_ref(), &token.containers);
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
    vault.app.idempotency().begin(caller, "POST", "/tokens", "k").await.unwrap()
}

async fn replay(vault: &TestVault, caller: &Arc<Caller>) -> Result<Replay, Error> {
    match vault.app.idempotency().begin(caller, "POST", "/tokens", "k").await {
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

/// Everything that the tenant's keys open, as text.
fn opened(vault: &TestVault, keys: &TenantKeys) -> Vec<(Table, String)> {
    let snapshot = vault.app.snapshot().unwrap();
    let sealed = |table: &&Table| matches!(table.sealed_by(), SealedBy::Tenant { .. });
    let mut texts = Vec::new();
    for table in Table::ALL.iter().filter(sealed) {
        for (key, value) in snapshot.first(&table.whole(), usize::MAX).unwrap() {
            let (sealed_for, place) = table.identity_of_key(&key).unwrap();
            let plain = keys.open(sealed_for.number(), &place, &value).unwrap();
            texts.push((*table, String::from_utf8_lossy(plain.expose()).into_owned()));
        }
    }
    texts
}

fn tables_with(vault: &TestVault, keys: &TenantKeys, text: &str) -> Vec<Table> {
    let found = opened(vault, keys).into_iter().filter(|(_, plain)| plain.contains(text));
    found.map(|(table, _)| table).collect()
}

/// The sealed parts of the one answer in the file.
fn sealed_parts(vault: &TestVault, keys: &TenantKeys) -> (Vec<u8>, Vec<u8>) {
    let snapshot = vault.app.snapshot().unwrap();
    let rows = snapshot.first(&Table::IdempotencyAnswers.whole(), usize::MAX).unwrap();
    let [(key, sealed)] = rows.as_slice() else { panic!("{} answers", rows.len()) };
    let record = open_answer(keys, key, sealed).unwrap();
    let AnswerContent::Parts { mut subjects, .. } = record.content else { panic!() };
    (tables::finder_of_answer(key).unwrap(), subjects.remove(0).1)
}

#[tokio::test]
async fn after_a_delete_nothing_in_the_file_opens_what_an_answer_showed() {
    let vault = TestVault::new().await;
    let owner = vault.owner().await;
    let made = create(&vault, &owner).await;
    let id = made.shown.token.public_id();
    let seed = hex::encode(made.shown.token.answer_seed.as_ref().unwrap().expose());
    assert_eq!(replayed(&vault, &owner).await.unwrap(), json!({"id": id, "data": MARKER}));
    // The value and the seed are in the token's own record and nowhere else.
    assert_eq!(tables_with(&vault, &owner.keys, MARKER), [Table::Tokens]);
    assert_eq!(tables_with(&vault, &owner.keys, &seed), [Table::Tokens]);
    let (place, sealed) = sealed_parts(&vault, &owner.keys);
    let open = |seed| {
        let key = remember::part_key(&owner, seed, &made.shown.token.containers);
        key.open(&remember::identity(&owner, &place), &sealed)
    };
    let opened = open(made.shown.token.answer_seed.as_ref().unwrap()).unwrap();
    assert!(String::from_utf8_lossy(opened.expose()).contains(MARKER));
    vault.app.tokens(&owner).delete(&id).await.unwrap();
    assert_eq!(tables_with(&vault, &owner.keys, MARKER), []);
    assert_eq!(tables_with(&vault, &owner.keys, &seed), []);
    // The sealed bytes are still there, and no other token's seed opens them.
    assert_eq!(sealed_parts(&vault, &owner.keys).1, sealed);
    assert!(open(&crate::domain::answer_seed::AnswerSeed::new([0; 16])).is_err());
    assert_eq!(replayed(&vault, &owner).await.unwrap(), json!({"id": id}));
}

#[tokio::test]
async fn a_token_without_a_seed_gets_one_with_the_first_answer_that_is_remembered_of_it() {
    let vault = TestVault::new().await;
    let owner = vault.owner().await;
    let plain = Write::plain();
    let mut old =
        vault.app.tokens(&owner).create(draft(), &plain).await.unwrap().outcome.shown.token;
    old.answer_seed = None;
    let record = vault.app.token_rows().put_again(&old, &owner.keys).unwrap();
    vault.app.store.commit(record).await.unwrap();
    // It is found as a duplicate, and its record has no seed.
    let found = create(&vault, &owner).await;
    assert_eq!(found.shown.token.id, old.id);
    assert!(found.shown.token.answer_seed.is_none());
    let id = old.public_id();
    assert_eq!(replayed(&vault, &owner).await.unwrap(), json!({"id": id, "data": MARKER}));
    assert!(vault.app.verification().verify().unwrap().is_clean());
    vault.app.tokens(&owner).delete(&id).await.unwrap();
    assert_eq!(replayed(&vault, &owner).await.unwrap(), json!({"id": id}));
    assert!(vault.app.verification().verify().unwrap().is_clean());
}

#[tokio::test]
async fn after_a_key_is_deleted_nothing_in_the_file_opens_its_text() {
    let vault = TestVault::new().await;
    let owner = vault.owner().await;
    let (tenant, application) = (vault.tenant.id, owner.application.id);
    let answer = |new: &NewKey| {
        let mut answer = RememberedAnswer::empty(AnswerStatus::Created);
        let id = SubjectId::ApiKey { application, id: new.key.id };
        let subject = answer.subject(id, Some(&new.answer_seed), &[]);
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

/// Puts a plain record in the place of the answer to this request.
async fn plant(vault: &TestVault, caller: &Arc<Caller>, plain: &str) {
    let (blinded, now) = (blind(caller, "POST", "/tokens", "k"), vault.app.now());
    let place = tables::idempotency(half_day(now), caller.tenant.id, &blinded);
    let table = Table::Idempotency.number();
    let sealed = caller.keys.seal(table, &place, plain.as_bytes(), vault.app.random());
    let key = tables::idempotency_answers(now, caller.tenant.id, &blinded);
    let change = Change::new().put(Table::Idempotency, place, tables::idempotency_time(now)).put(
        Table::IdempotencyAnswers,
        key,
        sealed,
    );
    vault.app.store.commit(change).await.unwrap();
}

fn whole(vault: &TestVault, members: &Value, body: &str) -> String {
    let mut record = json!({"answered_at": vault.app.now().micros(), "status": 201});
    for (name, value) in members.as_object().unwrap() {
        record[name] = value.clone();
    }
    let text = record.to_string();
    format!("\u{1}{},\"body\":{body}}}", text.strip_suffix('}').unwrap())
}

#[tokio::test]
async fn an_answer_of_version_1_is_repeated_without_the_tokens_that_are_gone() {
    let vault = TestVault::new().await;
    let owner = vault.owner().await;
    let (stays, goes) =
        (vault.create("stays", &["/a/"]).await, vault.create("goes", &["/a/"]).await);
    let token = |id: &str, data: &str| {
        json!({"id": id, "tenant_id": "t", "data": data, "metadata": {"a": "b"}, "fingerprint": "f",
               "mask": "m", "containers": ["/a/"], "_extras": {"deduplicated": false}})
    };
    let body = json!({"x": [token(&stays, "stays"), token(&goes, "goes")], "id": goes});
    // Other spaces than ours would write: it is sent byte for byte.
    let text = body.to_string().replace("\"x\":", "\"x\" : ");
    let members = json!({
        "permission": "token:create", "transform": "reveal", "containers": ["/a/"],
        "tokens": [[stays, null], [goes, null]],
    });
    plant(&vault, &owner, &whole(&vault, &members, &text)).await;
    let earlier = replay(&vault, &owner).await.unwrap();
    assert_eq!(earlier.body.expose(), text.as_bytes());
    assert_eq!((earlier.shown.len(), earlier.shown[0].kind), (2, EntityKind::Token));
    vault.delete(&goes).await;
    let mut expected = body.clone();
    for name in ["data", "metadata", "fingerprint", "mask"] {
        expected["x"][1].as_object_mut().unwrap().remove(name);
    }
    assert_eq!(replayed(&vault, &owner).await.unwrap(), expected);
    let earlier = replay(&vault, &owner).await.unwrap();
    assert_eq!(earlier.shown.iter().map(|it| it.id.to_string()).collect::<Vec<_>>(), [stays]);
}

#[tokio::test]
async fn an_answer_of_version_1_has_the_text_of_a_key_that_exists_only() {
    let vault = TestVault::new().await;
    let owner = vault.owner().await;
    let (application, key) = (owner.application.id, owner.key.id);
    let gone = KeyId::new(uuid::Uuid::from_u128(7));
    for (id, text) in [(key, Some("the text")), (gone, None)] {
        for body in [
            json!({"id": id.to_string(), "key": "the text"}),
            json!({"id": application.to_string(), "key": "the text", "keys": [{"id": id.to_string()}]}),
        ] {
            let location = format!("/applications/{application}/keys/{id}");
            let members = json!({"location": location});
            plant(&vault, &owner, &whole(&vault, &members, &body.to_string())).await;
            let again = replayed(&vault, &owner).await.unwrap();
            assert_eq!(again.get("key").and_then(Value::as_str), text);
            assert_eq!(again["id"], body["id"]);
        }
    }
}

#[tokio::test]
async fn a_record_that_does_not_fit_together_is_no_answer() {
    let vault = TestVault::new().await;
    let owner = vault.owner().await;
    let body = json!({"id": "x"}).to_string();
    for members in [
        json!({"status": 302}),
        json!({"status": 500}),
        json!({"permission": "token:create"}),
        json!({"permission": "token:create", "containers": ["/a/"]}),
        json!({"transform": "redact"}),
        json!({"containers": ["/a/"]}),
        json!({"permission": "token:create", "transform": "redact", "containers": ["a"]}),
        json!({"permission": "token:invent", "transform": "redact", "containers": ["/a/"]}),
    ] {
        plant(&vault, &owner, &whole(&vault, &members, &body)).await;
        let found = replayed(&vault, &owner).await;
        assert!(matches!(found, Err(Error::Internal(Fault::BadRecord))), "{members}: {found:?}");
    }
    let right = json!({"permission": "token:create", "transform": "reveal", "containers": ["/a/"]});
    plant(&vault, &owner, &whole(&vault, &right, &body)).await;
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
    vault.app.upkeep().sweep_all().await.unwrap();
    assert_eq!(rows(&vault), (1, 1), "its half-day still counts");
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
