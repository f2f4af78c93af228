//! The token that a write answers with, and what the write did to it.

use crate::app::access::caller::Caller;
use crate::app::tokens::read::Shown;
use crate::domain::audit::{Act, AuditEntry, Entity};
use crate::domain::exposure::ValueOrigin;
use crate::domain::time::Timestamp;

/// A token that a write answers with.
#[derive(Debug)]
pub struct Written {
    pub shown: Shown,
    pub origin: Origin,
    /// Decides, with the caller's rights, how much is shown.
    pub value: ValueOrigin,
}

/// Where the token of an answer comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    New,
    /// There was one with the same content, and it stays as it is.
    Read,
    /// There was one with the same content, and it was brought up to date.
    Updated,
}

impl Written {
    /// What a write did to the token that it answers with; `None` when it only found it.
    pub(in crate::app) fn entry(&self, caller: &Caller, at: Timestamp) -> Option<AuditEntry> {
        let act = match self.origin {
            Origin::New => Act::Create,
            Origin::Read => return None,
            Origin::Updated => Act::Update,
        };
        Some(caller.did(act, Entity::token(&self.shown.token), at))
    }
}
