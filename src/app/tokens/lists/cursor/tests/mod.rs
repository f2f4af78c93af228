//! Lists on a vault of their own, in a directory that is removed with it.

mod cursors;
mod filters;
mod reach;

use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::app::caller::Caller;
use crate::app::{ApplicationDraft, DataView, TokenDraft, Vault, Write, tests};
use crate::clock::Clock;
use crate::domain::access::{Access, AccessRule, Transform};
use crate::domain::container::Container;
use crate::domain::tenant::Tenant;
use crate::domain::token_query::TokenFilter;
use crate::domain::token_type::TokenType;
use crate::secret::Secret;
use crate::store::tests::disk::TestDisk;
use crate::waiting::steps;

fn try_page(
    vault: &TestVault,
    caller: &Caller,
    permission: Permission,
    query: &TokenQuery,
    start: &CursorStart,
) -> Result<TokenPage, Error> {
    let opened = Opened::by(&vault.app, caller);
    vault.app.tokens(caller).token_page(permission, query, start, &Work::Page.budget(), &opened)
}

fn page(vault: &TestVault, caller: &Caller, query: &TokenQuery, start: &CursorStart) -> TokenPage {
    try_page(vault, caller, Permission::TokenRead, query, start).unwrap()
}

pub(in crate::app) struct TestVault {
    pub(in crate::app) app: Vault,
    pub(in crate::app) tenant: Tenant,
}

impl TestVault {
    pub(in crate::app) async fn new() -> Self {
        let app = Vault::on_disk(&TestDisk::new(), tests::master(), Clock::new()).unwrap();
        let tenant = new_tenant(&app).await;
        Self { app, tenant }
    }

    /// A caller that may do everything everywhere, and sees plain data.
    pub(in crate::app) async fn owner(&self) -> Arc<Caller> {
        self.caller(&[], &[("/", Transform::Reveal)]).await
    }

    /// A caller with plain permissions, and with rules that grant everything on tokens.
    pub(in crate::app) async fn caller(
        &self,
        plain: &[Permission],
        rules: &[(&str, Transform)],
    ) -> Arc<Caller> {
        self.caller_of(self.tenant.id, plain, rules).await
    }

    pub(in crate::app) async fn caller_of(
        &self,
        tenant: crate::domain::id::TenantId,
        plain: &[Permission],
        rules: &[(&str, Transform)],
    ) -> Arc<Caller> {
        let on_tokens = Permission::ALL.iter().copied().filter(|it| it.concerns_tokens());
        let on_tokens: Vec<_> = on_tokens.collect();
        let rules = rules.iter().zip(1..).map(|((path, transform), priority)| AccessRule {
            priority,
            ..tests::rule(path, *transform, &on_tokens)
        });
        let access = Access::new(plain.to_vec(), rules.collect());
        let draft = ApplicationDraft { access, ..tests::everything() };
        tests::new_caller(&self.app, tenant, &draft).await
    }

    /// The text is also the search term, and an entry of the metadata.
    pub(in crate::app) async fn create(&self, text: &str, containers: &[&str]) -> String {
        self.create_with(text, containers, |_| ()).await
    }

    pub(in crate::app) async fn create_with(
        &self,
        text: &str,
        containers: &[&str],
        adjust: impl FnOnce(&mut TokenDraft),
    ) -> String {
        let mut draft = TokenDraft {
            kind: Some(TokenType::Token),
            data: Some(Secret::new(json!(text))),
            metadata: [("text", text)].into_iter().collect(),
            containers: Some(containers.iter().map(|it| Container::parse(it).unwrap()).collect()),
            search_indexes: Some(vec![String::from("{{ data }}")]),
            ..TokenDraft::default()
        };
        adjust(&mut draft);
        let owner = self.owner().await;
        let made = self.app.tokens(&owner).create(draft, &Write::plain()).await.unwrap();
        made.outcome.shown.token.public_id()
    }

    pub(in crate::app) async fn delete(&self, id: &str) {
        let owner = self.owner().await;
        self.app.tokens(&owner).delete(id).await.unwrap();
    }
}

async fn new_tenant(app: &Vault) -> Tenant {
    app.access().create_tenant(tests::tenant_draft("lists")).await.unwrap()
}

/// Views without data have the text in their metadata.
pub(in crate::app) fn texts(tokens: &[TokenView]) -> Vec<String> {
    let text = |shown: &TokenView| {
        let in_metadata = || shown.token.metadata.iter().find(|(name, _)| *name == "text");
        let data = shown.token.data.value().expose().as_str().map(String::from);
        data.or_else(|| in_metadata().map(|(_, text)| String::from(text)))
    };
    tokens.iter().filter_map(text).collect()
}

fn everything() -> TokenQuery {
    TokenQuery::default()
}

fn within(path: &str) -> TokenQuery {
    TokenQuery { container: Some(Container::parse(path).unwrap()), ..TokenQuery::default() }
}

fn first(size: usize) -> CursorStart {
    CursorStart { after: None, size }
}

fn pages(vault: &TestVault, caller: &Caller, query: &TokenQuery, size: usize) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut start = first(size);
    for _ in steps("the pages of the list") {
        let page = page(vault, caller, query, &start);
        pages.push(texts(&page.tokens));
        match page.next {
            None => break,
            Some(next) => start.after = Some(next),
        }
    }
    pages
}

fn list(vault: &TestVault, caller: &Caller, query: &TokenQuery) -> Vec<String> {
    pages(vault, caller, query, 100).concat()
}
