//! `POST /3ds/sessions/{id}/authenticate`.
//!
//! The session is marked as requested before the request is sent. The protocol allows one request
//! for each transaction, so a session never sends a second one, not even after a failure.

use std::time::Duration;

use serde_json::Value;

use crate::app::ThreedsSessions;
use crate::app::audit::opened::Opened;
use crate::app::audit::subject::Subject;
use crate::app::caller::Caller;
use crate::app::commit::commit_loop::{CommitOutcome, Priority, Write};
use crate::app::error::{Error, Upstream};
use crate::app::threeds::advance;
use crate::app::threeds::create::Client;
use crate::app::threeds::directory_servers::{ResponseKind, not_configured};
use crate::bounds::{
    THREEDS_ANSWER_MAX, THREEDS_CHALLENGE_MAX, THREEDS_DECOUPLED_GRACE, THREEDS_SIMULATED_DECOUPLED,
};
use crate::domain::audit::Act;
use crate::domain::mistakes::Mistakes;
use crate::domain::time::Timestamp;
use crate::domain::webhook::EventKind;
use crate::secret::Secret;
use crate::store::Change;
use crate::threeds::codes::TransactionStatus;
use crate::threeds::mapping::{ServerIdentity, areq};
use crate::threeds::message::{self, Ares, Component, Erro, Rejection};
use crate::threeds::receive::check_ares;
use crate::threeds::request::{AuthenticationRequest, DECOUPLED_MINUTES_MAX};
use crate::threeds::session::{AreqSummary, Authentication, ThreedsSession};
use crate::threeds::simulator::SimulatedChallenge;
use crate::threeds::state::SessionEvent;
use crate::threeds::version::ProtocolVersion;

impl ThreedsSessions<'_> {
    pub async fn authenticate_session(
        self,
        caller: &Caller,
        id: &str,
        request: &AuthenticationRequest,
        mut mistakes: Mistakes,
        client: &Client,
        write: &Write<'_, ThreedsSession>,
    ) -> Result<CommitOutcome<ThreedsSession>, Error> {
        caller.require_threeds()?;
        let turn = self.vault.lanes.take(id.as_bytes()).await?;
        let (found, _) = self.find_session(&self.vault.snapshot()?, caller, id)?;
        // Check the state first: the caller need not correct the body for a session that can no
        // longer be authenticated.
        advance(&found, SessionEvent::AuthenticationRequested, self.vault.now())?;
        request.check(found.kind, &mut mistakes);
        mistakes.into_result()?;
        let servers = self.directory_servers(caller, client);
        let introduction = servers.introduction(found.scheme);
        let introduction =
            introduction.ok_or_else(|| not_configured(found.scheme, Some(found.id)))?;
        let server = introduction.identity(found.id);
        // A result that arrives before the answer is stored waits for this guard.
        let _out = self.vault.threeds.asking.begin(found.id);
        let (bytes, sent) = self.mark_requested(caller, id, request, &server).await?;
        // Release the lane before the exchange with the directory server, so that other requests of
        // the lane do not wait for it. The mark prevents a second request.
        drop(turn);
        let reply = match servers.ask(found.scheme, &bytes, ResponseKind::Message).await {
            Ok(reply) => reply,
            Err(unanswered) => {
                self.mark_failed(caller, id).await?;
                return Err(unanswered.upstream(found.scheme, found.id));
            }
        };
        let minutes = request.decoupled_minutes.unwrap_or(DECOUPLED_MINUTES_MAX);
        match receive(&found, &sent, reply.bytes.expose()) {
            Ok((ares, status)) => {
                let simulated = reply.simulated;
                let answered = Answered { ares, status, sent, simulated, minutes };
                self.take_answer(caller, id, answered, write).await
            }
            Err(Refusal { upstream, erro }) => {
                self.mark_failed(caller, id).await?;
                if let Some(erro) = erro {
                    // The session has failed already, so the outcome of the error message is
                    // ignored.
                    servers.ask(found.scheme, &erro, ResponseKind::Message).await.ok();
                }
                Err(Error::Upstream(Box::new(upstream)))
            }
        }
    }

    /// Builds the request and marks the session as requested. Only the returned bytes hold the card
    /// number.
    async fn mark_requested(
        self,
        caller: &Caller,
        id: &str,
        request: &AuthenticationRequest,
        server: &ServerIdentity,
    ) -> Result<(Secret<Vec<u8>>, AreqSummary), Error> {
        let opened = Opened::by(self.vault, caller);
        let marked = self
            .vault
            .commit(Priority::Normal, |snapshot| {
                let now = self.vault.now();
                let (mut session, version) = self.find_session(snapshot, caller, id)?;
                let before = session.clone();
                let held = self.card_of_session(snapshot, caller, &session.card, now, &opened)?;
                let spoken = session.enrolment.recommended().unwrap_or(ProtocolVersion::V210);
                let (areq, sent) = areq(&session, request, held.card, server, spoken)
                    .map_err(|member| Error::invalid(member.0, "The member is required."))?;
                session.method_outcome = Some(session.method_indicator());
                session.state = advance(&session, SessionEvent::AuthenticationRequested, now)?;
                session.sent = Some(sent);
                // The wait ends the session even if its answer is never written.
                session.waits_until = Some(now.plus(THREEDS_ANSWER_MAX));
                session.modified_at = Some(now);
                session.modified_by = Some(caller.application.id);
                let acts = [
                    caller.did(Act::Use, held.entity, now),
                    caller.did(Act::Authenticate, session.id, now),
                ];
                let change = self
                    .replace_session(&caller.keys, &before, &session, version)?
                    .and(self.vault.audit().acts(session.tenant, &acts));
                Ok((change, (message::render(&areq), sent)))
            })
            .await;
        opened.settle(marked).await
    }

    async fn take_answer(
        self,
        caller: &Caller,
        id: &str,
        answered: Answered,
        write: &Write<'_, ThreedsSession>,
    ) -> Result<CommitOutcome<ThreedsSession>, Error> {
        let Answered { ares, status, sent, simulated, minutes } = answered;
        let authentication = Authentication::from_ares(ares, status, &sent);
        self.vault
            .commit_write(Priority::Upkeep, write, |snapshot| {
                let now = self.vault.now();
                let (mut session, version) = self.find_session(snapshot, caller, id)?;
                let before = session.clone();
                let (event, waits_until) = follow(status, minutes, simulated.is_some(), now);
                session.state = advance(&session, event, now)?;
                session.waits_until = waits_until;
                session.authentication = Some(authentication.clone());
                session.simulated.clone_from(&simulated);
                let told = Some(EventKind::ThreedsSessionAuthenticated);
                let subject = Subject::Threeds(&session, told);
                let mut change = self
                    .replace_session(&caller.keys, &before, &session, version)?
                    .and(self.vault.audit().caller_entry(caller, Act::Update, subject, now));
                if status == TransactionStatus::DecoupledChallenge {
                    change = change.and(self.tell_decoupled(caller, &session, now));
                }
                Ok((change, session))
            })
            .await
    }

    /// A decoupled challenge has its own event besides the one of the authentication.
    fn tell_decoupled(self, caller: &Caller, session: &ThreedsSession, at: Timestamp) -> Change {
        let kind = EventKind::ThreedsDecoupledChallenge;
        let data = || Subject::Threeds(session, Some(kind)).data(kind);
        self.vault.webhooks().emit(session.tenant, caller.actor(), kind, at, data)
    }

    async fn mark_failed(self, caller: &Caller, id: &str) -> Result<(), Error> {
        self.vault
            .commit(Priority::Upkeep, |snapshot| {
                let now = self.vault.now();
                let (mut session, version) = self.find_session(snapshot, caller, id)?;
                let before = session.clone();
                session.state = advance(&session, SessionEvent::RequestFailed, now)?;
                session.waits_until = None;
                let change = self
                    .replace_session(&caller.keys, &before, &session, version)?
                    .and(self.vault.audit().caller_entry(caller, Act::Update, session.id, now));
                Ok((change, ()))
            })
            .await
    }
}

struct Answered {
    ares: Ares,
    status: TransactionStatus,
    sent: AreqSummary,
    simulated: Option<SimulatedChallenge>,
    /// The time limit of a decoupled challenge.
    minutes: u64,
}

/// The event that an answer causes, and the time at which the session's wait ends.
fn follow(
    status: TransactionStatus,
    minutes: u64,
    is_simulated: bool,
    now: Timestamp,
) -> (SessionEvent, Option<Timestamp>) {
    match status {
        TransactionStatus::Challenge => {
            let until = now.plus(THREEDS_CHALLENGE_MAX);
            (SessionEvent::AnsweredWithChallenge { until }, Some(until))
        }
        TransactionStatus::DecoupledChallenge => {
            let given = Duration::from_secs(minutes.saturating_mul(60));
            let until = now.plus(given).plus(THREEDS_DECOUPLED_GRACE);
            let simulated = now.plus(THREEDS_SIMULATED_DECOUPLED);
            let waits_until = if is_simulated { simulated } else { until };
            (SessionEvent::AnsweredDecoupled { until }, Some(waits_until))
        }
        TransactionStatus::Successful
        | TransactionStatus::Attempted
        | TransactionStatus::Failed
        | TransactionStatus::Unavailable
        | TransactionStatus::Rejected
        | TransactionStatus::Informational => (SessionEvent::AnsweredFinally, None),
    }
}

/// With the error for the caller, and the message for the sender.
struct Refusal {
    upstream: Upstream,
    erro: Option<Secret<Vec<u8>>>,
}

/// Parses the directory server's answer. An `ARes` must match the request.
fn receive(
    session: &ThreedsSession,
    sent: &AreqSummary,
    answer: &[u8],
) -> Result<(Ares, TransactionStatus), Refusal> {
    let upstream = |status, source: Component, message, detail: String| Upstream {
        service_status: status,
        session: Some(session.id),
        source: source.source(),
        message,
        detail,
    };
    // The protocol forbids to answer an `Erro` with an `Erro`.
    let is_erro = |about: &Value| message::type_of(about) == Some("Erro");
    let rejected = |rejection: Rejection, about: &Value| {
        let detail = format!("{}: {}", rejection.code.description(), rejection.detail);
        let message = "The directory server's answer was not one that the protocol allows.";
        let erro = (!is_erro(about)).then(|| {
            let mut erro = rejection.into_erro(about, Component::ThreedsServer);
            erro.version = sent.version;
            erro.server_transaction = Some(session.id.uuid());
            message::render(&erro)
        });
        Refusal { upstream: upstream("502", Component::DirectoryServer, message, detail), erro }
    };
    let value = message::members(answer).map_err(|it| rejected(it, &Value::Null))?;
    let value = value.expose();
    if is_erro(value) {
        let erro: Erro = message::read(value).map_err(|it| rejected(it, value))?;
        let status = match erro.code.number() {
            402 => "504",
            303 => "403",
            100..400 => "400",
            _ => "502",
        };
        let detail = format!("{} ({})", erro.code.description(), erro.code.number());
        let message = "The request for an authentication was answered with an error.";
        let upstream = upstream(status, erro.component, message, detail);
        return Err(Refusal { upstream, erro: None });
    }
    let ares: Ares = message::read(value).map_err(|it| rejected(it, value))?;
    let status = check_ares(session.id.uuid(), sent, &ares).map_err(|it| rejected(it, value))?;
    Ok((ares, status))
}
