//! Watches the first bytes of the data file: if another process has overwritten them, nothing more
//! is written.
//!
//! The first bytes name the newest transaction, so they change with every one. A copy that was put
//! back with `cp` has the same name and inode as the open file, but other bytes.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::lock::Lock;
use crate::store::failure::StorageFailure;
use crate::store::volume::VolumeFile;

/// The number of compared bytes. redb's header is shorter.
const HEAD_BYTES: usize = 512;

#[derive(Debug)]
pub(in crate::store) struct WatchedFile {
    pub(super) file: Arc<dyn VolumeFile>,
    head: Lock<Head>,
}

/// The first bytes as this process wrote them last.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Head {
    /// The file is being opened.
    Unknown,
    Known(Vec<u8>),
    /// Another process has overwritten them.
    Replaced,
}

impl WatchedFile {
    pub(super) fn new(file: Arc<dyn VolumeFile>) -> Self {
        Self { file, head: Lock::new(Head::Unknown) }
    }

    /// Reads the first bytes once redb has opened the file.
    pub(super) fn remember_head(&self) -> io::Result<()> {
        let mut head = self.head.lock();
        *head = Head::Known(self.read_head()?);
        Ok(())
    }

    pub(super) fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut head = self.head.lock();
        match &mut *head {
            Head::Replaced => return Err(replaced()),
            Head::Known(known) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX);
                for (to, from) in known.iter_mut().skip(start).zip(bytes) {
                    *to = *from;
                }
            }
            Head::Unknown => (),
        }
        if offset >= HEAD_LEN {
            // Only writes to the head need the lock.
            drop(head);
        }
        self.file.write(offset, bytes)
    }

    pub(super) fn set_len(&self, len: u64) -> io::Result<()> {
        if *self.head.lock() == Head::Replaced {
            return Err(replaced());
        }
        self.file.set_len(len)
    }

    pub(super) fn check_place(&self) -> Result<(), StorageFailure> {
        self.file.check_place().map_err(StorageFailure::Removed)
    }

    /// Checks that no other process has overwritten the first bytes. After that, writes fail. A
    /// read error is left for the reads of rows to report.
    pub(super) fn check_head(&self) -> Result<(), StorageFailure> {
        let mut head = self.head.lock();
        match &*head {
            Head::Known(known) => match self.read_head() {
                Ok(found) if found != *known => (),
                Ok(_) | Err(_) => return Ok(()),
            },
            Head::Replaced => (),
            Head::Unknown => return Ok(()),
        }
        *head = Head::Replaced;
        Err(StorageFailure::Removed(PathBuf::from(super::file::NAME)))
    }

    fn read_head(&self) -> io::Result<Vec<u8>> {
        let mut head = vec![0; HEAD_BYTES];
        self.file.read(0, &mut head)?;
        Ok(head)
    }
}

const HEAD_LEN: u64 = 512;

fn replaced() -> io::Error {
    io::Error::other("the data file was replaced")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::disk::{Fault, Operation, TestDisk};
    use crate::store::volume::Volume as _;

    #[test]
    fn a_file_that_another_process_has_written_over_is_noticed_and_not_written_again() {
        let disk = TestDisk::new();
        let other = disk.create("a").unwrap();
        other.write(0, &[1; 2_000]).unwrap();
        let file = WatchedFile::new(Arc::from(disk.open("a").unwrap().unwrap()));
        file.remember_head().unwrap();
        file.write(100, &[2; 1_000]).unwrap();
        file.write(1_500, &[3; 10]).unwrap();
        assert!(file.check_head().is_ok(), "these are its own");
        other.write(1_500, &[4; 10]).unwrap();
        assert!(file.check_head().is_ok(), "the rest is not compared");
        other.write(511, &[5]).unwrap();
        assert!(matches!(file.check_head(), Err(StorageFailure::Removed(_))));
        assert!(file.write(1_500, &[3]).is_err() && file.set_len(9_000).is_err());
        other.write(511, &[2]).unwrap();
        assert!(file.check_head().is_err(), "it is not trusted again");
    }

    #[test]
    fn a_check_waits_for_a_write_of_the_head_and_for_no_other() {
        for (offset, waits) in [(0, true), (511, true), (512, false)] {
            let disk = TestDisk::new();
            disk.create("a").unwrap().write(0, &[1; 2_000]).unwrap();
            let file = WatchedFile::new(Arc::from(disk.open("a").unwrap().unwrap()));
            file.remember_head().unwrap();
            let writes = disk.count(Operation::Write);
            disk.plan(Operation::Write, 1, Fault::Block);
            std::thread::scope(|scope| {
                let writing = scope.spawn(|| file.write(offset, &[2; 10]));
                disk.wait_for(Operation::Write, writes + 1);
                let is_locked = file.head.try_lock().is_none();
                disk.release();
                writing.join().unwrap().unwrap();
                assert_eq!(is_locked, waits, "{offset}");
            });
            file.check_head().unwrap();
        }
    }
}
