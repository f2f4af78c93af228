//! Problems: the status and the text of each failure. No other file decides them.
//!
//! Every failure has a body with problem details by RFC 9457: published clients return `None`
//! instead of raising when a body is empty. The body holds no secret and no offending value.

use hyper::header::HeaderValue;

use crate::app::{Error, Fault, Upstream};
use crate::bounds::DISK_RETRY_AFTER_S;
use crate::domain::mistakes::Mistakes;
use crate::http::absent::{self, AbsentFeature};
use crate::http::wire::Object;
use crate::limits::RateLimitRefusal;
use crate::log::{Event, Value};
use crate::secret::Secret;

#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) status: u16,
    pub(crate) detail: &'static str,
    pub(crate) mistakes: Option<Mistakes>,
    pub(crate) retry_after_s: Option<u64>,
    /// The counter that refused, for 429.
    pub(crate) limit: Option<Box<RateLimitRefusal>>,
    /// The methods of the path, for 405.
    allow: Option<Box<str>>,
    pub(crate) fault: Option<Box<Fault>>,
    /// The server of a 3DS session that failed, for 424.
    pub(crate) upstream: Option<Box<Upstream>>,
    /// The feature that this server does not have, for 501.
    absent: Option<&'static AbsentFeature>,
}

/// The texts of 429: of a production server, and of `strongroom dev`.
pub const LIMITED: &str = "There were too many requests; wait as long as Retry-After says.";
pub const LIMITED_ON_DEV: &str = "There were too many requests; wait as long as Retry-After says. \
                                  strongroom dev --rate-limits off has no limits.";

const ANSWER_GONE: &str = "The program has run, and its answer is no longer kept: a token or a code whose \
                           value it got was deleted, moved or used, or has expired.";
const UPSTREAM: &str = "A server that takes part in 3-D Secure failed; create a new session.";
const VALIDATION: &str = "One or more validation errors occurred.";

impl Problem {
    pub(crate) const fn new(status: u16, detail: &'static str) -> Self {
        Self {
            status,
            detail,
            mistakes: None,
            retry_after_s: None,
            limit: None,
            allow: None,
            fault: None,
            upstream: None,
            absent: None,
        }
    }

    pub(in crate::http) const fn absent(feature: &'static AbsentFeature) -> Self {
        let mut problem = Self::new(501, feature.detail);
        problem.absent = Some(feature);
        problem
    }

    pub(crate) const fn retry(status: u16, detail: &'static str, after_s: u64) -> Self {
        let mut problem = Self::new(status, detail);
        problem.retry_after_s = Some(after_s);
        problem
    }

    pub(crate) fn invalid(mistakes: Mistakes) -> Self {
        let mut problem = Self::new(400, "The inputs supplied to the API are invalid");
        problem.mistakes = Some(mistakes);
        problem
    }

    pub(crate) fn method_not_allowed(allow: String) -> Self {
        let mut problem = Self::new(405, "This path does not know this method.");
        problem.allow = Some(allow.into_boxed_str());
        problem
    }

    pub(crate) fn allow(&self) -> Option<HeaderValue> {
        self.allow.as_deref().and_then(|methods| HeaderValue::try_from(methods).ok())
    }

    pub(super) fn title(&self) -> &'static str {
        match self.status {
            400 if self.mistakes.is_some() => VALIDATION,
            400 => "Bad Request",
            401 => "Unauthorized",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            408 => "Request Timeout",
            409 => "Conflict",
            410 => "Gone",
            413 => "Content Too Large",
            415 => "Unsupported Media Type",
            422 => "Unprocessable Content",
            424 => "3DS Service Error",
            429 => "Too Many Requests",
            431 => "Request Header Fields Too Large",
            501 => "Not Implemented",
            502 => "Bad Gateway",
            503 => "Service Unavailable",
            _ => "Internal Server Error",
        }
    }

    pub(crate) fn to_json(&self, trace: &str) -> Secret<Vec<u8>> {
        let mut body = Object::new();
        if let Some(mistakes) = &self.mistakes {
            body.object("errors", |errors| {
                for (path, messages) in mistakes.by_path() {
                    errors.texts(path, messages.iter().map(String::as_str));
                }
            });
        }
        body.text("type", self.absent.map_or("about:blank", |_| absent::TYPE));
        body.text("title", self.title());
        body.number("status", self.status);
        body.text("detail", self.detail);
        body.text("trace_id", trace);
        if let Some(feature) = self.absent {
            body.text("feature", feature.name);
            body.text("instead", feature.instead);
            body.text("chapter", absent::CHAPTER);
        }
        if let Some(upstream) = &self.upstream {
            body.object("error", |error| {
                error.text("service_status", upstream.service_status);
                error.optional_display("session_id", upstream.session);
                error.text("error_source", upstream.source);
                error.text("message", upstream.message);
                error.text("detail", &upstream.detail);
                // The browser SDK reads this spelling.
                error.text("details", &upstream.detail);
            });
        }
        body.close()
    }
}

/// The log event of an internal fault.
pub(crate) fn event(fault: Fault) -> Event {
    let event = Event::error("internal_fault").with("fault", Value::Name(fault.name()));
    match fault.token() {
        Some(token) => event.with("token", Value::Id(token.uuid())),
        None => event,
    }
}

impl From<Mistakes> for Problem {
    fn from(mistakes: Mistakes) -> Self {
        Self::invalid(mistakes)
    }
}

impl From<RateLimitRefusal> for Problem {
    fn from(refusal: RateLimitRefusal) -> Self {
        let mut problem = Self::retry(429, LIMITED, refusal.retry_after_s);
        problem.limit = Some(Box::new(refusal));
        problem
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::AnswerGone => Self::new(410, ANSWER_GONE),
            Error::Busy | Error::NeedsCvcKey(_) => {
                Self::retry(503, "The vault is busy; try again shortly.", 1)
            }
            Error::Conflict(why) => Self::new(409, why),
            Error::Forbidden(why) => Self::new(403, why),
            Error::InFlight => Self::retry(
                409,
                "A request with the same idempotency key is still being processed.",
                1,
            ),
            Error::Internal(fault) => {
                let mut problem =
                    Self::new(500, "The vault could not complete the request; its log says why.");
                problem.fault = Some(Box::new(fault));
                problem
            }
            Error::Invalid(mistakes) => Self::invalid(mistakes),
            Error::NoPrograms(why) => Self::new(501, why),
            Error::ReadOnly(why) => Self::retry(503, why, DISK_RETRY_AFTER_S),
            // The pipeline answers replays itself. If one arrives here, a retry gets the answer.
            Error::Replayed(_) => Self::retry(409, "The request was answered before.", 1),
            Error::NotFound(_) => Self::new(404, "There is no such resource."),
            Error::Stopped | Error::Storage(_) => {
                Self::retry(503, "The vault is stopping; try again shortly.", 5)
            }
            Error::Unprocessable(why) => Self::new(422, why),
            Error::Unauthenticated => {
                Self::new(401, "The BT-API-KEY header is missing or holds no valid key.")
            }
            Error::Upstream(upstream) => {
                let mut problem = Self::new(424, UPSTREAM);
                problem.upstream = Some(upstream);
                problem
            }
        }
    }
}
