//! The card ranges of a directory server, version 1. The first record holds the time of the next
//! request to the server and the number of further records, which hold the ranges.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::domain::time::Timestamp;
use crate::secret::Secret;
use crate::store::record::encoding::{BadRecord, EncodeFailed, decode, encode, micros};
use crate::threeds::codes::AcsInformation;
use crate::threeds::ranges::{AccountRange, DirectoryRanges, RangeTable};
use crate::threeds::version::{NamedVersion, ProtocolVersion};

const VERSION: u8 = 1;

/// The first record. [`KnownRanges::with`] adds the ranges of the further records.
#[derive(Debug, PartialEq, Eq)]
pub struct KnownRanges {
    /// The number of further records.
    pub parts: u32,
    version: ProtocolVersion,
    due_at: Timestamp,
    table: Option<TableHead>,
}

#[derive(Debug, PartialEq, Eq)]
struct TableHead {
    serial: Option<String>,
    ds_start: NamedVersion,
    ds_end: NamedVersion,
}

#[derive(Serialize, Deserialize)]
struct KnownV1 {
    parts: u32,
    version: String,
    due_at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    table: Option<TableV1>,
}

#[derive(Serialize, Deserialize)]
struct TableV1 {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    serial: Option<String>,
    ds_start: String,
    ds_end: String,
}

#[derive(Serialize, Deserialize)]
struct RangeV1 {
    start: u64,
    end: u64,
    acs_start: String,
    acs_end: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ds_start: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ds_end: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    method_url: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    acs_information: Vec<String>,
}

pub fn encode_known_ranges(
    known: &DirectoryRanges,
    parts: u32,
) -> Result<Secret<Vec<u8>>, EncodeFailed> {
    let table = known.table.as_ref().map(|table| TableV1 {
        serial: table.serial.clone(),
        ds_start: table.ds_start.to_string(),
        ds_end: table.ds_end.to_string(),
    });
    let version = String::from(known.version.as_str());
    encode(VERSION, &KnownV1 { parts, version, due_at: micros(known.due_at), table })
}

pub fn decode_known_ranges(bytes: &[u8]) -> Result<KnownRanges, BadRecord> {
    let record: KnownV1 = decode(VERSION, bytes)?;
    let table = match record.table {
        Some(table) => Some(TableHead {
            serial: table.serial,
            ds_start: NamedVersion::parse(&table.ds_start).ok_or(BadRecord)?,
            ds_end: NamedVersion::parse(&table.ds_end).ok_or(BadRecord)?,
        }),
        None => None,
    };
    let version = ProtocolVersion::parse(&record.version).ok_or(BadRecord)?;
    let due_at = Timestamp::from_micros(record.due_at);
    Ok(KnownRanges { parts: record.parts, version, due_at, table })
}

impl KnownRanges {
    /// Adds the ranges of all further records.
    pub fn with(self, ranges: Vec<AccountRange>) -> Result<DirectoryRanges, BadRecord> {
        let table = match self.table {
            Some(TableHead { serial, ds_start, ds_end }) => {
                Some(RangeTable::new(serial, ds_start, ds_end, ranges).ok_or(BadRecord)?)
            }
            None if ranges.is_empty() => None,
            None => return Err(BadRecord),
        };
        Ok(DirectoryRanges { table, version: self.version, due_at: self.due_at })
    }
}

pub fn encode_ranges(ranges: &[AccountRange]) -> Result<Secret<Vec<u8>>, EncodeFailed> {
    let record = |range: &AccountRange| RangeV1 {
        start: range.start,
        end: range.end,
        acs_start: range.acs_start.to_string(),
        acs_end: range.acs_end.to_string(),
        ds_start: range.ds_start.map(|it| it.to_string()),
        ds_end: range.ds_end.map(|it| it.to_string()),
        method_url: range.method_url.as_deref().map(String::from),
        acs_information: range.acs_information.iter().map(|it| String::from(it.code())).collect(),
    };
    encode(VERSION, &ranges.iter().map(record).collect::<Vec<_>>())
}

pub fn decode_ranges(bytes: &[u8]) -> Result<Vec<AccountRange>, BadRecord> {
    let records: Vec<RangeV1> = decode(VERSION, bytes)?;
    records.into_iter().map(|record| range(record).ok_or(BadRecord)).collect()
}

fn range(record: RangeV1) -> Option<AccountRange> {
    let optional = |text: Option<String>| match text {
        Some(text) => NamedVersion::parse(&text).map(Some),
        None => Some(None),
    };
    let known = |code: &String| AcsInformation::from_code(code, ProtocolVersion::V220);
    Some(AccountRange {
        start: record.start,
        end: record.end,
        acs_start: NamedVersion::parse(&record.acs_start)?,
        acs_end: NamedVersion::parse(&record.acs_end)?,
        ds_start: optional(record.ds_start)?,
        ds_end: optional(record.ds_end)?,
        method_url: record.method_url.map(Arc::from),
        acs_information: record.acs_information.iter().map(known).collect::<Option<_>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> NamedVersion {
        NamedVersion::parse(text).unwrap()
    }

    fn made() -> DirectoryRanges {
        let range = |start, method: Option<&str>| AccountRange {
            start,
            end: start + 9,
            acs_start: version("2.1.0"),
            acs_end: version("2.3.1"),
            ds_start: method.map(|_| version("2.2.0")),
            ds_end: None,
            method_url: method.map(Arc::from),
            acs_information: AcsInformation::ALL.to_vec(),
        };
        let ranges = vec![range(10, None), range(9_999_999_999_999_999_000, Some("https://a"))];
        let serial = Some(String::from("41"));
        let table = RangeTable::new(serial, version("2.1.0"), version("2.2.0"), ranges);
        DirectoryRanges {
            table,
            version: ProtocolVersion::V210,
            due_at: Timestamp::from_micros(77),
        }
    }

    #[test]
    fn what_is_kept_is_all_of_it() {
        let known = made();
        let ranges = known.table.as_ref().unwrap().ranges();
        let head = decode_known_ranges(encode_known_ranges(&known, 2).unwrap().expose()).unwrap();
        assert_eq!(head.parts, 2);
        let mut again = Vec::new();
        for part in ranges.chunks(1) {
            again.extend(decode_ranges(encode_ranges(part).unwrap().expose()).unwrap());
        }
        assert_eq!(head.with(again), Ok(known));
        let nothing = encode_known_ranges(&DirectoryRanges::NOTHING, 0).unwrap();
        let head = decode_known_ranges(nothing.expose()).unwrap();
        assert_eq!(head.with(Vec::new()), Ok(DirectoryRanges::NOTHING));
    }

    #[test]
    fn ranges_that_do_not_fit_are_no_record_and_no_bytes_panic() {
        let head =
            || decode_known_ranges(encode_known_ranges(&made(), 1).unwrap().expose()).unwrap();
        let twice = [made().table.unwrap().ranges(), made().table.unwrap().ranges()].concat();
        assert_eq!(head().with(twice), Err(BadRecord));
        proptest::proptest!(|(bytes: Vec<u8>)| {
            drop(decode_ranges(&bytes));
            drop(decode_known_ranges(&bytes));
        });
    }
}
