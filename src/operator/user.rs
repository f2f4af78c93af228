//! The users of the machine who give commands.
//!
//! Names come from `/etc/passwd`, which is read here: the program is linked statically, so it has
//! no other lists of users. A user of a directory service has a number and no name.
//!
//! The kernel supplies the number: the user of the process that sends the command. `SUDO_UID` and
//! `SUDO_USER` are not used: every user can set them to any value, and an audit entry must not hold
//! a claim of the person that it is about. The log of `sudo` has the person who became this user.

use std::fs::File;
use std::io::Read as _;

use crate::bounds::{PASSWD_BYTES_MAX, USER_NAME_BYTES_MAX};
use crate::domain::origin::SystemUser;

const PASSWD: &str = "/etc/passwd";

pub fn user_of(uid: u32) -> SystemUser {
    let mut bytes = Vec::new();
    // Without the file there is no name; the number is enough.
    let read = File::open(PASSWD).and_then(|it| it.take(PASSWD_BYTES_MAX).read_to_end(&mut bytes));
    let name = read.ok().and_then(|_| name_of(uid, &bytes));
    SystemUser { uid, name }
}

/// The name in the first line with this number, as in other programs. A line is
/// `name:password:number:...`.
fn name_of(uid: u32, passwd: &[u8]) -> Option<Box<str>> {
    let mut lines =
        passwd.split(|byte| *byte == b'\n').filter_map(|line| str::from_utf8(line).ok());
    lines.find_map(|line| {
        let mut fields = line.split(':');
        let (name, number) = (fields.next()?, fields.nth(1)?);
        let is_name = (1..=USER_NAME_BYTES_MAX).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_graphic());
        (is_name && number.parse() == Ok(uid)).then(|| Box::from(name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_with_the_number_has_the_name() {
        let long = "n".repeat(USER_NAME_BYTES_MAX);
        let list = format!(
            "root:x:0:0:root:/root:/bin/bash\n\nbroken\nodd name:x:5:5::/:\ntoor:x:0:0::/:\n\
             strongroom:x:987:987:,,,:/var/lib/strongroom:/usr/sbin/nologin\n\u{e9}:x:6:6::/:\n\
             {long}:x:7:7::/:\n{long}n:x:8:8::/:\nlast:x:9"
        );
        for (uid, name) in [
            (0, Some("root")),
            (987, Some("strongroom")),
            (5, None),
            (6, None),
            (7, Some(long.as_str())),
            (8, None),
            (9, Some("last")),
            (10, None),
        ] {
            assert_eq!(name_of(uid, list.as_bytes()).as_deref(), name, "{uid}");
        }
        assert_eq!(name_of(0, b"\xff:x:0:0\nroot:x:0:"), Some(Box::from("root")));
    }
}
