//! A cursor over the bytes of a text. A failed read does not move it.

use std::ops::RangeInclusive;

#[derive(Debug, Clone, Copy)]
pub(super) struct Scan<'a> {
    rest: &'a [u8],
}

impl<'a> Scan<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { rest: text.as_bytes() }
    }

    pub(super) const fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn is_at_digit(&self) -> bool {
        self.rest.first().is_some_and(u8::is_ascii_digit)
    }

    /// Runs `read`, and moves back if it fails.
    pub(super) fn all<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let mut ahead = *self;
        let value = read(&mut ahead)?;
        *self = ahead;
        Some(value)
    }

    pub(super) fn byte(&mut self, byte: u8) -> Option<()> {
        self.rest = self.rest.strip_prefix(&[byte])?;
        Some(())
    }

    /// Reads all digits that follow, if their number is in the range. The ranges are small enough
    /// for the result to fit.
    pub(super) fn digits(&mut self, count: RangeInclusive<usize>) -> Option<i64> {
        let found = self.rest.iter().take(*count.end()).take_while(|b| b.is_ascii_digit()).count();
        let (digits, rest) = self.rest.split_at_checked(found)?;
        if !count.contains(&found) {
            return None;
        }
        self.rest = rest;
        std::str::from_utf8(digits).ok()?.parse().ok()
    }

    pub(super) fn spaces(&mut self) {
        while self.byte(b' ').is_some() {}
    }

    /// Microseconds: nothing, or a point or comma with at least one digit.
    pub(super) fn fraction(&mut self) -> Option<i64> {
        if self.byte(b'.').or_else(|| self.byte(b',')).is_none() {
            return Some(0);
        }
        let found = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = self.rest.split_at_checked(found)?;
        if digits.is_empty() {
            return None;
        }
        self.rest = rest;
        let padded = digits.iter().copied().chain(std::iter::repeat(b'0'));
        padded.take(6).try_fold(0i64, |micros, byte| {
            micros.checked_mul(10)?.checked_add(i64::from(byte.checked_sub(b'0')?))
        })
    }

    /// Hours to add: 0 for AM, 12 for PM.
    pub(super) fn half_of_day(&mut self) -> Option<i64> {
        let (half, rest) = self.rest.split_at_checked(2)?;
        let hours = if half.eq_ignore_ascii_case(b"am") {
            0
        } else if half.eq_ignore_ascii_case(b"pm") {
            12
        } else {
            return None;
        };
        self.rest = rest;
        Some(hours)
    }

    /// Seconds east of Greenwich: `Z`, `+hh:mm`, `+hhmm`, `+hh`, or nothing for UTC.
    pub(super) fn offset(&mut self) -> Option<i64> {
        if self.is_at_end() || self.byte(b'Z').is_some() || self.byte(b'z').is_some() {
            return Some(0);
        }
        let sign = if self.byte(b'+').is_some() { 1i64 } else { self.byte(b'-').map(|()| -1)? };
        let hours = self.digits(2..=2).filter(|hours| *hours <= 23)?;
        let has_minutes = self.byte(b':').is_some() || self.is_at_digit();
        let minutes = if has_minutes { self.digits(2..=2)? } else { 0 };
        if minutes > 59 {
            return None;
        }
        hours.checked_mul(60)?.checked_add(minutes)?.checked_mul(60)?.checked_mul(sign)
    }
}
