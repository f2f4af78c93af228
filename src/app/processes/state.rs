//! The state of this process among others, in memory.

use std::collections::HashMap;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use uuid::Uuid;

use crate::app::processes::code_exchange::CodeExchange;
use crate::domain::process::ProcessRole;
use crate::domain::time::Timestamp;
use crate::lock::Lock;
use crate::store::Term;
use crate::store::shared::{Generations, ProcessRow};

#[derive(Debug)]
pub(in crate::app) struct ProcessState {
    own: Lock<Own>,
    /// The last beat of each other process, and the age of this process at which that one is dead
    /// without a newer beat.
    pub(in crate::app) beats: Lock<HashMap<Uuid, (u64, Duration)>>,
    /// `Some` while this process leads.
    pub(super) term: watch::Sender<Option<Term>>,
    live: AtomicUsize,
    pub(super) codes: Lock<CodeExchange>,
}

/// This process's row, and the generations that it knows.
#[derive(Debug, Default)]
pub(super) struct Own {
    pub(super) host: String,
    pub(super) role: ProcessRole,
    pub(super) started_at: Option<Timestamp>,
    pub(super) beat: u64,
    pub(super) known: Option<Generations>,
    /// The generation of keys that all work uses.
    pub(super) followed: u64,
    /// A newer generation: its keys are loaded, but work with older ones may be under way.
    pub(super) following: Option<u64>,
}

impl Default for ProcessState {
    fn default() -> Self {
        Self {
            own: Lock::default(),
            beats: Lock::default(),
            term: watch::Sender::new(None),
            live: AtomicUsize::new(0),
            codes: Lock::default(),
        }
    }
}

impl ProcessState {
    pub(super) fn own(&self) -> MutexGuard<'_, Own> {
        self.own.lock()
    }

    pub(super) fn live(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }

    pub(super) fn set_live(&self, live: usize) {
        self.live.store(live, Ordering::Relaxed);
    }

    pub(super) fn set_term(&self, term: Option<Term>) {
        self.term.send_if_modified(|known| std::mem::replace(known, term) != term);
    }

    pub(super) fn next_row(&self, id: Uuid, now: Timestamp, code_key: Vec<u8>) -> ProcessRow {
        let mut own = self.own();
        own.beat = own.beat.wrapping_add(1);
        ProcessRow {
            id,
            beat: own.beat,
            started_at: own.started_at.unwrap_or(now),
            beat_at: now,
            keys_followed: own.followed,
            host: own.host.clone(),
            version: String::from(env!("CARGO_PKG_VERSION")),
            role: own.role,
            code_key,
        }
    }
}
