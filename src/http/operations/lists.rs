//! Lists and searches of tokens over HTTP. They store nothing, so they ignore idempotency keys.

use crate::app::CursorStart;
use crate::domain::permission::Permission;
use crate::domain::token_query::{LegacyTokenQuery, TokenQuery};
use crate::http::wire::{OffsetPage, cursor, token, token_query};
use crate::http::{Answer, Exchange, Reply};

impl Exchange<'_> {
    pub(in crate::http) async fn list_tokens(&self) -> Answer {
        let (query, start) = token_query::parse_list(&self.query)?;
        self.page_after(Permission::TokenRead, &query, &start).await
    }

    pub(in crate::http) async fn search_tokens(&self) -> Answer {
        let (query, start) = token_query::parse_search(self.body.expose())?;
        self.page_after(Permission::TokenSearch, &query, &start).await
    }

    pub(in crate::http) async fn list_tokens_v1(&self) -> Answer {
        let (query, page) = token_query::parse_legacy_list(&self.query)?;
        self.page_by_number(Permission::TokenRead, &query, page).await
    }

    pub(in crate::http) async fn search_tokens_v1(&self) -> Answer {
        let (query, page) = token_query::parse_legacy_search(self.body.expose())?;
        self.page_by_number(Permission::TokenSearch, &query, page).await
    }

    async fn page_after(
        &self,
        permission: Permission,
        query: &TokenQuery,
        start: &CursorStart,
    ) -> Answer {
        let page = self.app.tokens(self.caller).list(permission, query, start).await?;
        let items: Vec<_> = page.tokens.iter().map(token::render).collect();
        Ok(Reply::ok(cursor::render_page(start.size, page.next.as_deref(), &items)))
    }

    async fn page_by_number(
        &self,
        permission: Permission,
        query: &LegacyTokenQuery,
        page: OffsetPage,
    ) -> Answer {
        let stretch = page.stretch();
        let found = self.app.tokens(self.caller).list_by_number(permission, query, stretch).await?;
        let items: Vec<_> = found.tokens.iter().map(token::render).collect();
        Ok(Reply::ok(page.render(found.total, &items)))
    }
}
