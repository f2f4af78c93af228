//! `POST /tokens`.

use crate::app::App;
use crate::app::authenticate::Caller;
use crate::app::error::Error;
use crate::app::read_token::Shown;
use crate::app::token_draft::{Checked, Deduplicate, TokenDraft, WantedId};
use crate::app::token_rows::{self, Filter};
use crate::bounds::{ALIAS_TRIES_MAX, DUPLICATES_READ_MAX};
use crate::domain::access::Transform;
use crate::domain::id::TokenId;
use crate::domain::permission::Permission;
use crate::domain::time::Timestamp;
use crate::domain::token::{Token, TokenName};
use crate::expressions;
use crate::store::{Change, Snapshot, Table, tables};

#[derive(Debug)]
pub struct Created {
    pub shown: Shown,
    pub origin: Origin,
}

/// Where the token of an answer comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// There was one with the same content already.
    Existing,
    New,
}

impl App {
    pub async fn create_token(&self, caller: &Caller, draft: TokenDraft) -> Result<Created, Error> {
        let now = self.now();
        let Some(containers) = draft.effective_containers() else {
            return Err(Error::Invalid(draft.mistakes));
        };
        let transform = caller.require_in_all(Permission::TokenCreate, &containers)?;
        let deduplicate = draft.deduplicate.unwrap_or_else(|| caller.deduplicates());
        let mut checked = self.check_draft(caller, draft, containers, now)?;
        let (origin, existing) = self
            .settle(|snapshot| {
                let mut change = Change::new();
                if deduplicate == Deduplicate::Yes {
                    match duplicate(snapshot, caller, &checked.token, now)? {
                        Duplicate::Found(token) => {
                            return Ok((change, (Origin::Existing, Some(*token))));
                        }
                        Duplicate::None(expectation) => change = change.and(expectation),
                    }
                }
                change = change.and(self.settle_id(snapshot, caller, &mut checked, now)?);
                let rows = token_rows::create(&checked.token, &caller.keys, self.random())?;
                Ok((change.and(rows), (Origin::New, None)))
            })
            .await?;
        let token = existing.unwrap_or(checked.token);
        let shown = self.show_written(caller, token, transform, origin);
        Ok(Created { shown, origin })
    }

    /// Gives the token the id it is to have, with the expectation that it is free.
    fn settle_id(
        &self,
        snapshot: &Snapshot,
        caller: &Caller,
        checked: &mut Checked,
        now: Timestamp,
    ) -> Result<Change, Error> {
        let token = &mut checked.token;
        let own =
            Change::new().expect_absent(Table::Tokens, tables::tokens(token.tenant, token.id));
        match &checked.wanted {
            WantedId::Assigned => Ok(own),
            WantedId::Name(name) => {
                let free = free_name(snapshot, caller, name, now)?;
                token.name = Some(name.clone());
                let conflict = Error::Conflict("A token with this id exists already.");
                free.map(|free| own.and(free)).ok_or(conflict)
            }
            WantedId::Alias(template) => {
                token.name = None;
                for _ in 0..ALIAS_TRIES_MAX {
                    let scope = expressions::Data(checked.visible.expose());
                    let name = template
                        .evaluate_text(&scope, self)
                        .map_err(|failed| Error::invalid("id", failed.to_string()))?;
                    let name = TokenName::parse(name.expose())
                        .map_err(|invalid| Error::invalid("id", invalid.to_string()))?;
                    if let Some(free) = free_name(snapshot, caller, &name, now)? {
                        token.name = Some(name);
                        return Ok(own.and(free));
                    }
                }
                // An alias that keeps being taken gives way to an assigned id.
                Ok(own)
            }
        }
    }

    /// The answer to a write: what its own permission's transform shows. Of a token that was there
    /// before, a caller who may not read it learns only what it is.
    fn show_written(
        &self,
        caller: &Caller,
        token: Token,
        transform: Transform,
        origin: Origin,
    ) -> Shown {
        let readable = caller.require_in_any(Permission::TokenRead, &token.containers).is_ok();
        if origin == Origin::Existing && !readable {
            Shown::outline(token)
        } else {
            self.show(token, transform)
        }
    }
}

impl Caller {
    /// The tenant's setting, where the request does not say.
    fn deduplicates(&self) -> Deduplicate {
        match self.tenant.settings.get("deduplicate_tokens").map(String::as_str) {
            Some("true") => Deduplicate::Yes,
            _ => Deduplicate::No,
        }
    }
}

enum Duplicate {
    Found(Box<Token>),
    /// There is none, as long as this still holds.
    None(Change),
}

/// A live token of the same type, fingerprint and containers.
fn duplicate(
    snapshot: &Snapshot,
    caller: &Caller,
    token: &Token,
    now: Timestamp,
) -> Result<Duplicate, Error> {
    let Some(path) = token.containers.first() else {
        return Ok(Duplicate::None(Change::new()));
    };
    let filter = Filter::Fingerprint(&token.fingerprint);
    let prefix = filter.prefix(&caller.keys, token.tenant, path);
    let entries = snapshot.under(Table::TokenLists, &prefix, DUPLICATES_READ_MAX)?;
    for (key, _) in &entries {
        let Some(id) = tables::token_of_list_key(key) else {
            continue;
        };
        let found = token_rows::find_by_id(snapshot, &caller.keys, token.tenant, id)?;
        if let Some(found) = found
            && found.token.containers == token.containers
            && found.token.is_live(now)
        {
            return Ok(Duplicate::Found(Box::new(found.token)));
        }
    }
    let keys = entries.into_iter().map(|(key, _)| key).collect();
    Ok(Duplicate::None(Change::new().expect_under(Table::TokenLists, prefix, keys)))
}

/// What must hold for the name to be free, `None` when it is taken. A token that has expired no
/// longer holds its name, and goes with the change that takes it.
fn free_name(
    snapshot: &Snapshot,
    caller: &Caller,
    name: &TokenName,
    now: Timestamp,
) -> Result<Option<Change>, Error> {
    let (tenant, keys) = (caller.tenant.id, &caller.keys);
    let place = token_rows::name_key(keys, tenant, name);
    let change = match token_rows::find(snapshot, keys, tenant, name.as_str())? {
        Some(found) if found.token.is_live(now) => return Ok(None),
        Some(gone) => {
            let record = tables::tokens(tenant, gone.token.id);
            Change::new()
                .expect_version(Table::Tokens, record, gone.version)
                .and(token_rows::delete(&gone.token, keys))
        }
        None => Change::new().expect_absent(Table::TokenNames, place),
    };
    // A name in the shape of an assigned id must not be one.
    Ok(Some(match TokenId::parse(name.as_str()) {
        Some(id) if snapshot.value(Table::Tokens, &tables::tokens(tenant, id))?.is_none() => {
            change.expect_absent(Table::Tokens, tables::tokens(tenant, id))
        }
        Some(_) | None => change,
    }))
}
