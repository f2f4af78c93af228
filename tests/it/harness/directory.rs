//! A directory of a test's own, with a path short enough for a Unix socket in it.

use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// The directory for temporary files. In memory where there is room: on a disk the tests wait for
/// `fsync` twice as long as they compute, and no test can lose the power.
pub(crate) fn scratch() -> &'static Path {
    const ROOM_MIN: u64 = 1 << 30;
    static SCRATCH: LazyLock<&Path> = LazyLock::new(|| {
        let memory = Path::new("/dev/shm");
        let room = rustix::fs::statvfs(memory).map_or(0, |it| it.f_bavail * it.f_frsize);
        if room >= ROOM_MIN { memory } else { Path::new("/tmp") }
    });
    *SCRATCH
}

/// Removed with all it holds when dropped.
#[derive(Debug)]
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = scratch().join(format!("sr-{}-{number}", std::process::id()));
        fs::remove_dir_all(&path).ok();
        fs::DirBuilder::new().mode(0o700).create(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The path of a file as an argument of a command.
    pub(crate) fn text(&self, name: &str) -> String {
        String::from(self.join(name).to_str().unwrap())
    }

    /// Writes a file of this mode and returns its path.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>, mode: u32) -> PathBuf {
        let path = self.join(name);
        fs::remove_file(&path).ok();
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}
