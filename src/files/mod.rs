//! Files by handle: no file is renamed or removed by a name that may belong to another file by now.
//!
//! A [`Directory`] stays the one that was opened, even if its path later leads to another one. A
//! [`NamedFile`] is renamed and removed only while its name in that directory still belongs to it.
//! The system has no call that compares and removes in one step, so a file that takes the name
//! between the two calls is lost; the time between them is a few microseconds.

mod read;
mod socket;
#[cfg(test)]
pub(crate) mod tests;

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};
use std::sync::{Arc, MutexGuard};

use rustix::fs::{AtFlags, Dir, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::lock::Lock;

pub use read::{open_regular, read_regular};
pub use socket::SocketFile;

/// An open directory. Clones share the handle.
#[derive(Debug, Clone)]
pub struct Directory {
    handle: Arc<File>,
    path: PathBuf,
}

/// The device and inode number of a file. While the file is open, no other file has the same ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    device: u64,
    inode: u64,
}

/// An open file, and its name in its directory.
#[derive(Debug)]
pub struct NamedFile {
    file: File,
    directory: Directory,
    name: Lock<OsString>,
    identity: Identity,
}

/// A file that is being written under a temporary name. It is removed when it is dropped, unless
/// [`Unfinished::finish`] gave it its final name.
#[derive(Debug)]
pub struct Unfinished {
    named: Option<NamedFile>,
}

impl Identity {
    pub fn of(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }
}

impl Directory {
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::open(path, flags, Mode::empty())?;
        Ok(Self { handle: Arc::new(File::from(handle)), path: path.to_path_buf() })
    }

    /// Opens a directory, but does not follow a link; `None` if the name does not exist.
    pub fn find_directory(path: &Path) -> io::Result<Option<Self>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(handle) => {
                Ok(Some(Self { handle: Arc::new(File::from(handle)), path: path.to_path_buf() }))
            }
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes the directory if it is empty and its path still leads to it. Another directory that
    /// now has the path stays.
    pub fn remove_empty(&self) -> io::Result<()> {
        let (parent, name) = Self::of(&self.path)?;
        if parent.identity(&name)? != Some(Identity::of(&self.metadata()?)) {
            return Ok(());
        }
        Ok(rustix::fs::unlinkat(&parent.handle, &name, AtFlags::REMOVEDIR)?)
    }

    /// The directory of a path, and the last name of the path.
    pub fn of(path: &Path) -> io::Result<(Self, OsString)> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        Ok((Self::open(parent.unwrap_or_else(|| Path::new(".")))?, name.to_os_string()))
    }

    /// The path with which the directory was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn metadata(&self) -> io::Result<Metadata> {
        self.handle.metadata()
    }

    /// Opens a regular file for reading and writing; `None` if no file has this name.
    pub fn find(&self, name: impl AsRef<OsStr>) -> io::Result<Option<NamedFile>> {
        self.find_for(name.as_ref(), OFlags::RDWR)
    }

    /// Opens a regular file for reading or removing; `None` if no file has this name.
    pub fn hold(&self, name: impl AsRef<OsStr>) -> io::Result<Option<NamedFile>> {
        self.find_for(name.as_ref(), OFlags::RDONLY)
    }

    fn find_for(&self, name: &OsStr, access: OFlags) -> io::Result<Option<NamedFile>> {
        match self.open_at(name, access | OFlags::NONBLOCK | OFlags::NOCTTY) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            found => found.map(Some),
        }
    }

    /// Holds the file of any kind that has this name; `None` if there is no such file. A link is
    /// not followed: the link itself is held.
    pub fn pin(&self, name: impl AsRef<OsStr>) -> io::Result<Option<NamedFile>> {
        let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        match rustix::fs::openat(&self.handle, name.as_ref(), flags, Mode::empty()) {
            Err(Errno::NOENT) => Ok(None),
            opened => self.named(File::from(opened?), name.as_ref()).map(Some),
        }
    }

    /// Creates an empty file that only its owner may use. Fails if a file of this name exists.
    pub fn create(&self, name: impl AsRef<OsStr>) -> io::Result<NamedFile> {
        self.open_at(name.as_ref(), OFlags::RDWR | OFlags::CREATE | OFlags::EXCL)
    }

    fn open_at(&self, name: &OsStr, flags: OFlags) -> io::Result<NamedFile> {
        let mode = Mode::RUSR | Mode::WUSR;
        // A link could lead to a file of another vault, which would be overwritten.
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = rustix::fs::openat(&self.handle, name, flags, mode)
            .map_err(|error| if error == Errno::LOOP { is_link(name) } else { error.into() })?;
        let file = File::from(file);
        read::check_regular(&file)?;
        self.named(file, name)
    }

    fn named(&self, file: File, name: &OsStr) -> io::Result<NamedFile> {
        let identity = Identity::of(&file.metadata()?);
        let name = Lock::new(name.to_os_string());
        Ok(NamedFile { file, directory: self.clone(), name, identity })
    }

    /// Makes a symbolic link. Fails if a file of this name exists.
    pub fn symlink(&self, target: &Path, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(rustix::fs::symlinkat(target, &self.handle, name.as_ref())?)
    }

    /// The names of all files, in any order.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.handle)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(OsStr::from_bytes(name).to_os_string());
            }
        }
        Ok(names)
    }

    /// The file that now has this name; `None` if there is no such file. A link is not followed.
    pub fn identity(&self, name: impl AsRef<OsStr>) -> io::Result<Option<Identity>> {
        match rustix::fs::statat(&self.handle, name.as_ref(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(Identity { device: found.st_dev, inode: found.st_ino })),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes the name if it belongs to this file. The caller keeps the file open, so its inode
    /// number is not reused.
    fn remove(&self, name: &OsStr, held: Identity) -> io::Result<()> {
        if self.identity(name)? != Some(held) {
            return Ok(());
        }
        match rustix::fs::unlinkat(&self.handle, name, AtFlags::empty()) {
            Err(Errno::NOENT) | Ok(()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Renames a file. Fails if a file has the new name.
    fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        let at = &self.handle;
        match rustix::fs::renameat_with(at, from, at, to, RenameFlags::NOREPLACE) {
            // Some file systems cannot compare and rename in one step.
            Err(Errno::INVAL | Errno::NOSYS) => {
                if self.identity(to)?.is_some() {
                    return Err(io::ErrorKind::AlreadyExists.into());
                }
                Ok(rustix::fs::renameat(at, from, at, to)?)
            }
            renamed => Ok(renamed?),
        }
    }

    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        self.handle.set_permissions(Permissions::from_mode(mode))
    }

    /// Makes the names of all files durable.
    pub fn sync(&self) -> io::Result<()> {
        self.handle.sync_all()
    }
}

impl NamedFile {
    pub const fn file(&self) -> &File {
        &self.file
    }

    pub fn into_file(self) -> File {
        self.file
    }

    pub const fn identity(&self) -> Identity {
        self.identity
    }

    /// The path where the next process will look for the file.
    pub fn path(&self) -> PathBuf {
        let (directory, name) = (self.directory.path.as_os_str(), self.name());
        let bytes = directory.len().saturating_add(name.len()).saturating_add(1);
        let mut path = PathBuf::with_capacity(bytes);
        path.push(directory);
        path.push(&*name);
        path
    }

    /// Gives the file another name in its directory. Fails if a file has that name, or if the old
    /// name now belongs to another file.
    pub fn rename(&self, to: impl AsRef<OsStr>) -> io::Result<()> {
        let mut name = self.checked_name()?;
        self.directory.rename(&name, to.as_ref())?;
        *name = to.as_ref().to_os_string();
        Ok(())
    }

    /// Takes the name of `other`, a file of the same directory, which then has no name or only
    /// further ones. Fails if one of the two names now belongs to another file.
    pub fn replace(&self, other: &Self) -> io::Result<()> {
        let (mut name, to) = (self.checked_name()?, other.checked_name()?);
        rustix::fs::renameat(&self.directory.handle, &*name, &self.directory.handle, &*to)?;
        name.clone_from(&to);
        Ok(())
    }

    /// Gives the file a second name in its directory. Fails if a file has that name, or if the
    /// first name now belongs to another file.
    pub fn link(&self, second: impl AsRef<OsStr>) -> io::Result<()> {
        let (name, at) = (self.checked_name()?, &self.directory.handle);
        Ok(rustix::fs::linkat(at, &*name, at, second.as_ref(), AtFlags::empty())?)
    }

    /// Gives a file that root has just made to the owner of its directory: a command run by root
    /// must not leave files that the server cannot open. Another user's files stay as they are.
    pub fn give_to_owner(&self) -> io::Result<()> {
        if !rustix::process::geteuid().is_root() {
            return Ok(());
        }
        let (owner, own) = (self.directory.metadata()?, self.file.metadata()?);
        // The directory's owner may have linked another user's file to the name.
        if owner.uid() == 0 || own.uid() != 0 || own.nlink() != 1 || !own.is_file() {
            return Ok(());
        }
        fchown(&self.file, Some(owner.uid()), Some(owner.gid()))
    }

    /// Removes the file's name from its directory. Another file that now has the name stays.
    pub fn remove(&self) -> io::Result<()> {
        self.directory.remove(&self.name(), self.identity)
    }

    fn name(&self) -> MutexGuard<'_, OsString> {
        self.name.lock()
    }

    /// Fails if the name now belongs to another file.
    fn checked_name(&self) -> io::Result<MutexGuard<'_, OsString>> {
        let name = self.name();
        if self.directory.identity(&*name)? != Some(self.identity) {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the file was taken away"));
        }
        Ok(name)
    }
}

fn is_link(name: &OsStr) -> io::Error {
    let text = format!("{} is a symbolic link, not a regular file", name.display());
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

impl Unfinished {
    /// Creates the file. Fails if a file of this name exists.
    pub fn create(directory: &Directory, name: impl AsRef<OsStr>) -> io::Result<Self> {
        Ok(Self { named: Some(directory.create(name)?) })
    }

    /// Creates the file for the owner of the directory, and replaces one that a killed process has
    /// left.
    pub fn create_again(directory: &Directory, name: impl AsRef<OsStr>) -> io::Result<Self> {
        directory.pin(&name)?.map_or(Ok(()), |left| left.remove())?;
        Self::create_for_owner(directory, name)
    }

    /// Creates the file for the owner of the directory, also if root runs the command.
    pub fn create_for_owner(directory: &Directory, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let new = Self::create(directory, name)?;
        new.named.as_ref().map_or(Ok(()), NamedFile::give_to_owner)?;
        Ok(new)
    }

    pub fn file(&self) -> io::Result<&File> {
        self.named.as_ref().map(NamedFile::file).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Makes the file durable under this name. Fails if a file has the name.
    pub fn finish(mut self, name: impl AsRef<OsStr>) -> io::Result<NamedFile> {
        self.file()?.sync_all()?;
        self.named.as_ref().map_or(Ok(()), |named| named.rename(name))?;
        // If this fails, the drop removes the name, which might not survive a power failure.
        self.named.as_ref().map_or(Ok(()), |named| named.directory.sync())?;
        self.named.take().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.named.as_ref().map(NamedFile::remove);
    }
}
