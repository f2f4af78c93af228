//! The documented test cards and their scenarios. A card that is not listed is authenticated
//! without a challenge.

use crate::threeds::codes::{Reason, TransactionStatus, YesNo};
use crate::threeds::scheme::Scheme::{
    self, AmericanExpress, DinersClub, Discover, Jcb, Mastercard, Visa,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimulatorCard {
    pub number: &'static str,
    pub scheme: Scheme,
    pub outcome: Scenario,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scenario {
    Challenge(Challenge),
    /// The session is created; its authentication fails at the directory server.
    DirectoryServerError,
    Frictionless(FinalStatus),
    /// The card belongs to no scheme.
    NotEnrolled,
    /// The session cannot be created.
    ServerError,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Challenge {
    pub verdict: FinalStatus,
    pub means: ChallengeKind,
    pub mandated: YesNo,
    pub method: MethodSupport,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChallengeKind {
    Code,
    OutOfBand,
}

/// The ACS's use of browser fingerprinting (the "3DS Method") for a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MethodSupport {
    Absent,
    Present,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinalStatus {
    Attempted,
    Failed,
    Rejected,
    Successful,
    Unavailable,
}

impl FinalStatus {
    pub const ALL: [Self; 5] =
        [Self::Attempted, Self::Failed, Self::Rejected, Self::Successful, Self::Unavailable];

    pub const fn status(self) -> TransactionStatus {
        match self {
            Self::Attempted => TransactionStatus::Attempted,
            Self::Failed => TransactionStatus::Failed,
            Self::Rejected => TransactionStatus::Rejected,
            Self::Successful => TransactionStatus::Successful,
            Self::Unavailable => TransactionStatus::Unavailable,
        }
    }

    pub const fn reason(self) -> Option<Reason> {
        match self {
            Self::Attempted | Self::Successful => None,
            Self::Failed => Some(Reason::CARD_AUTHENTICATION_FAILED),
            Self::Rejected => Some(Reason::SUSPECTED_FRAUD),
            Self::Unavailable => Some(Reason::CARDHOLDER_NOT_ENROLLED),
        }
    }

    pub fn from_status(status: TransactionStatus) -> Option<Self> {
        Self::ALL.into_iter().find(|verdict| verdict.status() == status)
    }
}

pub fn find(number: &str) -> Option<&'static SimulatorCard> {
    CARDS.iter().find(|card| card.number == number)
}

const fn card(number: &'static str, scheme: Scheme, outcome: Scenario) -> SimulatorCard {
    SimulatorCard { number, scheme, outcome }
}

/// A challenge by a code, in a browser that the ACS fingerprints.
const BY_CODE: Challenge = Challenge {
    verdict: FinalStatus::Successful,
    means: ChallengeKind::Code,
    mandated: YesNo::No,
    method: MethodSupport::Present,
};

const fn challenge(verdict: FinalStatus) -> Scenario {
    Scenario::Challenge(Challenge { verdict, ..BY_CODE })
}

const fn out_of_band(verdict: FinalStatus) -> Scenario {
    Scenario::Challenge(Challenge { verdict, means: ChallengeKind::OutOfBand, ..BY_CODE })
}

const SUCCESS: Scenario = Scenario::Frictionless(FinalStatus::Successful);
const ATTEMPT: Scenario = Scenario::Frictionless(FinalStatus::Attempted);
const FAILURE: Scenario = Scenario::Frictionless(FinalStatus::Failed);
const UNAVAILABLE: Scenario = Scenario::Frictionless(FinalStatus::Unavailable);
const REJECTION: Scenario = Scenario::Frictionless(FinalStatus::Rejected);
const CHALLENGE: Scenario = challenge(FinalStatus::Successful);
const NO_METHOD: Scenario =
    Scenario::Challenge(Challenge { method: MethodSupport::Absent, ..BY_CODE });
const MANDATED: Scenario = Scenario::Challenge(Challenge { mandated: YesNo::Yes, ..BY_CODE });

pub const CARDS: &[SimulatorCard] = &[
    card("4200000000000002", Visa, SUCCESS),
    card("5204247750001471", Mastercard, SUCCESS),
    card("6011601160116011", Discover, SUCCESS),
    card("340000000004001", AmericanExpress, SUCCESS),
    card("5555555555554444", Mastercard, SUCCESS),
    card("4200000000000003", Visa, ATTEMPT),
    card("4111111111111111", Visa, ATTEMPT),
    card("5424180011113336", Mastercard, ATTEMPT),
    card("5454545454545454", Mastercard, ATTEMPT),
    card("4200000000000005", Visa, FAILURE),
    card("4264281511112228", Visa, FAILURE),
    card("5424180000000171", Mastercard, FAILURE),
    card("4462030000000000", Visa, FAILURE),
    card("4200000000000006", Visa, UNAVAILABLE),
    card("5405001111111165", Mastercard, UNAVAILABLE),
    card("36148900647913", DinersClub, UNAVAILABLE),
    card("4200000000000007", Visa, REJECTION),
    card("5405001111111116", Mastercard, REJECTION),
    card("6759649826438453", Mastercard, REJECTION),
    card("4200000000000004", Visa, CHALLENGE),
    card("4000020000000000", Visa, CHALLENGE),
    card("370000000000002", AmericanExpress, CHALLENGE),
    card("3566002020360505", Jcb, CHALLENGE),
    card("3566006663297692", Jcb, CHALLENGE),
    card("4150580996517927", Visa, CHALLENGE),
    card("4917610000000000", Visa, CHALLENGE),
    card("4200000000000014", Visa, NO_METHOD),
    card("4005562231212123", Visa, NO_METHOD),
    card("4200000000000015", Visa, MANDATED),
    card("4761369980320253", Visa, MANDATED),
    card("5200000000001104", Mastercard, MANDATED),
    card("4200000000000016", Visa, out_of_band(FinalStatus::Successful)),
    card("4000000000000341", Visa, out_of_band(FinalStatus::Successful)),
    card("4200000000000008", Visa, challenge(FinalStatus::Attempted)),
    card("4005571701111111", Visa, challenge(FinalStatus::Attempted)),
    card("3528000700000000", Jcb, challenge(FinalStatus::Attempted)),
    card("4200000000000009", Visa, challenge(FinalStatus::Failed)),
    card("4055011111111111", Visa, challenge(FinalStatus::Failed)),
    card("5427660064241339", Mastercard, challenge(FinalStatus::Failed)),
    card("36700102000000", DinersClub, challenge(FinalStatus::Failed)),
    card("4200000000000017", Visa, out_of_band(FinalStatus::Failed)),
    card("6011361011110004", Discover, out_of_band(FinalStatus::Failed)),
    card("4200000000000010", Visa, challenge(FinalStatus::Unavailable)),
    card("6011361000008888", Discover, challenge(FinalStatus::Unavailable)),
    card("6011000400000000", Discover, challenge(FinalStatus::Unavailable)),
    card("4200000000000011", Visa, challenge(FinalStatus::Rejected)),
    card("6011361000001115", Discover, challenge(FinalStatus::Rejected)),
    card("4444333322221111", Visa, challenge(FinalStatus::Rejected)),
    card("4200000000000012", Visa, Scenario::DirectoryServerError),
    card("4264281500003339", Visa, Scenario::DirectoryServerError),
    card("5424180011110001", Mastercard, Scenario::DirectoryServerError),
    card("122000000000003", Discover, Scenario::DirectoryServerError),
    card("4200000000000013", Visa, Scenario::ServerError),
    card("4264281500001119", Visa, Scenario::ServerError),
    card("5019717010103742", Visa, Scenario::ServerError),
    card("4100000000000003", Visa, Scenario::NotEnrolled),
];
