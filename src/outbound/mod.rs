//! The one client for destinations outside: proxies, webhooks and directory servers.
//!
//! Two rules decide its design. A failed request must say exactly whether any of its bytes may have
//! left, because a charge must not be sent twice; so no layer may send a request again on its own.
//! And the [`guard`] must see the very address that is connected to, because a name can resolve to
//! a public address now and to this machine a moment later.
//!
//! - `hyper-util`'s client with its pool was considered and rejected. It sends a request again by
//!   itself when a kept connection was closed, if hyper reports that the request was not begun;
//!   after a failure it does not say whether bytes were written. It connects by URL, so the guard
//!   would have to be in a connector below the pool; it has no bound on connections or on waiting;
//!   and its idle bound is by host alone. Here hyper's connections are used directly over a stream
//!   that records every attempt to write (`watched`), and `pool` has places, bounds and identities.
//! - `hickory-resolver` was considered and rejected. It brings more than twenty crates, a cache,
//!   search lists and options, of which this needs one thing: the addresses of a fully qualified
//!   name, from `/etc/hosts` and the name servers of this machine. The resolver in [`crate::names`]
//!   does that in 270 lines; `addresses` caches its results.
//!
//! A request takes these steps: the guard admits host and port; the request gets a place (`pool`);
//! a kept connection of the same tenant, destination and identity is used if there is one.
//! Otherwise the name is looked up once, every address is checked, one of them is connected to
//! (`dial`), and TLS proves the name. A kept connection that fails before any attempt to write is
//! replaced once by a new one. Nothing else is ever repeated. Redirects are not followed, and
//! bodies are not decompressed.
//!
//! The operator names directory servers, so no guard applies to them. They use the same code from
//! the lookup of their name to the answer, with a connection for each message.

mod addresses;
mod channel;
mod dial;
mod guard;
mod message;
mod observe;
mod pool;
#[cfg(test)]
mod tests;
mod trust;
mod watched;

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;

use crate::app::{
    ClientIdentity, Outbound, OutboundFailure, OutboundRequest, OutboundResponse, Sending,
};
use crate::bounds::{OUTBOUND_ANSWERS_BYTES_MAX, OUTBOUND_CONNECT_MAX};
use crate::config::AllowedDestination;
use crate::crypto::Sha256;
use crate::log::{Event, Log};
use crate::metrics::Gauge;
use crate::server::CertificateProblem;
use crate::server::tasks::Tasks;

pub use self::addresses::Addresses;
pub use self::channel::{Channel, ExchangeFailure, Limits};
pub use self::dial::{DialFailure, dial};
pub use self::guard::Scope;
use self::guard::{Admission, Guard};
pub use self::message::Message;
use self::observe::Results;
use self::pool::{Destination, Pool, PoolReservation, PoolSizes, SharedPlaces};
pub use self::trust::system_bundle;

/// Sends requests of tenants to the destinations that the guard allows.
pub struct OutboundClient {
    guard: Guard,
    addresses: Addresses,
    tls: Option<Trusted>,
    pool: Arc<Pool>,
    /// The memory of large answers while they arrive, in bytes.
    budget: SharedPlaces,
    open: Arc<Gauge>,
    results: Results,
    tasks: Tasks,
    log: Log,
}

/// The authorities of this client, and the connector without a client certificate.
struct Trusted {
    roots: Arc<RootCertStore>,
    anonymous: Arc<ClientConfig>,
}

const NO_AUTHORITIES: &str = "this server knows no certificate authorities";
const NO_PUBLIC_ADDRESS: &str = "the server's name has no public address";
const NO_PLACE: &str = "too many requests are waiting for this server or for others";

impl OutboundClient {
    /// Reads the authorities. Without any, the client logs it and every request fails.
    pub fn new(
        scope: Scope,
        allowed: Vec<AllowedDestination>,
        ca_file: Option<&Path>,
        tasks: &Tasks,
        log: &Log,
    ) -> Result<Self, CertificateProblem> {
        let guard = Guard::new(scope, allowed);
        let roots = trust::roots(ca_file)?;
        if roots.is_none() {
            log.event(Event::warn("outbound_without_authorities"));
        }
        let addresses = Addresses::of_this_machine();
        Self::with(guard, addresses, roots, PoolSizes::default(), tasks, log)
    }

    fn with(
        guard: Guard,
        addresses: Addresses,
        roots: Option<Arc<RootCertStore>>,
        sizes: PoolSizes,
        tasks: &Tasks,
        log: &Log,
    ) -> Result<Self, CertificateProblem> {
        let tls = roots.map(|roots| {
            let anonymous = trust::anonymous(Arc::clone(&roots));
            Ok(Trusted { roots, anonymous: anonymous.map_err(CertificateProblem::Tls)? })
        });
        let pool = Arc::new(Pool::new(sizes));
        tasks.spawn(Arc::clone(&pool).keep_clean());
        Ok(Self {
            guard,
            addresses,
            tls: tls.transpose()?,
            pool,
            budget: SharedPlaces::new(OUTBOUND_ANSWERS_BYTES_MAX),
            open: Arc::default(),
            results: Results::default(),
            tasks: tasks.clone(),
            log: log.clone(),
        })
    }

    async fn attempt(&self, sent: OutboundRequest) -> Result<OutboundResponse, OutboundFailure> {
        let begun = Instant::now();
        let deadline = begun.checked_add(sent.timeout).unwrap_or(begun);
        let OutboundRequest { tenant, credential, method, url, headers, body, identity, .. } = sent;
        let refused = OutboundFailure::Refused;
        let admission = self.guard.admit(&url.host, url.port).map_err(refused)?;
        let message = Message::new(&method, &url, &headers, body).map_err(refused)?;
        let name = ServerName::try_from(url.host.clone()).ok();
        let name = name.ok_or(OutboundFailure::Refused(guard::NOT_A_NAME))?;
        let trusted = self.tls.as_ref().ok_or(OutboundFailure::Unreachable(NO_AUTHORITIES))?;
        let identity = identity.as_deref();
        let destination = Destination {
            tenant,
            host: url.host.to_ascii_lowercase(),
            port: url.port,
            identity: identity.map(fingerprint),
        };
        let connector = || trusted.connector(identity);
        let place = self.pool.enter(destination, credential, deadline, connector).await;
        let place = place.map_err(refused)?.ok_or(OutboundFailure::Unreachable(NO_PLACE))?;
        let budgets = [&place.answers, &self.budget].into_iter().flat_map(|it| it.of(credential));
        let budgets: Vec<&Semaphore> = budgets.map(AsRef::as_ref).collect();
        let response_bytes_max = sent.response_bytes_max;
        let limits = Limits { deadline, response_bytes_max, budgets: &budgets };
        if let Some(channel) = place.kept_channel().await {
            match exchange(&place, channel, &message, limits).await {
                // Nothing was sent: the server had closed the connection. Try a new one once.
                Err(ExchangeFailure::Unsent(_)) => (),
                Err(ExchangeFailure::Sent(failure)) => return Err(failure),
                Ok(answer) => return Ok(answer),
            }
        }
        // Boxed, the handshakes do not enlarge the future of a request on a kept connection.
        let connected = self.connect(&place, admission, &url.host, url.port, name, deadline);
        let channel = Box::pin(connected).await.map_err(OutboundFailure::Unreachable)?;
        place.share(&channel);
        exchange(&place, channel, &message, limits).await.map_err(|failed| match failed {
            ExchangeFailure::Unsent(why) => OutboundFailure::Unreachable(why),
            ExchangeFailure::Sent(failure) => failure,
        })
    }

    /// Looks the name up once, checks all its addresses and connects to one of them.
    async fn connect(
        &self,
        place: &PoolReservation,
        admission: Admission,
        host: &str,
        port: u16,
        name: ServerName<'static>,
        deadline: Instant,
    ) -> Result<Channel, &'static str> {
        let until = Instant::now().checked_add(OUTBOUND_CONNECT_MAX).unwrap_or(deadline);
        let until = until.min(deadline);
        let connecting = async {
            let addresses = self.addresses.find(host).await;
            // The same text for both, so that a caller cannot discover the names of this network.
            if !admission.allows(&addresses) {
                return Err(NO_PUBLIC_ADDRESS);
            }
            let left = until.saturating_duration_since(Instant::now());
            let tls = TlsConnector::from(Arc::clone(&place.tls));
            let stream = dial(addresses, port, name, &tls, left).await;
            let stream = stream.map_err(DialFailure::text)?;
            Channel::open(stream, &self.tasks, &self.open).await
        };
        timeout_at(until, connecting).await.unwrap_or(Err(DialFailure::Silent.text()))
    }
}

/// Keeps the connection if the exchange succeeded.
async fn exchange(
    place: &PoolReservation,
    mut channel: Channel,
    message: &Message,
    limits: Limits<'_>,
) -> Result<OutboundResponse, ExchangeFailure> {
    let answer = channel.exchange(message, limits).await?;
    if !message.is_unusual() {
        place.keep(channel, channel::announced_idle(&answer));
    }
    Ok(answer)
}

impl Trusted {
    fn connector(
        &self,
        identity: Option<&ClientIdentity>,
    ) -> Result<Arc<ClientConfig>, &'static str> {
        match identity {
            Some(identity) => trust::identified(Arc::clone(&self.roots), identity),
            None => Ok(Arc::clone(&self.anonymous)),
        }
    }
}

fn fingerprint(identity: &ClientIdentity) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(identity.pem.expose().as_bytes());
    hash.finish()
}

impl Outbound for OutboundClient {
    fn send(&self, request: OutboundRequest) -> Sending<'_> {
        Box::pin(async {
            let answered = self.attempt(request).await;
            self.observe(answered.as_ref());
            answered
        })
    }

    fn check_identity(&self, identity: &ClientIdentity) -> Result<(), &'static str> {
        trust::check_identity(identity)
    }
}

opaque_debug!(OutboundClient);
