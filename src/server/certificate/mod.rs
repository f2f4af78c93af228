//! Makes a TLS configuration from a certificate file and a key file, or reports their mistakes.
//!
//! Buffers of this module that held key bytes are wiped; the TLS library keeps a copy of the key.

mod facts;

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, ServerConfig};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::version::{TLS12, TLS13};
use rustls::{RootCertStore, SupportedProtocolVersion};
use zeroize::Zeroize;

use crate::bounds;
use crate::domain::time::Timestamp;
use crate::files::open_regular;
use crate::secret::Secret;
use crate::server::clients::ClientVerifiers;
use crate::server::validity;

pub(super) use facts::version_name;
pub use facts::{chain_holds, offered, read_facts};

pub(super) static VERSIONS: [&SupportedProtocolVersion; 2] = [&TLS13, &TLS12];

#[derive(Debug, Clone)]
pub(super) struct Certificate {
    pub(super) config: Arc<ServerConfig>,
    pub(super) expires: Timestamp,
}

/// Reads, checks and prepares both files.
pub(super) fn load(
    certificate: &Path,
    private_key: &Path,
    clients: Option<&ClientVerifiers>,
    now: Timestamp,
) -> Result<Certificate, CertificateProblem> {
    let (pair, expires) = read_pair(certificate, private_key, now)?;
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&VERSIONS)
        .map_err(CertificateProblem::Tls)?;
    let builder = match clients {
        Some(authorities) => builder.with_client_cert_verifier(authorities.verifier()),
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(pair)));
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    if clients.is_some() {
        // Without tickets a client shows its certificate in every handshake.
        config.send_tls13_tickets = 0;
    } else {
        // Tickets allow resumption without server memory. Each configuration has its own ticket
        // keys, so every client sees a replaced certificate at its next handshake.
        config.ticketer = ring::Ticketer::new().map_err(CertificateProblem::Tls)?;
        config.send_tls13_tickets = 1;
    }
    config.session_storage = Arc::new(NoServerSessionStorage {});
    // An observer could replay requests in early data.
    config.max_early_data_size = 0;
    Ok(Certificate { config: Arc::new(config), expires })
}

/// Reads a certificate that has not expired and its key, and returns them with the time of expiry.
pub fn read_pair(
    certificate: &Path,
    private_key: &Path,
    now: Timestamp,
) -> Result<(CertifiedKey, Timestamp), CertificateProblem> {
    let chain = read_chain(certificate)?;
    let expires = check_expiry(&chain, certificate, now)?;
    let key = read_key(private_key)?;
    let pair = CertifiedKey::from_der(chain, key, &ring::default_provider())
        .map_err(|error| CertificateProblem::of_pair(&error, certificate, private_key))?;
    Ok((pair, expires))
}

/// A certificate with an unreadable expiry counts as damaged: it could be expired.
fn check_expiry(
    chain: &[CertificateDer<'_>],
    path: &Path,
    now: Timestamp,
) -> Result<Timestamp, CertificateProblem> {
    match chain.first().and_then(|first| validity::expires(first)) {
        Some(at) if at > now => Ok(at),
        Some(at) => Err(CertificateProblem::Expired { path: path.to_owned(), at }),
        None => Err(CertificateProblem::Malformed { path: path.to_owned() }),
    }
}

/// The expiry of a file's first certificate, even if it has passed; `None` if it cannot be read.
pub fn certificate_expires(path: &Path) -> Option<Timestamp> {
    read_chain(path).ok()?.first().and_then(|first| validity::expires(first))
}

/// Reads the authorities of a file as the only trust anchors.
pub fn read_roots(path: &Path) -> Result<RootCertStore, CertificateProblem> {
    let mut roots = RootCertStore::empty();
    for authority in read_chain(path)? {
        let malformed = |_| CertificateProblem::Malformed { path: path.to_owned() };
        roots.add(authority).map_err(malformed)?;
    }
    Ok(roots)
}

/// Reads the authorities of a bundle of many. Those that TLS cannot use are left out; a bundle
/// without usable ones is a problem.
pub fn read_bundle(path: &Path) -> Result<RootCertStore, CertificateProblem> {
    let mut roots = RootCertStore::empty();
    match roots.add_parsable_certificates(read_chain(path)?) {
        (0, _) => Err(CertificateProblem::NoCertificate { path: path.to_owned() }),
        (_, _) => Ok(roots),
    }
}

fn read_chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, CertificateProblem> {
    let text = read(open(path)?, path)?;
    let chain: Vec<_> = CertificateDer::pem_slice_iter(text.expose())
        .collect::<Result<_, _>>()
        .map_err(|source| CertificateProblem::not_pem(path, &source))?;
    if chain.is_empty() {
        return Err(CertificateProblem::NoCertificate { path: path.to_owned() });
    }
    Ok(chain)
}

fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>, CertificateProblem> {
    let file = open(path)?;
    let mode = file.metadata().map_err(|error| unreadable(path, error))?.mode() & 0o7777;
    // Debian shares keys among services by a group, so the group may read the file.
    if mode & 0o007 != 0 {
        return Err(CertificateProblem::KeyExposed { path: path.to_owned(), mode });
    }
    let text = read(file, path)?;
    match PrivateKeyDer::from_pem_slice(text.expose()) {
        Ok(key) => Ok(key),
        Err(pem::Error::NoItemsFound) if mentions(text.expose(), b"ENCRYPTED PRIVATE KEY") => {
            Err(CertificateProblem::KeyEncrypted { path: path.to_owned() })
        }
        Err(pem::Error::NoItemsFound) => {
            Err(CertificateProblem::NoPrivateKey { path: path.to_owned() })
        }
        Err(source) => Err(CertificateProblem::not_pem(path, &source)),
    }
}

fn open(path: &Path) -> Result<File, CertificateProblem> {
    open_regular(path).map_err(|error| unreadable(path, error))
}

fn unreadable(path: &Path, source: io::Error) -> CertificateProblem {
    CertificateProblem::Unreadable { path: path.to_owned(), source }
}

fn read(file: File, path: &Path) -> Result<Secret<Vec<u8>>, CertificateProblem> {
    let length = file.metadata().map_err(|error| unreadable(path, error))?.len();
    let too_large = || CertificateProblem::TooLarge { path: path.to_owned() };
    if length > bounds::CERTIFICATE_BYTES_MAX {
        return Err(too_large());
    }
    // Allocate the whole size at once: a vector that grows leaves copies of a key in freed memory.
    let capacity = usize::try_from(bounds::CERTIFICATE_BYTES_MAX.min(length.saturating_add(1)));
    let mut bytes = Vec::with_capacity(capacity.unwrap_or_default());
    let read = file.take(bounds::CERTIFICATE_BYTES_MAX).read_to_end(&mut bytes);
    match read {
        Ok(_) => Ok(Secret::new(bytes)),
        Err(source) => {
            bytes.zeroize();
            Err(unreadable(path, source))
        }
    }
}

fn mentions(text: &[u8], wanted: &[u8]) -> bool {
    text.windows(wanted.len()).any(|part| part == wanted)
}

const SWAPPED: &str = "check that the paths of certificate and key are not swapped";

/// The reason why a certificate cannot be served. It names files and never quotes them.
#[derive(Debug)]
pub enum CertificateProblem {
    Expired { path: PathBuf, at: Timestamp },
    KeyEncrypted { path: PathBuf },
    KeyExposed { path: PathBuf, mode: u32 },
    KeyMismatch { certificate: PathBuf, private_key: PathBuf },
    KeyUnusable { path: PathBuf },
    Malformed { path: PathBuf },
    NoCertificate { path: PathBuf },
    NoPrivateKey { path: PathBuf },
    NotPem { path: PathBuf, flaw: &'static str },
    Tls(rustls::Error),
    TooLarge { path: PathBuf },
    Unreadable { path: PathBuf, source: io::Error },
}

impl CertificateProblem {
    pub fn name(&self) -> &'static str {
        self.facts().0
    }

    pub fn advice(&self) -> &'static str {
        self.facts().2
    }

    /// The name, the text and the advice.
    #[expect(clippy::too_many_lines, reason = "each problem is one row of a table")]
    fn facts(&self) -> (&'static str, String, &'static str) {
        match self {
            Self::Expired { path, at } => (
                "expired",
                format!("the certificate in {} expired at {}", path.display(), at.shown()),
                "renew the certificate, or check this machine's clock",
            ),
            Self::KeyEncrypted { path } => (
                "key_encrypted",
                format!("the private key in {} is protected by a passphrase", path.display()),
                "store the key without a passphrase, readable by this service alone",
            ),
            Self::KeyExposed { path, mode } => (
                "key_exposed",
                format!(
                    "every user of this machine can use the private key in {} (mode {mode:04o})",
                    path.display()
                ),
                "make it readable only for the user that this service runs as (chown, chmod 0400), \
                 and replace the key: other users may have read it",
            ),
            Self::KeyMismatch { certificate, private_key } => (
                "key_mismatch",
                format!(
                    "the private key in {} does not belong to the first certificate in {}",
                    private_key.display(),
                    certificate.display()
                ),
                "put the server's own certificate first in its file, and the key that it was \
                 requested with into the other",
            ),
            Self::KeyUnusable { path } => (
                "key_unusable",
                format!(
                    "the private key in {} has a type that TLS cannot use here",
                    path.display()
                ),
                "use an ECDSA (P-256, P-384), Ed25519 or RSA (2048 to 8192 bits) key",
            ),
            Self::Malformed { path } => (
                "malformed",
                format!("the first certificate in {} is damaged", path.display()),
                "fetch the certificate again from its issuer",
            ),
            Self::NoCertificate { path } => (
                "no_certificate",
                format!("there is no PEM certificate in {}", path.display()),
                SWAPPED,
            ),
            Self::NoPrivateKey { path } => (
                "no_private_key",
                format!("there is no PEM private key in {}", path.display()),
                SWAPPED,
            ),
            Self::NotPem { path, flaw } => (
                "not_pem",
                format!("{} is not valid PEM: {flaw}", path.display()),
                "convert the file to PEM (\"openssl x509\" or \"openssl pkey\")",
            ),
            Self::Tls(_) => (
                "tls",
                String::from("TLS cannot be set up"),
                "check that this machine has a source of random numbers",
            ),
            Self::TooLarge { path } => (
                "too_large",
                format!(
                    "{} is larger than the {} bytes that a certificate file may have",
                    path.display(),
                    bounds::CERTIFICATE_BYTES_MAX
                ),
                "name a file that holds only the certificate or only the key",
            ),
            Self::Unreadable { path, source } => {
                let kind = source.kind();
                let advice = if kind == io::ErrorKind::NotFound {
                    "check the path in the configuration"
                } else if kind == io::ErrorKind::PermissionDenied {
                    "let the user that this service runs as read the file and enter its directories"
                } else {
                    "check the file and the disk that it is on"
                };
                ("unreadable", format!("cannot read {}", path.display()), advice)
            }
        }
    }

    /// The parser's own error may quote the file, so it is dropped.
    fn not_pem(path: &Path, error: &pem::Error) -> Self {
        let flaw = if matches!(error, pem::Error::MissingSectionEnd { .. }) {
            "a section has no end"
        } else if matches!(error, pem::Error::IllegalSectionStart { .. }) {
            "a section's first line is damaged"
        } else {
            "a section is not base64"
        };
        Self::NotPem { path: path.to_owned(), flaw }
    }

    fn of_pair(error: &rustls::Error, certificate: &Path, private_key: &Path) -> Self {
        if matches!(error, rustls::Error::InconsistentKeys(_)) {
            let (certificate, private_key) = (certificate.to_owned(), private_key.to_owned());
            Self::KeyMismatch { certificate, private_key }
        } else if matches!(error, rustls::Error::InvalidCertificate(_)) {
            Self::Malformed { path: certificate.to_owned() }
        } else {
            Self::KeyUnusable { path: private_key.to_owned() }
        }
    }
}

impl fmt::Display for CertificateProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.facts().1)
    }
}

impl std::error::Error for CertificateProblem {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        if let Self::Tls(error) = self {
            Some(error)
        } else if let Self::Unreadable { source, .. } = self {
            Some(source)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests;
