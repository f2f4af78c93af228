//! Calls through proxies over HTTP: the checks, the body, the destination's answer.
//!
//! Programs decide by status and header whether a call may be repeated. An answer with
//! `BT-PROXY-DESTINATION-STATUS` is the destination's. Without it, a status of 4xx other than 408
//! means that nothing was sent.

mod failure;
mod headers;

use std::net::IpAddr;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};

use crate::app::{Caller, Error, OutboundResponse, ProxyCall};
use crate::bounds::{PROXY_BODY_BYTES_MAX, PROXY_BODY_COPIES};
use crate::http::body;
use crate::http::exchange::counted;
use crate::http::pipeline::{RequestSummary, key_of};
use crate::http::problem::Problem;
use crate::http::proxy::failure::ProxyProblem;
use crate::http::reply::RequestContext;
use crate::http::route::{self, PROXY_PERMISSIONS};
use crate::http::state::Http;
use crate::limits;
use crate::secret::{Secret, SecretBody};

const PROXY_URL: &str = "bt-proxy-url";
const DESTINATION_STATUS: HeaderName = HeaderName::from_static("bt-proxy-destination-status");
const NO_PROXY: &str =
    "The request names no proxy: it needs the header BT-PROXY-KEY or BT-PROXY-URL.";
const MISSING_PERMISSION: &str = "Missing permission: token:use or proxy:invoke";

impl Http {
    /// Answers a call through a proxy.
    pub(super) async fn invoke_proxy(
        &self,
        context: &RequestContext,
        parts: &Parts,
        body: Incoming,
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
        body: Incoming,
        address: IpAddr,
        summary: &mut RequestSummary,
    ) -> Result<Response<SecretBody>, ProxyProblem> {
        let caller = match self.admit_call(parts, address, summary) {
            Ok(caller) => caller,
            Err(problem) => {
                body::drain(body).await;
                return Err(problem);
            }
        };
        let (body, mut share) = body::read(body, PROXY_BODY_BYTES_MAX, &self.bodies).await?;
        share
            .grow_to(body.expose().len().saturating_mul(PROXY_BODY_COPIES))
            .map_err(Problem::from)?;
        // The body may have taken half a minute, in which the key may have been deleted.
        let caller = self.app.access().authenticate_again(&caller)?;
        require_permission(&caller)?;
        let url = parts.headers.get(PROXY_URL).and_then(|url| url.to_str().ok());
        let url = url.ok_or(Problem::new(400, NO_PROXY))?;
        let call = call_of(context, parts, body);
        let answer = self.app.proxy_calls(&caller).invoke_ephemeral(url, call).await?;
        // The request and its share are gone by now; the answer has a budget of its own.
        drop(share);
        Ok(self.answers.try_hold(passed_on(context, answer))?)
    }

    /// Makes the checks that come before the body is read.
    fn admit_call(
        &self,
        parts: &Parts,
        address: IpAddr,
        summary: &mut RequestSummary,
    ) -> Result<Arc<Caller>, ProxyProblem> {
        let key = key_of(&parts.headers).ok_or(Error::Unauthenticated)?;
        let caller = self.app.access().authenticate(&key)?;
        summary.caller = Some(Arc::clone(&caller));
        let request = counted(&caller, address, limits::Operation::Other);
        let admitted = self.limiter.admit(&request, self.app.now());
        admitted.map_err(|refusal| self.limited(refusal))?;
        require_permission(&caller)?;
        self.app.require_space_for_audit()?;
        Ok(caller)
    }
}

fn require_permission(caller: &Caller) -> Result<(), Problem> {
    caller
        .require_one_somewhere(PROXY_PERMISSIONS)
        .map_err(|_lacks| Problem::new(403, MISSING_PERMISSION))
}

fn call_of(context: &RequestContext, parts: &Parts, body: Secret<Vec<u8>>) -> ProxyCall {
    ProxyCall {
        method: String::from(parts.method.as_str()),
        rest: String::from(route::proxy_rest(parts.uri.path()).unwrap_or_default()),
        query: parts.uri.query().map(String::from),
        headers: headers::for_destination(&parts.headers, &context.trace),
        body,
        encrypted: None,
    }
}

fn passed_on(context: &RequestContext, answer: OutboundResponse) -> Response<SecretBody> {
    let mut headers = headers::for_caller(&answer.headers);
    headers.insert(DESTINATION_STATUS, HeaderValue::from(answer.status));
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::BAD_GATEWAY);
    context.passed_on(status, headers, SecretBody::from(answer.body))
}
