//! The token in the answer to a write, and its origin.

use crate::app::access::caller::Caller;
use crate::app::audit::entry::Deed;
use crate::app::tokens::read::TokenView;
use crate::domain::audit::Act;
use crate::domain::exposure::ValueOrigin;
use crate::domain::time::Timestamp;

/// The token in the answer to a write.
#[derive(Debug)]
pub struct WriteOutcome {
    pub shown: TokenView,
    pub origin: TokenOrigin,
    /// Decides, with the caller's rights, the parts that are shown.
    pub value: ValueOrigin,
}

/// The origin of the token in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenOrigin {
    New,
    /// A token with the same content existed and was not changed.
    Read,
    /// A token with the same content existed and was updated.
    Updated,
}

impl WriteOutcome {
    /// The act of the write; `None` when it changed nothing.
    pub(in crate::app) fn deed(&self, caller: &Caller, at: Timestamp) -> Option<Deed<'_>> {
        let act = match self.origin {
            TokenOrigin::New => Act::Create,
            TokenOrigin::Read => return None,
            TokenOrigin::Updated => Act::Update,
        };
        Some(caller.did(act, &self.shown.token, at))
    }
}
