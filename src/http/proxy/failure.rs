//! Failures of calls through proxies, in a form that differs from answers of destinations:
//! `{"proxy_error": {...}}`.

use crate::app::{Error, OutboundFailure, ProxyFailure, TransformFailure};
use crate::domain::mistakes::Mistakes;
use crate::http::Problem;
use crate::http::wire::Object;
use crate::limits::RateLimitRefusal;
use crate::secret::Secret;

const INVALID: &str = "Invalid proxy request";
const NO_KEY: &str = "The BT-API-KEY header is required";
const MAY_BE_SENT: &str = "It may have received the request.";
const NOT_PASSED_ON: &str = "The destination has answered, and a transform of the answer failed.";
const TIMED_OUT: &str = "The destination did not answer in time. It may have received the request.";

/// A problem with the texts that only calls through proxies have.
#[derive(Debug)]
pub(in crate::http) struct ProxyProblem {
    pub(super) problem: Box<Problem>,
    title: Option<&'static str>,
    detail: Option<String>,
}

impl ProxyProblem {
    fn invalid(detail: String) -> Self {
        let problem = Problem::new(400, INVALID);
        Self { problem: Box::new(problem), title: Some(INVALID), detail: Some(detail) }
    }

    fn with_detail(problem: Problem, detail: String) -> Self {
        Self { problem: Box::new(problem), title: None, detail: Some(detail) }
    }

    pub(super) fn to_json(&self) -> Secret<Vec<u8>> {
        let mut body = Object::new();
        body.object("proxy_error", |error| {
            error.object("errors", |errors| {
                for (path, messages) in self.problem.mistakes.iter().flat_map(Mistakes::by_path) {
                    errors.texts(path, messages.iter().map(String::as_str));
                }
            });
            error.text("title", self.title.unwrap_or_else(|| self.problem.title()));
            error.number("status", self.problem.status);
            error.text("detail", self.detail.as_deref().unwrap_or(self.problem.detail));
        });
        body.close()
    }
}

impl From<Problem> for ProxyProblem {
    fn from(problem: Problem) -> Self {
        Self { problem: Box::new(problem), title: None, detail: None }
    }
}

impl From<RateLimitRefusal> for ProxyProblem {
    fn from(refusal: RateLimitRefusal) -> Self {
        Problem::from(refusal).into()
    }
}

impl From<Error> for ProxyProblem {
    fn from(error: Error) -> Self {
        if matches!(error, Error::Unauthenticated) {
            return Problem::new(401, NO_KEY).into();
        }
        Problem::from(error).into()
    }
}

/// A failure after the first byte of the request was sent is 408 or 5xx: the caller must not repeat
/// the call because of it.
impl From<ProxyFailure> for ProxyProblem {
    fn from(failure: ProxyFailure) -> Self {
        match failure {
            ProxyFailure::App(error) => error.into(),
            // The caller of these functions answers what programs say.
            ProxyFailure::Answered(_)
            | ProxyFailure::Program { .. }
            | ProxyFailure::Answer(TransformFailure::Answered(_) | TransformFailure::Program(_)) => {
                Problem::new(502, NOT_PASSED_ON).into()
            }
            ProxyFailure::Answer(TransformFailure::Failed(why)) => {
                Self::with_detail(Problem::new(502, ""), format!("{NOT_PASSED_ON} {why}"))
            }
            ProxyFailure::Answer(TransformFailure::App(error)) => {
                let problem = Problem::from(error);
                if problem.status < 500 {
                    return Problem::new(502, NOT_PASSED_ON).into();
                }
                problem.into()
            }
            ProxyFailure::Invalid(detail) => Self::invalid(detail),
            ProxyFailure::Outbound(OutboundFailure::Refused(why)) => {
                Self::invalid(format!("The destination is refused: {why}."))
            }
            ProxyFailure::Outbound(OutboundFailure::TimedOut) => {
                Problem::new(408, TIMED_OUT).into()
            }
            ProxyFailure::Outbound(OutboundFailure::Unreachable(why)) => {
                let text =
                    format!("The destination cannot be reached, and nothing was sent: {why}.");
                Self::with_detail(Problem::new(502, ""), text)
            }
            ProxyFailure::Outbound(OutboundFailure::Broken(why)) => {
                let text = format!("The destination's answer is missing: {why}. {MAY_BE_SENT}");
                Self::with_detail(Problem::new(502, ""), text)
            }
        }
    }
}
