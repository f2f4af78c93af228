//! Proxies, version 1.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::domain::answer_seed::AnswerSeed;
use crate::domain::hex;
use crate::domain::id::{ApplicationId, ProxyId, TenantId};
use crate::domain::mistakes::Mistakes;
use crate::domain::proxy::certificate::ClientCertificate;
use crate::domain::proxy::read::read_transforms;
use crate::domain::proxy::transform::{Given, Side, Transforms};
use crate::domain::proxy::{Configuration, Destination, Proxy, ProxyKey, ProxySettings};
use crate::domain::time::Timestamp;
use crate::secret::Secret;
use crate::store::record::encoding::{
    BadRecord, EncodeFailed, bad, body, encode, micros, unencodable,
};

const VERSION: u8 = 1;

/// The transforms are those of the request, in its spelling.
#[derive(Serialize, Deserialize)]
struct ProxyV1<'a> {
    key: &'a str,
    name: String,
    destination_url: String,
    require_auth: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    application: Option<Uuid>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    configuration: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "is_false")]
    disable_detokenization: bool,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    request_transform: Option<&'a RawValue>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    request_transforms: Option<&'a RawValue>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    response_transform: Option<&'a RawValue>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    response_transforms: Option<&'a RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client_certificate: Option<String>,
    created_by: Uuid,
    created_at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    modified_by: Option<Uuid>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    modified_at: Option<i64>,
    /// Hexadecimal.
    answer_seed: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

/// Fails for transforms whose text is not JSON.
pub fn encode_proxy(proxy: &Proxy) -> Result<Secret<Vec<u8>>, EncodeFailed> {
    let settings = &proxy.settings;
    let (request_transform, request_transforms) = spelled(settings.request_transforms.given())?;
    let (response_transform, response_transforms) = spelled(settings.response_transforms.given())?;
    let entry = |(name, value): &(String, Secret<String>)| (name.clone(), value.expose().clone());
    encode(
        VERSION,
        &ProxyV1 {
            key: proxy.key.expose(),
            name: settings.name.clone(),
            destination_url: String::from(settings.destination.as_str()),
            require_auth: settings.require_auth,
            application: settings.application.map(ApplicationId::uuid),
            configuration: settings.configuration.0.iter().map(entry).collect(),
            disable_detokenization: settings.disable_detokenization,
            request_transform,
            request_transforms,
            response_transform,
            response_transforms,
            client_certificate: settings
                .client_certificate
                .as_ref()
                .map(|certificate| certificate.pem().expose().clone()),
            created_by: proxy.created_by.uuid(),
            created_at: micros(proxy.created_at),
            modified_by: proxy.modified_by.map(ApplicationId::uuid),
            modified_at: proxy.modified_at.map(micros),
            answer_seed: hex::encode(proxy.answer_seed.expose()),
        },
    )
}

/// The members for one transform and for a list.
type Spelled<'a> = (Option<&'a RawValue>, Option<&'a RawValue>);

fn spelled(given: &Given) -> Result<Spelled<'_>, EncodeFailed> {
    Ok(match given {
        Given::Nothing => (None, None),
        Given::One(text) => (Some(raw_text(text)?), None),
        Given::List(text) => (None, Some(raw_text(text)?)),
    })
}

fn raw_text(text: &Secret<String>) -> Result<&RawValue, EncodeFailed> {
    serde_json::from_str(text.expose()).map_err(unencodable)
}

/// The tenant and the id come from the record's key, which the seal authenticates.
pub fn decode_proxy(tenant: TenantId, id: ProxyId, bytes: &[u8]) -> Result<Proxy, BadRecord> {
    let record: ProxyV1<'_> = serde_json::from_slice(body(VERSION, bytes)?).map_err(bad)?;
    let certificate = record.client_certificate.map(Secret::new);
    let certificate = certificate
        .map(|pem| ClientCertificate::parse(pem.expose()).ok_or(BadRecord))
        .transpose()?;
    let configuration = record.configuration.into_iter();
    let configuration = configuration.map(|(name, value)| (name, Secret::new(value)));
    Ok(Proxy {
        id,
        tenant,
        key: ProxyKey::parse(record.key).ok_or(BadRecord)?,
        settings: ProxySettings {
            name: record.name,
            destination: Destination::parse(&record.destination_url).ok_or(BadRecord)?,
            require_auth: record.require_auth,
            application: record.application.map(ApplicationId::new),
            configuration: Configuration(configuration.collect()),
            disable_detokenization: record.disable_detokenization,
            request_transforms: transforms(
                Side::Request,
                record.request_transform,
                record.request_transforms,
            )?,
            response_transforms: transforms(
                Side::Response,
                record.response_transform,
                record.response_transforms,
            )?,
            client_certificate: certificate,
        },
        created_by: ApplicationId::new(record.created_by),
        created_at: Timestamp::from_micros(record.created_at),
        modified_by: record.modified_by.map(ApplicationId::new),
        modified_at: record.modified_at.map(Timestamp::from_micros),
        answer_seed: AnswerSeed::new(hex::decode(&record.answer_seed).ok_or(BadRecord)?),
    })
}

fn transforms(
    side: Side,
    one: Option<&RawValue>,
    list: Option<&RawValue>,
) -> Result<Transforms, BadRecord> {
    let mut members = Map::new();
    for (name, raw) in [(side.one(), one), (side.list(), list)] {
        if let Some(raw) = raw {
            members.insert(String::from(name), serde_json::from_str(raw.get()).map_err(bad)?);
        }
    }
    // The record keeps the text of the request; the parsed form may order members differently.
    let text = |raw: &RawValue| Secret::new(String::from(raw.get()));
    let given = match (one, list) {
        (None, None) => Given::Nothing,
        (Some(one), None) => Given::One(text(one)),
        (None, Some(list)) => Given::List(text(list)),
        (Some(_), Some(_)) => return Err(BadRecord),
    };
    let members = Secret::new(Value::Object(members));
    let mut mistakes = Mistakes::new();
    let members = members.expose().as_object().ok_or(BadRecord)?;
    let read = read_transforms(members, side, &mut mistakes);
    mistakes.into_result().ok().ok_or(BadRecord)?;
    Ok(read.with_given(given))
}
