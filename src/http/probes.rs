//! Liveness and readiness for load balancers, and metrics for the operator. None of it needs a key,
//! and none of it shows stored data.

use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::http::request::Parts;
use serde_json::json;

use crate::domain::application::ApplicationKind;
use crate::domain::key_text::KeyText;
use crate::http::origin::API_KEY;
use crate::http::reply::Reply;
use crate::http::state::Http;
use crate::secret::SecretBody;

/// A probe's function in the routing table.
pub(in crate::http) type ProbeFunction = fn(&Http, ProbeDetail) -> Reply;

/// The part of the checks that a probe shows: the reasons would help an attacker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum ProbeDetail {
    /// Each check with its reason.
    Checks,
    /// Ready or not.
    Status,
}

impl ProbeDetail {
    /// The detail for a client of the API listener: only management keys get reasons. A missing or
    /// wrong key is no error, since load balancers have none.
    pub(in crate::http) fn of_client(http: &Http, parts: &Parts) -> Self {
        let text = parts.headers.get(API_KEY).and_then(|value| value.to_str().ok());
        let caller =
            text.and_then(KeyText::parse).and_then(|key| http.app.access().authenticate(&key).ok());
        let kind = caller.map(|caller| caller.application.kind);
        if kind == Some(ApplicationKind::Management) { Self::Checks } else { Self::Status }
    }
}

pub(in crate::http) fn healthz(_: &Http, _: ProbeDetail) -> Reply {
    Reply::ok(json!({"status": "alive"}).to_string())
}

/// For clients of the published interface. It says no more than that the server answers.
pub(in crate::http) fn ping(_: &Http, _: ProbeDetail) -> Reply {
    Reply::ok(json!({"status": "ok"}).to_string())
}

pub(in crate::http) fn readyz(http: &Http, detail: ProbeDetail) -> Reply {
    let checks = http.registry.checks();
    let text = match detail {
        ProbeDetail::Checks => checks.to_json(),
        ProbeDetail::Status => checks.status_to_json(),
    };
    // 503 keeps load balancers from sending requests here.
    let status = if checks.are_right() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    Reply::with_status(status, SecretBody::from(text.to_string()))
}

pub(in crate::http) fn metrics(http: &Http, _: ProbeDetail) -> Reply {
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    Reply::ok(http.registry.page()).with(CONTENT_TYPE, kind)
}

pub(in crate::http) fn status(http: &Http, _: ProbeDetail) -> Reply {
    Reply::ok(http.registry.status().to_string())
}
