//! The encodings of remembered answers: vectors and round trips.

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::domain::access::Transform;
use crate::domain::container::Container;
use crate::domain::exposure::{Exposure, Extent, Fingerprint, Right, ValueOrigin};
use crate::domain::hex;
use crate::domain::id::{ApplicationId, KeyId, ProxyId, ReactorId, TokenId, TokenIntentId};
use crate::domain::time::Timestamp;
use crate::idempotency::{AnswerStatus, Decision, Disclosure, OwnHead, Source, SubjectId, decide};
use crate::secret::Secret;
use crate::store::record::{
    AnswerRecord, HiddenPart, SourcedAnswer, StoredAnswer, StoredPart, decode_answer,
    decode_hidden, decode_stored_answer, encode_answer_again, encode_hidden, encode_reservation,
    encode_sourced,
};

fn vectors(file: &str) -> Vec<(String, Value)> {
    let vectors: Vec<Value> = serde_json::from_str(file).unwrap();
    assert!(!vectors.is_empty());
    let parts = |it: Value| (String::from(it["encoded"].as_str().unwrap()), it["decoded"].clone());
    vectors.into_iter().map(parts).collect()
}

/// Reads a record. Neither a part of it nor a longer text may decode.
fn read(encoded: &str, decoded: &Value) -> AnswerRecord {
    let bytes = hex::decode_all(encoded).unwrap();
    let record = decode_answer(&bytes).unwrap();
    assert_eq!(tell(&record), *decoded);
    assert!(decode_answer(&[&[2], &bytes[1..]].concat()).is_err());
    assert!(decode_answer(&bytes[..bytes.len() - 1]).is_err());
    assert!(decode_answer(&[bytes.as_slice(), &[0]].concat()).is_err());
    record
}

#[test]
fn answers_of_version_1_are_read_and_written_as_ever() {
    for (encoded, decoded) in vectors(include_str!("../../../tests/vectors/answer-v1.json")) {
        let record = read(&encoded, &decoded);
        assert_eq!(hex::encode(encode_answer_again(&record).unwrap().expose()), encoded);
    }
}

#[test]
fn hidden_parts_are_a_kind_a_length_and_bytes() {
    let text = |text: &[u8]| HiddenPart::Text(Secret::new(text.to_vec()));
    let parts = [text(b",\"a\":"), HiddenPart::Cvc(vec![0xff, 0x00]), text(b"")];
    let bytes = encode_hidden(&parts).unwrap();
    assert_eq!(hex::encode(bytes.expose()), "00000000052c2261223a0100000002ff000000000000");
    assert_eq!(tell_hidden(&decode_hidden(bytes.expose()).unwrap()), tell_hidden(&parts));
    for wrong in ["01", "0000", "0200000000", "000000000261"] {
        assert!(decode_hidden(&hex::decode_all(wrong).unwrap()).is_err(), "{wrong}");
    }
}

fn tell(record: &AnswerRecord) -> Value {
    let disclosure = |it: &Disclosure| {
        let Exposure { extent, transform, fingerprint } = it.exposure;
        let paths: Vec<_> = it.containers.iter().map(Container::as_str).collect();
        let name = |thing: &dyn std::fmt::Debug| format!("{thing:?}");
        let (right, value) = (name(&it.right), name(&it.value));
        json!([right, value, paths, name(&extent), name(&transform), name(&fingerprint)])
    };
    let mut told = json!({
        "answered_at": record.answered_at.micros(),
        "status": if record.status == AnswerStatus::Created { 201 } else { 200 },
        "location": record.location,
        "disclosures": record.disclosures.iter().map(disclosure).collect::<Vec<_>>(),
    });
    let subject = |(id, sealed): &(SubjectId, Vec<u8>)| match id {
        SubjectId::ApiKey { application, id } => {
            json!(["key", application.to_string(), id.to_string(), hex::encode(sealed)])
        }
        SubjectId::Proxy(id) => json!(["proxy", id.to_string(), hex::encode(sealed)]),
        SubjectId::Reactor(id) => json!(["reactor", id.to_string(), hex::encode(sealed)]),
        SubjectId::Token { id, name } => {
            json!(["token", id.to_string(), name, hex::encode(sealed)])
        }
        SubjectId::TokenIntent(id) => json!(["token_intent", id.to_string(), hex::encode(sealed)]),
    };
    let part = |part: &StoredPart| match part {
        StoredPart::AsCreated => json!("as created"),
        StoredPart::Hidden(at) => json!(at),
        StoredPart::Text(bytes) => Value::from(String::from_utf8_lossy(bytes.expose())),
    };
    told["subjects"] = record.subjects.iter().map(subject).collect();
    if let Some(OwnHead { status, headers }) = &record.head {
        let header = |(name, value): &(String, Secret<String>)| json!([name, value.expose()]);
        told["head"] = json!([status, headers.iter().map(header).collect::<Vec<_>>()]);
    }
    told["body"] = record.body.iter().map(part).collect();
    told
}

fn tell_hidden(parts: &[HiddenPart]) -> Value {
    let tell = |part: &HiddenPart| match part {
        HiddenPart::Cvc(sealed) => json!(["cvc", hex::encode(sealed)]),
        HiddenPart::Text(text) => json!(["text", hex::encode(text.expose())]),
    };
    parts.iter().map(tell).collect()
}

fn disclosures() -> impl Strategy<Value = Vec<Disclosure>> {
    use ValueOrigin::{Collected, Duplicate, Own, Stored};
    let transforms = vec![Transform::Redact, Transform::Mask, Transform::Reveal];
    let exposure = (
        prop::sample::select(vec![Extent::Full, Extent::Outline]),
        prop::sample::select(transforms),
        prop::sample::select(vec![Fingerprint::Hidden, Fingerprint::Shown]),
    );
    let exposure = exposure.prop_map(|(extent, transform, fingerprint)| Exposure {
        extent,
        transform,
        fingerprint,
    });
    let disclosure = (
        prop::sample::select(vec![Right::Create, Right::Update]),
        prop::sample::select(vec![Collected, Duplicate, Own, Stored]),
        vec("/[a-z]{1,5}/", 0..3),
        exposure,
    );
    let disclosure = disclosure.prop_map(|(right, value, paths, exposure)| Disclosure {
        right,
        value,
        containers: paths.iter().map(|path| Container::parse(path).unwrap()).collect(),
        exposure,
    });
    vec(disclosure, 0..3)
}

fn subjects() -> impl Strategy<Value = Vec<(SubjectId, Vec<u8>)>> {
    let id = (any::<u128>(), any::<u128>(), of(any::<String>()), 0_u8..5);
    let id = id.prop_map(|(one, two, name, kind)| {
        let (one, two) = (Uuid::from_u128(one), Uuid::from_u128(two));
        match kind {
            0 => SubjectId::ApiKey { application: ApplicationId::new(one), id: KeyId::new(two) },
            2 => SubjectId::Proxy(ProxyId::new(two)),
            3 => SubjectId::Reactor(ReactorId::new(two)),
            1 => SubjectId::Token { id: TokenId::new(one), name },
            _ => SubjectId::TokenIntent(TokenIntentId::new(one)),
        }
    });
    vec((id, any::<Vec<u8>>()), 0..4)
}

prop_compose! {
    fn record()(
        at in 0_i64..4_000_000_000_000_000,
        created: bool,
        location in of(any::<String>()),
        head in of((any::<u16>(), vec(any::<(String, String)>(), 0..3))),
        disclosures in disclosures(),
        subjects in subjects(),
        as_created: bool,
        parts in vec((any::<Vec<u8>>(), any::<bool>(), any::<prop::sample::Index>()), 0..8),
    ) -> AnswerRecord {
        let part = |(text, hidden, at): (Vec<u8>, bool, prop::sample::Index)| {
            if hidden && !subjects.is_empty() {
                StoredPart::Hidden(at.index(subjects.len()))
            } else {
                StoredPart::Text(Secret::new(text))
            }
        };
        let first = as_created.then_some(StoredPart::AsCreated);
        let body = first.into_iter().chain(parts.into_iter().map(part)).collect();
        AnswerRecord {
            answered_at: Timestamp::from_micros(at),
            status: if created { AnswerStatus::Created } else { AnswerStatus::Ok },
            location,
            head: head.map(|(status, headers)| OwnHead {
                status,
                headers: headers.into_iter().map(|(name, value)| (name, Secret::new(value))).collect(),
            }),
            disclosures,
            subjects,
            body,
        }
    }
}

proptest! {
    #[test]
    fn an_answer_comes_back_as_it_was(record in record()) {
        let bytes = encode_answer_again(&record).unwrap();
        let again = decode_answer(bytes.expose()).unwrap();
        prop_assert_eq!(tell(&again), tell(&record));
        let again = encode_answer_again(&again).unwrap();
        prop_assert_eq!(again.expose(), bytes.expose());
    }

    #[test]
    fn a_cut_answer_is_refused(record in record(), at: prop::sample::Index) {
        let bytes = encode_answer_again(&record).unwrap();
        let at = at.index(bytes.expose().len());
        prop_assert!(decode_answer(&bytes.expose()[..at]).is_err());
    }

    #[test]
    fn hidden_parts_come_back_as_they_were(parts in vec((any::<bool>(), any::<Vec<u8>>()), 0..6)) {
        let part = |(cvc, bytes)| {
            if cvc { HiddenPart::Cvc(bytes) } else { HiddenPart::Text(Secret::new(bytes)) }
        };
        let parts: Vec<_> = parts.into_iter().map(part).collect();
        let bytes = encode_hidden(&parts).unwrap();
        prop_assert_eq!(tell_hidden(&decode_hidden(bytes.expose()).unwrap()), tell_hidden(&parts));
    }

    #[test]
    fn no_bytes_make_decoding_panic(version in 0_u8..3, bytes: Vec<u8>) {
        drop(decode_answer(&[&[version], bytes.as_slice()].concat()));
        drop(decode_hidden(&bytes));
    }
}

#[test]
fn a_reservation_is_read_as_it_was_written_and_ends_as_the_memory_of_an_answer_does() {
    let until = Timestamp::from_seconds(1_000_000);
    let bytes = encode_reservation(until).unwrap().expose().clone();
    let read = decode_stored_answer(&bytes).unwrap();
    assert!(matches!(read, StoredAnswer::Reserved(at) if at == until));
    let before = Timestamp::from_micros(until.micros() - 1);
    assert_eq!(decide(Some(read.answered_at()), before), Decision::Replay);
    assert_eq!(decide(Some(read.answered_at()), until), Decision::Proceed);
    for at in 0..bytes.len() {
        assert!(decode_stored_answer(&bytes[..at]).is_err(), "cut at {at}");
    }
    assert!(decode_stored_answer(&[bytes.as_slice(), &[0]].concat()).is_err());
}

#[test]
fn an_answer_with_sources_is_read_as_it_was_written() {
    let source = |id: u128, code_until| Source {
        id: SubjectId::TokenIntent(TokenIntentId::new(Uuid::from_u128(id))),
        is_callers: id == 1,
        code_until,
    };
    for until_code_ends in [None, Some(vec![7; 3])] {
        let answer = SourcedAnswer {
            answered_at: Timestamp::from_micros(5),
            sources: vec![source(1, None), source(2, Some(Timestamp::from_micros(9)))],
            until_code_ends,
            sealed: vec![1, 2],
        };
        let bytes = encode_sourced(&answer).unwrap().expose().clone();
        let Ok(StoredAnswer::Sourced(read)) = decode_stored_answer(&bytes) else {
            panic!("another form")
        };
        assert_eq!((read.answered_at, &read.sources), (answer.answered_at, &answer.sources));
        assert_eq!((read.until_code_ends, read.sealed), (answer.until_code_ends, answer.sealed));
        for at in 0..bytes.len() {
            assert!(decode_stored_answer(&bytes[..at]).is_err(), "cut at {at}");
        }
        assert!(decode_stored_answer(&[bytes.as_slice(), &[0]].concat()).is_err());
    }
}
