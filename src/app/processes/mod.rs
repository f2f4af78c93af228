//! The processes that share the store of this vault. A vault on a local file is alone: it leads,
//! and nothing here reads or writes a row.
//!
//! A server calls [`Processes::join`] before its first request, [`Processes::poll`] and
//! [`Processes::beat`] in loops, [`Processes::lead`] around each background task of the leader, and
//! [`Processes::leave`] after its last change. A command that opens the store does the same while
//! it works, but never leads. [`crate::store::shared`] has the rules of the rows.

mod beat;
mod code_exchange;
mod codes;
mod follow;
mod lead;
mod observe;
pub(in crate::app) mod state;

pub use beat::Beat;

use crate::app::Processes;
use crate::app::error::Error;
use crate::domain::process::ListedProcess;
use crate::store::shared::{Generation, Polled, ProcessRow};

impl Processes<'_> {
    pub fn may_be_several(self) -> bool {
        self.vault.store.shared().is_some()
    }

    /// Counts servers. At least one.
    pub fn live(self) -> usize {
        self.vault.processes.live().max(1)
    }

    /// Oldest first; empty for a vault that is alone.
    pub fn list(self) -> Result<Vec<ListedProcess>, Error> {
        let Some(shared) = self.vault.store.shared() else { return Ok(Vec::new()) };
        let (own, snapshot) = (shared.process().id(), self.vault.snapshot()?);
        let holder = Polled::read(&snapshot, own)?.lease.map(|lease| lease.holder);
        let listed = ProcessRow::all(&snapshot)?.into_iter().map(|row| ListedProcess {
            id: row.id,
            host: row.host,
            version: row.version,
            role: row.role,
            started_at: row.started_at,
            beat_at: row.beat_at,
            is_leader: holder == Some(row.id),
            is_own: row.id == own,
        });
        let mut listed: Vec<_> = listed.collect();
        listed.sort_by_key(|it| (it.started_at, it.id));
        Ok(listed)
    }

    /// True if all work of all live processes uses the newest keys and phases. A process that was
    /// counted out writes nothing, so it is not waited for.
    pub(in crate::app) fn all_follow_keys(self) -> Result<bool, Error> {
        let Some(shared) = self.vault.store.shared() else { return Ok(true) };
        let snapshot = self.vault.snapshot()?;
        let newest = Polled::read(&snapshot, shared.process().id())?.generations;
        let rows = ProcessRow::all(&snapshot)?;
        Ok(rows.iter().all(|row| row.keys_followed >= newest.of(Generation::Keys)))
    }

    pub fn is_led_by_other(self) -> Result<bool, Error> {
        Ok(self.list()?.iter().any(|it| it.is_leader && !it.is_own))
    }

    pub fn is_alone(self) -> Result<bool, Error> {
        Ok(self.list()?.iter().all(|it| it.is_own))
    }

    /// For acts that require every other process to be stopped.
    pub(in crate::app) fn require_alone(self, why: &'static str) -> Result<(), Error> {
        if self.is_alone()? { Ok(()) } else { Err(Error::Conflict(why)) }
    }
}
