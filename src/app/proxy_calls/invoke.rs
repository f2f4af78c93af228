//! One call: evaluate, audit, send.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::Value;
use uuid::Uuid;

use crate::app::audit::opened::Opened;
use crate::app::caller::Caller;
use crate::app::error::Error;
use crate::app::fair_pool::Party;
use crate::app::outbound::{OutboundFailure, OutboundRequest, OutboundResponse};
use crate::app::program_calls::ProgramHosts;
use crate::app::proxies::transforms::code::{CodeSite, RequestLine};
use crate::app::proxies::transforms::{Message, Surroundings, TransformFailure};
use crate::app::proxy_calls::answer_headers;
use crate::app::proxy_calls::body::BodySlots;
use crate::app::proxy_calls::choose::ChosenProxy;
use crate::app::proxy_calls::fill::{Filling, Unfilled};
use crate::app::proxy_calls::headers::{self, FilledHeader};
use crate::app::proxy_calls::scope::{GuardedValue, ProxyScope};
use crate::app::proxy_calls::slots::Slots;
use crate::app::proxy_calls::target;
use crate::app::proxy_calls::{ProxyCall, ProxyFailure};
use crate::app::tokens::codes::UsedCode;
use crate::app::tokens::draft::TokenDraft;
use crate::app::tokens::evaluations::Work;
use crate::app::tokens::references::NamedReferences;
use crate::app::{Proxies, Vault};
use crate::bounds::{PROXY_ANSWER_BYTES_MAX, PROXY_TIMEOUT, PROXY_TOKENS_MAX, REACTOR_TOKENS_MAX};
use crate::domain::access::Transform;
use crate::domain::audit::{Act, Actor, Entity, EntityKind};
use crate::domain::condition::{Target, TargetId};
use crate::domain::container::Container;
use crate::domain::exposure::{Computation, Operand, ValueOrigin};
use crate::domain::hops::HOPS;
use crate::domain::https_url::HttpsUrl;
use crate::domain::id::{ReactorId, TenantId};
use crate::domain::permission::Permission;
use crate::domain::proxy::Proxy;
use crate::domain::tenant::TenantKind;
use crate::domain::time::Timestamp;
use crate::expressions::{Budget, Reference};
use crate::secret::Secret;

const NO_APPLICATION: &str =
    "This proxy needs no API key and has no application, so its calls may not use tokens.";
const GUARDED: &str = "The API key may not see this value in plain. Its expressions can only put the value, or the \
     member at a plain JSON path, where they stand, and they cannot name the configuration of a proxy.";
const NOT_ENCRYPTED: &str = "To open values that clients encrypted, the API key needs token:use in plain for all containers.";
const NOT_ALONE: &str = "The API key may not see this value in plain, and a program or a transform reads the \
                         request. The value must be a whole string of a JSON body, a whole value of a form, or a whole \
                         header.";
const NO_SUCH_PROXY: Error = Error::NotFound("proxy");
const SWITCHED_OFF: &str =
    "The tenant's setting disable_ephemeral_proxy allows pre-configured proxies only.";
const ACCEPT_ENCODING: &str = "accept-encoding";
/// The tenant's setting that destroys codes after a successful call that used them.
const DESTROY_CVC: &str = "destroy_cvc_after_use";
/// The tenant's setting that switches ephemeral proxies off.
const DISABLE_EPHEMERAL: &str = "disable_ephemeral_proxy";

pub(super) struct Prepared {
    /// `None` if the body passes unchanged.
    pub(super) body: Option<Secret<Vec<u8>>>,
    headers: Vec<FilledHeader>,
    /// The values that transforms name; `None` if the proxy has no transforms.
    scope: Option<ProxyScope>,
    /// The codes to destroy if the call succeeds.
    pub(super) codes: Vec<UsedCode>,
}

#[derive(Clone, Copy)]
pub(super) struct Invocation<'a> {
    pub(super) vault: &'a Vault,
    /// The application whose tokens may be used. A call without an API key may have none.
    pub(super) caller: Option<&'a Caller>,
    pub(super) tenant: TenantId,
    pub(super) party: Party,
    /// `None` for an ephemeral proxy, and for a reactor.
    pub(super) stored: Option<Stored<'a>>,
    /// The reactor whose arguments are filled.
    pub(super) reactor: Option<ReactorId>,
}

#[derive(Clone, Copy)]
pub(super) struct Stored<'a> {
    proxy: &'a Proxy,
    /// Creates the tokens of transforms.
    maker: Option<&'a Caller>,
    draft: DraftParser<'a>,
    hosts: Option<&'a dyn ProgramHosts>,
    tenant_kind: TenantKind,
}

/// Parses the body of a create request, whose shape belongs to `http`.
pub type DraftParser<'a> = &'a (dyn Fn(&Value) -> TokenDraft + Sync);

impl<'a> Proxies<'a> {
    /// The caller names the URL.
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
        let (vault, party) = (self.vault, caller.party());
        let invocation =
            Invocation { vault, caller: Some(caller), tenant, party, stored: None, reactor: None };
        let joined = target::join(url, &call.rest, call.query.as_deref())?;
        invocation.run(url, joined, call).await
    }

    /// If the proxy needs no API key, `caller` is ignored: the proxy's application acts for the
    /// call.
    pub async fn invoke_chosen(
        self,
        caller: Option<&'a Caller>,
        chosen: &'a ChosenProxy,
        call: ProxyCall,
        draft: DraftParser<'a>,
        hosts: Option<&'a dyn ProgramHosts>,
    ) -> Result<OutboundResponse, ProxyFailure> {
        let proxy = &chosen.proxy;
        let caller = if chosen.requires_key() {
            let caller = caller.ok_or(Error::Unauthenticated)?;
            // A proxy of another tenant answers like one that does not exist.
            let own = Some(caller).filter(|caller| caller.tenant.id == proxy.tenant);
            Some(own.ok_or(NO_SUCH_PROXY)?)
        } else {
            chosen.application.as_deref()
        };
        let tenant = proxy.tenant;
        let maker = chosen.application.as_deref().or(caller);
        let stored = Stored { proxy, maker, draft, hosts, tenant_kind: chosen.tenant_kind };
        let (party, stored) = (Party::of(caller, tenant), Some(stored));
        let invocation =
            Invocation { vault: self.vault, caller, tenant, party, stored, reactor: None };
        let base = proxy.settings.destination.as_str();
        let url = target::join(base, &call.rest, call.query.as_deref())?;
        let outcome = invocation.run(base, url, call).await;
        self.count_call(proxy.id, outcome.as_ref());
        outcome
    }
}

impl<'a> Stored<'a> {
    fn around(
        self,
        party: Party,
        scope: &'a ProxyScope,
        line: &'a RequestLine,
    ) -> Surroundings<'a> {
        let (caller, draft, tenant_kind) = (self.maker, self.draft, self.tenant_kind);
        let code = self.hosts.map(|hosts| CodeSite { hosts, tenant_kind, line });
        Surroundings { party, work: &scope.work, scope, caller, draft, code }
    }
}

impl Invocation<'_> {
    async fn run(
        self,
        base: &str,
        url: HttpsUrl,
        call: ProxyCall,
    ) -> Result<OutboundResponse, ProxyFailure> {
        let line = RequestLine {
            method: call.method.clone(),
            path: call.rest.clone(),
            query: call.query.clone(),
        };
        let now = self.vault.now();
        let opened = Opened::new(self.vault, self.tenant, self.actor());
        let prepare = |budget: &Budget| match self.prepare(&call, now, budget, &opened) {
            Err(ProxyFailure::App(error)) => Err(error),
            prepared => Ok(prepared),
        };
        let prepared = self.vault.evaluating(self.party, Work::Page.budget(), prepare).await;
        let transformed = match prepared.map_err(ProxyFailure::from).flatten() {
            Ok(Prepared { body, headers: filled, scope, codes }) => {
                let mut headers = call.headers;
                for (number, value) in filled {
                    if let Some((_, old)) = headers.get_mut(number) {
                        *old = value;
                    }
                }
                let message = Message { headers, body: body.unwrap_or(call.body) };
                match self.change_request(message, scope.as_ref(), &line).await {
                    // The program ran, so its use of values is no failure.
                    Err(ProxyFailure::Answered(res)) => Ok(Err(res)),
                    message => message.map(|message| Ok((message, scope, codes))),
                }
            }
            Err(failure) => Err(failure),
        };
        // The call and the values that it uses have their entries before anything is sent.
        let (Message { headers, body }, scope, codes) =
            opened.settle(transformed).await?.map_err(ProxyFailure::Answered)?;
        let certificate = self.proxy().and_then(|it| it.settings.client_certificate.as_ref());
        let identity = certificate.map(|certificate| Arc::new(certificate.identity()));
        let event = self.event(&url, &call.method)?;
        let request = OutboundRequest {
            tenant: self.tenant,
            credential: self.party.credential,
            method: call.method,
            url,
            headers,
            body,
            timeout: PROXY_TIMEOUT,
            response_bytes_max: PROXY_ANSWER_BYTES_MAX,
            identity,
        };
        let answered = match self.send(request).await {
            Ok(mut answer) => {
                self.destroy_codes(&answer, &codes).await;
                answer.headers = answer_headers::passed(base, answer.headers);
                self.change_answer(answer, scope.as_ref(), &line).await
            }
            Err(failure) => Err(failure),
        };
        if let Some(event) = event {
            Box::pin(self.tell(event, answered.as_ref())).await;
        }
        answered
    }

    pub(super) fn actor(self) -> Actor {
        self.caller.map_or(Actor::ProxyCaller, Caller::actor)
    }

    pub(super) fn proxy(&self) -> Option<&Proxy> {
        self.stored.map(|stored| stored.proxy)
    }

    /// Destroys the codes that the call used, if the destination answered with success, whatever
    /// becomes of its answer. The request has left, so a failure to write must not change the
    /// answer: the caller would send the request again. The code then ends with its retention.
    async fn destroy_codes(self, answer: &OutboundResponse, codes: &[UsedCode]) {
        if let Some(caller) = self.caller.filter(|_| (200..300).contains(&answer.status)) {
            self.vault.tokens(caller).destroy_used(codes).await.ok();
        }
    }

    /// The tenant or the proxy may switch it on.
    fn destroys_codes(self) -> bool {
        let tenant = self.caller.and_then(|caller| caller.tenant.settings.get(DESTROY_CVC));
        tenant.is_some_and(|value| value == "true")
            || self.proxy().is_some_and(|proxy| proxy.settings.destroy_cvc_after_use)
    }

    /// Nothing is sent if a transform fails.
    async fn change_request(
        self,
        mut message: Message,
        scope: Option<&ProxyScope>,
        line: &RequestLine,
    ) -> Result<Message, ProxyFailure> {
        let (Some(stored), Some(scope)) = (self.stored, scope) else { return Ok(message) };
        if !stored.proxy.settings.response_transforms.is_empty() {
            // A transform cannot read a compressed answer.
            message.headers.retain(|(name, _)| name != ACCEPT_ENCODING);
            let identity = Secret::new(b"identity".to_vec());
            message.headers.push((String::from(ACCEPT_ENCODING), identity));
        }
        // A transform cannot take the marks of programs away.
        let (marks, headers) =
            message.headers.into_iter().partition::<Vec<_>, _>(|(name, _)| name == HOPS);
        let message = Message { headers, body: message.body };
        let around = stored.around(self.party, scope, line);
        // Boxed, as the transforms of the answer: calls without transforms need not hold their state.
        let changed = self.vault.proxies().transform_request(stored.proxy, message, around);
        let changed = Box::pin(changed).await;
        let changed = changed.map(|mut message| {
            message.headers.extend(marks);
            message
        });
        changed.map_err(|failure| match failure.shown_to(scope.computation()) {
            TransformFailure::Answered(res) => ProxyFailure::Answered(res),
            TransformFailure::App(error) => ProxyFailure::App(error),
            TransformFailure::Program(failed) => {
                ProxyFailure::Program { failed, destination_status: None }
            }
            TransformFailure::Failed(why) => ProxyFailure::invalid(why),
        })
    }

    /// An answer whose transform fails is not passed on.
    async fn change_answer(
        self,
        answer: OutboundResponse,
        scope: Option<&ProxyScope>,
        line: &RequestLine,
    ) -> Result<OutboundResponse, ProxyFailure> {
        let (Some(stored), Some(scope)) = (self.stored, scope) else { return Ok(answer) };
        let OutboundResponse { status, headers, body } = answer;
        let message = Message { headers, body };
        let (proxies, around) = (self.vault.proxies(), stored.around(self.party, scope, line));
        let changed = proxies.transform_response(stored.proxy, status, message, around);
        let changed = Box::pin(changed).await;
        let changed = changed.map_err(|failure| failure.shown_to(scope.computation()));
        let Message { headers, body } = changed.map_err(|failure| match failure {
            TransformFailure::Program(failed) => {
                ProxyFailure::Program { failed, destination_status: Some(status) }
            }
            failure @ (TransformFailure::Answered(_)
            | TransformFailure::App(_)
            | TransformFailure::Failed(_)) => ProxyFailure::Answer(failure),
        })?;
        Ok(OutboundResponse { status, headers, body })
    }

    /// An ephemeral proxy has no id.
    fn entity(self) -> Entity {
        if let Some(reactor) = self.reactor {
            return reactor.into();
        }
        let none = Entity::new(EntityKind::Proxy, Uuid::nil());
        self.proxy().map_or(none, |proxy| proxy.id.into())
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
    pub(super) fn prepare(
        self,
        call: &ProxyCall,
        now: Timestamp,
        budget: &Budget,
        opened: &Opened<'_>,
    ) -> Result<Prepared, ProxyFailure> {
        let settings = self.proxy().map(|proxy| &proxy.settings);
        let has_transforms = settings.is_some_and(|settings| {
            !settings.request_transforms.is_empty() || !settings.response_transforms.is_empty()
        });
        let (body, in_headers) = if settings.is_some_and(|it| it.disable_detokenization) {
            (BodySlots::none(), Slots(Vec::new()))
        } else {
            (BodySlots::find(call, budget)?, headers::find(call, budget)?)
        };
        let references = body.slots.references().chain(in_headers.references());
        // From here on the outcome may depend on the proxy's configuration and on tokens.
        opened.add(Act::Invoke, self.entity());
        let mut named = self.open(references, now, budget, opened)?;
        let codes = if self.destroys_codes() {
            named.used_codes(body.slots.code_readers().chain(in_headers.code_readers()))
        } else {
            Vec::new()
        };
        let needs_encrypted =
            body.slots.names("encrypted") || in_headers.names("encrypted") || has_transforms;
        let encrypted = if needs_encrypted { self.decrypt(call, opened)? } else { None };
        let mut scope = ProxyScope::new(named, self.configuration(), encrypted);
        let least = scope.computation();
        // Text around a value would decide, together with the value, if a transform fails.
        let transforms = settings.is_some_and(|settings| !settings.request_transforms.is_empty());
        let computes = transforms || self.reactor.is_some();
        let stand_alone = body.stands_alone() && in_headers.stand_alone();
        if computes && least < Computation::Any && !stand_alone {
            return Err(Error::Forbidden(NOT_ALONE).into());
        }
        if body.slots.names("proxy") {
            scope.describe(call, None);
        }
        let vault = self.vault;
        let filled = body.fill(Filling { scope: &scope, vault, budget });
        let filled = filled.map_err(|unfilled| unfilled.shown_to(least))?;
        let sent = filled.as_ref().unwrap_or(&call.body).expose();
        if in_headers.names("proxy") {
            scope.describe(call, Some(sent));
        }
        let headers = headers::fill(&in_headers, Filling { scope: &scope, vault, budget });
        let headers = headers.map_err(|unfilled| unfilled.shown_to(least))?;
        let scope = has_transforms.then(|| scope.for_transforms(call, sent));
        Ok(Prepared { body: filled, headers, scope, codes })
    }

    /// A caller that chooses the destination could send the content of `BT-ENCRYPTED` to itself, so
    /// it needs the right to use all tokens in plain: the encrypted value is in no container, and
    /// its type is not authenticated.
    fn decrypt(self, call: &ProxyCall, opened: &Opened<'_>) -> Result<Option<GuardedValue>, Error> {
        let Some(text) = &call.encrypted else { return Ok(None) };
        let caller = self.caller.ok_or(Error::Forbidden(NO_APPLICATION))?;
        if self.stored.is_none() {
            let all = Target { containers: &[Container::root()], id: TargetId::Unknown };
            let right = caller.require_in_all(Permission::TokenUse, all)?;
            if right != Transform::Reveal {
                return Err(Error::Forbidden(NOT_ENCRYPTED));
            }
        }
        let value = self.vault.client_keys().open_header(caller, text.expose(), opened)?;
        let computation = self.computation(Operand::Value(ValueOrigin::Collected));
        Ok(Some(GuardedValue { value, computation }))
    }

    /// Opens each token and intent that the expressions name once.
    fn open<'r>(
        self,
        references: impl Iterator<Item = &'r Reference>,
        now: Timestamp,
        budget: &Budget,
        opened: &Opened<'_>,
    ) -> Result<NamedReferences, ProxyFailure> {
        let mut named = NamedReferences(HashMap::new());
        let mut ids = BTreeSet::new();
        let mut missing = BTreeSet::new();
        let mut snapshot = None;
        for reference in references {
            if named.0.contains_key(reference) || missing.contains(reference.id()) {
                continue;
            }
            ids.insert(reference.id());
            let tokens_max =
                if self.reactor.is_some() { REACTOR_TOKENS_MAX } else { PROXY_TOKENS_MAX };
            if ids.len() > tokens_max {
                let detail = format!("At most {tokens_max} tokens may be used in a call.");
                return Err(ProxyFailure::Invalid(detail));
            }
            let snapshot = match &mut snapshot {
                Some(snapshot) => snapshot,
                none => none.insert(self.vault.snapshot()?),
            };
            let caller = self.caller.ok_or(Error::Forbidden(NO_APPLICATION))?;
            let (tokens, usage) = (self.vault.tokens(caller), self.usage(caller));
            let found = tokens.open_reference(snapshot, reference, usage, now, budget, opened);
            // The data is too large for the budget. This reason depends on the data, so it is not
            // disclosed.
            if matches!(found, Err(Error::Invalid(_))) {
                return Err(Unfilled::unplaced().into());
            }
            match found? {
                Some(value) => drop(named.0.insert(reference.clone(), value)),
                None => drop(missing.insert(reference.id())),
            }
        }
        if missing.is_empty() {
            return Ok(named);
        }
        let ids = missing.into_iter().collect::<Vec<_>>().join(", ");
        Err(ProxyFailure::Invalid(format!(
            "Failed to detokenize some tokens: {ids}. Tokens were not found."
        )))
    }
}

impl From<Unfilled> for ProxyFailure {
    fn from(unfilled: Unfilled) -> Self {
        match unfilled {
            Unfilled::Guarded => Self::App(Error::Forbidden(GUARDED)),
            Unfilled::Invalid(sentence) => Self::Invalid(sentence),
        }
    }
}
