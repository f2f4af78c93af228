//! Answers of the operator's listeners, for a server and for a standby.

use hyper::body::Incoming;
use hyper::header::ACCEPT;
use hyper::http::request::Parts;
use hyper::{Request, Response};

use crate::domain::problem_type;
use crate::http::origin::API_KEY;
use crate::http::probes::ProbeRequest;
use crate::http::reply::{self};
use crate::http::{RequestContext, body, route};
use crate::log::AnswerTrace;
use crate::metrics::Registry;
use crate::secret::SecretBody;

/// Random bytes for a trace id.
pub type TraceSource = Box<dyn Fn() -> [u8; 16] + Send + Sync>;

/// The operator's listeners of a process that has metrics but no API: a standby.
pub struct StandaloneProbes {
    registry: Registry,
    traces: TraceSource,
}

impl StandaloneProbes {
    pub fn new(registry: Registry, traces: TraceSource) -> Self {
        Self { registry, traces }
    }

    pub async fn answer(&self, request: Request<Incoming>) -> Response<SecretBody> {
        let (parts, body) = request.into_parts();
        body::drain(body.into()).await;
        let accepted = parts.headers.get_all(ACCEPT).iter();
        let accepted = accepted.filter_map(|value| value.to_str().ok());
        let trace = reply::trace_of(&parts.headers, parts.headers.get(API_KEY));
        let context = RequestContext {
            trace: trace.unwrap_or_else(|| AnswerTrace::draw(&self.traces)),
            cross_origin: false,
            problem_type: problem_type::of_accept(accepted),
            base: None,
        };
        answer_operator(&self.registry, &context, &parts)
    }
}

/// Answers a request to an operator's listener. The body has already been read.
pub(in crate::http) fn answer_operator(
    registry: &Registry,
    context: &RequestContext,
    parts: &Parts,
) -> Response<SecretBody> {
    let reply = match route::find_operator(&parts.method, parts.uri.path()) {
        Ok((_, function)) => function(registry, &ProbeRequest::of_operator(parts)),
        Err(no_match) => Err(no_match.into()),
    };
    match reply {
        Ok(reply) => context.success(reply),
        Err(problem) => context.failure(&problem),
    }
}
