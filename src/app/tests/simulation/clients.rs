//! Clients: each turns a request into calls of the operations, and the result into an `Outcome`.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::app::tests::simulation::asks::{Application, Ask, NewToken, Patch, Request};
use crate::app::tests::simulation::lists::View;
use crate::app::tests::simulation::model::Kind;
use crate::app::tests::simulation::seen::{Outcome, Seen, SeenIntent};
use crate::app::tests::simulation::world::{Site, master_of};
use crate::app::{
    Caller, Client, CursorStart, Deduplicate, Error, PageRange, SessionAuthorization, SessionDraft,
    TokenDraft, TokenIntentDraft, TokenOrigin, TokenPatch, TokenView, Vault, Walk, Write,
    WriteOutcome,
};
use crate::domain::access::{Access, AccessRule, Transform};
use crate::domain::container::Container;
use crate::domain::exposure::{Exposure, Right};
use crate::domain::key_text::KeyText;
use crate::domain::permission::Permission;
use crate::domain::time::Timestamp;
use crate::domain::token::Token;
use crate::domain::token_query::{LegacyTokenQuery, TokenFilter, TokenQuery};
use crate::domain::token_type::TokenType;
use crate::idempotency::{AnswerStatus, Disclosure, PartLifetime, RememberedAnswer, SubjectId};
use crate::secret::Secret;
use crate::threeds::session::{CardSource, Device, SessionKind};

pub(super) type Answering = Pin<Box<dyn Future<Output = Outcome>>>;

pub(super) struct Sender {
    pub(super) app: Arc<Vault>,
    pub(super) site: Arc<Site>,
    pub(super) request: Request,
    /// The text of the session that the request uses, or the nonce of the one that it authorizes.
    pub(super) session: Option<String>,
    pub(super) cursor: Option<Vec<u8>>,
    pub(super) walk: Arc<Mutex<Walk>>,
    pub(super) next_master: usize,
    pub(super) backup: PathBuf,
}

pub(super) fn send(sender: Sender) -> Answering {
    Box::pin(async move { sender.answer().await.unwrap_or_else(Outcome::from) })
}

impl Sender {
    async fn answer(&self) -> Result<Outcome, Error> {
        let (app, tenant) = (&self.app, &self.site.tenants[self.request.tenant]);
        let key = match (&self.request.ask, self.request.by) {
            (Ask::OpenSession, _) => &tenant.page,
            (Ask::UseSession(..), _) => self.session.as_ref().unwrap(),
            (_, Application::Whole) => &tenant.whole,
            (_, Application::Part) => &tenant.part,
        };
        if let Some(told) = self.upkeep().await? {
            return Ok(told);
        }
        let caller = app.access().authenticate(&KeyText::parse(key).unwrap())?;
        let tokens = app.tokens(&caller);
        Ok(match &self.request.ask {
            Ask::Create(new) => {
                let key = new.key.as_deref();
                self.create(&caller, draft(new), key).await?
            }
            Ask::Convert(intent, key) => {
                let draft = TokenDraft {
                    token_intent_id: Some(intent.clone()),
                    containers: Some(containers(&[String::from("/a/")])),
                    ..TokenDraft::default()
                };
                self.create(&caller, draft, key.as_deref()).await?
            }
            Ask::Read(id) | Ask::ReadForeign(id) | Ask::UseSession(_, id) => {
                let shown = tokens.read(id).await?;
                Outcome::Token(Seen::new(&shown), TokenOrigin::Read)
            }
            Ask::Patch(id, patch) => {
                let written = tokens.update(id, &patch_of(patch), &Write::plain()).await?.outcome;
                Outcome::Token(Seen::new(&written.shown), written.origin)
            }
            Ask::Delete(id) => tokens.delete(id).await.map(|()| Outcome::Done)?,
            Ask::List(view, _) => self.list(&caller, view).await?,
            Ask::Number => {
                let range = PageRange { skip: 0, take: 100 };
                let query = LegacyTokenQuery::default();
                let page = tokens.list_by_number(Permission::TokenRead, &query, range).await?;
                Outcome::Numbered(page.tokens.iter().map(Seen::new).collect(), page.total)
            }
            _ => self.others(&caller).await?,
        })
    }

    async fn others(&self, caller: &Arc<Caller>) -> Result<Outcome, Error> {
        let (app, intents) = (&self.app, self.app.token_intents(caller));
        Ok(match &self.request.ask {
            Ask::CreateIntent(number, code) => {
                let mut data = card(number);
                data["cvc"] = json!(code);
                let draft = TokenIntentDraft {
                    kind: Some(TokenType::Card),
                    data: Some(Secret::new(data)),
                    ..TokenIntentDraft::default()
                };
                let made = intents.create(&draft, &Write::plain()).await?.outcome;
                Outcome::Intent(SeenIntent::new(&made))
            }
            Ask::ReadIntent(id) => Outcome::Intent(SeenIntent::new(&intents.read(id).await?)),
            Ask::DeleteIntent(id) => intents.delete(id).await.map(|()| Outcome::Done)?,
            Ask::OpenSession => {
                let made = app.access().create_session(caller).await?;
                Outcome::Session {
                    text: String::from(made.text.expose()),
                    nonce: made.nonce.expose().clone(),
                    expires_at: made.expires_at,
                }
            }
            Ask::Authorize(_) => {
                let nonce = Secret::new(self.session.clone().unwrap());
                let access = Access::new(vec![], vec![rule("/", &[Permission::TokenRead])]);
                let asked = SessionAuthorization { nonce, access, expires_at: None };
                app.access().authorize_session(caller, &asked, &Write::plain()).await?;
                Outcome::Done
            }
            Ask::CreateThreeds(token) => {
                let draft = SessionDraft {
                    card: Some(CardSource::Token(token.clone())),
                    kind: Some(SessionKind::Customer),
                    device: Some(Device::Browser),
                    ..SessionDraft::default()
                };
                let client = Client {
                    base: String::from("https://vault.example"),
                    address: Ipv4Addr::LOCALHOST.into(),
                    accept: None,
                    user_agent: None,
                };
                let write = Write::plain();
                let made = app.threeds().create_session(caller, &draft, &client, &write).await?;
                Outcome::Threeds(made.outcome.id.to_string())
            }
            Ask::ReadThreeds(id) => {
                let read = app.threeds().read_session(caller, id).await?;
                Outcome::Threeds(read.id.to_string())
            }
            other => panic!("{other:?} is answered elsewhere"),
        })
    }

    /// Work of the server, which has no caller.
    async fn upkeep(&self) -> Result<Option<Outcome>, Error> {
        let (app, tenant) = (&self.app, &self.site.tenants[self.request.tenant]);
        let begun = match &self.request.ask {
            Ask::Sweep => app.upkeep().sweep_all().await.map(drop),
            Ask::FlushReads => app.audit().flush_reads().await,
            Ask::Sign => app.audit().sign().await,
            Ask::RotateTenant => app.rotation().rotate_tenant(tenant.id).await.map(drop),
            Ask::RotateServer => app.rotation().rotate_server().await.map(drop),
            Ask::RotateMaster => {
                app.rotation().rotate_master(master_of(self.next_master)).await.map(drop)
            }
            Ask::RotateStep => {
                app.rotation().rotate_step(&mut *self.walk.lock().await).await.map(drop)
            }
            Ask::BackUp => match app.backups().back_up(self.backup.clone()).await {
                Ok(_) => Ok(()),
                Err(crate::app::BackupFailure::NoSpace) => Err(Error::ReadOnly("")),
                // The vault has failed meanwhile, which its store reports.
                Err(_) => Err(Error::Stopped),
            },
            _ => return Ok(None),
        };
        begun.map(|()| Some(Outcome::Done))
    }

    async fn create(
        &self,
        caller: &Arc<Caller>,
        draft: TokenDraft,
        key: Option<&str>,
    ) -> Result<Outcome, Error> {
        let guard = match key {
            Some(key) => {
                let key = ("POST", "/tokens", key);
                Some(self.app.idempotency().begin(caller, key, show_again).await?)
            }
            None => None,
        };
        let write = Write { guard: guard.as_ref(), render: &created };
        let written = self.app.tokens(caller).create(draft, &write).await?.outcome;
        Ok(Outcome::Token(Seen::new(&written.shown), written.origin))
    }

    async fn list(&self, caller: &Arc<Caller>, view: &View) -> Result<Outcome, Error> {
        let filter = match (&view.colour, view.kind, &view.value) {
            (Some(colour), ..) => TokenFilter::Metadata(String::from("colour"), colour.clone()),
            (_, Some(Kind::Card), _) => TokenFilter::Type(TokenType::Card),
            (_, Some(Kind::Plain), _) => TokenFilter::Type(TokenType::Token),
            (.., Some(value)) => TokenFilter::SearchTerm(Secret::new(value.clone())),
            _ => TokenFilter::Everything,
        };
        let permission = match filter {
            TokenFilter::Everything => Permission::TokenRead,
            _ => Permission::TokenSearch,
        };
        let container = view.container.as_ref().map(|path| Container::parse(path).unwrap());
        let query = TokenQuery { container, filter };
        let start = CursorStart { after: self.cursor.clone(), size: view.size };
        let page = self.app.tokens(caller).list(permission, &query, &start).await?;
        Ok(Outcome::Page(page.tokens.iter().map(Seen::new).collect(), page.next))
    }
}

/// The id of the token, which outlives the token.
fn created(written: &WriteOutcome) -> RememberedAnswer {
    let token = &written.shown.token;
    let mut answer = RememberedAnswer::empty(AnswerStatus::Created);
    let TokenView { extent, fingerprint, .. } = written.shown;
    let exposure = Exposure { extent, transform: written.shown.transform(), fingerprint };
    let (right, containers) = (Right::Create, token.containers.clone());
    answer.disclose(Disclosure { right, value: written.value, containers, exposure });
    let id = SubjectId::Token { id: token.id, name: None };
    answer.subject(id, &token.answer_seed, &token.containers);
    answer.push(token.public_id().as_bytes(), PartLifetime::Always);
    answer.as_created = (written.origin == TokenOrigin::New).then_some(token.created_at);
    answer
}

fn show_again(vault: &Vault, caller: &Caller, token: Token, made: &Disclosure) -> RememberedAnswer {
    assert!(token.modified_at.is_none(), "a repetition shows a token after its change");
    created(&vault.tokens(caller).as_created(token, made))
}

/// A right to see tokens in plain in this container.
pub(super) fn rule(container: &str, permissions: &[Permission]) -> AccessRule {
    crate::app::tests::rule(container, Transform::Reveal, permissions)
}

pub(super) fn card(number: &str) -> Value {
    json!({ "number": number, "expiration_month": 1, "expiration_year": 2039 })
}

fn containers(paths: &[String]) -> Vec<Container> {
    paths.iter().map(|path| Container::parse(path).unwrap()).collect()
}

fn draft(new: &NewToken) -> TokenDraft {
    let mut data = new.data.clone();
    if let Some(code) = &new.cvc {
        data["cvc"] = json!(code);
    }
    let (kind, indexes) = match new.kind {
        Kind::Card => (TokenType::Card, None),
        Kind::Plain => (TokenType::Token, Some(vec![String::from("{{ data.value }}")])),
    };
    TokenDraft {
        id: new.name.clone(),
        kind: Some(kind),
        data: Some(Secret::new(data)),
        containers: Some(containers(&new.containers)),
        metadata: [("colour", &new.colour)].into_iter().collect(),
        search_indexes: indexes,
        deduplicate: new.deduplicates.then_some(Deduplicate::Yes),
        expires_at: new.expires_at.map(Timestamp::to_wire),
        ..TokenDraft::default()
    }
}

fn patch_of(patch: &Patch) -> TokenPatch {
    let mut data = patch.data.clone();
    if let (Some(data), Some(code)) = (&mut data, &patch.cvc) {
        data["cvc"] = json!(code);
    }
    TokenPatch {
        data: data.map(Secret::new),
        metadata: patch.colour.as_ref().map(|colour| json!({ "colour": colour })),
        containers: patch.containers.as_ref().map(|paths| Some(containers(paths))),
        expires_at: patch.expires_at.map(|at| at.map(Timestamp::to_wire)),
        ..TokenPatch::default()
    }
}
