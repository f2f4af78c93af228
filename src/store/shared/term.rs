//! The term of a leader: all changes that a task commits within it are fenced.

use std::fmt;

tokio::task_local! {
    static CURRENT: u64;
}

/// A stretch of time in which one process leads. The number of its lease is larger than that of
/// every earlier term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Term(pub(super) u64);

impl Term {
    /// Runs work of the leader. A change that it commits after another process has taken the lease
    /// is refused. Work that it moves to another task is not fenced.
    pub async fn run<F: Future>(self, work: F) -> F::Output {
        CURRENT.scope(self.0, work).await
    }

    /// The number of the term that the current task works in.
    pub(in crate::store) fn current() -> Option<u64> {
        CURRENT.try_with(|number| *number).ok()
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
