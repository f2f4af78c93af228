//! Calls through proxies over HTTP: the checks, the body, the destination's answer.
//!
//! Programs decide by status and header if a call may be repeated. An answer with
//! `BT-PROXY-DESTINATION-STATUS` is the destination's. Without it, a 4xx status other than 408
//! means that nothing was sent.

mod failure;

use std::net::IpAddr;
use std::sync::Arc;

use hyper::header::{HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Response, StatusCode};

use crate::app::{
    Caller, ChosenProxy, Error, OutboundFailure, OutboundResponse, ProxyCall, ProxyFailure,
};
use crate::bounds::{PROXY_BODY_BYTES_MAX, PROXY_BODY_COPIES};
use crate::domain::reactor::ProgramAnswer;
use crate::domain::shares::Claimant;
use crate::http::body::RequestBody;
use crate::http::pipeline::RequestSummary;
use crate::http::programs::answer;
use crate::http::proxy::failure::ProxyProblem;
use crate::http::route::{self, PROXY_PERMISSIONS};
use crate::http::wire::query::{PlusSign, decode};
use crate::http::wire::token;
use crate::http::{Http, Problem, Reply, RequestContext, body, origin, passed_headers};
use crate::limits::{KeyHash, Operation, ProxyKind, ProxyRequest};
use crate::secret::{Secret, SecretBody};

/// The name of the header, and of the query parameter with the same effect.
const PROXY_KEY: &str = "bt-proxy-key";
const ENCRYPTED: &str = "bt-encrypted";
const PROXY_URL: &str = "bt-proxy-url";
const NO_SUCH_PROXY: &str = "There is no proxy with this key.";
const DESTINATION_STATUS: HeaderName = HeaderName::from_static("bt-proxy-destination-status");
const NO_PROXY: &str =
    "The request names no proxy: it needs the header BT-PROXY-KEY or BT-PROXY-URL.";
/// A request that a browser makes for an element of a page, such as a script or a frame. The answer
/// would become part of that page with the origin of the vault.
const OF_ELEMENT: &str = "Calls through proxies are made by programs: a page calls them by fetch, not \
                          as the source of a script, a frame, an image or a form.";
const NO_MEMORY: &str = "this server has no memory left for it";
const MISSING_PERMISSION: &str = "Missing permission: token:use or proxy:invoke";

impl Http {
    pub(super) async fn invoke_proxy(
        &self,
        context: &RequestContext,
        parts: &Parts,
        body: RequestBody,
        address: IpAddr,
        summary: &mut RequestSummary,
    ) -> Response<SecretBody> {
        match self.call_proxy(context, parts, body, address, summary).await {
            Ok(response) => response,
            Err(problem) => self.proxy_failure(context, &problem),
        }
    }

    pub(super) fn proxy_failure(
        &self,
        context: &RequestContext,
        problem: &ProxyProblem,
    ) -> Response<SecretBody> {
        self.note(&problem.problem);
        let json = "application/json; charset=utf-8";
        context.failure_as(&problem.problem, problem.to_json(), json)
    }

    async fn call_proxy(
        &self,
        context: &RequestContext,
        parts: &Parts,
        body: RequestBody,
        address: IpAddr,
        summary: &mut RequestSummary,
    ) -> Result<Response<SecretBody>, ProxyProblem> {
        let is_fetch = |purpose: &HeaderValue| purpose.as_bytes() == b"empty";
        if !parts.headers.get_all("sec-fetch-dest").iter().all(is_fetch) {
            body::drain(body).await;
            return Err(Problem::new(403, OF_ELEMENT).into());
        }
        let choice = Choice::of(parts);
        let (caller, claimant) = match self.admit_call(&choice, parts, address, summary) {
            Ok(admitted) => admitted,
            Err(problem) => {
                body::drain(body).await;
                return Err(problem);
            }
        };
        let share = self.bodies.share(claimant);
        let (body, mut share) = body::read(body, PROXY_BODY_BYTES_MAX, share).await?;
        let memory = body.expose().len().saturating_mul(PROXY_BODY_COPIES);
        share.grow_to(memory).map_err(Problem::from)?;
        // The body may have taken half a minute, in which keys and proxies may have changed.
        let (caller, proxy) = self.admit_again(&choice, caller)?;
        // Check before sending: a caller refused afterwards would repeat a call that the
        // destination has received.
        self.answers.require_room(claimant)?;
        let call = self.call_of(context, parts, body);
        let (calls, caller) = (self.app.proxies(), caller.as_deref());
        let response = match (proxy, choice, caller) {
            (Some(proxy), _, caller) => {
                let credential = proxy.credential(caller);
                let hosts =
                    self.program_hosts(parts, address, context.trace.as_str(), credential)?;
                let draft = &token::parse_draft;
                match calls.invoke_chosen(caller, &proxy, call, draft, Some(&hosts)).await {
                    Err(ProxyFailure::Answered(res)) => {
                        programmed(context, answer::in_place(&res), None)
                    }
                    Err(ProxyFailure::Program { failed, destination_status }) => {
                        programmed(context, answer::in_proxy(&failed), destination_status)
                    }
                    answered => passed_on(context, answered?),
                }
            }
            (None, Choice::Url(url), Some(caller)) => {
                passed_on(context, calls.invoke_ephemeral(caller, &url, call).await?)
            }
            (None, _, _) => return Err(Problem::new(400, NO_PROXY).into()),
        };
        // The request is no longer in memory; the answer has its own budget.
        drop(share);
        let held = self.answers.try_hold(claimant, response);
        held.map_err(|_full| ProxyFailure::from(OutboundFailure::Broken(NO_MEMORY)).into())
    }

    /// Makes the checks that come before the body is read. `None` for the caller if the proxy needs
    /// no API key.
    fn admit_call(
        &self,
        choice: &Choice,
        parts: &Parts,
        address: IpAddr,
        summary: &mut RequestSummary,
    ) -> Result<(Option<Arc<Caller>>, Claimant), ProxyProblem> {
        let proxy = self.chosen(choice)?;
        if let Some(proxy) = proxy.as_ref().filter(|proxy| !proxy.requires_key()) {
            self.refuse_other_tenant(proxy, &parts.headers)?;
            summary.caller = proxy.application.as_ref().map(Arc::clone);
            let request = ProxyRequest {
                address,
                kind: ProxyKind::Keyed,
                proxy: KeyHash(proxy.tag()),
                rate_limit: proxy.rate_limit,
            };
            let admitted = self.limiter.admit_proxy(&request, self.app.now());
            admitted.map_err(|refusal| self.limited(refusal))?;
            self.app.require_space_for_audit()?;
            return Ok((None, Claimant::Stranger { address, tenant: Some(proxy.tenant()) }));
        }
        // Without a key, an unknown proxy is answered like one that needs a key.
        let caller =
            self.admit_caller(parts, address, Operation::Other, summary, require_permission)?;
        let claimant = origin::claimant(Some(&caller), address);
        Ok((Some(caller), claimant))
    }

    /// The proxy needs no key, but a key of another tenant must not reach it: the frames of card
    /// fields send values with the key of their page, and the page names the proxy.
    fn refuse_other_tenant(
        &self,
        proxy: &ChosenProxy,
        headers: &HeaderMap,
    ) -> Result<(), ProxyProblem> {
        match self.caller_of(headers) {
            Ok(caller) if caller.tenant.id != proxy.tenant() => {
                Err(Problem::new(404, NO_SUCH_PROXY).into())
            }
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Repeats the checks after the body was read, and selects the proxy.
    fn admit_again(
        &self,
        choice: &Choice,
        caller: Option<Arc<Caller>>,
    ) -> Result<(Option<Arc<Caller>>, Option<ChosenProxy>), ProxyProblem> {
        let proxy = self.chosen(choice)?;
        let Some(caller) = caller else {
            let free = proxy.filter(|proxy| !proxy.requires_key());
            return Ok((None, Some(free.ok_or(Error::Unauthenticated)?)));
        };
        let caller = self.app.access().authenticate_again(&caller)?;
        require_permission(&caller)?;
        if matches!(choice, Choice::Key(_)) && proxy.is_none() {
            return Err(Problem::new(404, NO_SUCH_PROXY).into());
        }
        // Another tenant's proxy is not found, like one that does not exist.
        if proxy.as_ref().is_some_and(|proxy| proxy.tenant() != caller.tenant.id) {
            return Err(Problem::new(404, NO_SUCH_PROXY).into());
        }
        Ok((Some(caller), proxy))
    }

    fn chosen(&self, choice: &Choice) -> Result<Option<ChosenProxy>, Error> {
        match choice {
            Choice::Key(key) => self.app.proxies().choose(key),
            Choice::Nothing | Choice::Url(_) => Ok(None),
        }
    }
}

/// The part of the request that names the proxy.
#[derive(Debug)]
enum Choice {
    Key(String),
    Nothing,
    Url(String),
}

impl Choice {
    /// The key overrides the URL. Published clients send an invalid URL beside a key, so the URL is
    /// then ignored.
    fn of(parts: &Parts) -> Self {
        let header = |name: &str| {
            let value = parts.headers.get(name)?.to_str().ok()?;
            (!value.is_empty()).then(|| String::from(value))
        };
        // Other parts of the query are for the destination and may have any form.
        let in_query = || {
            let pairs = parts.uri.query()?.split('&').filter_map(|pair| pair.split_once('='));
            let is_key =
                |name: &str| decode(name, PlusSign::Space).is_some_and(|it| it == PROXY_KEY);
            let (_, key) = pairs.into_iter().find(|(name, _)| is_key(name))?;
            decode(key, PlusSign::Space).filter(|key| !key.is_empty())
        };
        match header(PROXY_KEY).or_else(in_query) {
            Some(key) => Self::Key(key),
            None => header(PROXY_URL).map_or(Self::Nothing, Self::Url),
        }
    }
}

fn require_permission(caller: &Caller) -> Result<(), ProxyProblem> {
    caller
        .require_one_somewhere(PROXY_PERMISSIONS)
        .map_err(|_lacks| Problem::new(403, MISSING_PERMISSION).into())
}

impl Http {
    fn call_of(&self, context: &RequestContext, parts: &Parts, body: Secret<Vec<u8>>) -> ProxyCall {
        let encrypted = parts.headers.get(ENCRYPTED);
        let is_own = |name: &str| self.console.is_own_header(name);
        ProxyCall {
            method: String::from(parts.method.as_str()),
            rest: String::from(route::proxy_rest(parts.uri.path()).unwrap_or_default()),
            query: parts.uri.query().map(String::from),
            headers: passed_headers::for_destination(
                &parts.headers,
                context.trace.as_str(),
                is_own,
            ),
            body,
            // Decoding refuses bytes that are not base64.
            encrypted: encrypted
                .map(|it| Secret::new(String::from_utf8_lossy(it.as_bytes()).into_owned())),
        }
    }
}

/// The answer of a code transform. With the status of the destination, the caller knows that the
/// request was sent.
fn programmed(
    context: &RequestContext,
    answer: ProgramAnswer,
    destination_status: Option<u16>,
) -> Response<SecretBody> {
    let mut response = context.success(Reply::of_program(answer));
    if let Some(status) = destination_status {
        response.headers_mut().insert(DESTINATION_STATUS, HeaderValue::from(status));
    }
    response
}

fn passed_on(context: &RequestContext, answer: OutboundResponse) -> Response<SecretBody> {
    let mut headers = passed_headers::for_caller(&answer.headers);
    headers.insert(DESTINATION_STATUS, HeaderValue::from(answer.status));
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::BAD_GATEWAY);
    context.passed_on(status, headers, SecretBody::from(answer.body))
}
