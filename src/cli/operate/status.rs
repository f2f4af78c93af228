//! `strongroom status`: shows the state of a running server.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::cli::command::{OnVault as _, command};
use crate::cli::support::{Exit, Failure, Result, read_status, run_as_owner, say, shown_time};
use crate::domain::duration;
use crate::domain::size;
use crate::operator::metrics_socket_path;

command! {
    /// Show the state of a running server: readiness and the reason if it is not ready, contents,
    /// latency, disk and certificate. Exits with 69 when the server is not ready or not running.
    "status" StatusCommand on vault {} => |it| status(&it)
}

fn status(command: &StatusCommand) -> Result<()> {
    let directory = command.vault()?.home.directory;
    let path = metrics_socket_path(&directory);
    let status = read_status(&path).map_err(|error| explain(&error, &path))?;
    if command.json() {
        say(&format!("{status:#}"));
    } else {
        say(&screen(&status));
    }
    if status.get("status").and_then(Value::as_str) == Some("ready") {
        return Ok(());
    }
    let reasons: Vec<_> = wrong(&status).map(|(name, why)| format!("{name}: {why}")).collect();
    Err(Failure::new(Exit::Unavailable, "the server is not ready")
        .why(reasons.join("\n"))
        .try_this(
            "man strongroom-guide says what to do about each of them (WATCHING, Readiness checks)",
        ))
}

#[expect(clippy::wildcard_enum_match_arm, reason = "every other error is a failed exchange")]
fn explain(error: &io::Error, path: &Path) -> Failure {
    match error.kind() {
        // The socket of a killed server refuses connections; without a socket the file is not
        // found.
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
            let directory = path.parent().unwrap_or(path);
            let failure = Failure::new(Exit::Unavailable, "no server is running");
            if directory.is_dir() {
                failure
                    .file(directory)
                    .why("no server has this data directory open")
                    .try_this("systemctl start strongroom, or strongroom serve")
            } else {
                failure
                    .file(directory)
                    .why("there is no such data directory")
                    .try_this("name the data directory of the vault with --config or --data")
            }
        }
        io::ErrorKind::PermissionDenied => {
            Failure::new(Exit::Permission, "cannot reach the running server")
                .file(path)
                .why(error)
                .try_this(run_as_owner(path))
        }
        _ => Failure::new(Exit::Unavailable, "cannot reach the running server")
            .file(path)
            .why(error)
            .try_this("wait until the server has started, and look into its log"),
    }
}

fn wrong(status: &Value) -> impl Iterator<Item = (&str, &str)> {
    let checks = status.get("checks").and_then(Value::as_object).into_iter().flatten();
    let checks = checks.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)));
    checks.filter(|(_, value)| *value != "ok")
}

fn screen(status: &Value) -> String {
    let nothing = Map::new();
    let sections = status.as_object().unwrap_or(&nothing);
    let member = |section: &str, name: &str| sections.get(section).and_then(|it| it.get(name));
    let ready = status.get("status").and_then(Value::as_str) == Some("ready");
    let version = member("process", "version").and_then(Value::as_str).unwrap_or_default();
    let up_to = member("standby", "up_to").and_then(Value::as_str).map(shown_time);
    let state = match (up_to, ready) {
        (Some(up_to), true) => format!("standby, up to {up_to}"),
        (Some(up_to), false) => format!("standby, up to {up_to}, NOT READY"),
        (None, true) => String::from("ready"),
        (None, false) => String::from("NOT READY"),
    };
    let mut screen = format!("Strongroom {version}: {state}\n");
    for (name, why) in wrong(status) {
        line(&mut screen, &format!("{name}: {why}"));
    }
    if let Some(note) = backup_note(status.get("backups")) {
        line(&mut screen, &format!("backups: {note}"));
    }
    let sections = sections.iter().filter_map(|(name, value)| Some((name, value.as_object()?)));
    for (section, members) in sections.filter(|(name, _)| *name != "checks") {
        line(&mut screen, "");
        for (at, (name, value)) in members.iter().enumerate() {
            let section = if at == 0 { section.as_str() } else { "" };
            let (name, value) = shown(name, value);
            line(&mut screen, &format!("{section:<13}{name:<23}{value}"));
        }
        if section == "requests" {
            let rate = rate(members.get("answered"), member("process", "up_s"));
            line(&mut screen, &format!("{:<13}{:<23}{rate}", "", "a second"));
        }
    }
    String::from(screen.trim_end())
}

/// The step of the schedule that failed. A vault without a schedule is mentioned too, since a
/// person must take its backups.
fn backup_note(backups: Option<&Value>) -> Option<String> {
    let backups = backups?;
    // The log has the reason and the path.
    let failed_at = |name: &str| backups.get(name).and_then(Value::as_str).map(shown_time);
    if let Some(at) = failed_at("failed_at") {
        return Some(format!("The last backup failed, {at}: see backup_failed in the log."));
    }
    if let Some(at) = failed_at("proof_failed_at") {
        return Some(format!("The last proof failed, {at}: see backup_proof_failed in the log."));
    }
    if backups.get("scheduled").and_then(Value::as_bool) != Some(false) {
        return None;
    }
    let age = backups.get("newest_age_s").and_then(Value::as_u64).map(duration::render_seconds);
    let newest = age.map_or_else(
        || String::from("no backup is known"),
        |age| format!("the newest backup is {age} old"),
    );
    Some(format!("There is no schedule (backup in the settings); {newest}."))
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
    // Without their units these two would have the same name.
    let (name, value) = if name == "lag_bytes" {
        ("lag in size", size::render(number))
    } else if name == "lag_s" {
        ("lag in time", duration::render_seconds(number))
    } else if let Some(name) = name.strip_suffix("_bytes") {
        (name, size::render(number))
    } else if let Some(name) = name.strip_suffix("_us") {
        (name, format!("{} ms", tenth(number.div_euclid(100))))
    } else if let Some(name) = name.strip_suffix("_s") {
        (name, duration::render_seconds(number))
    } else if let Some(name) = name.strip_suffix("_percent") {
        (name, format!("{number} % done"))
    } else {
        let text = match value {
            Value::String(text) => shown_time(text),
            Value::Array(all) => {
                let texts =
                    all.iter().map(|it| it.as_str().map_or_else(|| process(it), String::from));
                let between = if all.iter().any(Value::is_object) { NEXT_LINE } else { ", " };
                texts.collect::<Vec<_>>().join(between)
            }
            Value::Bool(true) => String::from("yes"),
            Value::Bool(false) => String::from("no"),
            Value::Object(_) => latency(value).unwrap_or_else(|| value.to_string()),
            Value::Null | Value::Number(_) => value.to_string(),
        };
        (name, text)
    };
    (name.replace('_', " "), value)
}

/// A bound and the part of all values that it covers: nothing else is known of a latency.
fn latency(value: &Value) -> Option<String> {
    let number = |name: &str| value.get(name)?.as_u64();
    let (word, bound) = match (number("within_us"), number("over_us")) {
        (Some(bound), _) => ("within", bound),
        (None, bound) => ("over", bound?),
    };
    let (count, of) = (number("count")?, number("of")?);
    let permille = count.saturating_mul(1_000).checked_div(of)?;
    let bound = tenth(bound.div_euclid(100));
    Some(format!("{word} {bound} ms: {} % of {of}", tenth(permille)))
}

const NEXT_LINE: &str = "\n                                    ";

fn process(listed: &Value) -> String {
    let text = |name: &str| listed.get(name).and_then(Value::as_str).unwrap_or("?");
    let is = |name: &str| listed.get(name).and_then(Value::as_bool) == Some(true);
    format!(
        "{} {} {} since {} last beat {}{}{}",
        text("id"),
        text("host"),
        text("version"),
        shown_time(text("started_at")),
        shown_time(text("beat_at")),
        if is("leader") { ", leader" } else { "" },
        if is("this") { ", this process" } else { "" },
    )
}

fn tenth(tenths: u64) -> String {
    format!("{}.{}", tenths.div_euclid(10), tenths.rem_euclid(10))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_top_of_the_screen_names_the_step_of_a_backup_that_failed_and_lags_have_names() {
        let screen_of = |backups: Value| {
            screen(&json!({
                "status": "ready",
                "archive": {"lag_bytes": 1, "lag_s": 1},
                "backups": backups,
            }))
        };
        let top = |backups| screen_of(backups).lines().nth(1).unwrap_or_default().to_owned();
        let (taken, proven) = (json!({"failed_at": "T"}), json!({"proof_failed_at": "T"}));
        assert!(top(taken).contains("The last backup failed, T"));
        assert!(top(proven).contains("The last proof failed, T"));
        let text = screen_of(json!({}));
        assert!(text.contains("lag in size") && text.contains("lag in time"), "{text}");
    }

    #[test]
    fn each_process_that_shares_the_store_has_a_line() {
        let process = |id: &str, leads: bool| {
            json!({
                "id": id, "host": "a.example", "version": "1.2.3", "started_at": "S",
                "beat_at": "B", "leader": leads, "this": !leads,
            })
        };
        let processes = json!({"live": 2, "all": [process("x", true), process("y", false)]});
        let text = screen(&json!({"status": "ready", "processes": processes}));
        let lines: Vec<_> = text.lines().filter(|line| line.contains("a.example")).collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(lines[0].ends_with("x a.example 1.2.3 since S last beat B, leader"), "{text}");
        assert!(lines[1].ends_with("y a.example 1.2.3 since S last beat B, this process"));
    }

    #[test]
    fn a_screen_says_first_what_is_wrong() {
        let status = json!({
            "status": "not_ready",
            "checks": {"disk": "It is full.", "store": "ok"},
            "disk": {"free_bytes": 1_610_612_736_u64, "read_only": true},
            "keys": {"rotation_percent": 40, "rotation_records_left": 3},
            "process": {"listening_on": ["127.0.0.1:1"], "up_s": 90_061, "version": "0.1.0"},
            "requests": {"answered": 180_122, "p50": {"within_us": 2_500, "count": 90_061, "of": 180_122}, "p99": {"over_us": 10_000_000, "count": 3_000, "of": 180_122}},
        });
        let row =
            |section: &str, name: &str, value: &str| format!("  {section:<13}{name:<23}{value}");
        let expected = [
            String::from("Strongroom 0.1.0: NOT READY"),
            String::from("  disk: It is full."),
            String::new(),
            row("disk", "free", "1.5 GiB"),
            row("", "read only", "yes"),
            String::new(),
            row("keys", "rotation", "40 % done"),
            row("", "rotation records left", "3"),
            String::new(),
            row("process", "listening on", "127.0.0.1:1"),
            row("", "up", "1 d 1 h"),
            row("", "version", "0.1.0"),
            String::new(),
            row("requests", "answered", "180122"),
            row("", "p50", "within 2.5 ms: 50.0 % of 180122"),
            row("", "p99", "over 10000.0 ms: 1.6 % of 180122"),
            row("", "a second", "2.0"),
        ];
        assert_eq!(screen(&status), expected.join("\n"));
    }

    #[test]
    fn the_headline_of_a_standby_says_up_to_when_it_has_the_changes() {
        let headline = |status: &str| {
            let up_to = "2026-11-14T09:30:00.1234560+00:00";
            let text = screen(&json!({
                "status": status, "process": {"version": "1.2.3"},
                "standby": {"up_to": up_to, "waiting": false},
            }));
            String::from(text.lines().next().unwrap_or_default())
        };
        let ready = "Strongroom 1.2.3: standby, up to 2026-11-14T09:30:00Z";
        assert_eq!(headline("ready"), ready);
        assert_eq!(headline("not_ready"), format!("{ready}, NOT READY"));
    }

    #[test]
    fn a_missing_schedule_of_backups_is_told_with_the_age_of_the_newest() {
        let check = |backups: Value, note: Option<&str>| {
            assert_eq!(backup_note(Some(&backups)).as_deref(), note, "{backups}");
        };
        let none = "There is no schedule (backup in the settings); no backup is known.";
        check(json!({"scheduled": false}), Some(none));
        let old =
            "There is no schedule (backup in the settings); the newest backup is 3 d 1 h old.";
        check(json!({"scheduled": false, "newest_age_s": 262_800}), Some(old));
        check(json!({"scheduled": true, "newest_age_s": 262_800}), None);
        assert_eq!(backup_note(None), None, "a standby");
    }

    #[test]
    fn a_rate_without_a_duration_is_that_of_a_second() {
        assert_eq!(rate(Some(&json!(5)), None), "5.0");
    }
}
