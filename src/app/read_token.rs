//! `GET /tokens/{id}`, and how much of a token an answer shows.

use serde_json::Value;

use crate::app::App;
use crate::app::authenticate::Caller;
use crate::app::error::Error;
use crate::app::token_rows::{self, Versioned};
use crate::domain::access::Transform;
use crate::domain::permission::Permission;
use crate::domain::time::Timestamp;
use crate::domain::token::Token;
use crate::expressions::Mask;
use crate::secret::Secret;
use crate::store::Snapshot;

/// A token as its reader may see it.
#[derive(Debug)]
pub struct Shown {
    pub token: Token,
    pub data: ShownData,
    pub extent: Extent,
}

#[derive(Debug)]
pub enum ShownData {
    /// The whole value, as it stands in the token.
    Plain,
    Masked(Secret<Value>),
    Absent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    Full,
    /// Id, type, tenant, fingerprint and containers: enough to recognise it.
    Outline,
}

impl Shown {
    pub(super) const fn outline(token: Token) -> Self {
        Self { token, data: ShownData::Absent, extent: Extent::Outline }
    }
}

impl App {
    pub fn read_token(&self, caller: &Caller, id: &str) -> Result<Shown, Error> {
        let snapshot = self.snapshot()?;
        let found = live_token(&snapshot, caller, id, self.now())?;
        let transform = caller.require_in_any(Permission::TokenRead, &found.token.containers)?;
        Ok(self.show(found.token, transform))
    }

    /// What cannot be evaluated is redacted: a mask never fails open.
    pub(super) fn show(&self, token: Token, transform: Transform) -> Shown {
        let data = match transform {
            Transform::Reveal => ShownData::Plain,
            Transform::Mask => self.masked(&token).map_or(ShownData::Absent, ShownData::Masked),
            Transform::Redact => ShownData::Absent,
        };
        Shown { token, data, extent: Extent::Full }
    }

    fn masked(&self, token: &Token) -> Option<Secret<Value>> {
        let mask: Value = serde_json::from_str(token.effective_mask()?).ok()?;
        let mask = Mask::parse(&mask).ok()?;
        let data = token.data.value();
        let shown = if token.mask.is_some() {
            mask.apply(data.expose(), self)
        } else {
            mask.apply_strict(data.expose(), self)
        };
        shown.map(Secret::new)
    }
}

/// The token, if the tenant has it and it has not expired. Whose it is and whether it ever was
/// cannot be told apart.
pub(super) fn live_token(
    snapshot: &Snapshot,
    caller: &Caller,
    id: &str,
    now: Timestamp,
) -> Result<Versioned, Error> {
    token_rows::find(snapshot, &caller.keys, caller.tenant.id, id)?
        .filter(|found| found.token.is_live(now))
        .ok_or(Error::NotFound("token"))
}
