//! The origin of a request: its trace id, its client's address and key, and the host that the
//! client used.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{ACCEPT, HOST, HeaderMap, HeaderName, ORIGIN, USER_AGENT};
use hyper::http::request::Parts;
use hyper::{Method, Request};

use crate::app::{Caller, Client, Credential, Error};
use crate::bounds::THREEDS_TEXT_CHARS_MAX;
use crate::domain::problem_type;
use crate::domain::shares::Claimant;
use crate::http::reply::{self};
use crate::http::sign_on::SignOn;
use crate::http::{Http, RequestContext};
use crate::limits::client_address;
use crate::log::AnswerTrace;

/// The header that carries the API key.
pub(super) const API_KEY: &str = "bt-api-key";
const FORWARDED_FOR: &str = "x-forwarded-for";

impl Http {
    pub(super) fn context(&self, parts: &Parts) -> RequestContext {
        let secret = parts.headers.get(API_KEY);
        let accepted = parts.headers.get_all(ACCEPT).iter();
        let accepted = accepted.filter_map(|value| value.to_str().ok());
        RequestContext {
            trace: reply::trace_of(&parts.headers, secret).unwrap_or_else(|| self.new_trace()),
            cross_origin: parts.headers.contains_key(ORIGIN),
            problem_type: problem_type::of_accept(accepted),
            // `Location` is sent for POST only.
            base: if parts.method == Method::POST { self.base(parts) } else { None },
        }
    }

    /// The browser that may have sent the request, as 3-D Secure describes it.
    pub(super) fn client(&self, parts: &Parts, address: IpAddr) -> Client {
        let text = |name: HeaderName| {
            let value = parts.headers.get(name)?.to_str().ok()?;
            Some(value.chars().take(THREEDS_TEXT_CHARS_MAX).collect::<String>())
        };
        Client {
            base: self.base(parts).unwrap_or_else(|| String::from("https://localhost")),
            address,
            accept: text(ACCEPT),
            user_agent: text(USER_AGENT),
        }
    }

    pub(super) fn address(&self, headers: &HeaderMap, peer: SocketAddr) -> IpAddr {
        let forwarded = headers.get_all(FORWARDED_FOR).iter();
        client_address(peer.ip(), forwarded, &self.trusted_proxies)
    }

    /// The claimant of a request before it is answered. Limits and permissions are not checked.
    pub fn claimant(&self, request: &Request<Incoming>, peer: SocketAddr) -> Claimant {
        let headers = request.headers();
        let address = self.address(headers, peer);
        if let SignOn::Person(_) = self.console.sign_on(headers, peer.ip(), None)
            && !headers.contains_key(API_KEY)
        {
            return Claimant::Certified(address);
        }
        let caller = self.caller_of(headers).ok();
        claimant(caller.as_deref(), address)
    }

    /// The caller whose API key the request has.
    pub(super) fn caller_of(&self, headers: &HeaderMap) -> Result<Arc<Caller>, Error> {
        let key = headers.get(API_KEY).ok_or(Error::Unauthenticated)?;
        self.app.access().authenticate_presented(key.as_bytes())
    }

    /// `https://host`, for URLs in answers. The operator's setting overrides the client's `Host`,
    /// since a forged `Host` would send browsers to another server. Without the setting the
    /// client's `Host` is used; the server has checked that it is a host and a port.
    pub(super) fn base(&self, parts: &Parts) -> Option<String> {
        if let Some(url) = &self.public_url {
            return Some(url.clone());
        }
        host_of(parts).map(|host| ["https://", host].concat())
    }

    /// The host in the request, and the host in the operator's setting if it differs: a reverse
    /// proxy may replace the host that the client used.
    pub(super) fn hosts<'p>(&'p self, parts: &'p Parts) -> Vec<&'p str> {
        let public = self.public_url.as_deref().and_then(|url| url.strip_prefix("https://"));
        let mut hosts: Vec<_> = host_of(parts).into_iter().chain(public).collect();
        hosts.dedup();
        hosts
    }

    fn new_trace(&self) -> AnswerTrace {
        AnswerTrace::draw(|| self.app.random().bytes())
    }
}

/// The host that the client used; the server has checked that it is a host and a port.
fn host_of(parts: &Parts) -> Option<&str> {
    let authority = parts.uri.authority().map(hyper::http::uri::Authority::as_str);
    authority.or_else(|| parts.headers.get(HOST)?.to_str().ok())
}

/// The claimant of a caller. Everybody can read the keys of a public application and of its
/// sessions in a page, so they do not identify a caller; nor does the key of a program that works
/// for a stranger.
pub(super) fn claimant(caller: Option<&Caller>, address: IpAddr) -> Claimant {
    match caller {
        Some(caller) if caller.credential() == Credential::Secret => {
            Claimant::Keyed(caller.tenant.id)
        }
        other => Claimant::Stranger { address, tenant: other.map(|caller| caller.tenant.id) },
    }
}
