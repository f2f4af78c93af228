//! Reads the body of a request: bounded in bytes and in time, once, as a secret.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderMap};
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};

use crate::bounds::{
    BODY_BYTES_FREE, BODY_BYTES_MAX, BODY_MAX, BODY_RATE_GRACE, BODY_RATE_MIN, BODY_RETRY_AFTER_S,
    DRAIN_BODY_BYTES_MAX, DRAIN_BODY_MAX, FORM_BYTES_MAX, JSON_DEPTH_MAX,
};
use crate::domain::json_count::count_json;
use crate::domain::merge_patch::is_within;
use crate::domain::outside_json;
use crate::http::Problem;
use crate::http::bodies::{BodyShare, BudgetExhausted, parsed_bytes, parsed_bytes_most};
use crate::http::wire::Query;
use crate::secret::{Secret, SecretBody};

const TOO_LARGE: &str = "The request's body is too large.";

/// The body of a request from the network, or from a program of a tenant.
pub(super) enum RequestBody {
    Network(Incoming),
    Program(SecretBody),
}

/// The connection ended before the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cut;

from_causes!(RequestBody: Incoming => Self::Network);

impl Body for RequestBody {
    type Data = bytes::Bytes;
    type Error = Cut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<bytes::Bytes>, Cut>>> {
        match &mut *self {
            Self::Network(body) => {
                Pin::new(body).poll_frame(cx).map(|it| it.map(|frame| frame.map_err(|_cause| Cut)))
            }
            Self::Program(body) => {
                Pin::new(body).poll_frame(cx).map(|it| it.map(|frame| frame.map_err(|_cause| Cut)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Network(body) => body.is_end_stream(),
            Self::Program(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Network(body) => body.size_hint(),
            Self::Program(body) => body.size_hint(),
        }
    }
}

/// The content of a body, and its share of the memory of all bodies, which must be held together.
pub(super) type BodyWithShare<'b, T> = (Secret<T>, BodyShare<'b>);

pub(super) async fn read_json<'b>(
    headers: &HeaderMap,
    body: RequestBody,
    share: BodyShare<'b>,
) -> Result<BodyWithShare<'b, Value>, Problem> {
    read_json_up_to(BODY_BYTES_MAX, headers, body, share).await
}

/// As [`read_json`], for a body of up to this length.
pub(super) async fn read_json_up_to<'b>(
    bytes_max: usize,
    headers: &HeaderMap,
    body: RequestBody,
    share: BodyShare<'b>,
) -> Result<BodyWithShare<'b, Value>, Problem> {
    if !is_json(headers) {
        drain(body).await;
        return Err(Problem::new(415, "The body must be JSON, with a Content-Type that says so."));
    }
    let (bytes, mut share) = read(body, bytes_max, share).await?;
    Ok((parse_json(bytes.expose(), &mut share)?, share))
}

/// Parses the bytes of a body in the memory of its share.
pub(super) fn parse_json(
    bytes: &[u8],
    share: &mut BodyShare<'_>,
) -> Result<Secret<Value>, Problem> {
    // Most bodies are small and need no exact count.
    if parsed_bytes_most(bytes) > BODY_BYTES_FREE {
        let count = count_json(bytes);
        if count.values > share.values_max() {
            return Err(Problem::new(400, "The request's body has too many values."));
        }
        share.grow_to(parsed_bytes(bytes.len(), count))?;
    }
    // The parser's message is dropped: it may quote the body.
    let value = outside_json::parse(bytes).ok_or_else(|| {
        let is_reserved = outside_json::has_reserved_name(bytes);
        Problem::new(400, if is_reserved { RESERVED_NAME } else { NOT_JSON })
    })?;
    if is_within(value.expose(), JSON_DEPTH_MAX) {
        Ok(value)
    } else {
        Err(Problem::new(400, "The request's body is nested too deeply."))
    }
}

/// Refuses a body without the media type of a merge patch.
pub(super) async fn read_merge_patch<'b>(
    headers: &HeaderMap,
    body: RequestBody,
    share: BodyShare<'b>,
) -> Result<BodyWithShare<'b, Value>, Problem> {
    if media_type(headers).is_some_and(|it| it.eq_ignore_ascii_case(MERGE_PATCH)) {
        return read_json(headers, body, share).await;
    }
    drain(body).await;
    Err(Problem::new(415, "The Content-Type must be application/merge-patch+json."))
}

const NOT_JSON: &str = "The request's body is not valid JSON.";
const RESERVED_NAME: &str =
    "No member's name in the request's body may begin with $serde_json::private::.";
const MERGE_PATCH: &str = "application/merge-patch+json";

/// A form that a browser posts. `None` if it is too long or not text. Forms need no key, so they
/// are small enough to need no memory beyond the part that every request may hold.
pub(super) async fn read_form(
    body: RequestBody,
    share: BodyShare<'_>,
) -> Result<Option<Query>, Problem> {
    let (bytes, _share) = read(body, FORM_BYTES_MAX, share).await?;
    Ok(std::str::from_utf8(bytes.expose()).ok().and_then(Query::parse))
}

/// Reads and discards a body, up to a bound of bytes and time. Otherwise a client that is still
/// sending would see a connection reset instead of the answer.
pub(super) async fn drain(body: RequestBody) {
    // Boxed, the rest does not enlarge the future of every request without a body.
    if !body.is_end_stream() {
        Box::pin(drain_rest(body)).await;
    }
}

async fn drain_rest(mut body: RequestBody) {
    let mut left = DRAIN_BODY_BYTES_MAX;
    let all = async {
        while let Some(Ok(frame)) = body.frame().await {
            let length = frame.data_ref().map_or(0, bytes::Bytes::len);
            left = left.saturating_sub(length);
            if left == 0 {
                return;
            }
        }
    };
    timeout(DRAIN_BODY_MAX, all).await.ok();
}

pub(super) async fn read(
    mut body: RequestBody,
    bytes_max: usize,
    share: BodyShare<'_>,
) -> Result<BodyWithShare<'_, Vec<u8>>, Problem> {
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > bytes_max {
        drain(body).await;
        return Err(Problem::new(413, TOO_LARGE));
    }
    let mut buffer = BodyBuffer::new(announced, bytes_max, share);
    let started = Instant::now();
    loop {
        let deadline = started + time_max(buffer.bytes.expose().len(), &buffer.share);
        let appended = match timeout_at(deadline, body.frame()).await {
            Ok(None) => return Ok((buffer.bytes, buffer.share)),
            Ok(Some(Ok(frame))) => frame.data_ref().map_or(Ok(()), |data| buffer.append(data)),
            Ok(Some(Err(_))) => Err(Problem::new(400, "The request's body ended before its end.")),
            Err(_) => return Err(Problem::new(408, "The request's body did not arrive in time.")),
        };
        if let Err(problem) = appended {
            // Free the memory for other requests before the rest is read and discarded.
            drop(buffer);
            drain(body).await;
            return Err(problem);
        }
    }
}

/// The deadline for more bytes of a body of which this number has arrived.
fn time_max(bytes: usize, share: &BodyShare<'_>) -> Duration {
    if !share.holds_budget() {
        return BODY_MAX;
    }
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    let at_rate = Duration::from_millis(bytes.saturating_mul(1_000) / BODY_RATE_MIN);
    at_rate.saturating_add(BODY_RATE_GRACE).min(BODY_MAX)
}

/// A body while it arrives. Its memory grows with it; an announced length is not trusted.
struct BodyBuffer<'b> {
    bytes: Secret<Vec<u8>>,
    /// Zero if the client announced no length.
    announced: usize,
    bytes_max: usize,
    share: BodyShare<'b>,
}

impl<'b> BodyBuffer<'b> {
    fn new(announced: usize, bytes_max: usize, share: BodyShare<'b>) -> Self {
        let bytes = Secret::new(Vec::with_capacity(announced.min(BODY_BYTES_FREE)));
        Self { bytes, announced, bytes_max, share }
    }

    fn append(&mut self, data: &[u8]) -> Result<(), Problem> {
        let length = self.bytes.expose().len().saturating_add(data.len());
        if length > self.bytes_max {
            return Err(Problem::new(413, TOO_LARGE));
        }
        let capacity = self.bytes.expose().capacity();
        if length > capacity {
            self.grow(length, capacity.saturating_mul(4))?;
        }
        self.bytes.expose_mut().extend_from_slice(data);
        Ok(())
    }

    /// Copies into a larger vector. A vector that grows by itself would leave unwiped copies.
    fn grow(&mut self, length: usize, usual: usize) -> Result<(), BudgetExhausted> {
        let end = if self.announced > 0 { self.announced } else { self.bytes_max };
        let capacity = usual.min(end).max(length);
        self.share.grow_to(capacity)?;
        let mut larger = Vec::with_capacity(capacity);
        larger.extend_from_slice(self.bytes.expose());
        self.bytes = Secret::new(larger);
        Ok(())
    }
}

impl From<BudgetExhausted> for Problem {
    fn from(_: BudgetExhausted) -> Self {
        const DETAIL: &str = "The server has no memory for a body of this size at the moment.";
        Self::retry(503, DETAIL, BODY_RETRY_AFTER_S)
    }
}

/// A request without a Content-Type counts as JSON: the API takes nothing else.
fn is_json(headers: &HeaderMap) -> bool {
    let Some(kind) = media_type(headers) else { return true };
    let has = |part: Option<&str>, text: &str| part.is_some_and(|it| it.eq_ignore_ascii_case(text));
    let is_application = has(kind.get(..APPLICATION.len()), APPLICATION);
    let suffix = kind.len().checked_sub(SUFFIX.len()).and_then(|from| kind.get(from..));
    has(Some(kind), "application/json")
        || has(Some(kind), "text/json")
        || is_application && has(suffix, SUFFIX)
}

/// The media type without parameters. `None` if the header is absent, empty if it is not text.
fn media_type(headers: &HeaderMap) -> Option<&str> {
    let text = headers.get(CONTENT_TYPE)?.to_str().unwrap_or_default();
    Some(text.split(';').next().unwrap_or_default().trim())
}

const APPLICATION: &str = "application/";
const SUFFIX: &str = "+json";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::bounds::{JSON_VALUES_MAX, JSON_VALUES_STRANGER_MAX};
    use crate::domain::id::TenantId;
    use crate::domain::shares::Claimant;
    use crate::http::bodies::Bodies;

    const STRANGER: Claimant = Claimant::Stranger {
        address: std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST),
        tenant: None,
    };
    const TENANT: Claimant = Claimant::Keyed(TenantId::new(uuid::Uuid::nil()));

    #[track_caller]
    fn check(claimant: Claimant, body: &str, expected: Option<u16>) {
        let bodies = Bodies::default();
        let parsed = parse_json(body.as_bytes(), &mut bodies.share(claimant));
        assert_eq!(parsed.err().map(|problem| problem.status), expected);
    }

    #[test]
    fn a_body_has_so_many_values() {
        for (claimant, most) in [(TENANT, JSON_VALUES_MAX), (STRANGER, JSON_VALUES_STRANGER_MAX)] {
            let list = |values: usize| format!("[{}1]", "1,".repeat(values - 1));
            check(claimant, &list(most - 1), None);
            check(claimant, &list(most + 1), Some(400));
            let object = |members: usize| {
                let members = (0..members).map(|at| (format!("n{at}"), json!(1)));
                Value::Object(members.collect()).to_string()
            };
            check(claimant, &object(most / 2 - 1), None);
            check(claimant, &object(most / 2 + 1), Some(400));
            // None of these are values.
            check(claimant, &json!(r#",:[{"\"#.repeat(BODY_BYTES_MAX / 8)).to_string(), None);
            check(claimant, &json!("\\".repeat(BODY_BYTES_MAX / 2)).to_string(), None);
        }
    }

    #[test]
    fn a_body_that_takes_from_the_budget_must_arrive_at_a_rate() {
        let bodies = Bodies::default();
        let mut share = bodies.share(STRANGER);
        assert_eq!(time_max(BODY_BYTES_FREE, &share), BODY_MAX);
        share.grow_to(BODY_BYTES_FREE + 1).unwrap();
        for (kibibytes, seconds) in [(16, 6), (64, 9), (256, 21), (1024, BODY_MAX.as_secs())] {
            let time = time_max(kibibytes * 1024, &share);
            assert_eq!(time, Duration::from_secs(seconds), "{kibibytes}");
        }
    }
}
