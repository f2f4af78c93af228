//! Durations and sizes in settings: a number with a unit. The older forms stay valid and are noted.

use std::time::Duration;

use toml::Value;

use super::reader::SettingsReader;
use crate::bounds::{BACKUP_PERIOD_MAX, DISK_FLOOR_BYTES_MAX, DISK_FLOOR_BYTES_MIN};
use crate::domain::duration;
use crate::domain::size;

const DAY_S: u64 = 24 * 3_600;

/// A period up to a year.
pub(super) fn period(reader: &mut SettingsReader, name: &str, default: Duration) -> Duration {
    match reader.text(name) {
        Some(text) => parsed_period(reader, name, &text, default),
        None => default,
    }
}

pub(super) fn parsed_period(
    reader: &mut SettingsReader,
    name: &str,
    text: &str,
    default: Duration,
) -> Duration {
    let Some(length) = duration::parse(text, BACKUP_PERIOD_MAX) else {
        reader.wrong(name, "must be a duration up to a year, such as \"12h\" or \"7d\"");
        return default;
    };
    note_unit(reader, name, text);
    length
}

/// Notes a number without a unit.
pub(super) fn note_unit(reader: &mut SettingsReader, name: &str, text: &str) {
    if duration::is_without_unit(text) {
        reader.deprecated.push(format!("{name} = \"{text}\": write \"{text}s\""));
    }
}

/// Whole days, such as `"400d"`. The older name ends with `_days` and has a number.
pub(super) fn days(reader: &mut SettingsReader, name: &str, default: u64, most: u64) -> u64 {
    let older = format!("{name}_days");
    if has_value(reader, &older) {
        let days = reader.integer(&older, default, 1..=most);
        replaced_by(reader, &older, name, &format!("{days}d"));
        return days;
    }
    let max = Duration::from_secs(most.saturating_mul(DAY_S));
    let Some(value) = reader.take(name) else { return default };
    let length = value.as_str().and_then(|text| duration::parse(text, max));
    let length = length.map(|length| length.as_secs());
    let Some(seconds) = length.filter(|seconds| seconds.rem_euclid(DAY_S) == 0) else {
        let wanted = format!("must be a number of days up to {most}, such as \"{default}d\"");
        reader.wrong(name, &wanted);
        return default;
    };
    seconds.div_euclid(DAY_S)
}

/// The same, as a number of things.
pub(super) fn day_count(reader: &mut SettingsReader, name: &str, default: usize) -> usize {
    const MOST: u64 = 1_000_000;
    let default_days = u64::try_from(default).unwrap_or(MOST);
    usize::try_from(days(reader, name, default_days, MOST)).unwrap_or(default)
}

/// A time limit such as `"10s"`. The older name ends with `_ms` and has a number.
pub(super) fn time_limit(
    reader: &mut SettingsReader,
    name: &str,
    default: Duration,
    min: Duration,
    max: Duration,
) -> Duration {
    let older = format!("{name}_ms");
    let millis = |length: Duration| u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
    if has_value(reader, &older) {
        let given = reader.integer(&older, millis(default), millis(min)..=millis(max));
        replaced_by(reader, &older, name, &format!("{given}ms"));
        return Duration::from_millis(given);
    }
    let Some(value) = reader.take(name) else { return default };
    let length = value.as_str().and_then(|text| duration::parse_from(text, min, max));
    length.unwrap_or_else(|| {
        let wanted =
            format!("must be a duration from \"{}ms\" to \"{}s\"", millis(min), max.as_secs());
        reader.wrong(name, &wanted);
        default
    })
}

/// Notes the older name of a setting. Both names at once are a mistake.
fn replaced_by(reader: &mut SettingsReader, older: &str, name: &str, value: &str) {
    if has_value(reader, name) {
        reader.take(name);
        reader.wrong(older, &format!("is the older name of {name}: set only {name}"));
    }
    reader.deprecated.push(format!("{older}: write {name} = \"{value}\""));
}

fn has_value(reader: &SettingsReader, name: &str) -> bool {
    let mut names = name.split('.');
    let Some(key) = names.next_back() else { return false };
    let section = names.try_fold(&reader.table, |table, name| match table.get(name) {
        Some(Value::Table(section)) => Some(section),
        Some(_) | None => None,
    });
    section.is_some_and(|section| section.contains_key(key))
}

/// A size such as `"256MiB"`.
pub(super) fn bytes(reader: &mut SettingsReader, name: &str, default: u64) -> u64 {
    let Some(value) = reader.take(name) else {
        return default;
    };
    let legal = DISK_FLOOR_BYTES_MIN..=DISK_FLOOR_BYTES_MAX;
    let bytes = value.as_str().and_then(size::parse);
    bytes.filter(|bytes| legal.contains(bytes)).unwrap_or_else(|| {
        reader.wrong(name, "must be a size such as \"256MiB\" or \"2GiB\", at least \"1MiB\"");
        default
    })
}
