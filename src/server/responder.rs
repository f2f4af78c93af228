//! The interface to the part of the program that answers requests.

use std::net::SocketAddr;
use std::pin::Pin;

use hyper::body::Incoming;
use hyper::{Request, Response};

use crate::domain::shares::Claimant;
use crate::secret::SecretBody;

/// The future of an answer. It is boxed because its state may be large: that memory is freed as
/// soon as the answer is ready, however long the peer takes to read it.
pub type ResponseFuture = Pin<Box<dyn Future<Output = Response<SecretBody>> + Send>>;

/// A request whose body has not been read.
pub type IncomingRequest = Request<Incoming>;

/// Answers requests. Any `Fn(Request<Incoming>, SocketAddr)` that returns such a future implements
/// it.
///
/// A future is dropped before it is ready if the client left, or if a drain ran out of time.
pub trait Responder: Clone + Send + Sync + 'static {
    fn answer(&self, request: Request<Incoming>, peer: SocketAddr) -> ResponseFuture;

    /// The claimant of the request. One with a tenant has shown a known key: a connection without
    /// one has fewer streams and is closed when its requests are refused too often. A connection
    /// that has shown a secret key keeps its place when all places are taken. By default every
    /// request is a stranger's.
    fn claimant(&self, _request: &Request<Incoming>, peer: SocketAddr) -> Claimant {
        Claimant::Stranger { address: peer.ip(), tenant: None }
    }
}

impl<A, F> Responder for A
where
    A: Fn(Request<Incoming>, SocketAddr) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<SecretBody>> + Send + 'static,
{
    fn answer(&self, request: Request<Incoming>, peer: SocketAddr) -> ResponseFuture {
        Box::pin(self(request, peer))
    }
}
