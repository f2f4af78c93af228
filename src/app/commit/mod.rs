//! Committing a change: the commit loop, idempotency keys, lanes for changes of one record, and the
//! floor of free disk space.

pub(in crate::app) mod commit_loop;
pub(in crate::app) mod disk;
pub(in crate::app) mod idempotency;
pub(in crate::app) mod lanes;
