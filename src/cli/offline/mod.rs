//! Commands that work on a vault whose server is stopped, and on files.

pub(in crate::cli) mod compact;
pub(in crate::cli) mod recover;
pub(in crate::cli) mod restore;
pub(in crate::cli) mod shares;
pub(in crate::cli) mod standby;
mod standby_keys;
mod standby_watch;
pub(in crate::cli) mod verify;
