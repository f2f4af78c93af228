//! Idempotency keys: the answer is stored in the same change as the effect.
//!
//! While the first request of a key is in flight, further requests of the key are refused. The set
//! of keys in flight is in memory, since no request outlives the process. Answers are in the data
//! file, so a repeated request finds its answer after a restart too.
//!
//! An answer has two rows: a small one under the blinded key, which finds the answer, and the
//! answer itself, ordered by time. So the large rows of new answers are adjacent in the file.
//!
//! If several processes may share the vault, the first of two answers to a key is committed, and
//! the other request gets it as a replay. A program has effects of its own before that, so its key
//! is reserved for the time of the program ([`Idempotency::reserve`]).

mod created;
mod remember;
mod reserve;
mod sources;
#[cfg(test)]
pub(in crate::app) mod tests;

use std::collections::HashSet;
use std::sync::Arc;

use crate::app::caller::{Caller, SessionRights};
use crate::app::error::{Error, Fault};
use crate::app::{Idempotency, Vault};
use crate::crypto::TenantKeys;
use crate::domain::id::{ReactorRequestId, TenantId};
use crate::domain::time::Timestamp;
use crate::domain::token::Token;
use crate::idempotency::{Decision, Disclosure, RememberedAnswer, decide};
use crate::lock::Lock;
use crate::store::record::{StoredAnswer, decode_stored_answer};
use crate::store::{Change, Newest, Snapshot, Table, tables};

/// The place of an answer, and the keys that open it.
#[derive(Debug, Clone, Copy)]
pub(in crate::app) struct AnswerPlace<'a> {
    pub(in crate::app) tenant: TenantId,
    pub(in crate::app) keys: &'a TenantKeys,
    blinded: [u8; 16],
    /// `None` for an answer that shows no new token.
    show_again: Option<ShowAgain>,
    /// The end of the reservation that this request made.
    reserved: Option<Timestamp>,
}

/// Renders the answer to the create of a token once more.
pub type ShowAgain = fn(&Vault, &Caller, Token, &Disclosure) -> RememberedAnswer;

impl<'a> AnswerPlace<'a> {
    pub(in crate::app) fn of_result(
        tenant: TenantId,
        keys: &'a TenantKeys,
        id: ReactorRequestId,
    ) -> Self {
        let blinded = keys.lasting().blind(&[b"idempotency of result", id.bytes()]);
        Self { tenant, keys, blinded, show_again: None, reserved: None }
    }

    /// The key of the row that finds the answer.
    fn finder(&self) -> Vec<u8> {
        tables::idempotency(self.tenant, &self.blinded)
    }
}

/// A request with an idempotency key, in flight. Dropping it admits the next request of the key.
#[derive(Debug)]
pub struct Guard {
    caller: Arc<Caller>,
    blinded: [u8; 16],
    in_flight: Arc<InFlight>,
    show_again: ShowAgain,
    /// The expectations of the look-up before the body was read. The first decision reuses them.
    expected: Lock<Option<Change>>,
    /// The end of the reservation that the request made, if it made one.
    reserved: Lock<Option<Timestamp>>,
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
        (method, path, key): (&str, &str, &str),
        show_again: ShowAgain,
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
            show_again,
            expected: Lock::default(),
            reserved: Lock::default(),
        };
        let expected = if let Some(expected) = self.look_up_new(&guard).await? {
            expected
        } else {
            self.look_up(&self.vault.snapshot()?, &guard.answer_place(), Some(caller), now)?
        };
        *guard.expected.lock() = Some(expected);
        Ok(guard)
    }

    /// As [`Idempotency::look_up`], for a key without an answer; `None` if it has one. Reads once,
    /// so it needs no snapshot.
    async fn look_up_new(self, guard: &Guard) -> Result<Option<Change>, Error> {
        let newest = Newest::of(&self.vault.store)?;
        let (table, place) = (Table::Idempotency, guard.answer_place().finder());
        let time = newest.value(table, &place).await?;
        Ok(time.is_none().then(|| Change::new().expect_new(table, place, newest.base())))
    }

    /// The expectations under which this request is the first of its key. The first decision takes
    /// those that [`Idempotency::begin`] has found; a repeated decision looks the key up again.
    pub(in crate::app) fn expect_first(
        self,
        snapshot: &Snapshot,
        guard: &Guard,
        now: Timestamp,
    ) -> Result<Change, Error> {
        if let Some(expected) = guard.expected.lock().take() {
            return Ok(expected);
        }
        self.look_up(snapshot, &guard.answer_place(), Some(&guard.caller), now)
    }

    /// The expectations under which this request is the first of its key, and the removal of an
    /// earlier answer that is no longer replayed, or of the request's own reservation. If a request
    /// of the same key was committed in between, the writer refuses the change, and the next look-up
    /// finds its answer. The answer is shown to the caller with today's rights, and without a caller
    /// to the system.
    pub(in crate::app) fn look_up(
        self,
        snapshot: &Snapshot,
        answer: &AnswerPlace<'_>,
        caller: Option<&Caller>,
        now: Timestamp,
    ) -> Result<Change, Error> {
        let place = answer.finder();
        let Some(time) = snapshot.value(Table::Idempotency, &place)? else {
            return Ok(Change::new().expect_new(Table::Idempotency, place, snapshot.base()));
        };
        let key = tables::answer_of_finder(&place, &time);
        let key = key.ok_or(Error::Internal(Fault::BadRecord))?;
        let sealed = snapshot.value(Table::IdempotencyAnswers, &key)?;
        let sealed = sealed.ok_or(Error::Internal(Fault::Dangling))?;
        let stored = open_answer(answer.keys, &key, &sealed)?;
        let is_own = matches!(stored, StoredAnswer::Reserved(at) if answer.reserved == Some(at));
        if !is_own && decide(Some(stored.answered_at()), now) == Decision::Replay {
            let replay = self.restore(snapshot, (answer, caller), &key, stored, now)?;
            return Err(Error::Replayed(Box::new(replay)));
        }
        // The answer is too old to be replayed, but not swept yet. This change replaces the row that
        // finds it, and without that row nothing would reach it.
        let replaced = Change::new().expect_value(Table::Idempotency, place, time);
        Ok(replaced.delete(Table::IdempotencyAnswers, key))
    }
}

/// Opens a remembered answer; `key` is its key in [`Table::IdempotencyAnswers`].
pub(in crate::app) fn open_answer(
    keys: &TenantKeys,
    key: &[u8],
    sealed: &[u8],
) -> Result<StoredAnswer, Error> {
    Ok(decode_stored_answer(keys.open(Table::IdempotencyAnswers.number(), key, sealed)?.expose())?)
}

/// True if the row under the idempotency key leads to this answer.
pub(in crate::app) fn is_found(snapshot: &Snapshot, answer: &[u8]) -> Result<bool, Error> {
    let Some((finder, time)) = tables::finder_of_answer(answer) else { return Ok(false) };
    Ok(snapshot.value(Table::Idempotency, finder)?.as_deref() == Some(time))
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
    pub(in crate::app) fn answer_place(&self) -> AnswerPlace<'_> {
        let (tenant, keys, blinded) = (self.caller.tenant.id, &self.caller.keys, self.blinded);
        let (show_again, reserved) = (Some(self.show_again), *self.reserved.lock());
        AnswerPlace { tenant, keys, blinded, show_again, reserved }
    }

    pub(in crate::app) const fn blinded(&self) -> [u8; 16] {
        self.blinded
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.in_flight.end(&(self.caller.tenant.id, self.blinded));
    }
}
