//! The deprecated `GET /tokens` and `POST /tokens/search`: numbered pages, newest first, all
//! containers together.
//!
//! The total of an answer is counted entry by entry, from index entries alone. That may take long,
//! so it runs on a blocking thread.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BTreeSet;

use uuid::Uuid;

use crate::app::error::{Error, Fault};
use crate::app::tokens::Tokens;
use crate::app::tokens::evaluations::Work;
use crate::app::tokens::lists::cursor::TokenViewPage;
use crate::app::tokens::lists::entry::ListEntry;
use crate::app::tokens::lists::timeline::{START, Timelines};
use crate::app::tokens::read::TokenView;
use crate::app::tokens::rows::{self, Filter};
use crate::bounds::TIMELINE_STEPS_MAX;
use crate::domain::container::Container;
use crate::domain::id::{TenantId, TokenId};
use crate::domain::permission::Permission;
use crate::domain::time::Timestamp;
use crate::domain::token::Token;
use crate::domain::token_query::LegacyTokenQuery;
use crate::store::tables::{self, CountKind};
use crate::store::{Snapshot, Table};

/// The number of tokens to skip, and the number to return.
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
        let page = self.page_by_number(permission, query, stretch).await?;
        self.note_shown(&page.tokens).await?;
        Ok(page)
    }

    async fn page_by_number(
        self,
        permission: Permission,
        query: &LegacyTokenQuery,
        stretch: PageRange,
    ) -> Result<LegacyTokenPage, Error> {
        let reach = self.caller.reach(permission)?;
        let (snapshot, now) = (self.vault.snapshot()?, self.vault.now());
        let folded: Vec<_> =
            query.metadata.iter().map(|(key, value)| (fold(key), fold(value))).collect();
        if let Some(ids) = &query.ids {
            let found = self.named(&snapshot, ids, &folded, now)?;
            return self.page_of(&snapshot, permission, found, stretch, now).await;
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
        let gathered = self
            .vault
            .walks
            .run(|| self.gather(&snapshot, &filters, &reach, stretch, known_total, now))
            .await??;
        let total = known_total.unwrap_or(gathered.seen);
        let tokens = self.vault.evaluating(Work::Page, |budget| {
            self.show_listed(&snapshot, permission, &gathered.tokens, now, budget)
        });
        Ok(LegacyTokenPage { tokens: whole(tokens.await?)?, total })
    }

    /// Walks the timelines of the filters until both the page and the total are known.
    fn gather(
        self,
        snapshot: &Snapshot,
        filters: &[Filter<'_>],
        reach: &[Container],
        stretch: PageRange,
        known_total: Option<usize>,
        now: Timestamp,
    ) -> Result<PageCollector, Error> {
        let tenant = self.caller.tenant.id;
        let timelines = Timelines::of(filters, &self.caller.keys, tenant);
        let mut gathered = PageCollector { stretch, known_total, seen: 0, tokens: Vec::new() };
        let mut from = Some(START.to_vec());
        while let Some(position) = from.take_if(|_| !gathered.is_complete()) {
            let steps = timelines.walk(snapshot, position, TIMELINE_STEPS_MAX)?;
            for (position, value) in &steps.entries {
                let token = tables::token_of_list_key(position);
                match (ListEntry::decode(value), token) {
                    (Ok(listed), Some(token)) => {
                        if listed.is_live(now) && listed.is_within(reach) {
                            gathered.take(token);
                        }
                    }
                    (_, token) => {
                        let id = token.map_or(Uuid::nil(), TokenId::uuid);
                        self.vault.damage.note_fault(
                            Table::TokenLists,
                            tenant,
                            id,
                            Fault::BadRecord,
                        );
                    }
                }
            }
            from = steps.from;
        }
        Ok(gathered)
    }

    /// The live tokens of these ids, each once, whose metadata contains all of these entries.
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

    /// The page of these tokens, limited to those that the caller may see.
    async fn page_of(
        self,
        snapshot: &Snapshot,
        permission: Permission,
        mut tokens: Vec<Token>,
        stretch: PageRange,
        now: Timestamp,
    ) -> Result<LegacyTokenPage, Error> {
        tokens.retain(|token| self.caller.require_in_any(permission, &token.containers).is_ok());
        tokens.sort_by_key(|token| (Reverse(token.created_at), token.id));
        let total = tokens.len();
        let page = tokens.iter().skip(stretch.skip).take(stretch.take);
        let page: Vec<_> = page.map(|token| token.id).collect();
        let tokens = self.vault.evaluating(Work::Page, |budget| {
            self.show_listed(snapshot, permission, &page, now, budget)
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

const TOO_LARGE: &str = "The page would hold too much data; ask for fewer tokens at a time.";

/// The intermediate result of a walk.
struct PageCollector {
    stretch: PageRange,
    known_total: Option<usize>,
    seen: usize,
    tokens: Vec<TokenId>,
}

impl PageCollector {
    fn take(&mut self, token: TokenId) {
        if self.seen >= self.stretch.skip && self.tokens.len() < self.stretch.take {
            self.tokens.push(token);
        }
        self.seen = self.seen.saturating_add(1);
    }

    /// True if the walk can stop.
    fn is_complete(&self) -> bool {
        self.known_total.is_some_and(|total| {
            self.tokens.len() == self.stretch.take || self.stretch.skip >= total
        })
    }
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
