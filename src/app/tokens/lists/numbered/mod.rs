//! The deprecated `GET /tokens` and `POST /tokens/search`: numbered pages, newest first, all
//! containers together.
//!
//! The total of an answer is counted from index entries, one by one, and the tokens of all
//! containers are sorted by time. Both may take long, so they run on a blocking thread.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BTreeSet;

use uuid::Uuid;

use crate::app::audit::opened::Opened;
use crate::app::error::Error;
use crate::app::tokens::Tokens;
use crate::app::tokens::evaluations::Work;
use crate::app::tokens::lists::cursor::TokenViewPage;
use crate::app::tokens::lists::newest::{NewestTokens, Pass, Total, lists_of};
use crate::app::tokens::read::TokenView;
use crate::app::tokens::rows::{self, Filter};
use crate::bounds::{NUMBERED_CONTAINERS_MAX, NUMBERED_PASS_MAX};
use crate::domain::container::Container;
use crate::domain::id::{TenantId, TokenId};
use crate::domain::permission::Permission;
use crate::domain::time::Timestamp;
use crate::domain::token::Token;
use crate::domain::token_query::LegacyTokenQuery;
use crate::store::tables::{self, CountKind};
use crate::store::{Snapshot, Table};

#[derive(Debug, Clone, Copy)]
pub struct PageRange {
    pub skip: usize,
    pub take: usize,
}

#[derive(Debug)]
pub struct LegacyTokenPage {
    /// Newest first.
    pub tokens: Vec<TokenView>,
    pub total: usize,
}

impl Tokens<'_> {
    pub async fn list_by_number(
        self,
        permission: Permission,
        query: &LegacyTokenQuery,
        stretch: PageRange,
    ) -> Result<LegacyTokenPage, Error> {
        let opened = Opened::by(self.vault, self.caller);
        let page = self.page_by_number(permission, query, stretch, &opened).await;
        opened.settle(page).await
    }

    async fn page_by_number(
        self,
        permission: Permission,
        query: &LegacyTokenQuery,
        stretch: PageRange,
        opened: &Opened<'_>,
    ) -> Result<LegacyTokenPage, Error> {
        let reach = self.caller.reach(permission)?;
        let (snapshot, now) = (self.vault.snapshot()?, self.vault.now());
        let folded: Vec<_> =
            query.metadata.iter().map(|(key, value)| (fold(key), fold(value))).collect();
        if let Some(ids) = &query.ids {
            let found = self.named(&snapshot, ids, &folded, now)?;
            return self.page_of(&snapshot, permission, found, stretch, now, opened).await;
        }
        // The total would count tokens that the caller may not see.
        if self.caller.is_conditional(permission) {
            return Err(Error::Forbidden(CONDITIONAL));
        }
        let mut filters: Vec<_> =
            folded.iter().map(|(key, value)| Filter::Metadata(key, value)).collect();
        filters.extend(query.search_term.iter().map(|term| Filter::SearchTerm(term.expose())));
        let tenant = self.caller.tenant.id;
        let known_total = match filters.as_slice() {
            [] => count_all(&snapshot, tenant, &reach, now)?,
            _ => None,
        };
        if filters.is_empty() {
            filters.push(Filter::Everything);
        }
        let newest = NewestTokens {
            snapshot: &snapshot,
            filters: filters
                .into_iter()
                .map(|filter| lists_of(filter, &self.caller.keys, tenant))
                .collect(),
            reach: &reach,
            tenant,
            damage: &self.vault.damage,
            now,
            containers_max: NUMBERED_CONTAINERS_MAX,
        };
        // The total alone confirms a guess of a value. Then the newest match is read for the log, but not
        // shown.
        let counted = |(page, total): (Vec<TokenId>, usize)| {
            let is_answered = page.is_empty() && total > 0 && query.search_term.is_some();
            let newest_one = PageRange { skip: 0, take: 1 };
            let page =
                if is_answered { collect(&newest, newest_one, Some(total), 1)?.0 } else { page };
            Ok((page, total, is_answered))
        };
        let collect =
            || collect(&newest, stretch, known_total, NUMBERED_PASS_MAX).and_then(counted);
        let found = self.vault.walks.run(self.caller.party(), collect).await?;
        let (page, total, is_hidden) = found?;
        let tokens = self.vault.evaluating(self.caller.party(), Work::Page.budget(), |budget| {
            self.show_listed(&snapshot, permission, &page, now, budget, opened)
        });
        let tokens = whole(tokens.await?)?;
        Ok(LegacyTokenPage { tokens: if is_hidden { Vec::new() } else { tokens }, total })
    }

    /// The live tokens with these ids, each once, whose metadata contains all of these entries.
    fn named(
        self,
        snapshot: &Snapshot,
        ids: &[String],
        metadata: &[(String, String)],
        now: Timestamp,
    ) -> Result<Vec<Token>, Error> {
        let (ids, tenant): (BTreeSet<_>, _) = (ids.iter().collect(), self.caller.tenant.id);
        let mut found = Vec::new();
        for id in ids {
            let token = match rows::find(snapshot, &self.caller.keys, tenant, id) {
                Ok(token) => token,
                Err(Error::Internal(fault)) => {
                    let id = fault.token().map_or(Uuid::nil(), TokenId::uuid);
                    self.vault.damage.note_fault(Table::Tokens, tenant, id, fault);
                    continue;
                }
                Err(error) => return Err(error),
            };
            found.extend(token.map(|versioned| versioned.token).filter(|token| {
                let has = |(key, value): &(String, String)| {
                    let mut own = token.metadata.iter();
                    own.any(|(name, text)| fold(name) == *key && fold(text) == *value)
                };
                token.is_live(now) && metadata.iter().all(has)
            }));
        }
        Ok(found)
    }

    /// Leaves out tokens that the caller may not see.
    async fn page_of(
        self,
        snapshot: &Snapshot,
        permission: Permission,
        mut tokens: Vec<Token>,
        stretch: PageRange,
        now: Timestamp,
        opened: &Opened<'_>,
    ) -> Result<LegacyTokenPage, Error> {
        tokens.retain(|token| self.caller.require_in_any(permission, token.target()).is_ok());
        tokens.sort_by_key(|token| (Reverse(token.created_at), token.id));
        let total = tokens.len();
        let page = tokens.iter().skip(stretch.skip).take(stretch.take);
        let page: Vec<_> = page.map(|token| token.id).collect();
        let tokens = self.vault.evaluating(self.caller.party(), Work::Page.budget(), |budget| {
            self.show_listed(snapshot, permission, &page, now, budget, opened)
        });
        Ok(LegacyTokenPage { tokens: whole(tokens.await?)?, total })
    }
}

/// A numbered page cannot end early, because the next one starts at a fixed number.
fn whole(page: TokenViewPage) -> Result<Vec<TokenView>, Error> {
    match page.taken {
        None => Ok(page.tokens),
        Some(_) => Err(Error::invalid("size", String::from(TOO_LARGE))),
    }
}

const CONDITIONAL: &str = "A session with conditions cannot use numbered pages; use GET /v2/tokens or \
                           POST /v2/tokens/search.";
const TOO_LARGE: &str = "The page would hold too much data; ask for fewer tokens at a time.";

/// Each pass yields at most `pass_max` tokens.
fn collect(
    newest: &NewestTokens<'_>,
    stretch: PageRange,
    known_total: Option<usize>,
    pass_max: usize,
) -> Result<(Vec<TokenId>, usize), Error> {
    let end = stretch.skip.saturating_add(stretch.take);
    let (mut page, mut passed, mut after) = (Vec::new(), 0_usize, None);
    let mut total = known_total;
    while passed < end && total.is_none_or(|total| stretch.skip < total) {
        let count_max = end.saturating_sub(passed).min(pass_max);
        let counting = if total.is_none() { Total::Counted } else { Total::NotNeeded };
        let found = newest.pass(Pass { after, count_max, total: counting })?;
        total = total.or(Some(found.met));
        for (at, rank) in (passed..).zip(&found.newest) {
            if at >= stretch.skip {
                page.extend(tables::token_of_rank(rank));
            }
        }
        passed = passed.saturating_add(found.newest.len());
        after = found.newest.last().copied();
        if found.newest.len() < count_max {
            break;
        }
    }
    Ok((page, total.unwrap_or(passed)))
}

/// The stored count of the tenant's tokens. It is the total only if the caller sees every container
/// and no expired record waits for the sweep.
fn count_all(
    snapshot: &Snapshot,
    tenant: TenantId,
    reach: &[Container],
    now: Timestamp,
) -> Result<Option<usize>, Error> {
    let waiting = snapshot.range(&tables::expiries_until(now))?.next();
    if reach.first() != Some(&Container::root()) || waiting.transpose()?.is_some() {
        return Ok(None);
    }
    Ok(usize::try_from(snapshot.count(&tables::counts(tenant, CountKind::Tokens))?).ok())
}

fn fold(text: &str) -> String {
    text.to_lowercase()
}
