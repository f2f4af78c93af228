//! The users of the machine who give commands.
//!
//! Names come from `/etc/passwd`, which is read here: the program is linked statically, so it has
//! no other lists of users. A user of a directory service has a number and no name.
//!
//! The kernel supplies the number: the user of the process that sends the command. `SUDO_UID` and
//! `SUDO_USER` are not used: every user can set them to any value, and an audit entry must not hold
//! a claim of the person that it is about. The kernel also knows the user who logged in
//! (`loginuid`), which `su` and `sudo` do not change, and which a user cannot set.

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
    SystemUser { uid, name, login: None }
}

/// The user of a process, with the user who logged in. `None` stands for this process.
pub fn user_of_process(uid: u32, process: Option<i32>) -> SystemUser {
    let place = process.map_or_else(|| String::from("self"), |id| id.to_string());
    let path = format!("/proc/{place}/loginuid");
    let mut text = String::new();
    // Without audit in the kernel, or with a hidden /proc, it is not known.
    let read = File::open(path).and_then(|it| it.take(LOGIN_BYTES_MAX).read_to_string(&mut text));
    let login = read.ok().and_then(|_| login_of(&text));
    SystemUser { login, ..user_of(uid) }
}

/// More than the digits of any number of 32 bits.
const LOGIN_BYTES_MAX: u64 = 16;

/// `None` for the number that the kernel writes for a process without a login.
fn login_of(text: &str) -> Option<u32> {
    text.trim().parse().ok().filter(|login| *login != u32::MAX)
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
    fn a_login_is_a_number_and_the_largest_one_stands_for_none() {
        for (text, login) in [
            ("1000", Some(1_000)),
            ("0\n", Some(0)),
            ("4294967294", Some(4_294_967_294)),
            ("4294967295", None),
            ("4294967296", None),
            ("", None),
            ("-1", None),
            ("root", None),
        ] {
            assert_eq!(login_of(text), login, "{text}");
        }
        assert_eq!(user_of_process(0, Some(i32::MAX)).login, None, "there is no such process");
    }

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
