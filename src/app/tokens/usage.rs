//! The usage of a tenant: the number of its tokens, in total and by type.

use std::collections::HashSet;

use crate::app::caller::Caller;
use crate::app::error::Error;
use crate::app::tokens::Tokens;
use crate::app::tokens::rows::Filter;
use crate::bounds::USAGE_TOKENS_MAX;
use crate::domain::container::Container;
use crate::domain::id::assigned_at;
use crate::domain::time::Timestamp;
use crate::domain::token_type::TokenType;
use crate::store::Snapshot;
use crate::store::tables::{self, CountKind};

#[derive(Debug)]
pub struct TokenUsage {
    pub total: u64,
    /// Types without tokens are left out. Empty if the tenant has too many tokens to count them.
    pub by_type: Vec<TypeUsage>,
}

#[derive(Debug)]
pub struct TypeUsage {
    pub kind: TokenType,
    pub count: u64,
    pub last_created_at: Timestamp,
}

impl Tokens<'_> {
    /// Every write maintains the total. A walk counts the tokens of each type.
    pub async fn usage(self) -> Result<TokenUsage, Error> {
        let snapshot = self.vault.snapshot()?;
        let total = snapshot.count(&tables::counts(self.caller.tenant.id, CountKind::Tokens))?;
        let total = u64::try_from(total).unwrap_or(0);
        if total > USAGE_TOKENS_MAX {
            return Ok(TokenUsage { total, by_type: Vec::new() });
        }
        let count = || -> Result<Vec<TypeUsage>, Error> {
            let mut found = Vec::new();
            for kind in TokenType::ALL {
                found.extend(usage_of_type(self.caller, &snapshot, kind)?);
            }
            Ok(found)
        };
        let by_type = self.vault.walks.run(self.caller.party(), count).await??;
        Ok(TokenUsage { total, by_type })
    }
}

fn usage_of_type(
    caller: &Caller,
    snapshot: &Snapshot,
    kind: TokenType,
) -> Result<Option<TypeUsage>, Error> {
    let list = Filter::Type(kind).list(caller.keys.index(), caller.tenant.id);
    // A token has an entry for each of its containers.
    let mut tokens = HashSet::new();
    for row in snapshot.range(&list.inside(&Container::root(), None))? {
        let (key, _) = row?;
        tokens.extend(tables::token_of_list_key(&key));
    }
    let newest = tokens.iter().map(|id| assigned_at(id.uuid())).max();
    let count = u64::try_from(tokens.len()).unwrap_or(u64::MAX);
    Ok(newest.map(|last_created_at| TypeUsage { kind, count, last_created_at }))
}
