//! Scheduled backups: due times, file names, retention, and the state of the last ones.

use std::path::PathBuf;
use std::time::Duration;

use time::PrimitiveDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

use crate::bounds::BACKUP_RETRY;
use crate::domain::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupPlan {
    pub directory: PathBuf,
    pub every: Duration,
    /// The number of backups to keep, at least one.
    pub keep: usize,
    /// The interval at which the newest backup is restored and verified; `None` for never.
    pub prove_every: Option<Duration>,
}

/// The state of scheduled backups. It survives restarts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BackupState {
    /// The newest backup.
    pub taken: Option<Taken>,
    /// The last attempt to take a backup, if it failed.
    pub failed_at: Option<Timestamp>,
    /// The last backup that was restored and verified.
    pub proven: Option<Proven>,
    /// The last attempt to verify a backup, if it failed.
    pub proof_failed_at: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    pub at: Timestamp,
    pub bytes: u64,
    pub rows: u64,
    pub took: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proven {
    /// The end of the verification.
    pub at: Timestamp,
    /// The time of the verified backup.
    pub backup_at: Timestamp,
    pub rows: u64,
    pub took: Duration,
}

/// To the second, so that names sort by time.
const STAMP: &[BorrowedFormatItem<'_>] =
    format_description!("strongroom-[year][month][day]T[hour][minute][second]Z");
/// The length of the mark in file names that distinguishes vaults with a common directory.
pub const BACKUP_MARK_DIGITS: usize = 8;

impl BackupPlan {
    pub fn backup_is_due(&self, state: &BackupState, now: Timestamp) -> bool {
        is_due(state.taken.map(|taken| taken.at), state.failed_at, self.every, now)
    }

    pub fn proof_is_due(&self, state: &BackupState, now: Timestamp) -> bool {
        self.prove_every.is_some_and(|every| {
            is_due(state.proven.map(|proven| proven.at), state.proof_failed_at, every, now)
        })
    }
}

impl BackupState {
    /// The time since the last verified restore. Alarms should watch it.
    pub fn age_of_proof(&self, now: Timestamp) -> Option<Duration> {
        self.proven.map(|proven| now.since(proven.at))
    }

    /// The age of the newest backup: the data that a lost disk would cost.
    pub fn age_of_backup(&self, now: Timestamp) -> Option<Duration> {
        self.taken.map(|taken| now.since(taken.at))
    }
}

/// A failed attempt delays the next one, so that a full disk is not written to again and again.
fn is_due(
    done: Option<Timestamp>,
    failed: Option<Timestamp>,
    every: Duration,
    now: Timestamp,
) -> bool {
    let rests = failed.is_some_and(|at| now.since(at) < every.min(BACKUP_RETRY) && at <= now);
    // A last backup in the future was written under a wrong clock.
    let fresh = done.is_some_and(|at| now.since(at) < every && at <= now);
    !rests && !fresh
}

/// `strongroom-20261114T093000Z-1a2b3c4d.backup`. Each vault has its own mark, so that several
/// vaults may share a directory.
pub fn file_name(at: Timestamp, mark: &str) -> String {
    // A time outside of the calendar gives a name that `is_file_name` refuses, so the file is never
    // deleted.
    let stamp = at.datetime().and_then(|at| at.format(STAMP).ok()).unwrap_or_default();
    format!("{stamp}-{mark}.backup")
}

/// True if the schedule of any vault made this name. Other files are never touched.
pub fn is_file_name(name: &str) -> bool {
    stamp_and_mark(name).is_some()
}

/// True if the schedule of the vault with this mark made this name.
pub fn is_file_name_of(name: &str, mark: &str) -> bool {
    stamp_and_mark(name).is_some_and(|(_, its)| its == mark)
}

fn stamp_and_mark(name: &str) -> Option<(&str, &str)> {
    let (stamp, mark) = name.strip_suffix(".backup")?.rsplit_once('-')?;
    let parsed = PrimitiveDateTime::parse(stamp, STAMP);
    // The parser accepts more forms than the one that is written.
    let again = parsed.ok().and_then(|at| at.format(STAMP).ok());
    let is_mark =
        mark.len() == BACKUP_MARK_DIGITS && mark.bytes().all(|digit| digit.is_ascii_hexdigit());
    (is_mark && again.is_some_and(|again| again == stamp)).then_some((stamp, mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);

    fn at(hour: i64) -> Timestamp {
        Timestamp::from_seconds(hour * 3_600)
    }

    fn taken(hour: i64) -> Taken {
        Taken { at: at(hour), bytes: 1, rows: 1, took: HOUR }
    }

    #[test]
    fn a_backup_is_due_when_there_is_none_or_the_last_is_old_and_no_try_has_just_failed() {
        let plan = BackupPlan {
            directory: PathBuf::from("/b"),
            every: 24 * HOUR,
            keep: 1,
            prove_every: None,
        };
        let state = |done: Option<i64>, failed: Option<i64>| BackupState {
            taken: done.map(taken),
            failed_at: failed.map(at),
            ..BackupState::default()
        };
        let due = |state: &BackupState, hour| plan.backup_is_due(state, at(hour));
        assert!(due(&state(None, None), 1_000));
        assert!(!due(&state(Some(1_000), None), 1_023));
        assert!(due(&state(Some(1_000), None), 1_024));
        assert!(!due(&state(Some(1_000), Some(1_024)), 1_024));
        assert!(due(&state(Some(1_000), Some(1_024)), 1_025));
        assert!(due(&state(Some(2_000), Some(2_000)), 1_000), "a clock that was wrong");
        assert!(!plan.proof_is_due(&state(None, None), at(1_000)), "never");
    }

    #[test]
    fn names_sort_by_time_and_only_such_names_are_known() {
        let name = file_name(Timestamp::from_seconds(1_794_648_600), "1a2b3c4d");
        assert_eq!(name, "strongroom-20261114T093000Z-1a2b3c4d.backup");
        assert!(is_file_name(&name) && is_file_name_of(&name, "1a2b3c4d"));
        assert!(!is_file_name_of(&name, "1a2b3c4e"));
        for other in [
            "",
            "strongroom-20261114T093000Z-1a2b3c4d.backup.unfinished",
            "strongroom-20261314T093000Z-1a2b3c4d.backup",
            "strongroom-20261114T093000Z-1a2b3c4.backup",
            "strongroom-20261114T093000Z-1a2b3c4x.backup",
            "strongroom-20261114T093000Z.backup",
            "strongroom-before-upgrade.backup",
            "strongroom.redb",
            "xstrongroom-20261114T093000Z-1a2b3c4d.backup",
        ] {
            assert!(!is_file_name(other), "{other}");
        }
        assert!(file_name(Timestamp::from_seconds(1), "ffffffff") < name);
    }
}
