//! Reservations of keys: a row of an answer that says that its request is under way.
//!
//! The change of a request decides which of two processes was first, but a program has had its
//! effects before this change. So its key is reserved by a change of its own before the program
//! starts. The reservation is kept as an answer is, and the same expectations decide who makes it.
//! The answer replaces it, and a failure removes it.
//!
//! If the process dies or the client leaves while the program runs, the reservation stays until its
//! end: the program may have had effects, so a repetition is refused until then.

use std::time::Duration;

use crate::app::Idempotency;
use crate::app::commit::commit_loop::Priority;
use crate::app::commit::idempotency::Guard;
use crate::app::error::Error;
use crate::bounds::RESERVATION_GRACE;
use crate::idempotency::RETENTION;
use crate::store::record::encode_reservation;
use crate::store::{Change, Snapshot, Table, tables};

impl Idempotency<'_> {
    /// Reserves the key for a program that runs for this time at most. One process alone needs no
    /// reservation: it knows the requests in flight. Fails with [`Error::InFlight`] or
    /// [`Error::Replayed`] if another process was first.
    pub async fn reserve(self, guard: &Guard, time: Duration) -> Result<(), Error> {
        if !self.vault.processes().may_be_several() {
            return Ok(());
        }
        let reserve = |snapshot: &Snapshot| {
            let now = self.vault.now();
            let until = now.plus(time).plus(RESERVATION_GRACE);
            let (of, at) = (guard.answer_place(), until.minus(RETENTION));
            let place = tables::idempotency_answers(at, of.tenant, &of.blinded);
            let first = self.expect_first(snapshot, guard, now)?;
            let plain = encode_reservation(until)?;
            Ok((first.and(self.put_answer(snapshot, &of, (at, place), &plain)), until))
        };
        let until = self.vault.commit(Priority::Normal, reserve).await?;
        *guard.reserved.lock() = Some(until);
        Ok(())
    }
}

impl Guard {
    pub(in crate::app) fn is_reserved(&self) -> bool {
        self.reserved.lock().is_some()
    }

    /// Removes the reservation of this request, so that a repetition runs its program at once.
    pub(in crate::app) fn release(&self, snapshot: &Snapshot) -> Result<Change, Error> {
        let of = self.answer_place();
        let Some(until) = of.reserved else { return Ok(Change::new()) };
        let at = until.minus(RETENTION);
        let (table, finder, time) = (Table::Idempotency, of.finder(), tables::idempotency_time(at));
        // After its end another request may have replaced it.
        if snapshot.value(table, &finder)?.as_ref() != Some(&time) {
            return Ok(Change::new());
        }
        let reservation = tables::idempotency_answers(at, of.tenant, &of.blinded);
        Ok(Change::new()
            .expect_value(table, finder.clone(), time)
            .delete(table, finder)
            .delete(Table::IdempotencyAnswers, reservation))
    }
}
