//! A directory of the file system.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _, fchown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::store::volume::{Volume, VolumeFile};

/// The files of this directory. New files are for the owner alone.
#[derive(Debug, Clone)]
pub struct Directory(PathBuf);

/// An open file, and the path that it was opened under. It stays open, so its inode number is not
/// reused.
#[derive(Debug)]
struct DirectoryFile {
    file: File,
    path: PathBuf,
    device: u64,
    inode: u64,
    /// The length that this process has seen or made. Only this process may cut the file.
    len: AtomicU64,
}

impl Directory {
    pub fn new(path: &Path) -> Self {
        Self(path.to_path_buf())
    }
}

impl DirectoryFile {
    fn new(file: File, path: PathBuf) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let len = AtomicU64::new(metadata.len());
        Ok(Self { file, path, device: metadata.dev(), inode: metadata.ino(), len })
    }
}

impl Volume for Directory {
    fn open(&self, name: &str) -> io::Result<Option<Box<dyn VolumeFile>>> {
        let path = self.0.join(name);
        match OpenOptions::new().read(true).write(true).open(&path) {
            Ok(file) => Ok(Some(Box::new(DirectoryFile::new(file, path)?))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn VolumeFile>> {
        let path = self.0.join(name);
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        // A command that root runs must not leave files that the server cannot open.
        let owner = fs::metadata(&self.0)?;
        if rustix::process::geteuid().is_root() && owner.uid() != 0 {
            fchown(&file, Some(owner.uid()), Some(owner.gid()))?;
        }
        Ok(Box::new(DirectoryFile::new(file, path)?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.0.join(from), self.0.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        match fs::remove_file(self.0.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            // No file of a vault has a name that is not text.
            names.extend(entry?.file_name().into_string());
        }
        Ok(names)
    }

    fn sync(&self) -> io::Result<()> {
        File::open(&self.0)?.sync_all()
    }
}

impl VolumeFile for DirectoryFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(out, offset)
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)?;
        let end = u64::try_from(bytes.len()).ok().and_then(|len| offset.checked_add(len));
        self.len.fetch_max(end.unwrap_or(offset), Ordering::Relaxed);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        // Lowered before the file is cut and raised after it has grown: a check at the same time must
        // not take this for the work of another process.
        self.len.fetch_min(len, Ordering::Relaxed);
        self.file.set_len(len)?;
        self.len.fetch_max(len, Ordering::Relaxed);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn try_lock(&self) -> io::Result<bool> {
        match self.file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Errors other than a missing file are ignored here: the monitoring of the disk reports them.
    fn check_place(&self) -> Result<(), PathBuf> {
        let len = self.len.load(Ordering::Relaxed);
        let is_in_place = match fs::metadata(&self.path) {
            Ok(found) => {
                (found.dev(), found.ino()) == (self.device, self.inode)
                    && found.nlink() > 0
                    && found.len() >= len
            }
            Err(error) => {
                !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
            }
        };
        is_in_place.then_some(()).ok_or_else(|| self.path.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::TestDirectory;

    #[test]
    fn a_file_that_was_removed_renamed_or_replaced_is_noticed() {
        let directory = TestDirectory::new();
        let volume = Directory::new(directory.path());
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
        let file = Directory::new(&inner).create("a").unwrap();
        fs::rename(&inner, directory.join("moved")).unwrap();
        assert!(file.check_place().is_err(), "its directory was moved");
        fs::write(&inner, "no directory").unwrap();
        assert!(file.check_place().is_err());
    }

    #[test]
    fn a_file_that_another_process_cut_is_noticed() {
        let directory = TestDirectory::new();
        let file = Directory::new(directory.path()).create("a").unwrap();
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
        let volume = Directory::new(directory.path());
        assert!(volume.open("a").unwrap().is_none());
        volume.create("a").unwrap().write(3, b"abc").unwrap();
        assert_eq!(volume.create("a").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        let file = volume.open("a").unwrap().unwrap();
        let mut read = [9; 6];
        file.read(0, &mut read).unwrap();
        assert_eq!((&read, file.len().unwrap()), (b"\0\0\0abc", 6));
        assert!(file.read(1, &mut read).is_err(), "behind the end");
        assert_eq!(volume.names().unwrap(), ["a"]);
        volume.remove("a").unwrap();
        volume.remove("a").unwrap();
        assert!(volume.names().unwrap().is_empty());
    }
}
