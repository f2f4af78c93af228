//! The certificate of `strongroom dev`: a new CA, and a certificate of that CA for `localhost`,
//! `127.0.0.1` and `::1`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use time::OffsetDateTime;

use crate::cli::support::{Exit, Failure, Result, cannot, write_new};
use crate::domain::time::Timestamp;
use crate::files::Directory;

/// The names of the files in the directory of the vault: the CA, the certificate and its key.
pub const NAMES: [&str; 3] = ["ca.pem", "certificate.pem", "certificate.key"];

/// Browsers refuse certificates with a longer validity.
const VALIDITY: Duration = Duration::from_hours(825 * 24);
/// Tolerates clock differences between machines.
const BACKDATED_S: i64 = 24 * 3_600;

pub struct CertificateFiles {
    pub ca: PathBuf,
    pub certificate: PathBuf,
    pub private_key: PathBuf,
}

impl CertificateFiles {
    pub fn of(directory: &Path) -> Self {
        let [ca, certificate, private_key] = NAMES.map(|name| directory.join(name));
        Self { ca, certificate, private_key }
    }
}

/// Discards the key of the CA: a browser that trusts the CA must not trust more certificates.
pub fn make(directory: &Directory, now: Timestamp) -> Result<()> {
    let failed = || Failure::new(Exit::Software, "cannot create a certificate");
    let from = Timestamp::from_seconds(now.seconds().saturating_sub(BACKDATED_S)).datetime();
    let (Some(from), Some(until)) = (from, now.plus(VALIDITY).datetime()) else {
        return Err(failed().why("the clock is out of the range of dates"));
    };
    let made = certificates(from, until).map_err(|error| failed().why(error))?;
    // Other users need the CA, so the umask must not apply.
    for (name, (pem, mode)) in NAMES.iter().zip(made.iter().zip([0o644, 0o644, 0o600])) {
        write_new(directory, name, pem.as_bytes(), mode)
            .map_err(|error| cannot("write a certificate", &directory.path().join(name), &error))?;
    }
    Ok(())
}

fn certificates(from: OffsetDateTime, until: OffsetDateTime) -> Result<[String; 3], rcgen::Error> {
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
    Ok([ca_pem, certificate, key.serialize_pem()])
}
