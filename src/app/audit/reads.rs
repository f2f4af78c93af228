//! Writes the entries of reads to the audit chain. They are gathered in a bounded queue and
//! committed together.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use tokio::sync::oneshot;

use crate::app::access::caller::Caller;
use crate::app::audit::read_queue::{AuditReads, ReadNote, SubmittedReads};
use crate::app::audit::scope::AuditScope;
use crate::app::audit::{Audit, rows};
use crate::app::error::Error;
use crate::app::origin;
use crate::app::vault::Vault;
use crate::bounds::{AUDIT_CHANGE_ENTRIES_MAX, AUDIT_READS_WAIT, AUDIT_RETRY};
use crate::domain::audit::{Act, AuditEntry, Entity};
use crate::domain::id::TenantId;
use crate::domain::time::Timestamp;
use crate::domain::webhook::EventKind;
use crate::store::{Change, CommitFailure};

impl Audit<'_> {
    /// Queues an entry that the caller reads this entity. The read must not be answered before this
    /// returns.
    pub(in crate::app) async fn note_read(
        self,
        caller: &Caller,
        entity: Entity,
        at: Timestamp,
    ) -> Result<(), Error> {
        let (written, wait) = self.vault.reads.waiter();
        let has_event = has_event(self.vault, caller.tenant.id)?;
        let entry = read_entry(caller, entity, at);
        let noted = ReadNote { tenant: caller.tenant.id, entry, has_event, written };
        self.vault.reads.sender.send(noted).await.map_err(|closed| stopped(&closed))?;
        self.vault.reads.announce();
        until(wait).await
    }

    /// Like `note_read`, for several entities. All entries are queued, or this fails and the read
    /// is not answered.
    pub(in crate::app) async fn note_reads(
        self,
        caller: &Caller,
        entities: impl ExactSizeIterator<Item = Entity>,
        at: Timestamp,
    ) -> Result<(), Error> {
        let entries = entities.map(|entity| read_entry(caller, entity, at)).collect();
        self.note_acts(caller.tenant.id, entries).await
    }

    /// Queues entries of acts of one tenant that have no effect in the data file. All of them are
    /// queued, or this fails and the acts must not happen.
    pub(in crate::app) async fn note_acts(
        self,
        tenant: TenantId,
        entries: Vec<AuditEntry>,
    ) -> Result<(), Error> {
        let count = entries.len();
        if count == 0 {
            return Ok(());
        }
        let has_event = has_event(self.vault, tenant)?;
        let places = self.vault.reads.sender.reserve_many(count).await;
        let places = places.map_err(|closed| stopped(&closed))?;
        let (mut written, wait) = self.vault.reads.waiter();
        for (number, (place, entry)) in places.zip(entries).enumerate() {
            // Entries are written in order: when the last one is durable, all are.
            let is_last = number.saturating_add(1) == count;
            let written = written.take_if(|_| is_last);
            place.send(ReadNote { tenant, entry, has_event, written });
        }
        self.vault.reads.announce();
        until(wait).await
    }

    /// Writes queued reads for as long as the server runs. Returns when the store no longer accepts
    /// them; from then on no read is answered.
    pub async fn write_reads(self) {
        loop {
            self.vault.reads.wake.notified().await;
            if self.vault.reads.mode == AuditReads::Batched {
                tokio::time::sleep(AUDIT_READS_WAIT).await;
            }
            if self.flush_reads().await.is_err() {
                return;
            }
        }
    }

    /// Returns when every read that was queued before this call is durable. Later reads are not
    /// waited for: under load the queue may never be empty.
    pub async fn flush_reads(self) -> Result<(), Error> {
        let mut outbox = self.vault.reads.outbox.lock().await;
        self.vault.reads.is_known.store(false, Ordering::SeqCst);
        // An earlier flush may have been cancelled after it submitted entries.
        outbox.hear().await?;
        let mut left = outbox.taken.len().saturating_add(outbox.queue.len());
        while left > 0 {
            while outbox.taken.len() < left.min(AUDIT_CHANGE_ENTRIES_MAX) {
                let Ok(noted) = outbox.queue.try_recv() else { break };
                outbox.taken.push(noted);
            }
            if outbox.taken.is_empty() {
                return Ok(());
            }
            let count = outbox.taken.len();
            // Events are sealed under a tenant's key, which a rotation must not destroy before they
            // are queued.
            let _epoch = self.vault.snapshot()?.epoch();
            let change = rows_of(self.vault, &outbox.taken).passing_over_closed();
            match self.vault.store.submit(change) {
                Ok(verdict) => {
                    let written = outbox.taken.drain(..).filter_map(|noted| noted.written);
                    let written = written.collect();
                    outbox.handed = Some(SubmittedReads { verdict: Box::pin(verdict), written });
                }
                Err(CommitFailure::QueueFull | CommitFailure::Unavailable) => {
                    tokio::time::sleep(AUDIT_RETRY).await;
                    continue;
                }
                // Reads that cannot be audited are not answered, so the queue is closed.
                Err(CommitFailure::Impossible(_) | CommitFailure::Stopped) => {
                    outbox.queue.close();
                    return Err(Error::Stopped);
                }
            }
            outbox.hear().await?;
            left = left.saturating_sub(count);
        }
        Ok(())
    }
}

/// The entries of reads by tenant, and the events of those that webhooks want to know of.
fn rows_of(vault: &Vault, noted: &[ReadNote]) -> Change {
    let events = noted.iter().filter(|note| note.has_event).fold(Change::new(), |change, note| {
        change.and(vault.webhooks().read_event(note.tenant, &note.entry))
    });
    let mut by_tenant: BTreeMap<TenantId, Vec<AuditEntry>> = BTreeMap::new();
    for ReadNote { tenant, entry, .. } in noted {
        by_tenant.entry(*tenant).or_default().push(entry.clone());
    }
    by_tenant.iter().fold(events, |change, (tenant, entries)| {
        change.and(rows(vault, AuditScope::Tenant(*tenant), entries))
    })
}

/// True if a webhook of the tenant wants to know of reads.
fn has_event(vault: &Vault, tenant: TenantId) -> Result<bool, Error> {
    vault.webhooks().wants(tenant, EventKind::TokenRead)
}

fn read_entry(caller: &Caller, entity: Entity, at: Timestamp) -> AuditEntry {
    origin::entry(at, caller.actor(), Act::Read, entity)
}

async fn until(written: Option<oneshot::Receiver<()>>) -> Result<(), Error> {
    match written {
        Some(written) => written.await.map_err(|dropped| stopped(&dropped)),
        None => Ok(()),
    }
}

/// The queue closes when the store has failed or is closed.
const fn stopped<T>(_: &T) -> Error {
    Error::Stopped
}
