//! Facts that the command gathers, since the vault does not have them: settings, files, the host,
//! and the protocols that the listener offers.

use serde::{Deserialize, Serialize};

use crate::report::{Chapter, Requirement};

const REQUIREMENTS: &[Requirement] = &[
    Requirement("2.2.1", "Systems are set up by a known, hardened configuration."),
    Requirement("3.6.1", "Keys of stored account data are guarded against disclosure and misuse."),
];

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComplianceReportSettings {
    pub data_directory: String,
    pub host: Option<String>,
    /// The period of the report, in seconds since 1970.
    pub from: i64,
    pub to: i64,
    /// Absent for a vault without settings, such as one of `strongroom dev`.
    pub known: Option<KnownSettings>,
    pub tls: TlsFacts,
    pub clock: ClockFacts,
}

/// The state of the clock of the machine of the command. The kernel has more facts (`adjtimex`),
/// which no safe function of this program's libraries reads.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockFacts {
    /// The time at which systemd-timesyncd synchronized it, in seconds since 1970.
    pub synchronized_at: Option<i64>,
    /// `yes` or `no` of `timedatectl`, which reads the kernel's state.
    pub says: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownSettings {
    pub file: String,
    pub listen: Vec<String>,
    /// In seconds since 1970. Absent if the certificate cannot be read.
    pub certificate_expires_at: Option<i64>,
    pub audit_retention_days: u64,
    pub audit_reads_strict: bool,
    /// True if tenants may run code.
    pub code_enabled: bool,
    /// The place that the server reads the master key from, in words.
    pub master_key: String,
    pub checks: Vec<CheckedThing>,
}

/// A result of `strongroom check`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckedThing {
    pub setting: String,
    pub path: Option<String>,
    pub state: String,
    pub found: String,
}

/// The protocols of the listener.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsFacts {
    /// The address that was tried. Absent if no server answered; the lists then show the protocols
    /// that this program is built with.
    pub tried: Option<String>,
    /// Versions and their cipher suites.
    pub offered: Vec<(String, Vec<String>)>,
    /// Older versions that were tried, with true for those that the listener accepted.
    pub older: Vec<(String, bool)>,
}

/// True for a check whose finding is also in the chapter on backups or on TLS. It stays in the
/// table.
fn is_told_elsewhere(check: &CheckedThing) -> bool {
    match check.setting.as_str() {
        "backup.directory" => check.found.starts_with("not set"),
        "tls.certificate" => check.found.starts_with("expire"),
        _ => false,
    }
}

pub(super) fn chapter(settings: &ComplianceReportSettings) -> Chapter {
    let chapter = Chapter::new("Settings and files", REQUIREMENTS);
    let Some(known) = &settings.known else {
        return chapter
            .unknown("This vault has no settings file, so that files and modes were not checked.");
    };
    let named = |it: &CheckedThing| match &it.path {
        Some(path) => format!("{} ({path}): {}.", it.setting, it.found),
        None => format!("{}: {}.", it.setting, it.found),
    };
    let is_fine = |it: &&CheckedThing| it.state == "ok";
    let fine = known.checks.iter().filter(is_fine).count();
    let mut chapter =
        chapter.good(format!("{fine} of {} checks found nothing wrong.", known.checks.len()));
    for check in &known.checks {
        chapter = match check.state.as_str() {
            "ok" => chapter,
            _ if is_told_elsewhere(check) => chapter,
            "unknown" => chapter.unknown(named(check)),
            _ => chapter.attention(named(check)),
        };
    }
    let row = |it: &CheckedThing| {
        vec![
            it.state.clone(),
            it.setting.clone(),
            it.path.clone().unwrap_or_else(|| String::from("-")),
            it.found.clone(),
        ]
    };
    chapter.table(&["result", "setting", "file", "found"], known.checks.iter().map(row).collect())
}
