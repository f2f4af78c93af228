//! The user who runs this process.

use crate::domain::origin::SystemUser;
use crate::operator::user_of;

pub(in crate::cli) fn process_user() -> SystemUser {
    user_of(rustix::process::geteuid().as_raw())
}
