//! The free space on the data file's disk, and the size of the file.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::store::engine::local::file;
use crate::store::engine::local::log::segment::is_log_file;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// The space that the file system has left for this user.
    pub free_bytes: u64,
    /// The length of the data file and of the log.
    pub data_bytes: u64,
}

/// The disk of the data file. Tests replace it.
pub trait DataDisk: Send + Sync {
    fn space(&self) -> io::Result<Space>;
    /// Returns true if files in this directory use the space of this disk.
    fn is_under(&self, directory: &Path) -> io::Result<bool>;
}

#[derive(Debug)]
pub struct DirectoryDisk(pub PathBuf);

impl DataDisk for DirectoryDisk {
    fn space(&self) -> io::Result<Space> {
        let mut data_bytes = std::fs::metadata(self.0.join(file::NAME))?.len();
        for entry in std::fs::read_dir(&self.0)? {
            let entry = entry?;
            if entry.file_name().to_str().is_some_and(is_log_file) {
                // A segment may be freed during this loop.
                let log_bytes = entry.metadata().map_or(0, |metadata| metadata.len());
                data_bytes = data_bytes.saturating_add(log_bytes);
            }
        }
        Ok(Space { free_bytes: free_bytes(&self.0)?, data_bytes })
    }

    fn is_under(&self, directory: &Path) -> io::Result<bool> {
        is_on_disk_of(&self.0, directory)
    }
}

fn is_on_disk_of(own: &Path, directory: &Path) -> io::Result<bool> {
    let device = |path: &Path| std::fs::metadata(path).map(|it| it.dev());
    // Volumes that share a pool are separate devices, but report the same free space.
    Ok(device(own)? == device(directory)? || free_bytes(own)? == free_bytes(directory)?)
}

/// The disk of a data directory whose rows are in a database.
#[derive(Debug)]
pub struct DiskWithoutRows(pub PathBuf);

impl DataDisk for DiskWithoutRows {
    fn space(&self) -> io::Result<Space> {
        Ok(Space { free_bytes: free_bytes(&self.0)?, data_bytes: 0 })
    }

    fn is_under(&self, directory: &Path) -> io::Result<bool> {
        is_on_disk_of(&self.0, directory)
    }
}

/// The space that the directory's file system has left for this user.
pub fn free_bytes(directory: &Path) -> io::Result<u64> {
    let volume = rustix::fs::statvfs(directory)?;
    Ok(volume.f_bavail.saturating_mul(volume.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::TestDirectory;

    #[test]
    fn a_directory_without_a_data_file_is_no_vault_and_is_told_so() {
        let root = DirectoryDisk(PathBuf::from("/"));
        assert_eq!(root.space().unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_directory_without_rows_has_the_space_of_its_disk() {
        let directory = TestDirectory::new();
        let disk = DiskWithoutRows(directory.path().to_path_buf());
        let space = disk.space().unwrap();
        assert!(space.free_bytes > 0);
        assert_eq!(space.data_bytes, 0);
        assert!(disk.is_under(directory.path()).unwrap());
    }

    #[test]
    fn a_directory_is_on_the_disk_of_the_one_that_it_is_in_and_not_on_that_of_another() {
        let directory = TestDirectory::new();
        let inner = directory.join("inner");
        std::fs::create_dir(&inner).unwrap();
        let disk = DirectoryDisk(directory.path().to_path_buf());
        assert!(disk.is_under(&inner).unwrap());
        assert!(!disk.is_under(Path::new("/proc")).unwrap());
        assert!(disk.is_under(&directory.join("missing")).is_err());
    }
}
