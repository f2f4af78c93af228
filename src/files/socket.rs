//! Unix sockets as files.

use std::ffi::OsString;
use std::io;
use std::os::unix::net::UnixListener;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode};

use crate::files::{Directory, Identity};

/// The name of a socket that this process has bound. Dropping it removes the name, unless it now
/// belongs to another file.
#[derive(Debug)]
pub struct SocketFile {
    directory: Directory,
    name: OsString,
    identity: Identity,
    /// The user of the file, which is the user of this process.
    owner: u32,
}

impl SocketFile {
    /// Binds a socket that only the user of this process can use; the listener does not block. An
    /// existing socket was left by a process that has ended: the caller holds the lock of the
    /// directory. Any other file stays, and binding fails.
    pub fn bind(path: &Path) -> io::Result<(UnixListener, Self)> {
        let (directory, name) = Directory::of(path)?;
        let at = &directory.handle;
        if let Ok(left) = rustix::fs::statat(at, &name, AtFlags::SYMLINK_NOFOLLOW)
            && FileType::from_raw_mode(left.st_mode) == FileType::Socket
        {
            directory.remove(&name, Identity { device: left.st_dev, inode: left.st_ino })?;
        }
        let listener = UnixListener::bind(path)?;
        // Fails if the path now leads to another directory.
        rustix::fs::chmodat(at, &name, Mode::RUSR | Mode::WUSR, AtFlags::empty())?;
        let made = rustix::fs::statat(at, &name, AtFlags::SYMLINK_NOFOLLOW)?;
        let identity = Identity { device: made.st_dev, inode: made.st_ino };
        listener.set_nonblocking(true)?;
        Ok((listener, Self { directory, name, identity, owner: made.st_uid }))
    }

    pub const fn owner(&self) -> u32 {
        self.owner
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // If the name stays, clients get a refused connection, which they handle.
        self.directory.remove(&self.name, self.identity).ok();
    }
}
