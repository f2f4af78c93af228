use proptest::prelude::*;
use time::{Duration, OffsetDateTime};

use crate::domain::expires_at::{ExpiryMistake, parse_expiry, parse_time};
use crate::domain::time::Timestamp;

#[track_caller]
fn check_time(text: &str, wire: &str) {
    let found = parse_time(text).map(Timestamp::to_wire);
    assert_eq!(found.as_deref(), Some(wire), "{text}");
}

#[test]
fn iso_times() {
    let at = "2030-11-14T09:30:00.0000000+00:00";
    for text in [
        "2030-11-14T09:30:00Z",
        "2030-11-14t09:30:00z",
        "2030-11-14T09:30:00",
        "2030-11-14 09:30:00",
        "2030-11-14 09:30:00 Z",
        "2030-11-14T09:30:00+00:00",
        "2030-11-14T09:30:00-00:00",
        "2030-11-14T02:30:00-07:00",
        "2030-11-14T02:30:00 -07:00",
        "2030-11-14T02:30:00-0700",
        "2030-11-14T02:30:00-07",
        "2030-11-14T15:00:00+05:30",
        "2030-11-14T09:30",
        "2030-11-14T09:30Z",
        "20301114T093000Z",
        "20301114T0930",
        "2030-318T09:30:00",
        "2030318T093000Z",
        "2030-W46-4T09:30:00Z",
        "2030W464T0930Z",
        " 2030-11-14T09:30:00Z ",
    ] {
        check_time(text, at);
    }
    check_time("2030-11-14T09Z", "2030-11-14T09:00:00.0000000+00:00");
}

#[test]
fn iso_dates_are_midnight() {
    for text in ["2030-11-14", "20301114", "2030-318", "2030318", "2030-W46-4", "2030W464"] {
        check_time(text, "2030-11-14T00:00:00.0000000+00:00");
    }
    check_time("2032-02-29", "2032-02-29T00:00:00.0000000+00:00");
    check_time("2032-366", "2032-12-31T00:00:00.0000000+00:00");
    check_time("0001-01-01", "0001-01-01T00:00:00.0000000+00:00");
}

#[test]
fn fractions_of_any_length() {
    check_time("2030-11-14T09:30:00.1Z", "2030-11-14T09:30:00.1000000+00:00");
    check_time("2030-11-14T09:30:00,25Z", "2030-11-14T09:30:00.2500000+00:00");
    check_time("2030-11-14T09:30:00.1234567+00:00", "2030-11-14T09:30:00.1234560+00:00");
    check_time("2030-11-14T09:30:00.999999999999", "2030-11-14T09:30:00.9999990+00:00");
    let long = format!("2030-11-14T09:30:00.{}Z", "0".repeat(10_000));
    check_time(&long, "2030-11-14T09:30:00.0000000+00:00");
}

#[test]
fn times_beyond_their_minute_and_day() {
    check_time("2030-12-31T24:00:00Z", "2031-01-01T00:00:00.0000000+00:00");
    check_time("2030-12-31T23:59:60Z", "2031-01-01T00:00:00.0000000+00:00");
    check_time("2031-01-01T00:30:00+01:00", "2030-12-31T23:30:00.0000000+00:00");
    check_time("2030-12-31T23:30:00-01:00", "2031-01-01T00:30:00.0000000+00:00");
}

#[test]
fn american_times() {
    check_time("11/14/2030", "2030-11-14T00:00:00.0000000+00:00");
    check_time("1/2/2030", "2030-01-02T00:00:00.0000000+00:00");
    check_time("01/02/2030", "2030-01-02T00:00:00.0000000+00:00");
    check_time("8/26/2030 7:23:57 PM -07:00", "2030-08-27T02:23:57.0000000+00:00");
    check_time("8/26/2030 7:23:57 AM -07:00", "2030-08-26T14:23:57.0000000+00:00");
    check_time("8/26/2030 7:23:57 PM", "2030-08-26T19:23:57.0000000+00:00");
    check_time("8/26/2030 7:23:57 pm +00:00", "2030-08-26T19:23:57.0000000+00:00");
    check_time("8/26/2030 12:00:00 AM", "2030-08-26T00:00:00.0000000+00:00");
    check_time("8/26/2030 12:00:00 PM", "2030-08-26T12:00:00.0000000+00:00");
    check_time("8/26/2030 7:23 PM", "2030-08-26T19:23:00.0000000+00:00");
    check_time("8/26/2030 19:23:57", "2030-08-26T19:23:57.0000000+00:00");
    check_time("8/26/2030 19:23:57.5 -07:00", "2030-08-27T02:23:57.5000000+00:00");
    check_time("8/26/2030 7:23:57PM", "2030-08-26T19:23:57.0000000+00:00");
}

#[test]
fn texts_that_are_no_time() {
    for text in [
        "",
        " ",
        "now",
        "2030",
        "2030-11",
        "2030-1-4",
        "30-11-14",
        "12030-11-14",
        "-2030-11-14",
        "2030-02-29",
        "2030-13-01",
        "2030-00-10",
        "2030-11-31",
        "2030-11-00",
        "2030-366",
        "2030-000",
        "2030-W54-1",
        "2030-W46-0",
        "2030-W46-8",
        "2030-W46",
        "2030-1114",
        "203011-14",
        "2030-11-14T",
        "2030-11-14T9:30",
        "2030-11-14T24:00:01",
        "2030-11-14T25:00",
        "2030-11-14T09:60",
        "2030-11-14T09:30:61",
        "2030-11-14T09:30:",
        "2030-11-14T09:30:00.",
        "2030-11-14T09:30:00.Z",
        "2030-11-14T09:30.5Z",
        "2030-11-14T09:30:00+",
        "2030-11-14T09:30:00+7",
        "2030-11-14T09:30:00+24:00",
        "2030-11-14T09:30:00+07:60",
        "2030-11-14T09:30:00+07:0",
        "2030-11-14T09:30:00 UTC",
        "2030-11-14T09:30:00ZZ",
        "2030-11-14T09:30:00Z+00:00",
        "2030/11/14",
        "14/11/2030",
        "13/1/2030",
        "0/1/2030",
        "2/30/2030",
        "1/2/30",
        "1/2/20300",
        "11/14/2030T09:30:00",
        "11/14/2030 7",
        "11/14/2030 13:00:00 PM",
        "11/14/2030 0:00:00 AM",
        "11/14/2030 7:3:00 AM",
        "11/14/2030 7:30:00 XM",
        "11/14/2030 25:00:00",
        "9999-12-31T23:59:59-01:00",
        "0000-00-00",
        "\u{662}030-11-14",
        "2030\u{2010}11\u{2010}14",
    ] {
        assert_eq!(parse_time(text), None, "{text}");
    }
}

#[test]
fn an_expiry_is_later_than_now() {
    let now = parse_time("2030-11-14T09:30:00Z").unwrap();
    let later = parse_expiry("2030-11-14T09:30:00.000001Z", now).unwrap();
    assert_eq!(later.micros(), now.micros() + 1);
    for text in ["2030-11-14T09:30:00Z", "2030-11-14", "11/14/2030", "2030-11-14T10:30:00+01:00"] {
        assert_eq!(parse_expiry(text, now), Err(ExpiryMistake::Past), "{text}");
    }
    assert_eq!(parse_expiry("tomorrow", now), Err(ExpiryMistake::Malformed));
}

proptest! {
    #[test]
    fn never_panics_on_what_looks_like_a_time(text in "[0-9]{0,5}[-/]?[0-9W]{0,4}[-/]?[0-9]{0,5}[T ]?[0-9:.,]{0,12} ?[APMZ+-]{0,2} ?[0-9:+-]{0,6}") {
        parse_time(&text);
    }

    #[test]
    fn what_answers_carry_is_read_back(micros in -62_135_596_800_000_000i64..253_402_300_799_000_000) {
        let at = Timestamp::from_micros(micros);
        prop_assert_eq!(parse_time(&at.to_wire()), Some(at));
    }

    #[test]
    fn an_offset_moves_the_time(seconds in 0i64..4_000_000_000, minutes in -1439i64..=1439) {
        let at = OffsetDateTime::from_unix_timestamp(seconds).unwrap();
        let local = at + Duration::minutes(minutes);
        let sign = if minutes < 0 { '-' } else { '+' };
        let (hours, rest) = (minutes.abs() / 60, minutes.abs() % 60);
        let text = format!("{} {}{sign}{hours:02}:{rest:02}", local.date(), local.time());
        // The calendar crate writes an hour below ten with one digit.
        let text = if local.hour() < 10 { text.replacen(' ', " 0", 1) } else { text };
        prop_assert_eq!(parse_time(&text), Some(Timestamp::from_seconds(seconds)), "{}", text);
    }
}
