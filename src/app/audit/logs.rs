//! `GET /logs`: a tenant's own entries, newest first, as far back as its quota allows.
//!
//! A request looks at a bounded number of rows. A page by cursor may therefore be short and still
//! have a next page. A page by number is refused when the bound is reached before its first entry.

use std::time::Duration;

use uuid::Uuid;

use crate::app::Audit;
use crate::app::caller::Caller;
use crate::app::error::{Error, Fault};
use crate::bounds::{AUDIT_DISORDER, AUDIT_ROWS_AT_ONCE, LOG_ROWS_EXAMINED_MAX};
use crate::domain::audit::{Act, AuditEntry, Entity, EntityKind};
use crate::domain::time::Timestamp;
use crate::store::chain::AuditRow;
use crate::store::{Table, tables};

#[derive(Debug, Default)]
pub struct LogQuery {
    pub kind: Option<EntityKind>,
    /// In the form that answers show.
    pub entity_id: Option<String>,
    pub act: Option<Act>,
    /// Inclusive.
    pub from: Option<Timestamp>,
    /// Exclusive.
    pub to: Option<Timestamp>,
}

#[derive(Debug)]
pub enum LogStart {
    /// After the page whose `next` this is. `None` starts at the newest entry.
    After(Option<Vec<u8>>),
    /// After this number of matching entries.
    Skip(usize),
}

#[derive(Debug)]
pub struct LogPage {
    /// Newest first, each with a stable id.
    pub entries: Vec<(Uuid, AuditEntry)>,
    /// `None` on the last page.
    pub next: Option<Vec<u8>>,
}

/// The row key that cursors are sealed with, so that no other sealed value passes as a cursor.
const CURSOR: &[u8] = b"log cursor";

impl Audit<'_> {
    pub async fn list_logs(
        self,
        caller: &Caller,
        query: &LogQuery,
        start: &LogStart,
        size: usize,
    ) -> Result<LogPage, Error> {
        // Reads that were answered before this request must be in the list.
        self.flush_reads_of(caller.tenant.id).await?;
        let walk = || walk_logs(self, caller, query, start, size);
        let page = self.vault.walks.run(caller.party(), walk).await??;
        // The page is shown only if its reading has an entry.
        let log = Entity::of_server(EntityKind::Log);
        self.note_read(caller, log, self.vault.now()).await?;
        Ok(page)
    }

    /// Seals the cursor: entries are numbered across all tenants, so a plain number would reveal
    /// the activity of other tenants.
    fn log_page(
        self,
        caller: &Caller,
        entries: Vec<(Uuid, AuditEntry)>,
        next: Option<u64>,
    ) -> LogPage {
        let seal = |before: u64| {
            let table = Table::Audit.number();
            caller.keys.seal(table, CURSOR, &before.to_be_bytes(), self.vault.random())
        };
        LogPage { entries, next: next.map(seal) }
    }
}

fn walk_logs(
    audit: Audit<'_>,
    caller: &Caller,
    query: &LogQuery,
    start: &LogStart,
    size: usize,
) -> Result<LogPage, Error> {
    let oldest = back(audit.vault.now(), caller.tenant.quotas.log_retention);
    let wanted = LogFilter { query, from: query.from.map_or(oldest, |from| from.max(oldest)) };
    let (before, mut skip) = match start {
        LogStart::After(Some(cursor)) => (opened(caller, cursor)?, 0),
        LogStart::After(None) => (u64::MAX, 0),
        LogStart::Skip(count) => (u64::MAX, *count),
    };
    let snapshot = audit.vault.snapshot()?;
    let range =
        snapshot.range_backwards(&tables::audit_before(caller.tenant.id.bytes(), before))?;
    let mut found: Vec<(Uuid, AuditEntry)> = Vec::with_capacity(size.min(AUDIT_ROWS_AT_ONCE));
    for (examined, entry) in range.enumerate() {
        let (key, value) = entry?;
        let row = AuditRow::decode(&key, &value).ok_or(Error::Internal(Fault::BadRecord))?;
        if examined == LOG_ROWS_EXAMINED_MAX {
            if matches!(start, LogStart::Skip(_)) && found.is_empty() {
                return Err(Error::Unprocessable(TOO_DEEP));
            }
            return Ok(audit.log_page(caller, found, Some(row.end())));
        }
        match wanted.of(&row) {
            Part::All if usize::from(row.count) <= skip => {
                skip = skip.saturating_sub(usize::from(row.count));
                continue;
            }
            Part::All | Part::Some => (),
            Part::None => continue,
            Part::NoneFromHereOn => break,
        }
        let entries = audit.open_row(&row)?;
        let numbers = (row.sequence..row.end()).rev();
        for (entry, number) in entries.into_iter().rev().zip(numbers) {
            if number >= before || !wanted.has(&entry) {
                continue;
            }
            if skip > 0 {
                skip = skip.saturating_sub(1);
                continue;
            }
            if found.len() == size {
                return Ok(audit.log_page(caller, found, Some(number.saturating_add(1))));
            }
            found.push((log_id(caller, number), entry));
        }
    }
    Ok(audit.log_page(caller, found, None))
}

const TOO_DEEP: &str = "This page lies too deep: go on from an earlier page with its next as \
                        start, or narrow the dates.";

struct LogFilter<'a> {
    query: &'a LogQuery,
    from: Timestamp,
}

/// The entries of a row that match the query, judged without opening the row.
enum Part {
    All,
    Some,
    None,
    /// Neither this row nor an older one has a match.
    NoneFromHereOn,
}

impl LogFilter<'_> {
    /// A row has the time of its newest entry; its oldest is at most [`AUDIT_DISORDER`] older.
    fn of(&self, row: &AuditRow) -> Part {
        let oldest = back(row.at, AUDIT_DISORDER);
        let ends_before = self.query.to.is_none_or(|to| row.at < to);
        if row.at.plus(AUDIT_DISORDER) < self.from {
            Part::NoneFromHereOn
        } else if row.at < self.from || self.query.to.is_some_and(|to| oldest >= to) {
            Part::None
        } else if self.is_unfiltered() && oldest >= self.from && ends_before {
            Part::All
        } else {
            Part::Some
        }
    }

    const fn is_unfiltered(&self) -> bool {
        self.query.kind.is_none() && self.query.entity_id.is_none() && self.query.act.is_none()
    }

    fn has(&self, entry: &AuditEntry) -> bool {
        let LogQuery { kind, entity_id, act, to, .. } = self.query;
        entry.at >= self.from
            && to.is_none_or(|to| entry.at < to)
            && kind.is_none_or(|kind| entry.entity.kind == kind)
            && act.is_none_or(|act| entry.act == act)
            && entity_id.as_ref().is_none_or(|id| entry.entity.public_id() == *id)
    }
}

fn opened(caller: &Caller, cursor: &[u8]) -> Result<u64, Error> {
    let plain = caller.keys.open(Table::Audit.number(), CURSOR, cursor).ok();
    let before = plain.and_then(|plain| plain.expose().as_slice().try_into().ok());
    let foreign =
        || Error::invalid("start", "The start is the next of an earlier page, unchanged.");
    before.map(u64::from_be_bytes).ok_or_else(foreign)
}

/// A stable id that key rotations do not change. Blinding hides the number of the entry.
fn log_id(caller: &Caller, number: u64) -> Uuid {
    let blinded = caller.keys.lasting().blind(&[b"log entry", &number.to_be_bytes()]);
    uuid::Builder::from_random_bytes(blinded).into_uuid()
}

fn back(at: Timestamp, by: Duration) -> Timestamp {
    let micros = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
    Timestamp::from_micros(at.micros().saturating_sub(micros))
}
