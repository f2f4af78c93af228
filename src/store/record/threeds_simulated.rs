//! The state of a challenge at the built-in ACS, in a 3DS session's record.

use serde::{Deserialize, Serialize};

use crate::threeds::codes::{Channel, TransactionStatus};
use crate::threeds::message::{Digits, Numeric};
use crate::threeds::scheme::Scheme;
use crate::threeds::simulator::cards::{ChallengeKind, FinalStatus};
use crate::threeds::simulator::{PurchaseAmount, ShownPurchase, SimulatedChallenge};
use crate::threeds::version::ProtocolVersion::V220;

#[derive(Serialize, Deserialize)]
pub(super) struct SimulatedV1 {
    scheme: String,
    /// The code of the status.
    verdict: String,
    means: MeansV1,
    channel: String,
    wrong_codes: u8,
    /// Absent in records of servers whose pages did not show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    purchase: Option<PurchaseV1>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum MeansV1 {
    Code,
    OutOfBand,
}

#[derive(Serialize, Deserialize)]
struct PurchaseV1 {
    merchant: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    amount: Option<AmountV1>,
    last_four: String,
}

#[derive(Serialize, Deserialize)]
struct AmountV1 {
    units: String,
    currency: String,
    exponent: String,
}

impl SimulatedV1 {
    pub(super) fn of(simulated: &SimulatedChallenge) -> Self {
        Self {
            scheme: String::from(simulated.scheme.as_str()),
            verdict: String::from(simulated.verdict.status().code()),
            means: match simulated.means {
                ChallengeKind::Code => MeansV1::Code,
                ChallengeKind::OutOfBand => MeansV1::OutOfBand,
            },
            channel: String::from(simulated.channel.code()),
            wrong_codes: simulated.wrong_codes,
            purchase: simulated.purchase.as_ref().map(PurchaseV1::of),
        }
    }

    pub(super) fn read(self) -> Option<SimulatedChallenge> {
        Some(SimulatedChallenge {
            scheme: Scheme::parse(&self.scheme)?,
            verdict: FinalStatus::from_status(TransactionStatus::from_code(&self.verdict, V220)?)?,
            means: match self.means {
                MeansV1::Code => ChallengeKind::Code,
                MeansV1::OutOfBand => ChallengeKind::OutOfBand,
            },
            channel: Channel::from_code(&self.channel, V220)?,
            wrong_codes: self.wrong_codes,
            purchase: match self.purchase {
                Some(purchase) => Some(purchase.read()?),
                None => None,
            },
        })
    }
}

impl PurchaseV1 {
    fn of(purchase: &ShownPurchase) -> Self {
        Self {
            merchant: purchase.merchant.clone(),
            amount: purchase.amount.as_ref().map(|amount| AmountV1 {
                units: String::from(amount.units.as_str()),
                currency: String::from(amount.currency.as_str()),
                exponent: String::from(amount.exponent.as_str()),
            }),
            last_four: String::from(purchase.last_four.as_str()),
        }
    }

    fn read(self) -> Option<ShownPurchase> {
        Some(ShownPurchase {
            merchant: self.merchant,
            amount: match self.amount {
                Some(amount) => Some(PurchaseAmount {
                    units: Digits::parse(&amount.units)?,
                    currency: Numeric::parse(&amount.currency)?,
                    exponent: Numeric::parse(&amount.exponent)?,
                }),
                None => None,
            },
            last_four: Numeric::parse(&self.last_four)?,
        })
    }
}
