//! The user of the service, who owns the data directory, and the access that the modes of files
//! give this user. Root may read every file, so a trial as root would show nothing.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::bounds::USER_TABLE_BYTES_MAX;
use crate::operator::user_of;

#[derive(Debug, Clone)]
pub struct ServiceUser {
    pub(super) uid: u32,
    gid: u32,
    /// The further groups from the system's table.
    groups: Vec<u32>,
    name: Option<Box<str>>,
}

/// The access that a mode permits to one class of users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    /// Making and removing files in a directory.
    Change,
    Enter,
}

impl Access {
    const fn bits(self) -> u32 {
        match self {
            Self::Read => 0o4,
            Self::Change => 0o3,
            Self::Enter => 0o1,
        }
    }
}

impl ServiceUser {
    pub fn of(directory: &Path) -> io::Result<Self> {
        let owner = fs::metadata(directory)?;
        let (uid, gid) = (owner.uid(), owner.gid());
        let name = user_of(uid).name;
        let groups = name.as_deref().map(|name| groups_of(&group_table(), name));
        Ok(Self { uid, gid, groups: groups.unwrap_or_default(), name })
    }

    pub fn label(&self) -> String {
        label(self.name.as_deref(), self.uid)
    }

    /// Returns true if the modes of the file and of all directories above it permit the access. An
    /// error means that the process itself has no access.
    pub(super) fn may(&self, access: Access, path: &Path) -> io::Result<bool> {
        let path = fs::canonicalize(path)?;
        for above in path.ancestors().skip(1) {
            if !self.has(Access::Enter, &fs::metadata(above)?) {
                return Ok(false);
            }
        }
        Ok(self.has(access, &fs::metadata(&path)?))
    }

    fn has(&self, access: Access, file: &Metadata) -> bool {
        let shift = if file.uid() == self.uid {
            6
        } else if file.gid() == self.gid || self.groups.contains(&file.gid()) {
            3
        } else {
            0
        };
        self.uid == 0 || (file.mode() >> shift) & access.bits() == access.bits()
    }
}

/// `vault (uid 7), mode 0400`.
pub(super) fn owner_and_mode(file: &Metadata) -> String {
    let owner = label(user_of(file.uid()).name.as_deref(), file.uid());
    format!("{owner}, mode {:04o}", file.mode() & 0o7777)
}

fn label(name: Option<&str>, uid: u32) -> String {
    name.map_or_else(|| format!("uid {uid}"), |name| format!("{name} (uid {uid})"))
}

/// The system's table of groups; empty if there is no such file.
fn group_table() -> String {
    let mut text = String::new();
    let read = File::open("/etc/group")
        .and_then(|file| file.take(USER_TABLE_BYTES_MAX).read_to_string(&mut text));
    if read.is_ok() { text } else { String::new() }
}

fn groups_of(group: &str, name: &str) -> Vec<u32> {
    let of_line = |line: &str| {
        let mut fields = line.split(':').skip(2);
        let (gid, members) = (fields.next()?.parse().ok()?, fields.next()?);
        members.split(',').any(|member| member == name).then_some(gid)
    };
    group.lines().filter_map(of_line).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn groups_come_from_the_table() {
        let group = "root:x:0:\nssl-cert:x:110:postgres,vault\nother:x:111:vaults\nbroken:x\n";
        assert_eq!(groups_of(group, "vault"), [110]);
    }

    #[test]
    fn the_first_class_that_fits_decides() {
        let path = std::env::temp_dir().join(format!("strongroom-modes-{}", std::process::id()));
        fs::write(&path, "").unwrap();
        let owner = fs::metadata(&path).unwrap();
        let user = |uid, gid, groups: &[u32]| ServiceUser {
            uid,
            gid,
            groups: groups.to_vec(),
            name: None,
        };
        // Root is the owner where root runs the tests, and may read everything.
        let (other, foreign) = (owner.uid() + 1, owner.gid() + 1);
        for (mode, of_group, of_others) in
            [(0o400, false, false), (0o440, true, false), (0o404, false, true), (0o044, true, true)]
        {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let file = fs::metadata(&path).unwrap();
            let reads = |user: ServiceUser| user.has(Access::Read, &file);
            assert_eq!(reads(user(other, owner.gid(), &[])), of_group, "{mode:o}");
            assert_eq!(reads(user(other, foreign, &[owner.gid()])), of_group, "{mode:o}");
            assert_eq!(reads(user(other, foreign, &[])), of_others, "{mode:o}");
            assert!(reads(user(0, 0, &[])), "{mode:o}");
        }
        fs::remove_file(&path).unwrap();
    }
}
