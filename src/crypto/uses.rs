//! Counts in memory how often each key has sealed, until the counts are written to the file.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::lock::Lock;

type Counters = HashMap<([u8; 16], u32), Arc<AtomicU64>>;

/// One counter for each sealing key. Copies of a key share its counter.
#[derive(Debug, Default)]
pub struct Uses(Lock<Counters>);

/// The number of times that a key has sealed since the last [`Uses::take`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyUse {
    pub scope: [u8; 16],
    pub number: u32,
    pub times: u64,
}

impl Uses {
    pub(super) fn counter(&self, scope: &[u8; 16], number: u32) -> Arc<AtomicU64> {
        let mut counters = self.0.lock();
        Arc::clone(counters.entry((*scope, number)).or_default())
    }

    /// Returns the counts and resets them to zero. Counters whose key was dropped are removed.
    pub fn take(&self) -> Vec<KeyUse> {
        let mut counters = self.0.lock();
        let count = |((scope, number), counter): (&([u8; 16], u32), &Arc<AtomicU64>)| KeyUse {
            scope: *scope,
            number: *number,
            times: counter.swap(0, Ordering::Relaxed),
        };
        let used = counters.iter().map(count).filter(|used| used.times > 0).collect();
        counters.retain(|_, counter| {
            Arc::strong_count(counter) > 1 || counter.load(Ordering::Relaxed) > 0
        });
        used
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.lock().len()
    }

    /// Adds back counts that could not be written.
    pub fn put_back(&self, used: &[KeyUse]) {
        for used in used {
            self.counter(&used.scope, used.number).fetch_add(used.times, Ordering::Relaxed);
        }
    }
}
