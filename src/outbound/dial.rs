//! Connects to one of some addresses and completes the TLS handshake.

use std::net::IpAddr;
use std::time::Duration;

use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::names::first_success;
use crate::outbound::watched::{TlsTap, Watched};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DialFailure {
    /// There is no address, or no address that may be called.
    NoAddress,
    Refused,
    Silent,
    /// The peer's certificate is not trusted, has expired or has another name.
    Certificate,
    /// The peer does not accept our certificate, or asks for one.
    OurCertificate,
    Handshake,
}

impl DialFailure {
    pub const fn text(self) -> &'static str {
        match self {
            Self::NoAddress => "the server's name has no address that may be called",
            Self::Refused => "the server refused the connection",
            Self::Silent => "the server could not be reached in time",
            Self::Certificate => "the server's certificate is not trusted",
            Self::OurCertificate => "the server refused our client certificate",
            Self::Handshake => "the TLS handshake failed",
        }
    }
}

/// Tries the addresses one after the other. Each address and the handshake get a share of the time.
pub async fn dial(
    addresses: Vec<IpAddr>,
    port: u16,
    name: ServerName<'static>,
    tls: &TlsConnector,
    within: Duration,
) -> Result<TlsStream<Watched<TcpStream, TlsTap>>, DialFailure> {
    let shares = u32::try_from(addresses.len()).unwrap_or(u32::MAX).saturating_add(1);
    let share = within.checked_div(shares).unwrap_or_default();
    let connected = async {
        let socket = first_success(addresses, share, DialFailure::Silent, |address| async move {
            let connected = TcpStream::connect((address, port)).await;
            connected.ok().ok_or(DialFailure::Refused)
        });
        let socket = socket.await.unwrap_or(Err(DialFailure::NoAddress))?;
        // Messages are written whole, so delaying small writes would only cost time.
        socket.set_nodelay(true).ok();
        let watched = Watched::new(socket, TlsTap::new());
        tls.connect(name, watched).await.map_err(|error| explain(&error))
    };
    timeout(within, connected).await.unwrap_or(Err(DialFailure::Silent))
}

/// In TLS 1.3 a server refuses a client certificate after the handshake, so this also explains
/// failures of an exchange.
pub(super) fn explain(error: &std::io::Error) -> DialFailure {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::InvalidCertificate(_)) => DialFailure::Certificate,
        Some(rustls::Error::AlertReceived(_)) => DialFailure::OurCertificate,
        Some(_) | None => DialFailure::Handshake,
    }
}
