//! Reads facts of a certificate: its times, its names, its issuer and its subject. It parses only
//! the DER that contains them and checks no signature.

use std::net::{Ipv4Addr, Ipv6Addr};

use time::{Date, Month, PrimitiveDateTime, Time};

use crate::domain::time::Timestamp;
use crate::server::clients::ClientSubject;

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
/// UTF-8, printable and IA5 texts. The others have their own encodings.
const TEXTS: [u8; 3] = [0x0c, 0x13, 0x16];
/// The object identifiers 2.5.4.3 and 2.5.4.11.
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
const UNIT: &[u8] = &[0x55, 0x04, 0x0b];
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const EXTENSIONS: u8 = 0xa3;
const OBJECT_ID: u8 = 0x06;
const BOOLEAN: u8 = 0x01;
const OCTETS: u8 = 0x04;
const DNS_NAME: u8 = 0x82;
const IP_ADDRESS: u8 = 0x87;
/// The object identifier 2.5.29.17.
const ALTERNATIVE_NAMES: &[u8] = &[0x55, 0x1d, 0x11];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFacts {
    pub begins: Timestamp,
    pub expires: Timestamp,
    /// The host names and addresses of the certificate.
    pub names: Vec<String>,
    /// The names of issuer and subject in DER, for comparison.
    pub issuer: Vec<u8>,
    pub subject: Vec<u8>,
}

/// The `notAfter` of a certificate; `None` if it cannot be read.
pub(super) fn expires(certificate: &[u8]) -> Option<Timestamp> {
    let (_, validity, _) = fields(certificate)?;
    let (_, _, after_start) = element(validity)?;
    time(after_start).map(|(at, _)| at)
}

/// `None` if the certificate cannot be read.
pub(super) fn facts(certificate: &[u8]) -> Option<CertificateFacts> {
    let (issuer, validity, after_validity) = fields(certificate)?;
    let (begins, after_start) = time(validity)?;
    let (expires, _) = time(after_start)?;
    let (subject, after_subject) = enter(after_validity, SEQUENCE)?;
    let (_, after_key) = enter(after_subject, SEQUENCE)?;
    let names = names(after_key).unwrap_or_default();
    Some(CertificateFacts {
        begins,
        expires,
        names,
        issuer: issuer.to_vec(),
        subject: subject.to_vec(),
    })
}

/// The common name and the units of the subject. `None` if a name is not text.
pub(super) fn subject_names(certificate: &[u8]) -> Option<ClientSubject> {
    let (_, _, after_validity) = fields(certificate)?;
    let (mut parts, _) = enter(after_validity, SEQUENCE)?;
    let (mut common, mut units) = (Vec::new(), Vec::new());
    while !parts.is_empty() {
        let (mut set, after) = enter(parts, SET)?;
        parts = after;
        while !set.is_empty() {
            let (attribute, after) = enter(set, SEQUENCE)?;
            set = after;
            let (id, value) = enter(attribute, OBJECT_ID)?;
            let names = match id {
                COMMON_NAME => &mut common,
                UNIT => &mut units,
                _ => continue,
            };
            let (tag, text, _) = element(value)?;
            TEXTS.contains(&tag).then_some(())?;
            names.push(String::from(std::str::from_utf8(text).ok()?));
        }
    }
    let common_name = common.pop().filter(|_| common.is_empty());
    Some(ClientSubject { common_name, units })
}

/// The issuer, the validity, and the fields that follow.
fn fields(certificate: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (certificate, _) = enter(certificate, SEQUENCE)?;
    let (signed, _) = enter(certificate, SEQUENCE)?;
    // The version is optional; serial, algorithm and issuer are not.
    let after_version = match element(signed)? {
        (VERSION, _, rest) => rest,
        _ => signed,
    };
    let (_, _, after_serial) = element(after_version)?;
    let (_, _, after_algorithm) = element(after_serial)?;
    let (issuer, after_issuer) = enter(after_algorithm, SEQUENCE)?;
    let (validity, after_validity) = enter(after_issuer, SEQUENCE)?;
    Some((issuer, validity, after_validity))
}

/// The alternative names among the extensions. Unique ids may precede the extensions.
fn names(after_key: &[u8]) -> Option<Vec<String>> {
    let mut rest = after_key;
    let extensions = loop {
        match element(rest)? {
            (EXTENSIONS, content, _) => break enter(content, SEQUENCE)?.0,
            (_, _, after) => rest = after,
        }
    };
    let mut rest = extensions;
    while let Some((extension, after)) = enter(rest, SEQUENCE) {
        rest = after;
        let (id, after_id) = enter(extension, OBJECT_ID)?;
        if id != ALTERNATIVE_NAMES {
            continue;
        }
        // The critical flag of an extension is optional.
        let value = match element(after_id)? {
            (BOOLEAN, _, value) => value,
            _ => after_id,
        };
        let (value, _) = enter(value, OCTETS)?;
        let (mut list, _) = enter(value, SEQUENCE)?;
        let mut found = Vec::new();
        while let Some((tag, content, after)) = element(list) {
            found.extend(name(tag, content));
            list = after;
        }
        return Some(found);
    }
    None
}

fn name(tag: u8, content: &[u8]) -> Option<String> {
    match tag {
        DNS_NAME => {
            let text = std::str::from_utf8(content).ok()?;
            // The text is printed: characters outside of host names could control a terminal.
            let is_plain =
                text.bytes().all(|it| it.is_ascii_alphanumeric() || b"-._*".contains(&it));
            is_plain.then(|| String::from(text))
        }
        IP_ADDRESS => {
            let four = <[u8; 4]>::try_from(content).map(|it| Ipv4Addr::from(it).to_string());
            let six = <[u8; 16]>::try_from(content).map(|it| Ipv6Addr::from(it).to_string());
            four.or(six).ok()
        }
        _ => None,
    }
}

/// A time, and the bytes after it.
fn time(der: &[u8]) -> Option<(Timestamp, &[u8])> {
    let (at, rest) = match element(der)? {
        (UTC_TIME, text, after) => {
            let (year, rest) = digits(text, 2)?;
            // RFC 5280, 4.1.2.5.1: two digits mean 1950 to 2049.
            (timestamp(if year < 50 { 2_000 + year } else { 1_900 + year }, rest)?, after)
        }
        (GENERALIZED_TIME, text, after) => {
            let (year, rest) = digits(text, 4)?;
            (timestamp(year, rest)?, after)
        }
        _ => return None,
    };
    Some((at, rest))
}

/// The content of an element that must have this tag, and the bytes after it.
fn enter(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (found, content, rest) = element(der)?;
    (found == tag).then_some((content, rest))
}

/// Tag, content and rest. Tags of more than one byte do not occur in this part of a certificate.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
        let length = bytes.iter().try_fold(0_usize, |length, &byte| {
            length.checked_mul(256)?.checked_add(usize::from(byte))
        })?;
        (length, rest)
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

fn digits(text: &[u8], count: usize) -> Option<(i32, &[u8])> {
    let (digits, rest) = text.split_at_checked(count)?;
    let value = std::str::from_utf8(digits).ok()?;
    value.bytes().all(|b| b.is_ascii_digit()).then_some(())?;
    Some((value.parse().ok()?, rest))
}

/// Parses `MMDDHHMMSSZ`, the only form that certificates may use.
fn timestamp(year: i32, text: &[u8]) -> Option<Timestamp> {
    let (month, text) = digits(text, 2)?;
    let (day, text) = digits(text, 2)?;
    let (hour, text) = digits(text, 2)?;
    let (minute, text) = digits(text, 2)?;
    let (second, text) = digits(text, 2)?;
    (text == b"Z").then_some(())?;
    let small = |number: i32| u8::try_from(number).ok();
    let month = Month::try_from(small(month)?).ok()?;
    let date = Date::from_calendar_date(year, month, small(day)?).ok()?;
    let time = Time::from_hms(small(hour)?, small(minute)?, small(second)?).ok()?;
    Timestamp::from_datetime(PrimitiveDateTime::new(date, time).assume_utc())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

    use super::*;

    fn certificate(year: i32) -> Vec<u8> {
        let mut params = CertificateParams::new(vec![String::from("localhost")]).unwrap();
        params.not_after = rcgen::date_time_ymd(year, 2, 28);
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().to_vec()
    }

    #[track_caller]
    fn check_expires(year: i32, wire: &str) {
        assert_eq!(expires(&certificate(year)).map(Timestamp::to_wire).as_deref(), Some(wire));
    }

    #[test]
    fn both_forms_of_time_are_read() {
        check_expires(1999, "1999-02-28T00:00:00.0000000+00:00");
        check_expires(2027, "2027-02-28T00:00:00.0000000+00:00");
        check_expires(2049, "2049-02-28T00:00:00.0000000+00:00");
        check_expires(2050, "2050-02-28T00:00:00.0000000+00:00");
        check_expires(4096, "4096-02-28T00:00:00.0000000+00:00");
    }

    #[test]
    fn names_and_addresses_are_read_and_nothing_that_could_steer_a_terminal() {
        let names = ["vault.example.com", "*.example.com", "127.0.0.1", "::1"].map(String::from);
        let mut params = CertificateParams::new(names.to_vec()).unwrap();
        params.not_before = rcgen::date_time_ymd(2026, 1, 1);
        params.not_after = rcgen::date_time_ymd(2027, 1, 1);
        let made = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        let found = facts(made.der()).unwrap();
        assert_eq!(found.names, names);
        assert_eq!(found.issuer, found.subject);
        assert_eq!(found.expires.since(found.begins).as_secs(), 365 * 86_400);
        assert_eq!(name(DNS_NAME, b"a\x1b[2J"), None);
        assert_eq!(name(DNS_NAME, "\u{202e}".as_bytes()), None);
    }

    #[test]
    fn the_subject_of_a_person_has_one_common_name_and_any_units() {
        let named = |parts: &[(DnType, &str)]| {
            let mut params = CertificateParams::default();
            params.distinguished_name = DistinguishedName::new();
            for (kind, text) in parts {
                params.distinguished_name.push(kind.clone(), *text);
            }
            let made = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
            subject_names(made.der())
        };
        let texts = |list: &[&str]| list.iter().copied().map(String::from).collect::<Vec<_>>();
        let (name, unit) = (DnType::CommonName, DnType::OrganizationalUnitName);
        let further = |last| DnType::CustomDnType(vec![2, 5, 4, last]);
        let found = named(&[
            (DnType::OrganizationName, "Shop"),
            (name.clone(), "Zo\u{eb} O'Hara"),
            (unit, "admins"),
            (further(11), "staff"),
        ]);
        let common_name = Some(String::from("Zo\u{eb} O'Hara"));
        assert_eq!(found, Some(ClientSubject { common_name, units: texts(&["admins", "staff"]) }));
        assert_eq!(named(&[]), Some(ClientSubject::default()));
        let two = named(&[(name, "one"), (further(3), "two")]).unwrap();
        assert_eq!(two.common_name, None, "two names are no name");
    }

    proptest! {
        #[test]
        fn broken_bytes_never_panic(at in 0_usize..200, byte: u8, length in 0_usize..400) {
            let mut der = certificate(2027);
            der[at] = byte;
            der.truncate(length);
            expires(&der);
            facts(&der);
            subject_names(&der);
        }
    }
}
