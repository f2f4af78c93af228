//! Lists and searches with cursors: `GET /v2/tokens` and `POST /v2/tokens/search`.

#[cfg(test)]
pub(super) mod tests;

use crate::app::App;
use crate::app::authenticate::Caller;
use crate::app::error::{Error, Fault, TokenFault};
use crate::app::evaluations::Work;
use crate::app::read_token::Shown;
use crate::app::scan::Scan;
use crate::app::token_rows;
use crate::bounds::LIST_SKIPPED_MAX;
use crate::domain::audit::Entity;
use crate::domain::exposure::{Right, ValueOrigin};
use crate::domain::id::TokenId;
use crate::domain::permission::Permission;
use crate::domain::time::Timestamp;
use crate::domain::token_query::TokenQuery;
use crate::expressions::Budget;
use crate::store::{Snapshot, Table};

/// Where a page starts, and how many tokens it may have.
#[derive(Debug)]
pub struct CursorStart {
    /// The cursor of the page before; the first page when absent.
    pub after: Option<Vec<u8>>,
    pub size: usize,
}

#[derive(Debug)]
pub struct TokenPage {
    /// By container, then newest first.
    pub tokens: Vec<Shown>,
    /// The cursor of the next page, which may turn out to be empty. Absent on the last one.
    pub next: Option<Vec<u8>>,
}

impl App {
    /// Lists ask for the permission to read, searches for the permission to search; its rule's
    /// transform decides how much of each token is shown.
    pub async fn list_tokens(
        &self,
        caller: &Caller,
        permission: Permission,
        query: &TokenQuery,
        start: &CursorStart,
    ) -> Result<TokenPage, Error> {
        let read = |budget: &Budget| self.token_page(caller, permission, query, start, budget);
        let page = self.evaluating(Work::Page, read).await?;
        self.note_shown(caller, &page.tokens).await?;
        Ok(page)
    }

    /// A page is an access to each of its tokens.
    pub(super) async fn note_shown(&self, caller: &Caller, shown: &[Shown]) -> Result<(), Error> {
        let entities = shown.iter().map(|shown| Entity::token(&shown.token));
        self.note_reads(caller, entities, self.now()).await
    }

    fn token_page(
        &self,
        caller: &Caller,
        permission: Permission,
        query: &TokenQuery,
        start: &CursorStart,
        budget: &Budget,
    ) -> Result<TokenPage, Error> {
        let scan = Scan::new(caller, permission, query)?;
        let after = start.after.as_deref().map(|cursor| scan.position(cursor)).transpose()?;
        let (snapshot, now) = (self.snapshot()?, self.now());
        let scanned = scan.page(&snapshot, after, start.size, LIST_SKIPPED_MAX, now)?;
        for (token, fault) in &scanned.damaged {
            self.note_damage(Table::TokenLists, caller.tenant.id, *token, *fault);
        }
        let tokens =
            self.show_listed(&snapshot, caller, permission, &scanned.tokens, now, budget)?;
        Ok(TokenPage { tokens, next: scanned.next.map(|position| scan.cursor(position)) })
    }

    /// Opens what an index led to. The seal vouches for records, not for index entries: what the
    /// record does not grant is left out, whatever the index said.
    pub(super) fn show_listed(
        &self,
        snapshot: &Snapshot,
        caller: &Caller,
        permission: Permission,
        tokens: &[TokenId],
        now: Timestamp,
        budget: &Budget,
    ) -> Result<Vec<Shown>, Error> {
        let searches = permission == Permission::TokenSearch;
        let right = if searches { Right::Search } else { Right::Read };
        let mut shown = Vec::with_capacity(tokens.len());
        for id in tokens {
            match self.show_one(snapshot, caller, *id, right, now, budget) {
                Ok(one) => shown.extend(one),
                // One damaged record must not cost the whole page.
                Err(error) => {
                    self.pass_over(Table::Tokens, caller.tenant.id, id.uuid(), error)?;
                }
            }
            if budget.is_in_vain() {
                return Err(Error::Busy);
            }
        }
        Ok(shown)
    }

    /// `None` for a token that the caller may not see, or that has expired.
    fn show_one(
        &self,
        snapshot: &Snapshot,
        caller: &Caller,
        id: TokenId,
        right: Right,
        now: Timestamp,
        budget: &Budget,
    ) -> Result<Option<Shown>, Error> {
        let found = token_rows::find_by_id(snapshot, &caller.keys, caller.tenant.id, id)?;
        let missing = Error::Internal(Fault::Token(id, TokenFault::Missing));
        let mut token = found.ok_or(missing)?.token;
        let exposure = caller.exposure(&token.containers, right, ValueOrigin::Stored);
        let Some(exposure) = exposure.ok().filter(|_| token.is_live(now)) else {
            return Ok(None);
        };
        self.attach_cvc(snapshot, &mut token, now)?;
        Ok(Some(self.show(token, exposure, budget)))
    }
}
