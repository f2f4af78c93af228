//! The security headers of every answer.

use hyper::Response;
use hyper::header::{
    CACHE_CONTROL, HeaderName, HeaderValue, STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS,
};

use crate::secret::SecretBody;

/// Sends `Strict-Transport-Security` or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hsts {
    /// For plain listeners, where the header has no meaning, and for a developer's machine: a
    /// browser that trusts the development certificate would refuse plain HTTP to every port of
    /// `localhost`.
    LeftOut,
    Sent,
}

/// One year, as the preload lists of browsers require. Subdomains may belong to other services.
const YEAR: HeaderValue = HeaderValue::from_static("max-age=31536000");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");

const GUARDS: [(HeaderName, HeaderValue, Hsts); 3] = [
    (CACHE_CONTROL, NO_STORE, Hsts::LeftOut),
    (STRICT_TRANSPORT_SECURITY, YEAR, Hsts::Sent),
    (X_CONTENT_TYPE_OPTIONS, NOSNIFF, Hsts::LeftOut),
];

impl Hsts {
    /// Adds the headers that the answer does not have. Some answers allow caching.
    pub(super) fn guard(self, response: &mut Response<SecretBody>) {
        for (name, value, needs) in GUARDS {
            if self == Self::Sent || needs == Self::LeftOut {
                response.headers_mut().entry(name).or_insert(value);
            }
        }
    }
}
