//! Headers that every answer has, whoever made it.

use hyper::Response;
use hyper::header::{
    CACHE_CONTROL, HeaderName, HeaderValue, STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS,
};

use crate::secret::SecretBody;

/// Whether browsers are told to come back by TLS alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hsts {
    /// Not on a plain listener, where it means nothing, and not on a developer's machine: a browser
    /// that trusts the development certificate would refuse plain HTTP to every port of `localhost`.
    LeftOut,
    Sent,
}

/// A year, as the lists of browsers want it. Nothing is said of subdomains, which are not ours.
const YEAR: HeaderValue = HeaderValue::from_static("max-age=31536000");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");

const GUARDS: [(HeaderName, HeaderValue, Hsts); 3] = [
    (CACHE_CONTROL, NO_STORE, Hsts::LeftOut),
    (STRICT_TRANSPORT_SECURITY, YEAR, Hsts::Sent),
    (X_CONTENT_TYPE_OPTIONS, NOSNIFF, Hsts::LeftOut),
];

impl Hsts {
    /// Adds what is missing. What an answer says itself stays: some may be kept by the client.
    pub(super) fn guard(self, response: &mut Response<SecretBody>) {
        for (name, value, needs) in GUARDS {
            if self == Self::Sent || needs == Self::LeftOut {
                response.headers_mut().entry(name).or_insert(value);
            }
        }
    }
}
