//! Commands that work on files, or on a vault whose server is stopped.

pub mod compact;
pub mod recover;
pub mod restore;
pub mod standby;
pub mod timeline;
pub mod verify;
