//! The pipeline of a request: route, checks, body, the route's function, response, log line.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use hyper::body::Incoming;
use hyper::header::{DATE, HeaderMap, HeaderValue, IF_NONE_MATCH};
use hyper::http::request::Parts;
use hyper::{Request, Response};
use serde_json::Value;

use crate::app::{Caller, Error, Guard, RefusedAttempt, originated};
use crate::bounds::{ARGUMENTS_BYTES_MAX, BODY_BYTES_MAX};
use crate::domain::audit::RefusalReason;
use crate::domain::id::KeyId;
use crate::domain::origin::Origin;
use crate::domain::page_group::PageGroup;
use crate::domain::person::ConsoleRole;
use crate::domain::shares::Claimant;
use crate::domain::time::Timestamp;
use crate::http::body::{self, RequestBody};
use crate::http::exchange::{Exchange, OperationCall, OperationFailure, counted};
use crate::http::operations::tokens;
use crate::http::operator_listener;
use crate::http::origin::{API_KEY, claimant};
use crate::http::probes::ProbeRequest;
use crate::http::problem::Problem;
use crate::http::programs::{ProgramMark, answer};
use crate::http::reply::{self, Refused, Reply, RequestContext};
use crate::http::request_counts::NO_ROUTE;
use crate::http::route::{
    self, ApiCall, BodyKind, Idempotency, NoMatch, OperationRoute, Presence, Route,
};
use crate::http::sign_on::{Certified, SignOn};
use crate::http::state::{DeprecatedOperations, Http};
use crate::http::wire::query::Query;
use crate::idempotency::{Replay, is_key};
use crate::limits::Operation;
use crate::log::{RequestLine, Trace};
use crate::secret::{Secret, SecretBody};
use crate::threeds::scheme::Scheme;

const VIEWER: &str = "A viewer of the console can read, and cannot change anything.";
const NO_KEYS: &str =
    "The settings of this server allow the console only with the operator's sign-on.";
const IDEMPOTENCY_KEY: &str = "bt-idempotency-key";

/// A request's operation, with its path parameters.
struct Invocation {
    route: &'static Route,
    operation: &'static OperationRoute,
    call: OperationCall,
}

/// The parts of a request that are logged with its response.
#[derive(Default)]
pub(super) struct RequestSummary {
    route: Option<&'static Route>,
    pub(super) caller: Option<Arc<Caller>>,
    pub(super) sign_on: SignOn,
}

impl Http {
    /// Answers a request to the API listener. `certified` is the person of a client certificate,
    /// on the listener that asks for one.
    ///
    /// Not an `async fn`, whose future would hold the request twice.
    pub fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        peer: SocketAddr,
        certified: Option<Certified>,
    ) -> impl Future<Output = Response<SecretBody>> + Send {
        let (parts, body) = request.into_parts();
        let sign_on = self.console.sign_on(&parts.headers, peer.ip(), certified);
        let address = self.address(&parts.headers, peer);
        async move { self.answer_as(&parts, body.into(), address, sign_on).await }
    }

    /// Answers a request that a program of a tenant sends to the vault. It never has a sign-on.
    pub(super) async fn answer_program(
        &self,
        parts: &Parts,
        body: SecretBody,
        address: IpAddr,
    ) -> Response<SecretBody> {
        self.answer_as(parts, RequestBody::Program(body), address, SignOn::Absent).await
    }

    async fn answer_as(
        &self,
        parts: &Parts,
        body: RequestBody,
        address: IpAddr,
        sign_on: SignOn,
    ) -> Response<SecretBody> {
        let started = Instant::now();
        let context = self.context(parts);
        let person = sign_on.person().cloned();
        let mut summary = RequestSummary { sign_on, ..RequestSummary::default() };
        // An id that looks like a card number is not logged.
        let trace = Trace::from_client(context.trace.as_str());
        let origin = Origin::of_request(Some(address), trace.as_str()).with_person(person);
        let origin = Arc::new(origin);
        let mut response = originated(
            Arc::clone(&origin),
            self.respond(&context, parts, body, address, &mut summary),
        )
        .await;
        self.date(&mut response);
        let route = summary.route.map_or(NO_ROUTE, |route| route.name);
        let (status, duration) = (response.status().as_u16(), started.elapsed());
        self.requests.count(route, status, duration);
        if let Some(caller) = &summary.caller
            && self.pages.has(PageGroup::Console)
        {
            self.activity.count(caller.tenant.id, route, status, self.app.now());
        }
        self.log.request(RequestLine {
            trace,
            route,
            address: Some(address),
            tenant: summary.caller.as_ref().map(|caller| caller.tenant.id.uuid()),
            application: summary.caller.as_ref().map(|caller| caller.application.id.uuid()),
            key: origin.key().map(KeyId::uuid),
            status,
            duration,
        });
        if response.extensions_mut().remove::<Refused>().is_some() {
            let reason = reason_of(status, &parts.headers, &summary.sign_on);
            let caller = summary.caller.map(|it| (it.tenant.id, it.application.id));
            self.app.audit().refusals().note(&RefusedAttempt { reason, route, caller, origin });
        }
        response
    }

    /// The layer below writes the time of day into the header `Date`. An answer of a development
    /// server whose clock was moved has the time of that clock, as the times in its body.
    fn date(&self, response: &mut Response<SecretBody>) {
        let date = self.app.clock().moved().and_then(Timestamp::to_http_date);
        if let Some(date) = date.and_then(|date| HeaderValue::try_from(date).ok()) {
            response.headers_mut().insert(DATE, date);
        }
    }

    /// Answers a request to the operator's listeners. It is neither counted nor logged: scrapers
    /// would fill the log.
    pub async fn answer_operator(&self, request: Request<Incoming>) -> Response<SecretBody> {
        let (parts, body) = request.into_parts();
        let context = self.context(&parts);
        body::drain(body.into()).await;
        operator_listener::answer_operator(&self.registry, &context, &parts)
    }

    /// Answers a request to the results listener. `schemes` issued the peer's certificate.
    pub async fn answer_results(
        &self,
        request: Request<Incoming>,
        peer: SocketAddr,
        schemes: &[Scheme],
    ) -> Response<SecretBody> {
        let started = Instant::now();
        let (parts, body) = request.into_parts();
        let context = self.context(&parts);
        let trace = Trace::from_client(context.trace.as_str());
        let address = peer.ip().to_canonical();
        let origin = Arc::new(Origin::of_request(Some(address), trace.as_str()));
        let (route, reply) = match route::find_results(&parts.method, parts.uri.path()) {
            Ok((route, function)) => {
                let share = self.bodies.share(Claimant::Certified(address));
                let read = body::read(body.into(), BODY_BYTES_MAX, share).await;
                let reply = match read {
                    Ok((bytes, _share)) => {
                        originated(origin, function(self, bytes.expose(), schemes)).await
                    }
                    Err(problem) => Err(problem),
                };
                (route.name, reply)
            }
            Err(no_match) => {
                body::drain(body.into()).await;
                (NO_ROUTE, Err(no_match.into()))
            }
        };
        let response = match reply {
            Ok(reply) => context.success(reply),
            Err(problem) => self.failure(&context, &problem),
        };
        self.log.request(RequestLine {
            trace,
            route,
            address: Some(address),
            tenant: None,
            application: None,
            key: None,
            status: response.status().as_u16(),
            duration: started.elapsed(),
        });
        response
    }

    /// True if this server has the routes with this presence.
    fn has(&self, presence: Presence) -> bool {
        match presence {
            Presence::All => true,
            Presence::With(groups) => groups.iter().any(|group| self.pages.has(*group)),
            Presence::WithTestTenant => self.app.threeds().has_test_tenant(),
        }
    }

    /// Every request counts for its address, even without a route.
    async fn respond(
        &self,
        context: &RequestContext,
        parts: &Parts,
        body: RequestBody,
        address: IpAddr,
        summary: &mut RequestSummary,
    ) -> Response<SecretBody> {
        let is_here = |presence| self.has(presence);
        let found = route::find_api(&parts.method, parts.uri.path(), is_here);
        let is_of_program = parts.extensions.get::<ProgramMark>().is_some();
        let found = found.and_then(|(route, call)| {
            // Pages, files, probes and the console are not for programs.
            let is_for_all = !is_of_program || (call.is_for_programs() && !route.is_of_console());
            if is_for_all { Ok((route, call)) } else { Err(NoMatch::Path) }
        });
        let is_page = match &found {
            Ok((route, _)) | Err(NoMatch::Method { route, .. }) => route.is_page(),
            Err(NoMatch::Absent(_) | NoMatch::Path) => false,
        };
        let is_proxy = route::proxy_rest(parts.uri.path()).is_some();
        let admitted = self.admit_address(address).and_then(|()| Ok(found?));
        let (route, call) = match admitted {
            Ok(admitted) => admitted,
            Err(problem) => {
                body::drain(body).await;
                return if is_page {
                    context.traced(self.show_failure(&problem, parts))
                } else if is_proxy {
                    self.proxy_failure(context, &problem.into())
                } else {
                    self.failure(context, &problem)
                };
            }
        };
        summary.route = Some(route);
        match call {
            ApiCall::Asset(asset) => {
                body::drain(body).await;
                let hosts = self.hosts(parts);
                context.success(asset.reply(&parts.headers, &hosts, &self.elements_hosts))
            }
            ApiCall::Operation(operation, call) => {
                let invocation = Invocation { route, operation, call };
                self.operate(context, parts, body, address, invocation, summary).await
            }
            // Pages and proxies have large futures. Boxed, they do not enlarge the future of every
            // other request, which is allocated and wiped.
            ApiCall::Page(call) => {
                context.traced(Box::pin(self.show(call, parts, body, address)).await)
            }
            ApiCall::Preflight => {
                body::drain(body).await;
                if is_proxy { context.proxy_preflight(&parts.headers) } else { context.preflight() }
            }
            ApiCall::Probe(function) => {
                body::drain(body).await;
                let request = ProbeRequest::of_client(self, parts, &summary.sign_on);
                let mut response = match function(self, &request) {
                    Ok(reply) => context.success(reply),
                    Err(problem) => self.failure(context, &problem),
                };
                if request.has_wrong_key {
                    response.extensions_mut().insert(Refused);
                }
                response
            }
            ApiCall::Proxy => {
                Box::pin(self.invoke_proxy(context, parts, body, address, summary)).await
            }
        }
    }

    async fn operate(
        &self,
        context: &RequestContext,
        parts: &Parts,
        body: RequestBody,
        address: IpAddr,
        invocation: Invocation,
        summary: &mut RequestSummary,
    ) -> Response<SecretBody> {
        let operation = invocation.operation;
        let is_of_program = invocation.route.body == BodyKind::Arguments;
        let mut response = match self
            .reply(context, parts, body, address, invocation, summary)
            .await
        {
            Ok(reply) if is_of_program => {
                let claimant = claimant(summary.caller.as_deref(), address);
                let held = self.answers.try_hold(claimant, context.success(reply));
                // A 503 would ask the caller to run the program again.
                held.unwrap_or_else(|_full| context.success(Reply::of_program(answer::unsent())))
            }
            // A write cannot be answered 503.
            Ok(reply) if operation.idempotency == Idempotency::Once => context.success(reply),
            Ok(reply) => self.hold(context, summary, address, reply),
            Err(OperationFailure::App(Error::Replayed(earlier))) => {
                match self.replayed(*earlier, summary).await {
                    Ok(reply) => self.hold(context, summary, address, reply),
                    Err(problem) => self.failure(context, &problem),
                }
            }
            Err(OperationFailure::App(error)) => self.failure(context, &error.into()),
            Err(OperationFailure::Problem(problem)) => self.failure(context, &problem),
        };
        if let Some(successor) = operation.successor {
            reply::announce(successor.path, response.headers_mut());
        }
        response
    }

    /// Renders an answer and counts it in the memory of all answers until the client has read it.
    fn hold(
        &self,
        context: &RequestContext,
        summary: &RequestSummary,
        address: IpAddr,
        reply: Reply,
    ) -> Response<SecretBody> {
        let claimant = claimant(summary.caller.as_deref(), address);
        self.answers.hold(context, claimant, context.success(reply))
    }

    fn failure(&self, context: &RequestContext, problem: &Problem) -> Response<SecretBody> {
        self.note(problem);
        context.failure(problem)
    }

    /// Sends an earlier answer again. This shows its content once more, so it is audited as an
    /// access.
    async fn replayed(&self, replay: Replay, summary: &RequestSummary) -> Result<Reply, Problem> {
        let caller = summary.caller.as_ref().ok_or(Error::Unauthenticated)?;
        self.app.audit().note_replay(caller, &replay).await?;
        self.requests.count_replayed();
        Ok(Reply::replayed(replay))
    }

    /// Checks the request, reads its body and calls the operation.
    async fn reply(
        &self,
        context: &RequestContext,
        parts: &Parts,
        body: RequestBody,
        address: IpAddr,
        invocation: Invocation,
        summary: &mut RequestSummary,
    ) -> Result<Reply, OperationFailure> {
        let begun = match self.admit(parts, address, &invocation, summary) {
            Ok(caller) => {
                let guard = self.begin_once(parts, invocation.operation, &caller).await;
                guard.map(|guard| (caller, guard))
            }
            Err(problem) => Err(problem.into()),
        };
        let (caller, guard) = match begun {
            Ok(begun) => begun,
            Err(failure) => {
                body::drain(body).await;
                return Err(failure);
            }
        };
        let share = self.bodies.share(claimant(Some(&caller), address));
        // Boxed, the reading of bodies does not enlarge the future of every read.
        let (body, _share) = match invocation.route.body {
            BodyKind::Json => Box::pin(body::read_json(&parts.headers, body, share)).await?,
            BodyKind::Arguments => {
                let (headers, most) = (&parts.headers, ARGUMENTS_BYTES_MAX);
                Box::pin(body::read_json_up_to(most, headers, body, share)).await?
            }
            BodyKind::MergePatch => {
                Box::pin(body::read_merge_patch(&parts.headers, body, share)).await?
            }
            BodyKind::Form | BodyKind::Message | BodyKind::Nothing | BodyKind::Raw => {
                body::drain(body).await;
                (Secret::new(Value::Null), share)
            }
        };
        // The body may have taken half a minute. Look the caller up again: the key may have been
        // deleted or restricted since.
        let caller = self.app.access().authenticate_again(&caller)?;
        caller.require_one_somewhere(invocation.operation.permissions)?;
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        let query = query.ok_or(Problem::new(400, "The query is too long or not valid UTF-8."))?;
        let if_none_match = parts.headers.get(IF_NONE_MATCH).and_then(|tags| tags.to_str().ok());
        let exchange = Exchange {
            http: self,
            app: &self.app,
            caller: &caller,
            shared_caller: &caller,
            context,
            query,
            body,
            guard,
            catalog: &self.catalog,
            if_none_match: if_none_match.map(String::from),
            parts,
            address,
        };
        (invocation.call)(exchange).await
    }

    /// Reserves the request's idempotency key, or finds the earlier answer.
    async fn begin_once(
        &self,
        parts: &Parts,
        operation: &OperationRoute,
        caller: &Arc<Caller>,
    ) -> Result<Option<Guard>, OperationFailure> {
        let Some(value) = parts.headers.get(IDEMPOTENCY_KEY) else { return Ok(None) };
        if operation.idempotency == Idempotency::Ignored {
            return Ok(None);
        }
        let key = value.to_str().ok().filter(|text| is_key(text)).ok_or(Problem::new(
            400,
            "The BT-IDEMPOTENCY-KEY header must have 1 to 255 visible characters.",
        ))?;
        let path = parts.uri.path();
        let path = path.strip_suffix('/').unwrap_or(path);
        Ok(Some(
            self.app
                .idempotency()
                .begin(caller, (parts.method.as_str(), path, key), tokens::show_again)
                .await?,
        ))
    }

    /// Makes the checks that come before the body is read.
    fn admit(
        &self,
        parts: &Parts,
        address: IpAddr,
        invocation: &Invocation,
        summary: &mut RequestSummary,
    ) -> Result<Arc<Caller>, Problem> {
        let operation = invocation.operation;
        let route = invocation.route;
        let may = |caller: &Caller| {
            if caller.role() == Some(ConsoleRole::Viewer) && !route.is_reading() {
                return Err(Problem::new(403, VIEWER));
            }
            if caller.role().is_none() && !self.console.takes_keys && route.is_of_console() {
                return Err(Problem::new(403, NO_KEYS));
            }
            caller.require_one_somewhere(operation.permissions).map_err(Problem::from)
        };
        let caller = if parts.headers.contains_key(API_KEY) {
            self.admit_caller(parts, address, operation.limit, summary, may)?
        } else {
            let caller = self.person(parts, &summary.sign_on)?;
            self.admit_known(caller, address, operation.limit, summary, may)?
        };
        if let Some(successor) = operation.successor
            && self.deprecated == DeprecatedOperations::Refused
        {
            return Err(Problem::new(410, successor.refusal));
        }
        Ok(caller)
    }

    /// The checks of every request with an API key; `may` checks its permissions.
    pub(super) fn admit_caller<E: From<Error> + From<Problem>>(
        &self,
        parts: &Parts,
        address: IpAddr,
        limit: Operation,
        summary: &mut RequestSummary,
        may: impl FnOnce(&Caller) -> Result<(), E>,
    ) -> Result<Arc<Caller>, E> {
        let caller = self.authenticate(parts)?;
        self.admit_known(caller, address, limit, summary, may)
    }

    /// The key of a call is honoured only for requests that arrive through the host of the call.
    fn authenticate(&self, parts: &Parts) -> Result<Arc<Caller>, Error> {
        let identity =
            parts.extensions.get::<ProgramMark>().and_then(|mark| mark.identity.as_ref());
        if let (Some(identity), Some(given)) = (identity, parts.headers.get(API_KEY))
            && identity.is_key(given.as_bytes())
        {
            return self.app.access().program(identity);
        }
        self.caller_of(&parts.headers)
    }

    fn admit_known<E: From<Error> + From<Problem>>(
        &self,
        caller: Arc<Caller>,
        address: IpAddr,
        limit: Operation,
        summary: &mut RequestSummary,
        may: impl FnOnce(&Caller) -> Result<(), E>,
    ) -> Result<Arc<Caller>, E> {
        summary.caller = Some(Arc::clone(&caller));
        let request = counted(&caller, address, limit);
        let admitted = self.limiter.admit(&request, self.app.now());
        admitted.map_err(|refusal| self.limited(refusal))?;
        may(&caller)?;
        // Every request with a key writes an audit entry, which needs room on the disk.
        self.app.require_space_for_audit()?;
        Ok(caller)
    }
}

/// The reason of a refusal with this status. Probes answer a wrong key with their usual status.
fn reason_of(status: u16, headers: &HeaderMap, sign_on: &SignOn) -> RefusalReason {
    match status {
        403 => RefusalReason::NotAllowed,
        401 if !headers.contains_key(API_KEY) => match sign_on {
            SignOn::WrongSecret => RefusalReason::WrongSecret,
            SignOn::Absent | SignOn::Malformed(_) | SignOn::NoRole(_) | SignOn::Person(_) => {
                RefusalReason::NoKey
            }
        },
        _ => RefusalReason::WrongKey,
    }
}
