//! Writes refused attempts to the audit chain: soon after the first, then at most once a minute,
//! and less often in a flood.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::app::audit::entry::AuditScope;
use crate::app::audit::refusals::{RefusalTable, RefusedAttempt, RefusedRow};
use crate::app::audit::rows;
use crate::app::error::{Error, Fault};
use crate::app::{Audit, Vault};
use crate::bounds::{REFUSALS_CALM_MAX, REFUSALS_PERIOD, REFUSALS_PERIOD_MAX, REFUSALS_WAIT};
use crate::domain::audit::AuditEntry;
use crate::domain::time::Timestamp;
use crate::store::{Change, CommitFailure, Verdict};

/// For the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrittenRefusals {
    pub attempts: u64,
    pub entries: u64,
    pub first_at: Timestamp,
}

/// The time between two writes of refused attempts. It grows in a flood, so that a lasting flood
/// does not fill the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusalPace {
    period: Duration,
}

impl Default for RefusalPace {
    fn default() -> Self {
        Self { period: REFUSALS_PERIOD }
    }
}

impl RefusalPace {
    /// The pace after this many entries were written.
    #[must_use]
    pub fn after(self, entries: u64) -> Self {
        if entries <= REFUSALS_CALM_MAX {
            return Self::default();
        }
        Self { period: self.period.saturating_mul(2).min(REFUSALS_PERIOD_MAX) }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct RefusalLog<'a> {
    vault: &'a Vault,
}

impl<'a> Audit<'a> {
    pub const fn refusals(self) -> RefusalLog<'a> {
        RefusalLog { vault: self.vault }
    }
}

impl RefusalLog<'_> {
    /// Neither waits nor writes: an attempt costs no more than its place in a table.
    pub fn note(self, attempt: &RefusedAttempt) {
        self.vault.refusals.note(attempt, self.vault.now());
    }

    /// Returns soon after the first attempt is noted.
    pub async fn due(self) {
        self.vault.refusals.noted.notified().await;
        tokio::time::sleep(REFUSALS_WAIT).await;
    }

    /// Waits until further attempts may be written.
    pub async fn rest(self, pace: RefusalPace) {
        tokio::time::sleep(pace.period).await;
    }

    /// Writes all noted attempts; `None` without any. Attempts that cannot be written stay noted.
    pub async fn write(self) -> Result<Option<WrittenRefusals>, Error> {
        // Below the disk floor they stay in memory, which is bounded.
        self.vault.require_space_for_audit()?;
        let taken = self.vault.refusals.take();
        let Some(first_at) = taken.iter().map(|row| row.refusals().first_at).min() else {
            return Ok(None);
        };
        let attempts = taken.iter().map(|row| row.refusals().count);
        let attempts = attempts.fold(0, u64::saturating_add);
        let entries = u64::try_from(taken.len()).unwrap_or(u64::MAX);
        // No await between taking and submitting: dropping this task loses no rows. Each change
        // concerns one shard, so that a held one delays no other.
        let by_shard = self.vault.by_shard(taken, |row| row.scope().bytes()).into_values();
        let submit = |taken: Vec<RefusedRow>| (self.vault.store.submit(self.change(&taken)), taken);
        let submitted: Vec<_> = by_shard.map(submit).collect();
        let mut settled = Ok(());
        for (submitted, taken) in submitted {
            let verdict = match submitted {
                Ok(verdict) => verdict.await,
                Err(failure) => Err(failure),
            };
            settled = settled.and(settle(&self.vault.refusals, taken, verdict));
        }
        settled?;
        Ok(Some(WrittenRefusals { attempts, entries, first_at }))
    }

    fn change(self, taken: &[RefusedRow]) -> Change {
        let mut by_scope: BTreeMap<[u8; 16], (AuditScope, Vec<AuditEntry>)> = BTreeMap::new();
        let now = self.vault.now();
        for row in taken {
            let scope = row.scope();
            let (_, entries) = by_scope.entry(scope.bytes()).or_insert((scope, Vec::new()));
            entries.push(row.entry(now));
        }
        by_scope.into_values().fold(Change::new(), |change, (scope, entries)| {
            change.and(rows(self.vault, scope, &entries))
        })
    }
}

/// Puts the rows back unless they were written.
fn settle(
    table: &RefusalTable,
    taken: Vec<RefusedRow>,
    verdict: Result<Verdict, CommitFailure>,
) -> Result<(), Error> {
    let failure = match verdict {
        Ok(Verdict::Applied) => return Ok(()),
        Ok(Verdict::Closed | Verdict::Refused) => {
            Error::Internal(Fault::Impossible("audit entries expect nothing"))
        }
        Err(failure) => failure.into(),
    };
    table.put_back(taken);
    Err(failure)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::bounds::REFUSAL_ROWS_OF_STRANGERS_MAX;
    use crate::domain::audit::RefusalReason;
    use crate::domain::origin::Origin;

    #[test]
    fn a_flood_that_does_not_end_is_written_less_and_less_often() {
        let flood = u64::try_from(REFUSAL_ROWS_OF_STRANGERS_MAX).unwrap();
        let mut pace = RefusalPace::default();
        let (mut minutes, mut entries) = (0, 0);
        while minutes < 24 * 60 {
            entries += flood;
            let next = pace.after(flood);
            assert!(next.period >= pace.period);
            pace = next;
            minutes += pace.period.as_secs().div_ceil(60);
        }
        assert!(entries / minutes <= REFUSALS_CALM_MAX + 4, "{entries}");
        assert_eq!(pace.after(REFUSALS_CALM_MAX), RefusalPace::default());
    }

    #[test]
    fn rows_stay_noted_whatever_keeps_them_from_being_written() {
        let origin = Arc::new(Origin::of_request(Some([192, 0, 2, 1].into()), "t"));
        let (reason, route) = (RefusalReason::WrongKey, "ReadToken");
        for (verdict, kept) in [
            (Ok(Verdict::Applied), 0),
            (Ok(Verdict::Closed), 1),
            (Ok(Verdict::Refused), 1),
            (Err(CommitFailure::QueueFull), 1),
            (Err(CommitFailure::Stopped), 1),
            (Err(CommitFailure::TooLarge), 1),
            (Err(CommitFailure::Unavailable), 1),
        ] {
            let table = RefusalTable::default();
            let origin = Arc::clone(&origin);
            let attempt = RefusedAttempt { reason, route, caller: None, origin };
            table.note(&attempt, Timestamp::from_seconds(1));
            let settled = settle(&table, table.take(), verdict);
            assert_eq!(settled.is_err(), kept == 1, "{verdict:?}");
            assert_eq!(table.take().len(), kept, "{verdict:?}");
        }
    }
}
