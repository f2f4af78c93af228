use std::error::Error as _;
use std::os::unix::fs::PermissionsExt as _;

use rcgen::{CertificateParams, KeyPair};

use super::*;

const NOW: Timestamp = Timestamp::from_seconds(1_794_648_600);

struct Pair {
    certificate: String,
    key: String,
}

fn pair(year: i32) -> Pair {
    let mut params = CertificateParams::new(vec![String::from("localhost")]).unwrap();
    params.not_after = rcgen::date_time_ymd(year, 1, 1);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap().pem();
    Pair { certificate, key: key.serialize_pem() }
}

/// Loads from files with these contents; `None` is a file that is missing.
fn load_from(
    certificate: Option<&str>,
    key: Option<&str>,
) -> Result<Certificate, CertificateProblem> {
    load_with_mode(certificate, key, 0o600)
}

fn load_with_mode(
    certificate: Option<&str>,
    key: Option<&str>,
    mode: u32,
) -> Result<Certificate, CertificateProblem> {
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let name = format!("strongroom-certificate-{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name, text: Option<&str>| {
        let path = folder.join(name);
        if let Some(text) = text {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        path
    };
    let loaded = load(&write("certificate.pem", certificate), &write("key.pem", key), None, NOW);
    std::fs::remove_dir_all(&folder).unwrap();
    loaded
}

#[track_caller]
fn check_problem(certificate: Option<&str>, key: Option<&str>, name: &str, says: &str) {
    let problem = load_from(certificate, key).unwrap_err();
    assert_eq!(problem.name(), name);
    assert!(problem.to_string().contains(says), "{problem}");
    assert!(!problem.advice().is_empty());
}

#[test]
fn a_pair_that_fits_is_loaded_with_its_end() {
    let pair = pair(2027);
    let loaded = load_from(Some(&pair.certificate), Some(&pair.key)).unwrap();
    assert_eq!(loaded.expires.to_wire(), "2027-01-01T00:00:00.0000000+00:00");
}

#[test]
fn certificate_and_key_may_share_a_file() {
    let pair = pair(2027);
    let both = pair.key + &pair.certificate;
    assert!(load_from(Some(&both), Some(&both)).is_ok());
}

#[test]
fn each_mistake_has_its_own_name() {
    let good = pair(2027);
    let (certificate, key) = (Some(good.certificate.as_str()), Some(good.key.as_str()));
    check_problem(None, key, "unreadable", "certificate.pem");
    check_problem(certificate, None, "unreadable", "key.pem");
    check_problem(Some(""), key, "no_certificate", "certificate.pem");
    check_problem(key, certificate, "no_certificate", "certificate.pem");
    check_problem(certificate, certificate, "no_private_key", "key.pem");
    check_problem(certificate, Some(&pair(2027).key), "key_mismatch", "key.pem");
    check_problem(Some(&pair(2025).certificate), key, "expired", "2025-01-01");
    let cut = good.certificate.replace("-----END", "");
    check_problem(Some(&cut), key, "not_pem", "has no end");
    let garbled = good.key.replacen("MIG", "!!!", 1);
    check_problem(certificate, Some(&garbled), "not_pem", "not base64");
    let encrypted = good.key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    check_problem(certificate, Some(&encrypted), "key_encrypted", "passphrase");
    let other = "-----BEGIN PRIVATE KEY-----\nMAAwAA==\n-----END PRIVATE KEY-----\n";
    check_problem(certificate, Some(other), "key_unusable", "key.pem");
    let damaged = "-----BEGIN CERTIFICATE-----\nMAAwAA==\n-----END CERTIFICATE-----\n";
    check_problem(Some(damaged), key, "malformed", "certificate.pem");
    let huge = "x".repeat(usize::try_from(bounds::CERTIFICATE_BYTES_MAX).unwrap() + 1);
    check_problem(Some(&huge), key, "too_large", "certificate.pem");
}

#[test]
fn a_key_that_everybody_can_use_is_refused_and_one_of_a_group_is_not() {
    let pair = pair(2027);
    let (certificate, key) = (Some(pair.certificate.as_str()), Some(pair.key.as_str()));
    for mode in [0o400, 0o440, 0o600, 0o640, 0o660] {
        assert!(load_with_mode(certificate, key, mode).is_ok(), "{mode:o}");
    }
    for mode in [0o604, 0o644, 0o602, 0o601, 0o777] {
        let problem = load_with_mode(certificate, key, mode).unwrap_err();
        assert_eq!(problem.name(), "key_exposed");
        assert!(problem.to_string().contains(&format!("(mode {mode:04o})")), "{problem}");
    }
}

#[test]
fn no_error_shows_what_is_in_a_file() {
    let good = pair(2027);
    let odd = good.key.replace("-----BEGIN PRIVATE KEY-----", "-----BEGIN hunter2");
    let problem = load_from(Some(&good.certificate), Some(&odd)).unwrap_err();
    assert!(!format!("{problem:?} {problem} {:?}", problem.source()).contains("hunter2"));
}

#[test]
fn a_certificate_whose_expiry_cannot_be_read_is_not_served() {
    let mut params = CertificateParams::new(vec![String::from("localhost")]).unwrap();
    params.not_after = rcgen::date_time_ymd(2040, 1, 1);
    let key = KeyPair::generate().unwrap();
    let whole = params.self_signed(&key).unwrap().der().to_vec();
    let check = |der: &[u8]| check_expiry(&[CertificateDer::from(der)], Path::new("x"), NOW);
    assert!(check(&whole).is_ok());
    let time = b"\x17\x0d400101000000Z";
    let at = whole.windows(time.len()).position(|part| part == time).unwrap();
    let mut unreadable = whole.clone();
    // The tag of another type.
    unreadable[at] = 0x16;
    assert!(matches!(check(&unreadable), Err(CertificateProblem::Malformed { .. })));
    assert!(matches!(
        check_expiry(&[], Path::new("x"), NOW),
        Err(CertificateProblem::Malformed { .. })
    ));
}
