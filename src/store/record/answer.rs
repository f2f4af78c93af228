//! Remembered answers, version 1, in binary. In order: time of the answer, status, location, head,
//! disclosures, subjects, parts of the body.
//!
//! A head is the status (two bytes) and the headers, each a name and a value, of an answer that a
//! program wrote. A disclosure is the right, the origin of the value, the containers, and the three members of an
//! exposure. A subject is its kind, its ids (16 bytes each), the name of a token, and its hidden
//! parts, sealed together under a key derived from the seed in the subject's own record. A part of
//! the body is 0 and a text, or 1 and the position of the subject whose next hidden part goes
//! there. If the first part is 2, the body is rendered from the token that is the only subject, as it
//! was created, and the texts are shown only if that cannot be done. If the token was changed since,
//! its first version is sealed in place of hidden parts.
//!
//! An answer that depends on sources is sealed once more, under a key derived from all of them.
//! Its record begins with another byte than a version. In order: time of the answer, sources (each a
//! subject's ids, whether the value was the caller's, and the end of a code in the answer), a sealed key that ends with the codes, the
//! sealed answer.
//!
//! A reservation stands in place of an answer while a program runs. Its record begins with a byte of
//! its own, too; the rest is the time of its end.

use uuid::Uuid;

use crate::domain::access::Transform;
use crate::domain::container::Container;
use crate::domain::exposure::{Exposure, Extent, Fingerprint, Right, ValueOrigin};
use crate::domain::id::{ApplicationId, KeyId, ProxyId, ReactorId, TokenId, TokenIntentId};
use crate::domain::time::Timestamp;
use crate::idempotency::{AnswerStatus, Disclosure, OwnHead, RETENTION, Source, SubjectId};
use crate::secret::Secret;
use crate::store::record::binary::{Reader, Writer};
use crate::store::record::encoding::{BadRecord, EncodeFailed};

#[derive(Debug)]
pub struct AnswerRecord {
    pub answered_at: Timestamp,
    pub status: AnswerStatus,
    pub location: Option<String>,
    pub head: Option<OwnHead>,
    pub disclosures: Vec<Disclosure>,
    /// Each subject with its sealed [`HiddenParts`](crate::store::record::HiddenParts).
    pub subjects: Vec<(SubjectId, Vec<u8>)>,
    pub body: Vec<StoredPart>,
}

/// An answer that opens only while all of its sources exist.
#[derive(Debug)]
pub struct SourcedAnswer {
    pub answered_at: Timestamp,
    pub sources: Vec<Source>,
    /// A text that is needed to open the answer, sealed until the first code ends.
    pub until_code_ends: Option<Vec<u8>>,
    pub sealed: Vec<u8>,
}

#[derive(Debug)]
pub enum StoredAnswer {
    Plain(AnswerRecord),
    /// The request is under way in a process until this time at most.
    Reserved(Timestamp),
    Sourced(SourcedAnswer),
}

impl StoredAnswer {
    /// A reservation has the time of an answer that is no longer remembered when the reservation
    /// ends, so it is replaced and swept as such an answer is.
    pub fn answered_at(&self) -> Timestamp {
        match self {
            Self::Plain(answer) => answer.answered_at,
            Self::Reserved(until) => until.minus(RETENTION),
            Self::Sourced(answer) => answer.answered_at,
        }
    }
}

#[derive(Debug)]
pub enum StoredPart {
    /// The first part of an answer that is rendered from its token.
    AsCreated,
    /// The next hidden part of this subject.
    Hidden(usize),
    Text(Secret<Vec<u8>>),
}

const STATUSES: &[AnswerStatus] =
    &[AnswerStatus::Ok, AnswerStatus::Created, AnswerStatus::Accepted];
/// Only rights that write: answers to reads are not remembered.
const RIGHTS: &[Right] = &[Right::Create, Right::Update];
const ORIGINS: &[ValueOrigin] =
    &[ValueOrigin::Own, ValueOrigin::Duplicate, ValueOrigin::Collected, ValueOrigin::Stored];
const EXTENTS: &[Extent] = &[Extent::Full, Extent::Outline];
const TRANSFORMS: &[Transform] = &[Transform::Redact, Transform::Mask, Transform::Reveal];
const FINGERPRINTS: &[Fingerprint] = &[Fingerprint::Hidden, Fingerprint::Shown];

/// In place of the version.
const RESERVED: u8 = 0xfe;
const SOURCED: u8 = 0xff;

const TEXT: u8 = 0;
const HIDDEN: u8 = 1;
const AS_CREATED: u8 = 2;

const API_KEY: u8 = 0;
const PROXY: u8 = 1;
const TOKEN: u8 = 2;
const TOKEN_INTENT: u8 = 3;
const REACTOR: u8 = 4;

/// The members of an answer before its subjects and its body.
#[derive(Debug)]
pub struct AnswerHead<'a> {
    pub answered_at: Timestamp,
    pub status: AnswerStatus,
    pub location: Option<&'a str>,
    pub head: Option<&'a OwnHead>,
    pub disclosures: &'a [Disclosure],
}

/// A part of a body that is written.
#[derive(Debug, Clone, Copy)]
pub enum BodyPart<'a> {
    AsCreated,
    /// The next hidden part of this subject.
    Hidden(usize),
    Text(&'a [u8]),
}

/// Fails for the answer to a request that only reads.
pub fn encode_answer<'a>(
    answer: &AnswerHead<'_>,
    subjects: impl ExactSizeIterator<Item = (&'a SubjectId, &'a [u8])> + Clone,
    body: &[BodyPart<'_>],
) -> Result<Secret<Vec<u8>>, EncodeFailed> {
    let texts = body.iter().map(|part| match part {
        BodyPart::AsCreated | BodyPart::Hidden(_) => 0,
        BodyPart::Text(text) => text.len(),
    });
    let bytes = subjects.clone().map(|(_, sealed)| sealed.len()).chain(texts).sum();
    let mut out = Writer::with_room(bytes);
    out.time(answer.answered_at);
    out.choice(STATUSES, &answer.status);
    out.optional(answer.location, Writer::text);
    out.optional(answer.head, write_head);
    out.list(answer.disclosures.iter(), write_disclosure);
    out.list(subjects, |out, (id, sealed)| {
        write_subject(out, id);
        out.counted(sealed);
    });
    out.list(body.iter(), |out, part| match part {
        BodyPart::AsCreated => out.bytes(&[AS_CREATED]),
        BodyPart::Text(text) => {
            out.bytes(&[TEXT]);
            out.counted(text);
        }
        BodyPart::Hidden(subject) => {
            out.bytes(&[HIDDEN]);
            out.length(*subject);
        }
    });
    out.finish()
}

pub fn encode_sourced(answer: &SourcedAnswer) -> Result<Secret<Vec<u8>>, EncodeFailed> {
    let SourcedAnswer { answered_at, sources, until_code_ends, sealed } = answer;
    let mut out = Writer::with_room(sealed.len());
    out.time(*answered_at);
    out.list(sources.iter(), |out, source| {
        write_subject(out, &source.id);
        out.bytes(&[u8::from(source.is_callers)]);
        out.optional(source.code_until, Writer::time);
    });
    out.optional(until_code_ends.as_deref(), Writer::counted);
    out.counted(sealed);
    let mut bytes = out.finish()?;
    bytes.expose_mut().insert(0, SOURCED);
    Ok(bytes)
}

pub fn encode_reservation(until: Timestamp) -> Result<Secret<Vec<u8>>, EncodeFailed> {
    let mut out = Writer::with_room(0);
    out.time(until);
    let mut bytes = out.finish()?;
    bytes.expose_mut().insert(0, RESERVED);
    Ok(bytes)
}

pub fn decode_stored_answer(bytes: &[u8]) -> Result<StoredAnswer, BadRecord> {
    match bytes.split_first() {
        Some((&RESERVED, bytes)) => {
            let mut record = Reader::new(bytes)?;
            let until = record.time()?;
            record.end()?;
            Ok(StoredAnswer::Reserved(until))
        }
        Some((&SOURCED, bytes)) => Ok(StoredAnswer::Sourced(decode_sourced(bytes)?)),
        Some(_) | None => Ok(StoredAnswer::Plain(decode_answer(bytes)?)),
    }
}

fn decode_sourced(bytes: &[u8]) -> Result<SourcedAnswer, BadRecord> {
    let mut record = Reader::new(bytes)?;
    let answered_at = record.time()?;
    let sources = record.list(|it| {
        let id = read_subject(it)?;
        let is_callers = match it.array()? {
            [0] => false,
            [1] => true,
            [_] => return Err(BadRecord),
        };
        Ok(Source { id, is_callers, code_until: it.optional(Reader::time)? })
    })?;
    let until_code_ends = record.optional(|it| Ok(it.counted()?.to_vec()))?;
    let sealed = record.counted()?.to_vec();
    record.end()?;
    Ok(SourcedAnswer { answered_at, sources, until_code_ends, sealed })
}

/// Encodes a record that was read.
#[cfg(any(fuzzing, test))]
pub fn encode_stored_again(answer: &StoredAnswer) -> Result<Secret<Vec<u8>>, EncodeFailed> {
    match answer {
        StoredAnswer::Plain(record) => encode_answer_again(record),
        StoredAnswer::Reserved(until) => encode_reservation(*until),
        StoredAnswer::Sourced(answer) => encode_sourced(answer),
    }
}

/// Encodes a record that was read.
pub fn encode_answer_again(record: &AnswerRecord) -> Result<Secret<Vec<u8>>, EncodeFailed> {
    let AnswerRecord { answered_at, status, location, head, disclosures, subjects, body } = record;
    let (location, head) = (location.as_deref(), head.as_ref());
    let (answered_at, status) = (*answered_at, *status);
    let body: Vec<_> = body
        .iter()
        .map(|part| match part {
            StoredPart::AsCreated => BodyPart::AsCreated,
            StoredPart::Hidden(subject) => BodyPart::Hidden(*subject),
            StoredPart::Text(text) => BodyPart::Text(text.expose()),
        })
        .collect();
    let subjects = subjects.iter().map(|(id, sealed)| (id, sealed.as_slice()));
    let answer = AnswerHead { answered_at, status, location, head, disclosures };
    encode_answer(&answer, subjects, &body)
}

pub fn decode_answer(bytes: &[u8]) -> Result<AnswerRecord, BadRecord> {
    let mut record = Reader::new(bytes)?;
    let answered_at = record.time()?;
    let status = record.choice(STATUSES)?;
    let location = record.optional(Reader::owned_text)?;
    let head = record.optional(read_head)?;
    let disclosures = record.list(read_disclosure)?;
    let subjects: Vec<_> = record.list(|it| Ok((read_subject(it)?, it.counted()?.to_vec())))?;
    let body = record.list(|it| match it.array()? {
        [AS_CREATED] => Ok(StoredPart::AsCreated),
        [TEXT] => Ok(StoredPart::Text(Secret::new(it.counted()?.to_vec()))),
        [HIDDEN] => {
            let subject = Some(it.length()?).filter(|at| *at < subjects.len());
            subject.map(StoredPart::Hidden).ok_or(BadRecord)
        }
        [_] => Err(BadRecord),
    })?;
    record.end()?;
    Ok(AnswerRecord { answered_at, status, location, head, disclosures, subjects, body })
}

fn write_head(out: &mut Writer, head: &OwnHead) {
    out.bytes(&head.status.to_be_bytes());
    out.list(head.headers.iter(), |out, (name, value)| {
        out.text(name);
        out.text(value.expose());
    });
}

fn read_head(record: &mut Reader<'_>) -> Result<OwnHead, BadRecord> {
    Ok(OwnHead {
        status: record.array().map(u16::from_be_bytes)?,
        headers: record.list(|it| Ok((it.owned_text()?, Secret::new(it.owned_text()?))))?,
    })
}

fn write_disclosure(out: &mut Writer, disclosure: &Disclosure) {
    let Disclosure { right, value, containers, exposure } = disclosure;
    out.choice(RIGHTS, right);
    out.choice(ORIGINS, value);
    out.list(containers.iter().map(Container::as_str), Writer::text);
    out.choice(EXTENTS, &exposure.extent);
    out.choice(TRANSFORMS, &exposure.transform);
    out.choice(FINGERPRINTS, &exposure.fingerprint);
}

fn read_disclosure(record: &mut Reader<'_>) -> Result<Disclosure, BadRecord> {
    Ok(Disclosure {
        right: record.choice(RIGHTS)?,
        value: record.choice(ORIGINS)?,
        containers: record.list(|it| Container::parse(it.text()?).ok().ok_or(BadRecord))?,
        exposure: Exposure {
            extent: record.choice(EXTENTS)?,
            transform: record.choice(TRANSFORMS)?,
            fingerprint: record.choice(FINGERPRINTS)?,
        },
    })
}

fn write_subject(out: &mut Writer, subject: &SubjectId) {
    match subject {
        SubjectId::ApiKey { application, id } => {
            out.bytes(&[API_KEY]);
            out.bytes(application.bytes());
            out.bytes(id.bytes());
        }
        SubjectId::Proxy(id) => {
            out.bytes(&[PROXY]);
            out.bytes(id.bytes());
        }
        SubjectId::Reactor(id) => {
            out.bytes(&[REACTOR]);
            out.bytes(id.bytes());
        }
        SubjectId::Token { id, name } => {
            out.bytes(&[TOKEN]);
            out.bytes(id.bytes());
            out.optional(name.as_deref(), Writer::text);
        }
        SubjectId::TokenIntent(id) => {
            out.bytes(&[TOKEN_INTENT]);
            out.bytes(id.bytes());
        }
    }
}

fn read_subject(record: &mut Reader<'_>) -> Result<SubjectId, BadRecord> {
    let [kind] = record.array()?;
    let id = record.array().map(Uuid::from_bytes)?;
    Ok(match kind {
        API_KEY => SubjectId::ApiKey {
            application: ApplicationId::new(id),
            id: KeyId::new(record.array().map(Uuid::from_bytes)?),
        },
        PROXY => SubjectId::Proxy(ProxyId::new(id)),
        REACTOR => SubjectId::Reactor(ReactorId::new(id)),
        TOKEN => {
            SubjectId::Token { id: TokenId::new(id), name: record.optional(Reader::owned_text)? }
        }
        TOKEN_INTENT => SubjectId::TokenIntent(TokenIntentId::new(id)),
        _ => return Err(BadRecord),
    })
}
