//! The engine on a real server, which the tests start.

pub(in crate::store) mod reused;
pub(in crate::store) mod server;
