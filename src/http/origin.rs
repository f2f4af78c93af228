//! The origin of a request: its trace id, its client's address, and the host that the client used.

use std::net::{IpAddr, SocketAddr};

use hyper::Method;
use hyper::header::{ACCEPT, HOST, HeaderName, ORIGIN, USER_AGENT};
use hyper::http::request::Parts;

use crate::app::Client;
use crate::bounds::THREEDS_TEXT_CHARS_MAX;
use crate::domain::problem_type;
use crate::http::reply::{self, RequestContext};
use crate::http::state::Http;
use crate::limits::client_address;
use crate::log::Trace;

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

    pub(super) fn address(&self, parts: &Parts, peer: SocketAddr) -> IpAddr {
        let forwarded = parts.headers.get_all(FORWARDED_FOR).iter();
        client_address(peer.ip(), forwarded, &self.trusted_proxies)
    }

    /// `https://host`, for URLs in answers. The operator's setting wins over the client's `Host`, since
    /// a forged `Host` would send browsers to another server. Without the setting the client's is
    /// used, which the server has checked to be a host and a port.
    pub(super) fn base(&self, parts: &Parts) -> Option<String> {
        if let Some(url) = &self.public_url {
            return Some(url.clone());
        }
        let authority = parts.uri.authority().map(hyper::http::uri::Authority::as_str);
        let host = parts.headers.get(HOST).and_then(|host| host.to_str().ok());
        authority.or(host).map(|host| format!("https://{host}"))
    }

    fn new_trace(&self) -> String {
        Trace::draw(|| self.app.random().bytes())
    }
}
