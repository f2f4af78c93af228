//! How much room there is for the file, and how much it takes.

use std::io;
use std::path::Path;

use crate::store::Store;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// What the file system would still give to this user.
    pub free_bytes: u64,
    /// The data file's length.
    pub data_bytes: u64,
}

impl Space {
    pub fn of(directory: &Path) -> io::Result<Self> {
        let volume = rustix::fs::statvfs(directory)?;
        let data_bytes = std::fs::metadata(directory.join(Store::FILE))?.len();
        Ok(Self { free_bytes: volume.f_bavail.saturating_mul(volume.f_frsize), data_bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_without_a_data_file_is_no_vault_and_is_told_so() {
        assert_eq!(Space::of(Path::new("/")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
