//! Lengths of time as operators write them.

use std::time::Duration;

/// Seconds, or a number with one of `s`, `m`, `h`, `d`; from one second to `max`.
pub fn parse(text: &str, max: Duration) -> Option<Duration> {
    let unit_s = match text.as_bytes().last() {
        Some(b'm') => 60,
        Some(b'h') => 3_600,
        Some(b'd') => 86_400,
        _ => 1,
    };
    let digits = text.strip_suffix(['s', 'm', 'h', 'd']).unwrap_or(text);
    digits
        .parse::<u64>()
        .ok()
        .filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))
        .and_then(|number| number.checked_mul(unit_s))
        .map(Duration::from_secs)
        .filter(|length| (Duration::from_secs(1)..=max).contains(length))
}
