//! Returns the free pages of a closed data file to the disk.
//!
//! redb reuses free pages, but a file never shrinks by itself, for instance after a key rotation or
//! the deletion of many tokens. Compaction moves pages to the front of the file and cuts off its
//! end. Each move is a transaction, so a crash loses nothing, and no second copy of the file is
//! needed.

use std::path::Path;

use crate::bounds::CACHE_BYTES;
use crate::clock::Clock;
use crate::store::engine::local::file::DataFile;
use crate::store::failure::OpenFailure;
use crate::store::handle::Store;
use crate::store::opening;
use crate::store::volume::{Directory, OverlayVolume};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactSummary {
    pub before_bytes: u64,
    pub after_bytes: u64,
}

/// The free space of a data file, before it is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactForecast {
    pub bytes: u64,
    /// The length of all free pages. Compaction returns nearly all of it.
    pub free_bytes: u64,
}

impl Store {
    /// Reads the data file of a stopped vault and counts its free pages. Writes nothing: a file that
    /// was not closed is recovered in memory.
    pub fn forecast_compact(directory: &Path) -> Result<CompactForecast, OpenFailure> {
        let data = DataFile::open(&OverlayVolume::new(directory), CACHE_BYTES)?;
        let (bytes, used_bytes) = (data.bytes()?, data.used_bytes()?);
        Ok(CompactForecast { bytes, free_bytes: bytes.saturating_sub(used_bytes) })
    }

    /// Compacts the data file of a stopped vault.
    pub fn compact(directory: &Path, clock: &Clock) -> Result<CompactSummary, OpenFailure> {
        // Opening and closing the store moves the rows of the log into the data file.
        Self::open(directory, clock)?.close();
        let volume = Directory::open(directory)?;
        let mut data = opening::open(&volume)?;
        let before_bytes = data.bytes()?;
        while data.compact()? {}
        // Closing the file writes the map of its free pages, which may need room.
        drop(data);
        let after_bytes = std::fs::metadata(directory.join(Self::FILE))?.len();
        Ok(CompactSummary { before_bytes, after_bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::{TestDirectory, block_on, has, put};
    use crate::store::{Change, Table, Verdict};

    #[test]
    fn the_space_of_deleted_rows_goes_back_to_the_disk_and_the_others_stay() {
        let directory = TestDirectory::new();
        let clock = Clock::new();
        let store = Store::create(directory.path(), &clock, put(1)).unwrap();
        let key = |number: u32| number.to_be_bytes().to_vec();
        let fill = (0..4_000).fold(Change::new(), |change, number| {
            change.put(Table::Audit, key(number), vec![7; 1_000])
        });
        assert_eq!(block_on(store.commit(fill)), Ok(Verdict::Applied));
        store.close();
        let store = Store::open(directory.path(), &clock).unwrap();
        let empty = (0..4_000)
            .fold(Change::new(), |change, number| change.delete(Table::Audit, key(number)));
        assert_eq!(block_on(store.commit(empty)), Ok(Verdict::Applied));
        assert!(matches!(Store::compact(directory.path(), &clock), Err(OpenFailure::AlreadyOpen)));
        let measured = Store::forecast_compact(directory.path());
        assert!(matches!(measured, Err(OpenFailure::AlreadyOpen)));
        store.close();
        let place = directory.path().join(Store::FILE);
        let before = std::fs::read(&place).unwrap();
        let forecast = Store::forecast_compact(directory.path()).unwrap();
        assert_eq!(std::fs::read(&place).unwrap(), before, "measuring writes nothing");
        assert!(forecast.free_bytes * 2 > forecast.bytes, "{forecast:?}");
        let compacted = Store::compact(directory.path(), &clock).unwrap();
        let gained = compacted.before_bytes - compacted.after_bytes;
        assert!(gained * 2 > forecast.free_bytes, "{forecast:?} {compacted:?}");
        assert!(compacted.after_bytes * 2 < compacted.before_bytes, "{compacted:?}");
        assert_eq!(std::fs::metadata(&place).unwrap().len(), compacted.after_bytes);
        let store = Store::open(directory.path(), &clock).unwrap();
        assert!(has(&store, 1));
        assert_eq!(store.snapshot().unwrap().len(Table::Audit).unwrap(), 0);
    }
}
