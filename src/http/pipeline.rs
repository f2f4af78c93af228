//! The way of a request through its checks to the function that answers it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use hyper::body::Incoming;
use hyper::header::{HeaderMap, IF_NONE_MATCH};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response};
use serde_json::Value;

use crate::app::{Caller, Error, Guard};
use crate::domain::key_text::KeyText;
use crate::http::body;
use crate::http::exchange::{Exchange, Instead, counted};
use crate::http::origin::API_KEY;
use crate::http::probes::Probe;
use crate::http::problem::Problem;
use crate::http::reply::{self, Asked, Reply};
use crate::http::request_counts::NO_ROUTE;
use crate::http::route::{self, Carries, Matched, Repeated, Route};
use crate::http::state::{Deprecated, Http};
use crate::http::wire::query::Query;
use crate::idempotency::{Replay, is_key};
use crate::log::{RequestLine, Trace};
use crate::secret::{Secret, SecretBody};

const IDEMPOTENCY_KEY: &str = "bt-idempotency-key";

/// What is known of a request when it is logged.
#[derive(Default)]
struct Seen {
    route: Option<&'static Route>,
    caller: Option<Arc<Caller>>,
}

impl Seen {
    fn writes(&self) -> bool {
        self.route.is_some_and(|route| route.repeated == Repeated::Once)
    }
}

impl Http {
    pub async fn answer(
        &self,
        request: Request<Incoming>,
        peer: SocketAddr,
    ) -> Response<SecretBody> {
        let started = Instant::now();
        let (parts, body) = request.into_parts();
        let asked = self.asked(&parts);
        let mut seen = Seen::default();
        let page = self.page(&parts);
        let probe = Probe::find(parts.uri.path());
        let mut response = if parts.method == Method::OPTIONS {
            self.preflight(&asked, &parts, body, peer).await
        } else if let Some(page) = &page {
            let mut shown = self.show(page, &parts, body, peer).await;
            asked.trace(&mut shown);
            shown
        } else if let Some(probe) = probe {
            let told = self.probe(probe, &parts, body, peer).await;
            told.map_or_else(|problem| asked.failure(&problem), |reply| asked.success(reply))
        } else {
            match self.reply(&parts, body, peer, &mut seen).await {
                Ok(reply) if seen.writes() => asked.success(reply),
                Ok(reply) => self.answers.hold(&asked, asked.success(reply)),
                Err(Instead::App(Error::Replayed(earlier))) => {
                    match self.replayed(*earlier, &seen).await {
                        Ok(reply) => self.answers.hold(&asked, asked.success(reply)),
                        Err(problem) => self.failure(&asked, &problem),
                    }
                }
                Err(Instead::App(error)) => self.failure(&asked, &error.into()),
                Err(Instead::Problem(problem)) => self.failure(&asked, &problem),
            }
        };
        if let Some(successor) = seen.route.and_then(|route| route.operation.successor()) {
            reply::announce(&successor, response.headers_mut());
        }
        let route = seen.route.map(|route| route.name);
        let route = route.or(page.map(|page| page.name())).or(probe.map(Probe::name));
        let route = route.unwrap_or(NO_ROUTE);
        let (status, duration) = (response.status().as_u16(), started.elapsed());
        self.requests.count(route, status, duration);
        self.log.request(RequestLine {
            trace: Trace::from_client(&asked.trace),
            route,
            tenant: seen.caller.as_ref().map(|caller| caller.tenant.id.uuid()),
            application: seen.caller.as_ref().map(|caller| caller.application.id.uuid()),
            status,
            duration,
        });
        response
    }

    fn failure(&self, asked: &Asked, problem: &Problem) -> Response<SecretBody> {
        self.note(problem);
        asked.failure(problem)
    }

    /// Shows again what was shown before, which is an access as much.
    async fn replayed(&self, replay: Replay, seen: &Seen) -> Result<Reply, Problem> {
        if let Some(caller) = &seen.caller {
            self.app.audit().note_replay(caller, &replay).await?;
        }
        self.requests.count_replayed();
        Ok(Reply::replayed(replay))
    }

    /// The address counts here too: a preflight costs as much as a refusal.
    async fn preflight(
        &self,
        asked: &Asked,
        parts: &Parts,
        body: Incoming,
        peer: SocketAddr,
    ) -> Response<SecretBody> {
        let admitted = self.admit_address(parts, peer);
        body::drain(body).await;
        match admitted {
            Ok(_) => asked.preflight(),
            Err(problem) => asked.failure(&problem),
        }
    }

    async fn reply(
        &self,
        parts: &Parts,
        body: Incoming,
        peer: SocketAddr,
        seen: &mut Seen,
    ) -> Result<Reply, Instead> {
        let begun = self.admit(parts, peer, seen).map_err(Instead::from);
        let begun = begun.and_then(|(matched, caller)| {
            let guard = self.begin_once(parts, &matched, &caller)?;
            Ok((matched, guard))
        });
        let (matched, guard) = match begun {
            Ok(begun) => begun,
            Err(instead) => {
                body::drain(body).await;
                return Err(instead);
            }
        };
        let bodies = &self.bodies;
        let (body, _share) = match matched.route.carries {
            Carries::Json => body::read_json(&parts.headers, body, bodies).await?,
            Carries::MergePatch => body::read_merge_patch(&parts.headers, body, bodies).await?,
            Carries::Nothing => {
                body::drain(body).await;
                (Secret::new(Value::Null), bodies.share())
            }
        };
        // The body may have taken half a minute, and the key may be gone or hold less by now.
        let caller = match key_of(&parts.headers) {
            Some(key) => self.app.access().authenticate(&key)?,
            None => return Err(Error::Unauthenticated.into()),
        };
        caller.require_one_somewhere(matched.route.permissions)?;
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        let query = query.ok_or(Problem::new(400, "The query is too long or not valid UTF-8."))?;
        let parameters = matched.parameters;
        let if_none_match = parts.headers.get(IF_NONE_MATCH).and_then(|tags| tags.to_str().ok());
        let exchange = Exchange {
            http: self,
            app: &self.app,
            caller: &caller,
            parameters,
            query,
            body,
            guard,
            catalog: &self.catalog,
            if_none_match: if_none_match.map(String::from),
            client: self.client(parts, peer),
        };
        exchange.dispatch(matched.route.operation).await
    }

    /// Takes the request's idempotency key, or finds what it was answered before.
    fn begin_once(
        &self,
        parts: &Parts,
        matched: &Matched,
        caller: &Arc<Caller>,
    ) -> Result<Option<Guard>, Instead> {
        let Some(value) = parts.headers.get(IDEMPOTENCY_KEY) else { return Ok(None) };
        if matched.route.repeated == Repeated::Again {
            return Ok(None);
        }
        let key = value.to_str().ok().filter(|text| is_key(text)).ok_or(Problem::new(
            400,
            "The BT-IDEMPOTENCY-KEY header must have 1 to 255 visible characters.",
        ))?;
        let path = parts.uri.path();
        let path = path.strip_suffix('/').unwrap_or(path);
        Ok(Some(self.app.idempotency().begin(caller, parts.method.as_str(), path, key)?))
    }

    /// All that is decided before the body is read.
    fn admit(
        &self,
        parts: &Parts,
        peer: SocketAddr,
        seen: &mut Seen,
    ) -> Result<(Matched, Arc<Caller>), Problem> {
        let address = self.admit_address(parts, peer)?;
        let matched = route::route(&parts.method, parts.uri.path())?;
        seen.route = Some(matched.route);

        let key = key_of(&parts.headers).ok_or(Error::Unauthenticated)?;
        let caller = self.app.access().authenticate(&key)?;
        seen.caller = Some(Arc::clone(&caller));
        let request = counted(&caller, address, matched.route.operation);
        let admitted = self.limiter.admit(&request, self.app.now());
        admitted.map_err(|refusal| self.limited(refusal))?;
        caller.require_one_somewhere(matched.route.permissions)?;
        // Whatever a key does leaves a trace, and there must be room for it.
        self.app.require_space_for_audit()?;
        if let Some(successor) = matched.route.operation.successor()
            && self.deprecated == Deprecated::Gone
        {
            return Err(Problem::new(410, successor.gone));
        }
        Ok((matched, caller))
    }

    /// Whether the request carries a key of ours, for those who serve connections. Neither limits nor
    /// permissions are looked at.
    pub fn knows(&self, request: &Request<Incoming>) -> bool {
        key_of(request.headers()).is_some_and(|key| self.app.access().authenticate(&key).is_ok())
    }
}

fn key_of(headers: &HeaderMap) -> Option<KeyText> {
    headers.get(API_KEY).and_then(|value| value.to_str().ok()).and_then(KeyText::parse)
}
