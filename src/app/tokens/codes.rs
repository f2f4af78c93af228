//! The early end of a card verification code: by a request for the code alone, or after a call
//! through a proxy that used it.
//!
//! The row of the code and its time in the record go with one change, so from then on no process
//! shows the code, also not in a repeated answer. Older copies of the row stay sealed under the
//! key of the code's minute, which is destroyed when the retention would have ended.

use uuid::Uuid;

use crate::app::commit::commit_loop::Priority;
use crate::app::error::Error;
use crate::app::records;
use crate::app::tokens::Tokens;
use crate::app::tokens::read::live_token;
use crate::app::tokens::rows;
use crate::domain::audit::{Act, Entity};
use crate::domain::id::{TenantId, TokenId, TokenIntentId};
use crate::domain::permission::Permission;
use crate::domain::time::Timestamp;
use crate::domain::token_intent::TokenIntent;
use crate::store::tables::CodeEnd;
use crate::store::{Change, Snapshot, Table, tables};

/// A code that a call read, with its row as it was: a code that has taken its place since is
/// another one.
pub(in crate::app) struct UsedCode {
    owner: CodeOwner,
    place: Vec<u8>,
    sealed: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::app) enum CodeOwner {
    Intent(TokenIntentId),
    Token(TokenId),
}

opaque_debug!(UsedCode);

impl CodeOwner {
    const fn uuid(self) -> Uuid {
        match self {
            Self::Intent(id) => id.uuid(),
            Self::Token(id) => id.uuid(),
        }
    }
}

impl UsedCode {
    /// `None` if the record has no code.
    pub(in crate::app) fn find(
        snapshot: &Snapshot,
        tenant: TenantId,
        owner: CodeOwner,
        expires_at: Option<Timestamp>,
    ) -> Result<Option<Self>, Error> {
        let Some(expires_at) = expires_at else { return Ok(None) };
        let place = tables::cvcs(expires_at, tenant, owner.uuid()).to_vec();
        let sealed = snapshot.value(Table::Cvcs, &place)?;
        Ok(sealed.map(|sealed| Self { owner, place, sealed }))
    }

    pub(in crate::app) fn is_same(&self, other: &Self) -> bool {
        self.place == other.place
    }
}

impl Tokens<'_> {
    /// Succeeds also if the token has no code, so that a repetition is answered alike.
    pub async fn delete_code(self, id: &str) -> Result<(), Error> {
        let _turn = self.vault.lanes.take((self.caller.tenant.id, id)).await?;
        self.vault
            .commit(Priority::Upkeep, |snapshot| {
                let now = self.vault.now();
                let found = live_token(snapshot, self.caller, Permission::TokenUpdate, id, now)?;
                self.caller.require_in_all(Permission::TokenUpdate, found.token.target())?;
                let mut token = found.token;
                // The sweep removes a code whose retention is over.
                if token.cvc_expires_at.is_none_or(|at| at <= now) {
                    return Ok((Change::new(), ()));
                }
                let entity = Entity::token(&token);
                let keys = &self.caller.keys;
                let first = self.vault.idempotency().keep_first(snapshot, &token, keys)?;
                token.created_under = None;
                token.modified_by = Some(self.caller.application.id);
                token.modified_at = Some(now);
                let record = tables::tokens(token.tenant, token.id);
                let rows = self.vault.token_rows();
                let change = Change::new()
                    .expect_version(Table::Tokens, record, found.version)
                    .and(first)
                    .and(rows.forget_token_cvc(token, keys, CodeEnd::Deleted)?)
                    .and(self.audit_code(Act::DeleteCvc, entity, now));
                Ok((change, ()))
            })
            .await
    }

    /// Destroys the codes that a successful call used.
    pub(in crate::app) async fn destroy_used(self, codes: &[UsedCode]) -> Result<(), Error> {
        if codes.is_empty() {
            return Ok(());
        }
        self.vault
            .commit(Priority::Upkeep, |snapshot| {
                let now = self.vault.now();
                let change = codes.iter().try_fold(Change::new(), |change, code| {
                    Ok::<_, Error>(change.and(self.end_used(snapshot, code, now)?))
                });
                Ok((change?, ()))
            })
            .await
    }

    /// Nothing if the code has ended since, or another one took its place.
    fn end_used(
        self,
        snapshot: &Snapshot,
        code: &UsedCode,
        now: Timestamp,
    ) -> Result<Change, Error> {
        let (tenant, keys) = (self.caller.tenant.id, &self.caller.keys);
        if snapshot.value(Table::Cvcs, &code.place)?.as_ref() != Some(&code.sealed) {
            return Ok(Change::new());
        }
        let rows = self.vault.token_rows();
        match code.owner {
            CodeOwner::Token(id) => {
                let Some(found) = rows::find_by_id(snapshot, keys, tenant, id)? else {
                    return Ok(Change::new());
                };
                let entity = Entity::token(&found.token);
                Ok(Change::new()
                    .expect_version(Table::Tokens, tables::tokens(tenant, id), found.version)
                    .and(rows.forget_token_cvc(found.token, keys, CodeEnd::Used)?)
                    .and(self.audit_code(Act::UseCvc, entity, now)))
            }
            CodeOwner::Intent(id) => {
                let found = records::find::<TokenIntent>(snapshot, keys, id)?;
                let Some((intent, version)) = found else { return Ok(Change::new()) };
                Ok(rows
                    .forget_intent_cvc(intent, version, keys, CodeEnd::Used)?
                    .and(self.audit_code(Act::UseCvc, id.into(), now)))
            }
        }
    }

    fn audit_code(self, act: Act, entity: Entity, now: Timestamp) -> Change {
        self.vault.audit().caller_entry(self.caller, act, entity, now)
    }
}
