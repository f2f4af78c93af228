//! Reading a request's body: bounded in bytes and in time, once, as a secret.

use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderMap};
use serde_json::Value;
use tokio::time::timeout;

use crate::bounds::{
    BODY_BYTES_MAX, BODY_MAX, DRAIN_BODY_BYTES_MAX, DRAIN_BODY_MAX, JSON_DEPTH_MAX,
};
use crate::domain::merge_patch::is_within;
use crate::http::problem::Problem;
use crate::http::wire::query::Query;
use crate::secret::{Secret, SecretBuffer};

const TOO_LARGE: &str = "The request's body is too large.";

/// The whole body, parsed.
pub(crate) async fn read_json(
    headers: &HeaderMap,
    body: Incoming,
) -> Result<Secret<Value>, Problem> {
    if !is_json(headers) {
        drain(body).await;
        return Err(Problem::new(415, "The body must be JSON, with a Content-Type that says so."));
    }
    let bytes = read(body).await?;
    // The parser's own words may quote the body.
    let value = serde_json::from_slice(bytes.expose()).ok();
    let not_json = Problem::new(400, "The request's body is not valid JSON.");
    let value = value.map(Secret::new).ok_or(not_json)?;
    if is_within(value.expose(), JSON_DEPTH_MAX) {
        Ok(value)
    } else {
        Err(Problem::new(400, "The request's body is nested too deeply."))
    }
}

/// The whole body, if it says that it is a merge patch.
pub(crate) async fn read_merge_patch(
    headers: &HeaderMap,
    body: Incoming,
) -> Result<Secret<Value>, Problem> {
    if media_type(headers).as_deref() == Some("application/merge-patch+json") {
        return read_json(headers, body).await;
    }
    drain(body).await;
    Err(Problem::new(415, "The Content-Type must be application/merge-patch+json."))
}

/// A form that a browser posts. `None` when it is too long or not text.
pub(crate) async fn read_form(body: Incoming) -> Result<Option<Query>, Problem> {
    let bytes = read(body).await?;
    Ok(std::str::from_utf8(bytes.expose()).ok().and_then(Query::parse))
}

/// Reads a body that nobody wants, for a while: a client that is still sending would see a reset
/// in place of the answer.
pub(crate) async fn drain(mut body: Incoming) {
    if body.is_end_stream() {
        return;
    }
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

pub(crate) async fn read(mut body: Incoming) -> Result<Secret<Vec<u8>>, Problem> {
    let announced = body.size_hint().lower();
    if announced > u64::try_from(BODY_BYTES_MAX).unwrap_or(u64::MAX) {
        drain(body).await;
        return Err(Problem::new(413, TOO_LARGE));
    }
    let mut bytes = SecretBuffer::with_capacity(usize::try_from(announced).unwrap_or(0));
    let all = async {
        while let Some(frame) = body.frame().await {
            let Ok(frame) = frame else {
                return Err(Problem::new(400, "The request's body ended before its end."));
            };
            let Some(data) = frame.data_ref() else {
                continue;
            };
            if bytes.len().saturating_add(data.len()) > BODY_BYTES_MAX {
                return Err(Problem::new(413, TOO_LARGE));
            }
            bytes.extend(data);
        }
        Ok(())
    };
    match timeout(BODY_MAX, all).await {
        Ok(Ok(())) => Ok(bytes.finish()),
        Ok(Err(problem)) => {
            drain(body).await;
            Err(problem)
        }
        Err(_) => Err(Problem::new(408, "The request's body did not arrive in time.")),
    }
}

/// No Content-Type at all is taken for JSON, since there is nothing else that it could be.
fn is_json(headers: &HeaderMap) -> bool {
    let Some(kind) = media_type(headers) else { return true };
    matches!(kind.as_str(), "application/json" | "text/json")
        || kind.strip_prefix("application/").is_some_and(|rest| rest.ends_with("+json"))
}

/// Without its parameters; `None` when there is none. What is not text is no type that we know.
fn media_type(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(CONTENT_TYPE)?.to_str().unwrap_or_default();
    Some(text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
}
