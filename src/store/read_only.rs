//! Opens the data file read-only.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redb::Database;

use crate::crypto::{MasterKey, Random};
use crate::store::failure::OpenFailure;
use crate::store::file::{builder, check_format, existing, first_look};
use crate::store::meta;
use crate::store::migration;
use crate::store::overlay::Overlay;

/// The state in which the last process left the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cleanliness {
    Clean,
    /// The process ended without closing the file, so the engine has to check all pages.
    NeedsRecovery,
}

/// A database on a file that is not written.
pub(super) struct ReadOnlyDatabase {
    pub(super) database: Database,
    pub(super) cleanliness: Cleanliness,
}

/// Opens the file read-only. The engine writes to memory.
pub(super) fn open_unwritten(
    directory: &Path,
    master: Option<&MasterKey>,
) -> Result<ReadOnlyDatabase, OpenFailure> {
    let overlay = Overlay::open(&existing(directory)?)?;
    let was_mended = Arc::new(AtomicBool::new(false));
    let mut builder = builder();
    let mending = Arc::clone(&was_mended);
    builder.set_repair_callback(move |_| mending.store(true, Ordering::Relaxed));
    let database = builder.create_with_backend(overlay)?;
    match check_format(&database) {
        Err(OpenFailure::Older(from)) => {
            // With the key of another vault, the migration in memory leaves the file's keys as they
            // are. Opening the vault then reports the wrong key.
            let migrated = first_look(&database).and_then(|snapshot| {
                let check = meta::master_check(&snapshot)?.unwrap_or_default();
                drop(snapshot);
                let master = master.filter(|master| master.has_check(&check));
                migration::run(&database, from, master, &Random::new())
            });
            migrated.map_err(OpenFailure::Storage)?;
        }
        checked => checked?,
    }
    let cleanliness = if was_mended.load(Ordering::Relaxed) {
        Cleanliness::NeedsRecovery
    } else {
        Cleanliness::Clean
    };
    Ok(ReadOnlyDatabase { database, cleanliness })
}
