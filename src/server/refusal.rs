//! Answers that the server gives without asking anyone: to requests that could not be read, that
//! have too many headers, or whose answer panicked. Constant text, nothing of the request.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};

use crate::server::panics::Panicked;

/// What a refusal says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    HeadersTooLarge,
    Panicked,
    UnreadableRequest,
    UriTooLong,
}

impl From<Panicked> for Refusal {
    fn from(_: Panicked) -> Self {
        Self::Panicked
    }
}

const CONTENT: &str = "application/problem+json";

impl Refusal {
    pub(super) fn response(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(Bytes::from_static(self.body().as_bytes())));
        *response.status_mut() = self.status();
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(CONTENT));
        response
    }

    const fn status(self) -> StatusCode {
        match self {
            Self::HeadersTooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::Panicked => StatusCode::INTERNAL_SERVER_ERROR,
            Self::UnreadableRequest => StatusCode::BAD_REQUEST,
            Self::UriTooLong => StatusCode::URI_TOO_LONG,
        }
    }

    const fn body(self) -> &'static str {
        match self {
            Self::HeadersTooLarge => {
                r#"{"type":"about:blank","title":"Request Header Fields Too Large","status":431,"detail":"the request has too many headers, or too large ones"}"#
            }
            Self::Panicked => {
                r#"{"type":"about:blank","title":"Internal Server Error","status":500,"detail":"internal error"}"#
            }
            Self::UnreadableRequest => {
                r#"{"type":"about:blank","title":"Bad Request","status":400,"detail":"the request is not valid HTTP"}"#
            }
            Self::UriTooLong => {
                r#"{"type":"about:blank","title":"URI Too Long","status":414,"detail":"the request's path is too long"}"#
            }
        }
    }
}

/// hyper answers a request that it cannot parse by itself, with a head and no body. This gives the
/// same answer with a body that says what is wrong, or `None` if `written` is not such an answer.
///
/// It cannot touch an answer of ours: those that fail have a body, so they do not end in a head of
/// content length 0; and it looks only at answers after which the connection closes.
pub(super) fn with_body(written: &[u8]) -> Option<Vec<u8>> {
    const LENGTH: &str = "content-length: 0\r\n";
    // The first look, on the way of every answer, is at the status alone.
    let refusal = match written.get(..12)? {
        b"HTTP/1.1 400" => Refusal::UnreadableRequest,
        b"HTTP/1.1 414" => Refusal::UriTooLong,
        b"HTTP/1.1 431" => Refusal::HeadersTooLarge,
        _ => return None,
    };
    let head = std::str::from_utf8(written).ok()?;
    let ends = head.find("\r\n\r\n").map(|at| at.saturating_add(4)) == Some(head.len());
    let closes = head.contains("\r\nconnection: close\r\n");
    let (before, after) = head.split_once(LENGTH)?;
    if !ends || !closes {
        return None;
    }
    let body = refusal.body();
    let length = body.len();
    let whole =
        format!("{before}content-type: {CONTENT}\r\ncontent-length: {length}\r\n{after}{body}");
    Some(whole.into_bytes())
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test]
    async fn every_refusal_is_a_problem_with_its_own_status() {
        for refusal in [
            Refusal::HeadersTooLarge,
            Refusal::Panicked,
            Refusal::UnreadableRequest,
            Refusal::UriTooLong,
        ] {
            let response = refusal.response();
            let status = response.status();
            assert_eq!(response.headers()[CONTENT_TYPE], CONTENT);
            let body = response.into_body().collect().await.unwrap().to_bytes();
            let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(body["status"], status.as_u16());
            assert_eq!(body["title"].as_str(), status.canonical_reason());
            assert!(body["detail"].is_string());
        }
    }

    #[track_caller]
    fn check_untouched(written: &str) {
        assert_eq!(with_body(written.as_bytes()), None, "{written}");
    }

    #[test]
    fn only_a_closing_answer_without_a_body_gets_one() {
        let bare = "HTTP/1.1 431 X\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        let given = String::from_utf8(with_body(bare.as_bytes()).unwrap()).unwrap();
        assert!(given.ends_with(Refusal::HeadersTooLarge.body()));
        check_untouched("");
        check_untouched("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
        check_untouched("HTTP/1.1 400 Bad\r\ncontent-length: 0\r\n\r\n");
        check_untouched("HTTP/1.1 400 Bad\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}");
        check_untouched("HTTP/1.1 400 Bad\r\nconnection: close\r\ncontent-length: 2\r\n\r\n");
        check_untouched(
            "HTTP/1.1 400 Bad\r\nconnection: close\r\n\r\nx\r\ncontent-length: 0\r\n\r\n",
        );
    }
}
