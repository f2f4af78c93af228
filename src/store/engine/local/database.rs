//! redb behind a guard. redb reports most damaged pages as errors and panics on the others. Such a
//! panic is damage of the file and no fault of the program: the process ends with the code of
//! damaged data, after which the service manager does not start it again.
//!
//! After a panic, redb gives up what it had begun, and can panic once more there. That panic cannot be
//! caught, so the program's hook of panics ends the process with the same code
//! ([`panic_cannot_be_caught`]). Pages that lead in a circle are an error for a read; a write into
//! them overflows the stack, which aborts the process.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use redb::{Database, ReadTransaction, ReadableDatabase as _, WriteTransaction};

use crate::store::failure::StorageFailure;

/// An open database. Dropping it never panics.
pub(in crate::store) struct GuardedDatabase(
    /// `None` only while it is dropped.
    Option<Database>,
);

/// The work on pages that a thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    None,
    Guarded,
    /// It has panicked.
    GivenUp,
}

thread_local! {
    static WORK: Cell<Work> = const { Cell::new(Work::None) };
}

/// Runs work on pages of the file, and gives a panic as damage.
pub(in crate::store) fn guard<T, E: From<StorageFailure>>(
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let around = WORK.replace(Work::Guarded);
    // The caller gives the file up after this failure, so no half-changed state is used again.
    let done = catch_unwind(AssertUnwindSafe(work));
    WORK.set(around);
    done.unwrap_or_else(|_payload| Err(invalid_page().into()))
}

/// Work on pages that only panics.
#[cfg(test)]
pub(crate) fn guard_pages(work: impl FnOnce()) -> Result<(), StorageFailure> {
    guard(|| {
        work();
        Ok(())
    })
}

/// For the hook of panics, which calls it once for each panic of its thread: true for the second
/// panic of guarded work, after which the runtime of Rust aborts the process.
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

    /// Reads every page and compares its checksum. Returns false if one is wrong.
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
    /// redb reads and writes pages when it is dropped. A page that it cannot read was reported
    /// before, or will be by the next start.
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
