//! Liveness and readiness for load balancers, and metrics for the operator. They need no key and
//! show no stored data.

use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::http::request::Parts;
use serde_json::json;

use crate::app::Error;
use crate::domain::application::ApplicationKind;
use crate::http::origin::API_KEY;
use crate::http::sign_on::SignOn;
use crate::http::wire::Query;
use crate::http::{Http, Problem, Reply};
use crate::metrics::{Readiness, Registry};
use crate::secret::SecretBody;

/// A probe's function in the routing table, for the API listener.
pub(in crate::http) type ProbeFunction = fn(&Http, &ProbeRequest<'_>) -> Result<Reply, Problem>;
/// As [`ProbeFunction`], for the operator's listeners, which a standby has too.
pub(in crate::http) type OperatorFunction =
    fn(&Registry, &ProbeRequest<'_>) -> Result<Reply, Problem>;

/// The parts of a request that a probe reads.
#[derive(Debug, Clone, Copy)]
pub(in crate::http) struct ProbeRequest<'a> {
    pub(in crate::http) detail: ProbeDetail,
    /// True if the request has a key that does not exist. The answer is the same, but it counts as
    /// a refused attempt: otherwise keys could be tried here unnoticed.
    pub(in crate::http) has_wrong_key: bool,
    pub(in crate::http) sign_on: &'a SignOn,
    pub(in crate::http) is_own_page: bool,
    query: &'a str,
}

/// The part of the checks that a probe shows: the reasons would help an attacker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum ProbeDetail {
    /// Each check with its reason.
    Checks,
    /// Ready or not.
    Status,
}

impl<'a> ProbeRequest<'a> {
    /// A request to the API listener: only management keys get reasons. A missing or wrong key is
    /// no error, since load balancers have none.
    pub(in crate::http) fn of_client(http: &Http, parts: &'a Parts, sign_on: &'a SignOn) -> Self {
        let has_key = parts.headers.contains_key(API_KEY);
        let caller = has_key.then(|| http.caller_of(&parts.headers));
        let has_wrong_key = matches!(caller, Some(Err(Error::Unauthenticated)));
        let kind = caller.and_then(Result::ok).map(|caller| caller.application.kind);
        let is_manager = kind == Some(ApplicationKind::Management);
        let detail = if is_manager { ProbeDetail::Checks } else { ProbeDetail::Status };
        let is_own_page = http.is_own_page(parts);
        Self { detail, has_wrong_key, sign_on, is_own_page, query: query_of(parts) }
    }

    pub(in crate::http) fn of_operator(parts: &'a Parts) -> Self {
        Self {
            detail: ProbeDetail::Checks,
            has_wrong_key: false,
            sign_on: &SignOn::Absent,
            is_own_page: false,
            query: query_of(parts),
        }
    }

    /// The requests that the balancer wants to send: `for=reads` or `for=writes`; both without the
    /// parameter. A misspelt value is refused, so that a balancer does not watch something else
    /// than its operator meant.
    fn readiness(&self) -> Result<Readiness, Problem> {
        let query = Query::parse(self.query);
        let query = query.ok_or(Problem::new(400, "The query is too long or not valid UTF-8."))?;
        match query.all("for").collect::<Vec<_>>().as_slice() {
            [] | ["writes"] => Ok(Readiness::Writes),
            ["reads"] => Ok(Readiness::Reads),
            _ => Err(Problem::new(400, "The parameter `for` must be `reads` or `writes`, once.")),
        }
    }
}

fn query_of(parts: &Parts) -> &str {
    parts.uri.query().unwrap_or_default()
}

pub(in crate::http) fn healthz(_: &Http, _: &ProbeRequest<'_>) -> Reply {
    alive()
}

/// For clients of the published interface. It shows only that the server answers.
pub(in crate::http) fn ping(_: &Http, _: &ProbeRequest<'_>) -> Reply {
    Reply::ok(json!({"status": "ok"}).to_string())
}

/// Whom to tell about a weakness of this server (RFC 9116). Without the setting, no such path.
pub(in crate::http) fn security_text(http: &Http, _: &ProbeRequest<'_>) -> Result<Reply, Problem> {
    let text = http.security_text.clone();
    let text = text.ok_or(Problem::new(404, "There is no such path."))?;
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    Ok(Reply::ok(text).with(CONTENT_TYPE, kind))
}

pub(in crate::http) fn readyz(http: &Http, request: &ProbeRequest<'_>) -> Result<Reply, Problem> {
    operator_readyz(&http.registry, request)
}

pub(in crate::http) fn operator_healthz(_: &Registry, _: &ProbeRequest<'_>) -> Reply {
    alive()
}

pub(in crate::http) fn operator_readyz(
    registry: &Registry,
    request: &ProbeRequest<'_>,
) -> Result<Reply, Problem> {
    let readiness = request.readiness()?;
    let checks = registry.checks();
    let text = match request.detail {
        ProbeDetail::Checks => checks.to_json(readiness),
        ProbeDetail::Status => checks.status_to_json(readiness),
    };
    // With 503, load balancers send no requests here.
    let is_ready = checks.are_right_for(readiness);
    let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    Ok(Reply::with_status(status, SecretBody::from(text.to_string())))
}

pub(in crate::http) fn operator_metrics(registry: &Registry, _: &ProbeRequest<'_>) -> Reply {
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    Reply::ok(registry.page()).with(CONTENT_TYPE, kind)
}

pub(in crate::http) fn operator_status(registry: &Registry, _: &ProbeRequest<'_>) -> Reply {
    Reply::ok(registry.status().to_string())
}

fn alive() -> Reply {
    Reply::ok(json!({"status": "alive"}).to_string())
}
