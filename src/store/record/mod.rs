//! The encodings of records: a version byte, then JSON, so that a customer can read a backup
//! without us; audit entries and remembered answers have encodings of their own. Old versions are read forever: a new one is added beside them, never in place.
//!
//! Versions in use are documented by the types here and kept as files in `tests/vectors`.

mod access;
mod answer;
mod audit;
mod backups;
mod receipt;
mod share_set;
mod tenant;
mod threeds;
mod threeds_parts;
mod threeds_ranges;
mod token;
mod token_intent;

pub use access::{
    KeyRecord, decode_api_key, decode_application, encode_api_key, encode_application,
};
pub use answer::{
    AnswerContent, AnswerRecord, HiddenPart, StoredPart, WholeAnswer, decode_answer, decode_hidden,
    encode_answer, encode_hidden,
};
pub use audit::{decode_audit, encode_audit};
pub use backups::{decode_backups, encode_backups};
pub use receipt::{decode_receipt, encode_receipt};
pub use share_set::{decode_share_set, encode_share_set};
pub use tenant::{decode_tenant, encode_tenant};
pub use threeds::{decode_session, encode_session};
pub use threeds_ranges::{
    KnownRanges, decode_known_ranges, decode_ranges, encode_known_ranges, encode_ranges,
};
pub use token::{decode_token, encode_token};
pub use token_intent::{decode_token_intent, encode_token_intent};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::domain::time::Timestamp;
use crate::secret::{Secret, SecretBuffer};

/// A record that opened but does not decode: written by a newer program, or a mistake of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadRecord;

/// A value that has no encoding. Nothing of it may be sealed or written: half a record would be
/// found out only when it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EncodeFailed;

fn encode(version: u8, record: &impl Serialize) -> Result<Secret<Vec<u8>>, EncodeFailed> {
    let mut bytes = SecretBuffer::with_capacity(512);
    bytes.push(version);
    serde_json::to_writer(&mut bytes, record).map_err(unencodable)?;
    Ok(bytes.finish())
}

/// The writer's error may quote the record, so its text is dropped.
fn unencodable(_: serde_json::Error) -> EncodeFailed {
    EncodeFailed
}

/// The JSON of a record of this version.
fn body(version: u8, bytes: &[u8]) -> Result<&[u8], BadRecord> {
    match bytes.split_first() {
        Some((found, body)) if *found == version => Ok(body),
        _ => Err(BadRecord),
    }
}

fn decode<T: DeserializeOwned>(version: u8, bytes: &[u8]) -> Result<T, BadRecord> {
    serde_json::from_slice(body(version, bytes)?).map_err(bad)
}

/// The parser's own text may quote the record, so it goes no further.
fn bad(_: serde_json::Error) -> BadRecord {
    BadRecord
}

const fn micros(at: Timestamp) -> i64 {
    at.micros()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct NoJson;

    impl Serialize for NoJson {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("no encoding"))
        }
    }

    #[test]
    fn a_record_that_does_not_encode_is_an_error_and_no_half_record() {
        assert_eq!(encode(1, &[NoJson, NoJson]).unwrap_err(), EncodeFailed);
    }
}
