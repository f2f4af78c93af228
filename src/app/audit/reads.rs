//! Writing reads into the audit chain: a bounded queue, emptied at least every 100 milliseconds.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use tokio::sync::oneshot;

use crate::app::access::caller::Caller;
use crate::app::audit::Audit;
use crate::app::audit::read_queue::{AuditReads, ReadNote, SubmittedReads};
use crate::app::audit::scope::AuditScope;
use crate::app::error::Error;
use crate::bounds::{AUDIT_CHANGE_ENTRIES_MAX, AUDIT_READS_WAIT, AUDIT_RETRY};
use crate::domain::audit::{Act, AuditEntry, Entity};
use crate::domain::id::TenantId;
use crate::domain::time::Timestamp;
use crate::store::{Change, CommitFailure};

impl Audit<'_> {
    /// Writes down that the caller gets to see a thing. It must not be answered before this
    /// returns.
    pub(in crate::app) async fn note_read(
        self,
        caller: &Caller,
        entity: Entity,
        at: Timestamp,
    ) -> Result<(), Error> {
        let (written, wait) = self.vault.reads.waiter();
        let entry = caller.did(Act::Read, entity, at);
        let noted = ReadNote { tenant: caller.tenant.id, entry, written };
        self.vault.reads.sender.send(noted).await.map_err(|closed| stopped(&closed))?;
        self.vault.reads.announce();
        until(wait).await
    }

    /// The same of several things at once: all of them, or the answer is not given.
    pub(in crate::app) async fn note_reads(
        self,
        caller: &Caller,
        entities: impl ExactSizeIterator<Item = Entity>,
        at: Timestamp,
    ) -> Result<(), Error> {
        let count = entities.len();
        if count == 0 {
            return Ok(());
        }
        let places = self.vault.reads.sender.reserve_many(count).await;
        let places = places.map_err(|closed| stopped(&closed))?;
        let (mut written, wait) = self.vault.reads.waiter();
        for (number, (place, entity)) in places.zip(entities).enumerate() {
            // They are written in order: the last of them speaks for all.
            let is_last = number.saturating_add(1) == count;
            place.send(ReadNote {
                tenant: caller.tenant.id,
                entry: caller.did(Act::Read, entity, at),
                written: written.take_if(|_| is_last),
            });
        }
        self.vault.reads.announce();
        until(wait).await
    }

    /// Writes reads down for as long as the server runs; returns when the store no longer takes
    /// them, and from then on no read is answered.
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

    /// Returns when every read that was noted before is durable. Those that come meanwhile are not
    /// waited for, or there might be no end of it.
    pub async fn flush_reads(self) -> Result<(), Error> {
        let mut outbox = self.vault.reads.outbox.lock().await;
        self.vault.reads.is_known.store(false, Ordering::SeqCst);
        // A flush before this one may have been cut off, its client gone.
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
            let change = self.rows_of(&outbox.taken);
            match self.vault.store.submit(change) {
                Ok(verdict) => {
                    let written = outbox.taken.drain(..).filter_map(|noted| noted.written);
                    let written = written.collect();
                    outbox.handed = Some(SubmittedReads { verdict: Box::pin(verdict), written });
                }
                Err(CommitFailure::QueueFull) => {
                    tokio::time::sleep(AUDIT_RETRY).await;
                    continue;
                }
                // Reads that cannot be audited are not answered.
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

    fn rows_of(self, noted: &[ReadNote]) -> Change {
        let mut by_tenant: BTreeMap<TenantId, Vec<AuditEntry>> = BTreeMap::new();
        for ReadNote { tenant, entry, .. } in noted {
            by_tenant.entry(*tenant).or_default().push(entry.clone());
        }
        by_tenant.iter().fold(Change::new(), |change, (tenant, entries)| {
            change.and(self.entries(AuditScope::Tenant(*tenant), entries))
        })
    }
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
