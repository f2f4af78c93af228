//! The term of a leader, and the authority that a change is written by.

use std::fmt;

/// A stretch of time in which one process leads. The number of its lease is larger than that of
/// every earlier term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Term(pub(in crate::store) u64);

/// The processes that may write a change, in a store that several share. It is a value of the
/// change, so that work keeps its authority on every task and thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Authority {
    /// Any live process: a change of a request or of a command.
    #[default]
    Anyone,
    /// The leader, in this term. Without a term the change is refused.
    Leader(Option<Term>),
}

impl Authority {
    /// The stricter one of both.
    pub(in crate::store) const fn and(self, other: Self) -> Self {
        match self {
            Self::Anyone => other,
            Self::Leader(_) => self,
        }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
