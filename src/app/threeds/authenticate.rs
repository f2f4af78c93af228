//! `POST /3ds/sessions/{id}/authenticate`.
//!
//! The session is marked before the request goes out: the protocol knows one request a transaction,
//! so whatever happens after that, there is no second one.

use std::time::Duration;

use crate::app::App;
use crate::app::audit::AuditScope;
use crate::app::authenticate::Caller;
use crate::app::error::{Error, Upstream};
use crate::app::once::Write;
use crate::app::threeds::{advance, create::Client};
use crate::bounds::{
    THREEDS_ANSWER_MAX, THREEDS_CHALLENGE_MAX, THREEDS_DECOUPLED_GRACE, THREEDS_SIMULATED_DECOUPLED,
};
use crate::domain::audit::Act;
use crate::domain::mistakes::Mistakes;
use crate::domain::time::Timestamp;
use crate::secret::Secret;
use crate::threeds::codes::Status;
use crate::threeds::mapping::{ServerIdentity, areq};
use crate::threeds::message::{self, Ares, Component, Erro, Rejection};
use crate::threeds::receive::check_ares;
use crate::threeds::request::{AuthenticationRequest, DECOUPLED_MINUTES_MAX};
use crate::threeds::session::{Authentication, Sent, Session};
use crate::threeds::simulator::{self, Drawn, Places, Simulated};
use crate::threeds::state::Event;
use crate::threeds::version::ProtocolVersion;

const SERVER_REFERENCE: &str = "STRONGROOM-3DSS";

impl App {
    pub async fn authenticate_session(
        &self,
        caller: &Caller,
        id: &str,
        request: &AuthenticationRequest,
        mut mistakes: Mistakes,
        client: &Client,
        write: &Write<'_, Session>,
    ) -> Result<Session, Error> {
        caller.require_threeds()?;
        let _turn = self.turns.take(id.as_bytes()).await;
        let (found, _) = self.find_session(&self.snapshot()?, caller, id)?;
        // A session that can no longer be authenticated needs no better body.
        advance(&found, Event::AuthenticationRequested, self.now())?;
        request.check(found.kind, &mut mistakes);
        mistakes.into_result()?;
        caller.require_simulator(Some(found.id))?;
        let (bytes, sent) = self.mark_requested(caller, id, request, client).await?;
        let (answer, simulated) = self.ask_simulator(&bytes, client);
        let minutes = request.decoupled_minutes.unwrap_or(DECOUPLED_MINUTES_MAX);
        match receive(&found, &sent, answer.expose()) {
            Ok((ares, status)) => {
                let answered = Answered { ares, status, sent, simulated, minutes };
                self.take_answer(caller, id, answered, write).await
            }
            Err(upstream) => {
                self.mark_failed(caller, id).await?;
                Err(Error::Upstream(Box::new(upstream)))
            }
        }
    }

    /// Builds the request, and remembers that it goes out. The card number stays in the bytes.
    async fn mark_requested(
        &self,
        caller: &Caller,
        id: &str,
        request: &AuthenticationRequest,
        client: &Client,
    ) -> Result<(Secret<Vec<u8>>, Sent), Error> {
        self.settle(|snapshot| {
            let now = self.now();
            let (mut session, version) = self.find_session(snapshot, caller, id)?;
            let before = session.clone();
            let held = self.card_of_session(snapshot, caller, &session.card, now)?;
            let spoken = session.enrolment.recommended().unwrap_or(ProtocolVersion::V210);
            let server = identity(client, &session);
            let (areq, sent) = areq(&session, request, held.card, &server, spoken);
            session.method_outcome = Some(session.method_indicator());
            session.state = advance(&session, Event::AuthenticationRequested, now)?;
            session.sent = Some(sent);
            // Whatever keeps the answer from being written must not leave the session in between.
            session.waits_until = Some(now.plus(THREEDS_ANSWER_MAX));
            session.modified_at = Some(now);
            session.modified_by = Some(caller.application.id);
            let entries = [
                caller.did(Act::Use, held.entity, now),
                caller.did(Act::Authenticate, session.id.into(), now),
            ];
            let change = self
                .replace_session(&caller.keys, &before, &session, version)?
                .and(self.audit(AuditScope::Tenant(session.tenant), &entries));
            Ok((change, (message::render(&areq), sent)))
        })
        .await
    }

    fn ask_simulator(
        &self,
        request: &Secret<Vec<u8>>,
        client: &Client,
    ) -> (Secret<Vec<u8>>, Option<Simulated>) {
        let random = || uuid::Builder::from_random_bytes(self.random().bytes()).into_uuid();
        let drawn = Drawn {
            acs_transaction: random(),
            ds_transaction: random(),
            proof: self.random().bytes(),
        };
        simulator::answer(request.expose(), &drawn, &Places { base: &client.base })
    }

    async fn take_answer(
        &self,
        caller: &Caller,
        id: &str,
        answered: Answered,
        write: &Write<'_, Session>,
    ) -> Result<Session, Error> {
        let Answered { ares, status, sent, simulated, minutes } = answered;
        let authentication = Authentication::from_ares(ares, status, &sent);
        self.settle_once(write, |snapshot| {
            let now = self.now();
            let (mut session, version) = self.find_session(snapshot, caller, id)?;
            let before = session.clone();
            let (event, waits_until) = follow(status, minutes, simulated.is_some(), now);
            session.state = advance(&session, event, now)?;
            session.waits_until = waits_until;
            session.authentication = Some(authentication.clone());
            session.simulated = simulated;
            let change = self
                .replace_session(&caller.keys, &before, &session, version)?
                .and(self.audit_caller(caller, Act::Update, session.id, now));
            Ok((change, session))
        })
        .await
    }

    async fn mark_failed(&self, caller: &Caller, id: &str) -> Result<(), Error> {
        self.settle(|snapshot| {
            let now = self.now();
            let (mut session, version) = self.find_session(snapshot, caller, id)?;
            let before = session.clone();
            session.state = advance(&session, Event::RequestFailed, now)?;
            session.waits_until = None;
            let change = self
                .replace_session(&caller.keys, &before, &session, version)?
                .and(self.audit_caller(caller, Act::Update, session.id, now));
            Ok((change, ()))
        })
        .await
    }
}

/// An answer that was taken, and what belongs to it.
struct Answered {
    ares: Ares,
    status: Status,
    sent: Sent,
    simulated: Option<Simulated>,
    /// How long a decoupled challenge may take.
    minutes: u64,
}

fn identity(client: &Client, session: &Session) -> ServerIdentity {
    let base = &client.base;
    ServerIdentity {
        reference: String::from(SERVER_REFERENCE),
        operator: None,
        results_url: format!("{base}/3ds/results"),
        notification_url: format!("{base}/3ds/sessions/{}/challenge-notification", session.id),
    }
}

/// What an answer makes of a session, and when the session moves on by itself.
fn follow(
    status: Status,
    minutes: u64,
    is_simulated: bool,
    now: Timestamp,
) -> (Event, Option<Timestamp>) {
    match status {
        Status::Challenge => {
            let until = now.plus(THREEDS_CHALLENGE_MAX);
            (Event::AnsweredWithChallenge { until }, Some(until))
        }
        Status::DecoupledChallenge => {
            let given = Duration::from_secs(minutes.saturating_mul(60));
            let until = now.plus(given).plus(THREEDS_DECOUPLED_GRACE);
            let simulated = now.plus(THREEDS_SIMULATED_DECOUPLED);
            let waits_until = if is_simulated { simulated } else { until };
            (Event::AnsweredDecoupled { until }, Some(waits_until))
        }
        Status::Successful
        | Status::Attempted
        | Status::Failed
        | Status::Unavailable
        | Status::Rejected
        | Status::Informational => (Event::AnsweredFinally, None),
    }
}

/// Reads the directory server's answer: an `ARes` that fits the request, or what went wrong.
fn receive(session: &Session, sent: &Sent, answer: &[u8]) -> Result<(Ares, Status), Upstream> {
    let upstream = |status, source: Component, message, detail: String| Upstream {
        service_status: status,
        session: Some(session.id),
        source: source.source(),
        message,
        detail,
    };
    let rejected = |rejection: Rejection| {
        let detail = format!("{}: {}", rejection.code.description(), rejection.detail);
        let message = "The directory server's answer was not one that the protocol allows.";
        upstream("502", Component::DirectoryServer, message, detail)
    };
    let value = message::members(answer).map_err(rejected)?;
    if message::type_of(value.expose()) == Some("Erro") {
        let erro: Erro = message::read(value.expose()).map_err(rejected)?;
        let status = match erro.code.number() {
            402 => "504",
            303 => "403",
            100..400 => "400",
            _ => "502",
        };
        let detail = format!("{} ({})", erro.code.description(), erro.code.number());
        let message = "The request for an authentication was answered with an error.";
        return Err(upstream(status, erro.component, message, detail));
    }
    let ares: Ares = message::read(value.expose()).map_err(rejected)?;
    let status = check_ares(session.id.uuid(), sent, &ares).map_err(rejected)?;
    Ok((ares, status))
}
