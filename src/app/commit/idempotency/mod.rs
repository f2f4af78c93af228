//! Idempotency keys: the answer is stored in the same change as the effect.
//!
//! While the first request of a key is in flight, further requests of the key are refused. The set
//! of keys in flight is in memory, since no request outlives the process. Answers are in the data
//! file, so a repeated request finds its answer after a restart too.
//!
//! An answer has two rows: a small one under the blinded key, which finds the answer, and the
//! answer itself, ordered by time. So the large rows of new answers are adjacent in the file.

mod remember;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::sync::Arc;

use crate::app::Idempotency;
use crate::app::caller::{Caller, SessionRights};
use crate::app::error::{Error, Fault};
use crate::crypto::TenantKeys;
use crate::domain::id::TenantId;
use crate::domain::time::Timestamp;
use crate::idempotency::{Decision, decide, half_day, live_half_days};
use crate::lock::Lock;
use crate::store::record::{AnswerRecord, decode_answer};
use crate::store::{Change, Newest, Snapshot, Table, tables};

/// A request with an idempotency key, in flight. Dropping it admits the next request of the key.
#[derive(Debug)]
pub struct Guard {
    caller: Arc<Caller>,
    blinded: [u8; 16],
    in_flight: Arc<InFlight>,
    /// The expectations and the half-day of the look-up before the body was read. The first
    /// decision reuses them.
    expected: Lock<Option<Change>>,
    looked_up_in: u64,
}

#[derive(Debug, Default)]
pub(in crate::app) struct InFlight(Lock<HashSet<(TenantId, [u8; 16])>>);

impl InFlight {
    fn begin(&self, key: (TenantId, [u8; 16])) -> bool {
        self.0.lock().insert(key)
    }

    fn end(&self, key: &(TenantId, [u8; 16])) {
        self.0.lock().remove(key);
    }
}

impl Idempotency<'_> {
    /// Takes the key before the body of the request is read. Fails with [`Error::Replayed`] if the
    /// key was answered before; the error holds that answer, as far as the caller may see it today.
    pub async fn begin(
        self,
        caller: &Arc<Caller>,
        method: &str,
        path: &str,
        key: &str,
    ) -> Result<Guard, Error> {
        let blinded = blind(caller, method, path, key);
        if !self.vault.in_flight.begin((caller.tenant.id, blinded)) {
            return Err(Error::InFlight);
        }
        let now = self.vault.now();
        let guard = Guard {
            caller: Arc::clone(caller),
            blinded,
            in_flight: Arc::clone(&self.vault.in_flight),
            expected: Lock::default(),
            looked_up_in: half_day(now),
        };
        let expected = match self.look_up_new(&guard, now).await? {
            Some(expected) => expected,
            None => self.look_up(&self.vault.snapshot()?, &guard, now)?,
        };
        *guard.expected.lock() = Some(expected);
        Ok(guard)
    }

    /// As [`Idempotency::look_up`], for a key without an answer; `None` if it has one. Reads once,
    /// so it needs no snapshot.
    async fn look_up_new(self, guard: &Guard, now: Timestamp) -> Result<Option<Change>, Error> {
        let places = guard.places(now);
        let times = Newest::of(&self.vault.store)?.values(places.clone()).await?;
        if times.iter().any(Option::is_some) {
            return Ok(None);
        }
        let absent = |change: Change, (table, place)| change.expect_absent(table, place);
        Ok(Some(places.into_iter().fold(Change::new(), absent)))
    }

    /// The expectations under which this request is the first of its key, and the removal of an
    /// earlier answer that is no longer replayed. If a request of the same key was committed in
    /// between, the writer refuses the change, and the next look-up finds its answer.
    pub(in crate::app) fn look_up(
        self,
        snapshot: &Snapshot,
        guard: &Guard,
        now: Timestamp,
    ) -> Result<Change, Error> {
        let keys = &guard.caller.keys;
        let mut expected = Change::new();
        let places = guard.places(now);
        let times = snapshot.values_at(&places)?;
        for ((_, place), time) in places.into_iter().zip(times) {
            let Some(time) = time else {
                expected = expected.expect_absent(Table::Idempotency, place);
                continue;
            };
            let key = tables::answer_of_finder(&place, &time);
            let key = key.ok_or(Error::Internal(Fault::BadRecord))?;
            let sealed = snapshot.value(Table::IdempotencyAnswers, &key)?;
            let sealed = sealed.ok_or(Error::Internal(Fault::Dangling))?;
            let record = open_answer(keys, &key, &sealed)?;
            if decide(Some(record.answered_at), now) == Decision::Replay {
                let replay = self.restore(snapshot, &guard.caller, &place, record, now)?;
                return Err(Error::Replayed(Box::new(replay)));
            }
            // The answer is too old to be replayed, but not swept yet. Delete it with this change,
            // since without its finder no look-up would reach it.
            expected = expected
                .expect_value(Table::Idempotency, place.clone(), time)
                .delete(Table::Idempotency, place)
                .delete(Table::IdempotencyAnswers, key);
        }
        Ok(expected)
    }
}

/// Opens a remembered answer; `key` is its key in [`Table::IdempotencyAnswers`].
pub(in crate::app) fn open_answer(
    keys: &TenantKeys,
    key: &[u8],
    sealed: &[u8],
) -> Result<AnswerRecord, Error> {
    let identity = Table::IdempotencyAnswers.identity_of_key(key);
    let (table, place) = identity.ok_or(Error::Internal(Fault::BadRecord))?;
    Ok(decode_answer(keys.open(table.number(), &place, sealed)?.expose())?)
}

/// True if the row under the idempotency key leads to this answer.
pub(in crate::app) fn is_found(snapshot: &Snapshot, answer: &[u8]) -> Result<bool, Error> {
    let Some(finder) = tables::finder_of_answer(answer) else { return Ok(false) };
    let time = snapshot.value(Table::Idempotency, &finder)?;
    let found = time.and_then(|time| tables::answer_of_finder(&finder, &time));
    Ok(found.as_deref() == Some(answer))
}

/// The data file and the set of keys in flight hold only the blinded form of a key.
fn blind(caller: &Caller, method: &str, path: &str, key: &str) -> [u8; 16] {
    let application = caller.application.id;
    let [method, path, key] = [method, path, key].map(str::as_bytes);
    let blind = |parts: &[&[u8]]| caller.keys.lasting().blind(parts);
    match &caller.session {
        // People have no application: each must get only their own answers.
        None if caller.person.is_some() => {
            blind(&[b"idempotency of person", &caller.tag, method, path, key])
        }
        None => blind(&[b"idempotency", application.bytes(), method, path, key]),
        // A session must not get answers of the application's key or of another session.
        Some(SessionRights { id, .. }) => {
            blind(&[b"idempotency of session", id.bytes(), method, path, key])
        }
    }
}

impl Guard {
    /// The expectations of the look-up of [`Idempotency::begin`], once, and only while it covers
    /// every relevant half-day.
    pub(in crate::app) fn take_expected(&self, now: Timestamp) -> Option<Change> {
        self.expected.lock().take().filter(|_| self.looked_up_in == half_day(now))
    }

    /// The rows that may find an answer of this key at this time.
    fn places(&self, now: Timestamp) -> Vec<(Table, Vec<u8>)> {
        let tenant = self.caller.tenant.id;
        let key = |half_day| tables::idempotency(half_day, tenant, &self.blinded);
        live_half_days(now).into_iter().map(|it| (Table::Idempotency, key(it))).collect()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.in_flight.end(&(self.caller.tenant.id, self.blinded));
    }
}
