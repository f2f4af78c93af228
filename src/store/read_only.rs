//! The data file opened for reading alone.

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

/// How the process that last had the file open left it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cleanliness {
    Clean,
    /// It ended without closing the file, and the engine has to go through all of its pages.
    NeedsRecovery,
}

/// A file that is only looked at.
pub(super) struct ReadOnlyDatabase {
    pub(super) database: Database,
    pub(super) cleanliness: Cleanliness,
}

/// Opens the file for reading alone; the engine writes to memory.
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
            // With another vault's key the copy keeps its keys as they are, and opening the vault
            // reports the wrong key.
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
