//! The archive: a backup and the pieces after it restore the store at any batch, and any damage,
//! forgery or gap is found.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::clock::Clock;
use crate::crypto::MasterKey;
use crate::domain::hex;
use crate::domain::time::Timestamp;
use crate::store::alarm::Alarm;
use crate::store::archive::format::{HEADER_BYTES, PieceHeader, PieceName, mark_name};
use crate::store::archive::mark::TimelineEnd;
use crate::store::archive::reader::Piece;
use crate::store::archive::replay::Walk;
use crate::store::archive::{
    ArchiveDirectory, ArchiveProblem, InvalidPiece, PieceSummary, Reached, Replay, Signer,
    end_digest, write_piece,
};
use crate::store::backup::{Reader, SnapshotTimes, write};
use crate::store::engine::local::file::DataFile;
use crate::store::engine::local::log::segment::Lineage;
use crate::store::engine::local::state::Origin;
use crate::store::engine::local::{LocalEngine, Sizes};
use crate::store::engine::{Engine as _, Moment, RowChange};
use crate::store::meta::Restoration;
use crate::store::tests::backups::master;
use crate::store::tests::disk::TestDisk;
use crate::store::tests::{TestDirectory, block_on, has, put};
use crate::store::{
    Change, LogTail, NewTimeline, OpenFailure, RestoreFailure, Standby, StandbyFailure, Store,
    Table, TimelineFailure, TimelineMark, begin_timeline, meta,
};
use crate::waiting::steps;

/// A store with a backup after its first two batches, and a directory for its archive.
struct Primary {
    place: TestDirectory,
    store: Store,
    tail: LogTail,
}

fn commit(store: &Store, change: Change) {
    block_on(store.commit(change)).unwrap();
}

impl Primary {
    fn new() -> Self {
        Self::with(&Clock::new())
    }

    fn with(clock: &Clock) -> Self {
        let place = TestDirectory::new();
        for name in ["data", "archive"] {
            fs::create_dir(place.join(name)).unwrap();
        }
        let first = meta::put_master_check(Change::new(), master(b'1').check());
        let store = Store::create(&place.join("data"), clock, first).unwrap();
        commit(&store, put(1));
        commit(&store, put(2));
        let tail = store.log_source().unwrap().tail(None).unwrap().unwrap();
        let primary = Self { place, store, tail };
        primary.back_up("a.backup");
        primary
    }

    fn back_up(&self, name: &str) {
        let now = Clock::new().now();
        let times = SnapshotTimes { created_at: now, settled_at: now };
        let snapshot = self.store.snapshot().unwrap();
        write(&snapshot, &self.place.join(name), master(b'1').backup_key(), times).unwrap();
    }

    fn archive(&self) -> PathBuf {
        self.place.join("archive")
    }

    /// Writes a batch for each key and archives all of them as one piece, signed by this key.
    fn piece_by(&mut self, keys: &[u8], key: &MasterKey) -> PieceSummary {
        for key in keys {
            commit(&self.store, put(*key));
        }
        let source = self.store.log_source().unwrap();
        let signer = Signer { master: *key.check(), key: key.backup_key() };
        let tail = (&mut self.tail, source.end());
        let piece = write_piece(&self.place.join("archive"), &source, tail, &signer);
        piece.unwrap().unwrap()
    }

    fn piece(&mut self, keys: &[u8]) -> PieceSummary {
        self.piece_by(keys, &master(b'1'))
    }

    fn path(&self, piece: &PieceSummary) -> PathBuf {
        self.archive().join(piece.name.to_string())
    }

    /// Restores the backup and the archive until a time, with these keys.
    fn restore_by(
        &self,
        until: Option<Timestamp>,
        keys: &[MasterKey],
    ) -> Result<(Reached, Store), RestoreFailure> {
        let data = self.place.join("restored");
        fs::remove_dir_all(&data).ok();
        fs::create_dir(&data).unwrap();
        let backup = Reader::open(&self.place.join("a.backup")).unwrap();
        let archive = self.archive();
        let replay = Replay { directory: &archive, keys, until, timeline: None };
        let restored = Store::restore(&data, backup, Some(replay), Change::new())?;
        Ok((restored.reached.unwrap(), Store::open(&data, &Clock::new()).unwrap()))
    }

    fn restore(&self) -> Result<(Reached, Store), RestoreFailure> {
        self.restore_by(None, &[master(b'1')])
    }

    #[track_caller]
    fn refusal(&self) -> ArchiveProblem {
        match self.restore() {
            Err(RestoreFailure::Archive(problem)) => problem,
            other => panic!("{other:?}"),
        }
    }

    fn standby(&self, name: &str) -> Standby {
        let data = self.place.join(name);
        fs::create_dir(&data).unwrap();
        let backup = Reader::open(&self.place.join("a.backup")).unwrap();
        Standby::begin(&data, backup).unwrap()
    }
}

/// Archives everything that a store has written since its first batch.
fn archive_all(store: &Store, archive: &Path, own: &MasterKey) -> PieceSummary {
    let source = store.log_source().unwrap();
    let mut tail = source.tail(None).unwrap().unwrap();
    let signer = Signer { master: *own.check(), key: own.backup_key() };
    let end = source.end();
    write_piece(archive, &source, (&mut tail, end), &signer).unwrap().unwrap()
}

fn catch_up(standby: &mut Standby, archive: &Path) -> Result<Reached, StandbyFailure> {
    let keys = [master(b'1')];
    let replay = Replay { directory: archive, keys: &keys, until: None, timeline: None };
    standby.catch_up(replay, &|| false)
}

fn keys_of(store: &Store) -> Vec<u8> {
    (0..=20).filter(|key| has(store, *key)).collect()
}

#[test]
fn a_backup_and_the_pieces_after_it_are_the_store_at_the_last_archived_batch() {
    let mut primary = Primary::new();
    primary.piece(&[3, 4]);
    let last = primary.piece(&[5]);
    commit(&primary.store, put(6));
    let (reached, restored) = primary.restore().unwrap();
    assert_eq!(keys_of(&restored), [1, 2, 3, 4, 5]);
    let timeline = primary.store.log_source().unwrap().lineage().timeline;
    let digest = end_digest(&primary.path(&last), &last.name).unwrap();
    assert_eq!(reached.moment, Moment { timeline, sequence: last.name.last, digest });
    assert_eq!((reached.time, reached.batches), (Some(last.time), 3));
    let source = restored.log_source().unwrap();
    let origin = Origin { timeline, sequence: last.name.last };
    assert_eq!(source.origin(), origin);
    assert_ne!(source.lineage().timeline, timeline);
    assert_eq!(source.end().sequence, last.name.last + 1);
    restored.close();
}

#[test]
fn a_restore_until_a_time_ends_with_the_last_batch_of_that_time() {
    let mut primary = Primary::new();
    let before = primary.piece(&[3]);
    let after = primary.piece(&[4, 5]);
    let piece = Piece::read(&primary.path(&after), &after.name, &[master(b'1')]).unwrap();
    let times: Vec<_> = piece.frames().map(|frame| frame.unwrap().time).collect();
    let keys = [master(b'1')];
    let restored = |until: Timestamp| {
        let (_, store) = primary.restore_by(Some(until), &keys).unwrap();
        let keys = keys_of(&store);
        store.close();
        keys
    };
    assert_eq!(restored(before.time), [1, 2, 3]);
    assert_eq!(restored(times[0]), [1, 2, 3, 4]);
    assert_eq!(restored(Timestamp::from_micros(times[1].micros() - 1)), [1, 2, 3, 4]);
    assert_eq!(restored(times[1]), [1, 2, 3, 4, 5]);
    for (until, has_later) in [(times[0], true), (times[1], false)] {
        let (reached, store) = primary.restore_by(Some(until), &keys).unwrap();
        store.close();
        assert_eq!(reached.has_later, has_later);
    }
    let early = Timestamp::from_seconds(1);
    assert!(matches!(primary.restore_by(Some(early), &keys), Err(RestoreFailure::Later(_))));
}

#[test]
fn a_restore_until_a_time_has_every_batch_of_that_time_also_if_the_clock_was_ahead() {
    let clock = Clock::new();
    let mut primary = Primary::with(&clock);
    primary.piece(&[3]);
    clock.advance(Duration::from_hours(1));
    let ahead = primary.piece(&[4]);
    clock.set_back(Duration::from_hours(1));
    let right = primary.piece(&[5, 6]);
    assert!(right.time < ahead.time, "frames have the times of their writes");
    let until = clock.now();
    let keys = [master(b'1')];
    let check = |primary: &Primary, has_later| {
        let (reached, restored) = primary.restore_by(Some(until), &keys).unwrap();
        assert_eq!(keys_of(&restored), [1, 2, 3, 4, 5, 6]);
        restored.close();
        assert_eq!((reached.time, reached.latest), (Some(right.time), Some(ahead.time)));
        assert_eq!((reached.batches, reached.has_later), (4, has_later));
    };
    check(&primary, false);
    clock.advance(Duration::from_mins(1));
    let later = primary.piece(&[7, 8]);
    check(&primary, true);
    // A restore that ends before a damaged piece does not need it.
    fs::write(primary.path(&later), "damaged").unwrap();
    check(&primary, true);
}

#[test]
fn a_missing_piece_is_named_by_the_one_behind_it() {
    let mut primary = Primary::new();
    let [_, missing, behind] = [&[3][..], &[4], &[5]].map(|keys| primary.piece(keys));
    let timeline = missing.name.timeline;
    let covered = || ArchiveDirectory::list(&primary.archive()).unwrap().covered_from(&timeline);
    assert_eq!(covered(), Some(1));
    fs::remove_file(primary.path(&missing)).unwrap();
    assert_eq!(covered(), Some(behind.name.first));
    let problem = primary.refusal();
    let ArchiveProblem::Missing { first, last, before } = &problem else { panic!("{problem:?}") };
    assert_eq!((*first, *last), (missing.name.first, missing.name.last));
    assert_eq!(*before, primary.path(&behind));
}

#[test]
fn a_piece_with_a_changed_or_a_missing_byte_is_refused_by_its_name() {
    let mut primary = Primary::new();
    let piece = primary.piece(&[3]);
    let path = primary.path(&piece);
    let bytes = fs::read(&path).unwrap();
    let read = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        Piece::read(&path, &piece.name, &[master(b'1')]).map(drop)
    };
    for at in (0..bytes.len()).step_by(7).chain([18, 19, bytes.len() - 1]) {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        assert!(read(&changed).is_err(), "byte {at}");
    }
    for len in [0, 1, HEADER_BYTES, bytes.len() / 2, bytes.len() - 1] {
        assert!(read(&bytes[..len]).is_err(), "{len} bytes");
    }
    let longer = [bytes.as_slice(), &[0; 512]].concat();
    assert!(read(&longer).is_err());
    let problem = primary.refusal();
    assert_eq!(problem.path(), path);
    assert!(matches!(problem, ArchiveProblem::Piece(..)), "{problem:?}");
    fs::write(&path, bytes).unwrap();
    primary.restore().unwrap().1.close();
}

#[test]
fn a_piece_under_another_key_another_name_or_of_another_vault_is_refused() {
    let mut primary = Primary::new();
    let piece = primary.piece(&[3]);
    let path = primary.path(&piece);
    let bytes = fs::read(&path).unwrap();
    let keys = [master(b'1')];
    // A forger knows the check value and all formats, but not the key.
    fs::remove_file(&path).unwrap();
    primary.tail = primary.store.log_source().unwrap().tail(None).unwrap().unwrap();
    let source = primary.store.log_source().unwrap();
    let signer = Signer { master: *master(b'1').check(), key: &master(b'2').backup_key().clone() };
    let tail = (&mut primary.tail, source.end());
    write_piece(&primary.place.join("archive"), &source, tail, &signer).unwrap();
    let forged = Piece::read(&path, &piece.name, &keys);
    assert!(matches!(forged, Err(InvalidPiece::Forged)), "{forged:?}");
    // Another vault's key.
    fs::write(&path, &bytes).unwrap();
    let other = Piece::read(&path, &piece.name, &[master(b'2')]);
    assert!(matches!(other, Err(InvalidPiece::UnknownKey(_))), "{other:?}");
    // An intact piece under another piece's name.
    let name = PieceName { last: piece.name.last + 1, ..piece.name };
    fs::write(primary.archive().join(name.to_string()), &bytes).unwrap();
    fs::remove_file(&path).unwrap();
    assert!(matches!(primary.refusal(), ArchiveProblem::Piece(_, InvalidPiece::Damaged(_))));
    // Another vault with the same master key, as after a copy of the settings.
    let mut stranger = Primary::new();
    let foreign = stranger.piece(&[3]);
    let bytes = fs::read(stranger.path(&foreign)).unwrap();
    let own = PieceName { timeline: piece.name.timeline, ..foreign.name };
    fs::remove_file(primary.archive().join(name.to_string())).unwrap();
    fs::write(primary.archive().join(own.to_string()), bytes).unwrap();
    assert!(matches!(primary.refusal(), ArchiveProblem::Piece(_, InvalidPiece::Damaged(_))));
}

#[test]
fn pieces_after_the_replacement_of_the_master_key_need_the_new_key() {
    let mut primary = Primary::new();
    primary.piece(&[3]);
    let after = primary.piece_by(&[4], &master(b'2'));
    let problem = primary.refusal();
    let ArchiveProblem::Piece(path, InvalidPiece::UnknownKey(check)) = &problem else {
        panic!("{problem:?}")
    };
    assert_eq!((path, check), (&primary.path(&after), master(b'2').check()));
    let (_, store) = primary.restore_by(None, &[master(b'1'), master(b'2')]).unwrap();
    assert_eq!(keys_of(&store), [1, 2, 3, 4]);
    store.close();
}

#[test]
fn a_standby_keeps_its_place_and_is_no_vault_until_it_is_promoted() {
    let mut primary = Primary::new();
    let mut standby = primary.standby("standby");
    let data = primary.place.join("standby");
    let first = primary.piece(&[3]);
    let reached = catch_up(&mut standby, &primary.archive()).unwrap();
    assert_eq!((reached.batches, standby.place().1), (1, first.time));
    drop(standby);
    assert!(matches!(Store::open(&data, &Clock::new()), Err(OpenFailure::Standby)));
    let mut standby = Standby::open(&data).unwrap();
    assert_eq!(standby.place().0.sequence, first.name.last);
    primary.piece(&[4]);
    assert_eq!(catch_up(&mut standby, &primary.archive()).unwrap().batches, 1);
    let last = primary.piece(&[5]);
    let (archive, keys) = (primary.archive(), [master(b'1')]);
    let replay = Replay { directory: &archive, keys: &keys, until: None, timeline: None };
    let promoted = standby.promote(Some(replay), &keys, &now()).unwrap();
    assert_eq!(promoted.moment.sequence, last.name.last);
    assert!(matches!(Standby::open(&data), Err(OpenFailure::NotStandby)));
    let store = Store::open(&data, &Clock::new()).unwrap();
    assert_eq!(keys_of(&store), [1, 2, 3, 4, 5]);
    let source = store.log_source().unwrap();
    assert_eq!(source.lineage().timeline, promoted.moment.timeline);
    assert_eq!(source.origin().sequence, last.name.last);
    store.close();
}

#[test]
fn after_a_promotion_the_later_pieces_of_the_old_primary_are_refused() {
    let mut primary = Primary::new();
    let (first, mut second) = (primary.standby("first"), primary.standby("second"));
    let mut ahead = primary.standby("ahead");
    let fork = primary.piece(&[3]);
    let (archive, keys) = (primary.archive(), [master(b'1')]);
    let replay = Replay { directory: &archive, keys: &keys, until: None, timeline: None };
    let promoted = first.promote(Some(replay), &keys, &now()).unwrap();
    let late = primary.piece(&[4]);
    let timeline = late.name.timeline;
    let lineage = primary.store.log_source().unwrap().lineage();
    assert!(ArchiveDirectory::is_ended(&archive, lineage, &keys).unwrap());
    // The promoted vault continues in the same directory.
    let store = Store::open(&primary.place.join("first"), &Clock::new()).unwrap();
    commit(&store, put(7));
    let piece = archive_all(&store, &archive, &master(b'1'));
    assert_eq!(piece.name.first, fork.name.last + 1);
    store.close();
    let (reached, restored) = primary.restore().unwrap();
    assert_eq!(keys_of(&restored), [1, 2, 3, 7]);
    assert_eq!(reached.moment.timeline, promoted.moment.timeline);
    assert!(reached.refused.contains(&primary.path(&late)) && reached.refused.len() == 1);
    restored.close();
    // A standby that was not promoted follows the promoted vault, and its promotion is refused.
    let mistaken = primary.standby("mistaken").promote(Some(replay), &keys, &now());
    assert!(matches!(mistaken, Err(StandbyFailure::OtherPromoted(_))), "{mistaken:?}");
    let reached = catch_up(&mut second, &archive).unwrap();
    assert_eq!(reached.moment.timeline, promoted.moment.timeline);
    // A standby with later changes of the old primary cannot follow.
    let mark = archive.join(mark_name(&timeline));
    let hidden = primary.place.join("hidden");
    fs::rename(&mark, &hidden).unwrap();
    // Without the mark, the promoted vault is a branch. All batches before the problem are applied.
    let branched = catch_up(&mut ahead, &archive);
    let is_branched = matches!(
        &branched, Err(StandbyFailure::Archive(ArchiveProblem::Branched { at, branch, .. }))
            if *at == fork.name.last && *branch == promoted.moment.timeline
    );
    assert!(is_branched, "{branched:?}");
    fs::rename(&hidden, &mark).unwrap();
    let forked = catch_up(&mut ahead, &archive);
    let is_forked = matches!(
        &forked, Err(StandbyFailure::Archive(ArchiveProblem::Forked(path, last)))
            if *path == mark && *last == fork.name.last
    );
    assert!(is_forked, "{forked:?}");
}

#[test]
fn a_promotion_that_was_cut_off_is_repeated_with_the_same_timeline() {
    let mut primary = Primary::new();
    let data = primary.place.join("standby");
    let standby = primary.standby("standby");
    primary.piece(&[3]);
    let (archive, keys) = (primary.archive(), [master(b'1')]);
    let replay = Replay { directory: &archive, keys: &keys, until: None, timeline: None };
    // A directory has the mark's name, so the mark cannot be written.
    let timeline = standby.place().0.timeline;
    let mark = archive.join(mark_name(&timeline));
    let unfinished = PathBuf::from(format!("{}.unfinished", mark.display()));
    fs::create_dir(&unfinished).unwrap();
    assert!(standby.promote(Some(replay), &keys, &now()).is_err());
    fs::remove_dir(&unfinished).unwrap();
    assert!(matches!(Store::open(&data, &Clock::new()), Err(OpenFailure::Standby)));
    let standby = Standby::open(&data).unwrap();
    let promoted = standby.promote(Some(replay), &keys, &now()).unwrap();
    let end = TimelineEnd::read(&archive, &timeline, &keys).unwrap().unwrap();
    assert_eq!((end.next, end.last), (promoted.moment.timeline, promoted.moment.sequence));
    let mut bytes = fs::read(&mark).unwrap();
    for at in 0..bytes.len() {
        bytes[at] ^= 1;
        fs::write(&mark, &bytes).unwrap();
        assert!(TimelineEnd::read(&archive, &timeline, &keys).is_err(), "byte {at}");
        bytes[at] ^= 1;
    }
}

fn copy_files(from: &Path, to: &Path) {
    fs::remove_dir_all(to).ok();
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// The files of a standby whose promotion was cut off between the mark in the archive and the last
/// commit, the timeline that it followed, and the one that it chose.
fn cut_off_promotion(primary: &Primary, name: &str) -> (PathBuf, [u8; 16], [u8; 16]) {
    let (archive, keys) = (primary.archive(), [master(b'1')]);
    let replay = Replay { directory: &archive, keys: &keys, until: None, timeline: None };
    let (data, before) = (primary.place.join(name), primary.place.join("before"));
    let standby = primary.standby(name);
    let timeline = standby.place().0.timeline;
    let mark = mark_name(&timeline);
    let in_the_way = archive.join(format!("{mark}.unfinished"));
    fs::create_dir(&in_the_way).unwrap();
    assert!(standby.promote(Some(replay), &keys, &now()).is_err(), "the timeline is chosen");
    fs::remove_dir(&in_the_way).unwrap();
    copy_files(&data, &before);
    let standby = Standby::open(&data).unwrap();
    let chosen = standby.promote(Some(replay), &keys, &now()).unwrap().moment.timeline;
    copy_files(&data, &primary.place.join("finished"));
    copy_files(&before, &data);
    (data, timeline, chosen)
}

#[test]
fn a_standby_does_not_follow_into_the_timeline_that_its_own_cut_off_promotion_chose() {
    let mut primary = Primary::new();
    let fork = primary.piece(&[3]);
    let (data, timeline, chosen) = cut_off_promotion(&primary, "standby");
    let (archive, keys) = (primary.archive(), [master(b'1')]);
    let replay = Replay { directory: &archive, keys: &keys, until: None, timeline: None };
    let mut standby = Standby::open(&data).unwrap();
    let followed = catch_up(&mut standby, &archive);
    let waits = matches!(&followed, Err(StandbyFailure::Archive(ArchiveProblem::Unfinished(_))));
    assert!(waits, "{followed:?}");
    drop(standby);
    let standby = Standby::open(&data).unwrap();
    assert_eq!(standby.place().0.timeline, timeline);
    let promoted = standby.promote(Some(replay), &keys, &now()).unwrap().moment;
    assert_eq!((promoted.timeline, promoted.sequence), (chosen, fork.name.last));
    assert!(TimelineEnd::read(&archive, &chosen, &keys).unwrap().is_none());
    let store = Store::open(&data, &Clock::new()).unwrap();
    let origin = Origin { timeline, sequence: fork.name.last };
    assert_eq!(store.log_source().unwrap().origin(), origin);
    commit(&store, put(7));
    archive_all(&store, &archive, &master(b'1'));
    store.close();
    let (_, restored) = primary.restore().unwrap();
    assert_eq!(keys_of(&restored), [1, 2, 3, 7]);
    restored.close();
}

/// The timeline that the cut-off promotion chose then belongs to another vault.
#[test]
fn a_standby_follows_a_promoted_copy_of_itself_and_chooses_another_timeline() {
    let mut primary = Primary::new();
    primary.piece(&[3]);
    let (data, _, chosen) = cut_off_promotion(&primary, "standby");
    let (archive, keys) = (primary.archive(), [master(b'1')]);
    let replay = Replay { directory: &archive, keys: &keys, until: None, timeline: None };
    let other = Store::open(&primary.place.join("finished"), &Clock::new()).unwrap();
    commit(&other, put(7));
    archive_all(&other, &archive, &master(b'1'));
    other.close();
    let early = Standby::open(&data).unwrap().promote(Some(replay), &keys, &now());
    assert!(matches!(early, Err(StandbyFailure::OtherPromoted(_))), "{early:?}");
    let mut standby = Standby::open(&data).unwrap();
    assert_eq!(catch_up(&mut standby, &archive).unwrap().moment.timeline, chosen);
    let promoted = standby.promote(Some(replay), &keys, &now()).unwrap().moment;
    assert_ne!(promoted.timeline, chosen);
    let (reached, restored) = primary.restore().unwrap();
    assert_eq!(reached.moment.timeline, promoted.timeline);
    assert_eq!(keys_of(&restored), [1, 2, 3, 7]);
    restored.close();
}

#[test]
fn marks_that_lead_in_a_circle_are_refused() {
    let mut primary = Primary::new();
    let piece = primary.piece(&[3]);
    let (archive, keys) = (primary.archive(), [master(b'1')]);
    let lineage = primary.store.log_source().unwrap().lineage();
    let digest = end_digest(&primary.path(&piece), &piece.name).unwrap();
    let (timeline, other) = (lineage.timeline, [0x55; 16]);
    let end = TimelineEnd {
        vault: lineage.vault,
        timeline,
        last: piece.name.last,
        digest,
        next: timeline,
        time: piece.time,
    };
    let [long, short] = [other, timeline].map(|next| TimelineEnd { next, ..end });
    let back = TimelineEnd { timeline: other, ..end };
    let replay = Replay { directory: &archive, keys: &keys, until: None, timeline: None };
    for (name, marks) in [("short", &[short][..]), ("long", &[long, back])] {
        for mark in marks {
            assert!(mark.write(&archive, &keys[0]).unwrap());
        }
        let last = marks.last().unwrap();
        let steps = RefCell::new(steps("the marks lead in a circle"));
        let is_stopping = || steps.borrow_mut().next().is_none();
        let followed = primary.standby(name).catch_up(replay, &is_stopping);
        let Err(StandbyFailure::Archive(problem)) = followed else { panic!("{followed:?}") };
        let ArchiveProblem::Circle(path, next) = &problem else { panic!("{problem:?}") };
        assert_eq!((path, *next), (&archive.join(mark_name(&last.timeline)), timeline));
        assert!(problem.advice().contains(&hex::encode(&timeline)), "{}", problem.advice());
        for mark in marks {
            fs::remove_file(archive.join(mark_name(&mark.timeline))).unwrap();
        }
    }
}

/// An engine whose segments hold four rows of [`write_rows`].
fn start_with(disk: &TestDisk, held_bytes_max: u64) -> LocalEngine {
    let volume = disk.volume();
    let data = DataFile::open(volume.as_ref(), 0).unwrap();
    let sizes = Sizes { segment_bytes: 4 * 1024, held_bytes_max, ..Sizes::default() };
    let by = (&Clock::new(), &Alarm::default());
    LocalEngine::start_without_merger(&volume, data, by, sizes).unwrap()
}

fn write_rows(engine: &LocalEngine, count: u8) {
    for key in 0..count {
        let row = RowChange { table: Table::Tokens, key: vec![key], value: Some(vec![1; 900]) };
        engine.apply(&mut |_| Ok(vec![row.clone()])).unwrap();
    }
}

#[test]
fn the_log_is_kept_for_the_archive_within_a_bound_also_over_a_restart() {
    let disk = TestDisk::new();
    Store::on_disk(&disk, Change::new()).unwrap().close();
    let start = || start_with(&disk, 16 * 1024);
    let engine = start();
    let source = engine.log_source().unwrap();
    write_rows(&engine, 1);
    let held = source.tail(None).unwrap().unwrap().at();
    source.hold(Some(held));
    write_rows(&engine, 7);
    engine.close().unwrap();
    drop((engine, source));
    // The next process has no archive, but keeps the log.
    let engine = start();
    engine.close().unwrap();
    drop(engine);
    let engine = start();
    let source = engine.log_source().unwrap();
    let mut tail = source.tail(Some(held.sequence)).unwrap().unwrap();
    let end = source.end();
    let numbers = std::iter::from_fn(|| tail.next(end).unwrap()).map(|frame| frame.sequence);
    assert!(numbers.eq(held.sequence..end.sequence), "every frame is there");
    // Beyond the bound, the oldest segments are freed.
    write_rows(&engine, 40);
    for turn in 0..4 {
        engine.merge_turn(turn).unwrap();
    }
    assert!(engine.health().log_bytes <= 6 * 4 * 1024, "{:?}", engine.health());
    assert!(source.tail(Some(held.sequence)).unwrap().is_none());
    let oldest = source.tail(None).unwrap().unwrap().at();
    assert!(oldest.sequence > held.sequence && oldest.sequence < source.end().sequence);
    // Without an archive only the newest segment stays.
    source.hold(None);
    write_rows(&engine, 1);
    engine.merge_turn(0).unwrap();
    assert_eq!(engine.health().log_segments, 1);
    drop(source);
    engine.close().unwrap();
}

#[test]
fn the_next_process_keeps_the_log_for_the_archive_although_this_one_was_killed() {
    let disk = TestDisk::new();
    Store::on_disk(&disk, Change::new()).unwrap().close();
    let start = |disk: &TestDisk| start_with(disk, Sizes::default().held_bytes_max);
    let engine = start(&disk);
    let source = engine.log_source().unwrap();
    let held = source.tail(None).unwrap().unwrap().at();
    source.hold_durably(held).unwrap();
    write_rows(&engine, 8);
    // Before the first merge, and before the next process can announce its archive.
    let next = start(&TestDisk::holding(disk.durable()));
    for turn in 0..8 {
        next.merge_turn(turn).unwrap();
    }
    assert!(next.log_source().unwrap().tail(Some(held.sequence)).unwrap().is_some());
    for engine in [engine, next] {
        engine.close().unwrap();
    }
}

/// Computed with another program.
#[test]
fn the_published_piece_and_mark_are_read() {
    let vectors: serde_json::Value =
        serde_json::from_str(include_str!("../../../tests/vectors/archive.json")).unwrap();
    let text = |name: &str| vectors[name].as_str().unwrap();
    let place = TestDirectory::new();
    for kind in ["piece", "mark"] {
        let name = text(&format!("{kind}_name"));
        fs::write(place.join(name), hex::decode_all(text(kind)).unwrap()).unwrap();
    }
    let name = PieceName::parse(text("piece_name")).unwrap();
    let keys = [master(b'1')];
    let piece = Piece::read(&place.join(text("piece_name")), &name, &keys).unwrap();
    let header = PieceHeader {
        data_format: 1,
        lineage: Lineage { vault: [0x11; 16], timeline: [0x22; 16] },
        origin: Origin { timeline: [0x33; 16], sequence: 5 },
        master: *master(b'1').check(),
        first: 6,
        before: [0x44; 32],
    };
    assert_eq!(piece.header, header);
    let bytes = header.encode();
    assert_eq!(bytes.len(), HEADER_BYTES);
    assert!(text("piece").starts_with(&hex::encode(&bytes)));
    assert_eq!((piece.last, piece.time), (7, Timestamp::from_seconds(2)));
    let frames: Vec<_> = piece.frames().map(Result::unwrap).collect();
    assert_eq!(frames.iter().map(|frame| frame.sequence).collect::<Vec<_>>(), [6, 7]);
    assert_eq!(frames[0].rows.len(), 2);
    let digest = end_digest(&place.join(text("piece_name")), &name).unwrap();
    assert_eq!(hex::encode(&digest), text("history"));
    let end = TimelineEnd::read(place.path(), &[0x22; 16], &keys).unwrap().unwrap();
    let known = TimelineEnd {
        vault: [0x11; 16],
        timeline: [0x22; 16],
        last: 7,
        digest: hex::decode(text("history")).unwrap(),
        next: [0x55; 16],
        time: Timestamp::from_seconds(3),
    };
    assert_eq!(end, known);
    fs::remove_file(place.join(text("mark_name"))).unwrap();
    assert!(end.write(place.path(), &keys[0]).unwrap());
    let written = fs::read(place.join(text("mark_name"))).unwrap();
    assert_eq!(hex::encode(&written), text("mark"));
    assert!(!end.write(place.path(), &keys[0]).unwrap(), "a mark is never replaced");
    let mut newer = bytes;
    newer[19] = 2;
    assert!(matches!(PieceHeader::decode(&newer), Err(InvalidPiece::Newer)));
}

fn now() -> Restoration {
    Restoration { at: Clock::new().now(), by: None }
}

/// A copy of the data directory from before the last batches was put back and wrote other batches.
fn put_back(primary: &mut Primary, piece: &[u8], copy_writes: &[u8]) {
    let (data, copy) = (primary.place.join("data"), primary.place.join("copy"));
    copy_files(&data, &copy);
    primary.piece(piece);
    primary.store.clone().close();
    copy_files(&copy, &data);
    primary.store = Store::open(&data, &Clock::new()).unwrap();
    for key in copy_writes {
        commit(&primary.store, put(*key));
    }
}

/// The batch numbers fit; only the digests distinguish the histories.
#[test]
fn a_piece_of_another_history_with_the_right_numbers_is_refused_by_restore_and_follow() {
    let mut primary = Primary::new();
    let mut standby = primary.standby("standby");
    put_back(&mut primary, &[3, 4], &[7, 8, 9]);
    catch_up(&mut standby, &primary.archive()).unwrap();
    let last = standby.place().0;
    // A writer that compares only numbers continues behind the last archived batch.
    primary.tail =
        primary.store.log_source().unwrap().tail(Some(last.sequence + 1)).unwrap().unwrap();
    assert_ne!(primary.tail.at().digest, last.digest);
    let mixed = primary.piece(&[10]);
    let problem = primary.refusal();
    let is_named = matches!(
        &problem, ArchiveProblem::Diverged(path, at)
            if *path == primary.path(&mixed) && *at == last.sequence
    );
    assert!(is_named, "{problem:?}");
    let followed = catch_up(&mut standby, &primary.archive());
    let is_refused =
        matches!(&followed, Err(StandbyFailure::Archive(ArchiveProblem::Diverged(..))));
    assert!(is_refused, "{followed:?}");
    assert_eq!(standby.place().0, last, "nothing of the other history was applied");
}

#[test]
fn a_backup_of_another_history_does_not_go_on_with_the_pieces_of_the_first_one() {
    // The archive has the backup's last batch, and more batches or nothing behind it.
    for copy_writes in [&[7][..], &[7, 8]] {
        let mut primary = Primary::new();
        put_back(&mut primary, &[3, 4], copy_writes);
        fs::remove_file(primary.place.join("a.backup")).unwrap();
        primary.back_up("a.backup");
        let problem = primary.refusal();
        assert!(matches!(problem, ArchiveProblem::Diverged(..)), "{problem:?}");
    }
}

#[test]
fn a_restore_ends_with_the_timeline_that_the_operator_names() {
    let mut primary = Primary::new();
    let fork = primary.piece(&[3]);
    // A restored vault continues in the same directory without a mark.
    let (_, restored) = primary.restore().unwrap();
    commit(&restored, put(7));
    let branch = archive_all(&restored, &primary.archive(), &master(b'1')).name.timeline;
    let old = fork.name.timeline;
    restored.close();
    primary.piece(&[4]);
    let problem = primary.refusal();
    assert!(matches!(problem, ArchiveProblem::Branched { .. }), "{problem:?}");
    assert!(problem.advice().contains(&hex::encode(&branch)), "{}", problem.advice());
    assert!(problem.advice().contains(&hex::encode(&old)), "{}", problem.advice());
    for (timeline, keys) in [(branch, &[1, 2, 3, 7][..]), (old, &[1, 2, 3, 4])] {
        let data = primary.place.join("chosen");
        fs::remove_dir_all(&data).ok();
        fs::create_dir(&data).unwrap();
        let (archive, master) = (primary.archive(), [master(b'1')]);
        let timeline = Some(timeline);
        let replay = Replay { directory: &archive, keys: &master, until: None, timeline };
        let backup = Reader::open(&primary.place.join("a.backup")).unwrap();
        Store::restore(&data, backup, Some(replay), Change::new()).unwrap();
        let store = Store::open(&data, &Clock::new()).unwrap();
        assert_eq!(keys_of(&store), keys);
        store.close();
    }
}

/// Restores the backup alone, writes rows, and begins a new timeline with the archive.
fn replace_by_copy(
    primary: &Primary,
    name: &str,
    writes: &[u8],
) -> (PathBuf, [u8; 16], Result<NewTimeline, TimelineFailure>) {
    let data = primary.place.join(name);
    fs::create_dir(&data).unwrap();
    let backup = Reader::open(&primary.place.join("a.backup")).unwrap();
    Store::restore(&data, backup, None, Change::new()).unwrap();
    let store = Store::open(&data, &Clock::new()).unwrap();
    for key in writes {
        commit(&store, put(*key));
    }
    let timeline = store.log_source().unwrap().lineage().timeline;
    store.close();
    let begun = new_timeline(primary, &data);
    (data, timeline, begun)
}

fn new_timeline(primary: &Primary, data: &Path) -> Result<NewTimeline, TimelineFailure> {
    begin_timeline(data, Some(&primary.archive()), &[master(b'1')], (&Clock::new(), &now()))
}

/// Restores the backup and the archive up to the end of a timeline.
fn restore_to(primary: &Primary, timeline: [u8; 16]) -> Vec<u8> {
    let data = primary.place.join("chosen");
    fs::remove_dir_all(&data).ok();
    fs::create_dir(&data).unwrap();
    let (archive, keys) = (primary.archive(), [master(b'1')]);
    let timeline = Some(timeline);
    let replay = Replay { directory: &archive, keys: &keys, until: None, timeline };
    let backup = Reader::open(&primary.place.join("a.backup")).unwrap();
    Store::restore(&data, backup, Some(replay), Change::new()).unwrap();
    let store = Store::open(&data, &Clock::new()).unwrap();
    let found = keys_of(&store);
    store.close();
    found
}

#[test]
fn a_new_timeline_of_a_restored_copy_ends_the_vault_that_it_replaces() {
    let mut primary = Primary::new();
    primary.piece(&[3, 4]);
    let (data, copy, begun) = replace_by_copy(&primary, "copy", &[7]);
    assert_eq!(begun.unwrap().origin_mark, TimelineMark::Own);
    let old = primary.store.log_source().unwrap().lineage();
    assert!(ArchiveDirectory::is_ended(&primary.archive(), old, &[master(b'1')]).unwrap());
    let store = Store::open(&data, &Clock::new()).unwrap();
    commit(&store, put(8));
    archive_all(&store, &primary.archive(), &master(b'1'));
    store.close();
    // The copy did not archive what it wrote first, and a restore says so.
    let problem = primary.refusal();
    let ArchiveProblem::Missing { first, last, before } = &problem else { panic!("{problem:?}") };
    assert_eq!((*first, *last), (3, 3));
    assert_eq!(*before, primary.archive().join(mark_name(&copy)));
    assert_eq!(restore_to(&primary, old.timeline), [1, 2, 3, 4]);
}

#[test]
fn a_restore_follows_the_marks_over_timelines_without_pieces() {
    let mut primary = Primary::new();
    let late = primary.piece(&[3]);
    let (data, _, begun) = replace_by_copy(&primary, "copy", &[]);
    begun.unwrap();
    let write = |key: u8| {
        let store = Store::open(&data, &Clock::new()).unwrap();
        commit(&store, put(key));
        let piece = archive_all(&store, &primary.archive(), &master(b'1'));
        store.close();
        piece.name.timeline
    };
    write(7);
    assert_eq!(new_timeline(&primary, &data).unwrap().origin_mark, TimelineMark::None);
    let begun = new_timeline(&primary, &data).unwrap();
    assert_eq!((begun.mark, begun.origin_mark), (TimelineMark::Own, TimelineMark::Own));
    assert_eq!(restore_to(&primary, begun.timeline), [1, 2, 7], "without a piece of its own");
    let newest = write(8);
    assert_eq!(newest, begun.timeline);
    let (reached, restored) = primary.restore().unwrap();
    assert_eq!(keys_of(&restored), [1, 2, 7, 8]);
    assert_eq!(reached.refused.into_iter().collect::<Vec<_>>(), [primary.path(&late)]);
    restored.close();
    assert_eq!(restore_to(&primary, newest), [1, 2, 7, 8]);
}

#[test]
fn a_copy_begins_no_timeline_if_it_cannot_end_the_vault_that_it_replaces() {
    let mut primary = Primary::new();
    let old = primary.piece(&[3]).name.timeline;
    let in_the_way = primary.archive().join(format!("{}.unfinished", mark_name(&old)));
    fs::create_dir(&in_the_way).unwrap();
    let (data, copy, begun) = replace_by_copy(&primary, "copy", &[7]);
    assert!(matches!(begun, Err(TimelineFailure::OriginNotMarked(..))), "{begun:?}");
    fs::remove_dir(&in_the_way).unwrap();
    let store = Store::open(&data, &Clock::new()).unwrap();
    assert_eq!(store.log_source().unwrap().lineage().timeline, copy);
    store.close();
    assert_eq!(new_timeline(&primary, &data).unwrap().origin_mark, TimelineMark::Own);
    // The mark of the vault that came first stays.
    let (_, _, second) = replace_by_copy(&primary, "second", &[8]);
    assert_eq!(second.unwrap().origin_mark, TimelineMark::Other);
    let end = TimelineEnd::read(&primary.archive(), &old, &[master(b'1')]).unwrap().unwrap();
    assert_eq!(end.next, copy);
}

/// A walk from the backup until a time, with the names of the pieces that come back into the archive
/// while the first rows are applied.
fn walk_while_pieces_arrive(
    primary: &Primary,
    until: Option<Timestamp>,
    arriving: &[&PieceSummary],
) -> Walk {
    let (archive, keys) = (primary.archive(), [master(b'1')]);
    let hidden = |piece: &PieceSummary| primary.place.join(&piece.name.to_string());
    for piece in arriving {
        fs::rename(primary.path(piece), hidden(piece)).unwrap();
    }
    let arrive = || {
        for piece in arriving.iter().filter(|piece| hidden(piece).exists()) {
            fs::rename(hidden(piece), primary.path(piece)).unwrap();
        }
    };
    let replay = Replay { directory: &archive, keys: &keys, until, timeline: None };
    let vault = primary.store.log_source().unwrap().lineage().vault;
    let backup = Reader::open(&primary.place.join("a.backup")).unwrap();
    let mut walk =
        Walk::new(vault, backup.manifest().file_format, backup.manifest().moment().unwrap());
    let mut sink = |_: Vec<RowChange>, _: &Reached| {
        arrive();
        Ok(())
    };
    walk.run_to_end(replay, &mut sink).unwrap();
    walk
}

#[test]
fn pieces_that_arrive_during_a_restore_are_applied_or_not_counted_as_seen() {
    let mut primary = Primary::new();
    let [first, second, third] = [&[3][..], &[4], &[5]].map(|keys| primary.piece(keys));
    let walk = walk_while_pieces_arrive(&primary, None, &[&second, &third]);
    assert_eq!(walk.reached.moment.sequence, third.name.last);
    assert_eq!(walk.seen, Some(third.name.last));
    // The operator leaves the second piece out, and cannot know of the third.
    let walk = walk_while_pieces_arrive(&primary, Some(first.time), &[&third]);
    assert_eq!(walk.reached.moment.sequence, first.name.last);
    assert_eq!((walk.seen, walk.reached.has_later), (Some(second.name.last), true));
}

#[test]
fn a_damaged_piece_of_a_later_timeline_is_refused_by_its_name() {
    let mut primary = Primary::new();
    let fork = primary.piece(&[3]);
    let standby = primary.standby("standby");
    let (_, restored) = primary.restore().unwrap();
    commit(&restored, put(7));
    let (archive, keys) = (primary.archive(), [master(b'1')]);
    let path = primary.path(&archive_all(&restored, &archive, &master(b'2')));
    let of_unknown_key = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    archive_all(&restored, &archive, &master(b'1'));
    restored.close();
    let bytes = fs::read(&path).unwrap();
    assert!(matches!(primary.refusal(), ArchiveProblem::Branched { .. }));
    // In the vault's id, in the previous timeline, and in the HMAC.
    let flipped = [25, 60, bytes.len() - 9].map(|at| {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        changed
    });
    let cut = [HEADER_BYTES, 0, 10].map(|len| bytes[..len].to_vec());
    for damaged in flipped.into_iter().chain(cut) {
        fs::write(&path, &damaged).unwrap();
        let problem = primary.refusal();
        assert!(problem.path() == path, "{problem:?}");
        // A restore that ends before the piece does not need it.
        let until = Timestamp::from_micros(fork.time.micros() - 1);
        primary.restore_by(Some(until), &keys).unwrap().1.close();
    }
    let replay = Replay { directory: &archive, keys: &keys, until: None, timeline: None };
    let promoted = standby.promote(Some(replay), &keys, &now());
    assert!(matches!(promoted, Err(StandbyFailure::Archive(_))), "{promoted:?}");
    // A piece signed under a key that is not at hand is refused too, but not another vault's piece.
    fs::write(&path, of_unknown_key).unwrap();
    assert_eq!(primary.refusal().path(), path);
    fs::remove_file(&path).unwrap();
    let stranger = Primary::new();
    commit(&stranger.store, put(9));
    archive_all(&stranger.store, &archive, &master(b'2'));
    primary.restore().unwrap().1.close();
}
