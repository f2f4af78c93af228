//! The operator's listeners: HTTP/1.1 without TLS, on an address of this machine or a Unix socket.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};

use crate::bounds::WATCH_CONNECTIONS_MAX;
use crate::crypto::Random;
use crate::files::SocketFile;
use crate::log::Log;
use crate::server::connection::{Connections, Peer};
use crate::server::first_request_grace::FirstRequestGrace;
use crate::server::headers::Hsts;
use crate::server::listener::listen;
use crate::server::permits::{AddressLimit, Permits};
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
    /// Fields are dropped in order: the file is removed while the listener still exists, so its
    /// inode number cannot belong to another file.
    Socket {
        _file: SocketFile,
        listener: UnixListener,
    },
}

impl PlainListener {
    /// Must be called inside a Tokio runtime.
    pub fn bind_address(address: SocketAddr, log: Log) -> io::Result<Self> {
        Ok(Self::new(Listener::Address(listen(address)?), log))
    }

    /// Binds a Unix socket that only the user of this process can use. An existing socket was left
    /// by an earlier process: the caller holds the lock of the data file.
    pub fn bind_socket(path: &Path, log: Log) -> io::Result<Self> {
        let (listener, file) = SocketFile::bind(path)?;
        let listener = UnixListener::from_std(listener)?;
        Ok(Self::new(Listener::Socket { _file: file, listener }, log))
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
            Listener::Socket { .. } => None,
        }
    }

    /// Serves until it is dropped. When all places are taken, the oldest connection without a
    /// request makes room.
    pub async fn serve(self, answer: impl Responder) {
        let permits = Permits::new(WATCH_CONNECTIONS_MAX, None);
        loop {
            // A client of a Unix socket is on this machine.
            let here = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
            let accepted = match &self.listener {
                Listener::Address(listener) => listener
                    .accept()
                    .await
                    .map(|(stream, peer)| self.take(stream, peer, answer.clone(), &permits)),
                Listener::Socket { listener, .. } => listener
                    .accept()
                    .await
                    .map(|(stream, _)| self.take(stream, here, answer.clone(), &permits)),
            };
            if accepted.is_err() {
                // Out of file descriptors: wait until other connections are closed.
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }

    fn take(
        &self,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        address: SocketAddr,
        answer: impl Responder,
        permits: &Permits,
    ) {
        let Ok(permit) = permits.take(address.ip(), AddressLimit::Unbounded) else { return };
        let permit = Arc::new(permit);
        let connections = self.connections.clone();
        self.connections.tasks.spawn(async move {
            let stop = connections.tasks.stop_signal();
            let grace = FirstRequestGrace::new(connections.bounds.first_request_grace_max);
            let peer = Peer::of(address, &permit);
            tokio::select! {
                biased;
                () = permit.ended() => {}
                () = connections.serve_http1(stream, peer, answer, stop, grace) => {}
            }
        });
    }
}

impl Drop for PlainListener {
    fn drop(&mut self) {
        // The drain does not wait for them: metrics of an ending process are not needed.
        self.connections.tasks.end();
    }
}
