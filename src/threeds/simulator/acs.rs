//! The built-in ACS: the state of a challenge, and the effect of the cardholder's input.

use crate::threeds::Scheme;
use crate::threeds::codes::{
    CancelReason, ChallengeMethod, ChallengeType, Channel, Reason, TransactionStatus,
};
use crate::threeds::message::{Areq, Cres, Numeric, Rreq, Text};
use crate::threeds::session::{AreqSummary, Authentication};
use crate::threeds::simulator::authentication_value;
use crate::threeds::simulator::cards::{Challenge, ChallengeKind, FinalStatus};
use crate::threeds::simulator::purchase::ShownPurchase;
use uuid::Uuid;

/// The right one-time code, for every card.
pub const CODE: &str = "1234";
/// Number of wrong codes that ends a challenge.
pub const WRONG_CODES_MAX: u8 = 3;

/// The state of a challenge at the simulated ACS. It does not contain the card number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimulatedChallenge {
    pub scheme: Scheme,
    pub verdict: FinalStatus,
    pub means: ChallengeKind,
    pub channel: Channel,
    pub wrong_codes: u8,
    pub purchase: Option<ShownPurchase>,
}

/// Input of the cardholder on the challenge page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CardholderInput<'a> {
    /// The cardholder confirms the approval in another app.
    Approved,
    Canceled,
    Code(&'a str),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChallengeStep {
    Again(SimulatedChallenge),
    Ended(ChallengeResult),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChallengeResult {
    /// The card's own scenario decides the outcome.
    Answered,
    Canceled,
    TooManyCodes,
}

impl SimulatedChallenge {
    pub(super) fn new(scheme: Scheme, challenge: Challenge, areq: &Areq) -> Self {
        let Challenge { verdict, means, .. } = challenge;
        let (channel, purchase) = (areq.channel, ShownPurchase::of(areq));
        Self { scheme, verdict, means, channel, wrong_codes: 0, purchase }
    }

    pub fn take(&self, answer: CardholderInput<'_>) -> ChallengeStep {
        match (answer, self.means) {
            (CardholderInput::Canceled, _) => ChallengeStep::Ended(ChallengeResult::Canceled),
            (CardholderInput::Approved, ChallengeKind::OutOfBand) => {
                ChallengeStep::Ended(ChallengeResult::Answered)
            }
            (CardholderInput::Code(code), ChallengeKind::Code) if code.trim() == CODE => {
                ChallengeStep::Ended(ChallengeResult::Answered)
            }
            (CardholderInput::Approved, ChallengeKind::Code) | (CardholderInput::Code(_), _) => {
                let wrong_codes = self.wrong_codes.saturating_add(1);
                if wrong_codes >= WRONG_CODES_MAX {
                    ChallengeStep::Ended(ChallengeResult::TooManyCodes)
                } else {
                    ChallengeStep::Again(Self { wrong_codes, ..self.clone() })
                }
            }
        }
    }

    /// Builds the result that the directory server forwards to the 3DS server.
    pub fn rreq(
        &self,
        transaction: Uuid,
        sent: &AreqSummary,
        authentication: &Authentication,
        ending: ChallengeResult,
        proof: [u8; 21],
    ) -> Rreq {
        let (status, reason, cancel) = match ending {
            ChallengeResult::Answered => (self.verdict.status(), self.verdict.reason(), None),
            ChallengeResult::Canceled => {
                let reason = Some(Reason::CARD_AUTHENTICATION_FAILED);
                (TransactionStatus::Failed, reason, Some(CancelReason::CardholderCanceled))
            }
            ChallengeResult::TooManyCodes => {
                (TransactionStatus::Failed, Some(Reason::MAX_CHALLENGES_EXCEEDED), None)
            }
        };
        let is_decoupled = authentication.directory_status == TransactionStatus::DecoupledChallenge;
        let tries = match ending {
            ChallengeResult::Answered => self.wrong_codes.saturating_add(1),
            // A certification run of another ACS does not count the cancelled attempt.
            ChallengeResult::Canceled => self.wrong_codes,
            ChallengeResult::TooManyCodes => WRONG_CODES_MAX,
        };
        let eci = self.scheme.eci(status, sent.category, sent.channel);
        Rreq {
            version: sent.version,
            server_transaction: transaction,
            acs_transaction: authentication.acs_transaction,
            ds_transaction: authentication.ds_transaction,
            sdk_transaction: sent.sdk_transaction,
            category: sent.category,
            status: Some(status),
            reason,
            challenge_type: Some(if is_decoupled {
                ChallengeType::Decoupled
            } else {
                match self.means {
                    ChallengeKind::Code => ChallengeType::Static,
                    ChallengeKind::OutOfBand => ChallengeType::OutOfBand,
                }
            }),
            challenge_method: Some(match self.means {
                ChallengeKind::Code => ChallengeMethod::SmsCode,
                ChallengeKind::OutOfBand => ChallengeMethod::OutOfBandOther,
            }),
            authentication_value: authentication_value(
                self.scheme,
                status,
                sent.category,
                sent.channel,
                proof,
            ),
            eci: eci.and_then(Text::parse),
            interactions: Numeric::padded(&tries.to_string()).filter(|_| !is_decoupled),
            acs_rendering_type: None,
            cancel,
            whitelist_status: None,
            whitelist_source: None,
            extensions: None,
        }
    }
}

/// Builds the message that the browser carries back; it contains only success or failure.
pub fn cres(rreq: &Rreq) -> Cres {
    let went_well =
        matches!(rreq.status, Some(TransactionStatus::Successful | TransactionStatus::Attempted));
    Cres {
        version: rreq.version,
        server_transaction: rreq.server_transaction,
        acs_transaction: rreq.acs_transaction,
        status: if went_well { TransactionStatus::Successful } else { TransactionStatus::Failed },
        extensions: None,
    }
}
