//! Reads files that the settings or an operator name.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// Opens a regular file for reading. Anything else is refused without waiting: a named pipe would
/// wait for a writer, and a device may never end.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    check_regular(&file)?;
    Ok(file)
}

pub fn read_regular(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|len| len <= most) {
        return Ok(bytes);
    }
    Err(io::Error::new(io::ErrorKind::FileTooLarge, "the file is too large"))
}

pub(super) fn check_regular(file: &File) -> io::Result<Metadata> {
    let metadata = file.metadata()?;
    if metadata.is_file() {
        return Ok(metadata);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
}
