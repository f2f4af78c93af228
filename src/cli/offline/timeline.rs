//! `strongroom new-timeline`: begins a new timeline of a stopped vault.

use serde_json::json;

use crate::app::VaultFailure;
use crate::cli::command::command;
use crate::cli::support::{
    Form, Result, VaultHome, archive_directory, cannot, catch_damage, check_directory, explain,
    explain_archive, give_to_owner, other_master_key, process_user, read_config, read_keys,
    settings, tell,
};
use crate::clock::Clock;
use crate::domain::hex;
use crate::store::meta::Restoration;
use crate::store::{Departure, NewTimeline, Store, TimelineFailure, TimelineMark, begin_timeline};
use std::path::PathBuf;

command! {
    /// Begin a new timeline of a stopped vault: after an old copy of its data directory was put back,
    /// another vault was promoted in its place, or its log has lost its end. The vault keeps everything
    /// that it has, and archives again. Take a backup afterwards.
    "new-timeline" NewTimelineCommand on settings {
        /// archive directory of the vault (default: the one in the settings)
        archive: Option<PathBuf> = option,
        /// file of the master key, in place of the one in the settings or of a credential
        key: Vec<PathBuf> = option,
        /// the archive directory is lost or given up: begin without a mark for other copies of the vault
        without_archive: bool = switch,
        /// print JSON
        json: bool = switch,
    } => |it| begin(&it)
}

fn begin(command: &NewTimelineCommand) -> Result<()> {
    let config = read_config(&settings::path(command.config.as_deref())?)?;
    let home = VaultHome::of(&config);
    let directory = home.require_data_file("strongroom new-timeline")?;
    let named = command.archive.as_deref();
    let archive = archive_directory(named, command.without_archive, &config)?;
    check_directory(directory)?;
    let keys = read_keys(Some(&config.master_key), &command.key)?;
    let clock = Clock::new();
    let restoration = Restoration { at: clock.now(), by: Some(process_user()) };
    let begun = catch_damage(directory, || {
        begin_timeline(directory, archive.as_deref(), &keys, (&clock, &restoration))
    })?;
    let begun = begun.map_err(|failure| match failure {
        TimelineFailure::Archive(problem) => explain_archive(&problem),
        TimelineFailure::File(failure) => explain(VaultFailure::File(failure), directory),
        TimelineFailure::NotMarked(path, error) => cannot(
            "mark the end of the old timeline, although the new one has begun",
            &path,
            &error,
        ),
        TimelineFailure::OriginNotMarked(path, error) => cannot(
            "mark the end of the timeline that the vault was restored from; nothing has begun",
            &path,
            &error,
        ),
        TimelineFailure::WrongMasterKey(check) => other_master_key("vault", &check, directory)
            .try_this("give the file of that key with --key FILE"),
    })?;
    give_to_owner(directory, &directory.join(Store::FILE))?;
    let timeline = hex::encode(&begun.timeline);
    let facts = || {
        json!({
            "timeline": timeline,
            "batch": begun.sequence,
            "lost_until": begun.lost,
            "was": begun.departed.map(Departure::name),
            "marked": begun.mark == TimelineMark::Own,
            "origin_marked": begun.origin_mark == TimelineMark::Own,
        })
    };
    let text = || {
        format!(
            "A new timeline has begun.\n  timeline:      {timeline}\n  continues:     batch {} of \
             the old one\n\nNext: start strongroom serve, and take a backup. Changes that only the \
             old archive has stay there: restore them elsewhere with a backup from before.{}{}{}",
            begun.sequence,
            marked_text(&begun),
            origin_text(&begun),
            begun.lost.map_or_else(String::new, |last| format!(
                "\nThe log ended before batch {last}, which was durable: the batches after {} are \
                 lost.",
                begun.sequence
            )),
        )
    };
    tell(Form::of(command.json), facts, text);
    Ok(())
}

const fn marked_text(begun: &NewTimeline) -> &'static str {
    match begun.mark {
        TimelineMark::None => "\nOther copies of this vault do not notice it.",
        TimelineMark::Other => {
            "\nAnother vault goes on from the old timeline, too: there are two vaults now, and a \
             restore of a backup from before needs --timeline."
        }
        TimelineMark::Own => "",
    }
}

const fn origin_text(begun: &NewTimeline) -> &'static str {
    match begun.origin_mark {
        TimelineMark::None => "",
        TimelineMark::Other => {
            "\nAnother vault goes on from the timeline that this one was restored from: there are two \
             vaults now, and a restore of a backup from before leads to the other one."
        }
        TimelineMark::Own => {
            "\nThe vault that this one was restored from has ended: if it still runs with this \
             archive, it refuses changes from its next round on."
        }
    }
}
