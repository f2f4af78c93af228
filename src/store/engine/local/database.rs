//! Guards redb. redb reports most damaged pages as errors and panics on the others. Such a panic
//! means a damaged file, not a fault of the program: the process ends with the exit code of damaged
//! data, and the service manager does not restart it.
//!
//! While it unwinds, redb rolls back its work and can panic again. That second panic cannot be
//! caught, so the panic hook ends the process with the same code ([`panic_cannot_be_caught`]).
//! Pages that form a cycle are an error for a read; a write into them overflows the stack, which
//! aborts the process.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use redb::{Database, ReadTransaction, ReadableDatabase as _, WriteTransaction};

use crate::store::failure::StorageFailure;

/// An open database. Dropping it never panics.
pub(in crate::store) struct GuardedDatabase(
    /// `None` only while it is dropped.
    Option<Database>,
);

/// The state of this thread's work on pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    None,
    Guarded,
    /// The work has panicked.
    GivenUp,
}

thread_local! {
    static WORK: Cell<Work> = const { Cell::new(Work::None) };
}

/// Runs work on pages of the file and returns a panic as damage.
pub(in crate::store) fn guard<T, E: From<StorageFailure>>(
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let around = WORK.replace(Work::Guarded);
    // The caller drops the file after this failure, so no half-changed state is used again.
    let done = catch_unwind(AssertUnwindSafe(work));
    WORK.set(around);
    done.unwrap_or_else(|_payload| Err(invalid_page().into()))
}

#[cfg(test)]
pub(crate) fn guard_pages(work: impl FnOnce()) -> Result<(), StorageFailure> {
    guard(|| {
        work();
        Ok(())
    })
}

/// The panic hook calls this once for each panic on its thread. Returns true for the second panic
/// of guarded work, after which the Rust runtime aborts the process.
pub fn panic_cannot_be_caught() -> bool {
    match WORK.get() {
        Work::None => false,
        Work::Guarded => {
            WORK.set(Work::GivenUp);
            false
        }
        Work::GivenUp => true,
    }
}

pub(super) fn invalid_page() -> StorageFailure {
    StorageFailure::Damaged(String::from("the storage engine met an invalid page"))
}

impl GuardedDatabase {
    pub(super) const fn new(database: Database) -> Self {
        Self(Some(database))
    }

    pub(in crate::store) fn begin_read(&self) -> Result<ReadTransaction, StorageFailure> {
        guard(|| Ok(self.open()?.begin_read()?))
    }

    pub(in crate::store) fn begin_write(&self) -> Result<WriteTransaction, StorageFailure> {
        guard(|| Ok(self.open()?.begin_write()?))
    }

    pub(super) fn compact(&mut self) -> Result<bool, StorageFailure> {
        let database = self.0.as_mut().ok_or(StorageFailure::Stopped)?;
        guard(|| Ok(database.compact()?))
    }

    /// Reads every page and checks its checksum. Returns false if one is wrong.
    pub(in crate::store) fn has_sound_pages(&mut self) -> Result<bool, StorageFailure> {
        let database = self.0.as_mut().ok_or(StorageFailure::Stopped)?;
        let checked = guard(|| Ok(database.check_integrity()?));
        match checked {
            Err(StorageFailure::Damaged(_)) => Ok(false),
            checked => checked,
        }
    }

    fn open(&self) -> Result<&Database, StorageFailure> {
        self.0.as_ref().ok_or(StorageFailure::Stopped)
    }
}

impl Drop for GuardedDatabase {
    /// redb reads and writes pages when it is dropped. An unreadable page was reported before, or
    /// the next start reports it.
    fn drop(&mut self) {
        let database = self.0.take();
        guard(|| -> Result<(), StorageFailure> {
            drop(database);
            Ok(())
        })
        .ok();
    }
}

opaque_debug!(GuardedDatabase);
