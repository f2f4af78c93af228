//! The built-in ACS: what it remembers of a challenge, and how the cardholder's answers end it.

use crate::threeds::codes::{
    CancelReason, ChallengeMethod, ChallengeType, Channel, Reason, Status,
};
use crate::threeds::message::{Cres, Numeric, Rreq, Text};
use crate::threeds::scheme::Scheme;
use crate::threeds::session::{Authentication, Sent};
use crate::threeds::simulator::authentication_value;
use crate::threeds::simulator::cards::{Challenge, Means, Verdict};
use uuid::Uuid;

/// The one-time code that is right, for every card.
pub const CODE: &str = "1234";
/// Wrong codes that end a challenge.
pub const WRONG_CODES_MAX: u8 = 3;

/// A challenge that goes on. The card number is not part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Simulated {
    pub scheme: Scheme,
    pub verdict: Verdict,
    pub means: Means,
    pub channel: Channel,
    pub wrong_codes: u8,
}

/// What the cardholder did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer<'a> {
    /// Approved in another app, they say.
    Approved,
    Canceled,
    Code(&'a str),
}

/// What comes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Again(Simulated),
    Ended(Ending),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// As the card has it.
    Answered,
    Canceled,
    TooManyCodes,
}

impl Simulated {
    pub(super) const fn new(scheme: Scheme, challenge: Challenge, channel: Channel) -> Self {
        let Challenge { verdict, means, .. } = challenge;
        Self { scheme, verdict, means, channel, wrong_codes: 0 }
    }

    pub fn take(self, answer: Answer<'_>) -> Step {
        match (answer, self.means) {
            (Answer::Canceled, _) => Step::Ended(Ending::Canceled),
            (Answer::Approved, Means::OutOfBand) => Step::Ended(Ending::Answered),
            (Answer::Code(code), Means::Code) if code.trim() == CODE => {
                Step::Ended(Ending::Answered)
            }
            (Answer::Approved, Means::Code) | (Answer::Code(_), _) => {
                let wrong_codes = self.wrong_codes.saturating_add(1);
                if wrong_codes >= WRONG_CODES_MAX {
                    Step::Ended(Ending::TooManyCodes)
                } else {
                    Step::Again(Self { wrong_codes, ..self })
                }
            }
        }
    }

    /// The result that the directory server passes on to us.
    pub fn rreq(
        self,
        transaction: Uuid,
        sent: &Sent,
        authentication: &Authentication,
        ending: Ending,
        proof: [u8; 21],
    ) -> Rreq {
        let (status, reason, cancel) = match ending {
            Ending::Answered => (self.verdict.status(), self.verdict.reason(), None),
            Ending::Canceled => {
                let reason = Some(Reason::CARD_AUTHENTICATION_FAILED);
                (Status::Failed, reason, Some(CancelReason::CardholderCanceled))
            }
            Ending::TooManyCodes => (Status::Failed, Some(Reason::MAX_CHALLENGES_EXCEEDED), None),
        };
        let is_decoupled = authentication.directory_status == Status::DecoupledChallenge;
        let tries = match ending {
            Ending::Answered => self.wrong_codes.saturating_add(1),
            // As a certification run of another ACS shows it.
            Ending::Canceled => self.wrong_codes,
            Ending::TooManyCodes => WRONG_CODES_MAX,
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
                    Means::Code => ChallengeType::Static,
                    Means::OutOfBand => ChallengeType::OutOfBand,
                }
            }),
            challenge_method: Some(match self.means {
                Means::Code => ChallengeMethod::SmsCode,
                Means::OutOfBand => ChallengeMethod::OutOfBandOther,
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

/// What the browser carries back: only whether it went well.
pub fn cres(rreq: &Rreq) -> Cres {
    let went_well = matches!(rreq.status, Some(Status::Successful | Status::Attempted));
    Cres {
        version: rreq.version,
        server_transaction: rreq.server_transaction,
        acs_transaction: rreq.acs_transaction,
        status: if went_well { Status::Successful } else { Status::Failed },
        extensions: None,
    }
}
