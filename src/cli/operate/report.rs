//! `strongroom report`: adds facts that the vault does not have, and writes the report for auditors
//! as two files.

use std::io::Write as _;
use std::path::PathBuf;

use serde_json::Value;

use crate::bounds::REPORT_PERIOD;
use crate::cli::check;
use crate::cli::check::findings::Finding;
use crate::cli::command::{OnVault as _, command};
use crate::cli::operate::audit::time_of;
use crate::cli::support::{
    Exit, Failure, Result, VaultPlace, cannot, carry_out, create_private, not_understood, say,
    settings,
};
use crate::clock::Clock;
use crate::config::{Config, KeyKeeper, MasterKeySource};
use crate::domain::audit::AuditReads;
use crate::domain::time::Timestamp;
use crate::operator::{
    CheckedThing, ClockFacts, Command, ComplianceReportSettings, KnownSettings, TlsFacts,
};
use crate::server::{TlsTrial, certificate_expires, offered, try_listener};

command! {
    /// Write a dated report on the vault for auditors: settings and files, retention, keys, access,
    /// audit, activity, backups, TLS. Works with or without a running server. With --json, print the
    /// facts and write no file.
    "report" ReportCommand on vault {
        /// directory for the two files of the report, text and HTML (default: the current directory)
        out: PathBuf = option(default = "PathBuf::from(\".\")"),
        /// begin of the period, such as 2026-11-14 or 2026-11-14T09:30:00Z (default: 90 days before
        /// its end)
        from: Option<String> = option,
        /// end of the period (default: now)
        to: Option<String> = option,
    } => |it| report(&it)
}

fn report(command: &ReportCommand) -> Result<()> {
    let vault = command.vault()?;
    let now = Clock::new().now();
    let (from, to) = period(command, now)?;
    let settings = ComplianceReportSettings {
        // The reader of a report does not know the working directory of the command.
        data_directory: std::path::absolute(vault.directory())
            .unwrap_or_else(|_| vault.directory().to_path_buf())
            .display()
            .to_string(),
        host: host(),
        from: from.seconds(),
        to: to.seconds(),
        known: known(command, &vault, now)?,
        tls: tls(vault.settings()),
        clock: clock(),
    };
    let account = carry_out(&vault, Command::Report { settings })?;
    let member = |name: &str| account.get(name).and_then(Value::as_str).ok_or_else(not_understood);
    let number = |name: &str| account.get(name).and_then(Value::as_u64).ok_or_else(not_understood);
    if command.json() {
        say(&format!("{:#}", account.get("facts").ok_or_else(not_understood)?));
        return Ok(());
    }
    // 2026-11-14T09:30:00.1234560+00:00 becomes 2026-11-14T093000.
    let stamp: String = member("made_at")?.chars().filter(|it| *it != ':').take(17).collect();
    for (ending, content) in [("txt", member("text")?), ("html", member("html")?)] {
        let path = command.out.join(format!("strongroom-report-{stamp}.{ending}"));
        // The mode is 0600 because the report lists the permissions of every application.
        let mut file = create_private("the report", &path)?;
        let written = file.write_all(content.as_bytes()).and_then(|()| file.sync_all());
        written.map_err(|error| cannot("write the report", &path, &error))?;
        say(&format!("Written: {}", path.display()));
    }
    say(&match number("attention")? {
        0 => String::from(member("calm")?),
        1 => String::from("One finding needs attention; it is at the top."),
        count => format!("{count} findings need attention; they are at the top."),
    });
    match number("unknown")? {
        _ if number("attention")? == 0 => (),
        0 => (),
        1 => say("One thing could not be checked; the report marks it."),
        count => say(&format!("{count} things could not be checked; the report marks them.")),
    }
    Ok(())
}

/// The last 90 days, unless the options name another period.
fn period(command: &ReportCommand, now: Timestamp) -> Result<(Timestamp, Timestamp)> {
    let to = time_of("--to", command.to.as_deref())?.unwrap_or(now);
    let days_before = i64::try_from(REPORT_PERIOD.as_secs()).unwrap_or_default();
    let from = time_of("--from", command.from.as_deref())?;
    let from =
        from.unwrap_or_else(|| Timestamp::from_seconds(to.seconds().saturating_sub(days_before)));
    if from >= to {
        return Err(Failure::new(Exit::Usage, "the period ends before it begins")
            .try_this("give --from a time before --to"));
    }
    Ok((from, to))
}

/// The state of this machine's clock. The server runs on the same machine: its socket is local.
fn clock() -> ClockFacts {
    let modified = std::fs::metadata(SYNCHRONIZED).and_then(|it| it.modified()).ok();
    let synchronized_at = modified
        .and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok())
        .and_then(|since| i64::try_from(since.as_secs()).ok());
    let asked = std::process::Command::new(TIMEDATECTL)
        .args(["show", "--property=NTPSynchronized", "--value"])
        .stdin(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .output();
    let says = asked.ok().filter(|it| it.status.success());
    let says = says.and_then(|it| String::from_utf8(it.stdout).ok());
    let says = says.map(|text| String::from(text.trim()));
    ClockFacts { synchronized_at, says: says.filter(|text| text == "yes" || text == "no") }
}

/// systemd-timesyncd makes this file when it has set the clock.
const SYNCHRONIZED: &str = "/run/systemd/timesync/synchronized";
const TIMEDATECTL: &str = "/usr/bin/timedatectl";

/// A name alone does not say whether a credential is sealed by a TPM, or a command asks an HSM.
fn master_key(source: &MasterKeySource, keeper: Option<KeyKeeper>) -> String {
    let kept = match keeper {
        Some(KeyKeeper::Hsm) => "kept in an HSM",
        Some(KeyKeeper::Kms) => "kept in a KMS",
        Some(KeyKeeper::Tpm) => "sealed by a TPM",
        None => "whose keeper master_key.kept_in does not name",
    };
    match source {
        MasterKeySource::Command(it) => format!("printed by {}, {kept}", it.program.display()),
        MasterKeySource::Credential(name) => format!("the systemd credential {name}, {kept}"),
        MasterKeySource::File(path) => format!("the file {}", path.display()),
    }
}

fn host() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(String::from(name.trim())).filter(|name| !name.is_empty())
}

fn known(
    command: &ReportCommand,
    vault: &VaultPlace,
    now: Timestamp,
) -> Result<Option<KnownSettings>> {
    let Some(config) = vault.settings() else { return Ok(None) };
    let path = settings::path_of_vault(command.config.as_deref())?;
    let findings = check::look_at(&path, config, &[], false, now);
    let checked = |it: Finding| CheckedThing {
        setting: it.setting,
        path: it.path.map(|path| path.display().to_string()),
        state: String::from(it.state.name()),
        found: it.found,
    };
    Ok(Some(KnownSettings {
        file: path.display().to_string(),
        listen: config.listen.iter().map(ToString::to_string).collect(),
        certificate_expires_at: certificate_expires(&config.certificate).map(Timestamp::seconds),
        audit_retention_days: u64::try_from(config.audit_retention_days).unwrap_or(u64::MAX),
        master_key: master_key(&config.master_key, config.key_keeper),
        audit_reads_strict: config.audit_reads == AuditReads::Strict,
        code_enabled: config.code.enabled,
        checks: findings.all.into_iter().map(checked).collect(),
    }))
}

/// Tries the first listener of the settings that has a port.
fn tls(config: Option<&Config>) -> TlsFacts {
    let named = |(version, suites): (&str, Vec<String>)| (String::from(version), suites);
    let address = config.and_then(|it| it.listen.iter().find(|it| it.port() != 0));
    match address.and_then(|address| Some((address, try_listener(*address).ok()?))) {
        Some((address, TlsTrial { accepted, older })) => TlsFacts {
            tried: Some(address.to_string()),
            offered: accepted.into_iter().map(named).collect(),
            older: older.into_iter().map(|(name, it)| (String::from(name), it)).collect(),
        },
        None => TlsFacts {
            tried: None,
            offered: offered().into_iter().map(named).collect(),
            older: Vec::new(),
        },
    }
}
