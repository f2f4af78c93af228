//! What browsers bring, without a key: the id of the session is all that they know, and all that
//! they can change is what the protocol lets a cardholder do.

use crate::app::commit::commit_loop::Priority;
use crate::app::error::Error;
use crate::app::threeds::ThreedsSessions;
use crate::app::threeds::result::{damaged, take_result};
use crate::crypto::{TenantKeys, Version};
use crate::domain::audit::{Act, Actor};
use crate::domain::id::SessionId;
use crate::store::{Change, Snapshot};
use crate::threeds::codes::TransactionStatus;
use crate::threeds::message::{self, Creq, Cres};
use crate::threeds::session::{Session, WebChallengeMode};
use crate::threeds::simulator::DIRECTORY_SERVER;
use crate::threeds::simulator::acs::{CardholderInput, ChallengeResult, ChallengeStep, cres};
use crate::threeds::simulator::cards::ChallengeKind;
use crate::threeds::state::{SessionEvent, SessionState, next};

/// Who comes back from an ACS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visitor {
    pub session: SessionId,
    pub mode: WebChallengeMode,
    /// Whether the challenge went well, by what the browser carries.
    pub status: Option<TransactionStatus>,
}

/// What the built-in ACS shows next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChallengeReply {
    /// The question, and how many wrong answers there were.
    Ask { means: ChallengeKind, wrong_codes: u8 },
    /// All is said: this goes to our own notification page.
    Done { session: SessionId, cres: String },
}

/// What the cardholder did on the ACS's page; `None` when it is only opened.
pub type Challenged<'a> = Option<CardholderInput<'a>>;

impl ThreedsSessions<'_> {
    /// The ACS is done with fingerprinting. `claimed` is the transaction that its form names.
    pub async fn complete_method(self, id: &str, claimed: &str) -> Result<Visitor, Error> {
        let id = SessionId::parse(id).ok_or(Error::NotFound("session"))?;
        if SessionId::parse(claimed) != Some(id) {
            return Err(Error::invalid("threeDSMethodData", "It names another transaction."));
        }
        let _turn = self.vault.lanes.take(id.to_string().as_bytes()).await?;
        self.change_visited(id, |session| {
            // A late or repeated notification changes nothing of what the request said.
            if let Ok(state) = next(session.state, SessionEvent::MethodCompleted, self.vault.now())
            {
                session.state = state;
            }
            Ok(Visitor { session: id, mode: session.web_challenge_mode, status: None })
        })
        .await
    }

    /// The browser returns from the challenge. What it says is shown, and decides nothing.
    pub fn close_challenge(self, id: &str, cres: Option<&Cres>) -> Result<Visitor, Error> {
        let id = SessionId::parse(id).ok_or(Error::NotFound("session"))?;
        let (session, ..) = self.find_visited(&self.vault.snapshot()?, id)?;
        let known = session.authentication.as_ref().map(|it| it.acs_transaction);
        let own = cres.filter(|cres| {
            cres.server_transaction == id.uuid() && Some(cres.acs_transaction) == known
        });
        let mode = session.web_challenge_mode;
        Ok(Visitor { session: id, mode, status: own.map(|cres| cres.status) })
    }

    /// The built-in ACS: one step of a challenge. A challenge that is over answers as it ended.
    pub async fn challenge_step(
        self,
        creq: &Creq,
        answer: Challenged<'_>,
    ) -> Result<ChallengeReply, Error> {
        let id = SessionId::new(creq.server_transaction);
        let _turn = self.vault.lanes.take(id.to_string().as_bytes()).await?;
        self.change_visited(id, |session| self.step(session, creq, answer)).await
    }

    fn step(
        self,
        session: &mut Session,
        creq: &Creq,
        answer: Challenged<'_>,
    ) -> Result<ChallengeReply, Error> {
        let now = self.vault.now();
        let authentication = session.authentication.as_ref().ok_or(Error::NotFound("session"))?;
        // Another ACS's challenge is none of ours.
        let is_known = session.enrolment.directory_server == DIRECTORY_SERVER
            && authentication.acs_transaction == creq.acs_transaction
            && authentication.version == creq.version
            && authentication.directory_status == TransactionStatus::Challenge;
        if !is_known {
            return Err(Error::NotFound("challenge"));
        }
        let (SessionState::Challenged { until }, Some(simulated)) =
            (session.state, session.simulated)
        else {
            return Ok(over(session, creq));
        };
        if now >= until {
            return Ok(over(session, creq));
        }
        let ending = match answer.map(|answer| simulated.take(answer)) {
            None => {
                let (means, wrong_codes) = (simulated.means, simulated.wrong_codes);
                return Ok(ChallengeReply::Ask { means, wrong_codes });
            }
            Some(ChallengeStep::Again(after)) => {
                session.simulated = Some(after);
                let (means, wrong_codes) = (after.means, after.wrong_codes);
                return Ok(ChallengeReply::Ask { means, wrong_codes });
            }
            Some(ChallengeStep::Ended(ending)) => ending,
        };
        self.end_challenge(session, ending)
    }

    /// The result comes before the browser returns, as with any ACS.
    fn end_challenge(
        self,
        session: &mut Session,
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
    ) -> Result<(Session, Version, TenantKeys), Error> {
        let found = self.find_session_tenant(snapshot, id)?;
        let (tenant, keys) = found.ok_or(Error::NotFound("session"))?;
        let found = self.find_session_by_id(snapshot, &keys, tenant, id)?;
        let (session, version) = found.ok_or(Error::NotFound("session"))?;
        Ok((session, version, keys))
    }

    /// Reads the session of an id, lets it change, and writes it if it did. A session has only a
    /// few such changes in it, so they are taken when the disk is nearly full too.
    async fn change_visited<T>(
        self,
        id: SessionId,
        change: impl Fn(&mut Session) -> Result<T, Error>,
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
                let change = self.replace_session(&keys, &before, &session, version)?.and(
                    self.vault.audit().entry(session.tenant, actor, Act::Update, session.id, now),
                );
                Ok((change, outcome))
            })
            .await
    }
}

/// A challenge that ended before: the browser is sent on with what it ended with.
fn over(session: &Session, creq: &Creq) -> ChallengeReply {
    let status = session.authentication.as_ref().map(|it| it.status);
    let went_well =
        matches!(status, Some(TransactionStatus::Successful | TransactionStatus::Attempted));
    let carried = Cres {
        version: creq.version,
        server_transaction: creq.server_transaction,
        acs_transaction: creq.acs_transaction,
        status: if went_well { TransactionStatus::Successful } else { TransactionStatus::Failed },
        extensions: None,
    };
    ChallengeReply::Done { session: session.id, cres: carried.to_form() }
}
