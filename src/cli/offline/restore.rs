//! `strongroom restore`: writes the data file of a backup, and of the archive after it, into an
//! empty directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::app::VaultFailure;
use crate::cli::command::command;
use crate::cli::operate::backup::{manifest_json, manifest_text};
use crate::cli::support::estimate::{Work, announce_file};
use crate::cli::support::{
    Exit, Failure, Label, ProgressBar, Result, Unit, VaultHome, VaultPlace, cannot, complain,
    explain, explain_archive, explain_at, explain_backup, give_to_owner, make_directory,
    process_user, read_keys, refused_pieces, restrict, say, show_json, timeline,
};
use crate::clock::Clock;
use crate::crypto::MasterKey;
use crate::domain::duration;
use crate::domain::hex;
use crate::domain::time::Timestamp;
use crate::files::Directory;
use crate::store::archive::{Reached, Replay};
use crate::store::backup::{InvalidBackup, Reader};
use crate::store::meta::Restoration;
use crate::store::{RestoreFailure, Restored, Store, meta};

command! {
    /// Restore a vault's data file from a backup, in a directory that is empty or does not exist yet.
    /// With --archive, also the changes after the backup, all of them or those until a time.
    "restore" RestoreCommand on settings {
        /// data directory, instead of the one in the settings
        data: Option<PathBuf> = option,
        /// master key file; a backup that was not written under it is refused. An archive needs it, or
        /// --config. May be repeated if the master key was replaced
        key: Vec<PathBuf> = option,
        /// archive directory, whose changes after the backup are restored, too
        archive: Option<PathBuf> = option,
        /// the last time to restore, such as 2026-11-14T09:30:00Z; without it, everything
        until: Option<String> = option,
        /// the timeline to end with, if the archive has several that began from the one of the backup
        timeline: Option<String> = option,
        /// print JSON
        json: bool = switch,
        /// the backup
        file: PathBuf = positional(arg_name = "FILE"),
    } => |it| restore(&it)
}

fn restore(command: &RestoreCommand) -> Result<()> {
    let clock = Clock::new();
    let start = clock.now();
    let until = until(command)?;
    let timeline = timeline(command.timeline.as_deref())?;
    let place = VaultPlace::find(command.config.as_deref(), command.data.as_deref(), None)?;
    let directory = place.directory();
    let mut backup =
        Reader::open(&command.file).map_err(|it| explain_backup(&it, &command.file))?;
    let keys = keys(command, place.named_master())?;
    check_origin(&backup, &keys, &command.file)?;
    let was_there = directory.exists();
    make_directory(directory)?;
    let made = Directory::open(directory).ok().filter(|_| !was_there);
    if place.home.is_local() {
        refuse_occupied(directory)?;
    }
    let target = place.home.place()?;
    let archive = command.archive.as_deref();
    let archive = archive.map(|directory| Replay { directory, keys: &keys, until, timeline });
    announce_file(Work::Restore, &command.file, command.json);
    let progress = Arc::default();
    backup.count(&progress);
    let label = Label { work: "restore", unit: Unit::Rows };
    let bar = ProgressBar::of(label, command.json, &progress);
    let restoration = Restoration { at: start, by: Some(process_user()) };
    let restored = target.restore(backup, archive, meta::put_restored(&restoration));
    drop(bar);
    let restored = restored.map_err(|failure| {
        made.map(|made| made.remove_empty());
        if let RestoreFailure::File(failure) = failure {
            return explain_at(VaultFailure::File(failure), &place.home);
        }
        explain_restore(failure, &command.file, directory)
    })?;
    restrict(directory, 0o700)?;
    if place.home.is_local() {
        give_to_owner(directory, &directory.join(Store::FILE))?;
    }
    let refused = restored.reached.as_ref().map(|reached| refused_pieces(&reached.refused));
    if let Some(lines) = refused.filter(|lines| !lines.is_empty()) {
        complain(&lines);
    }
    let created_at = restored.manifest.created_at();
    let end = |reached: &Reached| (reached.time.unwrap_or(created_at), reached.has_later);
    let went_back = went_back(restored.reached.as_ref(), until);
    let took = clock.now().since(start);
    if command.json {
        show_json(&facts(&place.home, &restored, went_back, took));
        return Ok(());
    }
    say(&format!(
        "{}     {}\n{}\n  took:          {}\n\nFrom the backup {}:\n{}\n\n\
         Next: install the master key {}, run strongroom verify, then start strongroom serve.\n\
         Card verification codes are gone: backups do not contain their keys.\n{}{}{}",
        if place.home.is_local() {
            "The data file is restored.\n  data file:"
        } else {
            "The database is restored.\n  rows in:  "
        },
        place.home,
        contents_text(&restored),
        duration::render(took),
        command.file.display(),
        manifest_text(&restored.manifest),
        hex::encode(&restored.contents.master_check),
        missing_text(restored.reached.as_ref().map(end), until),
        went_back.map(went_back_text).unwrap_or_default(),
        unchecked_text(&keys),
    ));
    Ok(())
}

const fn unchecked_text(keys: &[MasterKey]) -> &'static str {
    if keys.is_empty() {
        "\nThe writer of the backup was not checked: with --key its signature is."
    } else {
        ""
    }
}

fn facts(
    home: &VaultHome,
    restored: &Restored,
    went_back: Option<Timestamp>,
    took: Duration,
) -> Value {
    let reached = restored.reached.as_ref();
    let time = reached.and_then(|reached| reached.time);
    let refused = reached.map(|reached| {
        reached.refused.iter().map(|path| path.display().to_string()).collect::<Vec<_>>()
    });
    json!({
        "data_file": home.is_local().then(|| home.to_string()),
        "database": (!home.is_local()).then(|| home.to_string()),
        "manifest": manifest_json(&restored.manifest),
        "restored_to": time.unwrap_or_else(|| restored.manifest.created_at()).to_wire(),
        "clock_was_ahead_at": went_back.map(Timestamp::to_wire),
        "archive_batches": reached.map_or(0, |reached| reached.batches),
        "refused_files": refused.unwrap_or_default(),
        "restored": {
            "tenants": restored.contents.tenants,
            "applications": restored.contents.applications,
            "tokens": restored.contents.tokens,
            "audit_chain": restored.contents.audit_head,
        },
        "master_key": hex::encode(&restored.contents.master_check),
        "took_ms": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
    })
}

fn until(command: &RestoreCommand) -> Result<Option<Timestamp>> {
    let Some(text) = &command.until else { return Ok(None) };
    if command.archive.is_none() {
        return Err(Failure::new(Exit::Usage, "--until without an archive")
            .why("a backup shows one moment only")
            .try_this("add --archive DIR"));
    }
    let wrong = || {
        Failure::new(Exit::Usage, "--until is not a time")
            .try_this("--until 2026-11-14T09:30:00Z, with an offset such as +01:00, or a date: its begin in UTC")
    };
    let of_date = || Timestamp::parse_rfc3339(&format!("{text}T00:00:00Z"));
    Timestamp::parse_rfc3339(text).or_else(of_date).map(Some).ok_or_else(wrong)
}

/// The keys that the flags name. An archive needs one: without it, a forged file would be accepted.
fn keys(
    command: &RestoreCommand,
    settings: Option<&crate::config::MasterKeySource>,
) -> Result<Vec<MasterKey>> {
    let first = settings.filter(|_| command.archive.is_some() && command.key.is_empty());
    let keys = read_keys(first, &command.key)?;
    if command.archive.is_some() && keys.is_empty() {
        return Err(Failure::new(Exit::Usage, "no master key is named")
            .why("the files of an archive are checked with it")
            .try_this("--key FILE, or --config FILE"));
    }
    Ok(keys)
}

/// Checks that one of the keys has signed the backup. Without a key, only digests are checked.
pub(super) fn check_origin(backup: &Reader, keys: &[MasterKey], file: &Path) -> Result<()> {
    let mut refusals = Vec::new();
    for key in keys {
        match backup.check_origin(key) {
            Ok(()) => return Ok(()),
            Err(invalid) => refusals.push(invalid),
        }
    }
    let Some(invalid) = refusals.first() else { return Ok(()) };
    let mut failure = explain_backup(invalid, file);
    if matches!(invalid, InvalidBackup::WrongMasterKey) {
        let needed = format!("the id of the key it needs is {}", backup.manifest().master_key);
        failure = failure.line("key", needed);
    }
    Err(failure)
}

pub(super) fn explain_restore(failure: RestoreFailure, backup: &Path, directory: &Path) -> Failure {
    match failure {
        RestoreFailure::Archive(problem) => explain_archive(&problem),
        RestoreFailure::Backup(invalid) => explain_backup(&invalid, backup),
        RestoreFailure::Departed => {
            Failure::new(Exit::Data, "the archive does not continue this backup")
                .file(backup)
                .why(
                    "when it was taken, the vault had left its archive: an old copy of its data \
                     directory was put back, or another vault was promoted in its place",
                )
                .try_this("restore this backup without --archive, or use one from another time")
        }
        RestoreFailure::File(failure) => explain(VaultFailure::File(failure), directory),
        RestoreFailure::Later(at) => Failure::new(Exit::Data, "the backup is too new")
            .file(backup)
            .why(format!("it shows {}, which is after --until", at.shown()))
            .try_this("use a backup from before that time"),
        RestoreFailure::NoMoment => {
            Failure::new(Exit::Data, "the backup cannot be continued from an archive")
                .file(backup)
                .why("it was written by an older strongroom, without its place in the history")
                .try_this("take a new backup, or restore this one without --archive")
        }
    }
}

/// The contents of the restored vault, with the changes of the archive.
fn contents_text(restored: &Restored) -> String {
    let it = &restored.contents;
    let created_at = restored.manifest.created_at();
    let reached = match &restored.reached {
        Some(reached) => format!(
            "restored to:   {} (batch {}; {} batches from the archive)",
            reached.time.unwrap_or(created_at).shown(),
            reached.moment.sequence,
            reached.batches
        ),
        None => format!(
            "last change:   no later than {}",
            restored.manifest.settled_at().unwrap_or(created_at).shown()
        ),
    };
    format!(
        "  {reached}\n  tenants:       {}\n  applications:  {}\n  tokens:        {}\n  audit chain:   \
         {}",
        it.tenants,
        it.applications,
        it.tokens,
        it.audit_head.as_deref().unwrap_or("none")
    )
}

/// `reached` is the time of the last restored write, and true if the archive has later ones.
fn missing_text(reached: Option<(Timestamp, bool)>, until: Option<Timestamp>) -> String {
    match (reached, until) {
        (None, _) => String::from("Writes after the time of the backup are missing."),
        (Some(_), None) => String::from("Writes after the last archived one are missing."),
        (Some((_, true)), Some(until)) => format!("Writes after {} are missing.", until.shown()),
        (Some((end, false)), Some(_)) => format!(
            "The archive ends at {}, before --until: later writes are missing.",
            end.shown()
        ),
    }
}

/// The latest time of the restored batches, if it is after --until: the clock was set back then, and
/// a later batch is from before that time.
fn went_back(reached: Option<&Reached>, until: Option<Timestamp>) -> Option<Timestamp> {
    reached?.latest.filter(|latest| until.is_some_and(|until| until < *latest))
}

fn went_back_text(latest: Timestamp) -> String {
    format!(
        "\nThe clock was ahead: batches with times up to {} came before the last one of --until and \
         are restored, too.",
        latest.shown()
    )
}

/// Refuses a directory with files, except the unfinished file of an interrupted restore.
pub(super) fn refuse_occupied(directory: &Path) -> Result<()> {
    let listed = fs::read_dir(directory)
        .map_err(|error| cannot("read the data directory", directory, &error))?;
    for entry in listed {
        let entry = entry.map_err(|error| cannot("read the data directory", directory, &error))?;
        if entry.path() != Store::unfinished(directory) {
            return Err(Failure::new(Exit::Data, "the data directory is not empty")
                .file(&entry.path())
                .why("a restore never overwrites files")
                .try_this("move the existing files away, or choose another data directory"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::store::engine::Moment;

    #[test]
    fn a_restore_says_from_when_on_writes_are_missing() {
        let [end, until] = [1, 2].map(Timestamp::from_seconds);
        let [end_text, until_text] = [end, until].map(Timestamp::shown);
        for (has_later, said, unsaid) in
            [(true, &until_text, &end_text), (false, &end_text, &until_text)]
        {
            let text = missing_text(Some((end, has_later)), Some(until));
            assert!(text.contains(said.as_str()) && !text.contains(unsaid.as_str()), "{text}");
        }
    }

    #[test]
    fn a_restore_until_a_time_says_that_the_clock_was_ahead_before_it() {
        let [until, ahead] = [1, 2].map(Timestamp::from_seconds);
        let reached = |latest| Reached {
            moment: Moment::default(),
            time: Some(until),
            latest: Some(latest),
            batches: 1,
            refused: BTreeSet::new(),
            has_later: false,
        };
        assert_eq!(went_back(Some(&reached(ahead)), Some(until)), Some(ahead));
        assert!(went_back_text(ahead).contains(&ahead.shown()));
        assert_eq!(went_back(Some(&reached(until)), Some(until)), None);
        assert_eq!(went_back(Some(&reached(ahead)), None), None);
    }
}
