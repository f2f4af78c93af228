//! Lists and searches with cursors: `GET /v2/tokens` and `POST /v2/tokens/search`.

#[cfg(test)]
pub(in crate::app) mod tests;

use crate::app::audit::opened::Opened;
use crate::app::error::{Error, Fault, TokenFault};
use crate::app::tokens::Tokens;
use crate::app::tokens::evaluations::Work;
use crate::app::tokens::lists::scan::Scan;
use crate::app::tokens::read::TokenView;
use crate::app::tokens::rows;
use crate::bounds::{LIST_SKIPPED_MAX, PAGE_BYTES_MAX};
use crate::domain::audit::{Act, Entity};
use crate::domain::exposure::{Right, ValueOrigin};
use crate::domain::id::TokenId;
use crate::domain::permission::Permission;
use crate::domain::time::Timestamp;
use crate::domain::token_query::TokenQuery;
use crate::expressions::Budget;
use crate::store::{Snapshot, Table};

#[derive(Debug)]
pub struct CursorStart {
    /// The cursor of the previous page; `None` for the first page.
    pub after: Option<Vec<u8>>,
    pub size: usize,
}

#[derive(Debug)]
pub struct TokenPage {
    /// By container, then newest first.
    pub tokens: Vec<TokenView>,
    /// The cursor of the next page, which may be empty. `None` on the last page.
    pub next: Option<Vec<u8>>,
}

pub(in crate::app) struct TokenViewPage {
    pub(in crate::app) tokens: Vec<TokenView>,
    /// The number of processed ids if the page reached its maximum of bytes; `None` if all ids were
    /// processed.
    pub(in crate::app) taken: Option<usize>,
}

impl Tokens<'_> {
    /// Lists need the permission to read, searches the permission to search. The transform of the
    /// matching rule decides which parts of each token are shown.
    pub async fn list(
        self,
        permission: Permission,
        query: &TokenQuery,
        start: &CursorStart,
    ) -> Result<TokenPage, Error> {
        let opened = Opened::by(self.vault, self.caller);
        let read = |budget: &Budget| self.token_page(permission, query, start, budget, &opened);
        let page = self.vault.evaluating(self.caller.party(), Work::Page.budget(), read).await;
        opened.settle(page).await
    }

    fn token_page(
        self,
        permission: Permission,
        query: &TokenQuery,
        start: &CursorStart,
        budget: &Budget,
        opened: &Opened<'_>,
    ) -> Result<TokenPage, Error> {
        let scan = Scan::new(self.caller, permission, query)?;
        let after = start.after.as_deref().map(|cursor| scan.position(cursor)).transpose()?;
        let after = after.as_deref();
        let (snapshot, now) = (self.vault.snapshot()?, self.vault.now());
        let scanned = scan.page(&snapshot, after, start.size, LIST_SKIPPED_MAX, now)?;
        for (token, fault) in &scanned.damaged {
            self.vault.damage.note_fault(Table::TokenLists, self.caller.tenant.id, *token, *fault);
        }
        let tokens = &scanned.tokens;
        let listed = self.show_listed(&snapshot, permission, tokens, now, budget, opened)?;
        let next = match listed.taken {
            // The next page begins after the last token that fits into this one.
            Some(taken) => scan.page(&snapshot, after, taken, LIST_SKIPPED_MAX, now)?.next,
            None => scanned.next,
        };
        let next = next.map(|position| scan.cursor(position, self.vault.random()));
        Ok(TokenPage { tokens: listed.tokens, next })
    }

    /// Records are authenticated by their seal, index entries are not. So the access check uses the
    /// record, and a token that it does not grant is left out.
    pub(in crate::app) fn show_listed(
        self,
        snapshot: &Snapshot,
        permission: Permission,
        tokens: &[TokenId],
        now: Timestamp,
        budget: &Budget,
        opened: &Opened<'_>,
    ) -> Result<TokenViewPage, Error> {
        let searches = permission == Permission::TokenSearch;
        let right = if searches { Right::Search } else { Right::Read };
        let mut shown: Vec<TokenView> = Vec::with_capacity(tokens.len());
        let mut bytes: usize = 0;
        // Half of the budget is divided: a costly mask leaves the masks after it a part.
        let share = budget.left().checked_div(tokens.len().saturating_mul(2)).unwrap_or(0);
        for (taken, id) in tokens.iter().enumerate() {
            if bytes > PAGE_BYTES_MAX {
                return Ok(TokenViewPage { tokens: shown, taken: Some(taken) });
            }
            let later = tokens.len().saturating_sub(taken).saturating_sub(1);
            let show = |part: &Budget| self.show_one(snapshot, *id, right, now, part);
            match budget.spend_on_part(share.saturating_mul(later), show) {
                Ok(one) => {
                    // The page is one access to each of its tokens.
                    if let Some(one) = &one {
                        opened.add(Act::Read, Entity::token(&one.token));
                    }
                    bytes = bytes.saturating_add(one.as_ref().map_or(0, |it| it.token.bytes()));
                    shown.extend(one);
                }
                // One damaged record must not make the whole page fail.
                Err(error) => {
                    self.vault.damage.pass_over(
                        Table::Tokens,
                        self.caller.tenant.id,
                        id.uuid(),
                        error,
                    )?;
                }
            }
            if budget.is_in_vain() {
                return Err(Error::Busy);
            }
        }
        Ok(TokenViewPage { tokens: shown, taken: None })
    }

    /// `None` for a token that the caller may not see, or that has expired.
    fn show_one(
        self,
        snapshot: &Snapshot,
        id: TokenId,
        right: Right,
        now: Timestamp,
        budget: &Budget,
    ) -> Result<Option<TokenView>, Error> {
        let found = rows::find_by_id(snapshot, &self.caller.keys, self.caller.tenant.id, id)?;
        let missing = Error::Internal(Fault::Token(id, TokenFault::Missing));
        let mut token = found.ok_or(missing)?.token;
        let exposure = self.caller.exposure(token.target(), right, ValueOrigin::Stored);
        let Some(exposure) = exposure.ok().filter(|_| token.is_live(now)) else {
            return Ok(None);
        };
        self.vault.cvcs().attach(snapshot, &mut token, now)?;
        Ok(Some(self.show(token, exposure, budget)))
    }
}
