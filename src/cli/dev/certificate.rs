//! The certificate of `strongroom dev`: a new CA, and a certificate of that CA for `localhost`,
//! `127.0.0.1` and `::1`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use time::OffsetDateTime;

use crate::cli::support::failure::{Exit, Failure};
use crate::cli::support::failure_texts::cannot;
use crate::cli::support::files::write_secret;
use crate::domain::time::Timestamp;

/// Browsers refuse certificates with a longer validity.
const VALIDITY: Duration = Duration::from_hours(825 * 24);
/// Clocks differ a little between machines.
const BACKDATED_S: i64 = 24 * 3_600;

pub(in crate::cli) struct CertificateFiles {
    pub(in crate::cli) ca: PathBuf,
    pub(in crate::cli) certificate: PathBuf,
    pub(in crate::cli) private_key: PathBuf,
}

impl CertificateFiles {
    pub(in crate::cli) fn of(directory: &Path) -> Self {
        Self {
            ca: directory.join("ca.pem"),
            certificate: directory.join("certificate.pem"),
            private_key: directory.join("certificate.key"),
        }
    }
}

/// Discards the key of the CA: a browser that trusts the CA must not trust more certificates.
pub(in crate::cli) fn make(files: &CertificateFiles, now: Timestamp) -> Result<(), Failure> {
    let failed = || Failure::new(Exit::Software, "cannot create a certificate");
    let from = Timestamp::from_seconds(now.seconds().saturating_sub(BACKDATED_S)).datetime();
    let (Some(from), Some(until)) = (from, now.plus(VALIDITY).datetime()) else {
        return Err(failed().why("the clock is out of the range of dates"));
    };
    let made = certificates(from, until).map_err(|error| failed().why(error))?;
    let write = |path: &Path, pem: &str| {
        std::fs::write(path, pem).map_err(|error| cannot("write a certificate", path, &error))
    };
    write(&files.ca, &made.ca)?;
    write(&files.certificate, &made.certificate)?;
    write_secret(&files.private_key, made.private_key.as_bytes(), 0o600)
}

struct Certificates {
    ca: String,
    certificate: String,
    private_key: String,
}

fn certificates(from: OffsetDateTime, until: OffsetDateTime) -> Result<Certificates, rcgen::Error> {
    let dated = |mut params: CertificateParams, name: &str| {
        params.distinguished_name.push(DnType::CommonName, name);
        (params.not_before, params.not_after) = (from, until);
        params
    };
    let mut ca = dated(CertificateParams::default(), "Strongroom development CA");
    ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let ca_key = KeyPair::generate()?;
    let ca_pem = ca.self_signed(&ca_key)?.pem();
    let issuer = Issuer::new(ca, ca_key);

    let names = ["localhost", "127.0.0.1", "::1"].map(String::from).to_vec();
    let mut leaf = dated(CertificateParams::new(names)?, "localhost");
    leaf.use_authority_key_identifier_extension = true;
    leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate()?;
    let certificate = leaf.signed_by(&key, &issuer)?.pem();
    Ok(Certificates { ca: ca_pem, certificate, private_key: key.serialize_pem() })
}
