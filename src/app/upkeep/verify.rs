//! `strongroom verify`: checks every row of the file ([`Check`]), that the counts agree, and that
//! the records match the audit chain and its digests.

use std::sync::Arc;

use crate::app::Verification;
use crate::app::error::Error;
use crate::app::findings::Report;
use crate::app::upkeep::check::{Check, Tally, checked_tables};
use crate::metrics::Progress;
use crate::store::tables;
use crate::store::{Shard, Snapshot, Table};

impl Verification<'_> {
    #[cfg(test)]
    pub fn verify(self) -> Result<Report, Error> {
        self.verify_counted(&Arc::default())
    }

    /// Counts the rows that it reads in `progress`.
    pub fn verify_counted(self, progress: &Arc<Progress>) -> Result<Report, Error> {
        let snapshot = self.vault.snapshot()?.counted(progress);
        let mut report = Report::default();
        for mark in snapshot.range(&tables::meta::deletions())? {
            mark?;
            report.deletions = report.deletions.saturating_add(1);
        }
        let mut check = Check::new(self.vault, snapshot.clone());
        // The lists are compared by their number: following each entry would open a token many
        // times.
        for table in checked_tables().filter(|table| *table != Table::TokenLists) {
            for row in snapshot.range(&table.whole())? {
                for damage in check.row(table, &row?)? {
                    report.find(damage.to_string());
                }
            }
        }
        if let Some(damage) = check.code_keys() {
            report.find(damage.to_string());
        }
        let mut tally = check.tally;
        tally.rows.insert(Table::TokenLists, snapshot.len(Table::TokenLists)?);
        tally.entries.entry(Table::TokenLists).or_default();
        self.vault.audit().verify(&snapshot, &tally.api_keys, &mut report)?;
        // A deletion removes rows in batches, so sums do not agree before its end. The digests of
        // the records agree all the time.
        if report.deletions == 0 {
            compare_sums(&tally, &mut report);
            compare_counts(&snapshot, &mut tally, &mut report)?;
        }
        let rows = |table| tally.rows.get(&table).copied().unwrap_or(0);
        let entries = |table| tally.entries.get(&table).copied().unwrap_or(0);
        Ok(Report {
            tenants: rows(Table::Tenants),
            applications: rows(Table::Applications),
            keys: rows(Table::ApplicationKeys),
            tokens: rows(Table::Tokens),
            token_intents: rows(Table::TokenIntents),
            threeds_sessions: rows(Table::ThreedsSessions),
            index_entries: [Table::TokenLists, Table::TokenNames, Table::Expiries]
                .map(entries)
                .iter()
                .fold(0, |sum, it| sum.saturating_add(*it)),
            cvcs: tally.cvcs,
            cvcs_gone: rows(Table::Cvcs).saturating_sub(tally.cvcs),
            ..report
        })
    }
}

/// The records must have as many entries as the table has rows. A surplus row has no record.
fn compare_sums(tally: &Tally, report: &mut Report) {
    for (table, expected) in &tally.entries {
        let found = tally.rows.get(table).copied().unwrap_or(0);
        if found != *expected {
            let name = table.name();
            report.find(format!(
                "{found} rows of {name} in the file, but {expected} belong to something"
            ));
        }
    }
}

/// Compares each count with the rows that it counts. Digests are compared with the audit chain.
fn compare_counts(
    snapshot: &Snapshot,
    tally: &mut Tally,
    report: &mut Report,
) -> Result<(), Error> {
    // Each shard counts the events of its tenants; only their sum says how many there are.
    let waiting = tables::all_webhook_counts(Shard::VAULT);
    let sum = snapshot.sum(&tables::every_webhook_count(), usize::MAX)?.unwrap_or(i64::MAX);
    compare(&waiting, tally.counts.remove(&waiting).unwrap_or(0), sum, report);
    for row in snapshot.range(&Table::Counts.whole())? {
        let (key, _) = row?;
        if tables::digest_of_key(&key).is_some() || tables::shard_of_count(&key).is_some() {
            continue;
        }
        let counted = snapshot.count(&key)?;
        if let Some((scope, number)) = tables::seal_count_of_key(&key) {
            verify_uses(snapshot, (&scope, number), counted, report)?;
        } else if let Some((tenant, end)) = tables::code_end_of_key(&key) {
            // The codes are gone, so only a number below zero is wrong for sure.
            if counted < 0 {
                let end = end.as_str();
                report.find(format!(
                    "tenant {tenant}: {counted} codes ended ({end}), which makes no sense"
                ));
            }
        } else {
            compare(&key, tally.counts.remove(&key).unwrap_or(0), counted, report);
        }
    }
    for (key, found) in std::mem::take(&mut tally.counts) {
        compare(&key, found, 0, report);
    }
    Ok(())
}

fn compare(key: &[u8], found: i64, counted: i64, report: &mut Report) {
    if found != counted {
        let what = tables::counted_name(key);
        report.find(format!("{what}: {found} in the file, but {counted} counted"));
    }
}

/// The uses of a key include values that may be gone by now, and lack the unwritten uses of a
/// killed process. So the check is only that the number is not negative, and that the key is not
/// beyond the newest one.
fn verify_uses(
    snapshot: &Snapshot,
    (scope, number): (&[u8; 16], u32),
    counted: i64,
    report: &mut Report,
) -> Result<(), Error> {
    let keys = snapshot.first(&tables::keys_of(scope), usize::MAX)?;
    let newest = keys.iter().filter_map(|(key, _)| tables::key_parts(key)).map(|it| it.1).max();
    if counted < 0 || newest.is_none_or(|newest| number > newest) {
        report.find(format!("counts: {counted} uses of key {number}, which makes no sense"));
    }
    Ok(())
}
