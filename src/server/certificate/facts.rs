//! Facts of certificate files, and of the protocols that listeners offer, for `check` and the
//! report.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ProtocolVersion, RootCertStore, SupportedProtocolVersion};

use crate::domain::time::Timestamp;
use crate::server::certificate::{CertificateProblem, VERSIONS, read_chain};
use crate::server::validity::{self, CertificateFacts};

/// The facts of each certificate of a file, in its order.
pub fn read_facts(path: &Path) -> Result<Vec<CertificateFacts>, CertificateProblem> {
    let facts = |der: &CertificateDer<'_>| validity::facts(der);
    let all: Option<Vec<_>> = read_chain(path)?.iter().map(facts).collect();
    all.ok_or_else(|| CertificateProblem::Malformed { path: path.to_owned() })
}

/// Returns whether the signatures of a server's certificate and of the further certificates of the
/// file lead to the last one, for the first name of the certificate.
pub fn chain_holds(path: &Path, now: Timestamp) -> Result<bool, CertificateProblem> {
    let chain = read_chain(path)?;
    let (Some((leaf, further)), Some(name)) = (
        chain.split_first(),
        chain.first().and_then(|it| validity::facts(it)).and_then(|it| it.names.first().cloned()),
    ) else {
        return Ok(false);
    };
    let Some((last, between)) = further.split_last() else { return Ok(true) };
    let malformed = || CertificateProblem::Malformed { path: path.to_owned() };
    let mut roots = RootCertStore::empty();
    roots.add(last.clone()).map_err(|_unusable| malformed())?;
    let provider = Arc::new(ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
    let verifier = verifier.map_err(|_empty| malformed())?;
    // A wildcard stands for any label.
    let Ok(name) = ServerName::try_from(name.replace('*', "any")) else { return Ok(false) };
    let seconds = u64::try_from(now.seconds()).unwrap_or_default();
    let now = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
    Ok(verifier.verify_server_cert(leaf, between, &name, &[], now).is_ok())
}

/// The protocol versions and cipher suites that the listeners offer, from their own configuration.
pub fn offered() -> Vec<(&'static str, Vec<String>)> {
    let suites = ring::default_provider().cipher_suites;
    let versions = VERSIONS.iter().map(|version| {
        let of_version = suites.iter().filter(|suite| suite.version().version == version.version);
        let names = of_version.filter_map(|suite| suite.suite().as_str()).map(String::from);
        (version_name(version), names.collect())
    });
    versions.collect()
}

pub(in crate::server) fn version_name(version: &SupportedProtocolVersion) -> &'static str {
    if version.version == ProtocolVersion::TLSv1_3 { "TLS 1.3" } else { "TLS 1.2" }
}
