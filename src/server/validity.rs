//! Reads the expiry of a certificate. It parses only the DER that leads there and checks nothing
//! else.

use time::{Date, Month, PrimitiveDateTime, Time};

use crate::domain::time::Timestamp;

const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// The `notAfter` of a certificate; `None` if it cannot be read.
pub(super) fn expires(certificate: &[u8]) -> Option<Timestamp> {
    let (certificate, _) = enter(certificate, SEQUENCE)?;
    let (signed, _) = enter(certificate, SEQUENCE)?;
    // The version is optional; serial, algorithm and issuer are not.
    let after_version = match element(signed)? {
        (VERSION, _, rest) => rest,
        _ => signed,
    };
    let (_, _, after_serial) = element(after_version)?;
    let (_, _, after_algorithm) = element(after_serial)?;
    let (_, _, after_issuer) = element(after_algorithm)?;
    let (validity, _) = enter(after_issuer, SEQUENCE)?;
    let (_, _, after_start) = element(validity)?;
    match element(after_start)? {
        (UTC_TIME, text, _) => {
            let (year, rest) = digits(text, 2)?;
            // RFC 5280, 4.1.2.5.1: two digits mean 1950 to 2049.
            timestamp(if year < 50 { 2_000 + year } else { 1_900 + year }, rest)
        }
        (GENERALIZED_TIME, text, _) => {
            let (year, rest) = digits(text, 4)?;
            timestamp(year, rest)
        }
        _ => None,
    }
}

/// The content of an element that must have this tag, and what follows it.
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
    use rcgen::{CertificateParams, KeyPair};

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

    proptest! {
        #[test]
        fn broken_bytes_never_panic(at in 0_usize..200, byte: u8, length in 0_usize..400) {
            let mut der = certificate(2027);
            der[at] = byte;
            der.truncate(length);
            expires(&der);
        }
    }
}
