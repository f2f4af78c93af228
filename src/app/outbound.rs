//! The interface to destinations outside: send one request, get its whole answer.
//!
//! Proxies and webhooks send through it. The program implements it with a network client; tests
//! implement it without one.

use std::fmt::Debug;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::app::fair_pool::Credential;
use crate::domain::https_url::HttpsUrl;
use crate::domain::id::TenantId;
use crate::domain::proxy::certificate::ClientCertificate;
use crate::secret::Secret;

pub trait Outbound: Debug + Send + Sync {
    /// Checks the destination, sends the request and reads the whole answer.
    fn send(&self, request: OutboundRequest) -> Sending<'_>;

    /// Checks a client certificate before it is stored. The error is the reason to refuse it.
    fn check_identity(&self, _identity: &ClientIdentity) -> Result<(), &'static str> {
        Ok(())
    }
}

pub type Sending<'a> =
    Pin<Box<dyn Future<Output = Result<OutboundResponse, OutboundFailure>> + Send + 'a>>;

pub struct OutboundRequest {
    /// Connections of one tenant never serve another: a destination that misreads one request could
    /// give its answer to the next one.
    pub tenant: TenantId,
    /// Callers without a secret key have a share of the places.
    pub credential: Credential,
    pub method: String,
    pub url: HttpsUrl,
    /// All headers except `Host` and `Content-Length`, which the client sets.
    pub headers: Vec<(String, Secret<Vec<u8>>)>,
    pub body: Secret<Vec<u8>>,
    /// Covers name resolution, connection, request and answer.
    pub timeout: Duration,
    pub response_bytes_max: usize,
    /// Our client certificate. Connections with one identity never serve requests with another.
    pub identity: Option<Arc<ClientIdentity>>,
}

/// A client certificate chain with its private key, as PEM.
pub struct ClientIdentity {
    pub pem: Secret<String>,
}

impl ClientCertificate {
    pub(in crate::app) fn identity(&self) -> ClientIdentity {
        ClientIdentity { pem: Secret::new(self.pem().expose().clone()) }
    }
}

pub struct OutboundResponse {
    pub status: u16,
    pub headers: Vec<(String, Secret<Vec<u8>>)>,
    pub body: Secret<Vec<u8>>,
}

/// A caller may repeat a request only if no byte of it has left. The variants separate the failures
/// by this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutboundFailure {
    /// The destination is not allowed. Nothing was sent.
    Refused(&'static str),
    /// There is no connection to the destination, or no room for one more. Nothing was sent.
    Unreachable(&'static str),
    /// The request may have been sent.
    TimedOut,
    /// The connection broke, or the answer cannot be used. The request may have been sent.
    Broken(&'static str),
}

// Prints neither the path, which may hold a token of the destination, nor headers and bodies.
opaque_debug!(OutboundRequest);

opaque_debug!(OutboundResponse);

opaque_debug!(ClientIdentity);
