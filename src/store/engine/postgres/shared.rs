//! State shared by the engine and its snapshots, and the pool of connections for reading.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::runtime::Handle;

use crate::bounds::{DATABASE_ATTEMPT_PAUSE, DATABASE_CONNECTIONS_MAX, DATABASE_POOL_WAIT_MAX};
use crate::lock::Lock;
use crate::store::engine::EngineHealth;
use crate::store::engine::postgres::dial::{Dialed, Dialer, Use};
use crate::store::engine::postgres::faults::Fault;
use crate::store::engine::postgres::prepared::PreparedClient;
use crate::store::engine::postgres::wait::in_two_parts;
use crate::store::tables::Shard;

pub(super) struct Shared {
    runtime: Handle,
    dialer: Arc<Dialer>,
    pool: Lock<Pool>,
    freed: Condvar,
    /// The last failed attempt to connect.
    failed: Lock<Option<(Instant, &'static str)>>,
    /// The number of batches at the start, and of those that this process has written since.
    sequence: AtomicU64,
    /// The timeline at the time the engine was opened.
    pub(super) timeline: [u8; 16],
    /// The database supports LISTEN and NOTIFY.
    pub(super) has_notices: AtomicBool,
    /// The lanes whose writer looks up the outcome of its batch.
    pub(super) in_doubt: Lock<BTreeSet<Shard>>,
    /// The process is ending and no longer waits for an outcome.
    pub(super) is_ending: AtomicBool,
    pub(super) repeats: AtomicU64,
    connects_failed: AtomicU64,
}

#[derive(Default)]
struct Pool {
    idle: Vec<PreparedClient>,
    /// Existing connections, idle or in use.
    open: usize,
    is_closed: bool,
}

enum ConnectionSlot {
    Idle(PreparedClient),
    /// A connection may be opened.
    Free,
}

/// A pooled connection. It returns to the pool when it is dropped.
pub(super) struct Lease {
    session: Option<PreparedClient>,
    shared: Arc<Shared>,
}

const BUSY: &str = "all connections to the database are in use";

impl Shared {
    pub(super) fn new(runtime: Handle, dialer: Arc<Dialer>, timeline: [u8; 16]) -> Self {
        Self {
            runtime,
            dialer,
            pool: Lock::default(),
            freed: Condvar::new(),
            failed: Lock::new(None),
            sequence: AtomicU64::new(0),
            timeline,
            has_notices: AtomicBool::new(false),
            in_doubt: Lock::default(),
            is_ending: AtomicBool::new(false),
            repeats: AtomicU64::new(0),
            connects_failed: AtomicU64::new(0),
        }
    }

    /// Opens a connection. Shortly after a failed attempt it fails at once, with the same reason.
    pub(super) fn connect(&self, purpose: Use) -> Result<PreparedClient, Fault> {
        let failed = *self.failed.lock();
        if let Some((at, why)) = failed
            && at.elapsed() < DATABASE_ATTEMPT_PAUSE
        {
            return Err(Fault::Lost(why));
        }
        let connected = PreparedClient::open(&self.runtime, &self.dialer, purpose);
        if connected.is_err() {
            self.connects_failed.fetch_add(1, Ordering::Relaxed);
        }
        let failed = match &connected {
            Err(Fault::Lost(why)) => Some((Instant::now(), *why)),
            Err(Fault::Conflict | Fault::Refused(_)) | Ok(_) => None,
        };
        *self.failed.lock() = failed;
        connected
    }

    /// Opens a connection without prepared statements.
    pub(super) fn dial(&self, purpose: Use) -> Result<Dialed, Fault> {
        self.dialer.dial(&self.runtime, purpose)
    }

    /// A connection for reading. Waits if all are in use.
    pub(super) fn lease(self: &Arc<Self>) -> Result<Lease, Fault> {
        let session = match self.idle()? {
            Some(session) => session,
            None => self.connect(Use::Reading).inspect_err(|_| self.forget_one())?,
        };
        Ok(Lease { session: Some(session), shared: Arc::clone(self) })
    }

    /// An idle connection that is still open, or `None` with permission to open one.
    fn idle(&self) -> Result<Option<PreparedClient>, Fault> {
        loop {
            let found = in_two_parts(DATABASE_POOL_WAIT_MAX, |until| self.place(until));
            match found.ok_or(Fault::Lost(BUSY))? {
                ConnectionSlot::Idle(session) if session.is_open() => return Ok(Some(session)),
                ConnectionSlot::Idle(_) => self.forget_one(),
                ConnectionSlot::Free => return Ok(None),
            }
        }
    }

    /// Returns `None` if no place becomes free before `until`.
    fn place(&self, until: Instant) -> Option<ConnectionSlot> {
        let mut pool = self.pool();
        loop {
            if let Some(session) = pool.idle.pop() {
                return Some(ConnectionSlot::Idle(session));
            }
            if pool.open < DATABASE_CONNECTIONS_MAX {
                pool.open = pool.open.saturating_add(1);
                return Some(ConnectionSlot::Free);
            }
            let left = until.checked_duration_since(Instant::now())?;
            let waited = self.freed.wait_timeout(pool, left);
            pool = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// When one connection has ended, the idle ones have likely ended too.
    pub(super) fn drop_idle(&self) {
        let mut pool = self.pool();
        let dropped = std::mem::take(&mut pool.idle);
        pool.open = pool.open.saturating_sub(dropped.len());
        drop(pool);
        self.freed.notify_all();
    }

    pub(super) fn close(&self) {
        self.pool().is_closed = true;
        self.drop_idle();
    }

    pub(super) fn note(&self, sequence: u64) {
        self.sequence.fetch_max(sequence, Ordering::Relaxed);
    }

    pub(super) fn count_batch(&self) {
        self.sequence.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn health(&self) -> EngineHealth {
        let pool = self.pool();
        let used = pool.open.saturating_sub(pool.idle.len());
        drop(pool);
        EngineHealth {
            sequence: self.sequence.load(Ordering::Relaxed),
            connections_used: u64::try_from(used).unwrap_or(u64::MAX),
            connects_failed: self.connects_failed.load(Ordering::Relaxed),
            repeats: self.repeats.load(Ordering::Relaxed),
            ..EngineHealth::default()
        }
    }

    #[cfg(test)]
    pub(super) fn database_name(&self) -> &str {
        self.dialer.database_name()
    }

    fn forget_one(&self) {
        let mut pool = self.pool();
        pool.open = pool.open.saturating_sub(1);
        drop(pool);
        self.freed.notify_one();
    }

    fn give_back(&self, session: PreparedClient) {
        let is_open = session.is_open();
        let mut pool = self.pool();
        if pool.is_closed || !is_open {
            pool.open = pool.open.saturating_sub(1);
        } else {
            pool.idle.push(session);
        }
        drop(pool);
        self.freed.notify_one();
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock()
    }
}

impl Lease {
    pub(super) fn session(&self) -> Result<&PreparedClient, Fault> {
        self.session.as_ref().ok_or(Fault::Lost(BUSY))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            self.shared.give_back(session);
        }
    }
}

opaque_debug!(Shared);
