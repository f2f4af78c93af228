//! `strongroom check`: looks at the settings and at every file and directory that they name. It
//! opens no data file, changes nothing, and says what it could not check.

mod certificates;
mod code;
mod console;
mod engine;
mod files;
pub mod findings;
mod master_key;
mod user;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use crate::cli::check::findings::{Findings, SettingPath, State};
use crate::cli::check::user::ServiceUser;
use crate::cli::command::command;
use crate::cli::serve::bins;
use crate::cli::support::{Exit, Failure, Result, say, settings};
use crate::clock::Clock;
use crate::config::Config;
use crate::domain::counted::counted;
use crate::domain::time::Timestamp;

command! {
    /// Check the settings and the files that they name: certificates, keys, modes, owners, directories.
    /// Reports every mistake, and what could not be checked. Opens no data file and changes nothing.
    "check" CheckCommand on settings {
        /// run the command that prints the master key, and compare the key with the vault's
        run_command: bool = switch,
        /// print JSON
        json: bool = switch,
    } => |it| check(&it)
}

fn check(command: &CheckCommand) -> Result<()> {
    let path = settings::path(command.config.as_deref())?;
    let (config, mistakes) = settings::read_all(&path)?;
    let findings = look_at(&path, &config, &mistakes, command.run_command, Clock::new().now());
    let [wrong, warnings, unknown] =
        ["wrong", "warning", "unknown"].map(|state| findings.count(state));
    if command.json {
        let report = json!({
            "settings": path.display().to_string(),
            "service_user": findings.user.as_ref().map(ServiceUser::label),
            "wrong": wrong,
            "warnings": warnings,
            "unknown": unknown,
            "checks": findings.json(),
        });
        say(&format!("{report:#}"));
    } else {
        say(&findings.text());
        say(&format!(
            "\n{}: {wrong} wrong, {}, {unknown} could not be made.",
            counted(findings.all.len(), "check", "checks"),
            counted(warnings, "warning", "warnings"),
        ));
    }
    let exit = findings.exit();
    if exit == Exit::Success {
        return Ok(());
    }
    Err(Failure::new(exit, "the settings or the files that they name are wrong")
        .file(&path)
        .why(findings.mistakes().join("\n"))
        .try_this("correct these; strongroom.toml(5) describes each setting"))
}

/// Makes all checks for the user that owns the data directory. `mistakes` are the mistakes of the
/// settings file.
pub fn look_at(
    path: &Path,
    config: &Config,
    mistakes: &[String],
    run_command: bool,
    now: Timestamp,
) -> Findings {
    let user = ServiceUser::of(&config.data_directory).ok();
    let mut found = Findings { user, ..Findings::default() };
    let findings = &mut found;
    for mistake in mistakes {
        findings.mistake(mistake);
    }
    let of_settings = SettingPath { setting: "settings", path };
    if files::file(findings, of_settings).is_some() {
        let user = findings.user.as_ref().map_or_else(
            || String::from("the service's user is not known: there is no data directory"),
            |user| format!("the service's user is {}, who owns the data directory", user.label()),
        );
        findings.ok(of_settings, format!("read; {user}"));
    }
    addresses(findings, config);
    certificates::check(findings, config, now);
    master_key::check(findings, config, run_command);
    engine::check(findings, config);
    code::check(findings, config);
    console::check(findings, config);
    files::data(findings, config);
    files::copies(findings, config);
    security_text(findings, config, now);
    if let Some(path) = config.bin_file.as_deref().filter(|path| path.is_absolute()) {
        let place = SettingPath { setting: "bin_file", path };
        if files::file(findings, place).is_some() {
            match bins::read(path) {
                Ok(_) => findings.ok(place, "every line is right"),
                Err(failure) => findings.wrong(place, failure.reason(), "correct these lines"),
            }
        }
    }
    found
}

/// Finds addresses that two listeners name. An address that another program uses shows only at the
/// start.
fn addresses(findings: &mut Findings, config: &Config) {
    let results = config.threeds.directory.as_ref().map(|it| it.results_listen.as_slice());
    let operator = config.operator_listen.as_slice();
    let sign_on = config.console.sign_on.as_ref();
    let certified = sign_on.and_then(|it| it.by_certificate.as_ref());
    let all = [
        ("listen", config.listen.as_slice()),
        ("console.listen", certified.map_or(&[][..], |it| it.listen.as_slice())),
        ("operator.listen", operator),
        ("threeds.results_listen", results.unwrap_or_default()),
    ];
    let mut seen = BTreeSet::new();
    for (setting, addresses) in all {
        if addresses.is_empty() {
            continue;
        }
        let twice = |it: &&SocketAddr| it.port() != 0 && !seen.insert(**it);
        let twice: Vec<_> = addresses.iter().filter(twice).map(ToString::to_string).collect();
        if twice.is_empty() {
            let text: Vec<_> = addresses.iter().map(ToString::to_string).collect();
            findings.plain(setting, State::Ok, &text.join(", "), None);
        } else {
            let found = format!("named twice: {}", twice.join(", "));
            let advice = "give each listener its own port";
            findings.plain(setting, State::Wrong(Exit::Config), &found, Some(advice));
        }
    }
}

/// A contact that has expired must not be used, and one that lasts for years is never renewed.
fn security_text(findings: &mut Findings, config: &Config, now: Timestamp) {
    const YEAR: Duration = Duration::from_hours(366 * 24);
    let Some(text) = &config.security_text else { return };
    let expires = text.expires.shown();
    let (state, found, advice) = if text.expires <= now {
        (State::Warning, format!("expired {expires}"), Some("look after the contacts and renew it"))
    } else if text.expires.since(now) > YEAR {
        let advice = Some("RFC 9116 recommends less than a year");
        (State::Warning, format!("expires {expires}, in more than a year"), advice)
    } else {
        (State::Ok, format!("expires {expires}"), None)
    };
    findings.plain("security_txt.expires", state, &found, advice);
}
