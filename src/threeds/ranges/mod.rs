//! The card ranges of one directory server, from its answers to `PReq`: sorted, and without
//! overlaps. An answer that breaks these rules is refused as a whole.
#![expect(clippy::similar_names, reason = "the messages have these names in the protocol")]

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use crate::bounds::{
    THREEDS_RANGES_AGAIN, THREEDS_RANGES_MAX, THREEDS_RANGES_REFRESH, THREEDS_RANGES_RETRY,
};
use crate::domain::time::Timestamp;
use crate::threeds::codes::AcsInformation;
use crate::threeds::message::{ActionIndicator, CardRange, ErrorCode, Preq, Pres, Rejection};
use crate::threeds::session::Enrolment;
use crate::threeds::{NamedVersion, ProtocolVersion, Scheme};

/// The state of one directory server's ranges between two requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryRanges {
    pub table: Option<RangeTable>,
    /// The protocol version of the next request.
    pub version: ProtocolVersion,
    pub due_at: Timestamp,
}

/// Ranges, sorted by their first numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeTable {
    /// The serial number of the last answer. Without it the next request is for every range.
    pub serial: Option<String>,
    pub ds_start: NamedVersion,
    pub ds_end: NamedVersion,
    ranges: Vec<AccountRange>,
}

/// Card numbers from `start` to `end`, both padded to 19 digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountRange {
    pub start: u64,
    pub end: u64,
    pub acs_start: NamedVersion,
    pub acs_end: NamedVersion,
    pub ds_start: Option<NamedVersion>,
    pub ds_end: Option<NamedVersion>,
    /// Shared, because all ranges use a few URLs of issuers.
    pub method_url: Option<Arc<str>>,
    pub acs_information: Vec<AcsInformation>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreqResult {
    Answered,
    /// The answer was rejected with this code, or was an `Erro` of this code.
    Refused(ErrorCode),
    Unanswered,
}

const DIGITS: usize = 19;
const ELEMENT: &str = "cardRangeData";

impl DirectoryRanges {
    /// No ranges yet; the first request is due at once.
    pub const NOTHING: Self =
        Self { table: None, version: ProtocolVersion::V220, due_at: Timestamp::from_seconds(0) };

    /// Schedules the next request. After a refusal it has no serial number, so that the answer has
    /// every range.
    #[must_use]
    pub fn after(mut self, asked: PreqResult, now: Timestamp) -> Self {
        let wait: Duration = match asked {
            PreqResult::Answered => THREEDS_RANGES_REFRESH,
            PreqResult::Refused(code) => {
                if code == ErrorCode::VersionNotSupported {
                    self.version = match self.version {
                        ProtocolVersion::V210 => ProtocolVersion::V220,
                        ProtocolVersion::V220 => ProtocolVersion::V210,
                    };
                }
                if let Some(table) = &mut self.table {
                    table.serial = None;
                }
                THREEDS_RANGES_AGAIN
            }
            PreqResult::Unanswered => THREEDS_RANGES_RETRY,
        };
        self.due_at = now.plus(wait);
        self
    }

    pub fn take(&self, preq: &Preq, pres: Pres) -> Result<RangeTable, Rejection> {
        check(preq.server_transaction, preq.version, &pres)?;
        match &self.table {
            Some(table) if preq.serial.is_some() => table.updated(pres),
            Some(_) | None => RangeTable::whole(pres),
        }
    }
}

fn check(transaction: Uuid, version: ProtocolVersion, pres: &Pres) -> Result<(), Rejection> {
    if pres.server_transaction != transaction {
        return Err(Rejection::new(ErrorCode::TransactionUnknown, "threeDSServerTransID"));
    }
    if pres.version != version {
        return Err(Rejection::new(ErrorCode::FormatInvalid, "messageVersion"));
    }
    Ok(())
}

impl RangeTable {
    /// Builds a table from an answer that has every range. Its actions are ignored.
    fn whole(pres: Pres) -> Result<Self, Rejection> {
        let missing = || Rejection::new(ErrorCode::ElementMissing, ELEMENT);
        let ranges = pres.ranges.ok_or_else(missing)?;
        let ranges = ranges.0.iter().map(AccountRange::of).collect::<Option<_>>();
        let serial = pres.serial.map(|it| String::from(it.as_str()));
        Self::new(serial, pres.ds_start, pres.ds_end, ranges.ok_or_else(unfit)?).ok_or_else(unfit)
    }

    /// Applies the changes since the last answer. Deletions apply before additions, whatever their
    /// order in the answer.
    fn updated(&self, pres: Pres) -> Result<Self, Rejection> {
        let serial = pres.serial.map(|it| String::from(it.as_str()));
        let serial = serial.or_else(|| self.serial.clone());
        let changes = pres.ranges.map(|ranges| ranges.0).unwrap_or_default();
        let mut ranges: BTreeMap<u64, AccountRange> =
            self.ranges.iter().map(|range| (range.start, range.clone())).collect();
        let mut added = Vec::new();
        for change in &changes {
            let range = AccountRange::of(change).ok_or_else(unfit)?;
            let is_known = ranges.get(&range.start).is_some_and(|known| known.end == range.end);
            match change.action.unwrap_or(ActionIndicator::Add) {
                ActionIndicator::Add => added.push(range),
                ActionIndicator::Delete if is_known => drop(ranges.remove(&range.start)),
                ActionIndicator::Modify if is_known => drop(ranges.insert(range.start, range)),
                ActionIndicator::Delete | ActionIndicator::Modify => return Err(unfit()),
            }
        }
        let ranges = ranges.into_values().chain(added).collect();
        Self::new(serial, pres.ds_start, pres.ds_end, ranges).ok_or_else(unfit)
    }

    /// Returns `None` if the ranges overlap or are not ordered.
    pub fn new(
        serial: Option<String>,
        ds_start: NamedVersion,
        ds_end: NamedVersion,
        mut ranges: Vec<AccountRange>,
    ) -> Option<Self> {
        ranges.sort_by_key(|range| range.start);
        share(&mut ranges);
        let is_ordered = ranges.iter().all(|range| range.start <= range.end);
        let is_apart = ranges.is_sorted_by(|one, next| one.end < next.start);
        let fits = is_ordered && is_apart && ranges.len() <= THREEDS_RANGES_MAX;
        fits.then_some(Self { serial, ds_start, ds_end, ranges })
    }

    pub fn ranges(&self) -> &[AccountRange] {
        &self.ranges
    }

    /// Finds the enrolment data of a card number. `None` if no range has the number, or if the
    /// range has no supported version.
    pub fn find(&self, scheme: Scheme, number: &str) -> Option<Enrolment> {
        let number = filled(number, 0)?;
        let after = self.ranges.partition_point(|range| range.start <= number);
        let range = self.ranges.get(after.checked_sub(1)?)?;
        let enrolment = Enrolment {
            directory_server: String::from(scheme.directory_server()),
            acs_start: range.acs_start,
            acs_end: range.acs_end,
            ds_start: range.ds_start.unwrap_or(self.ds_start),
            ds_end: range.ds_end.unwrap_or(self.ds_end),
            method_url: range.method_url.as_deref().map(String::from),
            acs_information: range.acs_information.clone(),
        };
        (number <= range.end && enrolment.recommended().is_some()).then_some(enrolment)
    }
}

fn unfit() -> Rejection {
    Rejection::new(ErrorCode::FormatInvalid, ELEMENT)
}

impl AccountRange {
    fn of(range: &CardRange) -> Option<Self> {
        let information = range.acs_information.as_ref();
        Some(Self {
            start: filled(range.start.as_str(), 0)?,
            end: filled(range.end.as_str(), 9)?,
            acs_start: range.acs_start,
            acs_end: range.acs_end,
            ds_start: range.ds_start,
            ds_end: range.ds_end,
            method_url: range.method_url.as_ref().map(|url| Arc::from(url.as_str())),
            acs_information: information.map(|it| it.0.clone()).unwrap_or_default(),
        })
    }
}

/// Shares equal URLs between ranges.
fn share(ranges: &mut [AccountRange]) {
    let mut known: HashSet<Arc<str>> = HashSet::new();
    for url in ranges.iter_mut().filter_map(|range| range.method_url.as_mut()) {
        match known.get(url) {
            Some(shared) => *url = Arc::clone(shared),
            None => drop(known.insert(Arc::clone(url))),
        }
    }
}

/// Pads the digits to a number of 19 digits, so that numbers of different lengths can be compared.
fn filled(digits: &str, with: u64) -> Option<u64> {
    let number: u64 = digits.parse().ok()?;
    let missing = DIGITS.checked_sub(digits.len())?;
    (0..missing).try_fold(number, |number, _| number.checked_mul(10)?.checked_add(with))
}

#[cfg(test)]
mod tests;
