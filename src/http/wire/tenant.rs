//! The caller's own tenant on the wire.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::app::{TenantChange, TokenUsage, TypeUsage};
use crate::bounds::{NAME_CHARS_MAX, SETTING_BYTES_MAX, SETTINGS_MAX};
use crate::domain::mistakes::Mistakes;
use crate::domain::tenant::{Tenant, TenantKind, Threeds};
use crate::http::wire::answer::{Answer as _, answer};
use crate::http::wire::{Fields, Json, Object, WRONG_TYPE};

pub(crate) fn parse_change(body: &Value) -> Result<TenantChange, Mistakes> {
    let mut fields = Fields::of_body(body);
    let name = fields.bounded_text("name", NAME_CHARS_MAX).map(String::from);
    let settings = settings(&mut fields);
    fields.mistakes.into_result()?;
    Ok(TenantChange { name, settings, ..TenantChange::default() })
}

/// Settings are texts, even boolean ones.
fn settings(fields: &mut Fields<'_>) -> Option<BTreeMap<String, String>> {
    let members = fields.object("settings")?;
    if members.len() > SETTINGS_MAX {
        fields.wrong("settings", format!("There may be at most {SETTINGS_MAX} settings."));
    }
    let mut settings = BTreeMap::new();
    for (name, value) in members {
        let path = if name.len() <= SETTING_BYTES_MAX {
            format!("settings.{name}")
        } else {
            String::from("settings")
        };
        match value {
            Value::Null => (),
            Value::String(text) if name.len().max(text.len()) <= SETTING_BYTES_MAX => {
                if let Some(allowed) = allowed_values(name)
                    && !allowed.contains(&text.as_str())
                {
                    fields.wrong(&path, format!("The value must be {}.", allowed.join(" or ")));
                }
                settings.insert(name.clone(), text.clone());
            }
            Value::String(_) => {
                fields.wrong(&path, format!("A setting has at most {SETTING_BYTES_MAX} bytes."));
            }
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                fields.wrong(&path, WRONG_TYPE);
            }
        }
    }
    Some(settings)
}

/// A setting that affects this server must have a value that it understands.
fn allowed_values(name: &str) -> Option<&'static [&'static str]> {
    match name {
        "deduplicate_tokens"
        | "fingerprint_tokens"
        | "disable_ephemeral_proxy"
        | "destroy_cvc_after_use" => Some(&["true", "false"]),
        "token_deduplication_behavior" => Some(&["read_existing", "update_existing"]),
        _ => None,
    }
}

pub(crate) fn render(tenant: &Tenant) -> Json {
    let mut object = Object::new();
    TenantAnswer::fill(&mut object, tenant);
    object.object("settings", |settings| {
        let quotas = tenant.quotas.texts();
        // Clients read quotas among the settings. A setting of the same name does not hide a quota.
        for (name, value) in &tenant.settings {
            if quotas.iter().all(|(quota, _)| quota != name) {
                settings.text(name, value);
            }
        }
        for (name, value) in &quotas {
            settings.text(name, value);
        }
    });
    object.close()
}

/// The operator's view, with members that only the operator can set.
pub(crate) fn render_for_operator(tenant: &Tenant) -> Json {
    let mut object = Object::new();
    TenantAnswer::fill(&mut object, tenant);
    object.flag("threeds", tenant.threeds == Threeds::Enabled);
    object.object("quotas", |quotas| {
        for (name, value) in tenant.quotas.texts() {
            quotas.text(name, &value);
        }
    });
    object.close()
}

answer! {
    /// The members that every view of a tenant begins with.
    pub(in crate::http) TenantAnswer<'a>(it: &'a Tenant) {
        has id: id = it.id;
        has owner_id: id = it.id, "The tenant's own id: there are no users.";
        has name: text = &it.name;
        has type: word(TenantKind::ALL.map(TenantKind::as_str)) = it.kind.as_str();
        has created_at: time = it.created_at;
        may_have modified_by: id = it.modified_by;
        may_have modified_at: time = it.modified_at;
    }

    /// The format of older clients, with the total where newer ones read it.
    pub(crate) Usage<'a>(it: &'a TokenUsage) {
        has token_report: object(TokenReport) = it;
        has total_tokens: number = it.total;
    }

    TokenReport<'a>(it: &'a TokenUsage) {
        has metrics_by_type: filled(Schema::map(TypeMetrics::schema())) = |types: &mut Object| {
            for found in &it.by_type {
                types.object(found.kind.as_str(), |metrics| TypeMetrics::fill(metrics, found));
            }
        };
        has total_tokens: number = it.total;
    }

    TypeMetrics<'a>(it: &'a TypeUsage) {
        has count: number = it.count;
        has last_created_at: time = it.last_created_at;
    }
}
