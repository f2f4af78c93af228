//! Points in time: microseconds since 1970, UTC.

use std::time::Duration;

use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::format_description::well_known::Rfc3339;
use time::macros::format_description;

/// The form the published interface shows: seven digits of fraction and an offset, always.
const WIRE: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:7]+00:00");

const ISO_MILLIS: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");

/// The form of the header `Date`.
const HTTP: &[BorrowedFormatItem<'_>] = format_description!(
    "[weekday repr:short], [day] [month repr:short] [year] [hour]:[minute]:[second] GMT"
);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    pub const fn from_seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1_000_000))
    }

    pub const fn micros(self) -> i64 {
        self.0
    }

    pub const fn millis(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    pub const fn seconds(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    /// Saturates: a time beyond the range means never.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)))
    }

    /// Saturates.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)))
    }

    /// Zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// A time of RFC 3339, with its offset: `2026-11-14T09:30:00Z`.
    pub fn parse_rfc3339(text: &str) -> Option<Self> {
        OffsetDateTime::parse(text, &Rfc3339).ok().and_then(Self::from_datetime)
    }

    pub fn from_datetime(at: OffsetDateTime) -> Option<Self> {
        i64::try_from(at.unix_timestamp_nanos().div_euclid(1_000)).ok().map(Self)
    }

    /// `None` outside of the years that the calendar crate supports.
    pub fn datetime(self) -> Option<OffsetDateTime> {
        OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0).checked_mul(1_000)?).ok()
    }

    /// The form of answers: `2026-11-14T09:30:00.1234560+00:00`. Empty for a time outside of the
    /// calendar, which no clock and no parser gives.
    pub fn to_wire(self) -> String {
        let Some(at) = self.datetime() else { return String::new() };
        let usual = self.wire_bytes().and_then(|text| str::from_utf8(&text).ok().map(String::from));
        usual.unwrap_or_else(|| at.format(WIRE).unwrap_or_default())
    }

    /// As [`Timestamp::to_wire`], for a year of four digits. By hand: the calendar crate's
    /// formatter takes half as many instructions again.
    pub fn wire_bytes(self) -> Option<[u8; WIRE_BYTES]> {
        let at = self.datetime()?;
        let year = u32::try_from(at.year()).ok().filter(|year| *year <= 9_999)?;
        let mut text = *b"0000-00-00T00:00:00.0000000+00:00";
        for (end, mut number) in [
            (4, year),
            (7, u8::from(at.month()).into()),
            (10, at.day().into()),
            (13, at.hour().into()),
            (16, at.minute().into()),
            (19, at.second().into()),
            (26, at.microsecond()),
        ] {
            for digit in text.get_mut(..end)?.iter_mut().rev() {
                if number == 0 {
                    break;
                }
                *digit = b'0'.saturating_add(u8::try_from(number % 10).ok()?);
                number /= 10;
            }
        }
        Some(text)
    }
}

impl Timestamp {
    /// The form in which commands, reports and messages show a time to people:
    /// `2026-11-14T09:30:00Z`. Commands that take a time take this form.
    pub fn shown(self) -> String {
        let wire = self.to_wire();
        wire.split_once('.').map_or_else(String::new, |(seconds, _)| format!("{seconds}Z"))
    }

    /// The form of the header `Date`: `Sat, 14 Nov 2026 09:30:00 GMT`.
    pub fn to_http_date(self) -> Option<String> {
        self.datetime()?.format(HTTP).ok()
    }

    /// The form of JavaScript's `toISOString`, which events have: `2026-11-14T09:30:00.123Z`.
    pub fn to_iso_millis(self) -> String {
        let Some(at) = self.datetime() else { return String::new() };
        at.format(ISO_MILLIS).unwrap_or_default()
    }
}

const WIRE_BYTES: usize = "2026-11-14T09:30:00.1234560+00:00".len();

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_wire_form_has_seven_digits_and_an_offset() {
        let at = Timestamp::from_micros(1_794_648_600_123_456);
        assert_eq!(at.to_wire(), "2026-11-14T09:30:00.1234560+00:00");
    }

    #[test]
    fn people_see_a_time_in_the_form_that_commands_take() {
        let at = Timestamp::from_micros(1_794_648_600_923_456);
        assert_eq!(at.shown(), "2026-11-14T09:30:00Z");
        let read = Timestamp::parse_rfc3339(&at.shown());
        assert_eq!(read, Some(Timestamp::from_seconds(1_794_648_600)));
        assert_eq!(Timestamp::from_micros(i64::MAX).shown(), "");
    }

    proptest! {
        #[test]
        fn every_time_has_the_form_of_the_calendar_crate(micros: i64, seconds in -1_i64 << 38..1 << 38) {
            for at in [Timestamp::from_micros(micros), Timestamp::from_seconds(seconds)] {
                let expected = at.datetime().and_then(|at| at.format(WIRE).ok());
                prop_assert_eq!(at.to_wire(), expected.unwrap_or_default());
            }
        }
    }

    #[test]
    fn a_time_of_rfc_3339_has_an_offset() {
        let at = Timestamp::from_micros(1_794_648_600_123_456);
        for text in ["2026-11-14T09:30:00.123456Z", "2026-11-14T10:30:00.123456+01:00"] {
            assert_eq!(Timestamp::parse_rfc3339(text), Some(at));
        }
        assert_eq!(Timestamp::parse_rfc3339(&at.to_wire()), Some(at));
        for text in ["", "2026-11-14", "2026-11-14T09:30:00", "11/14/2026", "2026-13-14T09:30:00Z"]
        {
            assert_eq!(Timestamp::parse_rfc3339(text), None, "{text}");
        }
    }

    #[test]
    fn a_duration_past_the_end_of_time_saturates() {
        assert_eq!(Timestamp::from_micros(i64::MAX).plus(Duration::MAX).micros(), i64::MAX);
    }
}
