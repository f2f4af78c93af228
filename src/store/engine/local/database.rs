//! redb behind a guard. redb reports most damaged pages as errors and panics on the others. Such a
//! panic is damage of the file and no fault of the program: the process ends with the code of
//! damaged data, after which the service manager does not start it again.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use redb::{Database, ReadTransaction, ReadableDatabase as _, WriteTransaction};

use crate::store::failure::StorageFailure;

/// An open database. Dropping it never panics.
pub(in crate::store) struct GuardedDatabase(
    /// `None` only while it is dropped.
    Option<Database>,
);

/// Runs work on pages of the file, and gives a panic as damage.
pub(in crate::store) fn guard<T, E: From<StorageFailure>>(
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    // The caller gives the file up after this failure, so no half-changed state is used again.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_payload| Err(invalid_page().into()))
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
        catch_unwind(AssertUnwindSafe(|| drop(database))).ok();
    }
}

impl fmt::Debug for GuardedDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GuardedDatabase")
    }
}
