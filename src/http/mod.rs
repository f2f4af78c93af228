//! HTTP ends here: routes, bodies, wire shapes, problems. The only reader of bodies and the only
//! maker of responses.
//!
//! The order of checks is the same for every route: the address's limit, the route, the key, the
//! key's limits, a permission that the key lacks everywhere, the body, and then the operation's own.

mod applications;
mod body;
mod lists;
mod problem;
mod reply;
pub mod route;
mod tenants;
mod tokens;
pub(crate) mod wire;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{HOST, ORIGIN};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response};
use serde_json::Value;

use crate::app::{App, Caller, Error};
use crate::domain::key_text::KeyText;
use crate::http::problem::Problem;
use crate::http::reply::{Asked, Reply};
use crate::http::route::{Carries, Matched, Operation, Route, Unmatched};
use crate::http::wire::query::Query;
use crate::limits::{self, KeyHash, Limiter, Network, client_address};
use crate::log::{self, Event, Log, RequestLine, Trace};
use crate::secret::Secret;

const API_KEY: &str = "bt-api-key";
const FORWARDED_FOR: &str = "x-forwarded-for";

/// Answers requests.
#[derive(Debug)]
pub struct Http {
    pub app: Arc<App>,
    pub limiter: Limiter,
    pub log: Log,
    /// Peers whose word about the client's address is taken.
    pub trusted_proxies: Vec<Network>,
    pub deprecated: Deprecated,
}

/// What becomes of the operations that have a successor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deprecated {
    Answered,
    /// 410, naming the successor.
    Gone,
}

/// One request, authenticated and read.
struct Exchange<'a> {
    app: &'a App,
    caller: &'a Caller,
    parameters: Vec<String>,
    query: Query,
    body: Secret<Value>,
}

/// What is known of a request when it is logged.
#[derive(Default)]
struct Seen {
    route: Option<&'static Route>,
    caller: Option<Arc<Caller>>,
}

impl Http {
    pub async fn answer(
        &self,
        request: Request<Incoming>,
        peer: SocketAddr,
    ) -> Response<Full<Bytes>> {
        let started = Instant::now();
        let (parts, body) = request.into_parts();
        let asked = self.asked(&parts);
        let mut seen = Seen::default();
        let mut response = if parts.method == Method::OPTIONS {
            body::drain(body).await;
            asked.preflight()
        } else {
            match self.reply(&parts, body, peer, &mut seen).await {
                Ok(reply) => asked.success(reply),
                Err(problem) => {
                    self.note(&problem);
                    asked.failure(&problem)
                }
            }
        };
        if let Some(successor) = seen.route.and_then(|route| route.operation.successor()) {
            reply::announce(&successor, response.headers_mut());
        }
        self.log.request(RequestLine {
            trace: Trace::from_client(&asked.trace),
            route: seen.route.map_or("none", |route| route.path),
            tenant: seen.caller.as_ref().map(|caller| caller.tenant.id.uuid()),
            application: seen.caller.as_ref().map(|caller| caller.application.id.uuid()),
            status: response.status().as_u16(),
            duration: started.elapsed(),
        });
        response
    }

    async fn reply(
        &self,
        parts: &Parts,
        body: Incoming,
        peer: SocketAddr,
        seen: &mut Seen,
    ) -> Result<Reply, Problem> {
        let (matched, caller) = match self.admit(parts, peer, seen) {
            Ok(admitted) => admitted,
            Err(problem) => {
                body::drain(body).await;
                return Err(problem);
            }
        };
        let body = match matched.route.carries {
            Carries::Json => body::read_json(&parts.headers, body).await?,
            Carries::Nothing => {
                body::drain(body).await;
                Secret::new(Value::Null)
            }
        };
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        let query = query.ok_or(Problem::new(400, "The query is too long or not valid UTF-8."))?;
        let parameters = matched.parameters;
        let exchange = Exchange { app: &self.app, caller: &caller, parameters, query, body };
        exchange.dispatch(matched.route.operation).await
    }

    /// All that is decided before the body is read.
    fn admit(
        &self,
        parts: &Parts,
        peer: SocketAddr,
        seen: &mut Seen,
    ) -> Result<(Matched, Arc<Caller>), Problem> {
        let now = self.app.now();
        let forwarded = parts.headers.get_all(FORWARDED_FOR).iter();
        let address = client_address(peer.ip(), forwarded, &self.trusted_proxies);
        self.limiter.admit_address(address, now).map_err(Problem::from)?;
        let matched = route::route(&parts.method, parts.uri.path())?;
        seen.route = Some(matched.route);

        let text = parts.headers.get(API_KEY).and_then(|value| value.to_str().ok());
        let key = text.and_then(KeyText::parse).ok_or(Error::Unauthenticated)?;
        let caller = self.app.authenticate(&key)?;
        seen.caller = Some(Arc::clone(&caller));
        let request = limits::Request {
            address,
            key: KeyHash::of(&caller.tag),
            key_form: caller.key.form,
            tenant: caller.tenant.kind,
            application: caller.application.kind,
            operation: matched.route.operation.counted_as(),
            rate_limit: caller.tenant.quotas.rate_limit,
        };
        self.limiter.admit(&request, now).map_err(Problem::from)?;
        if let Some(permission) = matched.route.permission {
            caller.require_somewhere(permission)?;
        }
        if let Some(successor) = matched.route.operation.successor()
            && self.deprecated == Deprecated::Gone
        {
            return Err(Problem::new(410, successor.gone));
        }
        Ok((matched, caller))
    }

    fn asked(&self, parts: &Parts) -> Asked {
        let authority = parts.uri.authority().map(hyper::http::uri::Authority::as_str);
        let host = parts.headers.get(HOST).and_then(|host| host.to_str().ok());
        Asked {
            trace: reply::trace_of(&parts.headers).unwrap_or_else(|| self.new_trace()),
            cross_origin: parts.headers.contains_key(ORIGIN),
            base: authority.or(host).map(|host| format!("https://{host}")),
        }
    }

    fn new_trace(&self) -> String {
        uuid::Builder::from_random_bytes(self.app.random().bytes()).into_uuid().to_string()
    }

    /// A fault of ours is logged where it is answered; one of the disk ends the process.
    fn note(&self, problem: &Problem) {
        if let Some(fault) = problem.fault {
            self.log.event(
                Event::error("internal_fault").with("fault", log::Value::Name(fault.name())),
            );
        }
    }
}

impl Exchange<'_> {
    async fn dispatch(&self, operation: Operation) -> Result<Reply, Problem> {
        match operation {
            Operation::CreateApplication => self.create_application().await,
            Operation::CreateApplicationKey => self.create_application_key().await,
            Operation::CreateToken => self.create_token().await,
            Operation::DeleteApplication => self.delete_application().await,
            Operation::DeleteApplicationKey => self.delete_application_key().await,
            Operation::DeleteToken => self.delete_token().await,
            Operation::ListApplicationKeys => self.list_application_keys(),
            Operation::ListApplicationTemplates => Ok(Reply::ok(wire::template::render_all())),
            Operation::ListApplications => self.list_applications(),
            Operation::ListPermissions => self.list_permissions(),
            Operation::ListTokens => self.list_tokens(),
            Operation::ListTokensV1 => self.list_tokens_v1().await,
            Operation::ReadApplication => self.read_application(),
            Operation::ReadApplicationByKey => self.read_application_by_key(),
            Operation::ReadApplicationKey => self.read_application_key(),
            Operation::ReadApplicationTemplate => self.read_application_template(),
            Operation::ReadTenant => Ok(self.read_tenant()),
            Operation::ReadToken => self.read_token(),
            Operation::RegenerateApplicationKey => Err(Problem::new(
                410,
                "Keys are no longer regenerated: create a new one with POST \
                 /applications/{id}/keys and delete the old one.",
            )),
            Operation::SearchTokens => self.search_tokens(),
            Operation::SearchTokensV1 => self.search_tokens_v1().await,
            Operation::UpdateApplication => self.update_application().await,
            Operation::UpdateTenant => self.update_tenant().await,
        }
    }

    /// What stood in the place of the route's braces.
    fn parameter(&self, at: usize) -> &str {
        self.parameters.get(at).map_or("", String::as_str)
    }
}

impl From<Unmatched> for Problem {
    fn from(unmatched: Unmatched) -> Self {
        match unmatched {
            Unmatched::Method(allow) => Self::method_not_allowed(allow),
            Unmatched::Path => Self::new(404, "There is no such path."),
        }
    }
}
