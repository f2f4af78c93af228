//! Export of the decrypted chain for the operator: entries of all scopes, in pages. Each chain is in
//! its own order, and several are merged by time.

use std::collections::BTreeMap;
use std::fmt;

use uuid::Uuid;

use crate::app::Audit;
use crate::app::audit::entry::AuditScope;
use crate::app::error::Error;
use crate::bounds::{AUDIT_EXPORT_ENTRIES_MAX, LOG_ROWS_EXAMINED_MAX};
use crate::crypto::{Sha256, SystemKeys};
use crate::domain::audit::{Act, AuditEntry, Entity, EntityKind};
use crate::domain::hex;
use crate::domain::id::TenantId;
use crate::domain::time::Timestamp;
use crate::store::Shard;
use crate::store::chain::{ChainRows, MergedRows, scopes_by_shard};

#[derive(Debug, Clone, Default)]
pub struct ExportQuery {
    /// The `next` of the previous page. `None` asks for the first page, which also writes the audit
    /// entry of the export.
    pub next: Option<ExportCursor>,
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
}

#[derive(Debug)]
pub struct ExportedEntry {
    pub number: u64,
    pub scope: AuditScope,
    pub entry: AuditEntry,
}

#[derive(Debug)]
pub struct ExportPage {
    pub entries: Vec<ExportedEntry>,
    pub next: Option<ExportCursor>,
}

/// The number of the next entry of each chain that was read from. A number names its shard.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExportCursor(BTreeMap<Shard, u64>);

impl ExportCursor {
    pub fn parse(text: &str) -> Option<Self> {
        let parts = text.split('.').map(|part| {
            let number = part.parse().ok()?;
            Some((Shard::of_entry(number)?, number))
        });
        parts.collect::<Option<_>>().map(Self)
    }

    fn next(&self, shard: Shard) -> u64 {
        self.0.get(&shard).copied().unwrap_or(shard.entries().start)
    }
}

impl fmt::Display for ExportCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<_> = self.0.values().map(u64::to_string).collect();
        f.write_str(&numbers.join("."))
    }
}

impl Audit<'_> {
    pub async fn export(self, query: ExportQuery) -> Result<ExportPage, Error> {
        if query.next.is_none() {
            self.flush_reads().await?;
            self.refusals().write().await?;
            let chain = Entity::of_server(EntityKind::AuditChain);
            self.write_operator_entry(Act::Export, chain).await?;
        }
        self.vault.operator_walks.run(|| export_rows(self, &query)).await?
    }
}

fn export_rows(audit: Audit<'_>, query: &ExportQuery) -> Result<ExportPage, Error> {
    let snapshot = audit.vault.snapshot()?;
    let mut next = query.next.clone().unwrap_or_default();
    let scopes = scopes_by_shard(&snapshot)?;
    let chains = scopes.into_iter().map(|(shard, scopes)| {
        ChainRows::of_shard(&snapshot, shard, scopes.into_iter(), next.next(shard))
    });
    let mut rows = MergedRows::of(chains.collect::<Result<Vec<_>, _>>()?)?;
    let mut entries = Vec::new();
    let wanted = |entry: &AuditEntry| {
        query.from.is_none_or(|from| entry.at >= from) && query.to.is_none_or(|to| entry.at < to)
    };
    for examined in 1..=LOG_ROWS_EXAMINED_MAX {
        let Some(row) = rows.next_row()? else { return Ok(ExportPage { entries, next: None }) };
        let scope = scope_of(row.scope);
        if let Some(shard) = Shard::of_entry(row.sequence) {
            next.0.insert(shard, row.end());
        }
        // A row has the time of its newest entry, so rows before `from` need not be opened.
        if query.from.is_none_or(|from| row.at >= from) {
            let opened = audit.open_row(&row)?.into_iter().zip(row.sequence..);
            let kept = opened.filter(|(entry, _)| wanted(entry));
            entries.extend(kept.map(|(entry, number)| ExportedEntry { number, scope, entry }));
        }
        if entries.len() >= AUDIT_EXPORT_ENTRIES_MAX || examined == LOG_ROWS_EXAMINED_MAX {
            return Ok(ExportPage { entries, next: Some(next) });
        }
    }
    Ok(ExportPage { entries, next: None })
}

pub(super) fn scope_of(bytes: [u8; 16]) -> AuditScope {
    if bytes == SystemKeys::SCOPE {
        AuditScope::Server
    } else {
        AuditScope::Tenant(TenantId::new(Uuid::from_bytes(bytes)))
    }
}

/// SHA-256 in hexadecimal, as `sha256sum` prints it, for the audit entry of a text that leaves the
/// vault.
pub fn digest_of(text: &str) -> String {
    let mut digest = Sha256::new();
    digest.update(text.as_bytes());
    hex::encode(&digest.finish())
}
