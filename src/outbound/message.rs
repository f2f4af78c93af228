//! A request in hyper's form, for either protocol. It can be made again while none of it has been
//! sent.

use hyper::header::{HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::http::uri::{Authority, PathAndQuery, Scheme};
use hyper::{Method, Request, Uri};

use crate::domain::connection_headers::is_of_connection;
use crate::domain::https_url::HttpsUrl;
use crate::secret::{Secret, SecretBody};

const NOT_SENDABLE: &str = "the request cannot be sent over HTTP";

#[derive(Debug)]
pub struct Message {
    method: Method,
    path: PathAndQuery,
    authority: HeaderValue,
    headers: HeaderMap,
    body: SecretBody,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Http1,
    Http2,
}

impl Message {
    /// Leaves out the headers that this client sets itself and those that belong to a connection: a
    /// second length, or another framing, could turn one request into two.
    pub fn new(
        method: &str,
        url: &HttpsUrl,
        headers: &[(String, Secret<Vec<u8>>)],
        body: Secret<Vec<u8>>,
    ) -> Result<Self, &'static str> {
        let method = Method::from_bytes(method.as_bytes()).ok().ok_or(NOT_SENDABLE)?;
        // CONNECT would turn the connection into a tunnel.
        if method == Method::CONNECT {
            return Err(NOT_SENDABLE);
        }
        let path = url.path.parse().ok().ok_or(NOT_SENDABLE)?;
        let authority = HeaderValue::from_str(&url.authority()).ok().ok_or(NOT_SENDABLE)?;
        let mut map = HeaderMap::with_capacity(headers.len().saturating_add(1));
        for (name, value) in headers {
            let name = HeaderName::from_bytes(name.as_bytes()).ok().ok_or(NOT_SENDABLE)?;
            if is_of_connection(name.as_str()) {
                continue;
            }
            let mut value = HeaderValue::from_bytes(value.expose()).ok().ok_or(NOT_SENDABLE)?;
            // HTTP/2 keeps other values in its compression table.
            value.set_sensitive(true);
            map.append(name, value);
        }
        Ok(Self { method, path, authority, headers: map, body: SecretBody::new(body) })
    }

    /// True for a body with a method that usually has none. Some servers do not read it and treat
    /// it as the next request, so the connection must not be used again.
    pub(super) fn is_unusual(&self) -> bool {
        let has_body = hyper::body::Body::size_hint(&self.body).lower() > 0;
        has_body && ![Method::POST, Method::PUT, Method::PATCH].contains(&self.method)
    }

    pub(super) fn request(&self, protocol: Protocol) -> Result<Request<SecretBody>, &'static str> {
        let mut request = Request::new(self.body.again());
        *request.method_mut() = self.method.clone();
        *request.headers_mut() = self.headers.clone();
        let mut uri = hyper::http::uri::Parts::default();
        uri.path_and_query = Some(self.path.clone());
        match protocol {
            Protocol::Http1 => {
                request.headers_mut().insert(HOST, self.authority.clone());
            }
            Protocol::Http2 => {
                let authority = Authority::try_from(self.authority.as_bytes());
                uri.authority = Some(authority.ok().ok_or(NOT_SENDABLE)?);
                uri.scheme = Some(Scheme::HTTPS);
            }
        }
        *request.uri_mut() = Uri::from_parts(uri).ok().ok_or(NOT_SENDABLE)?;
        Ok(request)
    }
}
