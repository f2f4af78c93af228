//! Remembered answers, version 1.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::domain::access::Transform;
use crate::domain::container::Container;
use crate::domain::hex;
use crate::domain::permission::Permission;
use crate::domain::time::Timestamp;
use crate::idempotency::{Answer, Needs};
use crate::secret::Secret;
use crate::store::record::{BadRecord, bad, body, encode, micros};

const VERSION: u8 = 1;

/// An answer without its card verification codes, which are sealed apart: where each goes, and its
/// bytes under a key that will be destroyed.
#[derive(Debug)]
pub struct AnswerRecord {
    pub answered_at: Timestamp,
    pub answer: Answer,
    pub cvcs: Vec<(usize, Vec<u8>)>,
}

#[derive(Serialize, Deserialize)]
struct AnswerV1<'a> {
    answered_at: i64,
    status: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    location: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    permission: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    transform: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    containers: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    cvcs: Vec<(usize, String)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tokens: Vec<(Uuid, Option<String>)>,
    #[serde(borrow)]
    body: &'a RawValue,
}

/// `None` for a body that is no JSON, which no remembered answer has.
pub fn encode_answer(record: &AnswerRecord) -> Option<Secret<Vec<u8>>> {
    let AnswerRecord { answered_at, answer, cvcs } = record;
    let needs = answer.needs.as_ref();
    let paths = needs.map_or_else(Vec::new, |needs| {
        needs.containers.iter().map(|path| String::from(path.as_str())).collect()
    });
    let record = AnswerV1 {
        answered_at: micros(*answered_at),
        status: answer.status,
        location: answer.location.clone(),
        permission: needs.map(|needs| String::from(needs.permission.as_str())),
        transform: needs.map(|needs| String::from(needs.transform.as_str())),
        containers: paths,
        cvcs: cvcs.iter().map(|(at, sealed)| (*at, hex::encode(sealed))).collect(),
        tokens: answer.tokens.clone(),
        body: serde_json::from_slice(answer.body.expose()).ok()?,
    };
    Some(encode(VERSION, &record))
}

pub fn decode_answer(bytes: &[u8]) -> Result<AnswerRecord, BadRecord> {
    let record: AnswerV1<'_> = serde_json::from_slice(body(VERSION, bytes)?).map_err(bad)?;
    let containers: Option<Vec<_>> =
        record.containers.iter().map(|path| Container::parse(path).ok()).collect();
    let containers = containers.ok_or(BadRecord)?;
    let needs = match (record.permission, record.transform) {
        (Some(permission), Some(transform)) => Some(Needs {
            permission: Permission::parse(&permission).ok_or(BadRecord)?,
            containers,
            transform: Transform::parse(&transform).ok_or(BadRecord)?,
        }),
        _ => None,
    };
    let cvcs = record.cvcs.iter().map(|(at, sealed)| Some((*at, hex::decode_all(sealed)?)));
    let cvcs = cvcs.collect::<Option<_>>().ok_or(BadRecord)?;
    let answer = Answer {
        status: record.status,
        location: record.location,
        body: Secret::new(record.body.get().as_bytes().to_vec()),
        cvcs: Vec::new(),
        needs,
        tokens: record.tokens,
    };
    Ok(AnswerRecord { answered_at: Timestamp::from_micros(record.answered_at), answer, cvcs })
}
