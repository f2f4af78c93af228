//! Requests of browsers, which have no API key. A browser knows only the id of its session, and can
//! change only the parts that the protocol leaves to the cardholder.

use crate::app::ThreedsSessions;
use crate::app::audit::subject::Subject;
use crate::app::commit::commit_loop::Priority;
use crate::app::error::Error;
use crate::app::threeds::result::{damaged, take_result, told};
use crate::crypto::{TenantKeys, Version};
use crate::domain::audit::{Act, Actor};
use crate::domain::id::SessionId;
use crate::store::{Change, Snapshot};
use crate::threeds::codes::TransactionStatus;
use crate::threeds::message::{self, Creq, Cres};
use crate::threeds::session::{ThreedsSession, WebChallengeMode};
use crate::threeds::simulator::acs::{CardholderInput, ChallengeResult, ChallengeStep, cres};
use crate::threeds::simulator::cards::ChallengeKind;
use crate::threeds::simulator::{DIRECTORY_SERVER, ShownPurchase, SimulatedChallenge};
use crate::threeds::state::{SessionEvent, SessionState, next};

/// A browser that returns from an ACS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visitor {
    pub session: SessionId,
    pub mode: WebChallengeMode,
    /// The stored outcome of the challenge, if there is one.
    pub status: Option<TransactionStatus>,
}

/// The next page of the built-in ACS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChallengeReply {
    /// The challenge goes on.
    Ask(ChallengeQuestion),
    /// The challenge is over. The browser posts `cres` to the server's notification page.
    Done { session: SessionId, cres: String },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChallengeQuestion {
    pub means: ChallengeKind,
    pub wrong_codes: u8,
    pub purchase: Option<ShownPurchase>,
}

/// `None` if the page was only opened.
pub type ChallengeInput<'a> = Option<CardholderInput<'a>>;

impl ThreedsSessions<'_> {
    /// The ACS has completed fingerprinting. `claimed` is the transaction id in its form.
    pub async fn complete_method(self, id: &str, claimed: &str) -> Result<Visitor, Error> {
        let id = SessionId::parse(id).ok_or(Error::NotFound("session"))?;
        if SessionId::parse(claimed) != Some(id) {
            return Err(Error::invalid("threeDSMethodData", "It names another transaction."));
        }
        let _turn = self.vault.lanes.take(id.to_string().as_bytes()).await?;
        self.change_visited(id, |session| {
            // A late or repeated notification does not change the session.
            if let Ok(state) = next(session.state, SessionEvent::MethodCompleted, self.vault.now())
            {
                session.state = state;
            }
            Ok(Visitor { session: id, mode: session.web_challenge_mode, status: None })
        })
        .await
    }

    /// The browser returns from the challenge. The status in its form could be forged, so the
    /// stored one is shown.
    pub fn close_challenge(self, id: &str, cres: Option<&Cres>) -> Result<Visitor, Error> {
        let id = SessionId::parse(id).ok_or(Error::NotFound("session"))?;
        let (session, ..) = self.find_visited(&self.vault.snapshot()?, id)?;
        let known = session.authentication.as_ref().map(|it| it.acs_transaction);
        let own = cres.filter(|cres| {
            cres.server_transaction == id.uuid() && Some(cres.acs_transaction) == known
        });
        let decided = own.filter(|_| session.state == SessionState::Decided);
        let status = decided.map(|_| shown_status(&session));
        Ok(Visitor { session: id, mode: session.web_challenge_mode, status })
    }

    /// One step of a challenge of the built-in ACS. A finished challenge is answered with its
    /// outcome.
    pub async fn challenge_step(
        self,
        creq: &Creq,
        answer: ChallengeInput<'_>,
    ) -> Result<ChallengeReply, Error> {
        let id = SessionId::new(creq.server_transaction);
        let _turn = self.vault.lanes.take(id.to_string().as_bytes()).await?;
        self.change_visited(id, |session| self.step(session, creq, answer)).await
    }

    fn step(
        self,
        session: &mut ThreedsSession,
        creq: &Creq,
        answer: ChallengeInput<'_>,
    ) -> Result<ChallengeReply, Error> {
        let now = self.vault.now();
        let authentication = session.authentication.as_ref().ok_or(Error::NotFound("session"))?;
        // Refuse challenges of other ACSs.
        let is_known = session.enrolment.directory_server == DIRECTORY_SERVER
            && authentication.acs_transaction == creq.acs_transaction
            && authentication.version == creq.version
            && authentication.directory_status == TransactionStatus::Challenge;
        if !is_known {
            return Err(Error::NotFound("challenge"));
        }
        let (SessionState::Challenged { until }, Some(simulated)) =
            (session.state, session.simulated.as_ref())
        else {
            return Ok(over(session, creq));
        };
        if now >= until {
            return Ok(over(session, creq));
        }
        let ending = match answer.map(|answer| simulated.take(answer)) {
            None => return Ok(ask(simulated)),
            Some(ChallengeStep::Again(after)) => {
                let reply = ask(&after);
                session.simulated = Some(after);
                return Ok(reply);
            }
            Some(ChallengeStep::Ended(ending)) => ending,
        };
        self.end_challenge(session, ending)
    }

    /// Stores the result before the browser returns, in the same order as with any ACS.
    fn end_challenge(
        self,
        session: &mut ThreedsSession,
        ending: ChallengeResult,
    ) -> Result<ChallengeReply, Error> {
        let rreq = self.simulated_result(session, ending).ok_or_else(damaged)?;
        let cres = cres(&rreq).to_form();
        let told = take_result(session, message::render(&rreq).expose(), self.vault.now());
        told.ok().ok_or_else(damaged)?;
        Ok(ChallengeReply::Done { session: session.id, cres })
    }

    fn find_visited(
        self,
        snapshot: &Snapshot,
        id: SessionId,
    ) -> Result<(ThreedsSession, Version, TenantKeys), Error> {
        let found = self.find_session_tenant(snapshot, id)?;
        let (tenant, keys) = found.ok_or(Error::NotFound("session"))?;
        let found = self.find_session_by_id(snapshot, &keys, tenant, id)?;
        let (session, version) = found.ok_or(Error::NotFound("session"))?;
        Ok((session, version, keys))
    }

    /// Writes the session if `change` has changed it. A session allows only a few such changes, so
    /// they are accepted even when the disk is nearly full.
    async fn change_visited<T: Send>(
        self,
        id: SessionId,
        change: impl Fn(&mut ThreedsSession) -> Result<T, Error> + Sync,
    ) -> Result<T, Error> {
        self.vault
            .commit(Priority::Upkeep, |snapshot| {
                let (before, version, keys) = self.find_visited(snapshot, id)?;
                let mut session = before.clone();
                let outcome = change(&mut session)?;
                let is_same =
                    session.state == before.state && session.simulated == before.simulated;
                if is_same {
                    return Ok((Change::new(), outcome));
                }
                let (actor, now) = (Actor::Cardholder, self.vault.now());
                let subject = Subject::Threeds(&session, told(&before, &session));
                let change = self.replace_session(&keys, &before, &session, version)?.and(
                    self.vault.audit().entry(session.tenant, actor, Act::Update, subject, now),
                );
                Ok((change, outcome))
            })
            .await
    }
}

fn ask(simulated: &SimulatedChallenge) -> ChallengeReply {
    ChallengeReply::Ask(ChallengeQuestion {
        means: simulated.means,
        wrong_codes: simulated.wrong_codes,
        purchase: simulated.purchase.clone(),
    })
}

/// The browser gets the outcome of the ended challenge.
fn over(session: &ThreedsSession, creq: &Creq) -> ChallengeReply {
    let carried = Cres {
        version: creq.version,
        server_transaction: creq.server_transaction,
        acs_transaction: creq.acs_transaction,
        status: shown_status(session),
        extensions: None,
    };
    ChallengeReply::Done { session: session.id, cres: carried.to_form() }
}

/// The outcome as the browser sees it.
fn shown_status(session: &ThreedsSession) -> TransactionStatus {
    match session.authentication.as_ref().map(|it| it.status) {
        Some(TransactionStatus::Successful | TransactionStatus::Attempted) => {
            TransactionStatus::Successful
        }
        Some(_) | None => TransactionStatus::Failed,
    }
}
