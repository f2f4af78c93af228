//! Finds the versions of TLS and the cipher suites that a listener accepts, for the report. It
//! completes handshakes and sends no request.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme, SupportedCipherSuite,
};

use crate::bounds::TLS_TRIAL_MAX;
use crate::server::certificate::{VERSIONS, version_name};

#[derive(Debug)]
pub struct TlsTrial {
    /// Versions, and the cipher suites that were accepted with each.
    pub accepted: Vec<(&'static str, Vec<String>)>,
    /// Older versions, with true for those that were accepted.
    pub older: Vec<(&'static str, bool)>,
}

/// Tries the listener at this address. Fails if no TLS server answers there.
pub fn try_listener(address: SocketAddr) -> io::Result<TlsTrial> {
    let address = reachable(address);
    let mut accepted = Vec::new();
    for version in VERSIONS {
        let suites = ring::default_provider().cipher_suites.into_iter();
        let mut names = Vec::new();
        for suite in suites.filter(|suite| suite.version().version == version.version) {
            if shake_hands(address, suite)? {
                names.extend(suite.suite().as_str().map(String::from));
            }
        }
        if !names.is_empty() {
            accepted.push((version_name(version), names));
        }
    }
    if accepted.is_empty() {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut older = Vec::new();
    for (name, minor) in [("TLS 1.1", 2), ("TLS 1.0", 1), ("SSL 3.0", 0)] {
        older.push((name, accepts_older(address, minor)?));
    }
    Ok(TlsTrial { accepted, older })
}

/// A listener on all addresses of the machine answers on the loopback address.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip @ (IpAddr::V4(_) | IpAddr::V6(_)) => ip,
    };
    SocketAddr::new(ip, address.port())
}

fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, TLS_TRIAL_MAX)?;
    stream.set_read_timeout(Some(TLS_TRIAL_MAX))?;
    stream.set_write_timeout(Some(TLS_TRIAL_MAX))?;
    Ok(stream)
}

/// False if the server refused the handshake.
fn shake_hands(address: SocketAddr, suite: SupportedCipherSuite) -> io::Result<bool> {
    let mut stream = connect(address)?;
    let provider = CryptoProvider { cipher_suites: vec![suite], ..ring::default_provider() };
    let algorithms = provider.signature_verification_algorithms;
    let version = VERSIONS.into_iter().find(|it| it.version == suite.version().version);
    let config = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(version.as_slice())
        .map_err(io::Error::other)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate(algorithms)))
        .with_no_client_auth();
    let name = ServerName::IpAddress(address.ip().into());
    let mut connection = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
    while connection.is_handshaking() {
        if connection.complete_io(&mut stream).is_err() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Sends the first message of an older version and returns whether the server continues.
fn accepts_older(address: SocketAddr, minor: u8) -> io::Result<bool> {
    const HANDSHAKE: u8 = 22;
    // Suites of those versions that every server with them supports: AES-128-CBC and 3DES.
    let suites = [0xc0, 0x13, 0xc0, 0x09, 0x00, 0x2f, 0x00, 0x0a];
    let mut hello = vec![3, minor];
    hello.extend([0x5a; 32]);
    hello.extend([0, 0, 8]);
    hello.extend(suites);
    hello.extend([1, 0]);
    let length = u8::try_from(hello.len()).map_err(io::Error::other)?;
    let mut record = vec![HANDSHAKE, 3, minor, 0, length.saturating_add(4), 1, 0, 0, length];
    record.extend(hello);
    let mut stream = connect(address)?;
    stream.write_all(&record)?;
    let mut first = [0];
    // The server closes the connection or sends an alert if it refuses.
    Ok(stream.read(&mut first).is_ok_and(|count| count == 1 && first == [HANDSHAKE]))
}

/// Accepts every certificate: the trial sends nothing that the server could misuse.
#[derive(Debug)]
struct AnyCertificate(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}
