//! The events of a reactor's calls, and the answer that is remembered with them.

use serde_json::{Map, Value, json};

use crate::app::Reactors;
use crate::app::caller::Caller;
use crate::app::commit::commit_loop::{Priority, Write};
use crate::app::reactors::react::{InvocationKind, PreparedReaction};
use crate::domain::time::Timestamp;
use crate::domain::webhook::EventKind;
use crate::store::Change;

impl Reactors<'_> {
    /// Writes the events of a call that has ended, and the answer for its idempotency key. The
    /// program has run, so a failure to write must not change the answer: the caller would run it a
    /// second time. Without the remembered answer only a repetition runs it again.
    pub async fn finish(
        self,
        caller: &Caller,
        prepared: &PreparedReaction,
        error: Option<&'static str>,
        write: &Write<'_, ()>,
    ) {
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
        if write.guard.is_none() && !kinds.iter().any(wants) {
            return;
        }
        let written = self.vault.commit_write(Priority::Normal, write, |_| {
            Ok((self.events(caller, prepared, &kinds, error, at), ()))
        });
        written.await.ok();
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
