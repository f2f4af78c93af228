//! A write that happens once: the answer is part of the same change as the effect.
//!
//! While the first request of a key is under way, others of the same key are turned away. That is
//! remembered in memory, since a process that ends takes its requests with it. What was answered is
//! remembered in the file: a repetition finds it, whoever was first to be committed.

mod remember;
#[cfg(test)]
mod tests;
mod whole;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::app::access::authenticate::Caller;
use crate::app::error::{Error, Fault};
use crate::app::vault::Vault;
use crate::bounds::DECISIONS_MAX;
use crate::crypto::version;
use crate::domain::id::TenantId;
use crate::domain::time::Timestamp;
use crate::idempotency::{Answer, Decision, Replay, Status, decide, half_day, live_half_days};
use crate::store::record::decode_answer;
use crate::store::{Change, Snapshot, Table, Verdict, tables};

/// Idempotency keys and the answers that are remembered for them.
#[derive(Debug, Clone, Copy)]
pub struct Idempotency<'a> {
    pub(in crate::app) vault: &'a Vault,
}

impl Vault {
    pub const fn idempotency(&self) -> Idempotency<'_> {
        Idempotency { vault: self }
    }
}

/// One request of an idempotency key, under way. Dropping it lets the next one in.
#[derive(Debug)]
pub struct Once {
    caller: Arc<Caller>,
    blinded: [u8; 16],
    flights: Arc<Flights>,
    /// What held when the key was looked for before the body was read, and in which half-day. The
    /// first decision rests on it, so that nobody looks twice.
    fresh: Mutex<Option<(u64, Change)>>,
}

/// The idempotency keys whose requests are under way.
#[derive(Debug, Default)]
pub(in crate::app) struct Flights(Mutex<HashSet<(TenantId, [u8; 16])>>);

/// How a write is answered, and whether the answer is to be remembered.
#[derive(Clone, Copy)]
pub struct Write<'a, T> {
    pub once: Option<&'a Once>,
    pub answer: &'a (dyn Fn(&T) -> Answer + Sync),
}

impl<T> std::fmt::Debug for Write<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Write").field("once", &self.once).finish_non_exhaustive()
    }
}

impl<T> Write<'_, T> {
    /// A write that nobody repeats: the operator's.
    pub const fn plain() -> Self {
        Self { once: None, answer: &|_| Answer::empty(Status::Ok) }
    }
}

impl Idempotency<'_> {
    /// Takes the key for this request, before its body is read.
    pub fn begin(
        self,
        caller: &Arc<Caller>,
        method: &str,
        path: &str,
        key: &str,
    ) -> Result<Once, Error> {
        let application = caller.application.id;
        let parts: [&[u8]; 5] = [
            b"idempotency",
            application.bytes(),
            method.as_bytes(),
            path.as_bytes(),
            key.as_bytes(),
        ];
        let blinded = caller.keys.lasting().blind(&parts);
        if !self.vault.flights.begin((caller.tenant.id, blinded)) {
            return Err(Error::InFlight);
        }
        let flights = Arc::clone(&self.vault.flights);
        Ok(Once { caller: Arc::clone(caller), blinded, flights, fresh: Mutex::default() })
    }

    /// The answer to the first request of this key, if there was one, as far as the caller may see
    /// it today.
    pub fn replay(self, once: &Once) -> Result<Option<Replay>, Error> {
        let now = self.vault.now();
        match self.probe(&self.vault.snapshot()?, once, now)? {
            Probe::Answered(replay) => Ok(Some(*replay)),
            Probe::Fresh(expected) => {
                let mut fresh = once.fresh.lock().unwrap_or_else(PoisonError::into_inner);
                *fresh = Some((half_day(now), expected));
                Ok(None)
            }
        }
    }

    /// As [`Vault::settle`], with the answer as a part of the change.
    pub(in crate::app) async fn settle_once<T>(
        self,
        write: &Write<'_, T>,
        decide: impl FnMut(&Snapshot) -> Result<(Change, T), Error>,
    ) -> Result<T, Error> {
        self.vault.require_room_for_changes()?;
        self.finish_once(write, decide).await
    }

    /// The same for the end of what was begun when there was room, as [`Vault::settle_upkeep`].
    pub(in crate::app) async fn finish_once<T>(
        self,
        write: &Write<'_, T>,
        mut decide: impl FnMut(&Snapshot) -> Result<(Change, T), Error>,
    ) -> Result<T, Error> {
        self.vault.require_room_for_traces()?;
        for _ in 0..DECISIONS_MAX {
            let snapshot = self.vault.snapshot()?;
            // One moment for both: the answer is kept where the probe has looked.
            let now = self.vault.now();
            let expected = match write.once {
                None => None,
                Some(once) => match self.look(&snapshot, once, now)? {
                    Probe::Fresh(expected) => Some((once, expected)),
                    // A client left while its commit was under way, and came back.
                    Probe::Answered(replay) => return Err(Error::Replayed(replay)),
                },
            };
            let (mut change, outcome) = decide(&snapshot)?;
            if let Some((once, expected)) = expected {
                let answer = (write.answer)(&outcome);
                change = change.and(expected).and(self.remember(&snapshot, once, answer, now)?);
            }
            // Until it is queued, a rotation of keys must wait for it; the file need not.
            let _era = snapshot.era();
            drop(snapshot);
            match self.vault.store.commit(change).await? {
                Verdict::Applied => return Ok(outcome),
                Verdict::Refused => (),
            }
        }
        Err(Error::Busy)
    }

    /// What was found before the body was read, once; then what the snapshot shows. Whoever was
    /// committed in between makes the writer refuse, and the next look finds the answer.
    fn look(self, snapshot: &Snapshot, once: &Once, now: Timestamp) -> Result<Probe, Error> {
        let known = once.fresh.lock().unwrap_or_else(PoisonError::into_inner).take();
        match known {
            Some((at, expected)) if at == half_day(now) => Ok(Probe::Fresh(expected)),
            Some(_) | None => self.probe(snapshot, once, now),
        }
    }

    fn probe(self, snapshot: &Snapshot, once: &Once, now: Timestamp) -> Result<Probe, Error> {
        let (tenant, keys) = (once.caller.tenant.id, &once.caller.keys);
        let mut expected = Change::new();
        for half_day in live_half_days(now) {
            let place = tables::idempotency(half_day, tenant, &once.blinded);
            let Some(sealed) = snapshot.value(Table::Idempotency, &place)? else {
                expected = expected.expect_absent(Table::Idempotency, place);
                continue;
            };
            let plain = keys.open(Table::Idempotency.number(), &place, &sealed)?;
            let record = decode_answer(plain.expose())?;
            if decide(Some(record.answered_at), now) == Decision::Replay {
                let replay = self.restore(snapshot, &once.caller, &place, record, now)?;
                return Ok(Probe::Answered(Box::new(replay)));
            }
            // Forgotten, but not swept yet.
            let version = version(&sealed).ok_or(Error::Internal(Fault::BadRecord))?;
            expected = expected.expect_version(Table::Idempotency, place, version);
        }
        Ok(Probe::Fresh(expected))
    }
}

/// What the file says about a key.
enum Probe {
    Answered(Box<Replay>),
    /// Nothing, as long as this holds: whoever is committed first has answered, and the other one
    /// reads that answer.
    Fresh(Change),
}

impl Flights {
    fn begin(&self, key: (TenantId, [u8; 16])) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key)
    }

    fn end(&self, key: &(TenantId, [u8; 16])) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

impl Drop for Once {
    fn drop(&mut self) {
        self.flights.end(&(self.caller.tenant.id, self.blinded));
    }
}
