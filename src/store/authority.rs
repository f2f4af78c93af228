//! A leader's term, and the authority that a change is written by.

use std::fmt;

/// A period in which one process leads. Each term's lease has a larger number than all earlier
/// ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Term(pub(in crate::store) u64);

/// The processes that may write a change, in a shared store. The change carries its authority, so
/// that it holds on every task and thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Authority {
    /// Any live process, for changes of requests and commands.
    #[default]
    Anyone,
    /// The leader, in this term. Without a term the change is refused.
    Leader(Option<Term>),
}

impl Authority {
    /// The stricter of the two.
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
