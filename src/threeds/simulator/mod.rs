//! The built-in directory server and ACS for test tenants. They read and write the same messages as
//! real ones, without a network. [`cards`] lists the scenario of each card number.
//!
//! Invariant: production tenants never reach this module.
#![expect(clippy::similar_names, reason = "the messages have these names in the protocol")]

pub mod acs;
pub mod cards;
mod purchase;
#[cfg(test)]
mod tests;

use serde_json::Value;
use uuid::Uuid;

use crate::domain::card::iin::brand_of;
use crate::secret::Secret;
use crate::threeds::codes::{
    AcsInformation, Category, ChallengePreference, ChallengeType, Channel, Reason,
    TransactionStatus, YesNo,
};
use crate::threeds::message::{
    self, AcsRenderingType, Areq, Ares, AuthenticationValue, Component, Erro, ErrorCode, Rejection,
    Text,
};
use crate::threeds::session::Enrolment;
use crate::threeds::simulator::cards::{Challenge, ChallengeKind, FinalStatus, Scenario};
use crate::threeds::{ProtocolVersion, Scheme, base64};

pub use acs::SimulatedChallenge;
pub use purchase::{PurchaseAmount, ShownPurchase};

/// The id of the published service's test directory server.
pub const DIRECTORY_SERVER: &str = "M000000003";
const ACS_REFERENCE: &str = "STRONGROOM-SIM-ACS-0001";
const DS_REFERENCE: &str = "STRONGROOM-SIM-DS-0001";
const ACS_OPERATOR: &str = "STRONGROOM-SIM";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnrolmentError {
    /// The card selects a failure of the 3DS server.
    ServerError,
    /// The card belongs to no scheme.
    UnknownCard,
}

#[derive(Debug)]
pub struct TransactionSeed {
    pub acs_transaction: Uuid,
    pub ds_transaction: Uuid,
    /// Source of the authentication value, if the outcome has one.
    pub proof: [u8; 21],
}

#[derive(Debug)]
pub struct SimulatorUrls<'a> {
    /// `https://host`
    pub base: &'a str,
}

impl SimulatorUrls<'_> {
    pub fn method_url(&self) -> String {
        format!("{}/3ds/sim/acs/method", self.base)
    }

    pub fn challenge_url(&self) -> String {
        format!("{}/3ds/sim/acs/challenge", self.base)
    }
}

/// Finds the scheme of a card number, and the enrolment data of its range.
pub fn enrol(
    number: &str,
    places: &SimulatorUrls<'_>,
) -> Result<(Scheme, Enrolment), EnrolmentError> {
    let listed = cards::find(number);
    let outcome = listed.map(|card| card.outcome);
    if outcome == Some(Scenario::NotEnrolled) {
        return Err(EnrolmentError::UnknownCard);
    }
    if outcome == Some(Scenario::ServerError) {
        return Err(EnrolmentError::ServerError);
    }
    let scheme = scheme_of(listed, number).ok_or(EnrolmentError::UnknownCard)?;
    let without_method = listed.is_some_and(|card| {
        matches!(card.outcome, Scenario::Challenge(it) if it.method == cards::MethodSupport::Absent)
    });
    let enrolment = Enrolment {
        directory_server: String::from(DIRECTORY_SERVER),
        acs_start: ProtocolVersion::V210.into(),
        acs_end: ProtocolVersion::V220.into(),
        ds_start: ProtocolVersion::V210.into(),
        ds_end: ProtocolVersion::V220.into(),
        method_url: (!without_method).then(|| places.method_url()),
        acs_information: AcsInformation::ALL.to_vec(),
    };
    Ok((scheme, enrolment))
}

fn scheme_of(listed: Option<&cards::SimulatorCard>, number: &str) -> Option<Scheme> {
    let scheme = listed.map(|card| card.scheme);
    scheme.or_else(|| brand_of(number).and_then(Scheme::of_brand))
}

/// Answers an `AReq` as a directory server does: with an `ARes` or an `Erro`. The second value is
/// the state of the ACS's challenge, if there is one.
pub fn answer(
    request: &[u8],
    drawn: &TransactionSeed,
    places: &SimulatorUrls<'_>,
) -> (Secret<Vec<u8>>, Option<SimulatedChallenge>) {
    let refuse = |rejection: Rejection, about: &Value, component| {
        message::render(&rejection.into_erro(about, component))
    };
    let value = match message::members(request) {
        Ok(value) => value,
        Err(rejection) => {
            return (refuse(rejection, &Value::Null, Component::DirectoryServer), None);
        }
    };
    match message::read::<Areq>(value.expose()) {
        Ok(areq) => {
            let listed = cards::find(areq.card_number.expose());
            if listed.is_some_and(|it| it.outcome == Scenario::DirectoryServerError) {
                return (message::render(&failure(&areq)), None);
            }
            let Some(scheme) = scheme_of(listed, areq.card_number.expose()) else {
                let rejection = Rejection::new(ErrorCode::TransactionDataInvalid, "acctNumber");
                return (refuse(rejection, value.expose(), Component::DirectoryServer), None);
            };
            let (ares, simulated) = decide(&areq, listed, scheme, drawn, places);
            (message::render(&ares), simulated)
        }
        Err(rejection) => (refuse(rejection, value.expose(), Component::DirectoryServer), None),
    }
}

/// The answer for the card that selects a failing directory server.
fn failure(areq: &Areq) -> Erro {
    Erro {
        version: areq.version,
        code: ErrorCode::PermanentFailure,
        component: Component::DirectoryServer,
        description: Text::cut(ErrorCode::PermanentFailure.description()),
        detail: Text::cut("The card selects a failing directory server"),
        message_type: Text::parse("AReq"),
        server_transaction: Some(areq.server_transaction),
        acs_transaction: None,
        ds_transaction: None,
        sdk_transaction: areq.options.sdk_transaction,
    }
}

fn decide(
    areq: &Areq,
    listed: Option<&cards::SimulatorCard>,
    scheme: Scheme,
    drawn: &TransactionSeed,
    places: &SimulatorUrls<'_>,
) -> (Ares, Option<SimulatedChallenge>) {
    let outcome =
        listed.map_or(Scenario::Frictionless(FinalStatus::Successful), |card| card.outcome);
    let mut ares = blank(areq, drawn);
    match outcome {
        Scenario::Challenge(challenge) => {
            let simulated = challenge_or_not(&mut ares, areq, challenge, scheme, drawn, places);
            (ares, simulated)
        }
        Scenario::Frictionless(FinalStatus::Successful)
            if listed.is_some() && shares_data(areq) =>
        {
            settle(&mut ares, areq, scheme, TransactionStatus::Informational, None, drawn);
            (ares, None)
        }
        Scenario::Frictionless(verdict) => {
            settle(&mut ares, areq, scheme, verdict.status(), verdict.reason(), drawn);
            (ares, None)
        }
        // Unreachable: `enrol` refuses the first and the last, and `answer` handles the directory
        // server error.
        Scenario::DirectoryServerError | Scenario::NotEnrolled | Scenario::ServerError => {
            let reason = Some(Reason::CARDHOLDER_NOT_ENROLLED);
            settle(&mut ares, areq, scheme, TransactionStatus::Unavailable, reason, drawn);
            (ares, None)
        }
    }
}

/// True if the merchant's preference is one that version 2.2 answers with "informational".
fn shares_data(areq: &Areq) -> bool {
    matches!(
        areq.options.preference,
        Some(
            ChallengePreference::NoChallengeRiskAnalysisPerformed
                | ChallengePreference::NoChallengeDataSharingOnly
                | ChallengePreference::NoChallengeStrongConsumerAuth
        )
    )
}

fn challenge_or_not(
    ares: &mut Ares,
    areq: &Areq,
    challenge: Challenge,
    scheme: Scheme,
    drawn: &TransactionSeed,
    places: &SimulatorUrls<'_>,
) -> Option<SimulatedChallenge> {
    let simulated = SimulatedChallenge::new(scheme, challenge, areq);
    ares.challenge_mandated = Some(challenge.mandated);
    if areq.options.decoupled == Some(YesNo::Yes) {
        ares.status = Some(TransactionStatus::DecoupledChallenge);
        ares.challenge_type = Some(ChallengeType::Decoupled);
        ares.decoupled = Some(YesNo::Yes);
        ares.cardholder_info = Text::parse("Your bank will contact you to confirm this payment.");
        return Some(simulated);
    }
    if areq.options.preference == Some(ChallengePreference::NoChallengeDataSharingOnly) {
        ares.challenge_mandated = None;
        settle(ares, areq, scheme, TransactionStatus::Informational, None, drawn);
        return None;
    }
    if areq.channel == Channel::Merchant {
        // There is no cardholder to challenge, and the request does not allow a decoupled
        // challenge.
        ares.challenge_mandated = None;
        let known = areq.version >= ProtocolVersion::V220;
        let reason =
            if known { Reason::DECOUPLED_REQUIRED } else { Reason::CARD_AUTHENTICATION_FAILED };
        settle(ares, areq, scheme, TransactionStatus::Failed, Some(reason), drawn);
        return None;
    }
    ares.status = Some(TransactionStatus::Challenge);
    ares.challenge_type = Some(match challenge.means {
        ChallengeKind::Code => ChallengeType::Static,
        ChallengeKind::OutOfBand => ChallengeType::OutOfBand,
    });
    match areq.channel {
        Channel::App => {
            ares.acs_signed_content = Text::parse(&signed_content(areq, places));
            let template = if challenge.means == ChallengeKind::OutOfBand { "04" } else { "01" };
            ares.acs_rendering_type = Some(AcsRenderingType {
                interface: Text::cut("01"),
                template: Text::cut(template),
            });
        }
        Channel::Browser | Channel::Merchant => {
            ares.acs_url = Text::parse(&places.challenge_url());
        }
    }
    Some(simulated)
}

/// Has the form of the ACS's signed content, but no signature: the simulator has no key that an
/// app's SDK would trust.
fn signed_content(areq: &Areq, places: &SimulatorUrls<'_>) -> String {
    let header = base64::encode_url(br#"{"alg":"none"}"#);
    let key = areq.options.sdk_public_key.as_ref().map_or(Value::Null, |key| key.value().clone());
    let content = serde_json::json!({
        "acsURL": places.challenge_url(),
        "sdkEphemPubKey": key,
    });
    format!("{header}.{}.", base64::encode_url(content.to_string().as_bytes()))
}

/// Sets a final status without a challenge.
fn settle(
    ares: &mut Ares,
    areq: &Areq,
    scheme: Scheme,
    status: TransactionStatus,
    reason: Option<Reason>,
    drawn: &TransactionSeed,
) {
    ares.status = Some(status);
    ares.reason = reason;
    ares.eci = scheme.eci(status, areq.category, areq.channel).and_then(Text::parse);
    ares.authentication_value =
        authentication_value(scheme, status, areq.category, areq.channel, drawn.proof);
}

/// An authentication value in the scheme's format: Mastercard's begins with a `k` and has no
/// padding, the other schemes' encode twenty bytes.
fn authentication_value(
    scheme: Scheme,
    status: TransactionStatus,
    category: Category,
    channel: Channel,
    proof: [u8; 21],
) -> Option<AuthenticationValue> {
    let is_proven = matches!(status, TransactionStatus::Successful | TransactionStatus::Attempted)
        || (status == TransactionStatus::Informational && scheme == Scheme::Visa);
    let is_due = match category {
        Category::Payment => true,
        Category::NonPayment => scheme.eci(status, category, channel).is_some(),
    };
    let text = if scheme == Scheme::Mastercard {
        let mut bytes = proof;
        // These six bits encode to `k`.
        if let Some(first) = bytes.first_mut() {
            *first = 0x90 | (*first & 0x03);
        }
        base64::encode(&bytes)
    } else {
        base64::encode(proof.first_chunk::<20>()?)
    };
    AuthenticationValue::parse(&text).filter(|_| is_proven && is_due)
}

fn blank(areq: &Areq, drawn: &TransactionSeed) -> Ares {
    Ares {
        version: areq.version,
        server_transaction: areq.server_transaction,
        acs_transaction: drawn.acs_transaction,
        ds_transaction: drawn.ds_transaction,
        sdk_transaction: areq.options.sdk_transaction,
        acs_reference: Text::cut(ACS_REFERENCE),
        ds_reference: Text::cut(DS_REFERENCE),
        acs_operator: Text::parse(ACS_OPERATOR),
        status: None,
        reason: None,
        authentication_value: None,
        eci: None,
        challenge_mandated: None,
        challenge_type: None,
        acs_url: None,
        acs_signed_content: None,
        acs_rendering_type: None,
        decoupled: None,
        cardholder_info: None,
        broadcast: None,
        whitelist_status: None,
        whitelist_source: None,
        extensions: None,
    }
}
