//! 3DS sessions, version 1. Words follow the HTTP interface, codes the 3DS protocol. The record
//! does not contain the card number.

use serde::Serializer;
use serde_json::value::RawValue;

use crate::domain::id::{SessionId, TenantId};
use crate::domain::time::Timestamp;
use crate::store::record::shape::{
    AsStored, Members, Stored, members, plain, record, stored_as, text, texts, words, write_tagged,
};
use crate::threeds::codes::{
    AcsInformation, CancelReason, Category, ChallengePreference, ChallengeType, Channel,
    MethodOutcome, Reason, TransactionStatus, WhitelistSource, WhitelistStatus, YesNo,
};
use crate::threeds::message::Digits;
use crate::threeds::scheme::Scheme;
use crate::threeds::session::{
    AreqSummary, Authentication, CardOrigin, CardSource, Device, DeviceInfo, Enrolment,
    ReturnedExtension, SessionKind, ThreedsSession, WebChallengeMode,
};
use crate::threeds::simulator::cards::{ChallengeKind, FinalStatus};
use crate::threeds::simulator::{PurchaseAmount, ShownPurchase, SimulatedChallenge};
use crate::threeds::state::{MethodState, SessionState};
use crate::threeds::version::{NamedVersion, ProtocolVersion};

record! { encode_session, decode_session(tenant: TenantId, id: SessionId): ThreedsSession {
    kind, device?, device_info, card, card_origin, scheme, additional_brands?, enrolment,
    web_challenge_mode, metadata?, expires_at, kept_until, created_by, created_at, modified_by?,
    modified_at?, state, waits_until?, method_outcome?, sent?, authentication?, simulated?,
} }

members! { DeviceInfo {
    browser_accept_header?, browser_ip?, browser_javascript_enabled?, browser_java_enabled?,
    browser_language?, browser_color_depth?, browser_screen_height?, browser_screen_width?,
    browser_tz?, browser_user_agent?, sdk_transaction_id?, sdk_application_id?,
    sdk_encryption_data?, sdk_ephemeral_public_key?, sdk_max_timeout?, sdk_reference_number?,
    sdk_interface?, sdk_ui_types?,
} }

members! { CardOrigin { record, fingerprint, number } }

members! { Enrolment {
    directory_server, acs_start, acs_end, ds_start, ds_end, method_url?, acs_information,
} }

members! { AreqSummary { version, channel, category, preference?, decoupled, sdk_transaction? } }

members! { Authentication {
    version, acs_transaction, ds_transaction, sdk_transaction?, acs_reference, ds_reference,
    acs_operator?, value?, status, directory_status, reason?, eci?, challenge_mandated?,
    challenge_type?, acs_url?, acs_signed_content?, acs_rendering_type?, decoupled?, preference?,
    attempts?, cancel?, cardholder_info?, whitelist_status?, whitelist_source?, extensions?,
} }

members! { ReturnedExtension { id, name, critical, data } }
members! { SimulatedChallenge { scheme, verdict, means, channel, wrong_codes, purchase? } }
members! { ShownPurchase { merchant, amount?, last_four } }
members! { PurchaseAmount { units, currency, exponent } }

texts! {
    as_str: Device, ProtocolVersion, Scheme, SessionKind, WebChallengeMode;
    to_string: NamedVersion;
}

words! {
    ChallengeKind { Code "code", OutOfBand "out_of_band" }
    MethodState { Absent "absent", Pending "pending", Completed "completed" }
}

/// Codes are read as the newest protocol version defines them.
macro_rules! codes {
    ($($list:ident),+ $(,)?) => {$(
        impl Stored for $list {
            fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(AsRef::<str>::as_ref(&self.code()))
            }

            fn read(json: &RawValue) -> Option<Self> {
                Self::from_code(&text(json)?, ProtocolVersion::V220)
            }
        }
    )+};
}

codes! {
    AcsInformation, CancelReason, Category, ChallengePreference, ChallengeType, Channel,
    MethodOutcome, Reason, TransactionStatus, WhitelistSource, WhitelistStatus, YesNo,
}

stored_as! {
    Digits<MIN, MAX> [const MIN: usize, const MAX: usize]: |it| it.as_str(),
        |text: String| Self::parse(&text);
    // The code of the status.
    FinalStatus: |it| AsStored(&it.status()), Self::from_status;
}

/// An object with one member.
impl Stored for CardSource {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Pan(id) => write_tagged("pan", id, serializer),
            Self::Token(id) => write_tagged("token", id, serializer),
            Self::TokenIntent(id) => write_tagged("token_intent", id, serializer),
        }
    }

    fn read(json: &RawValue) -> Option<Self> {
        match plain::<Members<'_>>(json)?.single()? {
            ("pan", id) => Stored::read(id).map(Self::Pan),
            ("token", id) => Stored::read(id).map(Self::Token),
            ("token_intent", id) => Stored::read(id).map(Self::TokenIntent),
            _ => None,
        }
    }
}

struct Created {
    method: MethodState,
    expires_at: Timestamp,
}

/// The members of the states that wait for the cardholder.
struct Deadline {
    until: Timestamp,
}

members! { Created { method, expires_at } }
members! { Deadline { until } }

/// A word, or an object with one member.
impl Stored for SessionState {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Created { method, expires_at } => {
                write_tagged("created", &Created { method, expires_at }, serializer)
            }
            Self::Requested => serializer.serialize_str("requested"),
            Self::Challenged { until } => {
                write_tagged("challenged", &Deadline { until }, serializer)
            }
            Self::Decoupled { until } => write_tagged("decoupled", &Deadline { until }, serializer),
            Self::Decided => serializer.serialize_str("decided"),
            Self::Failed => serializer.serialize_str("failed"),
        }
    }

    fn read(json: &RawValue) -> Option<Self> {
        if let Some(word) = text(json) {
            return match &*word {
                "requested" => Some(Self::Requested),
                "decided" => Some(Self::Decided),
                "failed" => Some(Self::Failed),
                _ => None,
            };
        }
        match plain::<Members<'_>>(json)?.single()? {
            ("created", json) => {
                let Created { method, expires_at } = Stored::read(json)?;
                Some(Self::Created { method, expires_at })
            }
            ("challenged", json) => {
                Stored::read(json).map(|Deadline { until }| Self::Challenged { until })
            }
            ("decoupled", json) => {
                Stored::read(json).map(|Deadline { until }| Self::Decoupled { until })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;
    use uuid::Uuid;

    use super::*;
    use crate::domain::id::ApplicationId;
    use crate::threeds::simulator::{SimulatorUrls, TransactionSeed, enrol};

    #[expect(clippy::unnecessary_wraps, reason = "every member is optional")]
    fn text(text: &str) -> Option<String> {
        Some(String::from(text))
    }

    fn made() -> ThreedsSession {
        let (scheme, enrolment) =
            enrol("4200000000000004", &SimulatorUrls { base: "https://vault.example" }).unwrap();
        let id = Uuid::from_bytes([7; 16]);
        let expires_at = Timestamp::from_seconds(9);
        ThreedsSession {
            id: SessionId::new(id),
            tenant: TenantId::new(id),
            kind: SessionKind::Customer,
            device: Some(Device::Mobile),
            device_info: DeviceInfo {
                browser_tz: text("-60"),
                browser_java_enabled: Some(false),
                sdk_ephemeral_public_key: Some(serde_json::json!({"kty": "EC"})),
                sdk_ui_types: Some(vec![String::from("01")]),
                ..DeviceInfo::default()
            },
            card: CardSource::Pan(String::from("token")),
            card_origin: CardOrigin {
                record: id,
                fingerprint: String::from("print"),
                number: String::from("hash"),
            },
            scheme,
            additional_brands: vec![String::from("Cartes Bancaires")],
            enrolment,
            web_challenge_mode: WebChallengeMode::Redirect,
            metadata: Some(Map::new()),
            expires_at,
            kept_until: Timestamp::from_seconds(10),
            created_by: ApplicationId::new(id),
            created_at: Timestamp::from_seconds(8),
            modified_by: Some(ApplicationId::new(id)),
            modified_at: Some(expires_at),
            state: SessionState::Created { method: MethodState::Pending, expires_at },
            waits_until: Some(expires_at),
            method_outcome: Some(MethodOutcome::Completed),
            sent: Some(AreqSummary {
                version: ProtocolVersion::V220,
                channel: Channel::App,
                category: Category::NonPayment,
                preference: Some(ChallengePreference::CartesBancaires),
                decoupled: YesNo::Yes,
                sdk_transaction: Some(id),
            }),
            authentication: Some(authentication(id)),
            simulated: simulated(),
        }
    }

    fn authentication(id: Uuid) -> Authentication {
        Authentication {
            version: ProtocolVersion::V220,
            acs_transaction: id,
            ds_transaction: id,
            sdk_transaction: Some(id),
            acs_reference: String::from("ACS"),
            ds_reference: String::from("DS"),
            acs_operator: text("OP"),
            value: text("AAABBZEEBgAAAAAAAAQGAAAAAAA="),
            status: TransactionStatus::Informational,
            directory_status: TransactionStatus::DecoupledChallenge,
            reason: Reason::from_code("84", ProtocolVersion::V220),
            eci: text("05"),
            challenge_mandated: Some(YesNo::No),
            challenge_type: Some(ChallengeType::OutOfBand),
            acs_url: text("https://acs.example"),
            acs_signed_content: text("a.b.c"),
            acs_rendering_type: Some((String::from("01"), String::from("04"))),
            decoupled: Some(YesNo::Yes),
            preference: Some(ChallengePreference::NoChallenge),
            attempts: text("02"),
            cancel: Some(CancelReason::TimedOutAtSdk),
            cardholder_info: text("Call us."),
            whitelist_status: Some(WhitelistStatus::PendingConfirmation),
            whitelist_source: Some(WhitelistSource::Acs),
            extensions: vec![ReturnedExtension {
                id: String::from("A1"),
                name: String::from("n"),
                critical: true,
                data: serde_json::json!("text"),
            }],
        }
    }

    fn simulated() -> Option<SimulatedChallenge> {
        use crate::threeds::message::{Areq, CardNumber, Digits, Numeric, render};
        let number = CardNumber::parse("4200000000000016").unwrap();
        let (version, channel) = (ProtocolVersion::V220, Channel::Browser);
        let mut areq = Areq::sample(version, channel, Category::Payment, Uuid::nil(), number);
        areq.options.amount = Digits::parse("80000");
        areq.options.currency = Numeric::parse("826");
        areq.options.exponent = Numeric::parse("2");
        let drawn = TransactionSeed {
            acs_transaction: Uuid::nil(),
            ds_transaction: Uuid::nil(),
            proof: [0; 21],
        };
        let places = SimulatorUrls { base: "https://vault.example" };
        crate::threeds::simulator::answer(render(&areq).expose(), &drawn, &places).1
    }

    #[test]
    fn what_is_kept_of_a_session_is_all_of_it_in_every_state() {
        let until = Timestamp::from_micros(123_456);
        let created = |method| SessionState::Created { method, expires_at: until };
        for state in [
            created(MethodState::Absent),
            created(MethodState::Pending),
            created(MethodState::Completed),
            SessionState::Requested,
            SessionState::Challenged { until },
            SessionState::Decoupled { until },
            SessionState::Decided,
            SessionState::Failed,
        ] {
            let session = ThreedsSession { state, ..made() };
            assert!(session.simulated.is_some());
            let kept = encode_session(&session).unwrap();
            let again = decode_session(session.tenant, session.id, kept.expose()).unwrap();
            assert_eq!(format!("{again:?}"), format!("{session:?}"));
            assert_eq!(encode_session(&again).unwrap().expose(), kept.expose());
        }
    }

    #[test]
    fn no_bytes_make_decoding_panic() {
        let id = Uuid::nil();
        proptest::proptest!(|(bytes: Vec<u8>)| {
            drop(decode_session(TenantId::new(id), SessionId::new(id), &bytes));
        });
        let whole = encode_session(&made()).unwrap();
        for at in 0..whole.expose().len() {
            let mut bytes = whole.expose().clone();
            bytes[at] = b'x';
            drop(decode_session(TenantId::new(id), SessionId::new(id), &bytes));
        }
    }
}
