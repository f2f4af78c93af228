//! A volume in memory that fails on request. It keeps synced and unsynced writes apart, so that a
//! test can cut the power and look at the rest.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::store::volume::{Volume, VolumeFile};
use crate::waiting::{PATIENCE, TEST_MAX};

pub(crate) const EIO: i32 = 5;
pub(crate) const ENOSPC: i32 = 28;
pub(crate) const EROFS: i32 = 30;

/// The unit that a disk writes completely or not at all.
const SECTOR_BYTES: usize = 512;

pub(crate) type Image = BTreeMap<String, Vec<u8>>;

/// Clones share the disk.
#[derive(Clone)]
pub(crate) struct TestDisk(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    files: Vec<FileState>,
    durable_names: BTreeMap<String, usize>,
    names: BTreeMap<String, usize>,
    /// Changes of `names` that are not yet in `durable_names`, in order.
    unsynced_names: Vec<NameChange>,
    counts: Counts,
    plan: Option<Plan>,
    off: bool,
}

#[derive(Default)]
struct FileState {
    durable: Vec<u8>,
    volatile: Vec<u8>,
    /// The writes in `volatile` that are not yet in `durable`, in order.
    unsynced: Vec<Unsynced>,
}

#[derive(Clone)]
enum NameChange {
    Create(String, usize),
    Remove(String),
    Rename(String, String),
}

enum Unsynced {
    Bytes(usize, Vec<u8>),
    Length(usize),
}

#[derive(Default)]
struct Counts {
    reads: usize,
    syncs: usize,
    writes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Read,
    /// Of a file, or of the names of all files.
    Sync,
    /// Includes setting the length, creating, renaming and removing.
    Write,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// This operation and all later ones of its kind fail.
    Always(i32),
    /// The operation waits until [`TestDisk::release`].
    Block,
    /// The process is killed: this operation and all later ones fail, and earlier writes stay.
    Kill,
    /// Only this operation fails. Content that a failed sync did not keep is never kept, although
    /// it can be read until the power fails.
    Once(i32),
    Panic,
    PowerLoss(Fate),
}

/// The fate of unsynced writes in a loss of power.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Lost,
    Reached,
    /// An arbitrary part of the sectors and of the name changes reaches the disk, as the seed
    /// determines.
    Torn(u64),
}

#[derive(Clone, Copy)]
struct Plan {
    operation: Operation,
    nth: usize,
    fault: Fault,
}

impl TestDisk {
    pub(crate) fn new() -> Self {
        Self::holding(Image::new())
    }

    pub(crate) fn holding(image: Image) -> Self {
        let mut state = State::default();
        for (name, bytes) in image {
            state.names.insert(name, state.files.len());
            let file = FileState { durable: bytes.clone(), volatile: bytes, unsynced: Vec::new() };
            state.files.push(file);
        }
        state.durable_names.clone_from(&state.names);
        Self(Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() }))
    }

    pub(crate) fn with_data_file(bytes: Vec<u8>) -> Self {
        Self::holding(Image::from([(String::from(crate::store::Store::FILE), bytes)]))
    }

    pub(crate) fn volume(&self) -> Arc<dyn Volume> {
        Arc::new(self.clone())
    }

    /// The n-th operation of this kind from now on, counted from one, fails like this.
    pub(crate) fn plan(&self, operation: Operation, nth: usize, fault: Fault) {
        let mut state = self.lock();
        let nth = state.counts.of(operation).saturating_add(nth);
        state.plan = Some(Plan { operation, nth, fault });
    }

    pub(crate) fn release(&self) {
        self.lock().plan = None;
        self.0.changed.notify_all();
    }

    pub(crate) fn count(&self, operation: Operation) -> usize {
        *self.lock().counts.of(operation)
    }

    /// Returns when this number of operations have begun since the disk was made.
    pub(crate) fn wait_for(&self, operation: Operation, count: usize) {
        let is_missing = |state: &mut State| *state.counts.of(operation) < count;
        let waited = self.0.changed.wait_timeout_while(self.lock(), PATIENCE, is_missing);
        let timeout = waited.unwrap_or_else(PoisonError::into_inner).1;
        assert!(!timeout.timed_out(), "waited {PATIENCE:?} in vain: {operation:?} number {count}");
    }

    pub(crate) fn lose_power(&self, fate: Fate) {
        self.lock().lose_power(fate);
    }

    /// Ends this process's use of the disk. Its writes stay.
    pub(crate) fn kill(&self) {
        self.lock().off = true;
    }

    /// True after a loss of power or a kill, until [`TestDisk::restart`].
    pub(crate) fn is_off(&self) -> bool {
        self.lock().off
    }

    /// Lets a new process use the disk, without planned faults. Unsynced writes stay unsynced,
    /// unless the power was lost.
    pub(crate) fn restart(&self) {
        let mut state = self.lock();
        state.off = false;
        state.plan = None;
    }

    /// The files after a loss of power now, if no unsynced write reached the disk.
    pub(crate) fn durable(&self) -> Image {
        let state = self.lock();
        let file = |(name, at): (&String, &usize)| (name.clone(), state.files[*at].durable.clone());
        state.durable_names.iter().map(file).collect()
    }

    /// The files as another process would read them now.
    pub(crate) fn volatile(&self) -> Image {
        let state = self.lock();
        let file =
            |(name, at): (&String, &usize)| (name.clone(), state.files[*at].volatile.clone());
        state.names.iter().map(file).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an operation and fails it if that is planned. `file` is the file that a sync was to
    /// keep.
    fn begin(
        &self,
        operation: Operation,
        file: Option<usize>,
    ) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.lock();
        if state.off {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        let count = state.counts.of(operation);
        *count = count.saturating_add(1);
        let count = *count;
        self.0.changed.notify_all();
        let plan = state.plan.filter(|plan| plan.operation == operation && plan.nth <= count);
        match plan.map(|plan| plan.fault) {
            None => Ok(state),
            Some(Fault::Always(errno)) => Err(io::Error::from_raw_os_error(errno)),
            Some(Fault::Block) => {
                // The writer thread fails at the deadline, so that closing the store returns.
                let is_held = |state: &mut State| state.plan.is_some();
                let waited = self.0.changed.wait_timeout_while(state, TEST_MAX, is_held);
                let (state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
                if timeout.timed_out() {
                    return Err(io::Error::from_raw_os_error(EIO));
                }
                Ok(state)
            }
            Some(Fault::Kill) => {
                state.off = true;
                Err(io::Error::from_raw_os_error(EIO))
            }
            Some(Fault::Once(errno)) => {
                state.plan = None;
                // Names and lengths can be synced again: a file system that cannot keep them stops.
                if let Some(file) = file.filter(|_| operation == Operation::Sync) {
                    let is_length = |it: &Unsynced| matches!(it, Unsynced::Length(_));
                    state.files[file].unsynced.retain(is_length);
                }
                Err(io::Error::from_raw_os_error(errno))
            }
            Some(Fault::Panic) => {
                state.plan = None;
                drop(state);
                panic!("the disk was told to panic")
            }
            Some(Fault::PowerLoss(fate)) => {
                state.lose_power(fate);
                Err(io::Error::from_raw_os_error(EIO))
            }
        }
    }
}

impl Counts {
    fn of(&mut self, operation: Operation) -> &mut usize {
        match operation {
            Operation::Read => &mut self.reads,
            Operation::Sync => &mut self.syncs,
            Operation::Write => &mut self.writes,
        }
    }
}

impl NameChange {
    fn reach(self, names: &mut BTreeMap<String, usize>) {
        match self {
            Self::Create(name, file) => drop(names.insert(name, file)),
            Self::Remove(name) => drop(names.remove(&name)),
            Self::Rename(from, to) => {
                if let Some(file) = names.remove(&from) {
                    names.insert(to, file);
                }
            }
        }
    }
}

impl State {
    fn name_of(&self, number: usize) -> Option<String> {
        self.names.iter().find(|(_, file)| **file == number).map(|(name, _)| name.clone())
    }

    fn change_names(&mut self, change: NameChange) {
        change.clone().reach(&mut self.names);
        self.unsynced_names.push(change);
    }

    fn sync_names(&mut self) {
        for change in std::mem::take(&mut self.unsynced_names) {
            change.reach(&mut self.durable_names);
        }
    }

    fn lose_power(&mut self, fate: Fate) {
        let mut dice = Dice(if let Fate::Torn(seed) = fate { seed } else { 0 });
        for file in &mut self.files {
            file.lose_power(fate, &mut dice);
        }
        match fate {
            Fate::Lost => self.unsynced_names.clear(),
            Fate::Reached => self.sync_names(),
            Fate::Torn(_) => {
                for change in std::mem::take(&mut self.unsynced_names) {
                    if dice.roll(2) == 0 {
                        change.reach(&mut self.durable_names);
                    }
                }
            }
        }
        self.names.clone_from(&self.durable_names);
        self.off = true;
    }
}

impl FileState {
    fn sync(&mut self) {
        for write in std::mem::take(&mut self.unsynced) {
            write.reach(&mut self.durable);
        }
    }

    fn lose_power(&mut self, fate: Fate, dice: &mut Dice) {
        match fate {
            Fate::Lost => self.unsynced.clear(),
            Fate::Reached => self.sync(),
            Fate::Torn(_) => {
                for write in std::mem::take(&mut self.unsynced) {
                    for piece in write.sectors() {
                        if dice.roll(2) == 0 {
                            piece.reach(&mut self.durable);
                        }
                    }
                }
            }
        }
        self.volatile.clone_from(&self.durable);
    }
}

impl Unsynced {
    /// Bytes beyond the end are lost with the length that would have held them.
    fn reach(self, image: &mut Vec<u8>) {
        match self {
            Self::Bytes(offset, bytes) => {
                let kept = image.len().saturating_sub(offset).min(bytes.len());
                if kept > 0 {
                    image[offset..offset + kept].copy_from_slice(&bytes[..kept]);
                }
            }
            Self::Length(length) => image.resize(length, 0),
        }
    }

    fn sectors(self) -> Vec<Self> {
        let Self::Bytes(mut offset, bytes) = self else {
            return vec![self];
        };
        let mut pieces = Vec::new();
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let length = (SECTOR_BYTES - offset % SECTOR_BYTES).min(rest.len());
            let (piece, others) = rest.split_at(length);
            pieces.push(Self::Bytes(offset, piece.to_vec()));
            (offset, rest) = (offset + length, others);
        }
        pieces
    }
}

#[derive(Debug)]
struct TestFile {
    disk: TestDisk,
    number: usize,
}

impl Volume for TestDisk {
    fn open(&self, name: &str) -> io::Result<Option<Box<dyn VolumeFile>>> {
        let number = self.begin(Operation::Read, None)?.names.get(name).copied();
        let file =
            |number| -> Box<dyn VolumeFile> { Box::new(TestFile { disk: self.clone(), number }) };
        Ok(number.map(file))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn VolumeFile>> {
        let mut state = self.begin(Operation::Write, None)?;
        if state.names.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let number = state.files.len();
        state.files.push(FileState::default());
        state.change_names(NameChange::Create(String::from(name), number));
        Ok(Box::new(TestFile { disk: self.clone(), number }))
    }

    fn names(&self) -> io::Result<Vec<String>> {
        Ok(self.begin(Operation::Read, None)?.names.keys().cloned().collect())
    }

    fn sync(&self) -> io::Result<()> {
        self.begin(Operation::Sync, None)?.sync_names();
        Ok(())
    }
}

impl VolumeFile for TestFile {
    fn len(&self) -> io::Result<u64> {
        Ok(u64::try_from(self.disk.lock().files[self.number].volatile.len()).unwrap())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.disk.begin(Operation::Read, None)?;
        let offset = usize::try_from(offset).unwrap();
        let bytes = state.files[self.number].volatile.get(offset..offset + out.len());
        out.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.disk.begin(Operation::Write, None)?;
        let length = usize::try_from(len).unwrap();
        let file = &mut state.files[self.number];
        file.volatile.resize(length, 0);
        file.unsynced.push(Unsynced::Length(length));
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.begin(Operation::Sync, Some(self.number))?.files[self.number].sync();
        Ok(())
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.disk.begin(Operation::Write, None)?;
        let offset = usize::try_from(offset).unwrap();
        let file = &mut state.files[self.number];
        let end = offset + bytes.len();
        if end > file.volatile.len() {
            file.volatile.resize(end, 0);
            file.unsynced.push(Unsynced::Length(end));
        }
        file.volatile[offset..end].copy_from_slice(bytes);
        file.unsynced.push(Unsynced::Bytes(offset, bytes.to_vec()));
        Ok(())
    }

    fn try_lock(&self) -> io::Result<bool> {
        Ok(true)
    }

    fn rename(&self, to: &str) -> io::Result<()> {
        let mut state = self.disk.begin(Operation::Write, None)?;
        let from = state.name_of(self.number).ok_or(io::ErrorKind::NotFound)?;
        if state.names.contains_key(to) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.change_names(NameChange::Rename(from, String::from(to)));
        Ok(())
    }

    fn remove(&self) -> io::Result<()> {
        let mut state = self.disk.begin(Operation::Write, None)?;
        if let Some(name) = state.name_of(self.number) {
            state.change_names(NameChange::Remove(name));
        }
        Ok(())
    }

    /// Like a directory, which identifies the file by its inode.
    fn check_place(&self) -> Result<(), PathBuf> {
        let is_named = self.disk.lock().name_of(self.number).is_some();
        is_named.then_some(()).ok_or_else(PathBuf::new)
    }
}

opaque_debug!(TestDisk);

/// Pseudo-random numbers, repeatable by seed.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// Returns a number below `sides`.
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }
}

#[test]
fn a_power_loss_keeps_what_was_synced_and_a_part_of_the_rest() {
    let kept = |fate| {
        let disk = TestDisk::new();
        let file = disk.create("a").unwrap();
        Volume::sync(&disk).unwrap();
        file.set_len(4 * 512).unwrap();
        file.write(0, &[1; 512]).unwrap();
        file.sync().unwrap();
        file.write(256, &[2; 1_024]).unwrap();
        disk.plan(Operation::Sync, 1, Fault::PowerLoss(fate));
        assert!(file.sync().is_err());
        assert!(file.read(0, &mut [0; 1]).is_err(), "it is off");
        disk.durable().remove("a").unwrap()
    };
    let (lost, reached) = (kept(Fate::Lost), kept(Fate::Reached));
    assert_eq!((lost[0], lost[256], lost[512]), (1, 1, 0));
    assert_eq!((reached[0], reached[256], reached[1_279], reached[1_280]), (1, 2, 2, 0));
    let torn: std::collections::BTreeSet<_> = (0..64)
        .map(|seed| kept(Fate::Torn(seed)))
        .map(|it| (it[256], it[512], it[1_024]))
        .collect();
    assert_eq!(torn.len(), 8, "each of three sectors is old in one and new in another");
}

#[test]
fn a_power_loss_takes_names_that_were_not_synced() {
    let disk = TestDisk::new();
    let file = disk.create("a").unwrap();
    file.sync().unwrap();
    assert!(disk.durable().is_empty(), "the content is synced, the name is not");
    Volume::sync(&disk).unwrap();
    file.rename("b").unwrap();
    assert_eq!(disk.durable().into_keys().collect::<Vec<_>>(), ["a"]);
    disk.lose_power(Fate::Reached);
    assert_eq!(disk.durable().into_keys().collect::<Vec<_>>(), ["b"]);
}
