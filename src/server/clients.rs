//! Client authentication by certificate, for listeners that serve only the clients of known
//! authorities.

use std::path::PathBuf;
use std::sync::Arc;

use hyper::Request;
use rustls::RootCertStore;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;

use crate::server::certificate::{CertificateProblem, read_roots};
use crate::server::validity::subject_names;

/// An authority that signs client certificates, with a name that we gave it.
#[derive(Debug, Clone)]
pub struct Authority {
    pub name: &'static str,
    /// PEM certificates.
    pub ca: PathBuf,
}

/// The names of the authorities that signed the client's certificate.
#[derive(Debug, Clone)]
pub struct ClientAuthorities(Arc<[&'static str]>);

impl ClientAuthorities {
    pub fn of<B>(request: &Request<B>) -> Vec<&'static str> {
        request.extensions().get::<Self>().map(|Self(names)| names.to_vec()).unwrap_or_default()
    }
}

/// The names in the subject of the client's certificate, which the listener has verified.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientSubject {
    /// Absent if the subject does not have exactly one.
    pub common_name: Option<String>,
    pub units: Vec<String>,
}

impl ClientSubject {
    pub fn of<B>(request: &Request<B>) -> Option<&Self> {
        request.extensions().get::<Arc<Self>>().map(|subject| &**subject)
    }

    /// A subject that cannot be read has no names.
    pub(super) fn read(shown: Option<&[CertificateDer<'_>]>) -> Arc<Self> {
        let own = shown.and_then(<[_]>::first);
        Arc::new(own.and_then(|own| subject_names(own)).unwrap_or_default())
    }
}

/// The verifier of all authorities admits a client; the verifiers of each say which one signed.
#[derive(Debug, Clone)]
pub(super) struct ClientVerifiers {
    all: Arc<dyn ClientCertVerifier>,
    each: Arc<[(&'static str, Arc<dyn ClientCertVerifier>)]>,
}

impl ClientVerifiers {
    /// `None` if clients need no certificate.
    pub(super) fn load(authorities: &[Authority]) -> Result<Option<Self>, CertificateProblem> {
        if authorities.is_empty() {
            return Ok(None);
        }
        let mut together = RootCertStore::empty();
        let mut each = Vec::with_capacity(authorities.len());
        for authority in authorities {
            let roots = read_roots(&authority.ca)?;
            together.roots.extend(roots.roots.iter().cloned());
            each.push((authority.name, verifier(roots, authority)?));
        }
        let last = authorities.last().map(|authority| verifier(together, authority)).transpose()?;
        Ok(last.map(|all| Self { all, each: each.into() }))
    }

    pub(super) fn verifier(&self) -> Arc<dyn ClientCertVerifier> {
        Arc::clone(&self.all)
    }

    /// The names of the authorities that signed the certificate. It uses the same clock as the
    /// handshake.
    pub(super) fn verify(&self, shown: Option<&[CertificateDer<'_>]>) -> ClientAuthorities {
        let Some((own, others)) = shown.and_then(<[_]>::split_first) else {
            return ClientAuthorities(Arc::new([]));
        };
        let now = UnixTime::now();
        let vouches = self
            .each
            .iter()
            .filter(|(_, verifier)| verifier.verify_client_cert(own, others, now).is_ok());
        ClientAuthorities(vouches.map(|(name, _)| *name).collect())
    }
}

fn verifier(
    roots: RootCertStore,
    authority: &Authority,
) -> Result<Arc<dyn ClientCertVerifier>, CertificateProblem> {
    let provider = Arc::new(ring::default_provider());
    let built = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
    // Only a file without authorities fails here, and `read_roots` has refused that.
    let empty = || CertificateProblem::NoCertificate { path: authority.ca.clone() };
    built.ok().ok_or_else(empty)
}
