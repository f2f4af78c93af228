//! Checks that a path still names the file that was opened under it.
//!
//! A file that is removed or replaced while the server has it open still accepts writes, and all of
//! them are lost when the server stops. The server therefore checks the path every few seconds.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::store::failure::StorageFailure;

/// A path and the file that was opened under it. The file stays open, so its inode number is not
/// reused.
#[derive(Debug)]
pub(super) struct NamedFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl NamedFile {
    pub(super) fn new(path: &Path, file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let (device, inode) = (metadata.dev(), metadata.ino());
        Ok(Self { path: path.to_path_buf(), device, inode })
    }

    /// Fails with [`StorageFailure::Removed`] if the path names no file or another file. Other
    /// errors of the path are ignored here: the monitoring of the disk reports them.
    pub(super) fn check(&self) -> Result<(), StorageFailure> {
        let removed = || StorageFailure::Removed(self.path.clone());
        match fs::metadata(&self.path) {
            Ok(found) => {
                let is_same = (found.dev(), found.ino()) == (self.device, self.inode);
                (is_same && found.nlink() > 0).then_some(()).ok_or_else(removed)
            }
            Err(error) if is_missing(&error) => Err(removed()),
            Err(_) => Ok(()),
        }
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::TestDirectory;

    #[test]
    fn a_file_that_was_removed_renamed_or_replaced_is_noticed() {
        let directory = TestDirectory::new();
        let (path, other) = (directory.join("a"), directory.join("b"));
        let named = |path: &Path| NamedFile::new(path, &File::create(path).unwrap()).unwrap();
        let is_there = |file: &NamedFile| match file.check() {
            Ok(()) => true,
            Err(StorageFailure::Removed(path)) => {
                assert_eq!(path, file.path);
                false
            }
            Err(other) => panic!("{other}"),
        };
        let file = named(&path);
        assert!(is_there(&file));
        fs::hard_link(&path, &other).unwrap();
        assert!(is_there(&file), "a second name takes nothing away");
        fs::remove_file(&path).unwrap();
        assert!(!is_there(&file));
        fs::rename(&other, &path).unwrap();
        assert!(is_there(&file), "moved back");
        fs::write(&other, "another").unwrap();
        fs::rename(&other, &path).unwrap();
        assert!(!is_there(&file), "replaced");
        let inner = directory.join("inner");
        fs::create_dir(&inner).unwrap();
        let file = named(&inner.join("a"));
        fs::rename(&inner, directory.join("moved")).unwrap();
        assert!(!is_there(&file), "its directory was moved");
        fs::write(&inner, "no directory").unwrap();
        assert!(!is_there(&file));
    }
}
