//! The card of a session, read from a token or an intent while a request is built. It is never
//! stored with the session.

use crate::app::ThreedsSessions;
use crate::app::audit::opened::Opened;
use crate::app::caller::Caller;
use crate::app::error::Error;
use crate::app::tokens::create::no_intent;
use crate::app::tokens::rows;
use crate::crypto::TenantKeys;
use crate::domain::audit::{Act, Entity};
use crate::domain::card::expiry::Expiry;
use crate::domain::data::Data;
use crate::domain::time::Timestamp;
use crate::domain::token_type::TokenType;
use crate::store::{Change, Snapshot, Table, tables};
use crate::threeds::mapping::PaymentCard;
use crate::threeds::message::CardNumber;
use crate::threeds::session::{CardOrigin, CardSource};

const NO_TOKEN: &str = "There is no such token.";
const NO_CARD: &str = "The token does not hold a card.";

/// With the expiry and the entity of the token or intent that holds the card.
#[derive(Debug)]
pub(super) struct HeldCard {
    pub(super) card: PaymentCard,
    pub(super) expires_at: Option<Timestamp>,
    pub(super) entity: Entity,
    pub(super) origin: CardOrigin,
    /// Requires that the token or the intent still exists. Otherwise a session that is created
    /// while its card is erased would stay.
    pub(super) expectation: Change,
}

impl ThreedsSessions<'_> {
    /// The permission to create sessions is enough to use any card of the tenant.
    pub(super) fn card_of_session(
        self,
        snapshot: &Snapshot,
        caller: &Caller,
        source: &CardSource,
        now: Timestamp,
        opened: &Opened<'_>,
    ) -> Result<HeldCard, Error> {
        let (path, id) = match source {
            CardSource::Pan(id) => ("pan", id),
            CardSource::Token(id) => ("token_id", id),
            CardSource::TokenIntent(id) => {
                let found = self.vault.token_intents(caller).find(snapshot, id, now)?;
                let (intent, _) = found.ok_or_else(no_intent)?;
                opened.add_written(Act::Use, intent.id.into());
                let card = card(intent.kind, &intent.data);
                let card = card.ok_or_else(|| {
                    Error::invalid("token_intent_id", "The intent does not hold a card.")
                })?;
                let place = tables::token_intents(caller.tenant.id, intent.id);
                return Ok(HeldCard {
                    origin: CardOrigin {
                        record: intent.id.uuid(),
                        fingerprint: intent.fingerprint,
                        number: hash(&caller.keys, &card),
                    },
                    card,
                    expires_at: Some(intent.expires_at),
                    entity: intent.id.into(),
                    expectation: Change::new().expect_present(Table::TokenIntents, place),
                });
            }
        };
        let found = rows::find(snapshot, &caller.keys, caller.tenant.id, id)?;
        let found = found.filter(|found| found.token.is_live(now));
        let token = found.ok_or_else(|| Error::invalid(path, NO_TOKEN))?.token;
        opened.add_written(Act::Use, Entity::token(&token));
        let card = card(token.kind, &token.data).ok_or_else(|| Error::invalid(path, NO_CARD))?;
        let place = tables::tokens(caller.tenant.id, token.id);
        Ok(HeldCard {
            origin: CardOrigin {
                record: token.id.uuid(),
                fingerprint: token.fingerprint.clone(),
                number: hash(&caller.keys, &card),
            },
            card,
            expires_at: token.expires_at,
            entity: Entity::token(&token),
            expectation: Change::new().expect_present(Table::Tokens, place),
        })
    }
}

/// As in [`CardOrigin::number`]; `None` if the token or intent holds no card.
pub(in crate::app) fn number_hash(
    keys: &TenantKeys,
    kind: TokenType,
    data: &Data,
) -> Option<String> {
    card(kind, data).map(|card| hash(keys, &card))
}

/// The fingerprint key is never rotated, so the hash of a number stays the same.
fn hash(keys: &TenantKeys, card: &PaymentCard) -> String {
    keys.fingerprint().fingerprint("card of a 3ds session", card.number.expose())
}

fn card(kind: TokenType, data: &Data) -> Option<PaymentCard> {
    let value = data.value();
    let value = value.expose();
    match kind {
        TokenType::Card => {
            let expiry = Expiry::of(value);
            Some(PaymentCard {
                number: CardNumber::parse(value.get("number")?.as_str()?)?,
                expiration_month: expiry.month,
                expiration_year: expiry.year,
            })
        }
        TokenType::CardNumber => Some(PaymentCard {
            number: CardNumber::parse(value.as_str()?)?,
            expiration_month: None,
            expiration_year: None,
        }),
        TokenType::Bank
        | TokenType::EmployerIdNumber
        | TokenType::NetworkToken
        | TokenType::SocialSecurityNumber
        | TokenType::Token
        | TokenType::UsBankAccountNumber
        | TokenType::UsBankRoutingNumber => None,
    }
}
