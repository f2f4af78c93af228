//! Refuses a master key inside the data directory. A copy of the directory, such as a snapshot of
//! the disk, would contain the key beside the data that it protects. Only `strongroom dev` keeps it
//! there.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::bounds::MASTER_KEY_FILE_BYTES_MAX;
use crate::cli::support::{Exit, Failure, Result};
use crate::config::MasterKeySource;
use crate::crypto::MasterKey;
use crate::secret::Secret;
use crate::store::CvcKeys;

/// The reason and the advice, which `check` shows too.
pub const WHY: &str =
    "a copy of the directory would be a copy of the key, too, and could be read with it";
pub const ADVICE: &str = "move the file to a directory of its own, such as /etc/strongroom, and change the place that \
     names it: master_key.file in the settings, or LoadCredential= of the service";

/// Refuses the file of a master key inside the data directory, and any other file there that holds
/// a master key: systemd may load the credential from there.
pub fn refuse_inside(directory: &Path, source: &MasterKeySource) -> Result<()> {
    if let MasterKeySource::File(path) = source {
        refuse_path(directory, path)?;
    }
    match keys_in(directory).first() {
        Some(path) => Err(inside(path)),
        None => Ok(()),
    }
}

pub fn refuse_path(directory: &Path, path: &Path) -> Result<()> {
    if is_inside(directory, path) { Err(inside(path)) } else { Ok(()) }
}

fn inside(path: &Path) -> Failure {
    Failure::new(Exit::Config, "the master key is inside the data directory")
        .file(path)
        .why(WHY)
        .try_this(ADVICE)
}

/// Returns true if the path leads into the directory, or names a link in it. A link to a key
/// elsewhere does not help: a rotation replaces the link by the new key.
pub fn is_inside(directory: &Path, path: &Path) -> bool {
    let identity = |path: &Path| fs::metadata(path).ok().map(|it| (it.dev(), it.ino()));
    let (real, own) = (resolve(directory), identity(directory));
    let parent = path.parent().map(resolve);
    [Some(resolve(path)), parent].into_iter().flatten().any(|place| {
        // A bind mount gives the same directory a second path.
        place.starts_with(&real)
            || place.ancestors().any(|above| own.is_some() && identity(above) == own)
    })
}

/// Resolves links, even if the last parts of the path do not exist.
fn resolve(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        let here = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        if let (Ok(real), Ok(rest)) = (fs::canonicalize(here), path.strip_prefix(above)) {
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    path.to_path_buf()
}

/// Files of the data directory that hold a master key, by their content. Reads only small files,
/// and none of the vault's own.
pub fn keys_in(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let is_small = entry
                .metadata()
                .is_ok_and(|it| it.is_file() && it.len() <= MASTER_KEY_FILE_BYTES_MAX);
            is_small && !name.starts_with("strongroom.") && name != CvcKeys::FILE
        })
        .map(|entry| entry.path())
        .filter(|path| {
            let bytes = fs::read(path).map(Secret::new);
            bytes.is_ok_and(|bytes| MasterKey::parse(&bytes).is_ok())
        })
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_path_is_inside_also_by_links_and_before_it_exists() {
        let place = std::env::temp_dir().join(format!("strongroom-inside-{}", std::process::id()));
        let data = place.join("data");
        fs::create_dir_all(data.join("deep")).unwrap();
        fs::create_dir(place.join("data2")).unwrap();
        fs::write(place.join("out.key"), "").unwrap();
        fs::write(data.join("in.key"), "").unwrap();
        symlink(&data, place.join("link")).unwrap();
        symlink(data.join("in.key"), place.join("link.key")).unwrap();
        symlink(place.join("out.key"), data.join("to-outside")).unwrap();
        for (path, expected) in [
            ("data/in.key", true),
            ("data/new.key", true),
            ("data/deep/new.key", true),
            ("data/deep/none/new.key", true),
            ("data2/../data/new.key", true),
            ("link/new.key", true),
            ("link.key", true),
            ("data/to-outside", true),
            ("out.key", false),
            ("new.key", false),
            ("data2/new.key", false),
            ("data.key", false),
        ] {
            assert_eq!(is_inside(&data, &place.join(path)), expected, "{path}");
            assert_eq!(is_inside(&place.join("link"), &place.join(path)), expected, "{path}");
        }
        let absent = place.join("none");
        assert!(is_inside(&absent, &absent.join("master.key")));
        assert!(!is_inside(&absent, &place.join("master.key")));
        fs::write(data.join("renamed"), format!("{}\n", "ab".repeat(32))).unwrap();
        assert_eq!(keys_in(&data), [data.join("renamed")]);
        fs::remove_dir_all(&place).unwrap();
    }
}
