//! Whether the server lives and is ready, for load balancers; and all its numbers, for its operator. None
//! of it needs a key, and none of it tells about anything that is kept.

use std::net::SocketAddr;

use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode};
use serde_json::json;

use crate::domain::application::ApplicationKind;
use crate::domain::key_text::KeyText;
use crate::http::body;
use crate::http::origin::API_KEY;
use crate::http::problem::Problem;
use crate::http::reply::Reply;
use crate::http::state::Http;
use crate::metrics::Registry;
use crate::secret::SecretBody;

/// What the listener for everyone knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum Probe {
    Healthz,
    Readyz,
}

/// How much of the checks is told: what is wrong with a vault is of use to whoever attacks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// Each check with its reason.
    Checks,
    /// Ready or not.
    Status,
}

pub(in crate::http) const PROBE_NAMES: [&str; 2] = [Probe::Healthz.name(), Probe::Readyz.name()];

impl Probe {
    pub(in crate::http) fn find(path: &str) -> Option<Self> {
        match path.strip_suffix('/').unwrap_or(path) {
            "/healthz" => Some(Self::Healthz),
            "/readyz" => Some(Self::Readyz),
            _ => None,
        }
    }

    /// For the log and the counters.
    pub(in crate::http) const fn name(self) -> &'static str {
        match self {
            Self::Healthz => "Healthz",
            Self::Readyz => "Readyz",
        }
    }

    fn reply(self, registry: &Registry, detail: Detail) -> Reply {
        match self {
            Self::Healthz => Reply::ok(json!({"status": "alive"}).to_string()),
            Self::Readyz => {
                let checks = registry.checks();
                let text = match detail {
                    Detail::Checks => checks.to_json(),
                    Detail::Status => checks.status_to_json(),
                };
                let text = text.to_string();
                if checks.are_right() { Reply::ok(text) } else { Reply::unavailable(text) }
            }
        }
    }
}

impl Http {
    /// The address counts: nothing that anyone may ask is free.
    pub(in crate::http) async fn probe(
        &self,
        probe: Probe,
        parts: &Parts,
        body: Incoming,
        peer: SocketAddr,
    ) -> Result<Reply, Problem> {
        let admitted = self.admit_address(parts, peer);
        body::drain(body).await;
        admitted?;
        require_get(&parts.method)?;
        Ok(probe.reply(&self.registry, self.detail(parts)))
    }

    /// Reasons are for those who run the vault. A key that is missing or wrong is no mistake here:
    /// load balancers have none.
    fn detail(&self, parts: &Parts) -> Detail {
        let text = parts.headers.get(API_KEY).and_then(|value| value.to_str().ok());
        let caller =
            text.and_then(KeyText::parse).and_then(|key| self.app.access().authenticate(&key).ok());
        let kind = caller.map(|caller| caller.application.kind);
        if kind == Some(ApplicationKind::Management) { Detail::Checks } else { Detail::Status }
    }

    /// Answers on the operator's own listeners. Neither counted nor logged: a scraper would drown the
    /// rest.
    pub async fn answer_operator(&self, request: Request<Incoming>) -> Response<SecretBody> {
        let (parts, body) = request.into_parts();
        let asked = self.asked(&parts);
        body::drain(body).await;
        if let Err(problem) = require_get(&parts.method) {
            return asked.failure(&problem);
        }
        let path = parts.uri.path();
        match (Probe::find(path), path) {
            (Some(probe), _) => asked.success(probe.reply(&self.registry, Detail::Checks)),
            (None, "/metrics") => {
                let text = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
                let mut response = asked.success(Reply::ok(self.registry.page()));
                response.headers_mut().insert(CONTENT_TYPE, text);
                response
            }
            (None, "/status") => asked.success(Reply::ok(self.registry.status().to_string())),
            (None, _) => asked.failure(&Problem::new(404, "There is no such path.")),
        }
    }
}

fn require_get(method: &Method) -> Result<(), Problem> {
    if matches!(*method, Method::GET | Method::HEAD) {
        return Ok(());
    }
    Err(Problem::method_not_allowed(String::from("GET, HEAD")))
}

impl Reply {
    /// What was asked for, with the status that keeps load balancers away.
    fn unavailable(body: String) -> Self {
        Self::with_status(StatusCode::SERVICE_UNAVAILABLE, SecretBody::from(body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_are_found_by_their_paths_alone() {
        for (path, expected) in [
            ("/healthz", Some(Probe::Healthz)),
            ("/readyz/", Some(Probe::Readyz)),
            ("/readyz/x", None),
            ("/metrics", None),
            ("/status", None),
            ("/", None),
        ] {
            assert_eq!(Probe::find(path), expected, "{path}");
        }
    }
}
