//! The encodings of records: vectors and round trips.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::domain::access::{Access, AccessRule, Transform};
use crate::domain::answer_seed::AnswerSeed;
use crate::domain::application::{ApiKey, Application, ApplicationKind, KeyForm};
use crate::domain::audit::AuditEntry;
use crate::domain::container::Container;
use crate::domain::data::Data;
use crate::domain::hex;
use crate::domain::id::{ApplicationId, KeyId, SessionId, TenantId, TokenId, WebhookId};
use crate::domain::permission::Permission;
use crate::domain::quota::Quotas;
use crate::domain::tenant::{Tenant, TenantKind, Threeds};
use crate::domain::time::Timestamp;
use crate::domain::token::{Token, TokenName};
use crate::domain::token_type::TokenType;
use crate::domain::web_origin::{AllowedOrigins, WebOrigin};
use crate::domain::webhook::Webhook;
use crate::store::record::{
    BadRecord, EventRecord, KeyRecord, decode_api_key, decode_application, decode_audit,
    decode_event, decode_known_ranges, decode_ranges, decode_session, decode_tenant, decode_token,
    decode_webhook, encode_api_key, encode_application, encode_audit, encode_event,
    encode_known_ranges, encode_ranges, encode_session, encode_tenant, encode_token,
    encode_webhook,
};
use crate::threeds::codes::{MethodOutcome, Reason};
use crate::threeds::ranges::AccountRange;
use crate::threeds::session::{Device, ThreedsSession};
use crate::threeds::simulator::ShownPurchase;
use crate::threeds::state::{MethodState, SessionState};
use crate::threeds::version::NamedVersion;

const ID: Uuid = Uuid::from_u128(0x018b_cfe5_6800_4fff_bfff_ffff_ffff_ffff);
const TENANT: Uuid = Uuid::from_u128(0x018b_cfe5_6800_4000_8000_0000_0000_0001);

/// The plain bytes as text, and their meaning.
struct Vector {
    encoded: String,
    decoded: Value,
}

fn vectors(file: &str) -> Vec<Vector> {
    let vectors: Vec<Value> = serde_json::from_str(file).unwrap();
    assert!(!vectors.is_empty());
    let vector = |vector: Value| Vector {
        encoded: String::from(vector["encoded"].as_str().unwrap()),
        decoded: vector["decoded"].clone(),
    };
    vectors.into_iter().map(vector).collect()
}

/// The file's bytes decode to the listed values, and encode to the same bytes.
#[track_caller]
pub(super) fn check_vectors<T>(
    file: &str,
    decode: impl Fn(&[u8]) -> Result<T, BadRecord>,
    tell: impl Fn(&T) -> Value,
    encode: impl Fn(&T) -> Vec<u8>,
) {
    for Vector { encoded, decoded } in vectors(file) {
        let found = decode(encoded.as_bytes()).map_err(|BadRecord| encoded.clone()).unwrap();
        assert_eq!(tell(&found), decoded);
        assert_eq!(String::from_utf8(encode(&found)).unwrap(), encoded);
        // Neither another version nor a part of the record decodes.
        assert!(decode(&[&[2], &encoded.as_bytes()[1..]].concat()).is_err());
        assert!(decode(&encoded.as_bytes()[..encoded.len() - 1]).is_err());
    }
}

#[test]
fn tokens_of_version_1_are_read_and_written_as_ever() {
    let decode = |bytes: &[u8]| decode_token(TenantId::new(TENANT), TokenId::new(ID), bytes);
    for Vector { encoded, decoded } in vectors(include_str!("../../../tests/vectors/token-v1.json"))
    {
        let bytes = hex::decode_all(&encoded).unwrap();
        let token = decode(&bytes).unwrap();
        assert_eq!(tell_token(&token), decoded);
        assert_eq!(hex::encode(encode_token(&token).unwrap().expose()), encoded);
        for wrong in [&bytes[..bytes.len() - 1], &[&bytes[..], &[0]].concat()] {
            assert_eq!(decode(wrong).unwrap_err(), BadRecord);
        }
        assert_eq!(decode(&[&[2], &bytes[1..]].concat()).unwrap_err(), BadRecord);
    }
}

#[test]
fn records_of_version_1_are_read_and_written_as_ever() {
    check_vectors(
        include_str!("../../../tests/vectors/tenant-v1.json"),
        |bytes| decode_tenant(TenantId::new(TENANT), bytes),
        tell_tenant,
        |tenant| encode_tenant(tenant).unwrap().expose().clone(),
    );
    check_vectors(
        include_str!("../../../tests/vectors/application-v1.json"),
        |bytes| decode_application(TenantId::new(TENANT), ApplicationId::new(ID), bytes),
        tell_application,
        |application| encode_application(application).unwrap().expose().clone(),
    );
    check_vectors(
        include_str!("../../../tests/vectors/api-key-v1.json"),
        decode_api_key,
        tell_api_key,
        |record| encode_api_key(record).unwrap().expose().clone(),
    );
    check_vectors(
        include_str!("../../../tests/vectors/webhook-v1.json"),
        |bytes| decode_webhook(TenantId::new(TENANT), WebhookId::new(ID), bytes),
        tell_webhook,
        |webhook| encode_webhook(webhook).unwrap().expose().clone(),
    );
    check_vectors(
        include_str!("../../../tests/vectors/threeds-session-v1.json"),
        |bytes| decode_session(TenantId::new(TENANT), SessionId::new(ID), bytes),
        tell_session,
        |session| encode_session(session).unwrap().expose().clone(),
    );
}

#[test]
fn an_application_with_a_wrong_origin_is_no_record() {
    let file = include_str!("../../../tests/vectors/application-v1.json");
    let with_origin = |it: &Vector| it.encoded.contains("https://shop.example");
    let Vector { encoded, .. } = vectors(file).into_iter().find(with_origin).unwrap();
    for wrong in ["https://Shop.example", "http://shop.example", ""] {
        let wrong = encoded.replace("https://shop.example", wrong);
        let (tenant, id) = (TenantId::new(TENANT), ApplicationId::new(ID));
        assert!(decode_application(tenant, id, wrong.as_bytes()).is_err());
    }
}

#[test]
fn audit_rows_of_version_1_are_read_and_written_as_ever() {
    for Vector { encoded, decoded } in vectors(include_str!("../../../tests/vectors/audit-v1.json"))
    {
        let bytes = hex::decode_all(&encoded).unwrap();
        let entries = decode_audit(&bytes).unwrap();
        assert_eq!(Value::from(entries.iter().map(tell_entry).collect::<Vec<_>>()), decoded);
        assert_eq!(hex::encode(&encode_audit(&entries).unwrap()), encoded);
        assert_eq!(decode_audit(&bytes[..bytes.len() - 1]), Err(BadRecord));
        assert_eq!(decode_audit(&[&[2], &bytes[1..]].concat()), Err(BadRecord));
    }
}

fn tell_entry(entry: &AuditEntry) -> Value {
    let mut told = json!({
        "at": entry.at.micros(),
        "actor": entry.actor.kind(),
        "application": entry.actor.id().map(|id| id.to_string()),
        "act": entry.act.as_str(),
        "kind": entry.entity.kind.as_str(),
        "id": entry.entity.id.to_string(),
        "name": entry.entity.name,
    });
    told["origin"] = entry.origin.as_deref().map_or(Value::Null, |origin| {
        let user = origin.user.as_ref();
        json!({
            "address": origin.address.map(|it| it.to_string()),
            "key": origin.key().map(|it| it.to_string()),
            "trace": origin.trace.as_ref().map(ToString::to_string),
            "uid": user.map(|user| user.uid),
            "user": user.and_then(|user| user.name.as_deref()),
        })
    });
    if let Some(refusals) = &entry.refusals {
        told["refusals"] = json!({
            "reason": refusals.reason.as_str(),
            "count": refusals.count,
            "first_at": refusals.first_at.micros(),
            "last_at": refusals.last_at.micros(),
        });
    }
    told
}

fn tell_webhook(webhook: &Webhook) -> Value {
    let mut told = json!({
        "status": webhook.status.as_str(),
        "name": webhook.name,
        "url": webhook.url,
        "events": webhook.events.iter().map(|kind| kind.as_str()).collect::<Vec<_>>(),
        "created_by": webhook.created_by.to_string(),
        "created_at": webhook.created_at.micros(),
    });
    if let Some(email) = &webhook.notify_email {
        told["notify_email"] = json!(email);
    }
    if let (Some(by), Some(at)) = (webhook.modified_by, webhook.modified_at) {
        told["modified_by"] = json!(by.to_string());
        told["modified_at"] = json!(at.micros());
    }
    if let Some(failing) = webhook.failing {
        told["failing"] = json!({"at": failing.at.micros(), "reason": failing.reason.name()});
        if let Some(status) = failing.reason.status() {
            told["failing"]["status"] = json!(status);
        }
    }
    told
}

#[test]
fn events_of_version_1_are_read_and_written_as_ever() {
    let tell = |event: &EventRecord| {
        let data: Value = serde_json::from_str(&event.data).unwrap();
        let mut told = json!({"type": event.kind.as_str(), "at": event.at.micros(), "data": data});
        if let Some(trace) = &event.trace {
            told["trace"] = json!(trace);
        }
        told
    };
    check_vectors(
        include_str!("../../../tests/vectors/webhook-event-v1.json"),
        decode_event,
        tell,
        |event| encode_event(event).unwrap().expose().clone(),
    );
}

fn tell_session(session: &ThreedsSession) -> Value {
    let authentication = session.authentication.as_ref();
    json!({
        "id": session.id.to_string(),
        "tenant": session.tenant.to_string(),
        "kind": session.kind.as_str(),
        "device": session.device.map(Device::as_str),
        "browser_ip": session.device_info.browser_ip,
        "card_origin": [
            session.card_origin.record.to_string(),
            session.card_origin.fingerprint.clone(),
            session.card_origin.number.clone(),
        ],
        "scheme": session.scheme.as_str(),
        "directory_server": session.enrolment.directory_server,
        "method_url": session.enrolment.method_url,
        "available": session.enrolment.available().iter().map(|it| it.as_str()).collect::<Vec<_>>(),
        "metadata": session.metadata,
        "expires_at": session.expires_at.micros(),
        "kept_until": session.kept_until.micros(),
        "created_at": session.created_at.micros(),
        "waits_until": session.waits_until.map(Timestamp::micros),
        "state": tell_state(session.state),
        "method_outcome": session.method_outcome.map(MethodOutcome::code),
        "sent_version": session.sent.map(|it| it.version.as_str()),
        "status": authentication.map(|it| it.status.code()),
        "directory_status": authentication.map(|it| it.directory_status.code()),
        "reason": authentication.and_then(|it| it.reason).map(Reason::code),
        "value": authentication.and_then(|it| it.value.clone()),
        "wrong_codes": session.simulated.as_ref().map(|it| it.wrong_codes),
        "purchase": session.simulated.as_ref().and_then(|it| it.purchase.as_ref()).map(tell_purchase),
    })
}

fn tell_purchase(purchase: &ShownPurchase) -> Value {
    let amount = purchase.amount.as_ref();
    json!([
        purchase.merchant,
        amount.map(|it| [it.units.as_str(), it.currency.as_str(), it.exponent.as_str()]),
        purchase.last_four.as_str(),
    ])
}

fn tell_state(state: SessionState) -> Value {
    match state {
        SessionState::Created { method: MethodState::Absent, expires_at } => {
            json!(["created, no method", expires_at.micros()])
        }
        SessionState::Challenged { until } => json!(["challenged", until.micros()]),
        SessionState::Decided => json!(["decided", null]),
        SessionState::Created { .. }
        | SessionState::Requested
        | SessionState::Decoupled { .. }
        | SessionState::Failed => {
            panic!("{state:?} is in no file")
        }
    }
}

#[test]
fn card_ranges_of_version_1_are_read_and_written_as_ever() {
    let versions = |it: Option<NamedVersion>| it.map(|it| it.to_string());
    check_vectors(
        include_str!("../../../tests/vectors/threeds-ranges-v1.json"),
        decode_ranges,
        |ranges| {
            let tell = |it: &AccountRange| {
                let information: Vec<_> = it.acs_information.iter().map(|it| it.code()).collect();
                json!([
                    it.start,
                    it.end,
                    it.acs_start.to_string(),
                    it.acs_end.to_string(),
                    versions(it.ds_start),
                    versions(it.ds_end),
                    it.method_url.as_deref(),
                    information,
                ])
            };
            ranges.iter().map(tell).collect()
        },
        |ranges| encode_ranges(ranges).unwrap().expose().clone(),
    );
    check_vectors(
        include_str!("../../../tests/vectors/threeds-known-ranges-v1.json"),
        |bytes| decode_known_ranges(bytes)?.with(Vec::new()),
        |known| {
            let table = known.table.as_ref().map(|table| {
                json!([table.serial, table.ds_start.to_string(), table.ds_end.to_string()])
            });
            json!([known.version.as_str(), known.due_at.micros(), table])
        },
        |known| encode_known_ranges(known, 0).unwrap().expose().clone(),
    );
}

fn tell_token(token: &Token) -> Value {
    json!({
        "id": token.id.to_string(),
        "public_id": token.public_id(),
        "predefined_id": token.name.as_ref().map(TokenName::as_str),
        "tenant": token.tenant.to_string(),
        "type": token.kind.as_str(),
        "data": token.data.json(),
        "mask": token.mask,
        "containers": token.containers.iter().map(Container::as_str).collect::<Vec<_>>(),
        "metadata": token.metadata.to_value(),
        "search_indexes": token.search_indexes,
        "search_terms": token.search_terms,
        "fingerprint_expression": token.fingerprint_expression,
        "fingerprint": token.fingerprint,
        "expires_at": token.expires_at.map(Timestamp::micros),
        "created_by": token.created_by.to_string(),
        "created_at": token.created_at.micros(),
        "modified_by": token.modified_by.map(|id| id.to_string()),
        "modified_at": token.modified_at.map(Timestamp::micros),
        "answer_seed": hex::encode(token.answer_seed.expose()),
    })
}

fn tell_tenant(tenant: &Tenant) -> Value {
    let mut quotas = BTreeMap::from(tenant.quotas.texts());
    // The oldest vectors lack this member.
    if tenant.quotas.token_limit.is_none() {
        quotas.remove("token_limit");
    }
    json!({
        "id": tenant.id.to_string(),
        "name": tenant.name,
        "type": tenant.kind.as_str(),
        "threeds": tenant.threeds == Threeds::Enabled,
        "settings": tenant.settings,
        "quotas": quotas,
        "created_at": tenant.created_at.micros(),
        "modified_by": tenant.modified_by.map(|id| id.to_string()),
        "modified_at": tenant.modified_at.map(Timestamp::micros),
    })
}

fn tell_application(application: &Application) -> Value {
    let texts = |permissions: &[Permission]| {
        permissions.iter().map(|permission| permission.as_str()).collect::<Vec<_>>()
    };
    let rule = |rule: &AccessRule| {
        json!({
            "description": rule.description,
            "priority": rule.priority,
            "container": rule.container.as_str(),
            "transform": rule.transform.as_str(),
            "permissions": texts(&rule.permissions),
        })
    };
    let mut described = json!({
        "id": application.id.to_string(),
        "tenant": application.tenant.to_string(),
        "name": application.name,
        "type": application.kind.as_str(),
        "permissions": texts(application.access.permissions()),
        "rules": application.access.rules().iter().map(rule).collect::<Vec<_>>(),
        "created_by": application.created_by.map(|id| id.to_string()),
        "created_at": application.created_at.micros(),
        "modified_by": application.modified_by.map(|id| id.to_string()),
        "modified_at": application.modified_at.map(Timestamp::micros),
    });
    if !application.allowed_origins.is_empty() {
        described["allowed_origins"] =
            json!(application.allowed_origins.texts().collect::<Vec<_>>());
    }
    described
}

fn tell_api_key(record: &KeyRecord) -> Value {
    json!({
        "id": record.key.id.to_string(),
        "tenant": record.key.tenant.to_string(),
        "application": record.key.application.to_string(),
        "legacy": record.key.form == KeyForm::Legacy,
        "created_by": record.key.created_by.map(|id| id.to_string()),
        "created_at": record.key.created_at.micros(),
        "tag": hex::encode(&record.tag),
        "answer_seed": hex::encode(record.answer_seed.expose()),
    })
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            btree_map(any::<String>(), inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn container() -> impl Strategy<Value = Container> {
    "/([A-Za-z0-9_-]{1,9}/){0,4}".prop_map(|path| Container::parse(&path).unwrap())
}

fn time() -> impl Strategy<Value = Timestamp> {
    any::<i64>().prop_map(Timestamp::from_micros)
}

fn application_id() -> impl Strategy<Value = ApplicationId> {
    any::<u128>().prop_map(|id| ApplicationId::new(Uuid::from_u128(id)))
}

fn permissions() -> impl Strategy<Value = Vec<Permission>> {
    vec(prop::sample::select(Permission::ALL.to_vec()), 0..6)
}

prop_compose! {
    /// Creator and last modifier, with their times.
    fn history()(
        created_by in application_id(),
        created_at in time(),
        modified_by in of(application_id()),
        modified_at in of(time()),
    ) -> (ApplicationId, Timestamp, Option<ApplicationId>, Option<Timestamp>) {
        (created_by, created_at, modified_by, modified_at)
    }
}

prop_compose! {
    fn token()(
        name in of("[^#/\\\\+?\\[\\]|&=%<>{}^\\pC]{3,40}"),
        kind in prop::sample::select(TokenType::ALL.to_vec()),
        data in json_value(),
        mask in of(json_value().prop_filter("no mask", |mask| !mask.is_null())),
        containers in vec(container(), 1..4),
        metadata in btree_map(any::<String>(), any::<String>(), 0..5),
        search in (of(vec(any::<String>(), 0..4)), vec(any::<String>(), 0..4)),
        fingerprint in (of(any::<String>()), any::<String>()),
        expires_at in of(time()),
        history in history(),
        (seed, created_under) in any::<([u8; 16], Option<[u8; 16]>)>(),
    ) -> Token {
        Token {
            id: TokenId::new(ID),
            name: name.map(|name| TokenName::parse(&name).unwrap()),
            tenant: TenantId::new(TENANT),
            kind,
            data: Data::from_value(&data),
            cvc: None,
            cvc_expires_at: None,
            mask: mask.map(|mask| mask.to_string()),
            containers: containers.into(),
            metadata: metadata.iter().collect(),
            search_indexes: search.0,
            search_terms: search.1,
            fingerprint_expression: fingerprint.0,
            fingerprint: fingerprint.1,
            expires_at,
            created_by: history.0,
            created_at: history.1,
            modified_by: history.2,
            modified_at: history.3,
            answer_seed: AnswerSeed::new(seed),
            created_under,
        }
    }
}

prop_compose! {
    fn application()(
        name: String,
        kind in prop::sample::select(
            vec![ApplicationKind::Management, ApplicationKind::Private, ApplicationKind::Public],
        ),
        plain in permissions(),
        rules in vec((of(any::<String>()), any::<u32>(), container(), 0_usize..3, permissions()), 0..4),
        history in history(),
        made_by_operator: bool,
        hosts in vec("[a-z]{1,8}", 0..4),
    ) -> Application {
        let transforms = [Transform::Redact, Transform::Mask, Transform::Reveal];
        let origin = |host: &String| WebOrigin::parse(&format!("https://{host}.example")).unwrap();
        let rule = |(description, priority, container, transform, permissions)| AccessRule {
            description, priority, container, conditions: Vec::new(),
            transform: transforms[transform], permissions,
        };
        Application {
            id: ApplicationId::new(ID),
            tenant: TenantId::new(TENANT),
            name,
            kind,
            access: Access::new(plain, rules.into_iter().map(rule).collect()),
            allowed_origins: AllowedOrigins::new(hosts.iter().map(origin).collect()).unwrap(),
            created_by: Some(history.0).filter(|_| !made_by_operator),
            created_at: history.1,
            modified_by: history.2,
            modified_at: history.3,
        }
    }
}

prop_compose! {
    fn tenant()(
        name: String,
        kind in prop::sample::select(vec![TenantKind::Production, TenantKind::Test]),
        threeds in prop::sample::select(vec![Threeds::Disabled, Threeds::Enabled]),
        settings in btree_map(any::<String>(), any::<String>(), 0..5),
        limit in 0_u32..1_000,
        rate in prop::sample::select(vec!["default", "unlimited", "1x", "1000x"]),
        tokens in prop::sample::select(vec!["unlimited", "0", "5000"]),
        history in history(),
    ) -> Tenant {
        let mut quotas = Quotas::default();
        quotas.set("tokenize_limit", &limit.to_string()).unwrap();
        quotas.set("cvc_retention", &(limit + 1).to_string()).unwrap();
        quotas.set("rate_limit", rate).unwrap();
        quotas.set("token_limit", tokens).unwrap();
        Tenant {
            id: TenantId::new(TENANT),
            name,
            kind,
            threeds,
            settings,
            quotas,
            created_at: history.1,
            modified_by: history.2,
            modified_at: history.3,
        }
    }
}

proptest! {
    #[test]
    fn a_token_comes_back_as_it_was(token in token()) {
        let bytes = encode_token(&token).unwrap();
        let again = decode_token(token.tenant, token.id, bytes.expose()).unwrap();
        prop_assert_eq!(tell_token(&again), tell_token(&token));
    }

    #[test]
    fn an_application_comes_back_as_it_was(application in application()) {
        let bytes = encode_application(&application).unwrap();
        let again = decode_application(application.tenant, application.id, bytes.expose()).unwrap();
        prop_assert_eq!(again, application);
    }

    #[test]
    fn a_tenant_comes_back_as_it_was(tenant in tenant()) {
        let bytes = encode_tenant(&tenant).unwrap();
        prop_assert_eq!(decode_tenant(tenant.id, bytes.expose()).unwrap(), tenant);
    }

    #[test]
    fn an_api_key_comes_back_as_it_was(
        id: u128, legacy: bool, history in history(), operator: bool, tag: [u8; 32],
        seed: [u8; 16],
    ) {
        let key = ApiKey {
            id: KeyId::new(Uuid::from_u128(id)),
            tenant: TenantId::new(TENANT),
            application: ApplicationId::new(ID),
            form: if legacy { KeyForm::Legacy } else { KeyForm::Current },
            created_by: Some(history.0).filter(|_| !operator),
            created_at: history.1,
        };
        let record = KeyRecord { key, tag, answer_seed: AnswerSeed::new(seed) };
        let bytes = encode_api_key(&record).unwrap();
        prop_assert_eq!(decode_api_key(bytes.expose()).unwrap(), record);
    }

    #[test]
    fn no_bytes_make_decoding_panic(bytes: Vec<u8>, text in "\u{1}\\PC*", json in json_value()) {
        let json = format!("\u{1}{json}");
        for bytes in [bytes.as_slice(), text.as_bytes(), json.as_bytes()] {
            drop(decode_token(TenantId::new(TENANT), TokenId::new(ID), bytes));
            drop(decode_application(TenantId::new(TENANT), ApplicationId::new(ID), bytes));
            drop(decode_tenant(TenantId::new(TENANT), bytes));
            drop(decode_api_key(bytes));
        }
    }

    #[test]
    fn a_token_with_a_changed_byte_decodes_to_something_or_is_refused(
        token in token(), at: prop::sample::Index, flip in 1_u8..,
    ) {
        let bytes = encode_token(&token).unwrap();
        let mut bytes = bytes.expose().clone();
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        let decoded = decode_token(token.tenant, token.id, &bytes);
        prop_assert!(at > 0 || decoded.is_err(), "another version was taken for this one");
    }
}
