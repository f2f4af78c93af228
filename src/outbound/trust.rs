//! TLS towards destinations: trusted authorities, and our client certificates.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WantsClientCert;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore};

use crate::app::ClientIdentity;
use crate::server::{CertificateProblem, read_bundle};

/// The bundles of common systems, in the order in which they are tried.
const BUNDLES: &[&str] = &[
    // Debian, Ubuntu, Alpine, Arch.
    "/etc/ssl/certs/ca-certificates.crt",
    // Fedora, RHEL.
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    // openSUSE.
    "/etc/ssl/ca-bundle.pem",
    // Alpine, OpenBSD.
    "/etc/ssl/cert.pem",
];

/// The bundle of this system, if it has one that can be read.
pub fn system_bundle() -> Option<&'static Path> {
    BUNDLES.iter().map(Path::new).find(|path| read_bundle(path).is_ok())
}

/// The authorities of the operator's file, or else of this system. `None` if the system has none.
pub(super) fn roots(
    ca_file: Option<&Path>,
) -> Result<Option<Arc<RootCertStore>>, CertificateProblem> {
    let roots = match ca_file {
        Some(path) => Some(read_bundle(path)?),
        None => BUNDLES.iter().find_map(|path| read_bundle(Path::new(path)).ok()),
    };
    Ok(roots.map(Arc::new))
}

/// For requests without a client certificate.
pub(super) fn anonymous(roots: Arc<RootCertStore>) -> Result<Arc<ClientConfig>, rustls::Error> {
    Ok(with_protocols(builder(roots)?.with_no_client_auth()))
}

fn builder(
    roots: Arc<RootCertStore>,
) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>, rustls::Error> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    Ok(builder.with_protocol_versions(&[&TLS13, &TLS12])?.with_root_certificates(roots))
}

pub(super) fn identified(
    roots: Arc<RootCertStore>,
    identity: &ClientIdentity,
) -> Result<Arc<ClientConfig>, &'static str> {
    let pair = parse_identity(identity.pem.expose().as_bytes())?;
    let builder = builder(roots).map_err(|_unavailable| "TLS cannot be set up")?;
    let resolver = Arc::new(SingleCertAndKey::from(pair));
    Ok(with_protocols(builder.with_client_cert_resolver(resolver)))
}

fn with_protocols(mut config: ClientConfig) -> Arc<ClientConfig> {
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Arc::new(config)
}

/// A chain and its key in one text. The parser's errors may quote the text, so they are dropped.
fn parse_identity(pem: &[u8]) -> Result<CertifiedKey, &'static str> {
    const CHAIN: &str = "the client certificate is not valid PEM";
    const KEY: &str = "the client certificate has no usable private key";
    let chain: Option<Vec<_>> = CertificateDer::pem_slice_iter(pem).map(Result::ok).collect();
    let chain = chain.filter(|chain| !chain.is_empty()).ok_or(CHAIN)?;
    let key = PrivateKeyDer::from_pem_slice(pem).ok().ok_or(KEY)?;
    CertifiedKey::from_der(chain, key, &ring::default_provider()).ok().ok_or(KEY)
}

/// Applies the same rules as its use does.
pub(super) fn check_identity(identity: &ClientIdentity) -> Result<(), &'static str> {
    parse_identity(identity.pem.expose().as_bytes()).map(drop)
}
