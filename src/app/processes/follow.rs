//! Following changes of other processes: drops caches and loads keys.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::Notify;

use crate::app::Processes;
use crate::app::deletion::state::under_deletion;
use crate::app::error::Error;
use crate::bounds::LEADER_DOUBT_AFTER;
use crate::store::shared::{Generation, Generations, Lease, Polled};
use crate::store::tables::tenant_of_scope;
use crate::store::{Snapshot, Table, tables};

impl Processes<'_> {
    /// Looks for changes of other processes. While this fails, caches are unused after a second.
    pub fn poll(self) -> Result<(), Error> {
        let Some(shared) = self.vault.store.shared() else { return Ok(()) };
        let process = shared.process();
        let begun = process.age();
        let snapshot = self.vault.snapshot()?;
        let polled = Polled::read(&snapshot, process.id())?;
        self.follow(&snapshot, &polled.generations)?;
        process.note_poll(begun);
        let lease = polled.lease.filter(|it| it.holder == process.id() && polled.is_member);
        self.set_term(lease.map(Lease::term));
        Ok(())
    }

    /// Notified of changes of other processes, if the store supports it.
    pub fn changes(self) -> Option<Arc<Notify>> {
        self.vault.store.shared()?.changes()
    }

    /// Polls before a request is answered if the last poll is more than a second old: the process
    /// may have been suspended, and its keys may be old.
    pub(in crate::app) fn poll_if_stale(self) -> Result<(), Error> {
        let Some(shared) = self.vault.store.shared() else { return Ok(()) };
        let process = shared.process();
        if process.is_member() && process.is_stale() { self.poll() } else { Ok(()) }
    }

    /// Ends the term of a leader that has not reached the store for long: another process may lead
    /// soon. The next poll may begin the term again.
    pub fn doubt(self) {
        let Some(shared) = self.vault.store.shared() else { return };
        if shared.process().since_poll().is_none_or(|since| since > LEADER_DOUBT_AFTER) {
            self.set_term(None);
        }
    }

    fn follow(self, snapshot: &Snapshot, newest: &Generations) -> Result<(), Error> {
        let known = self.vault.processes.own().known.clone();
        let is_new = |kind| known.as_ref().is_none_or(|known| known.of(kind) != newest.of(kind));
        if is_new(Generation::Access) {
            self.close_scopes()?;
        }
        if is_new(Generation::Keys) {
            self.follow_keys(newest.of(Generation::Keys))?;
        }
        if is_new(Generation::Access) || is_new(Generation::Webhooks) || is_new(Generation::Keys) {
            self.vault.store.advance_generations();
        }
        if is_new(Generation::Webhooks) {
            self.vault.webhooks().follow();
        }
        if is_new(Generation::Ranges) {
            self.vault.card_ranges().forget();
        }
        if is_new(Generation::Codes) {
            self.receive_codes(snapshot)?;
        }
        self.vault.processes.own().known = Some(newest.clone());
        Ok(())
    }

    /// Closes the scopes of tenants that other processes delete or have deleted, and destroys the
    /// keys of their codes in this process's memory.
    fn close_scopes(self) -> Result<(), Error> {
        let store = &self.vault.store;
        // Before the snapshot, which then has the rows of all these tenants but the deleted ones.
        let with_codes = self.vault.cvcs().tenants();
        let snapshot = self.vault.snapshot()?;
        let mut scopes = under_deletion(&snapshot)?;
        scopes.extend(deleted(&snapshot, with_codes)?);
        for scope in scopes {
            if !store.is_closed(&scope) {
                store.close_scopes(std::iter::once(scope));
                self.vault.cvcs().destroy_keys_of(tenant_of_scope(&scope))?;
                self.vault.deletion().go_on();
            }
        }
        Ok(())
    }

    /// Loads the server's keys before the epoch advances: every reader of the new epoch has them.
    fn follow_keys(self, newest: u64) -> Result<(), Error> {
        self.vault.keys().reload_system()?;
        self.vault.webhooks.forget_key();
        self.vault.store.advance_epoch();
        self.vault.processes.own().following = Some(newest);
        self.vault.rotation().go_on();
        Ok(())
    }

    /// True if no work relies on keys from before the last [`Processes::follow_keys`].
    pub(super) fn is_quiescent(self) -> bool {
        if !self.vault.store.is_quiescent() {
            // Cached callers hold epochs even without requests under way.
            self.vault.callers.forget();
        }
        self.vault.store.is_quiescent()
    }

    /// Drops all caches, loads all keys, and returns when all earlier work has ended.
    pub(super) async fn begin_afresh(self) -> Result<(), Error> {
        self.vault.processes.own().known = None;
        self.poll()?;
        while !self.is_quiescent() {
            tokio::time::sleep(crate::bounds::ROTATION_WAIT).await;
        }
        // Changes of requests that were cancelled may still wait for the turns of their shards. They are
        // refused while this process is not a member.
        self.vault.store.reach_writer().await?;
        self.note_followed();
        Ok(())
    }

    pub(super) fn note_followed(self) {
        let mut own = self.vault.processes.own();
        if let Some(followed) = own.following.take() {
            own.followed = followed;
        }
    }
}

/// Those of the scopes whose tenants no longer exist. The deletion of a small tenant ends before
/// other processes look for its mark.
pub(super) fn deleted(
    snapshot: &Snapshot,
    scopes: BTreeSet<[u8; 16]>,
) -> Result<Vec<[u8; 16]>, Error> {
    let place = |scope| (Table::Tenants, tables::tenants(tenant_of_scope(scope)));
    let found = snapshot.values_at(&scopes.iter().map(place).collect::<Vec<_>>())?;
    let deleted = scopes.into_iter().zip(found).filter(|(_, row)| row.is_none());
    Ok(deleted.map(|(scope, _)| scope).collect())
}
