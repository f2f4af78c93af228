//! The place of a store: a directory of this host, or a database that several processes share.

use std::path::PathBuf;
use std::sync::Arc;

use crate::clock::Clock;
use crate::store::alarm::Alarm;
use crate::store::archive::replay::Replay;
use crate::store::backup::reader::Reader;
use crate::store::batch::Batch;
use crate::store::change::Change;
use crate::store::cvc_keys::CvcKeys;
use crate::store::engine::local::state::Origin;
use crate::store::engine::postgres::{Access, Database, PostgresEngine};
use crate::store::engine::{Moment, Order, Page, Read};
use crate::store::failure::{OpenFailure, StorageFailure};
use crate::store::handle::Store;
use crate::store::opening;
use crate::store::restore::{RestoreFailure, Restored};
use crate::store::tables::{KeyRange, Table, meta};

#[derive(Debug, Clone)]
pub enum StorePlace {
    Directory(PathBuf),
    Database(Database),
}

impl StorePlace {
    /// Creates a store with the rows of `first`. A crash leaves nothing that looks like a vault.
    pub fn create(&self, clock: &Clock, first: Change) -> Result<Store, OpenFailure> {
        match self {
            Self::Directory(directory) => Store::create(directory, clock, first),
            Self::Database(database) => database.create_store(first),
        }
    }

    pub fn open(&self, clock: &Clock) -> Result<Store, OpenFailure> {
        match self {
            Self::Directory(directory) => Store::open(directory, clock),
            Self::Database(database) => database.open_store(),
        }
    }

    /// The keys of card verification codes. A database keeps old rows in its log and its replicas,
    /// so a key could not be destroyed there: processes hold these keys in memory only.
    pub fn cvc_keys(&self) -> Result<CvcKeys, StorageFailure> {
        match self {
            Self::Directory(directory) => CvcKeys::open(directory),
            Self::Database(_) => CvcKeys::in_memory(),
        }
    }

    /// Restores a backup of either kind of place. See [`Store::restore`].
    pub fn restore(
        &self,
        backup: Reader,
        archive: Option<Replay<'_>>,
        mark: Change,
    ) -> Result<Restored, RestoreFailure> {
        match self {
            Self::Directory(directory) => Store::restore(directory, backup, archive, mark),
            Self::Database(database) => database.restore_store(backup, archive, &mark),
        }
    }
}

impl Database {
    /// Creates a store in a database without one, all rows or nothing.
    pub fn create_store(&self, first: Change) -> Result<Store, OpenFailure> {
        let shards = self.new_shards();
        let mut batch = Batch::new(&NoRows, None).within(shards);
        let first = opening::described(first);
        batch.take(first.put(Table::Meta, meta::SHARDS.to_vec(), shards.encode()))?;
        self.create(Origin::default(), &batch.rows()?, Some(shards))?;
        self.open_store()
    }

    pub fn open_store(&self) -> Result<Store, OpenFailure> {
        self.store_with(Access::ReadWrite)
    }

    /// Opens the store for verification: every write is refused.
    pub fn open_store_unwritten(&self) -> Result<Store, OpenFailure> {
        self.store_with(Access::ReadOnly)
    }

    fn store_with(&self, access: Access) -> Result<Store, OpenFailure> {
        let engine = PostgresEngine::start(self, access)?;
        let store = Store::open_engine(Arc::new(engine), Alarm::default())?;
        let checked = store.snapshot().map_err(OpenFailure::Storage);
        match checked.and_then(|snapshot| opening::check_snapshot(&snapshot)) {
            Ok(()) => Ok(store),
            Err(failure) => {
                store.close();
                Err(failure)
            }
        }
    }
}

struct NoRows;

impl Read for NoRows {
    fn moment(&self) -> Result<Moment, StorageFailure> {
        Ok(Moment::default())
    }

    fn get(&self, _: Table, _: &[u8]) -> Result<Option<Vec<u8>>, StorageFailure> {
        Ok(None)
    }

    fn page(&self, _: &KeyRange, _: Order, _: usize) -> Result<Page, StorageFailure> {
        Ok(Page { rows: Vec::new(), is_last: true })
    }
}
