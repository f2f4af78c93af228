//! Random histories of a vault with an archive: writes, archive rounds, losses of power, copies of
//! the data directory that are put back or run beside the vault, backups, restores, standbys,
//! promotions and new timelines. Two rules hold at every step:
//!
//! - Every restored, following and promoted state is a prefix of one history, never a mixture of
//!   two.
//! - A vault in the state `working`, and a restore that is not refused, have every archived write,
//!   except those that an operator has given up by beginning a new timeline.
//!
//! `STRONGROOM_SIM_SEEDS=0..1000 cargo test --lib histories` runs more of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::app::commit::commit_loop::Priority;
use crate::app::error::Error;
use crate::app::tests::simulation::seeds_or;
use crate::app::tests::{master, prepared, start};
use crate::app::{ArchiveCondition, ArchiveState, Archiver, Vault};
use crate::clock::Clock;
use crate::crypto::Random;
use crate::store::archive::Replay;
use crate::store::backup::Reader;
use crate::store::meta::Restoration;
use crate::store::tests::disk::{Dice, Fate, Image, TestDisk};
use crate::store::tests::{TestDirectory, block_on, open_with_small_log};
use crate::store::{
    Change, CvcKeys, RestoreFailure, Standby, Store, Table, TimelineMark, begin_timeline,
};
use crate::waiting::thorough;

const STEPS: usize = 60;
const KEY: &[u8] = b"history";

/// A running vault, and the answered writes of its history in order.
struct Life {
    disk: TestDisk,
    app: Vault,
    archiver: Archiver,
    writes: Vec<u64>,
}

struct World {
    place: TestDirectory,
    dice: Dice,
    lives: Vec<Life>,
    /// Every history so far, also of vaults that are gone.
    histories: Vec<Vec<u64>>,
    copies: Vec<(Image, Vec<u64>)>,
    backups: Vec<PathBuf>,
    standbys: Vec<PathBuf>,
    archived: BTreeSet<u64>,
    /// Writes that an operator has given up.
    given_up: BTreeSet<u64>,
    next: u64,
    trace: Vec<String>,
}

fn open(disk: &TestDisk) -> Vault {
    let keys = CvcKeys::on_volume(disk);
    let store = open_with_small_log(disk, &Clock::new());
    start(store, keys, master(), Clock::new(), Random::new()).unwrap()
}

fn writes_of(store: &Store) -> BTreeSet<u64> {
    let rows = store.snapshot().unwrap();
    let rows = rows.range(&Table::Meta.whole()).unwrap().map(Result::unwrap);
    let number = |key: Vec<u8>| key.strip_prefix(KEY)?.try_into().ok().map(u64::from_be_bytes);
    rows.filter_map(|(key, _)| number(key)).collect()
}

fn lay_out(image: &Image, directory: &Path) {
    fs::remove_dir_all(directory).ok();
    fs::create_dir(directory).unwrap();
    for (name, bytes) in image {
        fs::write(directory.join(name), bytes).unwrap();
    }
}

fn image_of(directory: &Path) -> Image {
    let entries = fs::read_dir(directory).unwrap().map(Result::unwrap);
    let name = |entry: &fs::DirEntry| entry.file_name().into_string().unwrap();
    entries.map(|entry| (name(&entry), fs::read(entry.path()).unwrap())).collect()
}

fn restoration() -> Restoration {
    Restoration { at: Clock::new().now(), by: None }
}

impl Life {
    fn state(&self) -> ArchiveState {
        self.app.archive.read().unwrap().state
    }

    fn end(self) -> (TestDisk, Vec<u64>) {
        drop((self.archiver, self.app));
        (self.disk, self.writes)
    }
}

impl World {
    fn new(seed: u64) -> Self {
        let place = TestDirectory::new();
        fs::create_dir(place.join("archive")).unwrap();
        let mut world = Self {
            place,
            dice: Dice(seed),
            lives: Vec::new(),
            histories: Vec::new(),
            copies: Vec::new(),
            backups: Vec::new(),
            standbys: Vec::new(),
            archived: BTreeSet::new(),
            given_up: BTreeSet::new(),
            next: 0,
            trace: Vec::new(),
        };
        world.begin(TestDisk::holding(prepared().0.clone()), Vec::new());
        world.back_up(0);
        world
    }

    fn archive(&self) -> PathBuf {
        self.place.join("archive")
    }

    /// Starts a vault, which looks into the archive first.
    fn begin(&mut self, disk: TestDisk, writes: Vec<u64>) {
        let app = open(&disk);
        assert_eq!(writes_of(&app.store), writes.iter().copied().collect(), "an answered write");
        let mut archiver = app.upkeep().archive().begin(&self.archive()).unwrap().unwrap();
        app.upkeep().archive().look(&mut archiver);
        let life = Life { disk, app, archiver, writes };
        self.check_working(&life);
        self.lives.push(life);
    }

    /// The writes that must be present unless a state reports a loss.
    fn kept(&self) -> BTreeSet<u64> {
        self.archived.difference(&self.given_up).copied().collect()
    }

    fn check_working(&self, life: &Life) {
        if life.state() == ArchiveState::Working {
            let own = life.writes.iter().copied().collect();
            let missing: Vec<_> = self.kept().difference(&own).copied().collect();
            assert!(missing.is_empty(), "a vault that lacks {missing:?} says that all is well");
        }
    }

    fn check_is_one_history(&self, found: &BTreeSet<u64>) {
        let own = self.lives.iter().map(|life| &life.writes);
        let is_start = |history: &Vec<u64>| {
            history.iter().take(found.len()).copied().collect::<BTreeSet<_>>() == *found
        };
        assert!(self.histories.iter().chain(own).any(is_start), "{found:?} is a mixture");
    }

    fn write(&mut self, at: usize) {
        let life = &mut self.lives[at];
        self.next += 1;
        let key = [KEY, &self.next.to_be_bytes()].concat();
        let change = Change::new().put(Table::Meta, key, vec![7; 300]);
        block_on(life.app.store.commit(change)).unwrap();
        life.writes.push(self.next);
    }

    fn round(&mut self, at: usize) {
        let life = &mut self.lives[at];
        let before = life.state();
        life.app.upkeep().archive().round(&mut life.archiver);
        let (now, life) = (life.state(), &self.lives[at]);
        self.check_working(life);
        let is_forgotten = before.is_departed() && !now.is_departed();
        assert!(!is_forgotten, "{before:?} became {now:?}");
        // The archive of a new timeline is complete only after a backup that it continues.
        if life.app.upkeep().archive().condition() == ArchiveCondition::Right {
            self.archived.extend(&life.writes);
        }
    }

    fn back_up(&mut self, at: usize) {
        self.next += 1;
        let path = self.place.join(&format!("{}.backup", self.next));
        block_on(self.lives[at].app.backups().back_up(path.clone())).unwrap();
        self.backups.push(path);
    }

    /// Ends a process by a loss of power, and sometimes keeps a copy of its files.
    fn lose_power(&mut self, at: usize) {
        let life = self.lives.swap_remove(at);
        let fate = [Fate::Lost, Fate::Reached, Fate::Torn(self.next)];
        life.disk.lose_power(fate[usize::try_from(self.dice.roll(3)).unwrap()]);
        let (disk, writes) = life.end();
        if self.dice.roll(2) == 0 {
            self.copies.push((disk.durable(), writes.clone()));
        }
        // Use another disk with the same content: threads of the old process may still use the old
        // one.
        self.begin(TestDisk::holding(disk.durable()), writes);
    }

    fn chosen<T>(dice: &mut Dice, from: &[T]) -> Option<usize> {
        let len = u64::try_from(from.len()).unwrap();
        (len > 0).then(|| usize::try_from(dice.roll(len)).unwrap())
    }

    /// Runs an old copy of the files, in place of the vault or beside it.
    fn run_copy(&mut self, at: usize, is_beside: bool) {
        let Some(copy) = Self::chosen(&mut self.dice, &self.copies) else { return };
        let (image, writes) = self.copies[copy].clone();
        if !is_beside {
            let (_, gone) = self.lives.swap_remove(at).end();
            self.histories.push(gone);
        } else if self.lives.len() > 2 {
            return;
        }
        self.begin(TestDisk::holding(image), writes);
    }

    fn replay<'a>(archive: &'a Path, keys: &'a [crate::crypto::MasterKey]) -> Replay<'a> {
        Replay { directory: archive, keys, until: None, timeline: None }
    }

    fn restore(&mut self) {
        let Some(at) = Self::chosen(&mut self.dice, &self.backups) else { return };
        let (data, archive, keys) = (self.place.join("restored"), self.archive(), [master()]);
        lay_out(&Image::new(), &data);
        let replay = Some(Self::replay(&archive, &keys));
        let backup = Reader::open(&self.backups[at]).unwrap();
        match Store::restore(&data, backup, replay, Change::new()) {
            Ok(_) => {
                let store = Store::open(&data, &Clock::new()).unwrap();
                let found = writes_of(&store);
                store.close();
                self.check_is_one_history(&found);
                let missing: Vec<_> = self.kept().difference(&found).copied().collect();
                assert!(missing.is_empty(), "backup {at}: the restore lacks {missing:?}");
                self.trace.push(format!("restored backup {at}"));
            }
            Err(RestoreFailure::Archive(_) | RestoreFailure::Departed) => {
                self.trace.push(format!("refused backup {at}"));
            }
            Err(other) => panic!("{other:?}"),
        }
    }

    fn begin_standby(&mut self) {
        let Some(at) = Self::chosen(&mut self.dice, &self.backups) else { return };
        let data = self.place.join(&format!("standby{}", self.next));
        self.next += 1;
        lay_out(&Image::new(), &data);
        match Standby::begin(&data, Reader::open(&self.backups[at]).unwrap()) {
            Ok(_) => self.standbys.push(data),
            Err(RestoreFailure::Departed) => (),
            Err(other) => panic!("{other:?}"),
        }
    }

    fn follow(&mut self) {
        let Some(at) = Self::chosen(&mut self.dice, &self.standbys) else { return };
        let (archive, keys) = (self.archive(), [master()]);
        let mut standby = Standby::open(&self.standbys[at]).unwrap();
        standby.catch_up(Self::replay(&archive, &keys), &|| false).ok();
        drop(standby);
        // A standby is not a store: read a copy of it without the mark.
        let copy = self.place.join("copy");
        lay_out(&image_of(&self.standbys[at]), &copy);
        Standby::open(&copy).unwrap().promote(None, &keys, &restoration()).unwrap();
        let store = Store::open(&copy, &Clock::new()).unwrap();
        let found = writes_of(&store);
        store.close();
        self.check_is_one_history(&found);
    }

    fn promote(&mut self) {
        let Some(at) = Self::chosen(&mut self.dice, &self.standbys) else { return };
        let data = self.standbys.swap_remove(at);
        let (archive, keys) = (self.archive(), [master()]);
        let standby = Standby::open(&data).unwrap();
        let replay = Some(Self::replay(&archive, &keys));
        if standby.promote(replay, &keys, &restoration()).is_err() {
            return;
        }
        let store = Store::open(&data, &Clock::new()).unwrap();
        let found = writes_of(&store);
        store.close();
        self.check_is_one_history(&found);
        let missing: Vec<_> = self.kept().difference(&found).copied().collect();
        assert!(missing.is_empty(), "the promoted standby lacks {missing:?}");
        // Numbers grow, so sorting by number gives the order of the history.
        self.begin(TestDisk::holding(image_of(&data)), found.into_iter().collect());
        self.trace.push(String::from("promoted"));
    }

    /// The operator continues with one vault that has left its archive, and stops the others.
    fn begin_timeline(&mut self) {
        let is_departed = |life: &Life| life.state().is_departed();
        let Some(at) = self.lives.iter().position(is_departed) else { return };
        let old = self.lives[at].app.store.snapshot().unwrap().moment().unwrap().timeline;
        let (disk, writes) = self.lives.swap_remove(at).end();
        for other in std::mem::take(&mut self.lives) {
            self.histories.push(other.end().1);
        }
        let (data, archive) = (self.place.join("data"), self.archive());
        lay_out(&disk.durable(), &data);
        let clock = Clock::new();
        let by = (&clock, &restoration());
        let begun = begin_timeline(&data, Some(&archive), &[master()], by).unwrap();
        assert!(begun.departed.is_some() && begun.mark != TimelineMark::None);
        if begun.mark == TimelineMark::Other {
            // Two vaults could continue from here. The operator has given up everything of the
            // other.
            self.copies.clear();
            self.standbys.clear();
            self.backups.retain(|path| {
                let moment = Reader::open(path).unwrap().manifest().moment();
                moment.is_some_and(|moment| moment.timeline == old)
            });
        }
        let own = writes.iter().copied().collect();
        let lost: Vec<_> = self.archived.difference(&own).copied().collect();
        self.given_up.extend(lost);
        self.begin(TestDisk::holding(image_of(&data)), writes);
        assert_eq!(self.lives[0].state(), ArchiveState::Working);
        self.trace.push(format!("new timeline, {:?}", begun.mark));
    }

    fn step(&mut self) {
        let at = Self::chosen(&mut self.dice, &self.lives).unwrap();
        let choice = self.dice.roll(20);
        self.trace.push(format!("{choice} at {at}: {:?}", self.lives[at].state()));
        match choice {
            0..6 => self.write(at),
            6..10 => self.round(at),
            10..12 => self.lose_power(at),
            12 => self.run_copy(at, false),
            13 => self.run_copy(at, true),
            14 => self.back_up(at),
            15 => self.restore(),
            16 => self.begin_standby(),
            17 => self.follow(),
            18 => self.promote(),
            _ => self.begin_timeline(),
        }
    }
}

#[test]
fn no_history_of_copies_restores_and_promotions_loses_an_archived_write_silently() {
    let mut seen = BTreeSet::new();
    for seed in seeds_or(thorough(0..6, 0..12)) {
        let mut world = World::new(seed);
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..STEPS {
                world.step();
            }
            for _ in 0..3 {
                world.restore();
            }
        }));
        assert!(done.is_ok(), "seed {seed} failed; its steps: {:#?}", world.trace);
        let first_word = |line: &String| line.split(' ').next().unwrap().to_owned();
        seen.extend(world.trace.iter().map(first_word));
        seen.extend(world.lives.iter().map(|life| life.state().as_str().to_owned()));
        for life in world.lives {
            life.end();
        }
    }
    for what in ["restored", "refused", "promoted", "new"] {
        assert!(seen.contains(what), "no run has {what}: {seen:?}");
    }
}

#[test]
fn a_vault_that_was_superseded_under_another_master_key_refuses_changes() {
    let mut world = World::new(1);
    world.write(0);
    world.round(0);
    world.begin_standby();
    world.promote();
    let entries = fs::read_dir(world.archive()).unwrap().map(|entry| entry.unwrap().path());
    let mark = entries.into_iter().find(|path| path.extension() == Some("ended".as_ref())).unwrap();
    let mut bytes = fs::read(&mark).unwrap();
    // The check value of the master key precedes the HMAC.
    let at = bytes.len() - 40;
    bytes[at] ^= 1;
    fs::write(&mark, bytes).unwrap();
    world.round(0);
    let life = &world.lives[0];
    assert_eq!(life.state(), ArchiveState::Ended);
    let refused = life.app.require_space(Priority::Normal);
    assert!(matches!(refused, Err(Error::ReadOnly(_))), "{refused:?}");
    let condition = life.app.upkeep().archive().condition();
    let ArchiveCondition::Warning(warning) = condition else { panic!("{condition:?}") };
    assert!(warning.contains("changes are refused"), "{warning}");
    // The operator can end this state.
    world.begin_timeline();
    assert!(world.lives[0].app.require_space(Priority::Normal).is_ok());
}
