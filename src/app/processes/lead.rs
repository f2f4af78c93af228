//! Background tasks that only one process may run.

use std::sync::atomic::Ordering;

use crate::app::Processes;
use crate::store::{Authority, Term};

impl Processes<'_> {
    /// Starts the work in each term of this process, and drops it when the term ends. The work
    /// gives its authority to all its changes, so none is written after another process leads. A
    /// vault that is alone leads for ever. Returns when the work ends by itself, which it does when
    /// the store has failed.
    pub async fn lead<F: Future<Output = ()>>(self, work: impl Fn(Authority) -> F) {
        if !self.may_be_several() {
            return work(Authority::Leader(None)).await;
        }
        let mut terms = self.vault.processes.term.subscribe();
        loop {
            // Neither wait fails: the vault owns the sender.
            let Ok(begun) = terms.wait_for(Option::is_some).await.map(|term| *term) else { return };
            let Some(term) = begun else { continue };
            tokio::select! {
                () = work(Authority::Leader(Some(term))) => return,
                _ = terms.wait_for(|now| *now != Some(term)) => (),
            }
        }
    }

    /// `None` if another process may lead, or if this vault is alone.
    pub fn term(self) -> Option<Term> {
        *self.vault.processes.term.borrow()
    }

    /// Sweeps of this process are late only from the beginning of its term on.
    pub(super) fn set_term(self, term: Option<Term>) {
        if term.is_some() && self.term().is_none() {
            self.vault.swept_at.store(self.vault.now().micros(), Ordering::Relaxed);
        }
        self.vault.processes.set_term(term);
    }

    /// True if this process runs the background tasks.
    pub fn leads(self) -> bool {
        !self.may_be_several() || self.term().is_some()
    }
}
