//! The operator's listeners: HTTP/1.1 without TLS, on an address of this machine or on a Unix socket.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::bounds::WATCH_CONNECTIONS_MAX;
use crate::crypto::Random;
use crate::log::Log;
use crate::server::connection::{Connections, Peer};
use crate::server::first_request_grace::FirstRequestGrace;
use crate::server::headers::Hsts;
use crate::server::listener::listen;
use crate::server::problem::ProblemReporter;
use crate::server::responder::Responder;
use crate::server::tasks::Tasks;
use crate::server::traffic::Traffic;

/// A listener that does not serve yet.
#[derive(Debug)]
pub struct PlainListener {
    listener: Listener,
    connections: Connections,
}

#[derive(Debug)]
enum Listener {
    Address(TcpListener),
    Socket(UnixListener, PathBuf),
}

impl PlainListener {
    /// Must be called inside a Tokio runtime.
    pub fn bind_address(address: SocketAddr, log: Log) -> io::Result<Self> {
        Ok(Self::new(Listener::Address(listen(address)?), log))
    }

    /// Binds a Unix socket that only the user of this process can use. A socket that is there
    /// already was left by an earlier process: the caller holds the lock of the data file.
    pub fn bind_socket(path: &Path, log: Log) -> io::Result<Self> {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => (),
        }
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        Ok(Self::new(Listener::Socket(listener, path.to_path_buf()), log))
    }

    fn new(listener: Listener, log: Log) -> Self {
        // A separate instance: the operator's connections are not part of the server's metrics.
        let traffic = Arc::new(Traffic::new(None, log.clone()));
        let random = Arc::new(Random::new());
        let refusals = ProblemReporter { random, traffic, hsts: Hsts::LeftOut, log, peer: None };
        let connections = Connections::new(Arc::default(), Tasks::new(), refusals, None);
        Self { listener, connections }
    }

    /// The bound address; `None` for a Unix socket.
    pub fn address(&self) -> Option<SocketAddr> {
        match &self.listener {
            Listener::Address(listener) => listener.local_addr().ok(),
            Listener::Socket(..) => None,
        }
    }

    /// Serves until it is dropped. Connections over the maximum wait.
    pub async fn serve(self, answer: impl Responder) {
        let places = Arc::new(Semaphore::new(WATCH_CONNECTIONS_MAX));
        loop {
            // The semaphore is never closed.
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            let accepted = self.listener.accept().await;
            match accepted {
                Ok(AcceptedStream::Address(stream, peer)) => {
                    self.take(stream, peer, answer.clone(), place);
                }
                // A client of a Unix socket is on this machine.
                Ok(AcceptedStream::Socket(stream)) => {
                    let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
                    self.take(stream, peer, answer.clone(), place);
                }
                // Out of file descriptors: wait until other connections are closed.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    }

    fn take(
        &self,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        peer: SocketAddr,
        answer: impl Responder,
        place: OwnedSemaphorePermit,
    ) {
        let connections = self.connections.clone();
        self.connections.tasks.spawn(async move {
            let stop = connections.tasks.stop_signal();
            let grace = FirstRequestGrace::new(connections.bounds.first_request_grace_max);
            let peer = Peer { address: peer, authorities: None, permit: None };
            connections.serve_http1(stream, peer, answer, stop, grace).await;
            drop(place);
        });
    }
}

enum AcceptedStream {
    Address(tokio::net::TcpStream, SocketAddr),
    Socket(tokio::net::UnixStream),
}

impl Listener {
    async fn accept(&self) -> io::Result<AcceptedStream> {
        match self {
            Self::Address(listener) => {
                listener.accept().await.map(|(stream, peer)| AcceptedStream::Address(stream, peer))
            }
            Self::Socket(listener, _) => {
                listener.accept().await.map(|(stream, _)| AcceptedStream::Socket(stream))
            }
        }
    }
}

impl Drop for PlainListener {
    fn drop(&mut self) {
        // The drain does not wait for them: metrics of a process that ends are not needed.
        self.connections.tasks.end();
        if let Listener::Socket(_, path) = &self.listener {
            std::fs::remove_file(path).ok();
        }
    }
}
