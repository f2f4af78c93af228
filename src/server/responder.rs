//! The seam to the part of the program that answers requests.

use std::net::SocketAddr;
use std::pin::Pin;

use hyper::body::Incoming;
use hyper::{Request, Response};

use crate::secret::SecretBody;

/// An answer that is being worked on. It is boxed because its state may be large: that memory is free
/// as soon as the answer is ready, however long the peer takes to read it.
pub type ResponseFuture = Pin<Box<dyn Future<Output = Response<SecretBody>> + Send>>;

/// A request whose body has not been read.
pub type IncomingRequest = Request<Incoming>;

/// Answers requests. Any `Fn(Request<Incoming>, SocketAddr)` that returns such a future does.
///
/// A future that is dropped before it is ready belongs to a client that left, or to a drain that ran
/// out of time.
pub trait Responder: Clone + Send + Sync + 'static {
    fn answer(&self, request: Request<Incoming>, peer: SocketAddr) -> ResponseFuture;

    /// Returns whether the request shows a known key. A connection without one has fewer streams and
    /// is closed when its requests are refused too often. By default no request does.
    fn knows(&self, _request: &Request<Incoming>) -> bool {
        false
    }

    /// Returns whether the request shows a known key that is a secret. Such a connection keeps its
    /// place when all places are taken. By default no request does.
    fn trusts(&self, _request: &Request<Incoming>) -> bool {
        false
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
