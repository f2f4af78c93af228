//! The events of a reactor's calls, and the answer that is remembered with them.

use serde_json::{Map, Value, json};

use crate::app::Reactors;
use crate::app::caller::Caller;
use crate::app::commit::commit_loop::{Priority, Write};
use crate::app::commit::idempotency::Guard;
use crate::app::error::Error;
use crate::app::reactors::react::{InvocationKind, PreparedReaction};
use crate::domain::time::Timestamp;
use crate::domain::webhook::EventKind;
use crate::store::Change;

impl Reactors<'_> {
    /// Writes the events of a call that succeeded, and the answer for its idempotency key. The
    /// program has run, so a failure to write must not change the answer: the caller would run it a
    /// second time. Without the remembered answer only a repetition runs it again.
    ///
    /// Fails only if the reservation of the key has ended since, and another process has answered
    /// the key ([`Error::Replayed`]) or runs its program ([`Error::InFlight`]): the caller then gets
    /// the answer that repetitions get.
    pub async fn finish(
        self,
        caller: &Caller,
        prepared: &PreparedReaction,
        write: &Write<'_, ()>,
    ) -> Result<(), Error> {
        match self.end(caller, prepared, None, (write, None)).await {
            Err(error @ (Error::InFlight | Error::Replayed(_))) => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Writes the events of a call that failed. A failure is not remembered: the key is free again.
    pub async fn fail(
        self,
        caller: &Caller,
        prepared: &PreparedReaction,
        error: &'static str,
        guard: Option<&Guard>,
    ) {
        let reserved = guard.filter(|guard| guard.is_reserved());
        self.end(caller, prepared, Some(error), (&Write::plain(), reserved)).await.ok();
    }

    /// `reserved` has a reservation that is removed.
    async fn end(
        self,
        caller: &Caller,
        prepared: &PreparedReaction,
        error: Option<&'static str>,
        (write, reserved): (&Write<'_, ()>, Option<&Guard>),
    ) -> Result<(), Error> {
        let at = self.vault.now();
        self.count_call(prepared.reactor.id, error);
        let ended =
            if error.is_some() { EventKind::ReactorFailed } else { EventKind::ReactorCompleted };
        let kinds = match prepared.kind {
            InvocationKind::Async(_) => vec![ended],
            InvocationKind::Sync => vec![EventKind::ReactorInvoked, ended],
        };
        let tenant = caller.tenant.id;
        let wants = |kind: &EventKind| self.vault.webhooks().wants(tenant, *kind).unwrap_or(true);
        if write.guard.is_none() && reserved.is_none() && !kinds.iter().any(wants) {
            return Ok(());
        }
        let written = self.vault.commit_write(Priority::Normal, write, |snapshot| {
            let change = self.events(caller, prepared, &kinds, error, at);
            let Some(guard) = reserved else { return Ok((change, ())) };
            Ok((change.and(guard.release(snapshot)?), ()))
        });
        written.await.map(drop)
    }

    /// The events of a call at one moment.
    pub(super) fn events(
        self,
        caller: &Caller,
        prepared: &PreparedReaction,
        kinds: &[EventKind],
        error: Option<&'static str>,
        at: Timestamp,
    ) -> Change {
        let webhooks = self.vault.webhooks();
        let emit = |change: Change, kind: &EventKind| {
            let data = || data(prepared, error, at);
            change.and(webhooks.emit(caller.tenant.id, caller.actor(), *kind, at, data))
        };
        kinds.iter().fold(Change::new(), emit)
    }
}

/// Neither arguments nor results.
fn data(
    prepared: &PreparedReaction,
    error: Option<&'static str>,
    at: Timestamp,
) -> Map<String, Value> {
    let elapsed_ms = at.micros().saturating_sub(prepared.begun.micros()).max(0) / 1_000;
    let request = match prepared.kind {
        InvocationKind::Async(id) => json!({"id": id.to_string(), "invocation_type": "async"}),
        InvocationKind::Sync => json!({"invocation_type": "sync"}),
    };
    let reactor = &prepared.reactor;
    let mut data = Map::from_iter([
        (
            String::from("reactor"),
            json!({"id": reactor.id.to_string(), "name": reactor.settings.name}),
        ),
        (String::from("request"), request),
        (String::from("elapsed_ms"), Value::from(elapsed_ms)),
    ]);
    if let Some(error) = error {
        data.insert(String::from("error"), Value::from(error));
    }
    data
}
