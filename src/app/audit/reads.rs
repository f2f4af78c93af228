//! Entries of reads: gathered in a bounded queue, and committed to the audit chain together.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use smallvec::SmallVec;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::{Mutex, Notify, OwnedSemaphorePermit, Semaphore, oneshot};

use crate::app::audit::entry::AuditScope;
use crate::app::audit::entry::EventEffects;
use crate::app::audit::rows;
use crate::app::caller::Caller;
use crate::app::error::Error;
use crate::app::{Audit, Vault, origin};
use crate::bounds::{
    AUDIT_CHANGE_ENTRIES_MAX, AUDIT_QUEUE_MAX, AUDIT_READS_WAIT, AUDIT_RETRY, BATCH_BYTES_MAX,
    SHARD_READS_MAX, SHARD_READS_WAITING_MAX,
};
use crate::domain::audit::{Act, AuditEntry, AuditReads, Entity};
use crate::domain::id::TenantId;
use crate::domain::time::Timestamp;
use crate::domain::webhook::EventKind;
use crate::store::{Change, CommitFailure, Shard, Snapshot, Store, Verdict};

/// The entries of one request. Most requests have one.
pub(in crate::app) type FewEntries = SmallVec<[AuditEntry; 1]>;

impl Audit<'_> {
    /// The read must not be answered before this returns.
    pub(in crate::app) async fn note_read(
        self,
        caller: &Caller,
        entity: Entity,
        at: Timestamp,
    ) -> Result<(), Error> {
        let (written, wait) = self.vault.reads.waiter();
        let has_event = has_event(self.vault, caller.tenant.id)?;
        let entry = read_entry(caller, entity, at);
        let tenant = caller.tenant.id;
        let place = self.places(tenant, 1).await?;
        let noted = ReadNote { tenant, entry, has_event, written, _place: place, number: 0 };
        self.vault.reads.sender.send(noted).await.map_err(|closed| stopped(&closed))?;
        self.vault.reads.announce();
        until(wait).await
    }

    /// As `note_read`, for several entities. All entries are queued, or this fails.
    pub(in crate::app) async fn note_reads(
        self,
        caller: &Caller,
        entities: impl ExactSizeIterator<Item = Entity>,
        at: Timestamp,
    ) -> Result<(), Error> {
        let entries = entities.map(|entity| read_entry(caller, entity, at)).collect();
        self.note_acts(caller.tenant.id, entries).await
    }

    /// Queues entries of acts that have no effect in the data file. All of them are queued, or this
    /// fails and the acts must not happen.
    pub(in crate::app) async fn note_acts(
        self,
        tenant: TenantId,
        entries: FewEntries,
    ) -> Result<(), Error> {
        let count = entries.len();
        if count == 0 {
            return Ok(());
        }
        let has_event = has_event(self.vault, tenant)?;
        let mut in_shard = self.places(tenant, count).await?;
        let places = self.vault.reads.sender.reserve_many(count).await;
        let places = places.map_err(|closed| stopped(&closed))?;
        let (mut written, wait) = self.vault.reads.waiter();
        for (number, (queued, entry)) in places.zip(entries).enumerate() {
            // Entries are written in order, so the last one is durable after all others.
            let is_last = number.saturating_add(1) == count;
            let written = written.take_if(|_| is_last);
            let place = in_shard.as_mut().and_then(|places| places.split(1));
            queued.send(ReadNote { tenant, entry, has_event, written, _place: place, number: 0 });
        }
        self.vault.reads.announce();
        until(wait).await
    }

    /// Waits until the tenant's shard has room for further entries. `None` with one process, whose
    /// queue is the room of its only shard.
    async fn places(
        self,
        tenant: TenantId,
        count: usize,
    ) -> Result<Option<OwnedSemaphorePermit>, Error> {
        let Some(share) = self.vault.reads.share_of(self.vault, tenant) else { return Ok(None) };
        let places = Arc::clone(share).acquire_many_owned(places_of(count)).await;
        places.map(Some).map_err(|closed| stopped(&closed))
    }

    /// For an operation that was dropped and cannot wait. If the queue is full, the entries go to
    /// the writer directly.
    pub(super) fn note_abandoned(self, tenant: TenantId, entries: FewEntries) {
        let share = self.vault.reads.share_of(self.vault, tenant).map(Arc::clone);
        let in_shard = share.map(|it| it.try_acquire_many_owned(places_of(entries.len())));
        let places = self.vault.reads.sender.try_reserve_many(entries.len());
        if let (Ok(mut in_shard), Ok(places)) = (in_shard.transpose(), places) {
            for (queued, entry) in places.zip(entries) {
                let place = in_shard.as_mut().and_then(|places| places.split(1));
                let (has_event, written) = (false, None);
                queued.send(ReadNote {
                    tenant,
                    entry,
                    has_event,
                    written,
                    _place: place,
                    number: 0,
                });
            }
            self.vault.reads.announce();
        } else {
            let change = rows(self.vault, AuditScope::Tenant(tenant), &entries);
            // A store that takes no change answers no request, so the entries are not needed.
            drop(self.vault.store.submit(change.passing_over_closed()));
        }
    }

    /// Runs as long as the server. Returns when the store no longer accepts entries; from then on
    /// no read is answered.
    pub async fn write_reads(self) {
        let is_shared = self.vault.processes().may_be_several();
        let wait = if is_shared { Wait::Promptly } else { Wait::ForAll };
        let mut has_rest = false;
        loop {
            let woken = self.vault.reads.wake.notified();
            if has_rest {
                tokio::time::timeout(AUDIT_READS_WAIT, woken).await.ok();
            } else {
                woken.await;
            }
            if self.vault.reads.mode == AuditReads::Batched {
                tokio::time::sleep(AUDIT_READS_WAIT).await;
            }
            has_rest = match self.flush(wait).await {
                Ok(rest) => rest > 0,
                Err(_) => return,
            };
        }
    }

    /// Returns when every read that was queued before this call is durable. Later reads are not
    /// waited for: under load the queue may never be empty. Fails if a shard is held up.
    pub async fn flush_reads(self) -> Result<(), Error> {
        self.flush_all_of(None).await
    }

    /// As [`Audit::flush_reads`], for the reads of one tenant. Other shards may be held up.
    pub(in crate::app) async fn flush_reads_of(self, tenant: TenantId) -> Result<(), Error> {
        self.flush_all_of(Some(tenant)).await
    }

    async fn flush_all_of(self, tenant: Option<TenantId>) -> Result<(), Error> {
        if !self.vault.processes().may_be_several() {
            return self.flush(Wait::ForAll).await.map(|_none| ());
        }
        let shard = tenant.map(|tenant| self.vault.shard_of(tenant));
        let (mut end, mut pause) = (None, AUDIT_RETRY);
        let flushed = async {
            loop {
                // Not locked between two looks, so that entries are written meanwhile.
                let outbox = self.vault.reads.outbox.lock().await;
                let queued = u64::try_from(outbox.queue.len()).unwrap_or(u64::MAX);
                let end = *end.get_or_insert(outbox.next.saturating_add(queued));
                drop(outbox);
                self.flush(Wait::ForNone).await?;
                if !self.vault.reads.outbox.lock().await.has_before(self.vault, end, shard) {
                    return Ok(());
                }
                tokio::time::sleep(pause).await;
                pause = pause.saturating_mul(2).min(AUDIT_READS_WAIT);
            }
        };
        let flushed = self.vault.for_a_while(flushed).await;
        // The flusher goes on with what this one has submitted.
        self.vault.reads.wake.notify_one();
        flushed
    }

    /// Returns the number of entries that are neither queued nor durable.
    async fn flush(self, wait: Wait) -> Result<usize, Error> {
        let mut outbox = self.vault.reads.outbox.lock().await;
        self.vault.reads.is_known.store(false, Ordering::SeqCst);
        // An earlier flush may have been cancelled after it submitted entries.
        outbox.hear(self.vault, wait).await?;
        let mut left = outbox.queue.len();
        loop {
            // A writer without room must not fill the memory. The entries of shards have shares.
            let is_shared = wait != Wait::ForAll;
            let room = AUDIT_QUEUE_MAX.saturating_sub(outbox.len());
            let room = if is_shared { AUDIT_CHANGE_ENTRIES_MAX } else { room };
            for _ in 0..left.min(AUDIT_CHANGE_ENTRIES_MAX).min(room) {
                let Ok(noted) = outbox.queue.try_recv() else { break };
                outbox.take(noted);
                left = left.saturating_sub(1);
            }
            self.submit_taken(&mut outbox)?;
            outbox.hear(self.vault, wait).await?;
            if left == 0 && (is_shared || outbox.len() == 0) {
                return Ok(outbox.len());
            }
            if !outbox.taken.is_empty() {
                tokio::time::sleep(AUDIT_RETRY).await;
            }
        }
    }

    /// Submits the taken entries as one change for each shard, which has one at a time. Those that the
    /// writer has no room for, or all of them while the database does not answer, stay taken.
    fn submit_taken(self, outbox: &mut Outbox) -> Result<(), Error> {
        if outbox.taken.is_empty() {
            return Ok(());
        }
        // Events are sealed under a tenant's key, which a rotation must not destroy before they are
        // queued.
        let snapshot = match self.vault.snapshot() {
            Err(Error::Busy) => return Ok(()),
            snapshot => snapshot?,
        };
        let _epoch = snapshot.epoch();
        let taken = std::mem::take(&mut outbox.taken);
        for (shard, mut noted) in self.vault.by_shard(taken, |noted| *noted.tenant.bytes()) {
            if outbox.handed.iter().any(|handed| handed.shard == shard) {
                outbox.taken.extend(noted);
                continue;
            }
            let (mut change, mut effects) = rows_of(self.vault, &snapshot, &noted);
            // Long names of tokens, and several webhooks, make large events.
            while change.bytes() > BATCH_BYTES_MAX && noted.len() > 1 {
                let rest = noted.split_off(noted.len().div_euclid(2));
                drop(outbox.taken.splice(..0, rest));
                (change, effects) = rows_of(self.vault, &snapshot, &noted);
            }
            match self.vault.store.submit(change) {
                Ok(verdict) => {
                    let (verdict, is_late) = (Box::pin(verdict), false);
                    let handed = SubmittedReads { shard, verdict, noted, effects, is_late };
                    outbox.handed.push(handed);
                }
                // Before later ones of the same tenant.
                Err(CommitFailure::QueueFull | CommitFailure::Unavailable) => {
                    drop(outbox.taken.splice(..0, noted));
                }
                // Reads that cannot be audited are not answered, so the queue is closed.
                Err(
                    CommitFailure::Impossible(_) | CommitFailure::Stopped | CommitFailure::TooLarge,
                ) => {
                    outbox.close(self.vault);
                    return Err(Error::Stopped);
                }
            }
        }
        Ok(())
    }
}

/// The entries of reads by tenant, and the webhook events of those that have one.
fn rows_of(vault: &Vault, snapshot: &Snapshot, noted: &[ReadNote]) -> (Change, EventEffects) {
    let wanted = noted.iter().filter(|note| note.has_event && !note.entry.act.is_failure());
    let events = wanted.fold(Change::new(), |change, note| {
        change.and(vault.webhooks().read_event(snapshot, note.tenant, &note.entry))
    });
    let mut by_tenant: BTreeMap<TenantId, Vec<AuditEntry>> = BTreeMap::new();
    for ReadNote { tenant, entry, .. } in noted {
        by_tenant.entry(*tenant).or_default().push(entry.clone());
    }
    let change = by_tenant.iter().fold(events, |change, (tenant, entries)| {
        change.and(rows(vault, AuditScope::Tenant(*tenant), entries))
    });
    vault.webhooks().write_events(snapshot, change.passing_over_closed())
}

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

#[derive(Debug)]
pub(in crate::app) struct ReadQueue {
    pub(super) mode: AuditReads,
    pub(super) sender: Sender<ReadNote>,
    pub(super) outbox: Mutex<Outbox>,
    /// True from the first queued entry until the flusher starts to empty the queue.
    pub(super) is_known: AtomicBool,
    pub(super) wake: Notify,
    /// Places for the entries of each shard that are not durable; empty with one process.
    shares: Vec<Arc<Semaphore>>,
}

/// No request has more entries than a shard has places.
fn places_of(count: usize) -> u32 {
    u32::try_from(count.min(SHARD_READS_WAITING_MAX)).unwrap_or(u32::MAX)
}

#[derive(Debug)]
pub(super) struct ReadNote {
    pub(super) tenant: TenantId,
    pub(super) entry: AuditEntry,
    /// True if a webhook receives an event of the read.
    pub(super) has_event: bool,
    /// Signalled when the entry is durable.
    pub(super) written: Option<oneshot::Sender<()>>,
    /// Its place among the entries of its shard, which it keeps until it is durable.
    pub(super) _place: Option<OwnedSemaphorePermit>,
    /// Its number among the entries that were taken from the queue.
    pub(super) number: u64,
}

/// The receiving end of the queue. Entries that were taken from the queue stay here until the
/// writer's verdict arrives, so that a cancelled flush loses neither entries nor waiters.
#[derive(Debug)]
pub(super) struct Outbox {
    pub(super) queue: Receiver<ReadNote>,
    /// The number of the next entry that is taken.
    next: u64,
    pub(super) taken: Vec<ReadNote>,
    /// At most one change for each shard.
    pub(super) handed: Vec<SubmittedReads>,
}

/// The verdicts that a flush waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
    ForAll,
    /// All but those of a shard that has kept an earlier flush waiting.
    Promptly,
    ForNone,
}

pub(super) struct SubmittedReads {
    shard: Shard,
    pub(super) verdict: Pin<Box<dyn Future<Output = Result<Verdict, CommitFailure>> + Send>>,
    pub(super) noted: Vec<ReadNote>,
    effects: EventEffects,
    /// A flush has waited for the verdict in vain.
    is_late: bool,
}

impl Outbox {
    /// The number of entries that were taken from the queue.
    fn len(&self) -> usize {
        let handed = self.handed.iter().map(|handed| handed.noted.len());
        handed.fold(self.taken.len(), usize::saturating_add)
    }

    fn take(&mut self, mut noted: ReadNote) {
        noted.number = self.next;
        self.next = self.next.saturating_add(1);
        self.taken.push(noted);
    }

    /// True if an entry before this number is not durable yet. With a shard, only its entries count.
    fn has_before(&self, vault: &Vault, end: u64, shard: Option<Shard>) -> bool {
        let is_of = |other: Shard| shard.is_none_or(|shard| shard == other);
        let is_before = |noted: &ReadNote| noted.number < end;
        self.next < end
            || self.handed.iter().any(|it| is_of(it.shard) && it.noted.iter().any(is_before))
            || self.taken.iter().any(|it| is_before(it) && is_of(vault.shard_of(it.tenant)))
    }

    /// From now on, no read is answered.
    fn close(&mut self, vault: &Vault) {
        self.queue.close();
        vault.reads.shares.iter().for_each(|share| share.close());
    }

    /// Waits for the verdicts on the submitted entries.
    async fn hear(&mut self, vault: &Vault, wait: Wait) -> Result<(), CommitFailure> {
        let heard = poll_fn(|context| {
            if let Err(failure) = self.hear_ready(vault, context) {
                return Poll::Ready(Err(failure));
            }
            let is_awaited = |it: &SubmittedReads| wait == Wait::ForAll || !it.is_late;
            if self.handed.iter().any(is_awaited) { Poll::Pending } else { Poll::Ready(Ok(())) }
        });
        let heard = match wait {
            Wait::ForAll => Ok(heard.await),
            Wait::Promptly => tokio::time::timeout(SHARD_READS_MAX, heard).await,
            Wait::ForNone => tokio::time::timeout(Duration::ZERO, heard).await,
        };
        if heard.is_err() && wait == Wait::Promptly {
            self.handed.iter_mut().for_each(|handed| handed.is_late = true);
        }
        heard.unwrap_or(Ok(()))
    }

    /// Notifies the waiters of entries that are durable. Entries that were not written because the
    /// database did not answer are taken again.
    fn hear_ready(
        &mut self,
        vault: &Vault,
        context: &mut Context<'_>,
    ) -> Result<(), CommitFailure> {
        let mut at = 0;
        while let Some(handed) = self.handed.get_mut(at) {
            let Poll::Ready(heard) = handed.verdict.as_mut().poll(context) else {
                at = at.saturating_add(1);
                continue;
            };
            let SubmittedReads { noted, effects, .. } = self.handed.remove(at);
            match heard {
                Ok(_) => (),
                Err(CommitFailure::Unavailable) => {
                    // Before later ones of the same tenant.
                    drop(self.taken.splice(..0, noted));
                    continue;
                }
                Err(failure) => {
                    self.close(vault);
                    return Err(failure);
                }
            }
            vault.webhooks().after_commit(effects);
            for waiter in noted.into_iter().filter_map(|noted| noted.written) {
                // Sending fails if the client has disconnected; then no task waits for the signal.
                waiter.send(()).ok();
            }
        }
        Ok(())
    }
}

opaque_debug!(SubmittedReads);

impl ReadQueue {
    pub(in crate::app) fn new(mode: AuditReads, store: &Store) -> Self {
        let (sender, queue) = channel(AUDIT_QUEUE_MAX);
        let shards = store.shared().into_iter().flat_map(|_| store.shards().all());
        Self {
            mode,
            sender,
            outbox: Mutex::new(Outbox { queue, next: 0, taken: Vec::new(), handed: Vec::new() }),
            is_known: AtomicBool::new(false),
            wake: Notify::new(),
            shares: shards.map(|_| Arc::new(Semaphore::new(SHARD_READS_WAITING_MAX))).collect(),
        }
    }

    fn share_of(&self, vault: &Vault, tenant: TenantId) -> Option<&Arc<Semaphore>> {
        if self.shares.is_empty() {
            return None;
        }
        self.shares.get(usize::from(vault.shard_of(tenant).number()))
    }

    /// Signals that an entry is durable. Only strict mode waits for it.
    pub(super) fn waiter(&self) -> (Option<oneshot::Sender<()>>, Option<oneshot::Receiver<()>>) {
        match self.mode {
            AuditReads::Batched => (None, None),
            AuditReads::Strict => {
                let (written, wait) = oneshot::channel();
                (Some(written), Some(wait))
            }
        }
    }

    /// Wakes the flusher. Call this after queueing: the flusher clears the flag before it takes
    /// entries, so it misses none.
    pub(super) fn announce(&self) {
        if !self.is_known.swap(true, Ordering::SeqCst) {
            self.wake.notify_one();
        }
    }
}
