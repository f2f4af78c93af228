//! A directory of the file system.

use std::fs::{self, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::files::{self, Identity, NamedFile};
use crate::store::failure::OpenFailure;
use crate::store::volume::{Volume, VolumeFile};

/// New files are readable by their owner only.
#[derive(Debug, Clone)]
pub struct Directory(files::Directory);

#[derive(Debug)]
struct DirectoryFile {
    named: NamedFile,
    /// The length that this process has seen or set. Only this process may truncate the file.
    len: AtomicU64,
}

impl Directory {
    /// A missing directory has no data file.
    pub fn open(path: &Path) -> Result<Self, OpenFailure> {
        files::Directory::open(path).map(Self).map_err(|error| {
            if error.kind() == io::ErrorKind::NotFound {
                return OpenFailure::Missing;
            }
            error.into()
        })
    }
}

impl From<files::Directory> for Directory {
    fn from(directory: files::Directory) -> Self {
        Self(directory)
    }
}

impl DirectoryFile {
    fn boxed(named: NamedFile) -> io::Result<Box<dyn VolumeFile>> {
        let len = AtomicU64::new(named.file().metadata()?.len());
        Ok(Box::new(Self { named, len }))
    }
}

impl Volume for Directory {
    fn open(&self, name: &str) -> io::Result<Option<Box<dyn VolumeFile>>> {
        self.0.find(name)?.map(DirectoryFile::boxed).transpose()
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn VolumeFile>> {
        let named = self.0.create(name)?;
        named.give_to_owner()?;
        DirectoryFile::boxed(named)
    }

    fn names(&self) -> io::Result<Vec<String>> {
        // All file names of a vault are text.
        Ok(self.0.names()?.into_iter().filter_map(|name| name.into_string().ok()).collect())
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync()
    }
}

impl VolumeFile for DirectoryFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.named.file().metadata()?.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.named.file().read_exact_at(out, offset)
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.named.file().write_all_at(bytes, offset)?;
        let end = u64::try_from(bytes.len()).ok().and_then(|len| offset.checked_add(len));
        self.len.fetch_max(end.unwrap_or(offset), Ordering::Relaxed);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        // Lowered before the file is cut and raised after it has grown: a concurrent check must not
        // mistake this for another process's work.
        self.len.fetch_min(len, Ordering::Relaxed);
        self.named.file().set_len(len)?;
        self.len.fetch_max(len, Ordering::Relaxed);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.named.file().sync_data()
    }

    fn try_lock(&self) -> io::Result<bool> {
        match self.named.file().try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn rename(&self, to: &str) -> io::Result<()> {
        self.named.rename(to)
    }

    fn remove(&self) -> io::Result<()> {
        self.named.remove()
    }

    /// Ignores errors other than a missing file; the disk monitoring reports them.
    fn check_place(&self) -> Result<(), PathBuf> {
        let len = self.len.load(Ordering::Relaxed);
        let path = self.named.path();
        let is_in_place = match fs::metadata(&path) {
            Ok(found) => {
                Identity::of(&found) == self.named.identity()
                    && found.nlink() > 0
                    && found.len() >= len
            }
            Err(error) => {
                !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
            }
        };
        is_in_place.then_some(()).ok_or(path)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;

    use super::*;
    use crate::store::tests::TestDirectory;

    #[test]
    fn a_file_that_was_removed_renamed_or_replaced_is_noticed() {
        let directory = TestDirectory::new();
        let volume = Directory::open(directory.path()).unwrap();
        let file = volume.create("a").unwrap();
        let (path, other) = (directory.join("a"), directory.join("b"));
        assert!(file.check_place().is_ok());
        fs::hard_link(&path, &other).unwrap();
        assert!(file.check_place().is_ok(), "a second name takes nothing away");
        fs::remove_file(&path).unwrap();
        assert!(file.check_place().is_err());
        fs::rename(&other, &path).unwrap();
        assert!(file.check_place().is_ok(), "moved back");
        fs::write(&other, "another").unwrap();
        fs::rename(&other, &path).unwrap();
        assert!(file.check_place().is_err(), "replaced");
        let inner = directory.join("inner");
        fs::create_dir(&inner).unwrap();
        let file = Directory::open(&inner).unwrap().create("a").unwrap();
        fs::rename(&inner, directory.join("moved")).unwrap();
        assert!(file.check_place().is_err(), "its directory was moved");
        fs::write(&inner, "no directory").unwrap();
        assert!(file.check_place().is_err());
    }

    #[test]
    fn a_file_that_another_process_cut_is_noticed() {
        let directory = TestDirectory::new();
        let file = Directory::open(directory.path()).unwrap().create("a").unwrap();
        file.write(0, &[1; 100]).unwrap();
        file.set_len(50).unwrap();
        assert!(file.check_place().is_ok(), "it has cut the file itself");
        file.set_len(200).unwrap();
        let other = OpenOptions::new().write(true).open(directory.join("a")).unwrap();
        other.set_len(300).unwrap();
        assert!(file.check_place().is_ok(), "nothing is lost");
        other.set_len(199).unwrap();
        assert!(file.check_place().is_err());
    }

    #[test]
    fn a_file_is_created_once_and_can_be_missing() {
        let directory = TestDirectory::new();
        let volume = Directory::open(directory.path()).unwrap();
        assert!(volume.open("a").unwrap().is_none());
        volume.create("a").unwrap().write(3, b"abc").unwrap();
        assert_eq!(volume.create("a").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        let file = volume.open("a").unwrap().unwrap();
        let mut read = [9; 6];
        file.read(0, &mut read).unwrap();
        assert_eq!((&read, file.len().unwrap()), (b"\0\0\0abc", 6));
        assert!(file.read(1, &mut read).is_err(), "behind the end");
        assert_eq!(volume.names().unwrap(), ["a"]);
        file.remove().unwrap();
        file.remove().unwrap();
        assert!(volume.names().unwrap().is_empty());
    }
}
