//! The state of a store that several processes share: the live processes, the leader, and the
//! generations of their caches. A store of one process has none of these rows, reads or checks.
//!
//! [`Table::Processes`](crate::store::Table::Processes) has a row for each live process, the
//! leader's lease, and the generations. Three rules hold in every batch that a process writes:
//!
//! - A process whose row was removed writes nothing, so that a process that was paused for long
//!   does not write with outdated keys or rights. It joins again when all its earlier work has
//!   ended.
//! - A change that needs a leader ([`crate::store::Authority`]) is written only if the lease still
//!   has the number of its [`crate::store::Term`], so that a replaced leader changes nothing.
//!   Without a term it is refused.
//! - A change that invalidates caches advances their generation in the same batch.
//!
//! No rule compares the clocks of two hosts. A process is dead if its row stays unchanged for
//! [`crate::bounds::PROCESS_DEAD_AFTER`] on the monotonic clock of the process that watches it.

mod batch;
mod codes;
mod generations;
mod process;
mod repeat;
pub(in crate::store) mod rows;
#[cfg(test)]
mod tests;
mod turns;

pub(in crate::store) use batch::SharedBatch;
pub use codes::CodeMessage;
pub use generations::{Generation, Generations};
pub use process::Process;
pub(in crate::store) use repeat::Repeatable;
pub use rows::{Lease, Polled, ProcessRow};
pub(in crate::store) use turns::turns_of;
