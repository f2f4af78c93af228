//! The directory of a vault's files. The engine and the keys of card verification codes reach the
//! disk only through it, so that tests can replace the disk under all of them.

mod directory;
mod overlay;

use std::fmt;
use std::io;
use std::path::PathBuf;

pub use directory::Directory;
pub(super) use overlay::OverlayVolume;

pub trait Volume: fmt::Debug + Send + Sync {
    /// Opens a file for reading and writing; `None` if no file has this name.
    fn open(&self, name: &str) -> io::Result<Option<Box<dyn VolumeFile>>>;
    /// Creates an empty file. Fails if a file of this name exists.
    fn create(&self, name: &str) -> io::Result<Box<dyn VolumeFile>>;
    /// The names of all files, in any order.
    fn names(&self) -> io::Result<Vec<String>>;
    /// Makes the names of all files durable, but not their contents.
    fn sync(&self) -> io::Result<()>;
    /// Returns false if all writes are lost when the process ends; overwriting a file is useless
    /// then.
    fn is_kept(&self) -> bool {
        true
    }
}

/// An open file. Several threads may use it.
pub trait VolumeFile: fmt::Debug + Send + Sync {
    fn len(&self) -> io::Result<u64>;
    /// Fills `out`, or fails if the file ends before that.
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;
    /// Writes all bytes. The file grows if necessary.
    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Truncates the file or extends it with zeros.
    fn set_len(&self, len: u64) -> io::Result<()>;
    /// Returns when the content and the length are durable.
    fn sync(&self) -> io::Result<()>;
    /// Locks the file against other processes until it is closed. Returns false if another process
    /// has locked it.
    fn try_lock(&self) -> io::Result<bool>;
    /// Renames the file. Fails if the new name exists, or if the old name refers to another file by
    /// now.
    fn rename(&self, to: &str) -> io::Result<()>;
    /// Removes the file's name. If the name refers to another file by now, that one stays.
    fn remove(&self) -> io::Result<()>;
    /// Checks that the file's name still refers to this file, so that the next process finds this
    /// one's writes. If not, returns the path.
    fn check_place(&self) -> Result<(), PathBuf>;
}

/// Removes a file of this name that an earlier process left.
pub(super) fn remove_left(volume: &dyn Volume, name: &str) -> io::Result<()> {
    let Some(left) = volume.open(name)? else { return Ok(()) };
    left.remove()?;
    // Otherwise a loss of power could undo the removal after the next file of this name was
    // renamed.
    volume.sync()
}
