//! Operator's commands on tenants, applications and API keys.

use serde_json::Value;

use crate::app::{ApplicationQuery, Error, TenantChange, TenantDraft, Vault, Write};
use crate::bounds::NAME_CHARS_MAX;
use crate::domain::id::{ApplicationId, KeyId, TenantId};
use crate::domain::quota::Quotas;
use crate::domain::tenant::{TenantKind, Threeds};
use crate::http::wire::{application, json, key, tenant};
use crate::operator::Answer;
use crate::secret::Secret;

/// `body` has the shape of the body of `POST /applications`.
pub(super) async fn create_application(vault: &Vault, tenant: &str, body: &Value) -> Answer {
    let (tenant, draft) = (tenant_id(tenant)?, application::parse_draft(body)?);
    let made = vault.access().create_application(tenant, &draft, None, &Write::plain()).await?;
    let (new, key) = made.outcome;
    Ok(bytes(application::answer(&new, key.as_ref()).into_body()))
}

pub(super) fn list_applications(vault: &Vault, tenant: &str) -> Answer {
    let all = ApplicationQuery { take: usize::MAX, ..Default::default() };
    let tenant = tenant_id(tenant)?;
    let page = vault.access().list_applications(tenant, &all)?;
    let last_uses = vault.access().last_uses(tenant)?;
    let render =
        |(listed, keys): &(_, Vec<_>)| application::render_for_operator(listed, keys, &last_uses);
    Ok(bytes(json::list(&page.applications.iter().map(render).collect::<Vec<_>>())))
}

pub(super) async fn create_key(vault: &Vault, tenant: &str, application: &str) -> Answer {
    let (tenant, application) = (tenant_id(tenant)?, application_id(application)?);
    let new = vault.access().create_key(tenant, application, None, None, &Write::plain()).await?;
    Ok(bytes(key::answer(&new.outcome).into_body()))
}

pub(super) async fn import_key(
    vault: &Vault,
    tenant: &str,
    application: &str,
    text: &str,
) -> Answer {
    let (tenant, application) = (tenant_id(tenant)?, application_id(application)?);
    let new =
        vault.access().create_key(tenant, application, Some(text), None, &Write::plain()).await?;
    Ok(bytes(key::render(&new.outcome.key)))
}

pub(super) async fn delete_key(
    vault: &Vault,
    tenant: &str,
    application: &str,
    key: &str,
) -> Answer {
    let (tenant, application) = (tenant_id(tenant)?, application_id(application)?);
    let key = KeyId::parse(key).ok_or(Error::NotFound("key"))?;
    vault.access().delete_key(tenant, application, key, None).await?;
    Ok(br#"{"deleted":true}"#.to_vec())
}

pub(super) async fn create_tenant(
    vault: &Vault,
    name: String,
    kind: &str,
    threeds: bool,
    quotas: &[(String, String)],
) -> Answer {
    let draft = tenant_draft(name, kind, threeds, quotas)?;
    Ok(bytes(tenant::render_for_operator(&vault.access().create_tenant(draft).await?)))
}

pub(super) fn list_tenants(vault: &Vault) -> Answer {
    let tenants = vault.access().list_tenants()?;
    Ok(bytes(json::list(&tenants.iter().map(tenant::render_for_operator).collect::<Vec<_>>())))
}

pub(super) async fn change_tenant(
    vault: &Vault,
    tenant: &str,
    name: Option<String>,
    threeds: Option<bool>,
    quotas: Vec<(String, String)>,
) -> Answer {
    let name = name.map(checked_name).transpose()?;
    let change = TenantChange { name, threeds: threeds.map(feature), settings: None, quotas };
    let changed =
        vault.access().change_tenant(tenant_id(tenant)?, &change, None, &Write::plain()).await?;
    Ok(bytes(tenant::render_for_operator(&changed.outcome)))
}

pub(super) fn text(json: &Value) -> Vec<u8> {
    json.to_string().into_bytes()
}

/// Unwraps the JSON for the answer on the socket. The operator's terminal shows it in clear.
pub(super) fn bytes(mut json: Secret<Vec<u8>>) -> Vec<u8> {
    std::mem::take(json.expose_mut())
}

fn tenant_draft(
    name: String,
    kind: &str,
    threeds: bool,
    settings: &[(String, String)],
) -> Result<TenantDraft, Error> {
    let mut quotas = Quotas::default();
    for (quota, value) in settings {
        let set = quotas.set(quota, value);
        set.map_err(|invalid| Error::invalid(quota, invalid.to_string()))?;
    }
    let kind = TenantKind::parse(kind)
        .ok_or_else(|| Error::invalid("type", "The type must be test or production."))?;
    Ok(TenantDraft { name: checked_name(name)?, kind, threeds: feature(threeds), quotas })
}

fn checked_name(name: String) -> Result<String, Error> {
    if (1..=NAME_CHARS_MAX).contains(&name.chars().count()) {
        return Ok(name);
    }
    Err(Error::invalid("name", format!("The name has 1 to {NAME_CHARS_MAX} characters.")))
}

const fn feature(enabled: bool) -> Threeds {
    if enabled { Threeds::Enabled } else { Threeds::Disabled }
}

pub(super) fn tenant_id(text: &str) -> Result<TenantId, Error> {
    TenantId::parse(text).ok_or(Error::NotFound("tenant"))
}

pub(super) fn application_id(text: &str) -> Result<ApplicationId, Error> {
    ApplicationId::parse(text).ok_or(Error::NotFound("application"))
}
