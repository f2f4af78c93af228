//! Remembered answers, version 1.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | version, 1 |
//! | 4 | the length of the head, big-endian |
//! | n | the head: JSON with everything except the texts |
//! | n | the parts that are always kept, one after the other |
//! | n | for each subject its hidden parts, sealed, one after the other |
//!
//! The lengths are in the head. The hidden parts of a subject are sealed together under a key that
//! is derived from the seed in the subject's own record. Each opened part is a byte (0 for text, 1
//! for a text that is sealed under the key of a card verification code), the length in four bytes,
//! big-endian, and the bytes. The texts are not in the JSON, because sealed bytes would need twice
//! the space there.

use serde::Serializer;
use serde::ser::Error as _;
use serde_json::value::RawValue;

use crate::domain::exposure::{Exposure, Extent, Fingerprint, Right, ValueOrigin};
use crate::domain::id::{ApplicationId, KeyId, ProxyId, TokenId, TokenIntentId};
use crate::domain::time::Timestamp;
use crate::idempotency::{AnswerStatus, Disclosure, SubjectId};
use crate::secret::Secret;
use crate::store::record::encoding::{BadRecord, EncodeFailed, VERSION, bad, body};
use crate::store::record::hidden_parts::{LENGTH_BYTES, counted, length_of, take};
use crate::store::record::shape::{
    Members, Shape as _, Stored, encode_shape, flags, members, plain, text, words, write_tagged,
};

#[derive(Debug)]
pub struct AnswerRecord {
    pub answered_at: Timestamp,
    pub status: AnswerStatus,
    pub location: Option<String>,
    pub disclosures: Vec<Disclosure>,
    /// Each subject with its hidden parts, encoded by [`crate::store::record::encode_hidden`] and
    /// sealed.
    pub subjects: Vec<(SubjectId, Vec<u8>)>,
    pub body: Vec<StoredPart>,
}

/// A part of a body.
#[derive(Debug)]
pub enum StoredPart {
    /// The next hidden part of this subject.
    Hidden(usize),
    Text(Secret<Vec<u8>>),
}

/// Everything except the texts.
struct Head {
    answered_at: Timestamp,
    status: AnswerStatus,
    location: Option<String>,
    disclosures: Vec<Disclosure>,
    subjects: Vec<SealedSubject>,
    body: Vec<HeadPart>,
}

struct SealedSubject {
    id: SubjectId,
    /// The length of the subject's sealed parts.
    sealed: usize,
}

enum HeadPart {
    /// The index of a subject.
    Of(usize),
    /// The length of a text.
    Text(usize),
}

members! { Head { answered_at, status, location?, disclosures?, subjects?, body } }
members! { SealedSubject { id, sealed } }
members! { Disclosure { right, value, containers, ..exposure } }
members! { Exposure { extent, transform, fingerprint } }
flags! { Fingerprint { false Hidden, true Shown } }

words! {
    Extent { Full "full", Outline "outline" }
    ValueOrigin {
        Collected "collected", Duplicate "duplicate", Own "own", Stored "stored",
    }
}

/// Fails for the answer to a request that only reads.
pub fn encode_answer(record: &AnswerRecord) -> Result<Secret<Vec<u8>>, EncodeFailed> {
    let AnswerRecord { subjects, body, .. } = record;
    let head = Head {
        answered_at: record.answered_at,
        status: record.status,
        location: record.location.clone(),
        disclosures: record.disclosures.clone(),
        subjects: subjects
            .iter()
            .map(|(id, sealed)| SealedSubject { id: id.clone(), sealed: sealed.len() })
            .collect(),
        body: body
            .iter()
            .map(|part| match part {
                StoredPart::Hidden(subject) => HeadPart::Of(*subject),
                StoredPart::Text(text) => HeadPart::Text(text.expose().len()),
            })
            .collect(),
    };
    let head = encode_shape(&head)?;
    let (version, head) = head.expose().split_first().ok_or(EncodeFailed)?;
    let head_length = length_of(head)?;
    let texts = body.iter().filter_map(|part| match part {
        StoredPart::Hidden(_) => None,
        StoredPart::Text(text) => Some(text.expose().as_slice()),
    });
    let sealed = subjects.iter().map(|(_, sealed)| sealed.as_slice());
    let tail: Vec<_> = std::iter::once(head).chain(texts).chain(sealed).collect();
    let length = tail.iter().map(|bytes| bytes.len()).sum::<usize>();
    let length = length.saturating_add(1).saturating_add(LENGTH_BYTES);
    let mut bytes = Secret::new(Vec::with_capacity(length));
    bytes.expose_mut().push(*version);
    bytes.expose_mut().extend_from_slice(&head_length);
    for part in tail {
        bytes.expose_mut().extend_from_slice(part);
    }
    Ok(bytes)
}

pub fn decode_answer(bytes: &[u8]) -> Result<AnswerRecord, BadRecord> {
    let (head, mut rest) = counted(body(VERSION, bytes)?)?;
    let head = serde_json::from_slice(head).map_err(bad)?;
    let head = Head::read_members(&head, ()).ok_or(BadRecord)?;
    let mut parts = Vec::with_capacity(head.body.len());
    for part in &head.body {
        parts.push(match part {
            HeadPart::Of(subject) if *subject < head.subjects.len() => StoredPart::Hidden(*subject),
            HeadPart::Of(_) => return Err(BadRecord),
            HeadPart::Text(length) => {
                StoredPart::Text(Secret::new(take(&mut rest, *length)?.to_vec()))
            }
        });
    }
    let mut subjects = Vec::with_capacity(head.subjects.len());
    for subject in head.subjects {
        let sealed = take(&mut rest, subject.sealed)?.to_vec();
        subjects.push((subject.id, sealed));
    }
    if !rest.is_empty() {
        return Err(BadRecord);
    }
    Ok(AnswerRecord {
        answered_at: head.answered_at,
        status: head.status,
        location: head.location,
        disclosures: head.disclosures,
        subjects,
        body: parts,
    })
}

/// Only the rights that write: no other answer is remembered.
impl Stored for Right {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Read | Self::Search | Self::Use => {
                return Err(S::Error::custom("a right that only reads"));
            }
        })
    }

    fn read(json: &RawValue) -> Option<Self> {
        match &*text(json)? {
            "create" => Some(Self::Create),
            "update" => Some(Self::Update),
            _ => None,
        }
    }
}

impl Stored for AnswerStatus {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u16(self.code())
    }

    fn read(json: &RawValue) -> Option<Self> {
        plain(json).and_then(Self::from_code)
    }
}

impl Stored for HeadPart {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Of(subject) => write_tagged("of", subject, serializer),
            Self::Text(length) => write_tagged("text", length, serializer),
        }
    }

    fn read(json: &RawValue) -> Option<Self> {
        match plain::<Members<'_>>(json)?.single()? {
            ("of", subject) => plain(subject).map(Self::Of),
            ("text", length) => plain(length).map(Self::Text),
            _ => None,
        }
    }
}

impl Stored for SubjectId {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::ApiKey { application, id } => {
                serializer.collect_map([("key", (application.uuid(), id.uuid()))])
            }
            Self::Proxy(id) => serializer.collect_map([("proxy", id.uuid())]),
            Self::Token { id, name } => serializer.collect_map([("token", (id.uuid(), name))]),
            Self::TokenIntent(id) => serializer.collect_map([("token_intent", id.uuid())]),
        }
    }

    fn read(json: &RawValue) -> Option<Self> {
        match plain::<Members<'_>>(json)?.single()? {
            ("key", json) => plain(json).map(|(application, id)| Self::ApiKey {
                application: ApplicationId::new(application),
                id: KeyId::new(id),
            }),
            ("proxy", json) => plain(json).map(|id| Self::Proxy(ProxyId::new(id))),
            ("token", json) => {
                plain(json).map(|(id, name)| Self::Token { id: TokenId::new(id), name })
            }
            ("token_intent", json) => {
                plain(json).map(|id| Self::TokenIntent(TokenIntentId::new(id)))
            }
            _ => None,
        }
    }
}
