//! The card ranges of a directory server, version 1. The first record holds the time of the next
//! request to the server and the number of further records, which hold the ranges.

use std::sync::Arc;

use serde_json::value::RawValue;

use crate::domain::time::Timestamp;
use crate::secret::Secret;
use crate::store::record::encoding::{BadRecord, EncodeFailed, VERSION, bad, body, encode};
use crate::store::record::shape::{AsStored, Stored, encode_shape, members, record, stored_as};
use crate::threeds::ranges::{AccountRange, DirectoryRanges, RangeTable};
use crate::threeds::version::{NamedVersion, ProtocolVersion};

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

record! { decode_known_ranges(): KnownRanges { parts, version, due_at, table? } }

members! { TableHead { serial?, ds_start, ds_end } }

members! { AccountRange {
    start, end, acs_start, acs_end, ds_start?, ds_end?, method_url?, acs_information?,
} }

stored_as! { Arc<str>: |it| &**it, |text: String| Some(Self::from(text)); }

pub fn encode_known_ranges(
    known: &DirectoryRanges,
    parts: u32,
) -> Result<Secret<Vec<u8>>, EncodeFailed> {
    let table = known.table.as_ref().map(|table| TableHead {
        serial: table.serial.clone(),
        ds_start: table.ds_start,
        ds_end: table.ds_end,
    });
    let (version, due_at) = (known.version, known.due_at);
    encode_shape(&KnownRanges { parts, version, due_at, table })
}

impl KnownRanges {
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
    encode(VERSION, &ranges.iter().map(AsStored).collect::<Vec<_>>())
}

pub fn decode_ranges(bytes: &[u8]) -> Result<Vec<AccountRange>, BadRecord> {
    let ranges: &RawValue = serde_json::from_slice(body(VERSION, bytes)?).map_err(bad)?;
    Stored::read(ranges).ok_or(BadRecord)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threeds::codes::AcsInformation;

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
