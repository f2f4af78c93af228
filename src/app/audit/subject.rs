//! The subjects of audit entries, and their webhook events. An act that has an event must come with
//! everything that the event shows; otherwise the change is not written. So no operation can forget
//! its event.

use serde_json::{Map, Value, json};

use crate::domain::access::{Access, AccessRule};
use crate::domain::application::{ApiKey, Application};
use crate::domain::audit::{Act, Entity, EntityKind};
use crate::domain::condition::Condition;
use crate::domain::container::Container;
use crate::domain::id::ApplicationId;
use crate::domain::permission::Permission;
use crate::domain::proxy::Proxy;
use crate::domain::reactor::Reactor;
use crate::domain::session as access;
use crate::domain::tenant::Tenant;
use crate::domain::time::Timestamp;
use crate::domain::token::Token;
use crate::domain::token_intent::TokenIntent;
use crate::domain::token_type::TokenType;
use crate::domain::webhook::EventKind;
use crate::threeds::session::{CardSource, ThreedsSession};

/// The resource that was acted on, with the fields that its event shows.
#[derive(Debug, Clone)]
pub enum Subject<'a> {
    ApiKey(&'a ApiKey),
    Application(&'a Application),
    /// An intent that became the token of this id and type.
    Conversion {
        entity: Entity,
        kind: TokenType,
        token: String,
        token_kind: TokenType,
    },
    /// Only the id.
    Entity(Entity),
    Intent(&'a TokenIntent),
    Proxy(&'a Proxy),
    Reactor(&'a Reactor),
    /// With the name of the public application that the session acts for.
    Session(&'a access::Session, &'a str),
    Tenant(&'a Tenant),
    /// With the kind of the event, if the act has one.
    Threeds(&'a ThreedsSession, Option<EventKind>),
    Token(&'a Token),
}

/// The act has an event whose content the subject lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::app) struct LacksContent;

impl Subject<'_> {
    pub(in crate::app) fn entity(&self) -> Entity {
        match self {
            Self::ApiKey(key) => key.id.into(),
            Self::Application(application) => application.id.into(),
            Self::Conversion { entity, .. } | Self::Entity(entity) => entity.clone(),
            Self::Intent(intent) => intent.id.into(),
            Self::Proxy(proxy) => proxy.id.into(),
            Self::Reactor(reactor) => reactor.id.into(),
            Self::Session(session, _) => session.id.into(),
            Self::Tenant(tenant) => tenant.id.into(),
            Self::Threeds(session, _) => session.id.into(),
            Self::Token(token) => Entity::token(token),
        }
    }

    const fn kind(&self) -> EntityKind {
        match self {
            Self::ApiKey(_) => EntityKind::ApplicationKey,
            Self::Application(_) => EntityKind::Application,
            Self::Conversion { entity, .. } | Self::Entity(entity) => entity.kind,
            Self::Intent(_) => EntityKind::TokenIntent,
            Self::Proxy(_) => EntityKind::Proxy,
            Self::Reactor(_) => EntityKind::Reactor,
            Self::Session(..) => EntityKind::Session,
            Self::Tenant(_) => EntityKind::Tenant,
            Self::Threeds(..) => EntityKind::ThreedsSession,
            Self::Token(_) => EntityKind::Token,
        }
    }

    pub(in crate::app) fn event(&self, act: Act) -> Result<Option<EventKind>, LacksContent> {
        if let Self::Threeds(_, kind) = self {
            return Ok(*kind);
        }
        let kind = event_of(self.kind(), act);
        if kind.is_none_or(|kind| self.is_whole(kind)) { Ok(kind) } else { Err(LacksContent) }
    }

    /// False if an event of this kind shows more than the subject has. Kinds that are not named
    /// here show only an id.
    const fn is_whole(&self, kind: EventKind) -> bool {
        if matches!(kind, EventKind::ApplicationKeyCreated | EventKind::ApplicationKeyDeleted) {
            matches!(self, Self::ApiKey(_))
        } else if matches!(kind, EventKind::ApplicationCreated | EventKind::ApplicationUpdated) {
            matches!(self, Self::Application(_))
        } else if matches!(kind, EventKind::TenantCreated | EventKind::TenantUpdated) {
            matches!(self, Self::Tenant(_))
        } else if matches!(kind, EventKind::ProxyCreated | EventKind::ProxyUpdated) {
            matches!(self, Self::Proxy(_))
        } else if matches!(kind, EventKind::ReactorCreated | EventKind::ReactorUpdated) {
            matches!(self, Self::Reactor(_))
        } else if matches!(kind, EventKind::SessionCreated | EventKind::SessionAuthorized) {
            matches!(self, Self::Session(..))
        } else if shows_token(kind) {
            matches!(self, Self::Token(_))
        } else if matches!(kind, EventKind::TokenIntentCreated) {
            matches!(self, Self::Intent(_))
        } else if matches!(kind, EventKind::TokenIntentConverted) {
            matches!(self, Self::Conversion { .. })
        } else {
            true
        }
    }

    /// The members of the event's `data`, without the actor. None of them is sensitive.
    pub(in crate::app) fn data(&self, kind: EventKind) -> Map<String, Value> {
        let mut data = Map::new();
        let mut set = |name: &str, value: Value| drop(data.insert(String::from(name), value));
        match self {
            Self::ApiKey(key) if kind == EventKind::ApplicationKeyCreated => {
                set("application_key", created_key(key));
            }
            Self::ApiKey(key) => {
                let (id, owner) = (key.id.to_string(), key.application.to_string());
                set("application_key", json!({"id": id, "application_id": owner}));
            }
            Self::Application(application) if kind != EventKind::ApplicationDeleted => {
                set("application", application_value(application));
            }
            Self::Conversion { entity, kind, token, token_kind } => {
                set("token_intent", json!({"id": entity.public_id(), "type": kind.as_str()}));
                set("token", json!({"id": token, "type": token_kind.as_str()}));
            }
            Self::Intent(intent) if kind == EventKind::TokenIntentCreated => {
                set("token_intent", intent_value(intent));
            }
            Self::Proxy(proxy) if kind != EventKind::ProxyDeleted => {
                set("proxy", proxy_value(proxy));
            }
            Self::Reactor(reactor) if kind != EventKind::ReactorDeleted => {
                set("reactor", reactor_value(reactor));
            }
            Self::Session(session, name) => set("session", access_session_value(session, name)),
            Self::Tenant(tenant) => set("tenant", tenant_value(tenant)),
            Self::Threeds(session, _) => set("session", session_value(session, kind)),
            Self::Token(token) if shows_token(kind) => set("token", token_value(token)),
            Self::Application(_)
            | Self::Entity(_)
            | Self::Intent(_)
            | Self::Proxy(_)
            | Self::Reactor(_)
            | Self::Token(_) => {
                let entity = self.entity();
                let mut shown = json!({"id": entity.public_id()});
                if kind == EventKind::TokenPropertyExpired {
                    shown = json!({"id": entity.public_id(), "property_name": "cvc"});
                }
                set(entity.kind.as_str(), shown);
            }
        }
        data
    }
}

pub(in crate::app) fn read_data(token: &Entity, kind: Option<TokenType>) -> Map<String, Value> {
    let mut shown = Map::from_iter([(String::from("id"), Value::from(token.public_id()))]);
    if let Some(kind) = kind {
        shown.insert(String::from("type"), Value::from(kind.as_str()));
    }
    Map::from_iter([(String::from("token"), Value::Object(shown))])
}

/// 3DS sessions decide by their state instead.
fn event_of(entity: EntityKind, act: Act) -> Option<EventKind> {
    Some(match (entity, act) {
        (EntityKind::Application, Act::Create) => EventKind::ApplicationCreated,
        (EntityKind::Application, Act::Update) => EventKind::ApplicationUpdated,
        (EntityKind::Application, Act::Delete) => EventKind::ApplicationDeleted,
        (EntityKind::ApplicationKey, Act::Create | Act::Import) => EventKind::ApplicationKeyCreated,
        (EntityKind::ApplicationKey, Act::Delete) => EventKind::ApplicationKeyDeleted,
        (EntityKind::Proxy, Act::Create) => EventKind::ProxyCreated,
        (EntityKind::Proxy, Act::Update) => EventKind::ProxyUpdated,
        (EntityKind::Proxy, Act::Delete) => EventKind::ProxyDeleted,
        (EntityKind::Reactor, Act::Create) => EventKind::ReactorCreated,
        (EntityKind::Reactor, Act::Update) => EventKind::ReactorUpdated,
        (EntityKind::Reactor, Act::Delete) => EventKind::ReactorDeleted,
        (EntityKind::Session, Act::Create) => EventKind::SessionCreated,
        (EntityKind::Session, Act::Authorize) => EventKind::SessionAuthorized,
        (EntityKind::Tenant, Act::Create) => EventKind::TenantCreated,
        (EntityKind::Tenant, Act::Update) => EventKind::TenantUpdated,
        (EntityKind::Token, Act::Create) => EventKind::TokenCreated,
        (EntityKind::Token, Act::Update) => EventKind::TokenUpdated,
        (EntityKind::Token, Act::Delete) => EventKind::TokenDeleted,
        (EntityKind::Token, Act::Expire) => EventKind::TokenExpired,
        (EntityKind::Token, Act::ExpireCvc | Act::DeleteCvc | Act::UseCvc) => {
            EventKind::TokenPropertyExpired
        }
        (EntityKind::TokenIntent, Act::Create) => EventKind::TokenIntentCreated,
        (EntityKind::TokenIntent, Act::Delete) => EventKind::TokenIntentDeleted,
        (EntityKind::TokenIntent, Act::Convert) => EventKind::TokenIntentConverted,
        _ => return None,
    })
}

const fn shows_token(kind: EventKind) -> bool {
    matches!(kind, EventKind::TokenCreated | EventKind::TokenUpdated)
}

/// Leaves absent members out.
fn object(members: impl IntoIterator<Item = (&'static str, Option<Value>)>) -> Value {
    let present = |(name, value): (&str, Option<Value>)| Some((String::from(name), value?));
    Value::Object(members.into_iter().filter_map(present).collect())
}

fn time(at: Timestamp) -> Value {
    Value::from(at.to_iso_millis())
}

fn id(id: impl std::fmt::Display) -> Value {
    Value::from(id.to_string())
}

fn modified(
    by: Option<ApplicationId>,
    at: Option<Timestamp>,
) -> [(&'static str, Option<Value>); 2] {
    [("modified_by", by.map(id)), ("modified_at", at.map(time))]
}

fn token_value(token: &Token) -> Value {
    let texts = |texts: Vec<&str>| Some(Value::from(texts));
    let members = [
        ("id", Some(id(token.public_id()))),
        ("type", Some(id(token.kind.as_str()))),
        ("metadata", Some(token.metadata.to_value())),
        ("containers", texts(token.containers.iter().map(Container::as_str).collect())),
        ("fingerprint", Some(id(&token.fingerprint))),
        ("fingerprint_expression", Some(id(token.effective_fingerprint_expression()))),
        ("search_indexes", texts(token.effective_search_indexes())),
        ("created_by", Some(id(token.created_by))),
        ("created_at", Some(time(token.created_at))),
        ("expires_at", token.expires_at.map(time)),
    ];
    object(members.into_iter().chain(modified(token.modified_by, token.modified_at)))
}

fn intent_value(intent: &TokenIntent) -> Value {
    object([
        ("id", Some(id(intent.id))),
        ("type", Some(id(intent.kind.as_str()))),
        ("fingerprint", Some(id(&intent.fingerprint))),
        ("created_by", Some(id(intent.created_by))),
        ("created_at", Some(time(intent.created_at))),
        ("expires_at", Some(time(intent.expires_at))),
    ])
}

fn permission_texts(permissions: &[Permission]) -> Value {
    Value::from(permissions.iter().map(|it| it.as_str()).collect::<Vec<_>>())
}

fn rule_value(rule: &AccessRule) -> Value {
    let conditions: Vec<_> = rule.conditions.iter().map(condition_value).collect();
    object([
        ("description", rule.description.as_deref().map(Value::from)),
        ("priority", Some(Value::from(rule.priority))),
        ("container", Some(id(rule.container.as_str()))),
        ("conditions", (!conditions.is_empty()).then(|| Value::from(conditions))),
        ("transform", Some(id(rule.transform.as_str()))),
        ("permissions", Some(permission_texts(&rule.permissions))),
    ])
}

fn condition_value(it: &Condition) -> Value {
    let (attribute, operator) = (it.attribute.as_str(), it.operator.as_str());
    json!({"attribute": attribute, "operator": operator, "value": it.value})
}

fn application_value(application: &Application) -> Value {
    let rules: Vec<_> = application.access.rules().iter().map(rule_value).collect();
    let members = [
        ("id", Some(id(application.id))),
        ("type", Some(id(application.kind.as_str()))),
        ("name", Some(id(&application.name))),
        ("permissions", Some(permission_texts(application.access.permissions()))),
        ("rules", Some(Value::from(rules))),
        ("created_by", application.created_by.map(id)),
        ("created_at", Some(time(application.created_at))),
    ];
    object(members.into_iter().chain(modified(application.modified_by, application.modified_at)))
}

fn created_key(key: &ApiKey) -> Value {
    object([
        ("id", Some(id(key.id))),
        ("application_id", Some(id(key.application))),
        ("version", Some(id("v1"))),
        ("created_by", key.created_by.map(id)),
        ("created_at", Some(time(key.created_at))),
    ])
}

fn proxy_value(proxy: &Proxy) -> Value {
    let settings = &proxy.settings;
    let members = [
        ("id", Some(id(proxy.id))),
        ("name", Some(id(&settings.name))),
        ("application_id", settings.application.map(id)),
        ("destination_url", Some(id(settings.destination.as_str()))),
        ("require_authentication", Some(Value::from(settings.require_auth))),
        ("created_by", Some(id(proxy.created_by))),
        ("created_at", Some(time(proxy.created_at))),
    ];
    object(members.into_iter().chain(modified(proxy.modified_by, proxy.modified_at)))
}

/// Neither the code nor the configuration.
fn reactor_value(reactor: &Reactor) -> Value {
    let members = [
        ("id", Some(id(reactor.id))),
        ("name", Some(id(&reactor.settings.name))),
        ("created_by", Some(id(reactor.created_by))),
        ("created_at", Some(time(reactor.created_at))),
    ];
    object(members.into_iter().chain(modified(reactor.modified_by, reactor.modified_at)))
}

/// Shows the rights after the session was authorized.
fn access_session_value(session: &access::Session, name: &str) -> Value {
    let rights = session.grant.as_ref().map(|grant| &grant.access);
    let rules = |access: &Access| access.rules().iter().map(rule_value).collect::<Vec<_>>();
    object([
        ("id", Some(id(session.id))),
        ("created_by", Some(id(session.application))),
        ("created_at", Some(time(session.created_at))),
        ("expires_at", Some(time(session.expires_at))),
        (
            "issued_to_application",
            Some(json!({"id": session.application.to_string(), "name": name})),
        ),
        ("permissions", rights.map(|access| permission_texts(access.permissions()))),
        ("rules", rights.map(|access| Value::from(rules(access)))),
    ])
}

fn tenant_value(tenant: &Tenant) -> Value {
    let members = [
        ("id", Some(id(tenant.id))),
        ("name", Some(id(&tenant.name))),
        ("type", Some(id(tenant.kind.as_str()))),
        ("created_at", Some(time(tenant.created_at))),
    ];
    object(members.into_iter().chain(modified(tenant.modified_by, tenant.modified_at)))
}

fn session_value(session: &ThreedsSession, kind: EventKind) -> Value {
    let status = session.authentication.as_ref().map(|it| id(it.status.word()));
    let tenant = ("tenant_id", Some(id(session.tenant)));
    let is_short = matches!(
        kind,
        EventKind::ThreedsMethodCompleted
            | EventKind::ThreedsDecoupledChallenge
            | EventKind::ThreedsChallengeCompleted
    );
    let has_status = matches!(
        kind,
        EventKind::ThreedsChallengeCompleted | EventKind::ThreedsSessionAuthenticated
    );
    let first = [("id", Some(id(session.id))), ("type", Some(id(session.kind.as_str())))];
    let status = ("authentication_status", status.filter(|_| has_status));
    if is_short {
        return object(first.into_iter().chain([tenant, status]));
    }
    let tenant = ("tenant_id", tenant.1.filter(|_| kind != EventKind::ThreedsSessionAuthenticated));
    let card = match &session.card {
        CardSource::Pan(token) | CardSource::Token(token) => ("token_id", Some(id(token))),
        CardSource::TokenIntent(intent) => ("token_intent_id", Some(id(intent))),
    };
    object(first.into_iter().chain([
        tenant,
        status,
        ("created_at", Some(time(session.created_at))),
        ("created_by", Some(id(session.created_by))),
        ("device", session.device.map(|device| id(device.as_str()))),
        ("expires_at", Some(time(session.expires_at))),
        card,
        ("card_brand", Some(id(session.scheme.display_name()))),
    ]))
}

impl<T: Into<Entity>> From<T> for Subject<'_> {
    fn from(entity: T) -> Self {
        Self::Entity(entity.into())
    }
}

macro_rules! subjects {
    ($($resource:ident $variant:ident;)+) => {$(
        impl<'a> From<&'a $resource> for Subject<'a> {
            fn from(resource: &'a $resource) -> Self {
                Self::$variant(resource)
            }
        }
    )+};
}

subjects! {
    ApiKey ApiKey;
    Application Application;
    Proxy Proxy;
    Reactor Reactor;
    Tenant Tenant;
    Token Token;
    TokenIntent Intent;
}
