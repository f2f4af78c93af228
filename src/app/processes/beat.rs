//! Heartbeats: this process writes its row, and watches the rows of the others.

use uuid::Uuid;

use crate::app::Processes;
use crate::app::error::Error;
use crate::bounds::{PROCESS_BEAT, PROCESS_DEAD_AFTER, PROCESSES_MAX};
use crate::domain::process::ProcessRole;
use crate::store::SharedRows;
use crate::store::shared::{Lease, Polled, ProcessRow};

/// The events of a beat, for the log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Beat {
    /// Other processes had counted this one out.
    pub has_joined_again: bool,
    /// True if this process became the leader.
    pub leads: bool,
    /// Dead processes that this one removed.
    pub counted_out: Vec<Uuid>,
}

impl Processes<'_> {
    /// Adds this process to the live ones. Call it before the first request, or before the work of
    /// a command.
    pub async fn join(self, host: &str, role: ProcessRole) -> Result<Beat, Error> {
        let Some(shared) = self.vault.store.shared() else { return Ok(Beat::default()) };
        if ProcessRow::all(&self.vault.snapshot()?)?.len() >= PROCESSES_MAX {
            return Err(Error::Conflict("Too many processes share this database."));
        }
        {
            let mut own = self.vault.processes.own();
            own.host = String::from(host);
            own.role = role;
            own.started_at = Some(self.vault.now());
        }
        self.begin_afresh().await?;
        shared.join(&self.next_row(shared)).await?;
        self.beat().await
    }

    /// Writes a heartbeat and counts out dead processes. A server takes the lease if no live
    /// process has it.
    pub async fn beat(self) -> Result<Beat, Error> {
        let Some(shared) = self.vault.store.shared() else { return Ok(Beat::default()) };
        let mut news = Beat::default();
        self.confirm_keys().await;
        if !shared.beat(&self.next_row(shared)).await? {
            self.set_term(None);
            self.begin_afresh().await?;
            shared.join(&self.next_row(shared)).await?;
            news.has_joined_again = true;
        }
        let (mut rows, lease) = self.rows(shared)?;
        for dead in self.dead(shared, &rows) {
            if shared.count_out(dead).await? {
                news.counted_out.push(dead.id);
            }
        }
        rows.retain(|row| !news.counted_out.contains(&row.id));
        let servers = rows.iter().filter(|row| row.role == ProcessRole::Server);
        self.vault.processes.set_live(servers.count());
        let may_lead = self.vault.processes.own().role == ProcessRole::Server;
        let holder = lease.map(|lease| lease.holder);
        if may_lead && !rows.iter().any(|row| holder == Some(row.id)) {
            let term = shared.take_lease(lease).await?;
            news.leads = term.is_some();
            if news.leads {
                self.set_term(term);
            }
        }
        self.exchange_codes(&rows).await?;
        Ok(news)
    }

    /// The row confirms the new keys only if all work with older keys has ended, and the changes of
    /// that work are written. A lane that is held up must not delay the heartbeat: the next one tries
    /// again.
    async fn confirm_keys(self) {
        let following = self.vault.processes.own().following;
        if following.is_none() || !self.is_quiescent() {
            return;
        }
        let reached = tokio::time::timeout(PROCESS_BEAT / 4, self.vault.store.reach_writer()).await;
        if matches!(reached, Ok(Ok(()))) && self.vault.processes.own().following == following {
            self.note_followed();
        }
    }

    /// Call it after the last change of this process.
    pub async fn leave(self) -> Result<(), Error> {
        let Some(shared) = self.vault.store.shared() else { return Ok(()) };
        self.set_term(None);
        Ok(shared.leave().await?)
    }

    fn next_row(self, shared: SharedRows<'_>) -> ProcessRow {
        let code_key = self.sealed_public(shared);
        self.vault.processes.next_row(shared.process().id(), self.vault.now(), code_key)
    }

    /// The processes whose row has not changed for long, on the monotonic clock of this process.
    fn dead<'r>(self, shared: SharedRows<'_>, rows: &'r [ProcessRow]) -> Vec<&'r ProcessRow> {
        let now = shared.process().age();
        let dead_at = now.saturating_add(PROCESS_DEAD_AFTER);
        let beats = &self.vault.processes.beats;
        let mut beats = beats.lock();
        beats.retain(|id, _| rows.iter().any(|row| row.id == *id));
        let others = rows.iter().filter(|row| row.id != shared.process().id());
        let is_dead = |row: &&ProcessRow| {
            let seen = beats.entry(row.id).or_insert((row.beat, dead_at));
            if seen.0 != row.beat {
                *seen = (row.beat, dead_at);
            }
            now > seen.1
        };
        others.filter(is_dead).collect()
    }

    fn rows(self, shared: SharedRows<'_>) -> Result<(Vec<ProcessRow>, Option<Lease>), Error> {
        let snapshot = self.vault.snapshot()?;
        let lease = Polled::read(&snapshot, shared.process().id())?.lease;
        Ok((ProcessRow::all(&snapshot)?, lease))
    }
}
