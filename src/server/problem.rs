//! Answers that the server itself gives: to requests that are malformed or too large, and to those
//! whose answer panicked. Their text is constant and never quotes the request.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper::header::{ACCEPT, CONNECTION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

use crate::crypto::Random;
use crate::domain::problem_type;
use crate::log::{AnswerTrace, Log, RequestLine, Trace};
use crate::secret::SecretBody;
use crate::server::headers::Hsts;
use crate::server::panics::RequestPanic;
use crate::server::traffic::Traffic;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerProblem {
    BadHost,
    HeadersTooLarge,
    Panicked,
    TransferCoding,
    UnreadableRequest,
    UriTooLong,
}

impl From<RequestPanic> for ServerProblem {
    fn from(_: RequestPanic) -> Self {
        Self::Panicked
    }
}

const API_KEY: HeaderName = HeaderName::from_static("bt-api-key");
const TRACE: HeaderName = HeaderName::from_static("bt-trace-id");

/// The parts of a request that such an answer depends on.
pub(super) struct ProblemContext {
    /// The trace id that the client sent.
    trace: Option<HeaderValue>,
    content_type: &'static str,
}

impl ProblemContext {
    /// The trace id is dropped if it equals the API key, so that a client that confuses the two
    /// does not get its key logged.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let sent = headers.get(TRACE).filter(|sent| headers.get(API_KEY) != Some(sent));
        let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        Self { trace: sent.cloned(), content_type: problem_type::of_accept(accepted) }
    }

    /// For a request whose head could not be read.
    pub(super) const fn unknown() -> Self {
        Self { trace: None, content_type: problem_type::JSON }
    }
}

/// Gives these answers a trace id, counts them and logs them.
#[derive(Debug, Clone)]
pub(super) struct ProblemReporter {
    pub(super) random: Arc<Random>,
    pub(super) traffic: Arc<Traffic>,
    pub(super) hsts: Hsts,
    pub(super) log: Log,
    /// The peer of the connection. Headers of proxies are not used: these heads were not read, or
    /// cannot be trusted.
    pub(super) peer: Option<IpAddr>,
}

impl ProblemReporter {
    pub(super) fn of_connection(&self, peer: SocketAddr) -> Self {
        Self { peer: Some(peer.ip().to_canonical()), ..self.clone() }
    }

    /// Counts and logs the answer, and returns its trace id: the client's, if it can be repeated,
    /// or a new one.
    fn note(&self, refusal: ServerProblem, sent: Option<&HeaderValue>) -> AnswerTrace {
        let sent = sent.and_then(|value| value.to_str().ok());
        let trace = sent.and_then(AnswerTrace::of_client);
        let trace = trace.unwrap_or_else(|| AnswerTrace::draw(|| self.random.bytes()));
        self.traffic.refused(refusal);
        self.log.request(RequestLine {
            trace: Trace::from_client(trace.as_str()),
            route: "none",
            address: self.peer,
            tenant: None,
            application: None,
            key: None,
            status: refusal.facts().1.as_u16(),
            duration: Duration::ZERO,
        });
        trace
    }

    pub(super) fn response(
        &self,
        refusal: ServerProblem,
        context: &ProblemContext,
    ) -> Response<SecretBody> {
        let trace = self.note(refusal, context.trace.as_ref());
        refusal.response(trace.as_str(), context.content_type)
    }
}

impl ServerProblem {
    fn response(self, trace: &str, content_type: &'static str) -> Response<SecretBody> {
        let (_, status, detail) = self.facts();
        let body = serde_json::json!({
            "type": "about:blank",
            "title": status.canonical_reason(),
            "status": status.as_u16(),
            "detail": detail,
            "trace_id": trace,
        });
        let mut response = Response::new(SecretBody::from(body.to_string()));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        if self == Self::TransferCoding {
            // A proxy that supports the coding may see the end of this request elsewhere.
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if let Ok(trace) = HeaderValue::try_from(trace) {
            headers.insert(TRACE, trace);
        }
        response
    }

    pub(super) const ALL: [Self; 6] = [
        Self::BadHost,
        Self::HeadersTooLarge,
        Self::Panicked,
        Self::TransferCoding,
        Self::UnreadableRequest,
        Self::UriTooLong,
    ];

    /// The label of its counter.
    pub(super) const fn name(self) -> &'static str {
        self.facts().0
    }

    const fn facts(self) -> (&'static str, StatusCode, &'static str) {
        let bad = StatusCode::BAD_REQUEST;
        match self {
            Self::BadHost => ("bad_host", bad, "the request must name exactly one valid host"),
            Self::HeadersTooLarge => (
                "headers_too_large",
                StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
                "the request has too many headers, or too large ones",
            ),
            Self::Panicked => ("panicked", StatusCode::INTERNAL_SERVER_ERROR, "internal error"),
            Self::TransferCoding => (
                "transfer_coding",
                StatusCode::NOT_IMPLEMENTED,
                "chunked is the only supported transfer coding",
            ),
            Self::UnreadableRequest => ("unreadable_request", bad, "the request is not valid HTTP"),
            Self::UriTooLong => {
                ("uri_too_long", StatusCode::URI_TOO_LONG, "the request's path is too long")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test]
    async fn every_refusal_is_a_problem_with_its_own_status() {
        for refusal in ServerProblem::ALL {
            let response = refusal.response("an-id", problem_type::JSON);
            let status = response.status();
            assert_eq!(response.headers()[CONTENT_TYPE], "application/json; charset=utf-8");
            assert_eq!(response.headers()[TRACE], "an-id");
            let body = response.into_body().collect().await.unwrap().to_bytes();
            let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(body["status"], status.as_u16());
            assert_eq!(body["title"].as_str(), status.canonical_reason());
            assert!(body["detail"].is_string());
            assert_eq!(body["trace_id"], "an-id");
        }
    }
}
