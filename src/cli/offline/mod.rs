//! Commands that work on a vault whose server is stopped, and on files.

pub mod compact;
pub mod recover;
pub mod restore;
pub mod standby;
pub mod timeline;
pub mod verify;
