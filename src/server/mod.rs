//! Accepts connections, with TLS, HTTP and its deadlines, connection limits, and the drain.
//!
//! This room has no routes: a [`Responder`] answers. It never reads a body.

mod accept;
mod bounds;
mod certificate;
mod clients;
mod connection;
mod first_request_grace;
pub mod frame_budget;
mod framing;
#[cfg(any(fuzzing, test))]
pub(crate) mod fuzz;
mod head_timer;
mod header_limits;
mod headers;
mod http2;
mod listener;
mod panics;
mod permits;
mod plain;
mod plain_request;
mod problem;
mod refusal_streak;
mod responder;
mod stream;
mod stream_pool;
pub mod tasks;
mod traffic;
mod trial;
mod upkeep;
mod validity;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::time::timeout;

use crate::crypto::Random;
use crate::lock::SharedLock;
use crate::log::{Event, Log, Value};

use self::accept::Acceptor;
pub use self::bounds::Bounds;
pub use self::certificate::{
    CertificateProblem, certificate_expires, chain_holds, offered, read_bundle, read_facts,
    read_pair, read_roots,
};
use self::clients::ClientVerifiers;
pub use self::clients::{Authority, ClientAuthorities, ClientSubject};
use self::connection::Connections;
pub use self::headers::Hsts;
use self::listener::{adopt, listen};
pub use self::permits::{AddressLimit, Permit, Permits, TrustedAddresses};
pub use self::plain::PlainListener;
use self::problem::ProblemReporter;
pub use self::responder::{IncomingRequest, Responder, ResponseFuture};
use self::tasks::Tasks;
pub use self::traffic::Traffic;
pub use self::trial::{TlsTrial, try_listener};
use self::upkeep::{CertificateFiles, ServerUpkeep};
pub use self::validity::CertificateFacts;

pub struct Settings {
    /// The name of the server in the log.
    pub name: &'static str,
    pub listen: Vec<SocketAddr>,
    /// Listeners that the service manager has bound.
    pub inherited: Vec<std::net::TcpListener>,
    pub certificate: PathBuf,
    pub private_key: PathBuf,
    /// If there are any, clients need a certificate of one of them, and requests carry
    /// [`ClientAuthorities`] and [`ClientSubject`] as extensions.
    pub authorities: Vec<Authority>,
    /// Trusted proxies carry the connections of many clients, so they have no maximum per address.
    pub trusted: TrustedAddresses,
    pub hsts: Hsts,
    pub bounds: Bounds,
}

impl Settings {
    /// Defaults for all other settings: only this machine is trusted.
    pub fn new(listen: Vec<SocketAddr>, certificate: PathBuf, private_key: PathBuf) -> Self {
        Self {
            name: "api",
            listen,
            inherited: Vec::new(),
            certificate,
            private_key,
            authorities: Vec::new(),
            trusted: Arc::new(|address| address.is_loopback()),
            hsts: Hsts::Sent,
            bounds: Bounds::default(),
        }
    }
}

opaque_debug!(Settings);

/// A server that has loaded its certificate and bound its ports, but does not serve yet.
pub struct Server {
    name: &'static str,
    listeners: Vec<TcpListener>,
    addresses: Vec<SocketAddr>,
    bounds: Arc<Bounds>,
    trusted: TrustedAddresses,
    hsts: Hsts,
    clients: Option<ClientVerifiers>,
    upkeep: ServerUpkeep,
    log: Log,
}

impl Server {
    /// Checks the certificate, then binds. Must be called inside a Tokio runtime.
    pub fn bind(settings: Settings, log: Log) -> Result<Self, BindError> {
        let clients =
            ClientVerifiers::load(&settings.authorities).map_err(BindError::Certificate)?;
        let files = CertificateFiles {
            certificate: settings.certificate,
            private_key: settings.private_key,
            clients: clients.clone(),
        };
        let read = files.stamp();
        let certificate = files.load(log.now()).map_err(BindError::Certificate)?;
        let mut listeners = Vec::new();
        for address in settings.listen {
            let bound = listen(address);
            listeners.push(bound.map_err(|source| BindError::Address { address, source })?);
        }
        if !settings.inherited.is_empty() {
            let count = u64::try_from(settings.inherited.len()).unwrap_or(u64::MAX);
            log.event(Event::info("sockets_inherited").with("count", Value::Count(count)));
        }
        for inherited in settings.inherited {
            listeners.push(adopt(inherited).map_err(BindError::Inherited)?);
        }
        if listeners.is_empty() {
            return Err(BindError::NoAddress);
        }
        let addresses = listeners
            .iter()
            .map(TcpListener::local_addr)
            .collect::<Result<_, _>>()
            .map_err(BindError::Inherited)?;
        log.event(upkeep::loaded_event(certificate.expires));
        let traffic = Arc::new(Traffic::new(Some(certificate.expires), log.clone()));
        let upkeep = ServerUpkeep {
            files,
            read,
            expires: certificate.expires,
            reported: [0; 3],
            tls: Arc::new(SharedLock::new(certificate.config)),
            traffic,
            log: log.clone(),
        };
        let bounds = Arc::new(settings.bounds);
        let (name, trusted, hsts) = (settings.name, settings.trusted, settings.hsts);
        Ok(Self { name, listeners, addresses, bounds, trusted, hsts, clients, upkeep, log })
    }

    /// The bound addresses; for port 0, with the port that the kernel chose.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    pub fn traffic(&self) -> &Arc<Traffic> {
        &self.upkeep.traffic
    }

    /// Serves until `stop` resolves, then drains: listeners and idle connections close, requests
    /// that have begun are finished, and connections that are left at the deadline are dropped.
    pub async fn run(self, answer: impl Responder, stop: impl Future<Output = ()>) -> DrainOutcome {
        let tasks = Tasks::new();
        let permits =
            Permits::new(self.bounds.connections_max, self.bounds.connections_per_address_max);
        let refusals = ProblemReporter {
            random: Arc::new(Random::new()),
            traffic: Arc::clone(&self.upkeep.traffic),
            hsts: self.hsts,
            log: self.log.clone(),
            peer: None,
        };
        let acceptor = Acceptor {
            connections: Connections::new(
                Arc::clone(&self.bounds),
                tasks.clone(),
                refusals,
                self.clients,
            ),
            permits: permits.clone(),
            traffic: Arc::clone(&self.upkeep.traffic),
            tls: Arc::clone(&self.upkeep.tls),
            trusted: self.trusted,
            log: self.log.clone(),
        };
        tasks.spawn(self.upkeep.run(Arc::clone(&self.bounds), tasks.stop_signal()));
        for (listener, address) in self.listeners.into_iter().zip(self.addresses) {
            tasks.spawn(acceptor.clone().accept(listener, answer.clone()));
            let event = Event::info("listening").with("address", Value::Address(address));
            self.log.event(event.with("serves", Value::Name(self.name)));
        }
        stop.await;
        let open = u64::try_from(permits.taken()).unwrap_or(u64::MAX);
        self.log.event(Event::info("draining").with("connections", Value::Count(open)));
        tasks.stop();
        let drained = if timeout(self.bounds.drain_max, tasks.finished()).await.is_ok() {
            DrainOutcome::Whole
        } else {
            let connections = permits.taken();
            tasks.end();
            // Tasks are dropped at their next await. The drain does not wait for a task that blocks
            // its thread.
            timeout(self.bounds.end_max, tasks.finished()).await.ok();
            DrainOutcome::Cut { connections }
        };
        self.log.event(drained.event());
        drained
    }
}

opaque_debug!(Server);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DrainOutcome {
    /// The deadline passed, and this number of connections was dropped.
    Cut { connections: usize },
    /// Every request that had begun was answered.
    Whole,
}

impl DrainOutcome {
    fn event(self) -> Event {
        match self {
            Self::Cut { connections } => {
                let cut = u64::try_from(connections).unwrap_or(u64::MAX);
                Event::warn("drained").with("cut", Value::Count(cut))
            }
            Self::Whole => Event::info("drained").with("cut", Value::Count(0)),
        }
    }
}

#[derive(Debug)]
pub enum BindError {
    Address { address: SocketAddr, source: io::Error },
    Certificate(CertificateProblem),
    Inherited(io::Error),
    NoAddress,
}

impl BindError {
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Address { address, source } => {
                let kind = source.kind();
                if kind == io::ErrorKind::AddrInUse {
                    "stop the program that listens there (\"ss -ltnp\" names it), or choose \
                     another port"
                } else if kind == io::ErrorKind::AddrNotAvailable {
                    "choose an address of this machine"
                } else if kind == io::ErrorKind::PermissionDenied && address.port() < 1_024 {
                    "choose a port from 1024 on, or let the service manager open this one"
                } else {
                    "check the address in the configuration"
                }
            }
            Self::Certificate(problem) => problem.advice(),
            Self::Inherited(_) => "check the socket unit of the service manager",
            Self::NoAddress => "name at least one address to listen on",
        }
    }
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address { address, .. } => write!(f, "cannot listen on {address}"),
            Self::Certificate(problem) => problem.fmt(f),
            Self::Inherited(_) => f.write_str("cannot use the inherited socket"),
            Self::NoAddress => f.write_str("there is no address to listen on"),
        }
    }
}

impl std::error::Error for BindError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Address { source, .. } | Self::Inherited(source) => Some(source),
            Self::Certificate(problem) => problem.source(),
            Self::NoAddress => None,
        }
    }
}

#[cfg(test)]
mod tests;
