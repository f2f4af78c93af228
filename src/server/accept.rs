//! Accepts connections from a listener, up to the maximum.

use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::server::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

use crate::bounds;
use crate::lock::SharedLock;
use crate::log::{Event, Log, Value};
use crate::server::connection::Connections;
use crate::server::permits::{AddressLimit, Permit, Permits, TrustedAddresses};
use crate::server::responder::Responder;
use crate::server::traffic::Traffic;

/// State that the accept loops of all listeners share.
#[derive(Clone)]
pub(super) struct Acceptor {
    pub(super) connections: Connections,
    pub(super) permits: Permits,
    pub(super) traffic: Arc<Traffic>,
    pub(super) tls: TlsConfig,
    pub(super) trusted: TrustedAddresses,
    pub(super) log: Log,
}

/// The TLS configuration of new connections, which a reload replaces.
pub(super) type TlsConfig = Arc<SharedLock<Arc<ServerConfig>>>;

impl Acceptor {
    /// Accepts until a stop is requested. Then the listener closes and the kernel refuses further
    /// connections.
    pub(super) async fn accept<A: Responder>(self, listener: TcpListener, answer: A) {
        let mut stop = self.connections.tasks.stop_signal();
        let mut backoff = AcceptBackoff::default();
        loop {
            let accepted = tokio::select! {
                biased;
                () = stop.stopping() => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((socket, peer)) => {
                    backoff = AcceptBackoff::default();
                    self.admit(socket, peer, answer.clone());
                }
                Err(error) if is_of_one_connection(&error) => {}
                Err(error) => {
                    let wait = backoff.next();
                    if backoff.is_news() {
                        let code = error.raw_os_error().unwrap_or_default();
                        let event = Event::error("accept_failed");
                        self.log.event(event.with("errno", Value::Signed(i64::from(code))));
                    }
                    tokio::select! {
                        biased;
                        () = stop.stopping() => return,
                        () = sleep(wait) => {}
                    }
                }
            }
        }
    }

    /// Serves the connection until it ends or another one needs its place, or closes it at once if
    /// a maximum is reached.
    fn admit<A: Responder>(&self, socket: TcpStream, peer: std::net::SocketAddr, answer: A) {
        match self.permits.take(peer.ip(), self.share(peer.ip())) {
            Ok(permit) => {
                let traffic = Arc::clone(&self.traffic);
                traffic.accepted.add(1);
                traffic.open.add(1);
                if permit.evicted {
                    traffic.strangers.add(1);
                }
                let permit = Arc::new(permit);
                let tls = Arc::clone(&self.tls.read());
                let connections = self.connections.clone();
                self.connections.tasks.spawn(async move {
                    let _place = OpenConnection { traffic, _permit: Arc::clone(&permit) };
                    tokio::select! {
                        biased;
                        () = permit.ended() => {}
                        () = connections.serve(socket, peer, tls, answer, &permit) => {}
                    }
                });
            }
            Err(full) => self.traffic.full(full),
        }
    }

    fn share(&self, address: IpAddr) -> AddressLimit {
        if (self.trusted)(address.to_canonical()) {
            AddressLimit::Unbounded
        } else {
            AddressLimit::Bounded
        }
    }
}

/// Counts an open connection until it is dropped, even by a panic.
struct OpenConnection {
    traffic: Arc<Traffic>,
    _permit: Arc<Permit>,
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.traffic.open.add(-1);
    }
}

/// Errors of `accept` about one connection, which ended while it was queued.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionAborted
            | ErrorKind::ConnectionRefused
            | ErrorKind::ConnectionReset
            | ErrorKind::Interrupted
    )
}

/// The pause after a failure that would repeat at once, such as too many open files.
#[derive(Debug, Default)]
struct AcceptBackoff {
    failures: u32,
}

impl AcceptBackoff {
    fn next(&mut self) -> Duration {
        let backoff = bounds::ACCEPT_PAUSE_MIN.saturating_mul(2_u32.saturating_pow(self.failures));
        self.failures = self.failures.saturating_add(1);
        backoff.min(bounds::ACCEPT_PAUSE_MAX)
    }

    /// Returns whether to log this failure: the first one, then every tenfold number.
    fn is_news(&self) -> bool {
        self.failures > 0 && 10_u32.checked_pow(self.failures.ilog10()) == Some(self.failures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lasting_failure_is_tried_slowly_and_told_rarely() {
        let mut backoff = AcceptBackoff::default();
        let mut told = 0;
        let mut waited = Duration::ZERO;
        for _ in 0..1_000 {
            waited += backoff.next();
            told += usize::from(backoff.is_news());
        }
        assert_eq!(told, 4);
        assert!(waited > Duration::from_secs(990));
        assert_eq!(backoff.next(), bounds::ACCEPT_PAUSE_MAX);
        assert_eq!(AcceptBackoff::default().next(), bounds::ACCEPT_PAUSE_MIN);
    }

    #[test]
    fn running_out_of_files_is_no_fault_of_one_connection() {
        let too_many_files = io::Error::from_raw_os_error(24);
        assert!(!is_of_one_connection(&too_many_files));
        assert!(is_of_one_connection(&io::Error::from(ErrorKind::ConnectionAborted)));
    }
}
