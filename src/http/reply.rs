//! Responses: replies of operations, problems, preflights, and their common headers.

use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

use crate::bounds::PREFLIGHT_BYTES_MAX;
use crate::domain::problem_type::JSON;
use crate::domain::time::Timestamp;
use crate::http::Problem;
use crate::idempotency::{AnswerStatus, RememberedAnswer, Replay};
use crate::log::AnswerTrace;
use crate::secret::{Secret, SecretBody};

const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");
const SUNSET: HeaderName = HeaderName::from_static("sunset");
const TRACE: HeaderName = HeaderName::from_static("bt-trace-id");
const REPLAYED: HeaderName = HeaderName::from_static("bt-idempotent-replayed");
const RATE_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const RATE_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RATE_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// Headers that published browser clients send.
const CORS_ALLOW_HEADERS: HeaderValue = HeaderValue::from_static(
    "BT-API-KEY, BT-CLIENT-USER-AGENT, BT-DEVICE-INFO, BT-ENCRYPTED, BT-IDEMPOTENCY-KEY, BT-PROXY-KEY, \
     BT-PROXY-URL, BT-TRACE-ID, Content-Type, X-Fern-Language, X-Fern-Runtime, \
     X-Fern-Runtime-Version, X-Fern-SDK-Name, X-Fern-SDK-Version",
);
const CORS_ALLOW_METHODS: HeaderValue = HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE");
const CORS_EXPOSE: HeaderValue = HeaderValue::from_static(
    "BT-TRACE-ID, BT-IDEMPOTENT-REPLAYED, BT-PROXY-DESTINATION-STATUS, Deprecation, Link, Location, \
     Retry-After, Sunset, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset",
);
/// Seconds for which a browser caches a preflight: the most that any browser honours.
const CORS_MAX_AGE: HeaderValue = HeaderValue::from_static("86400");

#[derive(Debug)]
pub(crate) struct Reply {
    status: StatusCode,
    body: SecretBody,
    location: Option<String>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Reply {
    pub(crate) fn ok(body: impl Into<SecretBody>) -> Self {
        Self::with_status(StatusCode::OK, body.into())
    }

    pub(crate) const fn nothing() -> Self {
        Self::with_status(StatusCode::NO_CONTENT, SecretBody::empty())
    }

    pub(crate) const fn not_modified() -> Self {
        Self::with_status(StatusCode::NOT_MODIFIED, SecretBody::empty())
    }

    pub(crate) fn replayed(earlier: Replay) -> Self {
        Self::again(earlier).with(REPLAYED, HeaderValue::from_static("true"))
    }

    /// A stored answer, as it was first given.
    pub(crate) fn again(earlier: Replay) -> Self {
        let Replay { status, location, head, body, .. } = earlier;
        let mut reply = match head {
            Some(head) => Self::with_head(head, body),
            None => Self::with_status(status_code(status), SecretBody::from(body)),
        };
        reply.location = location;
        reply
    }

    #[must_use]
    pub(crate) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(crate) const fn with_status(status: StatusCode, body: SecretBody) -> Self {
        Self { status, body, location: None, headers: Vec::new() }
    }
}

impl From<RememberedAnswer> for Reply {
    fn from(mut answer: RememberedAnswer) -> Self {
        let (status, location) = (status_code(answer.status), answer.location.take());
        let mut reply = match answer.head.take() {
            Some(head) => Self::with_head(head, answer.into_body()),
            None => Self::with_status(status, SecretBody::from(answer.into_body())),
        };
        reply.location = location;
        reply
    }
}

const fn status_code(status: AnswerStatus) -> StatusCode {
    match status {
        AnswerStatus::Accepted => StatusCode::ACCEPTED,
        AnswerStatus::Created => StatusCode::CREATED,
        AnswerStatus::Ok => StatusCode::OK,
    }
}

/// Marks a response in which the vault itself refuses a request with 401 or 403, and a probe's
/// answer to a wrong key. A destination's answer with such a status has no mark.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Refused;

/// The parts of a request that affect its response.
#[derive(Debug)]
pub(crate) struct RequestContext {
    pub(crate) trace: AnswerTrace,
    pub(crate) cross_origin: bool,
    pub(crate) problem_type: &'static str,
    /// `https://host`, for absolute locations.
    pub(crate) base: Option<String>,
}

impl RequestContext {
    pub(crate) fn success(&self, reply: Reply) -> Response<SecretBody> {
        let mut response = self.response(reply.status, reply.body);
        let headers = response.headers_mut();
        for (name, value) in reply.headers {
            headers.insert(name, value);
        }
        if !matches!(reply.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) {
            headers.entry(header::CONTENT_TYPE).or_insert(HeaderValue::from_static(JSON));
        }
        if let (Some(path), Some(base)) = (&reply.location, &self.base)
            && let Ok(location) = HeaderValue::try_from([base.as_str(), path].concat())
        {
            headers.insert(header::LOCATION, location);
        }
        response
    }

    pub(crate) fn failure(&self, problem: &Problem) -> Response<SecretBody> {
        self.failure_as(problem, problem.to_json(self.trace.as_str()), self.problem_type)
    }

    /// A failure with its own body.
    pub(crate) fn failure_as(
        &self,
        problem: &Problem,
        body: Secret<Vec<u8>>,
        content_type: &'static str,
    ) -> Response<SecretBody> {
        let status =
            StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = self.response(status, body);
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            response.extensions_mut().insert(Refused);
        }
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        if let Some(after_s) = problem.retry_after_s {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(after_s));
        }
        if let Some(limit) = &problem.limit {
            headers.insert(RATE_LIMIT, HeaderValue::from(limit.limit));
            headers.insert(RATE_REMAINING, HeaderValue::from(limit.remaining));
            headers.insert(RATE_RESET, HeaderValue::from(reset_s(limit.reset_at)));
        }
        if let Some(allow) = problem.allow() {
            headers.insert(header::ALLOW, allow);
        }
        response
    }

    pub(crate) fn preflight(&self) -> Response<SecretBody> {
        let mut response = self.response(StatusCode::NO_CONTENT, Vec::new());
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, CORS_ALLOW_METHODS);
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, CORS_ALLOW_HEADERS);
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, CORS_MAX_AGE);
        response
    }

    /// The answer to a preflight of a call through a proxy, which may have headers of any name for
    /// its destination. Only header names are repeated, so that nothing else can be written into
    /// the answer.
    pub(crate) fn proxy_preflight(&self, headers: &HeaderMap) -> Response<SecretBody> {
        let mut response = self.preflight();
        let asked = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS);
        let asked = asked.and_then(|names| names.to_str().ok()).unwrap_or_default();
        let mut names = String::new();
        for name in asked.split(',').map(str::trim) {
            let is_name = HeaderName::from_bytes(name.as_bytes()).is_ok();
            if is_name && names.len().saturating_add(name.len()) < PREFLIGHT_BYTES_MAX {
                names.push_str(", ");
                names.push_str(name);
            }
        }
        let known = CORS_ALLOW_HEADERS;
        let known = known.to_str().unwrap_or_default();
        if let Ok(allowed) = HeaderValue::try_from(format!("{known}{names}")) {
            response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_HEADERS, allowed);
        }
        response
    }

    /// The answer of a destination. The vault's own headers override the destination's.
    pub(crate) fn passed_on(
        &self,
        status: StatusCode,
        headers: HeaderMap,
        body: SecretBody,
    ) -> Response<SecretBody> {
        let mut response = self.response(status, body);
        let own = std::mem::replace(response.headers_mut(), headers);
        for (name, value) in &own {
            response.headers_mut().insert(name, value.clone());
        }
        response
    }

    /// Every response carries the trace id of its request.
    fn trace(&self, response: &mut Response<SecretBody>) {
        if let Ok(trace) = HeaderValue::try_from(self.trace.as_str()) {
            response.headers_mut().insert(TRACE, trace);
        }
    }

    pub(crate) fn traced(&self, mut response: Response<SecretBody>) -> Response<SecretBody> {
        self.trace(&mut response);
        response
    }

    fn response(&self, status: StatusCode, body: impl Into<SecretBody>) -> Response<SecretBody> {
        let mut response = Response::new(body.into());
        *response.status_mut() = status;
        self.trace(&mut response);
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if self.cross_origin {
            // Any origin is allowed: the key in the header authorizes, never a cookie.
            let any = HeaderValue::from_static("*");
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, any);
            headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, CORS_EXPOSE);
        }
        response
    }
}

/// Adds the headers of a deprecated operation: since when, until when, and its successor. The dates
/// are the published interface's: 3 January and 1 March 2025.
//= RFC 9745, 2.1: the value is a date in seconds since 1970, after an at sign.
//= RFC 8594, 3: the value is an HTTP date.
pub(crate) fn announce(successor: &str, headers: &mut HeaderMap) {
    headers.insert(DEPRECATION, HeaderValue::from_static("@1735862400"));
    headers.insert(SUNSET, HeaderValue::from_static("Sat, 01 Mar 2025 00:00:00 GMT"));
    let link = format!("<{successor}>; rel=\"successor-version\"");
    if let Ok(link) = HeaderValue::try_from(link) {
        headers.insert(header::LINK, link);
    }
}

/// The time in whole seconds, rounded up.
fn reset_s(at: Timestamp) -> i64 {
    at.micros().saturating_add(999_999).div_euclid(1_000_000)
}

/// True if a text contains twelve consecutive characters of a secret, or all of a shorter one.
fn holds_part(text: &str, secret: &str) -> bool {
    let length = secret.len().clamp(1, SECRET_PART_BYTES);
    secret
        .as_bytes()
        .windows(length)
        .any(|part| text.as_bytes().windows(length).any(|piece| piece.eq_ignore_ascii_case(part)))
}

/// The shortest part of an API key that must not be logged. Its public prefixes are shorter.
const SECRET_PART_BYTES: usize = 12;

/// The client's own trace id, if it may be repeated in a header and a log line. A client that sends
/// its API key there by mistake must not find the key in the log.
pub(crate) fn trace_of(headers: &HeaderMap, secret: Option<&HeaderValue>) -> Option<AnswerTrace> {
    let text = headers.get(TRACE)?.to_str().ok()?;
    // A part of the key is refused too, since the rest is a public prefix.
    let secret = secret.and_then(|secret| secret.to_str().ok());
    if secret.is_some_and(|secret| holds_part(text, secret)) {
        return None;
    }
    AnswerTrace::of_client(text)
}
