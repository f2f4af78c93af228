//! Lengths of time as operators write and read them.

use std::time::Duration;

/// Seconds, or a number with one of `ms`, `s`, `m`, `h`, `d`; from one second to `max`.
pub fn parse(text: &str, max: Duration) -> Option<Duration> {
    parse_from(text, Duration::from_secs(1), max)
}

/// As [`parse`], from `min` to `max`.
pub fn parse_from(text: &str, min: Duration, max: Duration) -> Option<Duration> {
    const UNITS_MS: [(&str, u64); 5] =
        [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
    let mut units = UNITS_MS.iter();
    let with_unit = units.find_map(|(unit, ms)| Some((text.strip_suffix(unit)?, *ms)));
    let (digits, unit_ms) = with_unit.unwrap_or((text, 1_000));
    digits
        .parse::<u64>()
        .ok()
        .filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))
        .and_then(|number| number.checked_mul(unit_ms))
        .map(Duration::from_millis)
        .filter(|length| (min..=max).contains(length))
}

/// Renders a duration in its two largest units, such as `3 d 4 h`; a short one in seconds with a
/// decimal, or in milliseconds.
pub fn render(length: Duration) -> String {
    let (seconds, millis) = (length.as_secs(), length.subsec_millis());
    match seconds {
        0 if millis > 0 => format!("{millis} ms"),
        1..60 if millis > 0 => format!("{seconds}.{} s", millis.div_euclid(100)),
        _ => render_seconds(seconds),
    }
}

pub fn render_seconds(seconds: u64) -> String {
    const UNITS: [(&str, u64); 4] = [("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)];
    let mut rest = seconds;
    let mut parts = Vec::new();
    for (unit, length) in UNITS {
        let count = rest.div_euclid(length);
        rest = rest.rem_euclid(length);
        if count > 0 || (unit == "s" && parts.is_empty()) {
            parts.push(format!("{count} {unit}"));
        }
    }
    parts.truncate(2);
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const YEAR: Duration = Duration::from_hours(365 * 24);

    #[test]
    fn a_duration_is_a_number_with_a_unit() {
        for (text, seconds) in [
            ("30s", 30),
            ("15m", 900),
            ("24h", 86_400),
            ("90d", 7_776_000),
            ("45", 45),
            ("2000ms", 2),
        ] {
            assert_eq!(parse(text, YEAR), Some(Duration::from_secs(seconds)), "{text}");
        }
        for text in
            ["", "s", "0s", "0", "999ms", "366d", "-1s", "+1s", "1.5h", "1 h", "1w", "1H", "1sm"]
        {
            assert_eq!(parse(text, YEAR), None, "{text}");
        }
        assert_eq!(parse(&format!("{}d", u64::MAX), Duration::MAX), None);
        let short = parse_from("250ms", Duration::from_millis(100), YEAR);
        assert_eq!(short, Some(Duration::from_millis(250)));
    }

    #[test]
    fn a_duration_is_shown_in_its_largest_units() {
        for (millis, text) in [
            (0, "0 s"),
            (7, "7 ms"),
            (1_000, "1 s"),
            (1_250, "1.2 s"),
            (59_900, "59.9 s"),
            (60_500, "1 min"),
            (3_600_000, "1 h"),
            (90_061_000, "1 d 1 h"),
            (273_600_000, "3 d 4 h"),
        ] {
            assert_eq!(render(Duration::from_millis(millis)), text);
        }
    }
}
