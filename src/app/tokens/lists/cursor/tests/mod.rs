//! Lists on a vault of their own, in a directory that goes with them.

mod cursors;
mod filters;
mod reach;

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::app::caller::Caller;
use crate::app::{ApplicationDraft, DataView, FirstKey, TenantDraft, TokenDraft, Vault, Write};
use crate::clock::Clock;
use crate::crypto::{MasterKey, Random};
use crate::domain::access::{Access, AccessRule, Transform};
use crate::domain::application::ApplicationKind;
use crate::domain::container::Container;
use crate::domain::key_text::KeyText;
use crate::domain::quota::Quotas;
use crate::domain::tenant::{Tenant, TenantKind, Threeds};
use crate::domain::token_query::TokenFilter;
use crate::domain::token_type::TokenType;
use crate::domain::web_origin::AllowedOrigins;
use crate::secret::Secret;
use crate::store::StorePlace;
use crate::waiting::steps;

fn budget() -> Budget {
    Work::Page.budget()
}

impl Tokens<'_> {
    fn observed_page(
        self,
        permission: Permission,
        query: &TokenQuery,
        start: &CursorStart,
        budget: &Budget,
    ) -> Result<TokenPage, Error> {
        let opened = Opened::by(self.vault, self.caller);
        self.token_page(permission, query, start, budget, &opened)
    }
}

/// A vault with one tenant.
pub(in crate::app) struct TestVault {
    pub(in crate::app) app: Vault,
    pub(in crate::app) tenant: Tenant,
    directory: PathBuf,
}

impl TestVault {
    pub(in crate::app) async fn new() -> Self {
        let random = Random::new();
        let name = uuid::Builder::from_random_bytes(random.bytes()).into_uuid();
        let directory = crate::waiting::scratch().join(format!("strongroom-lists-{name}"));
        std::fs::create_dir(&directory).unwrap();
        let text = MasterKey::generate(&random);
        let master = MasterKey::parse(&Secret::new(text.expose().clone().into_bytes())).unwrap();
        let app =
            Vault::create(&StorePlace::Directory(directory.clone()), master, Clock::new()).unwrap();
        let tenant = new_tenant(&app).await;
        Self { app, tenant, directory }
    }

    /// Someone who may do everything everywhere, and sees plain data.
    pub(in crate::app) async fn owner(&self) -> Arc<Caller> {
        self.caller(&[], &[("/", Transform::Reveal)]).await
    }

    /// Someone with plain permissions, and with rules that grant everything on tokens.
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
            description: None,
            priority,
            container: Container::parse(path).unwrap(),
            conditions: Vec::new(),
            transform: *transform,
            permissions: on_tokens.clone(),
        });
        let draft = ApplicationDraft {
            name: String::from("lists"),
            kind: ApplicationKind::Private,
            access: Access::new(plain.to_vec(), rules.collect()),
            allowed_origins: AllowedOrigins::default(),
            key: FirstKey::Made,
        };
        let (_, key) = self
            .app
            .access()
            .create_application(tenant, &draft, None, &Write::plain())
            .await
            .unwrap()
            .outcome;
        let text = KeyText::parse(key.unwrap().text.expose()).unwrap();
        self.app.access().authenticate(&text).unwrap()
    }

    /// A token of this text in these containers. Its data is also its search term.
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
            containers: Some(containers.iter().map(|it| Container::parse(it).unwrap()).collect()),
            search_indexes: Some(vec![String::from("{{ data }}")]),
            ..TokenDraft::default()
        };
        adjust(&mut draft);
        let owner = self.owner().await;
        self.app
            .tokens(&owner)
            .create(draft, &Write::plain())
            .await
            .unwrap()
            .outcome
            .shown
            .token
            .public_id()
    }

    pub(in crate::app) async fn delete(&self, id: &str) {
        let owner = self.owner().await;
        self.app.tokens(&owner).delete(id).await.unwrap();
    }
}

impl Drop for TestVault {
    fn drop(&mut self) {
        self.app.close();
        std::fs::remove_dir_all(&self.directory).ok();
    }
}

pub(in crate::app) async fn new_tenant(app: &Vault) -> Tenant {
    let draft = TenantDraft {
        name: String::from("lists"),
        kind: TenantKind::Test,
        threeds: Threeds::Disabled,
        quotas: Quotas::default(),
    };
    app.access().create_tenant(draft).await.unwrap()
}

/// The plain data of shown tokens.
pub(in crate::app) fn texts(tokens: &[TokenView]) -> Vec<String> {
    let text = |shown: &TokenView| shown.token.data.value().expose().as_str().map(String::from);
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

/// All pages of a list, one after another.
fn pages(vault: &TestVault, caller: &Caller, query: &TokenQuery, size: usize) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut start = first(size);
    for _ in steps("the pages of the list") {
        let page = vault
            .app
            .tokens(caller)
            .observed_page(Permission::TokenRead, query, &start, &budget())
            .unwrap();
        pages.push(texts(&page.tokens));
        match page.next {
            None => break,
            Some(next) => start.after = Some(next),
        }
    }
    pages
}

/// The whole list.
fn list(vault: &TestVault, caller: &Caller, query: &TokenQuery) -> Vec<String> {
    pages(vault, caller, query, 100).concat()
}
