//! `strongroom report`: writes the report for auditors as two files.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use serde_json::Value;

use crate::cli::commands::ReportCommand;
use crate::cli::support::failure::Failure;
use crate::cli::support::failure_texts::{cannot, not_understood};
use crate::cli::support::order::{carry_out, done};
use crate::cli::support::output::say;
use crate::cli::support::settings::read_config;
use crate::config::AuditReads;
use crate::operator::{Command, ComplianceReportSettings};
use crate::server::certificate_expires;

pub(in crate::cli) fn report(command: &ReportCommand) -> Result<(), Failure> {
    let config = read_config(&command.config)?;
    let settings = ComplianceReportSettings {
        data_directory: config.data_directory.display().to_string(),
        listen: config.listen.iter().map(ToString::to_string).collect(),
        certificate_expires_at: certificate_expires(&config.certificate)
            .map(crate::domain::time::Timestamp::seconds),
        audit_retention_days: u64::try_from(config.audit_retention_days).unwrap_or(u64::MAX),
        audit_reads_strict: config.audit_reads == AuditReads::Strict,
    };
    let account = done(carry_out(&config, Command::Report { settings })?)?;
    let member = |name: &str| account.get(name).and_then(Value::as_str).ok_or_else(not_understood);
    let attention = account.get("attention").and_then(Value::as_u64).ok_or_else(not_understood)?;
    // 2026-11-14T09:30:00.1234560+00:00 becomes 2026-11-14T093000.
    let stamp: String = member("made_at")?.chars().filter(|it| *it != ':').take(17).collect();
    for (ending, content) in [("txt", member("text")?), ("html", member("html")?)] {
        let path = command.out.join(format!("strongroom-report-{stamp}.{ending}"));
        write_new(&path, content)?;
        say(&format!("Written: {}", path.display()));
    }
    say(&match attention {
        0 => String::from("Nothing needs attention."),
        1 => String::from("One finding needs attention; it is at the top."),
        count => format!("{count} findings need attention; they are at the top."),
    });
    Ok(())
}

/// Never overwrites an earlier report. The mode is 0600 because the report lists the permissions of
/// every application.
fn write_new(path: &Path, content: &str) -> Result<(), Failure> {
    let written = || -> std::io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(content.as_bytes())?;
        file.sync_all()
    };
    written().map_err(|error| cannot("write the report", path, &error))
}
