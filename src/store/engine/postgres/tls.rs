//! TLS to the database: rustls behind the client's traits.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;

use crate::store::engine::postgres::socket::Socket;

/// Trusts the CAs of a PEM bundle; `None` if the bundle has no usable certificate.
pub(super) fn client_config(bundle: &[u8]) -> Option<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(bundle) {
        roots.add(certificate.ok()?).ok()?;
    }
    if roots.is_empty() {
        return None;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_protocol_versions(&[&TLS13, &TLS12]).ok()?;
    Some(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}

/// A handshake with one server. Its certificate must match this name.
pub(super) struct Handshake {
    pub(super) config: Arc<ClientConfig>,
    pub(super) name: ServerName<'static>,
}

#[derive(Debug)]
pub(super) struct HandshakeFailed(pub(super) &'static str);

impl fmt::Display for HandshakeFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for HandshakeFailed {}

impl TlsConnect<Socket> for Handshake {
    type Stream = Encrypted;
    type Error = HandshakeFailed;
    type Future = Pin<Box<dyn Future<Output = Result<Encrypted, HandshakeFailed>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let connector = TlsConnector::from(self.config);
            let connected = connector.connect(self.name, socket).await;
            connected.map(|stream| Encrypted(Box::new(stream))).map_err(|error| failed(&error))
        })
    }
}

fn failed(error: &io::Error) -> HandshakeFailed {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    HandshakeFailed(match cause {
        Some(rustls::Error::InvalidCertificate(_)) => {
            "the certificate of the database is not trusted"
        }
        Some(_) | None => "the TLS handshake with the database failed",
    })
}

pub(super) struct Encrypted(Box<tokio_rustls::client::TlsStream<Socket>>);

impl TlsStream for Encrypted {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Encrypted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Encrypted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
