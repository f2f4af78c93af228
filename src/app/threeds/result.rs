//! Results of challenges: messages of an ACS, and waits that end without one.

use serde_json::Value;

use crate::app::ThreedsSessions;
use crate::app::audit::subject::Subject;
use crate::app::commit::commit_loop::Priority;
use crate::app::error::{Error, Fault};
use crate::bounds::PROCESS_POLL;
use crate::crypto::TenantKeys;
use crate::domain::audit::{Act, Actor};
use crate::domain::id::{SessionId, TenantId};
use crate::domain::time::Timestamp;
use crate::domain::webhook::EventKind;
use crate::secret::Secret;
use crate::store::{Change, Snapshot};
use crate::threeds::message::{self, Component, Erro, ErrorCode, Rejection, Rreq};
use crate::threeds::receive::{check_rreq, concerns, rres};
use crate::threeds::scheme::Scheme;
use crate::threeds::session::ThreedsSession;
use crate::threeds::simulator::acs::ChallengeResult;
use crate::threeds::state::{MethodState, SessionEvent, SessionState, TransitionError, next};

impl ThreedsSessions<'_> {
    /// Handles a message of a directory server. The listener has authenticated the sender as the
    /// server of one of these schemes. `None` for an `Erro`, which gets no reply.
    pub async fn take_message(
        self,
        bytes: &[u8],
        schemes: &[Scheme],
    ) -> Result<Option<Secret<Vec<u8>>>, Error> {
        let value = match message::members(bytes) {
            Ok(value) => value,
            Err(rejection) => return Ok(Some(refuse(rejection, &Value::Null))),
        };
        let value = value.expose();
        let is_erro = message::type_of(value) == Some("Erro");
        let id = value.get("threeDSServerTransID").and_then(Value::as_str);
        let Some(id) = id.and_then(SessionId::parse) else {
            // A message without an id gets the error of an invalid `RReq`. An `Erro` without one is
            // ignored.
            let rejection = message::read::<Rreq>(value).err().unwrap_or_else(unknown);
            return Ok((!is_erro).then(|| refuse(rejection, value)));
        };
        self.vault.threeds.asking.finished(id).await;
        self.finished_elsewhere(id).await?;
        self.vault
            .commit(Priority::Upkeep, |snapshot| {
                let found = match self.find_session_tenant(snapshot, id)? {
                    Some((tenant, keys)) => {
                        let found = self.find_session_by_id(snapshot, &keys, tenant, id)?;
                        found.map(|(session, version)| (session, version, keys))
                    }
                    None => None,
                };
                // Sessions of the simulator accept no message, and the server of one scheme cannot
                // change a session of another scheme.
                let found = found.filter(|(session, ..)| {
                    schemes.contains(&session.scheme)
                        && session.enrolment.directory_server == session.scheme.directory_server()
                });
                let Some((before, version, keys)) = found else {
                    let rejection = message::read::<Rreq>(value).err().unwrap_or_else(unknown);
                    return Ok((Change::new(), (!is_erro).then(|| refuse(rejection, value))));
                };
                let (mut session, now) = (before.clone(), self.vault.now());
                let (is_changed, told) = if is_erro {
                    // An `Erro` that cannot be parsed gets no `Erro` in reply.
                    let erro = message::read(value).ok();
                    (erro.is_some_and(|erro| give_up(&mut session, &erro, now)), None)
                } else {
                    match take_result(&mut session, bytes, now) {
                        Ok(receipt) => (true, Some(receipt)),
                        Err(refusal) => (false, Some(refusal)),
                    }
                };
                if !is_changed {
                    return Ok((Change::new(), told));
                }
                let actor = Actor::DirectoryServer;
                let subject = Subject::Threeds(&session, self::told(&before, &session));
                let change = self.replace_session(&keys, &before, &session, version)?.and(
                    self.vault.audit().entry(session.tenant, actor, Act::Update, subject, now),
                );
                Ok((change, told))
            })
            .await
    }

    /// Waits until another process has stored the answer to this session's request, which
    /// [`super::asking`] cannot see. The session's own wait bounds this one.
    async fn finished_elsewhere(self, id: SessionId) -> Result<(), Error> {
        while self.vault.processes().may_be_several() && self.is_requested(id)? {
            tokio::time::sleep(PROCESS_POLL).await;
        }
        Ok(())
    }

    /// True if the request of the session was sent and its answer may still come.
    fn is_requested(self, id: SessionId) -> Result<bool, Error> {
        let snapshot = self.vault.snapshot()?;
        let Some((tenant, keys)) = self.find_session_tenant(&snapshot, id)? else {
            return Ok(false);
        };
        let found = self.find_session_by_id(&snapshot, &keys, tenant, id)?;
        Ok(found.is_some_and(|(session, _)| {
            let waits = session.waits_until.is_some_and(|at| self.vault.now() < at);
            session.state == SessionState::Requested && waits
        }))
    }

    /// The built-in ACS answers a decoupled challenge; any other session ends without a result.
    pub(in crate::app) fn end_wait(
        self,
        snapshot: &Snapshot,
        keys: &TenantKeys,
        tenant: TenantId,
        id: SessionId,
    ) -> Result<Change, Error> {
        let now = self.vault.now();
        let Some((before, version)) = self.find_session_by_id(snapshot, keys, tenant, id)? else {
            return Ok(Change::new());
        };
        if before.waits_until.is_none_or(|at| now < at) {
            return Ok(Change::new());
        }
        let mut session = before.clone();
        let is_decoupled = matches!(session.state, SessionState::Decoupled { .. });
        let mut is_told = false;
        if is_decoupled
            && let Some(rreq) = self.simulated_result(&session, ChallengeResult::Answered)
        {
            let receipt = take_result(&mut session, message::render(&rreq).expose(), now);
            is_told = receipt.is_ok();
        }
        if !is_told {
            // A request whose answer was never stored has failed.
            let ended = next(session.state, SessionEvent::TimeRanOut, now)
                .or_else(|_| next(session.state, SessionEvent::RequestFailed, now));
            match ended {
                Ok(state) => {
                    session.state = state;
                    if let Some(authentication) = &mut session.authentication {
                        authentication.run_out();
                    }
                }
                // The wait has ended in another way already.
                Err(_) => session.waits_until = None,
            }
        }
        session.waits_until = None;
        session.simulated = None;
        session.modified_at = Some(now);
        let subject = Subject::Threeds(&session, told(&before, &session));
        let audit = self.vault.audit().entry(tenant, Actor::System, Act::Update, subject, now);
        Ok(self.replace_session(keys, &before, &session, version)?.and(audit))
    }

    /// `None` for a session without a simulated challenge.
    pub(super) fn simulated_result(
        self,
        session: &ThreedsSession,
        ending: ChallengeResult,
    ) -> Option<Rreq> {
        let (simulated, sent) = (session.simulated.as_ref()?, session.sent?);
        let authentication = session.authentication.as_ref()?;
        let proof = self.vault.random().bytes();
        Some(simulated.rreq(session.id.uuid(), &sent, authentication, ending, proof))
    }
}

/// Applies an `RReq` to a session. The reply is an `RRes`, or an `Erro` if the session was not
/// changed.
pub(super) fn take_result(
    session: &mut ThreedsSession,
    bytes: &[u8],
    now: Timestamp,
) -> Result<Secret<Vec<u8>>, Secret<Vec<u8>>> {
    let value = match message::members(bytes) {
        Ok(value) => value,
        Err(rejection) => return Err(refuse(rejection, &Value::Null)),
    };
    let rejected = |rejection| refuse(rejection, value.expose());
    let rreq: Rreq = message::read(value.expose()).map_err(rejected)?;
    let (Some(sent), Some(authentication)) = (session.sent, session.authentication.as_mut()) else {
        return Err(rejected(unknown()));
    };
    if rreq.server_transaction != session.id.uuid() {
        return Err(rejected(unknown()));
    }
    let status = check_rreq(&sent, authentication, &rreq).map_err(rejected)?;
    let state = next(session.state, SessionEvent::ResultReceived, now).map_err(|refused| {
        rejected(match refused {
            TransitionError::TooLate => late(),
            TransitionError::AlreadyDecided if authentication.has_run_out() => late(),
            TransitionError::AlreadyDecided
            | TransitionError::AlreadyRequested
            | TransitionError::Expired
            | TransitionError::Failed
            | TransitionError::NoMethod
            | TransitionError::NotChallenged
            | TransitionError::NotRequested
            | TransitionError::TooEarly => unknown(),
        })
    })?;
    let receipt = message::render(&rres(&rreq));
    session.state = state;
    authentication.take_result(rreq, status);
    session.waits_until = None;
    session.simulated = None;
    session.modified_at = Some(now);
    Ok(receipt)
}

fn late() -> Rejection {
    Rejection::new(ErrorCode::TimedOut, "threeDSServerTransID")
}

fn unknown() -> Rejection {
    Rejection::new(ErrorCode::TransactionUnknown, "threeDSServerTransID")
}

fn refuse(rejection: Rejection, about: &Value) -> Secret<Vec<u8>> {
    message::render(&rejection.into_erro(about, Component::ThreedsServer))
}

/// Handles an `Erro` of the directory server: it has rejected the ACS's result, so no result will
/// come. False if the session awaits no result, or the `Erro` is about another authentication.
fn give_up(session: &mut ThreedsSession, erro: &Erro, now: Timestamp) -> bool {
    let awaits =
        matches!(session.state, SessionState::Challenged { .. } | SessionState::Decoupled { .. });
    let authentication = session.authentication.as_mut();
    let Some(authentication) = authentication.filter(|it| awaits && concerns(erro, it)) else {
        return false;
    };
    authentication.give_up();
    session.state = SessionState::Decided;
    session.waits_until = None;
    session.modified_at = Some(now);
    true
}

/// The event of a change of a session's state.
pub(super) fn told(before: &ThreedsSession, after: &ThreedsSession) -> Option<EventKind> {
    let was_challenged =
        matches!(before.state, SessionState::Challenged { .. } | SessionState::Decoupled { .. });
    match (before.state, after.state) {
        (
            SessionState::Created { method: MethodState::Pending, .. },
            SessionState::Created { method: MethodState::Completed, .. },
        ) => Some(EventKind::ThreedsMethodCompleted),
        (_, SessionState::Decided) if was_challenged => Some(EventKind::ThreedsChallengeCompleted),
        _ => None,
    }
}

/// The record contradicts its own state.
pub(super) const fn damaged() -> Error {
    Error::Internal(Fault::BadRecord)
}
