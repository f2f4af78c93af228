//! The encoding of most records: a version byte, then JSON.

use serde::Serialize;

use crate::secret::{Secret, SecretBuffer};

/// A record opened but does not decode: a newer program wrote it, or there is a bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadRecord;

/// A value cannot be encoded. No part of it may be written: a partial record would only be noticed
/// when it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EncodeFailed;

/// The version of all records so far.
pub(super) const VERSION: u8 = 1;

pub(super) fn encode(
    version: u8,
    record: &impl Serialize,
) -> Result<Secret<Vec<u8>>, EncodeFailed> {
    let mut bytes = SecretBuffer::with_capacity(512);
    bytes.push(version);
    serde_json::to_writer(&mut bytes, record).map_err(unencodable)?;
    Ok(bytes.finish())
}

/// Drops the text of the serializer's error, which may quote the record.
pub(in crate::store) fn unencodable(_: serde_json::Error) -> EncodeFailed {
    EncodeFailed
}

/// Returns the JSON of a record of this version. Fails for any other version.
pub(super) fn body(version: u8, bytes: &[u8]) -> Result<&[u8], BadRecord> {
    match bytes.split_first() {
        Some((found, body)) if *found == version => Ok(body),
        _ => Err(BadRecord),
    }
}

/// Drops the text of the parser's error, which may quote the record.
pub(in crate::store) fn bad(_: serde_json::Error) -> BadRecord {
    BadRecord
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
