//! Readings of the decrypted chain by operators. A reading has one entry, and its pages belong to it
//! by an id that only its reader knows. A page without the id of a living reading is a reading of its
//! own, so no page is read without an entry.

use std::collections::HashMap;

use uuid::Uuid;

use crate::app::{Audit, origin};
use crate::bounds::{AUDIT_READING_MAX, AUDIT_READINGS_MAX};
use crate::domain::time::Timestamp;
use crate::lock::Lock;

#[derive(Debug, Default)]
pub(in crate::app) struct Readings(Lock<HashMap<Uuid, Reading>>);

#[derive(Debug, Clone, Copy)]
struct Reading {
    /// The user of the machine; `None` outside of a command.
    uid: Option<u32>,
    begun: Timestamp,
}

impl Readings {
    fn knows(&self, id: Uuid, uid: Option<u32>, now: Timestamp) -> bool {
        let mut all = self.0.lock();
        // A clock that was set back must not make a reading last.
        all.retain(|_, it| it.begun <= now && now.since(it.begun) < AUDIT_READING_MAX);
        all.get(&id).is_some_and(|it| it.uid == uid)
    }

    fn begin(&self, id: Uuid, uid: Option<u32>, begun: Timestamp) {
        let mut all = self.0.lock();
        if all.len() >= AUDIT_READINGS_MAX
            && let Some(oldest) = all.iter().min_by_key(|(_, it)| it.begun).map(|(id, _)| *id)
        {
            all.remove(&oldest);
        }
        all.insert(id, Reading { uid, begun });
    }
}

impl Audit<'_> {
    /// True if this user began the reading and its entry is written.
    pub fn knows_reading(self, id: Option<Uuid>) -> bool {
        id.is_some_and(|id| self.vault.readings.knows(id, reader(), self.vault.now()))
    }

    /// Call it when the entry of the reading is written.
    pub fn begin_reading(self) -> Uuid {
        let id = Uuid::from_bytes(self.vault.random().bytes());
        self.vault.readings.begin(id, reader(), self.vault.now());
        id
    }
}

fn reader() -> Option<u32> {
    origin::current().and_then(|origin| origin.user.as_ref().map(|user| user.uid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_is_of_one_user_and_for_a_day_and_their_number_is_bounded() {
        let readings = Readings::default();
        let (id, at) = (Uuid::from_u128(1), Timestamp::from_seconds(1_000));
        let later = |by: std::time::Duration| at.plus(by);
        readings.begin(id, Some(7), at);
        assert!(readings.knows(id, Some(7), at));
        assert!(!readings.knows(id, Some(8), at) && !readings.knows(id, None, at));
        assert!(!readings.knows(Uuid::from_u128(2), Some(7), at));
        let second = std::time::Duration::from_secs(1);
        assert!(readings.knows(id, Some(7), later(AUDIT_READING_MAX.checked_sub(second).unwrap())));
        assert!(!readings.knows(id, Some(7), later(AUDIT_READING_MAX)));
        readings.begin(id, Some(7), at);
        assert!(!readings.knows(id, Some(7), Timestamp::from_seconds(999)));
        readings.begin(id, Some(7), at);
        for number in 0..u128::try_from(AUDIT_READINGS_MAX).unwrap() {
            readings.begin(Uuid::from_u128(100 + number), Some(7), later(second));
        }
        assert!(!readings.knows(id, Some(7), later(second)));
        assert_eq!(readings.0.lock().len(), AUDIT_READINGS_MAX);
    }
}
