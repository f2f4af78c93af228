//! The master key in use, or the old and the new one during a replacement. Each snapshot holds the
//! check value of the master key that sealed its keys.

use std::sync::Arc;

use crate::app::error::{Error, Fault};
use crate::crypto::MasterKey;
use crate::lock::SharedLock;
use crate::store::{Snapshot, meta};

#[derive(Debug)]
pub(in crate::app) struct Masters(SharedLock<Vec<Arc<MasterKey>>>);

impl Masters {
    pub(in crate::app) fn new(master: MasterKey) -> Self {
        Self(SharedLock::new(vec![Arc::new(master)]))
    }

    pub(in crate::app) fn of(&self, snapshot: &Snapshot) -> Result<Arc<MasterKey>, Error> {
        let check = meta::master_check(snapshot)?;
        let known = self.0.read();
        let found = known.iter().find(|master| check.as_deref() == Some(master.check().as_slice()));
        found.map(Arc::clone).ok_or(Error::Internal(Fault::DoesNotOpen))
    }

    /// Call this before the file is sealed under the new master key, so that every reader can open
    /// the keys that it finds.
    pub(in crate::app) fn add(&self, master: MasterKey) -> Arc<MasterKey> {
        let mut known = self.0.write();
        if let Some(found) = known.iter().find(|own| own.check() == master.check()) {
            return Arc::clone(found);
        }
        let master = Arc::new(master);
        known.push(Arc::clone(&master));
        master
    }

    /// Call this when no reader needs keys that the other master keys sealed.
    pub(in crate::app) fn keep_only(&self, check: [u8; 8]) {
        let mut known = self.0.write();
        known.retain(|master| *master.check() == check);
    }

    pub(in crate::app) fn are_several(&self) -> bool {
        self.0.read().len() > 1
    }
}
