//! A volume whose files end with the process. Each file that is created is a new one.

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::store::volume::{Volume, VolumeFile};

#[derive(Debug)]
pub(in crate::store) struct MemoryVolume;

impl Volume for MemoryVolume {
    fn open(&self, _: &str) -> io::Result<Option<Box<dyn VolumeFile>>> {
        Ok(None)
    }

    fn create(&self, _: &str) -> io::Result<Box<dyn VolumeFile>> {
        Ok(Box::new(MemoryFile::default()))
    }

    fn rename(&self, _: &str, _: &str) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn remove(&self, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn names(&self) -> io::Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn is_kept(&self) -> bool {
        false
    }
}

#[derive(Default)]
struct MemoryFile(Mutex<Vec<u8>>);

impl MemoryFile {
    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The bytes of a file that its offset and a length name.
fn place(offset: u64, len: usize) -> io::Result<std::ops::Range<usize>> {
    let from = usize::try_from(offset).map_err(io::Error::other)?;
    Ok(from..from.saturating_add(len))
}

impl VolumeFile for MemoryFile {
    fn len(&self) -> io::Result<u64> {
        u64::try_from(self.bytes().len()).map_err(io::Error::other)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let bytes = self.bytes();
        let found = bytes.get(place(offset, out.len())?).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(found);
        Ok(())
    }

    fn write(&self, offset: u64, new: &[u8]) -> io::Result<()> {
        let place = place(offset, new.len())?;
        let mut bytes = self.bytes();
        if bytes.len() < place.end {
            bytes.resize(place.end, 0);
        }
        bytes.get_mut(place).ok_or(io::ErrorKind::UnexpectedEof)?.copy_from_slice(new);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let len = usize::try_from(len).map_err(io::Error::other)?;
        self.bytes().resize(len, 0);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn try_lock(&self) -> io::Result<bool> {
        Ok(true)
    }

    fn check_place(&self) -> Result<(), PathBuf> {
        Ok(())
    }
}

/// Without the bytes, which may be keys.
impl std::fmt::Debug for MemoryFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MemoryFile")
    }
}
