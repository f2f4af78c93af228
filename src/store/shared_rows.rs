//! The operations of a process on [`Table::Processes`], and the generations of its caches.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

use crate::store::authority::Term;
use crate::store::batch::Verdict;
use crate::store::change::Change;
use crate::store::failure::CommitFailure;
use crate::store::handle::Store;
use crate::store::shared::rows::{LEASE, place};
use crate::store::shared::{CodeMessage, Lease, Process, ProcessRow};
use crate::store::tables::Table;

/// The rows of the processes, as one process writes them.
#[derive(Debug, Clone, Copy)]
pub struct SharedRows<'a> {
    store: &'a Store,
    process: &'a Process,
}

impl<'a> SharedRows<'a> {
    pub const fn process(self) -> &'a Process {
        self.process
    }

    /// Notified when another process has changed the generations. `None` if the engine does not
    /// know.
    pub fn changes(self) -> Option<Arc<Notify>> {
        self.store.0.engine.changes()
    }

    /// Adds this process's row. All its earlier work must have ended.
    pub async fn join(self, row: &ProcessRow) -> Result<(), CommitFailure> {
        let change = Change::new().put(Table::Processes, place(row.id), row.encode());
        self.store.commit(change.of_process()).await?;
        self.process.set_member(true);
        Ok(())
    }

    /// Updates this process's row. Returns false if the others have counted the process out; it
    /// then writes nothing until it joins again.
    pub async fn beat(self, row: &ProcessRow) -> Result<bool, CommitFailure> {
        let change = Change::new().expect_present(Table::Processes, place(row.id)).put(
            Table::Processes,
            place(row.id),
            row.encode(),
        );
        Ok(self.store.commit(change.of_process()).await? == Verdict::Applied)
    }

    /// Removes this process's row, after its last change.
    pub async fn leave(self) -> Result<(), CommitFailure> {
        let change = Change::new().delete(Table::Processes, place(self.process.id()));
        self.store.commit(change.of_process()).await.map(drop)
    }

    /// Removes a dead process's row. Returns false if the row has changed: the process is alive.
    pub async fn count_out(self, row: &ProcessRow) -> Result<bool, CommitFailure> {
        let change = Change::new()
            .expect_present(Table::Processes, place(self.process.id()))
            .expect_value(Table::Processes, place(row.id), row.encode())
            .delete(Table::Processes, place(row.id));
        Ok(self.store.commit(change.of_process()).await? == Verdict::Applied)
    }

    /// Takes the lease if its holder is not a live process. Returns `None` if another process has
    /// it.
    pub async fn take_lease(self, known: Option<Lease>) -> Result<Option<Term>, CommitFailure> {
        let number = known.map_or(0, |lease| lease.number).saturating_add(1);
        let lease = Lease { holder: self.process.id(), number };
        let change = Change::new().expect_present(Table::Processes, place(self.process.id()));
        let change = match known {
            None => change.expect_absent(Table::Processes, LEASE.to_vec()),
            Some(known) => change
                .expect_value(Table::Processes, LEASE.to_vec(), known.encode())
                .expect_absent(Table::Processes, place(known.holder)),
        };
        let change = change.put(Table::Processes, LEASE.to_vec(), lease.encode()).of_process();
        let verdict = self.store.commit(change).await?;
        Ok((verdict == Verdict::Applied).then_some(Term(number)))
    }

    /// Writes messages. A process that the others have counted out sends nothing.
    pub async fn send(self, messages: Vec<CodeMessage>) -> Result<(), CommitFailure> {
        let put =
            |change: Change, it: CodeMessage| change.put(Table::Processes, it.place, it.sealed);
        let change = messages.into_iter().fold(Change::new(), put);
        match self.store.commit(change).await? {
            Verdict::Applied => Ok(()),
            Verdict::Closed | Verdict::Refused => Err(CommitFailure::Unavailable),
        }
    }

    /// Removes messages that have arrived, or whose recipient has ended.
    pub async fn remove(self, places: Vec<Vec<u8>>) -> Result<(), CommitFailure> {
        let delete = |change: Change, place| change.delete(Table::Processes, place);
        let change = places.into_iter().fold(Change::new(), delete);
        self.store.commit(change).await.map(drop)
    }
}

impl Store {
    /// Changes with every commit that concerns tenants, applications or keys.
    pub fn access_generation(&self) -> u64 {
        generation(self, &self.0.access_generation)
    }

    /// Changes with every commit that concerns webhooks.
    pub fn webhook_generation(&self) -> u64 {
        generation(self, &self.0.webhook_generation)
    }

    /// Invalidates caches because another process has changed their rows.
    pub fn advance_generations(&self) {
        self.0.webhook_generation.fetch_add(1, Ordering::Release);
        self.0.access_generation.fetch_add(1, Ordering::Release);
    }

    /// The rows of the processes; `None` if the store is not shared.
    pub fn shared(&self) -> Option<SharedRows<'_>> {
        self.0.process.as_deref().map(|process| SharedRows { store: self, process })
    }
}

/// While this process may lack the newest changes of others, each call returns a new generation, so
/// that every cache lookup misses.
fn generation(store: &Store, of: &AtomicU64) -> u64 {
    match &store.0.process {
        Some(process) if process.is_stale() => of.fetch_add(1, Ordering::AcqRel).wrapping_add(1),
        Some(_) | None => of.load(Ordering::Acquire),
    }
}
