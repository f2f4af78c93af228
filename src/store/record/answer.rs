//! Remembered answers, version 3.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | version, 3 |
//! | 4 | the length of the head, big-endian |
//! | n | the head: JSON with everything except the texts |
//! | n | the parts that are always kept, one after the other |
//! | n | for each subject its hidden parts, sealed, one after the other |
//!
//! The head and the texts are shortened: see `phrases`. The lengths are in the head. The hidden
//! parts of a subject are sealed together under a key that is derived from the seed in the subject's
//! own record. Each opened part is a byte (2 for shortened text, 1 for a text that is sealed under
//! the key of a card verification code), the length in four bytes, big-endian, and the bytes. The
//! texts are not in the JSON, because sealed bytes would need twice the space there.
//!
//! Version 2 is the same without shortening; a hidden text has the byte 0 there.
//!
//! Version 1 is one JSON text with the whole answer, from which no part can be removed: see
//! [`WholeAnswer`]. It is read as long as such answers are remembered, and no longer written.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::domain::access::Transform;
use crate::domain::container::Container;
use crate::domain::exposure::{Exposure, Extent, Fingerprint, Right, ValueOrigin};
use crate::domain::hex;
use crate::domain::id::{ApplicationId, KeyId, ProxyId, TokenId, TokenIntentId};
use crate::domain::permission::Permission;
use crate::domain::time::Timestamp;
use crate::idempotency::{AnswerStatus, Disclosure, SubjectId};
use crate::secret::Secret;
use crate::store::record::encoding::{BadRecord, EncodeFailed, bad, body, encode, micros};
use crate::store::record::hidden_parts::{LENGTH_BYTES, counted, length_of, take};
use crate::store::record::phrases::{lengthen, shorten};

const VERSION: u8 = 3;
const PLAIN_VERSION: u8 = 2;
const WHOLE_VERSION: u8 = 1;

#[derive(Debug)]
pub struct AnswerRecord {
    pub answered_at: Timestamp,
    pub status: AnswerStatus,
    pub location: Option<String>,
    pub disclosures: Vec<Disclosure>,
    pub content: AnswerContent,
}

#[derive(Debug)]
pub enum AnswerContent {
    Parts {
        /// Each subject with its hidden parts, encoded by [`crate::store::record::encode_hidden`]
        /// and sealed.
        subjects: Vec<(SubjectId, Vec<u8>)>,
        body: Vec<StoredPart>,
    },
    Whole(WholeAnswer),
}

/// A part of a body.
#[derive(Debug)]
pub enum StoredPart {
    /// The next hidden part of this subject.
    Hidden(usize),
    Text(Secret<Vec<u8>>),
}

/// An answer of version 1.
#[derive(Debug)]
pub struct WholeAnswer {
    /// JSON text without card verification codes.
    pub body: Secret<Vec<u8>>,
    /// The position of each code in the body, in order, and the code sealed under a key that will
    /// be destroyed.
    pub cvcs: Vec<(usize, Vec<u8>)>,
    /// The tokens that the body shows, with their predefined ids.
    pub tokens: Vec<(Uuid, Option<String>)>,
}

#[derive(Serialize, Deserialize)]
struct HeadV2 {
    answered_at: i64,
    status: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    location: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    disclosures: Vec<DisclosureV2>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    subjects: Vec<SubjectV2>,
    body: Vec<PartV2>,
}

#[derive(Serialize, Deserialize)]
struct DisclosureV2 {
    right: RightV2,
    value: ValueV2,
    containers: Vec<String>,
    extent: ExtentV2,
    transform: String,
    fingerprint: bool,
}

/// The rights that write.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RightV2 {
    Create,
    Update,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ValueV2 {
    Collected,
    Duplicate,
    Own,
    Stored,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ExtentV2 {
    Full,
    Outline,
}

#[derive(Serialize, Deserialize)]
struct SubjectV2 {
    id: SubjectIdV2,
    /// The length of the subject's sealed parts.
    sealed: usize,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SubjectIdV2 {
    Key(Uuid, Uuid),
    Proxy(Uuid),
    Token(Uuid, Option<String>),
    TokenIntent(Uuid),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PartV2 {
    /// The index of a subject.
    Of(usize),
    /// The length of a text.
    Text(usize),
}

#[derive(Deserialize)]
struct AnswerV1<'a> {
    answered_at: i64,
    status: u16,
    #[serde(default)]
    location: Option<String>,
    #[serde(default)]
    permission: Option<String>,
    #[serde(default)]
    transform: Option<String>,
    #[serde(default)]
    containers: Vec<String>,
    #[serde(default)]
    cvcs: Vec<(usize, String)>,
    #[serde(default)]
    tokens: Vec<(Uuid, Option<String>)>,
    #[serde(borrow)]
    body: &'a RawValue,
}

/// Fails for an answer of version 1, which is no longer written, and for the answer to a request
/// that only reads.
pub fn encode_answer(record: &AnswerRecord) -> Result<Secret<Vec<u8>>, EncodeFailed> {
    let AnswerContent::Parts { subjects, body } = &record.content else {
        return Err(EncodeFailed);
    };
    let texts: Vec<_> = body.iter().map(shortened).collect();
    let head = HeadV2 {
        answered_at: micros(record.answered_at),
        status: record.status.code(),
        location: record.location.clone(),
        disclosures: record
            .disclosures
            .iter()
            .map(disclosed)
            .collect::<Option<_>>()
            .ok_or(EncodeFailed)?,
        subjects: subjects
            .iter()
            .map(|(id, sealed)| SubjectV2 { id: subject_to_record(id), sealed: sealed.len() })
            .collect(),
        body: texts
            .iter()
            .map(|part| match part {
                StoredPart::Hidden(subject) => PartV2::Of(*subject),
                StoredPart::Text(text) => PartV2::Text(text.expose().len()),
            })
            .collect(),
    };
    let head = encode(VERSION, &head)?;
    let (version, head) = head.expose().split_first().ok_or(EncodeFailed)?;
    let head = shorten(head);
    let head_length = length_of(head.expose())?;
    let texts = texts.iter().filter_map(|part| match part {
        StoredPart::Hidden(_) => None,
        StoredPart::Text(text) => Some(text.expose()),
    });
    let sealed = subjects.iter().map(|(_, sealed)| sealed);
    let tail: Vec<_> = std::iter::once(head.expose()).chain(texts).chain(sealed).collect();
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

fn shortened(part: &StoredPart) -> StoredPart {
    match part {
        StoredPart::Hidden(subject) => StoredPart::Hidden(*subject),
        StoredPart::Text(text) => StoredPart::Text(shorten(text.expose())),
    }
}

pub fn decode_answer(bytes: &[u8]) -> Result<AnswerRecord, BadRecord> {
    let plain = |text: &[u8]| Ok(Secret::new(text.to_vec()));
    match bytes.first() {
        Some(&WHOLE_VERSION) => decode_whole(bytes),
        Some(&PLAIN_VERSION) => decode_parts(body(PLAIN_VERSION, bytes)?, plain),
        Some(_) | None => decode_parts(body(VERSION, bytes)?, lengthen),
    }
}

fn decode_parts(
    bytes: &[u8],
    text_of: impl Fn(&[u8]) -> Result<Secret<Vec<u8>>, BadRecord>,
) -> Result<AnswerRecord, BadRecord> {
    let (head, mut rest) = counted(bytes)?;
    let head: HeadV2 = serde_json::from_slice(text_of(head)?.expose()).map_err(bad)?;
    let mut parts = Vec::with_capacity(head.body.len());
    for part in &head.body {
        parts.push(match part {
            PartV2::Of(subject) if *subject < head.subjects.len() => StoredPart::Hidden(*subject),
            PartV2::Of(_) => return Err(BadRecord),
            PartV2::Text(length) => StoredPart::Text(text_of(take(&mut rest, *length)?)?),
        });
    }
    let mut subjects = Vec::with_capacity(head.subjects.len());
    for subject in head.subjects {
        let sealed = take(&mut rest, subject.sealed)?.to_vec();
        subjects.push((subject_of_record(subject.id), sealed));
    }
    if !rest.is_empty() {
        return Err(BadRecord);
    }
    Ok(AnswerRecord {
        answered_at: Timestamp::from_micros(head.answered_at),
        status: AnswerStatus::from_code(head.status).ok_or(BadRecord)?,
        location: head.location,
        disclosures: head.disclosures.iter().map(disclosure).collect::<Result<_, _>>()?,
        content: AnswerContent::Parts { subjects, body: parts },
    })
}

fn decode_whole(bytes: &[u8]) -> Result<AnswerRecord, BadRecord> {
    let record: AnswerV1<'_> = serde_json::from_slice(body(WHOLE_VERSION, bytes)?).map_err(bad)?;
    let disclosures = match (record.permission, record.transform) {
        // In version 1 this right alone decided what the answer showed.
        (Some(permission), Some(transform)) => vec![disclosure(&DisclosureV2 {
            right: match Permission::parse(&permission) {
                Some(Permission::TokenCreate) => RightV2::Create,
                Some(Permission::TokenUpdate) => RightV2::Update,
                Some(_) | None => return Err(BadRecord),
            },
            value: ValueV2::Own,
            containers: record.containers,
            extent: ExtentV2::Full,
            transform,
            fingerprint: true,
        })?],
        (None, None) if record.containers.is_empty() => Vec::new(),
        // An incomplete right must not be read as no right.
        (Some(_), None) | (None, _) => return Err(BadRecord),
    };
    let cvcs = record.cvcs.iter().map(|(at, sealed)| Some((*at, hex::decode_all(sealed)?)));
    Ok(AnswerRecord {
        answered_at: Timestamp::from_micros(record.answered_at),
        status: AnswerStatus::from_code(record.status).ok_or(BadRecord)?,
        location: record.location,
        disclosures,
        content: AnswerContent::Whole(WholeAnswer {
            body: Secret::new(record.body.get().as_bytes().to_vec()),
            cvcs: cvcs.collect::<Option<_>>().ok_or(BadRecord)?,
            tokens: record.tokens,
        }),
    })
}

fn disclosed(disclosure: &Disclosure) -> Option<DisclosureV2> {
    let Exposure { extent, transform, fingerprint } = disclosure.exposure;
    Some(DisclosureV2 {
        right: match disclosure.right {
            Right::Create => RightV2::Create,
            Right::Update => RightV2::Update,
            Right::Read | Right::Search | Right::Use => return None,
        },
        value: match disclosure.value {
            ValueOrigin::Collected => ValueV2::Collected,
            ValueOrigin::Duplicate => ValueV2::Duplicate,
            ValueOrigin::Own => ValueV2::Own,
            ValueOrigin::Stored => ValueV2::Stored,
        },
        containers: disclosure.containers.iter().map(|it| String::from(it.as_str())).collect(),
        extent: match extent {
            Extent::Full => ExtentV2::Full,
            Extent::Outline => ExtentV2::Outline,
        },
        transform: String::from(transform.as_str()),
        fingerprint: fingerprint == Fingerprint::Shown,
    })
}

fn disclosure(record: &DisclosureV2) -> Result<Disclosure, BadRecord> {
    let containers = record.containers.iter();
    let containers = containers.map(|path| Container::parse(path).ok().ok_or(BadRecord));
    Ok(Disclosure {
        right: match record.right {
            RightV2::Create => Right::Create,
            RightV2::Update => Right::Update,
        },
        value: match record.value {
            ValueV2::Collected => ValueOrigin::Collected,
            ValueV2::Duplicate => ValueOrigin::Duplicate,
            ValueV2::Own => ValueOrigin::Own,
            ValueV2::Stored => ValueOrigin::Stored,
        },
        containers: containers.collect::<Result<_, _>>()?,
        exposure: Exposure {
            extent: match record.extent {
                ExtentV2::Full => Extent::Full,
                ExtentV2::Outline => Extent::Outline,
            },
            transform: Transform::parse(&record.transform).ok_or(BadRecord)?,
            fingerprint: if record.fingerprint { Fingerprint::Shown } else { Fingerprint::Hidden },
        },
    })
}

fn subject_to_record(id: &SubjectId) -> SubjectIdV2 {
    match id {
        SubjectId::ApiKey { application, id } => SubjectIdV2::Key(application.uuid(), id.uuid()),
        SubjectId::Proxy(id) => SubjectIdV2::Proxy(id.uuid()),
        SubjectId::Token { id, name } => SubjectIdV2::Token(id.uuid(), name.clone()),
        SubjectId::TokenIntent(id) => SubjectIdV2::TokenIntent(id.uuid()),
    }
}

fn subject_of_record(record: SubjectIdV2) -> SubjectId {
    match record {
        SubjectIdV2::Key(application, id) => {
            SubjectId::ApiKey { application: ApplicationId::new(application), id: KeyId::new(id) }
        }
        SubjectIdV2::Proxy(id) => SubjectId::Proxy(ProxyId::new(id)),
        SubjectIdV2::Token(id, name) => SubjectId::Token { id: TokenId::new(id), name },
        SubjectIdV2::TokenIntent(id) => SubjectId::TokenIntent(TokenIntentId::new(id)),
    }
}
