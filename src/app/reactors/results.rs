//! Calls whose caller does not wait: a row from the moment that the call is accepted. The answer is
//! another row, in the table of the answers to idempotency keys, found by the id of the call.
//!
//! A call runs at most once. If the server stops while it runs, its row says so after the next start,
//! or after the deadline of the call: the program may have had effects, so it is not run a second time.

use crate::app::Reactors;
use crate::app::caller::Caller;
use crate::app::commit::commit_loop::{CommitOutcome, Priority, Write};
use crate::app::commit::idempotency::AnswerPlace;
use crate::app::error::Error;
use crate::app::fair_pool::Credential;
use crate::app::reactors::react::{InvocationKind, PreparedReaction};
use crate::app::records;
use crate::bounds::{REACTOR_RESULT_RETENTION, REACTOR_RESULTS_MAX};
use crate::domain::audit::Act;
use crate::domain::id::{AccessSessionId, ReactorId, ReactorRequestId, TenantId};
use crate::domain::reactor::ReactorResult;
use crate::domain::webhook::EventKind;
use crate::idempotency::{RememberedAnswer, Replay};
use crate::secret::Secret;
use crate::store::tables::CountKind;
use crate::store::{Change, Snapshot};

const TOO_MANY: &str = "The tenant has as many results of reactors as it can, or its public applications and \
     sessions have half of them: they expire a day after their calls.";

/// The state of a call whose caller does not wait.
#[derive(Debug)]
pub enum ResultState {
    Answered(Box<Replay>),
    /// The server was stopped while the program ran.
    Lost,
    Pending,
}

impl Reactors<'_> {
    pub fn new_request(self) -> ReactorRequestId {
        ReactorRequestId::new(self.vault.next_id(self.vault.now()))
    }

    /// Stores that the call was accepted. From here on it has a result or a failure.
    pub async fn accept(
        self,
        caller: &Caller,
        prepared: &PreparedReaction,
        write: &Write<'_, ReactorRequestId>,
    ) -> Result<CommitOutcome<ReactorRequestId>, Error> {
        let InvocationKind::Async(id) = prepared.kind else {
            return Err(Error::NotFound("result"));
        };
        let (now, tenant) = (self.vault.now(), caller.tenant.id);
        self.vault
            .commit_write(Priority::Normal, write, |snapshot| {
                let room = require_room(snapshot, caller)?;
                let pending = ReactorResult {
                    id,
                    tenant,
                    reactor: prepared.reactor.id,
                    requested_by: caller.application.id,
                    session: session_of(caller),
                    is_public: caller.credential() == Credential::Public,
                    requested_at: now,
                    ends_at: now.plus(prepared.timeout()).plus(GRACE),
                    expires_at: now.plus(REACTOR_RESULT_RETENTION),
                };
                let kinds = [EventKind::ReactorInvoked];
                let change = self
                    .vault
                    .create_record(&caller.keys, &pending)?
                    .and(self.vault.audit().caller_entry(caller, Act::Create, id, now))
                    .and(self.events(caller, prepared, &kinds, None, now));
                Ok((change.and(room), id))
            })
            .await
    }

    /// Stores the answer, with its events.
    pub async fn settle(
        self,
        caller: &Caller,
        prepared: &PreparedReaction,
        answer: &RememberedAnswer,
        error: Option<&'static str>,
    ) -> Result<(), Error> {
        let InvocationKind::Async(id) = prepared.kind else {
            return Err(Error::NotFound("result"));
        };
        let now = self.vault.now();
        self.count_call(prepared.reactor.id, error);
        let ended =
            if error.is_some() { EventKind::ReactorFailed } else { EventKind::ReactorCompleted };
        let of = AnswerPlace::of_result(caller.tenant.id, &caller.keys, id);
        let idempotency = self.vault.idempotency();
        self.vault
            .commit(Priority::Normal, |snapshot| {
                records::require::<ReactorResult>(snapshot, &caller.keys, id, now)?;
                let change = idempotency
                    .look_up(snapshot, &of, None, now)?
                    .and(idempotency.remember(snapshot, &of, answer, now)?)
                    .and(self.vault.audit().caller_entry(caller, Act::Update, id, now))
                    .and(self.events(caller, prepared, &[ended], error, now));
                Ok((change, ()))
            })
            .await
    }

    /// Only the application that made the call gets its answer, and of a public application only the
    /// session: the arguments were filled with its rights.
    pub async fn result(
        self,
        caller: &Caller,
        reactor: ReactorId,
        id: ReactorRequestId,
    ) -> Result<ResultState, Error> {
        let (snapshot, now) = (self.vault.snapshot()?, self.vault.now());
        let (result, _): (ReactorResult, _) = records::require(&snapshot, &caller.keys, id, now)?;
        let asked = (reactor, caller.application.id, session_of(caller));
        if (result.reactor, result.requested_by, result.session) != asked {
            return Err(Error::NotFound("result"));
        }
        let of = AnswerPlace::of_result(caller.tenant.id, &caller.keys, id);
        let state = match self.vault.idempotency().look_up(&snapshot, &of, Some(caller), now) {
            Err(Error::Replayed(answer)) => ResultState::Answered(answer),
            Err(error) => return Err(error),
            Ok(_) if now < result.ends_at && !self.has_ended_with_its_process(&result) => {
                return Ok(ResultState::Pending);
            }
            Ok(_) => ResultState::Lost,
        };
        drop(snapshot);
        let audit = self.vault.audit();
        if let ResultState::Answered(answer) = &state {
            audit.note_replay(caller, answer).await?;
        }
        audit.note_read(caller, id.into(), now).await?;
        Ok(state)
    }

    /// The calls of other processes are not known here, so their deadline decides.
    fn has_ended_with_its_process(self, result: &ReactorResult) -> bool {
        !self.vault.processes().may_be_several() && result.requested_at < self.vault.opened_at
    }

    /// The body of a stored answer, for its callback. `None` once the row is gone. Fails if the answer
    /// is gone before.
    pub fn stored_body(
        self,
        tenant: TenantId,
        id: ReactorRequestId,
    ) -> Result<Option<Secret<Vec<u8>>>, Error> {
        let (snapshot, now) = (self.vault.snapshot()?, self.vault.now());
        let keys = self.vault.keys().tenant_keys(&snapshot, tenant)?;
        let found = records::find::<ReactorResult>(&snapshot, &keys, id)?;
        if !found.is_some_and(|(result, _)| result.is_live(now)) {
            return Ok(None);
        }
        let of = AnswerPlace::of_result(tenant, &keys, id);
        match self.vault.idempotency().look_up(&snapshot, &of, None, now) {
            Err(Error::Replayed(answer)) => Ok(Some(answer.body)),
            Ok(_) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The rows have the answers, so they are not read to be counted. Callers without a secret key have
/// half, since anybody may be one.
fn require_room(snapshot: &Snapshot, caller: &Caller) -> Result<Change, Error> {
    let room = |kind, max| {
        let counted = (caller.tenant.id, kind);
        records::require_counted_room(snapshot, counted, max, Error::Conflict(TOO_MANY))
    };
    let all = room(CountKind::ReactorResults, REACTOR_RESULTS_MAX)?;
    match caller.credential() {
        Credential::Secret => Ok(all),
        Credential::Public => {
            let half = REACTOR_RESULTS_MAX.div_ceil(2);
            Ok(all.and(room(CountKind::PublicReactorResults, half)?))
        }
    }
}

fn session_of(caller: &Caller) -> Option<AccessSessionId> {
    caller.session.as_ref().map(|session| session.id)
}

/// Storing the answer takes a moment after the deadline of the program.
const GRACE: std::time::Duration = std::time::Duration::from_secs(10);
