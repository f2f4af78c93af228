//! 3DS sessions, version 1. Words are those of the HTTP interface, codes those of the 3DS protocol.
//! The record does not contain the card number.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::bounds::THREEDS_RETENTION;
use crate::domain::id::{ApplicationId, SessionId, TenantId};
use crate::domain::time::Timestamp;
use crate::secret::Secret;
use crate::store::record::encoding::{BadRecord, EncodeFailed, decode, encode, micros};
use crate::store::record::threeds_parts::{AuthenticationV1, DeviceV1, EnrolmentV1, SentV1};
use crate::store::record::threeds_simulated::SimulatedV1;
use crate::threeds::codes::MethodOutcome;
use crate::threeds::scheme::Scheme;
use crate::threeds::session::{
    CardOrigin, CardSource, Device, Session, SessionKind, WebChallengeMode,
};
use crate::threeds::state::{MethodState, SessionState};
use crate::threeds::version::ProtocolVersion;

const VERSION: u8 = 1;

#[derive(Serialize, Deserialize)]
struct SessionV1 {
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    device: Option<String>,
    device_info: DeviceV1,
    card: CardV1,
    /// Absent in records of servers that did not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    card_origin: Option<CardOriginV1>,
    scheme: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    additional_brands: Vec<String>,
    enrolment: EnrolmentV1,
    web_challenge_mode: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metadata: Option<Map<String, Value>>,
    expires_at: i64,
    /// Absent in records of servers that kept every session for 90 days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kept_until: Option<i64>,
    created_by: Uuid,
    created_at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    modified_by: Option<Uuid>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    modified_at: Option<i64>,
    state: StateV1,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    waits_until: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    method_outcome: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sent: Option<SentV1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    authentication: Option<AuthenticationV1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    simulated: Option<SimulatedV1>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CardV1 {
    Pan(String),
    Token(String),
    TokenIntent(String),
}

#[derive(Serialize, Deserialize)]
struct CardOriginV1 {
    record: Uuid,
    fingerprint: String,
    number: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StateV1 {
    Created { method: MethodV1, expires_at: i64 },
    Requested,
    Challenged { until: i64 },
    Decoupled { until: i64 },
    Decided,
    Failed,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum MethodV1 {
    Absent,
    Pending,
    Completed,
}

pub fn encode_session(session: &Session) -> Result<Secret<Vec<u8>>, EncodeFailed> {
    let record = SessionV1 {
        kind: String::from(session.kind.as_str()),
        device: session.device.map(|it| String::from(it.as_str())),
        device_info: DeviceV1::of(&session.device_info),
        card: match &session.card {
            CardSource::Pan(id) => CardV1::Pan(id.clone()),
            CardSource::Token(id) => CardV1::Token(id.clone()),
            CardSource::TokenIntent(id) => CardV1::TokenIntent(id.clone()),
        },
        card_origin: session.card_origin.as_ref().map(|it| CardOriginV1 {
            record: it.record,
            fingerprint: it.fingerprint.clone(),
            number: it.number.clone(),
        }),
        scheme: String::from(session.scheme.as_str()),
        additional_brands: session.additional_brands.clone(),
        enrolment: EnrolmentV1::of(&session.enrolment),
        web_challenge_mode: String::from(session.web_challenge_mode.as_str()),
        metadata: session.metadata.clone(),
        expires_at: micros(session.expires_at),
        kept_until: Some(micros(session.kept_until)),
        created_by: session.created_by.uuid(),
        created_at: micros(session.created_at),
        modified_by: session.modified_by.map(ApplicationId::uuid),
        modified_at: session.modified_at.map(micros),
        state: state(session.state),
        waits_until: session.waits_until.map(micros),
        method_outcome: session.method_outcome.map(|it| String::from(it.code())),
        sent: session.sent.as_ref().map(SentV1::of),
        authentication: session.authentication.as_ref().map(AuthenticationV1::of),
        simulated: session.simulated.as_ref().map(SimulatedV1::of),
    };
    encode(VERSION, &record)
}

/// The tenant and the id come from the record's key, which the seal authenticates.
pub fn decode_session(tenant: TenantId, id: SessionId, bytes: &[u8]) -> Result<Session, BadRecord> {
    let record: SessionV1 = decode(VERSION, bytes)?;
    session(tenant, id, record).ok_or(BadRecord)
}

fn session(tenant: TenantId, id: SessionId, record: SessionV1) -> Option<Session> {
    let created_at = Timestamp::from_micros(record.created_at);
    let kept_until = record.kept_until.map(Timestamp::from_micros);
    Some(Session {
        id,
        tenant,
        kind: SessionKind::parse(&record.kind)?,
        device: read(record.device.as_deref(), Device::parse).ok()?,
        device_info: record.device_info.read(),
        card: match record.card {
            CardV1::Pan(id) => CardSource::Pan(id),
            CardV1::Token(id) => CardSource::Token(id),
            CardV1::TokenIntent(id) => CardSource::TokenIntent(id),
        },
        card_origin: record.card_origin.map(|it| CardOrigin {
            record: it.record,
            fingerprint: it.fingerprint,
            number: it.number,
        }),
        scheme: Scheme::parse(&record.scheme)?,
        additional_brands: record.additional_brands,
        enrolment: record.enrolment.read()?,
        web_challenge_mode: WebChallengeMode::parse(&record.web_challenge_mode)?,
        metadata: record.metadata,
        expires_at: Timestamp::from_micros(record.expires_at),
        kept_until: kept_until.unwrap_or(created_at.plus(THREEDS_RETENTION)),
        created_by: ApplicationId::new(record.created_by),
        created_at,
        modified_by: record.modified_by.map(ApplicationId::new),
        modified_at: record.modified_at.map(Timestamp::from_micros),
        state: read_state(&record.state),
        waits_until: record.waits_until.map(Timestamp::from_micros),
        method_outcome: read(record.method_outcome.as_deref(), |code| {
            MethodOutcome::from_code(code, ProtocolVersion::V220)
        })
        .ok()?,
        sent: match record.sent {
            Some(sent) => Some(sent.read()?),
            None => None,
        },
        authentication: match record.authentication {
            Some(authentication) => Some(authentication.read()?),
            None => None,
        },
        simulated: match record.simulated {
            Some(simulated) => Some(simulated.read()?),
            None => None,
        },
    })
}

/// Parses an optional text. Fails if the text is present and does not parse.
pub(super) fn read<T>(
    text: Option<&str>,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, BadRecord> {
    text.map(|text| parse(text).ok_or(BadRecord)).transpose()
}

const fn state(state: SessionState) -> StateV1 {
    match state {
        SessionState::Created { method, expires_at } => StateV1::Created {
            method: match method {
                MethodState::Absent => MethodV1::Absent,
                MethodState::Pending => MethodV1::Pending,
                MethodState::Completed => MethodV1::Completed,
            },
            expires_at: micros(expires_at),
        },
        SessionState::Requested => StateV1::Requested,
        SessionState::Challenged { until } => StateV1::Challenged { until: micros(until) },
        SessionState::Decoupled { until } => StateV1::Decoupled { until: micros(until) },
        SessionState::Decided => StateV1::Decided,
        SessionState::Failed => StateV1::Failed,
    }
}

const fn read_state(state: &StateV1) -> SessionState {
    match state {
        StateV1::Created { method, expires_at } => SessionState::Created {
            method: match method {
                MethodV1::Absent => MethodState::Absent,
                MethodV1::Pending => MethodState::Pending,
                MethodV1::Completed => MethodState::Completed,
            },
            expires_at: Timestamp::from_micros(*expires_at),
        },
        StateV1::Requested => SessionState::Requested,
        StateV1::Challenged { until } => {
            SessionState::Challenged { until: Timestamp::from_micros(*until) }
        }
        StateV1::Decoupled { until } => {
            SessionState::Decoupled { until: Timestamp::from_micros(*until) }
        }
        StateV1::Decided => SessionState::Decided,
        StateV1::Failed => SessionState::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threeds::codes::{
        CancelReason, Category, ChallengePreference, ChallengeType, Channel, Reason,
        TransactionStatus, WhitelistSource, WhitelistStatus, YesNo,
    };
    use crate::threeds::session::{AreqSummary, Authentication, DeviceInfo, ReturnedExtension};
    use crate::threeds::simulator::{SimulatorUrls, TransactionSeed, enrol};

    #[expect(clippy::unnecessary_wraps, reason = "every member is optional")]
    fn text(text: &str) -> Option<String> {
        Some(String::from(text))
    }

    fn made() -> Session {
        let (scheme, enrolment) =
            enrol("4200000000000004", &SimulatorUrls { base: "https://vault.example" }).unwrap();
        let id = Uuid::from_bytes([7; 16]);
        let expires_at = Timestamp::from_seconds(9);
        Session {
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
            card_origin: Some(CardOrigin {
                record: id,
                fingerprint: String::from("print"),
                number: String::from("hash"),
            }),
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

    fn simulated() -> Option<crate::threeds::simulator::SimulatedChallenge> {
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
            let session = Session { state, ..made() };
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
