//! A client of the schemes' directory servers over mutual TLS: one message out, one body back. Each
//! step has a deadline and each answer a maximum. The client does not read messages.
//!
//! A connection serves one message. An authentication waits for a cardholder's bank, so the
//! handshake adds little, and a pooled connection may be dead when it is needed.

mod exchange;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::sign::SingleCertAndKey;
use rustls::version::{TLS12, TLS13};
use tokio_rustls::TlsConnector;

use crate::app::{Asking, DirectoryFailure, DirectoryServers, Introduction, Reply, ResponseKind};
use crate::bounds::{THREEDS_RANGES_BYTES_MAX, THREEDS_RANGES_REPLY_MAX, THREEDS_REPLY_BYTES_MAX};
use crate::config::DirectorySettings;
use crate::domain::https_url::HttpsUrl;
use crate::http::RESULTS_PATH;
use crate::log::{Event, Log, Value};
use crate::metrics::Gauge;
use crate::outbound::Addresses;
use crate::secret::Secret;
use crate::server::tasks::Tasks;
use crate::server::{CertificateProblem, read_pair, read_roots};
use crate::threeds::scheme::Scheme;

#[derive(Debug)]
pub struct DirectoryClient {
    peers: Vec<DirectoryEndpoint>,
    addresses: Addresses,
    /// Runs the connections.
    tasks: Tasks,
    open: Arc<Gauge>,
    log: Log,
}

/// One directory server, and our identity towards it.
struct DirectoryEndpoint {
    scheme: Scheme,
    introduction: Introduction,
    url: HttpsUrl,
    name: ServerName<'static>,
    tls: TlsConnector,
    timeout: Duration,
}

/// A directory server that cannot be called, and the reason.
#[derive(Debug)]
pub struct UnusableEndpoint {
    pub scheme: Scheme,
    pub problem: CertificateProblem,
}

impl DirectoryClient {
    /// Reads every certificate and key that the settings name.
    pub fn new(
        directory: &DirectorySettings,
        tasks: Tasks,
        log: Log,
    ) -> Result<Self, UnusableEndpoint> {
        let peers = directory.servers.iter().map(|server| {
            let scheme = server.scheme;
            let unusable = |problem| UnusableEndpoint { scheme, problem };
            let roots = read_roots(&server.ca).map_err(unusable)?;
            let (pair, _) =
                read_pair(&server.certificate, &server.private_key, log.now()).map_err(unusable)?;
            let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
                .with_protocol_versions(&[&TLS13, &TLS12])
                .map_err(|error| unusable(CertificateProblem::Tls(error)))?
                .with_root_certificates(roots)
                .with_client_cert_resolver(Arc::new(SingleCertAndKey::from(pair)));
            let name = ServerName::try_from(server.url.host.clone()).map_err(|_invalid| {
                let general = String::from("the host of the directory server is not a valid name");
                unusable(CertificateProblem::Tls(rustls::Error::General(general)))
            })?;
            Ok(DirectoryEndpoint {
                scheme,
                introduction: Introduction {
                    reference: directory.reference.clone(),
                    operator: server.operator.clone(),
                    results_url: format!("{}{RESULTS_PATH}", directory.results_url),
                    base: directory.public_url.clone(),
                },
                url: server.url.clone(),
                name,
                tls: TlsConnector::from(Arc::new(config)),
                timeout: server.timeout,
            })
        });
        let peers = peers.collect::<Result<_, _>>()?;
        let addresses = Addresses::of_this_machine();
        Ok(Self { peers, addresses, tasks, open: Arc::default(), log })
    }

    fn peer(&self, scheme: Scheme) -> Option<&DirectoryEndpoint> {
        self.peers.iter().find(|peer| peer.scheme == scheme)
    }

    async fn post(
        &self,
        scheme: Scheme,
        message: &Secret<Vec<u8>>,
        awaited: ResponseKind,
    ) -> Result<Reply, DirectoryFailure> {
        let peer = self.peer(scheme).ok_or(DirectoryFailure::NotConfigured)?;
        let (bytes_max, time_max) = match awaited {
            ResponseKind::Message => (THREEDS_REPLY_BYTES_MAX, peer.timeout),
            ResponseKind::Ranges => (THREEDS_RANGES_BYTES_MAX, THREEDS_RANGES_REPLY_MAX),
        };
        let answered = self.exchange(peer, message, bytes_max, time_max).await;
        answered
            .map(|bytes| Reply { bytes, simulated: None })
            .inspect_err(|unanswered| self.log_failure(scheme, *unanswered))
    }

    fn log_failure(&self, scheme: Scheme, unanswered: DirectoryFailure) {
        let why = match unanswered {
            DirectoryFailure::Broken(why) | DirectoryFailure::Unreachable(why) => why,
            DirectoryFailure::NotConfigured => "the server is not configured",
            DirectoryFailure::TimedOut => "the server did not answer in time",
        };
        let event = Event::warn("directory_server_failed");
        let event = event.with("scheme", Value::Name(scheme.as_str()));
        self.log.event(event.with("why", Value::Name(why)));
    }
}

impl DirectoryServers for DirectoryClient {
    fn schemes(&self) -> Vec<Scheme> {
        self.peers.iter().map(|peer| peer.scheme).collect()
    }

    fn introduction(&self, scheme: Scheme) -> Option<Introduction> {
        self.peer(scheme).map(|peer| peer.introduction.clone())
    }

    fn ask<'a>(
        &'a self,
        scheme: Scheme,
        message: &'a Secret<Vec<u8>>,
        awaited: ResponseKind,
    ) -> Asking<'a> {
        Box::pin(self.post(scheme, message, awaited))
    }
}

impl fmt::Debug for DirectoryEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DirectoryEndpoint").field("scheme", &self.scheme).finish_non_exhaustive()
    }
}
