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
    /// The beats of the others, and the age of this process at which each is dead without another.
    pub(in crate::app) beats: Lock<HashMap<Uuid, (u64, Duration)>>,
    /// The term in which this process leads.
    pub(super) term: watch::Sender<Option<Term>>,
    live: AtomicUsize,
    pub(super) codes: Lock<CodeExchange>,
}

/// The process's own row and the generations that it knows.
#[derive(Debug, Default)]
pub(super) struct Own {
    pub(super) host: String,
    pub(super) role: ProcessRole,
    pub(super) started_at: Option<Timestamp>,
    pub(super) beat: u64,
    pub(super) known: Option<Generations>,
    /// The generation of keys that all work has followed.
    pub(super) followed: u64,
    /// A newer one, whose keys are loaded while work with older ones may be under way.
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

    /// The row of the next beat.
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
