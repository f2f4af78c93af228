//! `strongroom status`: shows the state of a running server.

use std::fmt::Write as _;
use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

use serde_json::{Map, Value};

use crate::bounds::STATUS_WAIT_MAX;
use crate::cli::commands::StatusCommand;
use crate::cli::support::failure::{Exit, Failure};
use crate::cli::support::output::say;
use crate::cli::support::settings::read_config;
use crate::operator::metrics_socket_path;

pub(in crate::cli) fn status(command: &StatusCommand) -> Result<(), Failure> {
    let directory = match (&command.data, &command.config) {
        (Some(data), _) => data.clone(),
        (None, Some(config)) => read_config(config)?.data_directory,
        (None, None) => {
            return Err(Failure::new(Exit::Usage, "no server is named")
                .try_this("strongroom status --config FILE, or --data DIR"));
        }
    };
    let path = metrics_socket_path(&directory);
    let status = ask(&path).map_err(|error| explain(&error, &path))?;
    if command.json {
        say(&format!("{status:#}"));
    } else {
        say(&screen(&status));
    }
    if status.get("status").and_then(Value::as_str) == Some("ready") {
        return Ok(());
    }
    let reasons: Vec<_> = wrong(&status).map(|(name, why)| format!("{name}: {why}")).collect();
    Err(Failure::new(Exit::Unavailable, "the server is not ready").why(reasons.join("\n")))
}

#[expect(clippy::wildcard_enum_match_arm, reason = "every other error is a failed exchange")]
fn explain(error: &io::Error, path: &Path) -> Failure {
    let (exit, what) = match error.kind() {
        // The socket of a killed server refuses connections; without a socket the file is not
        // found.
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
            (Exit::Unavailable, "no server is running")
        }
        io::ErrorKind::PermissionDenied => (Exit::Permission, "cannot reach the running server"),
        _ => (Exit::Unavailable, "cannot reach the running server"),
    };
    Failure::new(exit, what)
        .file(path)
        .why(error)
        .try_this("run this as the user that the server runs as, or start the server")
}

fn ask(path: &Path) -> io::Result<Value> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(STATUS_WAIT_MAX))?;
    stream.write_all(b"GET /status HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let (_, body) = text.split_once("\r\n\r\n").unwrap_or_default();
    Ok(serde_json::from_str(body)?)
}

fn wrong(status: &Value) -> impl Iterator<Item = (&str, &str)> {
    let checks = status.get("checks").and_then(Value::as_object).into_iter().flatten();
    let checks = checks.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)));
    checks.filter(|(_, value)| *value != "ok")
}

/// Renders a headline, the failed checks and then each section.
fn screen(status: &Value) -> String {
    let nothing = Map::new();
    let sections = status.as_object().unwrap_or(&nothing);
    let member = |section: &str, name: &str| sections.get(section).and_then(|it| it.get(name));
    let ready = status.get("status").and_then(Value::as_str) == Some("ready");
    let version = member("process", "version").and_then(Value::as_str).unwrap_or_default();
    let state = if ready { "ready" } else { "NOT READY" };
    let mut screen = format!("Strongroom {version}: {state}\n");
    for (name, why) in wrong(status) {
        line(&mut screen, &format!("{name}: {why}"));
    }
    let sections = sections.iter().filter_map(|(name, value)| Some((name, value.as_object()?)));
    for (section, members) in sections.filter(|(name, _)| *name != "checks") {
        line(&mut screen, "");
        for (at, (name, value)) in members.iter().enumerate() {
            let section = if at == 0 { section.as_str() } else { "" };
            let (name, value) = shown(name, value);
            line(&mut screen, &format!("{section:<13}{name:<20}{value}"));
        }
        if section == "requests" {
            let rate = rate(members.get("answered"), member("process", "up_s"));
            line(&mut screen, &format!("{:<13}{:<20}{rate}", "", "a second"));
        }
    }
    String::from(screen.trim_end())
}

#[expect(clippy::let_underscore_must_use, reason = "writing to a String cannot fail")]
fn line(screen: &mut String, text: &str) {
    let indent = if text.is_empty() { "" } else { "  " };
    let _ = writeln!(screen, "{indent}{}", text.trim_end());
}

/// The average since the start, with one decimal.
fn rate(count: Option<&Value>, seconds: Option<&Value>) -> String {
    let count = count.and_then(Value::as_u64).unwrap_or(0);
    let seconds = seconds.and_then(Value::as_u64).unwrap_or(0).max(1);
    let tenths = count.saturating_mul(10).checked_div(seconds).unwrap_or(0);
    tenth(tenths)
}

/// Moves the unit at the end of a name to its value.
fn shown(name: &str, value: &Value) -> (String, String) {
    let number = value.as_u64().unwrap_or(0);
    let (name, value) = if let Some(name) = name.strip_suffix("_bytes") {
        (name, bytes(number))
    } else if let Some(name) = name.strip_suffix("_us") {
        (name, format!("{} ms", tenth(number.div_euclid(100))))
    } else if let Some(name) = name.strip_suffix("_s") {
        (name, span(number))
    } else {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Array(all) => {
                all.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
            }
            Value::Bool(true) => String::from("yes"),
            Value::Bool(false) => String::from("no"),
            Value::Null | Value::Number(_) | Value::Object(_) => value.to_string(),
        };
        (name, text)
    };
    (name.replace('_', " "), value)
}

fn bytes(bytes: u64) -> String {
    const UNITS: [(&str, u32); 4] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let unit = UNITS.iter().find(|(_, bits)| bytes >> bits > 0);
    unit.map_or_else(
        || format!("{bytes} B"),
        |(unit, bits)| format!("{} {unit}", tenth(bytes.saturating_mul(10) >> bits)),
    )
}

fn tenth(tenths: u64) -> String {
    format!("{}.{}", tenths.div_euclid(10), tenths.rem_euclid(10))
}

/// Renders a duration in its two largest units.
fn span(seconds: u64) -> String {
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
    use serde_json::json;

    use super::*;

    #[test]
    fn a_screen_says_first_what_is_wrong() {
        let status = json!({
            "status": "not_ready",
            "checks": {"disk": "It is full.", "store": "ok"},
            "disk": {"free_bytes": 1_610_612_736_u64, "read_only": true},
            "process": {"listening_on": ["127.0.0.1:1"], "up_s": 90_061, "version": "0.1.0"},
            "requests": {"answered": 180_122, "p99_us": 12_345},
        });
        assert_eq!(
            screen(&status),
            "Strongroom 0.1.0: NOT READY\n  disk: It is full.\n\n  disk         free                1.5 \
             GiB\n               read only           yes\n\n  process      listening on        \
             127.0.0.1:1\n               up                  1 d 1 h\n               version             \
             0.1.0\n\n  requests     answered            180122\n               p99                 \
             12.3 ms\n               a second            2.0"
        );
    }

    #[test]
    fn sizes_and_spans_are_shown_in_their_largest_units() {
        assert_eq!([0, 1_023, 1_024, 1 << 40].map(bytes), ["0 B", "1023 B", "1.0 KiB", "1.0 TiB"]);
        assert_eq!([0, 59, 3_600, 90_061].map(span), ["0 s", "59 s", "1 h", "1 d 1 h"]);
        assert_eq!(rate(Some(&json!(5)), None), "5.0");
    }
}
