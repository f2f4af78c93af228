//! Parses points in time that callers write. The current time is an argument.
//!
//! It accepts the forms of ISO 8601 (calendar, ordinal and week dates, extended and basic, also
//! with a space for the `T`) and the American forms that the published interface names:
//! `11/14/2030` and `11/14/2030 9:30:00 AM -07:00`. Without an offset a time is UTC; without a time
//! of day a date is its midnight. A fraction of a second may have any number of digits; digits
//! after the microsecond are ignored.

mod scan;
#[cfg(test)]
mod tests;

use time::{Date, Month, Weekday};

use crate::domain::expires_at::scan::Scan;
use crate::domain::time::Timestamp;

/// `None` for any other form and for dates that do not exist.
pub fn parse_time(text: &str) -> Option<Timestamp> {
    let mut scan = Scan::new(text.trim_matches(' '));
    let (date, clock) = american(&mut scan).or_else(|| iso(&mut scan))?;
    scan.is_at_end().then_some(())?;
    let days = i64::from(date.to_julian_day()).checked_sub(EPOCH_JULIAN_DAY)?;
    let seconds = days.checked_mul(86_400)?.checked_add(clock.seconds)?;
    let micros = seconds.checked_mul(1_000_000)?.checked_add(clock.micros)?;
    let at = Timestamp::from_micros(micros);
    // Refuse times that cannot be formatted, such as the last evening of 9999 west of Greenwich.
    at.datetime().map(|_| at)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpiryMistake {
    Malformed,
    Past,
}

impl ExpiryMistake {
    pub const fn message(self) -> &'static str {
        match self {
            Self::Malformed => {
                "The expiration must be an ISO 8601 date-time or a date such as 11/14/2030."
            }
            Self::Past => "The expiration must be in the future.",
        }
    }
}

/// A time that is not after `now` is a mistake.
pub fn parse_expiry(text: &str, now: Timestamp) -> Result<Timestamp, ExpiryMistake> {
    let at = parse_time(text).ok_or(ExpiryMistake::Malformed)?;
    if at <= now { Err(ExpiryMistake::Past) } else { Ok(at) }
}

const EPOCH_JULIAN_DAY: i64 = 2_440_588;

/// A time of day: seconds from the date's midnight in UTC, after its offset is applied.
#[derive(Debug, Default, Clone, Copy)]
struct Clock {
    seconds: i64,
    micros: i64,
}

fn american(scan: &mut Scan<'_>) -> Option<(Date, Clock)> {
    scan.all(|scan| {
        let month = scan.digits(1..=2)?;
        scan.byte(b'/')?;
        let day = scan.digits(1..=2)?;
        scan.byte(b'/')?;
        let date = calendar(scan.digits(4..=4)?, month, day)?;
        if scan.is_at_end() {
            return Some((date, Clock::default()));
        }
        scan.byte(b' ')?;
        Some((date, american_clock(scan)?))
    })
}

/// `h:mm`, `h:mm:ss`, with AM or PM or in 24 hours, with or without an offset.
fn american_clock(scan: &mut Scan<'_>) -> Option<Clock> {
    let hour = scan.digits(1..=2)?;
    scan.byte(b':')?;
    let minute = scan.digits(2..=2)?;
    let (second, micros) = match scan.byte(b':') {
        Some(()) => (scan.digits(2..=2)?, scan.fraction()?),
        None => (0, 0),
    };
    let half = scan.all(|scan| {
        scan.spaces();
        scan.half_of_day()
    });
    let hour = match (half, hour) {
        (None, hour) => hour,
        (Some(half), 12) => half,
        (Some(half), 1..=11) => hour.checked_add(half)?,
        (Some(_), _) => return None,
    };
    scan.spaces();
    clock(hour, minute, second, micros, scan.offset()?)
}

fn iso(scan: &mut Scan<'_>) -> Option<(Date, Clock)> {
    let date =
        scan.all(iso_week).or_else(|| scan.all(iso_calendar)).or_else(|| scan.all(iso_ordinal))?;
    if scan.is_at_end() {
        return Some((date, Clock::default()));
    }
    scan.byte(b'T').or_else(|| scan.byte(b't')).or_else(|| scan.byte(b' '))?;
    let hour = scan.digits(2..=2)?;
    let colon = scan.byte(b':').is_some();
    let minute = if colon { scan.digits(2..=2)? } else { scan.digits(2..=2).unwrap_or(0) };
    let has_second = if colon { scan.byte(b':').is_some() } else { scan.is_at_digit() };
    let (second, micros) =
        if has_second { (scan.digits(2..=2)?, scan.fraction()?) } else { (0, 0) };
    scan.spaces();
    Some((date, clock(hour, minute, second, micros, scan.offset()?)?))
}

/// `2030-11-14` or `20301114`.
fn iso_calendar(scan: &mut Scan<'_>) -> Option<Date> {
    let year = scan.digits(4..=4)?;
    let dash = scan.byte(b'-').is_some();
    let month = scan.digits(2..=2)?;
    if dash {
        scan.byte(b'-')?;
    }
    let day = scan.digits(2..=2)?;
    calendar(year, month, day)
}

/// `2030-318` or `2030318`: the day of the year.
fn iso_ordinal(scan: &mut Scan<'_>) -> Option<Date> {
    let year = i32::try_from(scan.digits(4..=4)?).ok()?;
    scan.byte(b'-');
    let day = u16::try_from(scan.digits(3..=3)?).ok()?;
    Date::from_ordinal_date(year, day).ok()
}

/// `2030-W46-4` or `2030W464`: the day of a week, Monday is 1.
fn iso_week(scan: &mut Scan<'_>) -> Option<Date> {
    let year = i32::try_from(scan.digits(4..=4)?).ok()?;
    let dash = scan.byte(b'-').is_some();
    scan.byte(b'W')?;
    let week = u8::try_from(scan.digits(2..=2)?).ok()?;
    if dash {
        scan.byte(b'-')?;
    }
    let day = u8::try_from(scan.digits(1..=1)?).ok()?.checked_sub(1).filter(|day| *day < 7)?;
    Date::from_iso_week_date(year, week, Weekday::Monday.nth_next(day)).ok()
}

fn calendar(year: i64, month: i64, day: i64) -> Option<Date> {
    let month = Month::try_from(u8::try_from(month).ok()?).ok()?;
    Date::from_calendar_date(i32::try_from(year).ok()?, month, u8::try_from(day).ok()?).ok()
}

/// 24:00:00 is the end of the day, and a minute may have a leap second; both are times of ISO 8601.
fn clock(hour: i64, minute: i64, second: i64, micros: i64, offset_s: i64) -> Option<Clock> {
    let is_end_of_day = hour == 24 && minute == 0 && second == 0 && micros == 0;
    if hour > 23 && !is_end_of_day || minute > 59 || second > 60 {
        return None;
    }
    let minutes = hour.checked_mul(60)?.checked_add(minute)?;
    let seconds = minutes.checked_mul(60)?.checked_add(second)?.checked_sub(offset_s)?;
    Some(Clock { seconds, micros })
}
