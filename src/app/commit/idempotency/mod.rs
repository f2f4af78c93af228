//! Idempotency keys: the answer is remembered in the same change as the effect.
//!
//! While the first request of a key is in flight, further requests of the key are refused. The set
//! of keys in flight is in memory, since no request outlives the process. Answers are in the data
//! file, so a repeated request finds its answer after a restart too.

pub(in crate::app) mod in_flight;
mod remember;
#[cfg(test)]
mod tests;
mod whole;

use std::sync::Arc;

use crate::app::access::caller::Caller;
use crate::app::commit::idempotency::in_flight::InFlight;
use crate::app::error::{Error, Fault};
use crate::app::vault::Vault;
use crate::crypto::version;
use crate::domain::time::Timestamp;
use crate::idempotency::{Decision, decide, half_day, live_half_days};
use crate::store::record::decode_answer;
use crate::store::{Change, Snapshot, Table, tables};

/// One request of an idempotency key, in flight. Dropping it admits the next request of the key.
#[derive(Debug)]
pub struct Guard {
    caller: Arc<Caller>,
    blinded: [u8; 16],
    in_flight: Arc<InFlight>,
    /// The expectations from the look-up before the body was read, and the half-day of that
    /// look-up. The first decision reuses them.
    expected: Change,
    looked_up_in: u64,
}

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

impl Idempotency<'_> {
    /// Takes the key for this request, before its body is read. Fails with [`Error::Replayed`] if
    /// the key was answered before; the error holds that answer, as far as the caller may see it
    /// today.
    pub fn begin(
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
        let mut guard = Guard {
            caller: Arc::clone(caller),
            blinded,
            in_flight: Arc::clone(&self.vault.in_flight),
            expected: Change::new(),
            looked_up_in: half_day(now),
        };
        guard.expected = self.look_up(&self.vault.snapshot()?, &guard, now)?;
        Ok(guard)
    }

    /// The expectations under which this request is the first of its key. The writer refuses the
    /// change when a request of the same key was committed in between, and the next look-up finds
    /// its answer.
    pub(in crate::app) fn look_up(
        self,
        snapshot: &Snapshot,
        guard: &Guard,
        now: Timestamp,
    ) -> Result<Change, Error> {
        let (tenant, keys) = (guard.caller.tenant.id, &guard.caller.keys);
        let mut expected = Change::new();
        for half_day in live_half_days(now) {
            let place = tables::idempotency(half_day, tenant, &guard.blinded);
            let Some(sealed) = snapshot.value(Table::Idempotency, &place)? else {
                expected = expected.expect_absent(Table::Idempotency, place);
                continue;
            };
            let plain = keys.open(Table::Idempotency.number(), &place, &sealed)?;
            let record = decode_answer(plain.expose())?;
            if decide(Some(record.answered_at), now) == Decision::Replay {
                let replay = self.restore(snapshot, &guard.caller, &place, record, now)?;
                return Err(Error::Replayed(Box::new(replay)));
            }
            // The answer is too old to be replayed, but not swept yet.
            let version = version(&sealed).ok_or(Error::Internal(Fault::BadRecord))?;
            expected = expected.expect_version(Table::Idempotency, place, version);
        }
        Ok(expected)
    }
}

/// The blinded form of a key. The data file and the set of keys in flight hold only this form.
fn blind(caller: &Caller, method: &str, path: &str, key: &str) -> [u8; 16] {
    let application = caller.application.id;
    let [method, path, key] = [method, path, key].map(str::as_bytes);
    caller.keys.lasting().blind(&[b"idempotency", application.bytes(), method, path, key])
}

impl Guard {
    /// True while the look-up of [`Idempotency::begin`] covers every half-day that counts.
    pub(in crate::app) fn is_current(&self, now: Timestamp) -> bool {
        self.looked_up_in == half_day(now)
    }

    pub(in crate::app) fn expected(&self) -> Change {
        self.expected.clone()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.in_flight.end(&(self.caller.tenant.id, self.blinded));
    }
}
