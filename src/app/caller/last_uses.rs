//! The last use of each API key, to the minute, in memory.
//!
//! A request stores its minute in one atomic, which all cached callers of a key share. A task of
//! the server writes the changed minutes once a minute and at a stop: a crash loses at most a
//! minute, and a vault without requests writes nothing.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::bounds::LAST_USES_MAX;
use crate::domain::application::ApiKey;
use crate::domain::id::{KeyId, TenantId};
use crate::domain::time::Timestamp;
use crate::lock::Lock;
use crate::store::tables;

/// Less than every minute: the key was not used.
const NEVER: i64 = i64::MIN;

#[derive(Debug)]
pub(in crate::app) struct LastUse {
    key: KeyId,
    tenant: TenantId,
    pub(in crate::app) place: Vec<u8>,
    /// The last use, in minutes since 1970.
    noted: AtomicI64,
    /// The minute that is in the file.
    written: AtomicI64,
}

impl LastUse {
    pub(in crate::app) fn of(key: &ApiKey) -> Arc<Self> {
        Arc::new(Self {
            key: key.id,
            tenant: key.tenant,
            place: tables::key_uses(key.tenant, key.application, key.id),
            noted: AtomicI64::new(NEVER),
            written: AtomicI64::new(NEVER),
        })
    }

    /// Within a minute, all requests but the first only load the atomic: a store by each of them
    /// would make the cores pass its cache line around.
    pub(in crate::app) fn note(&self, now: Timestamp) {
        let minute = minute_of(now);
        if self.noted.load(Ordering::Relaxed) < minute {
            self.noted.fetch_max(minute, Ordering::Relaxed);
        }
    }

    pub(in crate::app) fn set_written(&self, minute: i64) {
        self.written.fetch_max(minute, Ordering::Relaxed);
    }

    /// `None` if the file has the newest minute.
    fn unwritten(&self) -> Option<i64> {
        let noted = self.noted.load(Ordering::Relaxed);
        (noted > self.written.load(Ordering::Relaxed)).then_some(noted)
    }
}

/// Holds the keys of cached callers.
#[derive(Debug, Default)]
pub(in crate::app) struct LastUses(Lock<HashMap<KeyId, Arc<LastUse>>>);

impl LastUses {
    /// All callers with this key share one value. Called when a caller is read from the file, not
    /// for each request. Beyond the maximum number of keys, the uses of further keys are not kept.
    pub(in crate::app) fn share(&self, key: &ApiKey) -> Arc<LastUse> {
        let mut known = self.0.lock();
        if let Some(last) = known.get(&key.id) {
            return Arc::clone(last);
        }
        if known.len() >= LAST_USES_MAX {
            known.retain(|_, last| is_needed(last));
        }
        let last = LastUse::of(key);
        if known.len() < LAST_USES_MAX {
            known.insert(key.id, Arc::clone(&last));
        }
        last
    }

    pub(in crate::app) fn unwritten(&self) -> Vec<(Arc<LastUse>, i64)> {
        let known = self.0.lock();
        let pending = |last: &Arc<LastUse>| Some((Arc::clone(last), last.unwritten()?));
        known.values().filter_map(pending).collect()
    }

    pub(in crate::app) fn forget_unneeded(&self) {
        self.0.lock().retain(|_, last| is_needed(last));
    }

    pub(in crate::app) fn of_tenant(&self, tenant: TenantId) -> Vec<(KeyId, i64)> {
        let known = self.0.lock();
        let own = known.values().filter(|last| last.tenant == tenant);
        let noted = own.map(|last| (last.key, last.noted.load(Ordering::Relaxed)));
        noted.filter(|(_, minute)| *minute > NEVER).collect()
    }
}

/// True if a caller shares the value or the file does not have it yet.
fn is_needed(last: &Arc<LastUse>) -> bool {
    Arc::strong_count(last) > 1 || last.unwritten().is_some()
}

const fn minute_of(at: Timestamp) -> i64 {
    at.seconds().div_euclid(60)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::domain::application::KeyForm;
    use crate::domain::id::ApplicationId;

    fn key(number: u128) -> ApiKey {
        ApiKey {
            id: KeyId::new(Uuid::from_u128(number)),
            tenant: TenantId::new(Uuid::from_u128(1)),
            application: ApplicationId::new(Uuid::from_u128(2)),
            form: KeyForm::Current,
            created_by: None,
            created_at: Timestamp::from_seconds(0),
        }
    }

    #[test]
    fn a_use_is_kept_to_the_minute_and_never_goes_back() {
        let last = LastUse::of(&key(1));
        assert_eq!(last.unwritten(), None);
        for (second, expected) in [(0, 0), (59, 0), (60, 1), (59, 1), (185, 3)] {
            last.note(Timestamp::from_seconds(second));
            assert_eq!(last.unwritten(), Some(expected), "{second}");
        }
        last.written.store(3, Ordering::Relaxed);
        last.note(Timestamp::from_seconds(239));
        assert_eq!(last.unwritten(), None);
    }

    #[test]
    fn callers_of_a_key_share_its_last_use_which_is_forgotten_after_them() {
        let uses = LastUses::default();
        let (one, same) = (uses.share(&key(1)), uses.share(&key(1)));
        assert!(Arc::ptr_eq(&one, &same));
        one.note(Timestamp::from_seconds(60));
        drop((one, same));
        uses.forget_unneeded();
        let [(last, minute)] = <[_; 1]>::try_from(uses.unwritten()).unwrap();
        assert_eq!(minute, 1);
        last.written.store(minute, Ordering::Relaxed);
        uses.forget_unneeded();
        assert_eq!(uses.0.lock().len(), 1, "this test still has it");
        drop(last);
        uses.forget_unneeded();
        assert_eq!(uses.0.lock().len(), 0);
    }

    #[test]
    fn keys_beyond_the_bound_take_the_places_of_unneeded_ones_only() {
        let uses = LastUses::default();
        let most = u128::try_from(LAST_USES_MAX).unwrap();
        let held: Vec<_> = (0..most).map(|number| uses.share(&key(number))).collect();
        let beyond = uses.share(&key(most));
        beyond.note(Timestamp::from_seconds(60));
        assert_eq!(uses.unwritten().len(), 0);
        assert_eq!(uses.0.lock().len(), LAST_USES_MAX);
        drop(held);
        let kept = uses.share(&key(most));
        kept.note(Timestamp::from_seconds(60));
        assert_eq!(uses.unwritten().len(), 1);
        assert_eq!(uses.0.lock().len(), 1);
    }
}
