//! Damaged rows that lists, sweeps, rotations and the scrub have found. A walk skips such a row
//! instead of failing, and notes it here. The server logs each row once; readiness, metrics and
//! `strongroom status` report the number of known rows.

use std::collections::{HashMap, VecDeque};
use std::fmt;

use tokio::sync::Notify;
use uuid::Uuid;

use crate::app::error::{Error, Fault};
use crate::bounds::DAMAGED_ROWS_MAX;
use crate::domain::id::TenantId;
use crate::lock::Lock;
use crate::metrics::Counter;
use crate::store::Table;

/// A row that does not open, does not decode, or contradicts another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DamagedRow {
    /// The table of the damaged or missing row.
    pub table: Table,
    /// Nil for a row that belongs to no tenant.
    pub tenant: Uuid,
    /// The id of the token, application or other record that the row belongs to; nil if the row
    /// does not contain it.
    pub id: Uuid,
    pub why: &'static str,
}

impl fmt::Display for DamagedRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, tenant, id, why } = self;
        if !tenant.is_nil() {
            write!(f, "tenant {tenant}: ")?;
        }
        if id.is_nil() {
            return write!(f, "a row of {}: {why}", table.name());
        }
        write!(f, "{id} of {}: {why}", table.name())
    }
}

#[derive(Debug, Default)]
pub(in crate::app) struct Damage {
    known: Lock<Known>,
    found: Notify,
    /// Counts every encounter with a damaged row, also repeated ones.
    met: Counter,
}

#[derive(Debug, Default)]
struct Known {
    /// The pass of the scrub in which each row was last found damaged.
    rows: HashMap<(Table, Uuid, &'static str), u64>,
    pass: u64,
    /// Rows that are not logged yet.
    news: VecDeque<DamagedRow>,
}

impl Damage {
    pub(in crate::app) fn note(&self, row: DamagedRow) {
        self.met.add(1);
        let mut known = self.known.lock();
        let (place, pass) = ((row.table, row.id, row.why), known.pass);
        let is_new = !known.rows.contains_key(&place);
        if is_new && known.rows.len() >= DAMAGED_ROWS_MAX {
            return;
        }
        known.rows.insert(place, pass);
        if is_new {
            known.news.push_back(row);
            self.found.notify_one();
        }
    }

    /// Forgets rows that no walk found during this pass of the scrub: they are intact again or
    /// deleted.
    pub(in crate::app) fn end_pass(&self) {
        let mut known = self.known.lock();
        let pass = known.pass;
        known.rows.retain(|_, met_in| *met_in >= pass);
        known.pass = pass.saturating_add(1);
    }

    /// At most [`DAMAGED_ROWS_MAX`].
    pub(in crate::app) fn count(&self) -> u64 {
        u64::try_from(self.known.lock().rows.len()).unwrap_or(u64::MAX)
    }

    pub(in crate::app) fn met(&self) -> u64 {
        self.met.get()
    }

    pub(in crate::app) async fn next_found(&self) -> DamagedRow {
        loop {
            if let Some(row) = self.known.lock().news.pop_front() {
                return row;
            }
            self.found.notified().await;
        }
    }

    /// Notes a damaged row, so that the walk can continue without it. Other errors, such as
    /// failures of the disk, are not damage and are returned.
    pub(in crate::app) fn pass_over(
        &self,
        table: Table,
        tenant: TenantId,
        id: Uuid,
        error: Error,
    ) -> Result<(), Error> {
        let Error::Internal(fault) = error else { return Err(error) };
        self.note_fault(table, tenant, id, fault);
        Ok(())
    }

    pub(in crate::app) fn note_fault(
        &self,
        table: Table,
        tenant: TenantId,
        id: Uuid,
        fault: Fault,
    ) {
        self.note(DamagedRow { table, tenant: tenant.uuid(), id, why: fault.name() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: u128) -> DamagedRow {
        let id = Uuid::from_u128(id);
        DamagedRow { table: Table::Tokens, tenant: Uuid::nil(), id, why: "damaged" }
    }

    #[test]
    fn a_row_is_news_once_until_a_pass_did_not_meet_it() {
        let damage = Damage::default();
        let news = || damage.known.lock().news.drain(..).count();
        for _ in 0..3 {
            damage.note(row(1));
        }
        damage.note(row(2));
        assert_eq!((damage.count(), damage.met(), news()), (2, 4, 2));
        damage.end_pass();
        assert_eq!(damage.count(), 2, "both were met in that pass");
        damage.note(row(2));
        damage.end_pass();
        assert_eq!((damage.count(), news()), (1, 0), "the first is right again");
        damage.note(row(1));
        assert_eq!((damage.count(), news()), (2, 1));
    }

    #[test]
    fn what_is_known_has_a_bound() {
        let damage = Damage::default();
        for id in 0..2 * u128::try_from(DAMAGED_ROWS_MAX).unwrap() {
            damage.note(row(id));
        }
        assert_eq!(damage.known.lock().news.len(), DAMAGED_ROWS_MAX);
        assert_eq!(damage.count(), u64::try_from(DAMAGED_ROWS_MAX).unwrap());
    }
}
