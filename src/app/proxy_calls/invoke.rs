//! One call: evaluate, audit, send.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::app::access::caller::Caller;
use crate::app::error::Error;
use crate::app::origin;
use crate::app::outbound::{OutboundFailure, OutboundRequest, OutboundResponse};
use crate::app::proxies::Proxies;
use crate::app::proxies::transforms::{Message, Surroundings, TransformFailure};
use crate::app::proxy_calls::body::BodySlots;
use crate::app::proxy_calls::choose::ChosenProxy;
use crate::app::proxy_calls::fill::{Filling, Unfilled};
use crate::app::proxy_calls::headers::{FilledHeader, HeaderSlots};
use crate::app::proxy_calls::scope::ProxyScope;
use crate::app::proxy_calls::target;
use crate::app::proxy_calls::{ProxyCall, ProxyFailure};
use crate::app::tokens::draft::TokenDraft;
use crate::app::tokens::evaluations::Work;
use crate::app::tokens::references::{NamedReferences, Usage};
use crate::app::vault::Vault;
use crate::bounds::{PROXY_ANSWER_BYTES_MAX, PROXY_TIMEOUT, PROXY_TOKENS_MAX};
use crate::domain::access::Transform;
use crate::domain::application::ApplicationKind;
use crate::domain::audit::{Act, Actor, Entity, EntityKind};
use crate::domain::condition::{Target, TargetId};
use crate::domain::container::Container;
use crate::domain::https_url::HttpsUrl;
use crate::domain::id::TenantId;
use crate::domain::permission::Permission;
use crate::domain::proxy::Proxy;
use crate::domain::time::Timestamp;
use crate::expressions::{Budget, Reference};
use crate::secret::Secret;

const NO_APPLICATION: &str =
    "This proxy needs no API key and has no application, so its calls may not use tokens.";
const NO_CONFIGURATION: &str = "The configuration of a proxy is for the headers of calls without an API key, not for their bodies.";
const NOT_ENCRYPTED: &str = "To open values that clients encrypted, the API key needs token:use in plain for all containers.";
const NO_SUCH_PROXY: Error = Error::NotFound("proxy");
const SWITCHED_OFF: &str =
    "The tenant's setting disable_ephemeral_proxy allows pre-configured proxies only.";
const ACCEPT_ENCODING: &str = "accept-encoding";
/// The tenant's setting that switches ephemeral proxies off.
const DISABLE_EPHEMERAL: &str = "disable_ephemeral_proxy";

/// A call with its values, and the tokens that it uses.
struct Prepared {
    /// `None` if the body goes on as it came.
    body: Option<Secret<Vec<u8>>>,
    /// New values of headers, with their places.
    headers: Vec<FilledHeader>,
    used: BTreeMap<Uuid, Entity>,
    /// The values that transforms name; absent if the proxy has none.
    scope: Option<ProxyScope>,
}

/// The parties of one call.
#[derive(Clone, Copy)]
pub(super) struct Invocation<'a> {
    pub(super) vault: &'a Vault,
    /// The application whose tokens may be used. A call without an API key may have none.
    caller: Option<&'a Caller>,
    pub(super) tenant: TenantId,
    /// `None` for an ephemeral proxy.
    stored: Option<Stored<'a>>,
}

/// A stored proxy, with all that its transforms need.
#[derive(Clone, Copy)]
struct Stored<'a> {
    proxy: &'a Proxy,
    /// The caller that makes tokens.
    maker: Option<&'a Caller>,
    draft: DraftParser<'a>,
}

/// Parses the body of a create request, which a transform may make. Its shape belongs to `http`.
pub type DraftParser<'a> = &'a (dyn Fn(&Value) -> TokenDraft + Sync);

impl<'a> Proxies<'a> {
    /// Sends the call to the URL that the caller names.
    pub async fn invoke_ephemeral(
        self,
        caller: &'a Caller,
        url: &str,
        call: ProxyCall,
    ) -> Result<OutboundResponse, ProxyFailure> {
        let settings = &caller.tenant.settings;
        if settings.get(DISABLE_EPHEMERAL).is_some_and(|value| value == "true") {
            return Err(Error::Forbidden(SWITCHED_OFF).into());
        }
        let tenant = caller.tenant.id;
        let invocation =
            Invocation { vault: self.vault, caller: Some(caller), tenant, stored: None };
        let url = target::join(url, &call.rest, call.query.as_deref())?;
        invocation.run(url, call).await
    }

    /// Sends the call to the destination of a stored proxy. `caller` is ignored if the proxy needs
    /// no API key: then its own application answers for the call.
    pub async fn invoke_chosen(
        self,
        caller: Option<&'a Caller>,
        chosen: &'a ChosenProxy,
        call: ProxyCall,
        draft: DraftParser<'a>,
    ) -> Result<OutboundResponse, ProxyFailure> {
        let proxy = &chosen.proxy;
        let caller = if chosen.requires_key() {
            let caller = caller.ok_or(Error::Unauthenticated)?;
            // Another tenant's proxy is not found, like one that does not exist.
            let own = Some(caller).filter(|caller| caller.tenant.id == proxy.tenant);
            Some(own.ok_or(NO_SUCH_PROXY)?)
        } else {
            chosen.application.as_deref()
        };
        let tenant = proxy.tenant;
        let stored = Stored { proxy, maker: chosen.application.as_deref().or(caller), draft };
        let invocation = Invocation { vault: self.vault, caller, tenant, stored: Some(stored) };
        let base = proxy.settings.destination.as_str();
        let url = target::join(base, &call.rest, call.query.as_deref())?;
        let outcome = invocation.run(url, call).await;
        self.count_call(proxy.id, outcome.as_ref());
        outcome
    }
}

impl<'a> Stored<'a> {
    fn around(self, scope: &'a ProxyScope) -> Surroundings<'a> {
        Surroundings { scope, caller: self.maker, draft: self.draft }
    }
}

impl Invocation<'_> {
    async fn run(self, url: HttpsUrl, call: ProxyCall) -> Result<OutboundResponse, ProxyFailure> {
        let now = self.vault.now();
        let prepare = |budget: &Budget| match self.prepare(&call, now, budget) {
            Err(ProxyFailure::App(error)) => Err(error),
            prepared => Ok(prepared),
        };
        let prepared = self.vault.evaluating(Work::Page, prepare).await??;
        self.note(prepared.used, now).await?;
        let mut headers = call.headers;
        for (number, value) in prepared.headers {
            if let Some((_, old)) = headers.get_mut(number) {
                *old = value;
            }
        }
        let message = Message { headers, body: prepared.body.unwrap_or(call.body) };
        let Message { headers, body } =
            self.change_request(message, prepared.scope.as_ref()).await?;
        let certificate = self.proxy().and_then(|it| it.settings.client_certificate.as_ref());
        let identity = certificate.map(|certificate| Arc::new(certificate.identity()));
        let event = self.event(&url, &call.method)?;
        let request = OutboundRequest {
            tenant: self.tenant,
            method: call.method,
            url,
            headers,
            body,
            timeout: PROXY_TIMEOUT,
            response_bytes_max: PROXY_ANSWER_BYTES_MAX,
            identity,
        };
        let answered = match self.send(request).await {
            Ok(answer) => self.change_answer(answer, prepared.scope.as_ref()).await,
            Err(failure) => Err(failure),
        };
        if let Some(event) = event {
            self.tell(event, answered.as_ref()).await;
        }
        answered
    }

    pub(super) fn actor(self) -> Actor {
        self.caller.map_or(Actor::ProxyCaller, Caller::actor)
    }

    pub(super) fn proxy(&self) -> Option<&Proxy> {
        self.stored.map(|stored| stored.proxy)
    }

    /// Runs the transforms of the request. Nothing is sent if one fails.
    async fn change_request(
        self,
        mut message: Message,
        scope: Option<&ProxyScope>,
    ) -> Result<Message, ProxyFailure> {
        let (Some(stored), Some(scope)) = (self.stored, scope) else { return Ok(message) };
        if !stored.proxy.settings.response_transforms.is_empty() {
            // A transform cannot read a compressed answer.
            message.headers.retain(|(name, _)| name != ACCEPT_ENCODING);
            let identity = Secret::new(b"identity".to_vec());
            message.headers.push((String::from(ACCEPT_ENCODING), identity));
        }
        let around = stored.around(scope);
        let changed = self.vault.proxies().transform_request(stored.proxy, message, around).await;
        changed.map_err(|failure| match failure {
            TransformFailure::App(error) => ProxyFailure::App(error),
            TransformFailure::Failed(why) => ProxyFailure::invalid(why),
        })
    }

    /// Runs the transforms of the answer. An answer that cannot be changed is not passed on.
    async fn change_answer(
        self,
        answer: OutboundResponse,
        scope: Option<&ProxyScope>,
    ) -> Result<OutboundResponse, ProxyFailure> {
        let (Some(stored), Some(scope)) = (self.stored, scope) else { return Ok(answer) };
        let OutboundResponse { status, headers, body } = answer;
        let message = Message { headers, body };
        let (proxies, around) = (self.vault.proxies(), stored.around(scope));
        let changed = proxies.transform_response(stored.proxy, status, message, around).await;
        let Message { headers, body } = changed.map_err(ProxyFailure::Answer)?;
        Ok(OutboundResponse { status, headers, body })
    }

    /// Queues the entries of the call: the call itself, and each token that it uses.
    async fn note(self, used: BTreeMap<Uuid, Entity>, at: Timestamp) -> Result<(), Error> {
        let actor = self.actor();
        // A proxy that is not stored has no id.
        let none = Entity::new(EntityKind::Proxy, Uuid::nil());
        let proxy = self.proxy().map_or(none, |proxy| proxy.id.into());
        let acts = std::iter::once((Act::Invoke, proxy))
            .chain(used.into_values().map(|token| (Act::Use, token)));
        let entries = acts.map(|(act, entity)| origin::entry(at, actor, act, entity)).collect();
        self.vault.audit().note_acts(self.tenant, entries).await
    }

    async fn send(self, request: OutboundRequest) -> Result<OutboundResponse, ProxyFailure> {
        const NO_CLIENT: OutboundFailure =
            OutboundFailure::Unreachable("this server has no client for destinations");
        let outbound = self.vault.outbound.get().ok_or(NO_CLIENT)?;
        let response = outbound.send(request).await?;
        if (200..=599).contains(&response.status) {
            Ok(response)
        } else {
            Err(OutboundFailure::Broken("its status is unknown").into())
        }
    }

    /// Evaluates all expressions of the call.
    fn prepare(
        self,
        call: &ProxyCall,
        now: Timestamp,
        budget: &Budget,
    ) -> Result<Prepared, ProxyFailure> {
        let settings = self.proxy().map(|proxy| &proxy.settings);
        let has_transforms = settings.is_some_and(|settings| {
            !settings.request_transforms.is_empty() || !settings.response_transforms.is_empty()
        });
        let (body, headers) = if settings.is_some_and(|it| it.disable_detokenization) {
            (BodySlots::Unchanged, HeaderSlots::none())
        } else {
            (BodySlots::find(call, budget)?, HeaderSlots::find(call, budget)?)
        };
        let references = body.references().into_iter().chain(headers.references());
        let (named, mut used) = self.open(references, now, budget)?;
        let needs_encrypted =
            body.names("encrypted") || headers.names("encrypted") || has_transforms;
        let encrypted = if needs_encrypted { self.decrypt(call, &mut used)? } else { None };
        if body.names("config") && !self.is_known() {
            return Err(Error::Forbidden(NO_CONFIGURATION).into());
        }
        let nothing = Secret::new(Value::Object(Map::new()));
        let config = if self.is_known() { self.configuration() } else { nothing };
        let mut scope = ProxyScope::new(named, config, encrypted);
        if body.names("proxy") {
            scope.describe(call, None);
        }
        let filled = body.fill(Filling { scope: &scope, vault: self.vault, budget })?;
        scope.config = self.configuration();
        if headers.names("proxy") || has_transforms {
            let body = filled.as_ref().unwrap_or(&call.body);
            scope.describe(call, Some(body.expose()));
        }
        let headers = headers.fill(Filling { scope: &scope, vault: self.vault, budget })?;
        let scope = has_transforms.then(|| scope.without_tokens());
        Ok(Prepared { body: filled, headers, used, scope })
    }

    /// The content of `BT-ENCRYPTED`. A caller that chooses the destination could send the value to
    /// itself, so it needs the right to use all tokens in plain: the encrypted value is in no
    /// container, and the type beside it is the caller's word.
    fn decrypt(
        self,
        call: &ProxyCall,
        used: &mut BTreeMap<Uuid, Entity>,
    ) -> Result<Option<Secret<Value>>, Error> {
        let Some(text) = &call.encrypted else { return Ok(None) };
        let caller = self.caller.ok_or(Error::Forbidden(NO_APPLICATION))?;
        if self.stored.is_none() {
            let all = Target { containers: &[Container::root()], id: TargetId::Unknown };
            let right = caller.require_in_all(Permission::TokenUse, all)?;
            if right != Transform::Reveal {
                return Err(Error::Forbidden(NOT_ENCRYPTED));
            }
        }
        let (value, keys) = self.vault.client_keys().open_header(caller, text.expose())?;
        used.extend(keys.into_iter().map(|key| (key.uuid(), Entity::from(key))));
        Ok(Some(value))
    }

    /// True if the caller is known by an API key of its own. Anybody can have a session, or the key
    /// of a proxy that needs no other. Such a caller cannot put the configuration into a body, since
    /// a destination may send parts of it back.
    fn is_known(self) -> bool {
        self.caller.is_some_and(|caller| caller.session.is_none())
            && self.proxy().is_none_or(|proxy| proxy.settings.require_auth)
    }

    fn configuration(self) -> Secret<Value> {
        let entries = self.proxy().into_iter().flat_map(|proxy| &proxy.settings.configuration.0);
        let entry = |(name, value): &(String, Secret<String>)| {
            (name.clone(), Value::from(value.expose().as_str()))
        };
        Secret::new(Value::Object(entries.map(entry).collect()))
    }

    /// The form in which this call may use tokens.
    ///
    /// A caller that chooses the destination could send the value of any token to itself, so it
    /// needs the right to use the token. The destination of a stored proxy was chosen by the
    /// tenant, so the right to invoke proxies suffices, unless access rules limit the application
    /// to some containers. A session has the rights that it was granted and no more.
    fn usage(self, caller: &Caller) -> Usage {
        let may_invoke = caller.require_one_somewhere(&[Permission::ProxyInvoke]).is_ok();
        let application = &caller.application;
        let is_free = caller.session.is_none()
            && application.kind == ApplicationKind::Private
            && application.access.rules().is_empty()
            && may_invoke;
        if self.stored.is_some() && is_free { Usage::ByInvocation } else { Usage::Plain }
    }

    /// Opens the tokens and intents that the expressions name, each once.
    fn open<'r>(
        self,
        references: impl Iterator<Item = &'r Reference>,
        now: Timestamp,
        budget: &Budget,
    ) -> Result<(NamedReferences, BTreeMap<Uuid, Entity>), ProxyFailure> {
        let mut named = NamedReferences(HashMap::new());
        let mut used = BTreeMap::new();
        let mut ids = BTreeSet::new();
        let mut missing = BTreeSet::new();
        let mut snapshot = None;
        for reference in references {
            if named.0.contains_key(reference) || missing.contains(reference.id()) {
                continue;
            }
            ids.insert(reference.id());
            if ids.len() > PROXY_TOKENS_MAX {
                let detail = format!("At most {PROXY_TOKENS_MAX} tokens may be used in a call.");
                return Err(ProxyFailure::Invalid(detail));
            }
            let snapshot = match &mut snapshot {
                Some(snapshot) => snapshot,
                none => none.insert(self.vault.snapshot()?),
            };
            let caller = self.caller.ok_or(Error::Forbidden(NO_APPLICATION))?;
            let (tokens, usage) = (self.vault.tokens(caller), self.usage(caller));
            match tokens.open_reference(snapshot, reference, usage, now, budget)? {
                Some((value, entity)) => {
                    used.insert(entity.id, entity);
                    named.0.insert(reference.clone(), value);
                }
                None => {
                    missing.insert(reference.id());
                }
            }
        }
        if missing.is_empty() {
            return Ok((named, used));
        }
        let ids = missing.into_iter().collect::<Vec<_>>().join(", ");
        Err(ProxyFailure::Invalid(format!(
            "Failed to detokenize some tokens: {ids}. Tokens were not found."
        )))
    }
}

impl From<Unfilled> for ProxyFailure {
    fn from(unfilled: Unfilled) -> Self {
        Self::Invalid(unfilled.into_text())
    }
}
