//! A read-only view of a directory, or an empty one: all writes stay in memory and are lost when
//! the process ends.
//!
//! The engine writes even to files that are only read: a mark that the data file is open, the state
//! of its allocator, and after a crash the recovered pages and a new log segment. Here these writes
//! go to blocks in memory. A vault on a read-only mount can therefore be verified, and a vault that
//! is evidence stays unchanged.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use crate::bounds::OVERLAY_BYTES_MAX;
use crate::files::Directory;
use crate::lock::Lock;
use crate::store::volume::{Volume, VolumeFile};

const BLOCK_BYTES: usize = 4096;
const BLOCK: u64 = 4096;

/// The files of a directory as they were when each was opened, with changes in memory.
#[derive(Debug)]
pub(in crate::store) struct OverlayVolume {
    /// `None` for files that exist only in memory.
    directory: Option<PathBuf>,
    changed: Arc<Names>,
}

/// The files that were opened, created or removed. `None` for a removed file.
type Names = Lock<BTreeMap<String, Option<Arc<Overlay>>>>;

/// A file and the blocks written over it.
#[derive(Debug)]
struct Overlay {
    /// `None` for a file that exists only in memory.
    file: Option<File>,
    written: Lock<OverlayBlocks>,
    names: Weak<Names>,
}

struct OverlayBlocks {
    /// The written blocks by number. All other blocks are read from the file.
    blocks: BTreeMap<u64, Box<[u8]>>,
    len: u64,
    /// The part of the file that is still valid: shorter than the file if the length was ever
    /// reduced.
    file_len: u64,
}

// The bytes may be keys.
opaque_debug!(OverlayBlocks);

impl OverlayVolume {
    pub(in crate::store) fn new(directory: &Path) -> Self {
        Self { directory: Some(directory.to_path_buf()), changed: Arc::default() }
    }

    pub(in crate::store) fn in_memory() -> Self {
        Self { directory: None, changed: Arc::default() }
    }

    fn find(&self, name: &str) -> io::Result<Option<Arc<Overlay>>> {
        let mut changed = self.changed.lock();
        if let Some(known) = changed.get(name) {
            return Ok(known.clone());
        }
        let Some(directory) = &self.directory else { return Ok(None) };
        let Some(file) = Directory::open(directory)?.hold(name)? else { return Ok(None) };
        let overlay = Arc::new(Overlay::over(file.into_file(), &self.changed)?);
        changed.insert(String::from(name), Some(Arc::clone(&overlay)));
        Ok(Some(overlay))
    }
}

impl Volume for OverlayVolume {
    fn open(&self, name: &str) -> io::Result<Option<Box<dyn VolumeFile>>> {
        Ok(self.find(name)?.map(|file| -> Box<dyn VolumeFile> { Box::new(file) }))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn VolumeFile>> {
        if self.find(name)?.is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let file = Arc::new(Overlay::empty(&self.changed));
        self.changed.lock().insert(String::from(name), Some(Arc::clone(&file)));
        Ok(Box::new(file))
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        if let Some(directory) = &self.directory {
            for entry in fs::read_dir(directory)? {
                names.extend(entry?.file_name().into_string());
            }
        }
        let changed = self.changed.lock();
        names.retain(|name| !changed.contains_key(name));
        names.extend(changed.iter().filter(|(_, file)| file.is_some()).map(|it| it.0.clone()));
        Ok(names)
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn is_kept(&self) -> bool {
        false
    }
}

impl Overlay {
    fn over(file: File, names: &Arc<Names>) -> io::Result<Self> {
        let len = file.metadata()?.len();
        let written = Lock::new(OverlayBlocks { blocks: BTreeMap::new(), len, file_len: len });
        Ok(Self { file: Some(file), written, names: Arc::downgrade(names) })
    }

    fn empty(names: &Arc<Names>) -> Self {
        let written = OverlayBlocks { blocks: BTreeMap::new(), len: 0, file_len: 0 };
        Self { file: None, written: Lock::new(written), names: Arc::downgrade(names) }
    }

    /// Removes the file's name, and gives it a new one if there is one.
    fn move_to(self: &Arc<Self>, to: Option<&str>) -> io::Result<()> {
        let names = self.names.upgrade().ok_or(io::ErrorKind::NotFound)?;
        let mut names = names.lock();
        let is_this =
            |file: &Option<Arc<Self>>| file.as_ref().is_some_and(|it| Arc::ptr_eq(it, self));
        if let Some(place) = names.values_mut().find(|file| is_this(file)) {
            *place = None;
        }
        if let Some(to) = to {
            names.insert(String::from(to), Some(Arc::clone(self)));
        }
        Ok(())
    }

    /// Reads a block from the file, padded with zeros.
    fn block_of_file(&self, number: u64, file_len: u64) -> io::Result<Box<[u8]>> {
        let mut block = vec![0; BLOCK_BYTES].into_boxed_slice();
        let start = number.saturating_mul(BLOCK);
        let there = file_len.saturating_sub(start).min(BLOCK);
        let there = usize::try_from(there).map_err(|_large| too_far())?;
        let part = block.get_mut(..there).ok_or_else(too_far)?;
        if let Some(file) = &self.file {
            file.read_exact_at(part, start)?;
        }
        Ok(block)
    }
}

impl VolumeFile for Arc<Overlay> {
    fn len(&self) -> io::Result<u64> {
        Ok(self.written.lock().len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let written = self.written.lock();
        let length = u64::try_from(out.len()).map_err(|_large| too_far())?;
        if offset.checked_add(length).is_none_or(|end| end > written.len) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        for Piece { number, from, part } in pieces(offset, out.len()) {
            let out = out.get_mut(part).ok_or_else(too_far)?;
            if let Some(block) = written.blocks.get(&number) {
                copy(out, block.get(from..).ok_or_else(too_far)?);
            } else {
                let block = self.block_of_file(number, written.file_len)?;
                copy(out, block.get(from..).ok_or_else(too_far)?);
            }
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut written = self.written.lock();
        if len < written.len {
            // If the length grows again, the bytes behind the old end must be zeros.
            let last = len.div_euclid(BLOCK);
            let rest = usize::try_from(len.rem_euclid(BLOCK)).map_err(|_large| too_far())?;
            written.blocks.retain(|number, _| *number <= last);
            if let Some(tail) = written.blocks.get_mut(&last).and_then(|it| it.get_mut(rest..)) {
                tail.fill(0);
            }
            written.file_len = written.file_len.min(len);
        }
        written.len = len;
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    /// A shared lock: other readers may have the file open, but no writer.
    fn try_lock(&self) -> io::Result<bool> {
        match self.file.as_ref().map(File::try_lock_shared) {
            None | Some(Ok(())) => Ok(true),
            Some(Err(TryLockError::WouldBlock)) => Ok(false),
            Some(Err(TryLockError::Error(error))) => Err(error),
        }
    }

    fn rename(&self, to: &str) -> io::Result<()> {
        self.move_to(Some(to))
    }

    fn remove(&self) -> io::Result<()> {
        self.move_to(None)
    }

    fn check_place(&self) -> Result<(), PathBuf> {
        Ok(())
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut written = self.written.lock();
        for Piece { number, from, part } in pieces(offset, bytes.len()) {
            if !written.blocks.contains_key(&number) {
                let held = written.blocks.len().saturating_mul(BLOCK_BYTES);
                if held >= OVERLAY_BYTES_MAX {
                    return Err(io::ErrorKind::OutOfMemory.into());
                }
                let block = self.block_of_file(number, written.file_len)?;
                written.blocks.insert(number, block);
            }
            let block = written.blocks.get_mut(&number).and_then(|it| it.get_mut(from..));
            copy(block.ok_or_else(too_far)?, bytes.get(part).ok_or_else(too_far)?);
        }
        let end = u64::try_from(bytes.len()).ok().and_then(|length| offset.checked_add(length));
        written.len = written.len.max(end.ok_or_else(too_far)?);
        Ok(())
    }
}

/// The part of a read or write within one block.
struct Piece {
    number: u64,
    /// The offset in the block.
    from: usize,
    /// The range in the caller's bytes.
    part: std::ops::Range<usize>,
}

fn pieces(offset: u64, length: usize) -> impl Iterator<Item = Piece> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done >= length {
            return None;
        }
        let at = offset.saturating_add(u64::try_from(done).ok()?);
        let from = usize::try_from(at.rem_euclid(BLOCK)).ok()?;
        let end = done.saturating_add(BLOCK_BYTES.saturating_sub(from)).min(length);
        let piece = Piece { number: at.div_euclid(BLOCK), from, part: done..end };
        done = end;
        Some(piece)
    })
}

fn copy(to: &mut [u8], from: &[u8]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
    }
}

fn too_far() -> io::Error {
    io::ErrorKind::InvalidInput.into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

    fn overlay(bytes: &[u8]) -> (Arc<Overlay>, PathBuf) {
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("sr-overlay-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, bytes).unwrap();
        (Arc::new(Overlay::over(File::open(&path).unwrap(), &Arc::default()).unwrap()), path)
    }

    #[derive(Debug, Clone)]
    enum Operation {
        SetLen(u64),
        Write(u64, Vec<u8>),
    }

    fn operation() -> impl Strategy<Value = Operation> {
        prop_oneof![
            (0_u64..30_000).prop_map(Operation::SetLen),
            (0_u64..20_000, prop::collection::vec(1_u8.., 1..9_000))
                .prop_map(|(at, bytes)| Operation::Write(at, bytes)),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn it_reads_as_a_file_would_and_the_file_stays_as_it_was(
            length in 0_usize..20_000, operations in prop::collection::vec(operation(), 0..8),
        ) {
            let original: Vec<u8> = (0..length).map(|at| u8::try_from(at % 251).unwrap()).collect();
            let (overlay, path) = overlay(&original);
            let mut model = original.clone();
            for operation in operations {
                match operation {
                    Operation::SetLen(len) => {
                        overlay.set_len(len).unwrap();
                        model.resize(usize::try_from(len).unwrap(), 0);
                    }
                    Operation::Write(at, bytes) => {
                        overlay.write(at, &bytes).unwrap();
                        let at = usize::try_from(at).unwrap();
                        model.resize(model.len().max(at + bytes.len()), 0);
                        model[at..at + bytes.len()].copy_from_slice(&bytes);
                    }
                }
            }
            prop_assert_eq!(overlay.len().unwrap(), u64::try_from(model.len()).unwrap());
            let mut read = vec![0; model.len()];
            overlay.read(0, &mut read).unwrap();
            prop_assert!(read == model);
            prop_assert!(overlay.read(1, &mut read).is_err() || read.is_empty());
            prop_assert!(fs::read(&path).unwrap() == original);
            fs::remove_file(path).unwrap();
        }
    }
}
