//! The state of backups, the audit chain and TLS.

use std::time::Duration;

use crate::app::{ArchiveCondition, AuditStatus, ChainReport};
use crate::bounds::{
    CERTIFICATE_WARN_BEFORE, REPORT_AUDIT_RETENTION_MIN, REPORT_BACKUP_AGE_MAX,
    REPORT_PROOF_AGE_MAX,
};
use crate::domain::backup::BackupState;
use crate::domain::counted::counted;
use crate::domain::size;
use crate::domain::time::Timestamp;
use crate::operator::compliance_report::{ClockFacts, ComplianceReportSettings};
use crate::report::{Chapter, Requirement, moment, span};

const BACKUPS: &[Requirement] = &[
    Requirement("9.4.1", "Media with card data are guarded, backups among them."),
    Requirement("12.10.1", "A plan for incidents exists, with the recovery of data, and is tried."),
];
const AUDIT: &[Requirement] = &[
    Requirement("10.2.1", "Access to card data and administrative acts are logged."),
    Requirement("10.3.2", "Logs are protected from changes."),
    Requirement("10.3.4", "A change of a log is noticed."),
    Requirement("10.5.1", "Logs are kept for a year, the last three months at hand."),
];
const TIME: &[Requirement] =
    &[Requirement("10.6.1", "Clocks are synchronized, so that times in logs can be compared.")];
const TLS: &[Requirement] =
    &[Requirement("4.2.1", "Card numbers cross networks only under strong cryptography.")];

pub(super) fn backups(state: &BackupState, archive: ArchiveCondition, now: Timestamp) -> Chapter {
    let mut chapter = Chapter::new("Backups", BACKUPS);
    chapter = match state.taken {
        Some(taken) if now.since(taken.at) > REPORT_BACKUP_AGE_MAX => chapter.attention(format!(
            "The newest scheduled backup is of {}, {} ago.",
            moment(taken.at),
            span(now.since(taken.at))
        )),
        Some(taken) => chapter.good(format!(
            "The newest scheduled backup is of {}: {} in {}.",
            moment(taken.at),
            counted(taken.rows, "row", "rows"),
            size::render(taken.bytes)
        )),
        None => chapter.attention(
            "No backup was ever taken by schedule: set backup.directory. Backups by command are \
             not counted here.",
        ),
    };
    if let Some(at) = state.failed_at {
        chapter = chapter.attention(format!("The last try to take one failed, {}.", moment(at)));
    }
    chapter = match state.proven {
        Some(proven) if now.since(proven.at) > REPORT_PROOF_AGE_MAX => chapter
            .attention(format!("A backup was last restored and verified {}.", moment(proven.at))),
        Some(proven) => chapter.good(format!(
            "The backup of {} was restored and verified whole, {}.",
            moment(proven.backup_at),
            moment(proven.at)
        )),
        None => chapter.attention("No backup was ever restored to prove it."),
    };
    if let Some(at) = state.proof_failed_at {
        chapter = chapter.attention(format!("The last proof failed, {}.", moment(at)));
    }
    match archive {
        ArchiveCondition::Off => chapter,
        ArchiveCondition::Right => chapter.good("Every change is archived within seconds."),
        ArchiveCondition::Warning(warning) => chapter.attention(warning),
    }
}

pub(super) fn audit(
    status: &AuditStatus,
    report: &ChainReport,
    settings: &ComplianceReportSettings,
) -> Chapter {
    let mut chapter = Chapter::new("Audit chain", AUDIT);
    chapter = if report.findings.is_empty() {
        chapter.good(format!(
            "{}, from number {} on, and {} were verified: whole.",
            counted(report.entries, "entry", "entries"),
            report.first,
            counted(report.checkpoints, "checkpoint", "checkpoints")
        ))
    } else {
        let more = usize::try_from(report.more).unwrap_or(usize::MAX);
        let count = report.findings.len().saturating_add(more);
        chapter.attention(format!(
            "{}; the first: {}.",
            counted(u64::try_from(count).unwrap_or(u64::MAX), "finding", "findings"),
            report.findings.first().map_or("", String::as_str)
        ))
    };
    if let Some((number, at)) = status.last_checkpoint {
        chapter = chapter.good(format!(
            "It was last signed {}, up to entry {number}; {} later.",
            moment(at),
            counted(report.unanchored, "entry came", "entries came")
        ));
    }
    let Some(known) = &settings.known else {
        return chapter
            .unknown("The settings are not known, and with them the retention of entries.");
    };
    let retention = Duration::from_hours(known.audit_retention_days.saturating_mul(24));
    chapter = if retention < REPORT_AUDIT_RETENTION_MIN {
        chapter.attention(format!("Entries are kept for {} only.", span(retention)))
    } else {
        chapter.good(format!("Entries are kept for {}.", span(retention)))
    };
    chapter.good(if known.audit_reads_strict {
        "A read is answered when its entry is durable (audit.reads = \"strict\")."
    } else {
        "The loss of power may cost the entries of the last 100 milliseconds of reads (audit.reads = \
         \"batched\")."
    })
}

/// The clock of this machine, on which the times of the audit chain depend.
pub(super) fn time(settings: &ComplianceReportSettings) -> Chapter {
    let chapter = Chapter::new("Time", TIME)
        .good("All times are in UTC, from the clock of the machine that serves the vault.");
    let ClockFacts { synchronized_at, says } = &settings.clock;
    let chapter = match (says.as_deref(), synchronized_at.map(Timestamp::from_seconds)) {
        (Some("no"), _) => chapter.attention(
            "The kernel of the machine of this report says that its clock is not synchronized \
             (timedatectl).",
        ),
        (Some("yes"), _) => chapter.good(
            "The kernel of the machine of this report says that its clock is synchronized \
             (timedatectl).",
        ),
        (_, Some(at)) => chapter.good(format!(
            "The clock of the machine of this report has been synchronized since {} (systemd-timesyncd).",
            moment(at)
        )),
        (_, None) => chapter.unknown(
            "Whether the clock is synchronized cannot be known: neither timedatectl nor \
             systemd-timesyncd of this machine says it.",
        ),
    };
    chapter.good(
        "The estimated error of the clock is not part of this report: read it with chronyc tracking, \
         ntpq or timedatectl timesync-status.",
    )
}

pub(super) fn tls(settings: &ComplianceReportSettings, now: Timestamp) -> Chapter {
    let mut chapter = Chapter::new("TLS", TLS);
    let known = settings.known.as_ref();
    let expires = known.map(|it| it.certificate_expires_at.map(Timestamp::from_seconds));
    chapter = match expires {
        None => chapter.unknown("The settings are not known, and with them the certificate."),
        Some(None) => chapter.attention("The certificate could not be read."),
        Some(Some(at)) if at <= now => {
            chapter.attention(format!("The certificate expired {}.", moment(at)))
        }
        Some(Some(at)) if at.since(now) < CERTIFICATE_WARN_BEFORE => {
            chapter.attention(format!("The certificate expires {}.", moment(at)))
        }
        Some(Some(at)) => chapter.good(format!("The certificate is valid until {}.", moment(at))),
    };
    if let Some(known) = known {
        chapter = chapter.good(format!("The settings name: {}.", known.listen.join(", ")));
        for check in known.checks.iter().filter(|it| it.found.ends_with("issued by itself")) {
            chapter = chapter.attention(format!(
                "{}: the certificate was issued by itself, so that no authority vouches for it.",
                check.setting
            ));
        }
    }
    let tls = &settings.tls;
    chapter = match &tls.tried {
        Some(address) => chapter.good(format!(
            "Each version and each cipher suite of the table was tried with the server at {address}, \
             which accepted it."
        )),
        None => chapter.unknown(
            "No server answered the trial of its listener; the table is what this program can offer.",
        ),
    };
    for (version, is_accepted) in &tls.older {
        chapter = if *is_accepted {
            chapter.attention(format!("The server accepts {version}."))
        } else {
            chapter.good(format!("The server refused {version}."))
        };
    }
    let rows = tls.offered.iter().flat_map(|(version, suites)| {
        suites.iter().map(move |suite| vec![version.clone(), suite.clone()])
    });
    chapter.table(&["version", "cipher suite"], rows.collect())
}
