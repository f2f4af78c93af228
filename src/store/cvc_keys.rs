//! The keys of card verification codes: one per tenant and minute, in a separate small file.
//!
//! After its retention a code must be unrecoverable, also from old pages of the data file, from
//! snapshots and from every backup. Codes are therefore sealed under keys that none of these
//! contain. A key is synced before the commit that uses it. When its minute has passed, the key is
//! overwritten in place and the file is synced. Backups leave this file out.
//!
//! The file consists of slots of 128 bytes. A used slot is tenant (16), minute (8), the sealed key
//! (69) and zeros; a free slot is all zeros.

use std::collections::BTreeMap;
use std::io;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use crate::bounds::CVC_KEYS_MAX;
use crate::crypto::SEALED_KEY_BYTES;
use crate::files;
use crate::lock::Lock;
use crate::store::failure::StorageFailure;
use crate::store::volume::{Directory, OverlayVolume, Volume, VolumeFile};

const SLOT_BYTES: usize = 128;
const SLOT: u64 = 128;
const FREE: [u8; SLOT_BYTES] = [0; SLOT_BYTES];
/// The offset of the sealed key in a slot.
const HEAD_BYTES: usize = 16 + 8;

/// The tenant and the minute (since 1970) of a key. Codes under it expire by the end of that
/// minute.
pub type CvcKeyName = ([u8; 16], u64);

#[derive(Debug)]
pub struct CvcKeys {
    slots: Lock<Slots>,
}

#[derive(Debug, Default)]
struct Slots {
    /// `None` in tests whose writes must fail.
    file: Option<Box<dyn VolumeFile>>,
    used: BTreeMap<CvcKeyName, (u64, Vec<u8>)>,
    free: Vec<u64>,
    /// The number of slots in the file.
    count: u64,
    /// Slots with other bytes than zeros behind the key, and a slot that is cut short.
    damaged: usize,
    /// The last key that was compared with the file.
    compared: Option<CvcKeyName>,
}

impl CvcKeys {
    /// The file's name in the data directory.
    pub const FILE: &'static str = "cvc.keys";

    pub fn open(directory: &Path) -> Result<Self, StorageFailure> {
        let directory = files::Directory::open(directory)?;
        Self::on_volume(&Directory::from(directory))
    }

    /// Opens the keys read-only, for verification. A missing file has no keys.
    pub fn open_unwritten(directory: &Path) -> Result<Self, StorageFailure> {
        Self::on_volume(&OverlayVolume::new(directory))
    }

    /// Keys that are lost when the process ends.
    pub fn in_memory() -> Result<Self, StorageFailure> {
        Self::on_volume(&OverlayVolume::in_memory())
    }

    pub(crate) fn on_volume(volume: &dyn Volume) -> Result<Self, StorageFailure> {
        let file = match volume.open(Self::FILE)? {
            Some(file) => file,
            None => volume.create(Self::FILE)?,
        };
        // The file's name must be durable before its content is.
        volume.sync()?;
        let read = Slots::read(file.as_ref())?;
        let slots = Slots { file: Some(file), ..read };
        if volume.is_kept() {
            slots.write_again()?;
        }
        Ok(Self { slots: Lock::new(slots) })
    }

    /// Checks that the file's name still refers to the open file, and that some of its keys are
    /// unchanged.
    pub fn check_place(&self) -> Result<(), StorageFailure> {
        let mut slots = self.slots.lock();
        let checked = slots.file.as_ref().map_or(Ok(()), |file| file.check_place());
        checked.map_err(StorageFailure::Removed)?;
        slots.check_some()
    }

    /// The number of damaged slots.
    pub fn damaged(&self) -> usize {
        self.slots.lock().damaged
    }

    pub fn all(&self) -> Vec<(CvcKeyName, Vec<u8>)> {
        self.slots.lock().used.iter().map(|(name, (_, sealed))| (*name, sealed.clone())).collect()
    }

    pub fn has(&self, name: &CvcKeyName) -> bool {
        self.slots.lock().used.contains_key(name)
    }

    pub fn sealed(&self, name: &CvcKeyName) -> Option<Vec<u8>> {
        self.slots.lock().used.get(name).map(|(_, sealed)| sealed.clone())
    }

    /// Stores a new key and returns when it is durable. Returns the existing key if there is one of
    /// this name, and `None` if the file is full.
    pub fn keep(&self, name: CvcKeyName, sealed: &[u8]) -> Result<Option<Vec<u8>>, StorageFailure> {
        Ok(self.slots.lock().keep(name, sealed)?)
    }

    /// Destroys the keys of all minutes before this one. Returns when that is durable.
    pub fn destroy_before(&self, minute: u64) -> Result<usize, StorageFailure> {
        Ok(self.slots.lock().destroy(|(_, of)| *of < minute)?)
    }

    /// Destroys the keys of a tenant. Returns when that is durable.
    pub fn destroy_of(&self, tenant: &[u8; 16]) -> Result<usize, StorageFailure> {
        Ok(self.slots.lock().destroy(|(of, _)| of == tenant)?)
    }

    /// Makes every write fail, as on a file system that turned read-only.
    #[cfg(test)]
    pub(crate) fn fail_writes(&self) {
        self.slots.lock().file = None;
    }
}

impl Slots {
    /// Does not set `file`.
    fn read(file: &dyn VolumeFile) -> io::Result<Self> {
        let len = file.len()?;
        let count = len.div_euclid(SLOT);
        let mut damaged = usize::from(len.rem_euclid(SLOT) > 0);
        let (mut used, mut free) = (BTreeMap::new(), Vec::new());
        for at in 0..count {
            let mut slot = FREE;
            file.read(at.saturating_mul(SLOT), &mut slot)?;
            damaged = damaged.saturating_add(usize::from(has_rest(&slot)));
            match parse(&slot) {
                Some((name, sealed)) => {
                    // Destruction would overwrite only one of two slots of the same name.
                    if used.insert(name, (at, sealed)).is_some() {
                        return Err(io::Error::new(
                            io::ErrorKind::InvalidData,
                            "a key is there twice",
                        ));
                    }
                }
                None => free.push(at),
            }
        }
        Ok(Self { file: None, used, free, count, damaged, compared: None })
    }

    /// Makes all keys durable. A process that was killed before its sync, or whose sync failed,
    /// leaves keys that only the page cache holds, and this process would use them as found.
    fn write_again(&self) -> io::Result<()> {
        for (name, (at, sealed)) in &self.used {
            self.write(*at, &slot(name, sealed))?;
        }
        if self.used.is_empty() { Ok(()) } else { self.file()?.sync() }
    }

    /// Compares the next keys with the file, which only this process writes. A read error is left
    /// for the next write to report.
    fn check_some(&mut self) -> Result<(), StorageFailure> {
        let after = self.compared.take().map_or(Bound::Unbounded, Bound::Excluded);
        let some = self.used.range((after, Bound::Unbounded)).take(KEYS_COMPARED);
        let mut last = None;
        for (name, (at, sealed)) in some {
            let mut found = FREE;
            let Some(file) = &self.file else { return Ok(()) };
            let read = file.read(at.saturating_mul(SLOT), &mut found);
            if read.is_ok() && !found.starts_with(&head_of(name, sealed)) {
                return Err(StorageFailure::Removed(PathBuf::from(CvcKeys::FILE)));
            }
            last = Some(*name);
        }
        self.compared = last;
        Ok(())
    }

    fn keep(&mut self, name: CvcKeyName, sealed: &[u8]) -> io::Result<Option<Vec<u8>>> {
        if let Some((_, known)) = self.used.get(&name) {
            return Ok(Some(known.clone()));
        }
        if sealed.len() != SEALED_KEY_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a key of a wrong length"));
        }
        if self.used.len() >= CVC_KEYS_MAX {
            return Ok(None);
        }
        let at = self.free.pop().unwrap_or(self.count);
        self.write(at, &slot(&name, sealed))?;
        // The key must be durable before any code is sealed under it.
        self.file()?.sync()?;
        self.count = self.count.max(at.saturating_add(1));
        self.used.insert(name, (at, sealed.to_vec()));
        Ok(Some(sealed.to_vec()))
    }

    fn destroy(&mut self, chosen: impl Fn(&CvcKeyName) -> bool) -> io::Result<usize> {
        let passed: Vec<CvcKeyName> =
            self.used.keys().filter(|name| chosen(name)).copied().collect();
        for name in &passed {
            if let Some((at, _)) = self.used.get(name) {
                self.write(*at, &FREE)?;
            }
        }
        if !passed.is_empty() {
            self.file()?.sync()?;
        }
        for name in &passed {
            if let Some((at, _)) = self.used.remove(name) {
                self.free.push(at);
            }
        }
        Ok(passed.len())
    }

    fn write(&self, at: u64, slot: &[u8; SLOT_BYTES]) -> io::Result<()> {
        let offset = at.saturating_mul(SLOT);
        self.file()?.write(offset, slot)
    }

    fn file(&self) -> io::Result<&dyn VolumeFile> {
        self.file.as_deref().ok_or_else(|| io::ErrorKind::ReadOnlyFilesystem.into())
    }
}

/// Keys compared in one call: a request that waits for a key waits less than a millisecond.
const KEYS_COMPARED: usize = 64;

fn head_of(name: &CvcKeyName, sealed: &[u8]) -> Vec<u8> {
    [&name.0, name.1.to_be_bytes().as_slice(), sealed].concat()
}

fn slot(name: &CvcKeyName, sealed: &[u8]) -> [u8; SLOT_BYTES] {
    let mut slot = FREE;
    for (to, from) in slot.iter_mut().zip(head_of(name, sealed)) {
        *to = from;
    }
    slot
}

/// Returns true if the padding of a slot has other bytes than zeros.
fn has_rest(slot: &[u8; SLOT_BYTES]) -> bool {
    slot.iter().skip(HEAD_BYTES.saturating_add(SEALED_KEY_BYTES)).any(|byte| *byte != 0)
}

fn parse(slot: &[u8; SLOT_BYTES]) -> Option<(CvcKeyName, Vec<u8>)> {
    let tenant: [u8; 16] = slot.get(..16)?.try_into().ok()?;
    let minute = u64::from_be_bytes(slot.get(16..HEAD_BYTES)?.try_into().ok()?);
    let sealed = slot.get(HEAD_BYTES..HEAD_BYTES + SEALED_KEY_BYTES)?;
    (*slot != FREE).then(|| ((tenant, minute), sealed.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::disk::{EIO, Fault, Operation, TestDisk};

    const SEALED: [u8; SEALED_KEY_BYTES] = [0xaa; SEALED_KEY_BYTES];

    #[test]
    fn a_file_with_one_key_in_two_slots_is_refused_since_one_would_never_be_destroyed() {
        let directory = crate::store::tests::TestDirectory::new();
        let path = directory.join(CvcKeys::FILE);
        let slot = slot(&([1; 16], 10), &SEALED);
        std::fs::write(&path, [slot, slot].concat()).unwrap();
        assert!(CvcKeys::open(directory.path()).is_err());
        std::fs::write(&path, slot).unwrap();
        let keys = CvcKeys::open(directory.path()).unwrap();
        assert!(keys.keep(([1; 16], 11), &SEALED[1..]).is_err(), "a key of a wrong length");
        assert_eq!(keys.sealed(&([1; 16], 11)), None);
    }

    #[test]
    fn a_key_whose_sync_failed_is_durable_when_the_next_process_uses_it() {
        let disk = TestDisk::new();
        let name = ([1; 16], 10);
        let keys = CvcKeys::on_volume(&disk).unwrap();
        disk.plan(Operation::Sync, 1, Fault::Once(EIO));
        assert!(keys.keep(name, &SEALED).is_err());
        drop(keys);
        let next = CvcKeys::on_volume(&disk).unwrap();
        assert_eq!(next.keep(name, &SEALED).unwrap().as_deref(), Some(SEALED.as_slice()));
        let after_power_loss = TestDisk::holding(disk.durable());
        let keys = CvcKeys::on_volume(&after_power_loss).unwrap();
        assert!(keys.sealed(&name).is_some(), "the key is lost");
    }

    #[test]
    fn keys_in_memory_are_kept_and_destroyed_like_those_of_a_file() {
        let keys = CvcKeys::in_memory().unwrap();
        for minute in 10..13 {
            keys.keep(([1; 16], minute), &SEALED).unwrap();
        }
        assert_eq!(keys.destroy_before(12).unwrap(), 2);
        assert_eq!(keys.sealed(&([1; 16], 11)), None);
        assert_eq!(keys.sealed(&([1; 16], 12)).as_deref(), Some(SEALED.as_slice()));
        keys.keep(([1; 16], 13), &SEALED).unwrap();
        assert!(keys.check_place().is_ok() && keys.damaged() == 0);
        assert_eq!(CvcKeys::in_memory().unwrap().all(), Vec::new(), "another process has none");
    }

    #[test]
    fn the_keys_of_one_tenant_are_destroyed_and_those_of_others_stay() {
        let directory = crate::store::tests::TestDirectory::new();
        let keys = CvcKeys::open(directory.path()).unwrap();
        for (tenant, minute) in [(1, 10), (2, 10), (1, 11)] {
            keys.keep(([tenant; 16], minute), &[0xa0 + tenant; SEALED_KEY_BYTES]).unwrap();
        }
        assert_eq!(keys.destroy_of(&[1; 16]).unwrap(), 2);
        assert_eq!(keys.destroy_of(&[1; 16]).unwrap(), 0);
        let bytes = std::fs::read(directory.join(CvcKeys::FILE)).unwrap();
        assert!(!bytes.contains(&0xa1) && bytes.contains(&0xa2));
    }

    #[test]
    fn a_key_survives_reopening_and_its_bytes_are_gone_after_its_minute() {
        let directory = std::env::temp_dir().join(format!("sr-cvc-keys-{}", std::process::id()));
        std::fs::create_dir(&directory).unwrap();
        let keys = CvcKeys::open(&directory).unwrap();
        let (early, late) = (([1; 16], 10), ([1; 16], 11));
        keys.keep(early, &SEALED).unwrap();
        keys.keep(late, &[0xbb; SEALED_KEY_BYTES]).unwrap();
        assert_eq!(keys.keep(early, &[0xcc; SEALED_KEY_BYTES]).unwrap().unwrap(), SEALED);
        drop(keys);
        let keys = CvcKeys::open(&directory).unwrap();
        assert_eq!(keys.sealed(&early).unwrap(), SEALED);
        assert_eq!(keys.destroy_before(11).unwrap(), 1);
        assert_eq!(keys.sealed(&early), None);
        assert!(keys.sealed(&late).is_some());
        let bytes = std::fs::read(directory.join(CvcKeys::FILE)).unwrap();
        assert!(!bytes.contains(&0xaa));
        assert!(bytes.contains(&0xbb));
        // Freed slots are used again: the file does not grow with time.
        keys.keep(([2; 16], 12), &SEALED).unwrap();
        assert_eq!(std::fs::metadata(directory.join(CvcKeys::FILE)).unwrap().len(), 256);
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
