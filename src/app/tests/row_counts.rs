//! The rows and bytes that a change writes. They decide the cost of a write and the size of the
//! file.

use std::collections::BTreeMap;

use serde_json::json;

use crate::app::tests::{TestVault, draft};
use crate::app::{TokenDraft, Write, WriteOutcome, show_nothing};
use crate::domain::exposure::{Exposure, Extent, Fingerprint, Right};
use crate::domain::token_type::TokenType;
use crate::idempotency::{AnswerStatus, Disclosure, PartLifetime, RememberedAnswer, SubjectId};
use crate::secret::Secret;
use crate::store::tests::block_on;
use crate::store::{Table, tables};

const ROWS_MAX: usize = 12;
const BYTES_MAX: usize = 1_500;

type Rows = BTreeMap<(Table, Vec<u8>), Vec<u8>>;

/// Without the rows that are written once per transaction: the digests of records and the end of
/// the audit chain.
fn rows(vault: &TestVault) -> Rows {
    let snapshot = vault.app.store().snapshot().unwrap();
    let mut rows = Rows::new();
    for table in Table::ALL.iter().filter(|table| **table != Table::Meta) {
        for (key, value) in snapshot.first(&table.whole(), usize::MAX).unwrap() {
            if *table != Table::Counts || tables::digest_of_key(&key).is_none() {
                rows.insert((*table, key), value);
            }
        }
    }
    rows
}

/// The number of new or changed rows, and the bytes of their keys and values.
fn written(before: &Rows, after: &Rows) -> (usize, usize) {
    let new = after.iter().filter(|(key, value)| before.get(*key) != Some(value));
    new.fold((0, 0), |(rows, bytes), ((_, key), value)| (rows + 1, bytes + key.len() + value.len()))
}

/// A card with a code and three metadata entries.
fn card() -> TokenDraft {
    TokenDraft {
        kind: Some(TokenType::Card),
        data: Some(Secret::new(json!({
            "number": "4242424242424242", "expiration_month": 12, "expiration_year": 2039,
            "cvc": "123",
        }))),
        metadata: [("customer", "c-1002"), ("order", "o-500017"), ("shop", "north")]
            .into_iter()
            .collect(),
        ..TokenDraft::default()
    }
}

fn answer(written: &WriteOutcome) -> RememberedAnswer {
    let token = &written.shown.token;
    let mut answer = RememberedAnswer::empty(AnswerStatus::Created);
    answer.as_created = Some(token.created_at);
    let exposure = Exposure {
        extent: Extent::Full,
        transform: written.shown.transform(),
        fingerprint: Fingerprint::Shown,
    };
    let containers = token.containers.clone();
    answer.disclose(Disclosure {
        right: Right::Create,
        value: written.value,
        containers,
        exposure,
    });
    let id = SubjectId::Token { id: token.id, name: None };
    let subject = answer.subject(id, &token.answer_seed, &token.containers);
    let (with, always) = (PartLifetime::With(subject), PartLifetime::Always);
    let with_code = PartLifetime::WithCvc(subject, token.cvc_expires_at.unwrap());
    let outline =
        format!("{{\"id\":\"{}\",\"tenant_id\":\"{}\",\"type\":\"card\"", token.id, token.tenant);
    let visible = format!(
        "\"expiration_month\":12,\"expiration_year\":2039,\"number\":\"4242424242424242\"}},\
         \"card\":{{\"authentication\":null,\"bin\":\"42424242\",\"brand\":\"visa\",\
         \"expiration_month\":12,\"expiration_year\":2039,\"funding\":\"credit\",\
         \"last4\":\"4242\"}},\"fingerprint\":\"{}\"",
        token.fingerprint
    );
    let rest = format!(
        ",\"mask\":{},\"metadata\":{{\"customer\":\"c-1002\",\"order\":\"o-500017\",\
         \"shop\":\"north\"}},\"search_indexes\":[],\
         \"fingerprint_expression\":\"{{{{ data.number }}}}\"",
        token.effective_mask().unwrap()
    );
    let end = format!(
        ",\"created_by\":\"{}\",\"created_at\":\"{}\",\"_extras\":{{\"deduplicated\":false}}}}",
        token.created_by,
        token.created_at.to_wire()
    );
    for (text, lifetime) in [
        (outline.as_str(), always),
        (",\"data\":{", with),
        ("\"cvc\":\"123\",", with_code),
        (&visible, with),
        (",\"containers\":[\"/pci/high/\"]", always),
        (&rest, with),
        (&end, always),
    ] {
        answer.push(text.as_bytes(), lifetime);
    }
    let text: Vec<u8> = answer.parts().flat_map(|(text, _)| text).copied().collect();
    assert!(serde_json::from_slice::<serde_json::Value>(&text).is_ok());
    answer
}

#[test]
fn a_card_with_a_code_a_key_and_metadata_takes_twelve_rows_and_1500_bytes() {
    let vault = TestVault::new();
    // The first token of a tenant creates its count, which later ones change.
    block_on(vault.create_id(draft("first")));
    let before = rows(&vault);
    let key = "0f6b5b0e-4a83-4d0a-9a39-2f6f1f9a7c55";
    let guard =
        vault.app.idempotency().begin(&vault.caller, ("POST", "/tokens", key), show_nothing);
    let guard = block_on(guard).unwrap();
    let write = Write { guard: Some(&guard), render: &answer };
    block_on(vault.app.tokens(&vault.caller).create(card(), &write)).unwrap();
    let (rows, bytes) = written(&before, &rows(&vault));
    println!("{rows} rows, {bytes} bytes");
    assert!(rows <= ROWS_MAX, "{rows} rows");
    assert!(bytes <= BYTES_MAX, "{bytes} bytes");
    vault.assert_clean();
}
