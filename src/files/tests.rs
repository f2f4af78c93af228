//! Tests of files by handle.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

/// A directory for one test, removed with its content when dropped.
pub(crate) struct TestDirectory(PathBuf);

impl TestDirectory {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("strongroom-test-{}-{number}", std::process::id());
        let path = crate::waiting::scratch().join(name);
        fs::remove_dir_all(&path).ok();
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for TestDirectory {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn a_directory_that_was_replaced_is_left_alone() {
    let place = TestDirectory::new();
    let (here, away) = (place.join("here"), place.join("away"));
    fs::create_dir(&here).unwrap();
    let directory = Directory::open(&here).unwrap();
    let [first, second] = ["a", "b"].map(|name| directory.create(name).unwrap());
    fs::rename(&here, &away).unwrap();
    fs::create_dir(&here).unwrap();
    for name in ["a", "b", "c"] {
        fs::write(here.join(name), name).unwrap();
    }
    first.remove().unwrap();
    second.rename("c").unwrap();
    directory.create("d").unwrap();
    directory.sync().unwrap();
    let mut left = directory.names().unwrap();
    left.sort_unstable();
    assert_eq!(left, ["c", "d"]);
    assert!(away.join("c").exists() && away.join("d").exists());
    assert_eq!(fs::read_dir(&here).unwrap().count(), 3);
    for name in ["a", "b", "c"] {
        assert_eq!(text(&here.join(name)), name);
    }
}

/// Another user than root makes only files of its own.
#[test]
fn a_file_that_root_makes_for_the_owner_of_a_directory_belongs_to_it() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = TestDirectory::new();
    std::os::unix::fs::chown(place.path(), Some(65_534), Some(65_533)).unwrap();
    let directory = Directory::open(place.path()).unwrap();
    let owner = |name: &str| {
        let file = fs::metadata(place.join(name)).unwrap();
        (file.uid(), file.gid(), file.mode() & 0o777)
    };
    Unfinished::create_for_owner(&directory, "new").unwrap().finish("a").unwrap();
    assert_eq!(owner("a"), (65_534, 65_533, 0o600));
    // A secret that root writes there stays root's.
    directory.create("b").unwrap();
    assert_eq!(owner("b").0, 0);
    // A file that has a second name may be any file of the system.
    directory.hold("b").unwrap().unwrap().link("c").unwrap();
    directory.hold("c").unwrap().unwrap().give_to_owner().unwrap();
    assert_eq!(owner("b").0, 0);
}

#[test]
fn an_empty_directory_is_removed_but_none_that_took_its_place() {
    let place = TestDirectory::new();
    let path = place.join("made");
    assert!(Directory::find_directory(&path).unwrap().is_none());
    fs::create_dir(&path).unwrap();
    let made = Directory::find_directory(&path).unwrap().unwrap();
    fs::write(path.join("a"), "precious").unwrap();
    assert_eq!(made.remove_empty().unwrap_err().kind(), io::ErrorKind::DirectoryNotEmpty);
    fs::rename(&path, place.join("moved")).unwrap();
    fs::create_dir(&path).unwrap();
    made.remove_empty().unwrap();
    assert!(path.exists(), "it is another one");
    symlink("moved", place.join("link")).unwrap();
    assert!(Directory::find_directory(&place.join("link")).is_err());
    Directory::open(&path).unwrap().remove_empty().unwrap();
    assert!(!path.exists());
}

#[test]
fn a_file_that_took_the_name_is_neither_removed_nor_renamed_nor_replaced() {
    let place = TestDirectory::new();
    let directory = Directory::open(place.path()).unwrap();
    let file = directory.create("a").unwrap();
    fs::write(place.join("other"), "precious").unwrap();
    assert_eq!(file.rename("other").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    fs::rename(place.join("other"), place.join("a")).unwrap();
    file.remove().unwrap();
    assert_eq!(file.rename("b").unwrap_err().kind(), io::ErrorKind::NotFound);
    assert_eq!(text(&place.join("a")), "precious");
    // A link to the file is not the file.
    let file = directory.create("c").unwrap();
    fs::rename(place.join("c"), place.join("d")).unwrap();
    symlink("d", place.join("c")).unwrap();
    file.remove().unwrap();
    assert!(place.join("c").exists() && place.join("d").exists());
    fs::remove_file(place.join("c")).unwrap();
    file.remove().unwrap();
}

#[test]
fn a_file_replaces_only_the_one_that_is_held_and_a_link_is_held_itself() {
    let place = TestDirectory::new();
    let directory = Directory::open(place.path()).unwrap();
    fs::write(place.join("target"), "target").unwrap();
    directory.symlink(Path::new("target"), "old").unwrap();
    let (new, old) = (directory.create("new").unwrap(), directory.pin("old").unwrap().unwrap());
    old.link("kept").unwrap();
    assert_eq!(old.link("new").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    new.replace(&old).unwrap();
    assert_eq!(
        (text(&place.join("old")), text(&place.join("kept"))),
        (String::new(), "target".into())
    );
    let later = directory.create("later").unwrap();
    assert_eq!(later.replace(&old).unwrap_err().kind(), io::ErrorKind::NotFound);
    assert_eq!(old.link("again").unwrap_err().kind(), io::ErrorKind::NotFound);
    fs::rename(place.join("target"), place.join("later")).unwrap();
    assert_eq!(later.replace(&new).unwrap_err().kind(), io::ErrorKind::NotFound);
    assert_eq!(text(&place.join("later")), "target");
    assert!(directory.pin("none").unwrap().is_none());
}

#[test]
fn an_unfinished_file_goes_unless_it_gets_its_name() {
    let place = TestDirectory::new();
    let directory = Directory::open(place.path()).unwrap();
    drop(Unfinished::create(&directory, "a.part").unwrap());
    assert!(directory.names().unwrap().is_empty());
    fs::write(place.join("a.part"), "left by a killed process").unwrap();
    assert!(Unfinished::create(&directory, "a.part").is_err());
    let new = Unfinished::create_again(&directory, "a.part").unwrap();
    new.file().unwrap().write_all(b"new").unwrap();
    let file = new.finish("a").unwrap();
    assert_eq!((text(&place.join("a")).as_str(), file.path()), ("new", place.join("a")));
    let second = Unfinished::create(&directory, "a.part").unwrap();
    assert_eq!(second.finish("a").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(directory.names().unwrap(), ["a"]);
    // Another file now has the temporary name.
    let third = Unfinished::create(&directory, "a.part").unwrap();
    fs::remove_file(place.join("a.part")).unwrap();
    fs::write(place.join("a.part"), "of another process").unwrap();
    drop(third);
    assert_eq!(text(&place.join("a.part")), "of another process");
}

#[test]
fn a_socket_takes_the_place_of_a_socket_only_and_removes_only_itself() {
    let place = TestDirectory::new();
    let path = place.join("s");
    fs::write(&path, "precious").unwrap();
    assert_eq!(SocketFile::bind(&path).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    assert_eq!(text(&path), "precious");
    fs::remove_file(&path).unwrap();
    let (_listener, first) = SocketFile::bind(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let (_other, second) = SocketFile::bind(&path).unwrap();
    drop(first);
    assert!(path.exists(), "it is the second one's");
    drop(second);
    assert!(!path.exists());
}

#[test]
fn only_a_regular_file_is_read_and_nothing_waits_for_another_one() {
    let place = TestDirectory::new();
    let pipe = place.join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
    for path in [pipe.as_path(), place.path(), Path::new("/dev/null")] {
        let refused = open_regular(path).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidInput, "{}", path.display());
    }
    let directory = Directory::open(place.path()).unwrap();
    assert_eq!(directory.find("pipe").unwrap_err().kind(), io::ErrorKind::InvalidInput);
    fs::write(place.join("a"), "four").unwrap();
    symlink("a", place.join("link")).unwrap();
    assert_eq!(read_regular(&place.join("link"), 4).unwrap(), b"four");
    for refused in [directory.find("link"), directory.hold("link")].map(Result::unwrap_err) {
        assert_eq!(refused.to_string(), "link is a symbolic link, not a regular file");
    }
    let refused = read_regular(&place.join("a"), 3).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::FileTooLarge);
}
