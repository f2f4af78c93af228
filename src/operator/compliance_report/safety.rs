//! The state of backups, the audit chain and TLS.

use std::time::Duration;

use crate::app::{ArchiveCondition, AuditStatus, ChainReport};
use crate::bounds::{
    CERTIFICATE_WARN_BEFORE, REPORT_AUDIT_RETENTION_MIN, REPORT_BACKUP_AGE_MAX,
    REPORT_PROOF_AGE_MAX,
};
use crate::domain::backup::BackupState;
use crate::domain::time::Timestamp;
use crate::operator::compliance_report::ComplianceReportSettings;
use crate::report::{Chapter, moment, span};

pub(super) fn backups(state: &BackupState, archive: ArchiveCondition, now: Timestamp) -> Chapter {
    let mut chapter = Chapter::new(
        "Backups",
        "Requirements 9.4 and 12.10: data can be had back, and that is tried. Backups are sealed as \
         the data file is; the keys of card verification codes are in none.",
    );
    chapter = match state.taken {
        Some(taken) if now.since(taken.at) > REPORT_BACKUP_AGE_MAX => chapter.attention(format!(
            "The newest scheduled backup is of {}, {} ago.",
            moment(taken.at),
            span(now.since(taken.at))
        )),
        Some(taken) => chapter.good(format!(
            "The newest scheduled backup is of {}: {} rows in {} bytes.",
            moment(taken.at),
            taken.rows,
            taken.bytes
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
    let retention = Duration::from_hours(settings.audit_retention_days.saturating_mul(24));
    let mut chapter = Chapter::new(
        "Audit chain",
        "Requirements 10.2, 10.3 and 10.5: every access to token data, every change and every \
         administrative act is written down, cannot be altered unnoticed, and is kept for a year.",
    );
    chapter = if report.findings.is_empty() {
        chapter.good(format!(
            "All {} entries, from number {} on, and {} checkpoints were verified: whole.",
            report.entries, report.first, report.checkpoints
        ))
    } else {
        let more = usize::try_from(report.more).unwrap_or(usize::MAX);
        let count = report.findings.len().saturating_add(more);
        chapter.attention(format!(
            "{count} findings; the first: {}.",
            report.findings.first().map_or("", String::as_str)
        ))
    };
    if let Some((number, at)) = status.last_checkpoint {
        chapter = chapter.good(format!(
            "It was last signed {}, up to entry {number}; {} entries came later.",
            moment(at),
            report.unanchored
        ));
    }
    chapter = if retention < REPORT_AUDIT_RETENTION_MIN {
        chapter.attention(format!("Entries are kept for {} only.", span(retention)))
    } else {
        chapter.good(format!("Entries are kept for {}.", span(retention)))
    };
    chapter.good(if settings.audit_reads_strict {
        "A read is answered when its entry is durable."
    } else {
        "The loss of power may cost the entries of the last 100 milliseconds of reads."
    })
}

pub(super) fn tls(settings: &ComplianceReportSettings, now: Timestamp) -> Chapter {
    let mut chapter = Chapter::new(
        "TLS",
        "Requirement 4.2.1: strong cryptography on every way in. The listener speaks TLS 1.3 and \
         1.2 with forward secrecy, and nothing else.",
    );
    chapter = match settings.certificate_expires_at.map(Timestamp::from_seconds) {
        None => chapter.attention("The certificate could not be read."),
        Some(at) if at <= now => {
            chapter.attention(format!("The certificate expired {}.", moment(at)))
        }
        Some(at) if at.since(now) < CERTIFICATE_WARN_BEFORE => {
            chapter.attention(format!("The certificate expires {}.", moment(at)))
        }
        Some(at) => chapter.good(format!("The certificate is valid until {}.", moment(at))),
    };
    let rows = settings.listen.iter().map(|it| vec![it.clone()]).collect();
    chapter.table(&["the settings name"], rows)
}
