//! Proxies on the wire.

use serde_json::{Map, Value, json};

use crate::app::{Caller, NamedQuery, check_expressions};
use crate::bounds::{
    NAME_CHARS_MAX, PROXY_CONFIGURATION_BYTES_MAX, PROXY_CONFIGURATION_MAX,
    PROXY_CONFIGURATION_NAME_CHARS_MAX, PROXY_URL_CHARS_MAX,
};
use crate::domain::id::{ApplicationId, ProxyId};
use crate::domain::merge_patch::merge_patch;
use crate::domain::mistakes::Mistakes;
use crate::domain::person::ConsoleRole;
use crate::domain::proxy::certificate::ClientCertificate;
use crate::domain::proxy::read::read_transforms;
use crate::domain::proxy::transform::{Given, Side, Transforms};
use crate::domain::proxy::{Configuration, Destination, Proxy, ProxySettings};
use crate::http::wire::page::named_query;
use crate::http::wire::{Fields, Json, Object, OffsetPage, Query, WRONG_TYPE};
use crate::idempotency::{AnswerStatus, PartLifetime, RememberedAnswer, SubjectId};
use crate::secret::Secret;

const CERTIFICATE: &str =
    "The client certificate is PEM: at least one certificate and exactly one private key.";
const REACTORS: &str = "Reactors of proxies were removed from the published interface: use a transform of the type code.";
const NO_APPLICATION: &str = "There is no such public or private application.";

/// The settings in a body. `known` is the proxy that they replace.
pub(crate) fn parse(body: &Value, known: Option<&Proxy>) -> Result<ProxySettings, Mistakes> {
    let mut fields = Fields::of_body(body);
    let name = fields.bounded_text("name", NAME_CHARS_MAX).map(String::from);
    let destination = destination(&mut fields);
    let require_auth = fields.flag("require_auth").unwrap_or(true);
    let application = application(&mut fields);
    let configuration = configuration(&mut fields);
    let disable_detokenization = fields.flag("disable_detokenization").unwrap_or(false);
    let destroy_cvc_after_use = fields.flag("destroy_cvc_after_use").unwrap_or(false);
    for reactor in ["request_reactor_id", "response_reactor_id"] {
        if fields.value(reactor).is_some() {
            fields.wrong(reactor, REACTORS);
        }
    }
    let request_transforms = transforms(body, Side::Request, &mut fields);
    let response_transforms = transforms(body, Side::Response, &mut fields);
    let client_certificate = client_certificate(&mut fields, known);
    match (name, destination) {
        (Some(name), Some(destination)) if fields.mistakes.is_empty() => Ok(ProxySettings {
            name,
            destination,
            require_auth,
            application,
            configuration,
            disable_detokenization,
            destroy_cvc_after_use,
            request_transforms,
            response_transforms,
            client_certificate,
        }),
        _ => Err(fields.mistakes),
    }
}

/// The settings of a proxy after a merge patch.
pub(crate) fn parse_patch(patch: &Value, known: &Proxy) -> Result<ProxySettings, Mistakes> {
    let Some(changes) = patch.as_object() else {
        return Err(Mistakes::one("$", WRONG_TYPE));
    };
    let mut settings = Secret::new(settings_value(known));
    if let Some(members) = settings.expose_mut().as_object_mut() {
        // One spelling of the transforms replaces the other.
        for side in [Side::Request, Side::Response] {
            for (given, other) in [(side.one(), side.list()), (side.list(), side.one())] {
                if changes.contains_key(given) && !changes.contains_key(other) {
                    members.remove(other);
                }
            }
        }
    }
    let too_deep = |_| Mistakes::one("$", "The patch is nested too deeply.");
    merge_patch(settings.expose_mut(), patch).map_err(too_deep)?;
    parse(settings.expose(), Some(known))
}

/// The body that would create the proxy with its current settings.
fn settings_value(proxy: &Proxy) -> Value {
    let settings = &proxy.settings;
    let mut value = json!({
        "name": settings.name,
        "destination_url": settings.destination.as_str(),
        "require_auth": settings.require_auth,
        "disable_detokenization": settings.disable_detokenization,
        "destroy_cvc_after_use": settings.destroy_cvc_after_use,
    });
    let Some(members) = value.as_object_mut() else { return value };
    if let Some(id) = settings.application {
        members.insert(String::from("application"), json!({"id": id.to_string()}));
    }
    let entry = |(name, value): &(String, Secret<String>)| {
        (name.clone(), Value::from(value.expose().as_str()))
    };
    let configuration: Map<_, _> = settings.configuration.0.iter().map(entry).collect();
    members.insert(String::from("configuration"), Value::Object(configuration));
    let sides = [
        (Side::Request, &settings.request_transforms),
        (Side::Response, &settings.response_transforms),
    ];
    for (side, transforms) in sides {
        let (name, text) = match transforms.given() {
            Given::Nothing => continue,
            Given::One(text) => (side.one(), text),
            Given::List(text) => (side.list(), text),
        };
        // The record's text was JSON when it was read.
        let parsed = serde_json::from_str(text.expose()).unwrap_or(Value::Bool(false));
        members.insert(String::from(name), parsed);
    }
    if let Some(certificate) = &settings.client_certificate {
        let pem = Value::from(certificate.pem().expose().as_str());
        members.insert(String::from("client_certificate"), pem);
    }
    value
}

fn destination(fields: &mut Fields<'_>) -> Option<Destination> {
    let message = format!(
        "The destination is https://, a host, and optionally a port, a path and a query, with at \
         most {PROXY_URL_CHARS_MAX} characters."
    );
    fields.required("destination_url", Destination::parse, &message)
}

pub(crate) fn application(fields: &mut Fields<'_>) -> Option<ApplicationId> {
    let value = fields.value("application")?;
    let mut inner = Fields::at(value, String::from("application"));
    let id = inner.required("id", ApplicationId::parse, NO_APPLICATION);
    fields.mistakes.append(inner.mistakes);
    id
}

pub(crate) fn configuration(fields: &mut Fields<'_>) -> Configuration {
    let Some(members) = fields.object("configuration") else { return Configuration::default() };
    let mut entries = Vec::new();
    let mut bytes = 0_usize;
    for (name, value) in members {
        let is_named = (1..=PROXY_CONFIGURATION_NAME_CHARS_MAX).contains(&name.chars().count());
        match value {
            Value::Null => (),
            _ if !is_named => {
                let max = PROXY_CONFIGURATION_NAME_CHARS_MAX;
                fields.wrong("configuration", format!("A name has 1 to {max} characters."));
            }
            Value::String(text) => {
                bytes = bytes.saturating_add(name.len()).saturating_add(text.len());
                entries.push((name.clone(), Secret::new(text.clone())));
            }
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                fields.wrong(&format!("configuration.{name}"), WRONG_TYPE);
            }
        }
    }
    if entries.len() > PROXY_CONFIGURATION_MAX {
        fields.wrong("configuration", format!("There may be at most {PROXY_CONFIGURATION_MAX}."));
    }
    if bytes > PROXY_CONFIGURATION_BYTES_MAX {
        let max = PROXY_CONFIGURATION_BYTES_MAX;
        fields.wrong("configuration", format!("Names and values have at most {max} bytes."));
    }
    Configuration(entries)
}

fn transforms(body: &Value, side: Side, fields: &mut Fields<'_>) -> Transforms {
    let Some(members) = body.as_object() else { return Transforms::default() };
    let read = read_transforms(members, side, &mut fields.mistakes);
    check_expressions(&read, side, &mut fields.mistakes);
    read
}

/// Answers show the chain without its key. A body that repeats this chain keeps the key.
fn client_certificate(fields: &mut Fields<'_>, known: Option<&Proxy>) -> Option<ClientCertificate> {
    let text = fields.text("client_certificate").filter(|text| !text.is_empty())?;
    let known = known.and_then(|known| known.settings.client_certificate.as_ref());
    let kept = known.filter(|known| known.chain() == text);
    let text = kept.map_or(text, |known| known.pem().expose().as_str());
    let parsed = ClientCertificate::parse(text);
    if parsed.is_none() {
        fields.wrong("client_certificate", CERTIFICATE);
    }
    parsed
}

pub(crate) fn parse_query(query: &Query) -> Result<(NamedQuery<ProxyId>, OffsetPage), Mistakes> {
    named_query(query, ProxyId::parse)
}

/// The answer to a write. A repetition shows the key and the settings only while the proxy exists.
pub(crate) fn answer(proxy: &Proxy, status: AnswerStatus) -> RememberedAnswer {
    let mut answer = RememberedAnswer::empty(status);
    let subject = answer.subject(SubjectId::Proxy(proxy.id), &proxy.answer_seed, &[]);
    render_members(proxy, Some(subject), ProxyDetail::All).close_into(&mut answer);
    answer
}

/// The part of a proxy that an answer shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProxyDetail {
    All,
    /// Without the key, the configuration and the transforms: each may hold a secret of the
    /// destination.
    WithoutSecrets,
}

impl ProxyDetail {
    /// A viewer of the console cannot call a destination, not even outside of the vault.
    pub(crate) fn of(caller: &Caller) -> Self {
        if caller.role() == Some(ConsoleRole::Viewer) { Self::WithoutSecrets } else { Self::All }
    }
}

pub(crate) fn render(proxy: &Proxy, detail: ProxyDetail) -> Json {
    render_members(proxy, None, detail).close()
}

fn render_members(proxy: &Proxy, subject: Option<usize>, detail: ProxyDetail) -> Object {
    let settings = &proxy.settings;
    let mut object = Object::new();
    object.display("id", proxy.id);
    object.display("tenant_id", proxy.tenant);
    object.text("name", &settings.name);
    // A change is complete before it is answered.
    object.text("state", "active");
    if let Some(subject) = subject {
        object.keep(PartLifetime::With(subject));
    }
    let is_whole = detail == ProxyDetail::All;
    if is_whole {
        object.text("key", proxy.key.expose());
    }
    object.text("destination_url", settings.destination.as_str());
    object.flag("require_auth", settings.require_auth);
    object.flag("disable_detokenization", settings.disable_detokenization);
    object.flag("destroy_cvc_after_use", settings.destroy_cvc_after_use);
    for (side, transforms) in [
        (Side::Request, &settings.request_transforms),
        (Side::Response, &settings.response_transforms),
    ] {
        match transforms.given() {
            Given::One(text) if is_whole => object.json(side.one(), text.expose()),
            Given::List(text) if is_whole => object.json(side.list(), text.expose()),
            Given::List(_) | Given::Nothing | Given::One(_) => (),
        }
    }
    object.optional_display("application_id", settings.application);
    if is_whole {
        object.object("configuration", |entries| {
            for (name, value) in &settings.configuration.0 {
                entries.text(name, value.expose());
            }
        });
    }
    let certificate = settings.client_certificate.as_ref().map(ClientCertificate::chain);
    object.optional_text("client_certificate", certificate.as_deref());
    if subject.is_some() {
        object.keep(PartLifetime::Always);
    }
    object.display("created_by", proxy.created_by);
    object.time("created_at", proxy.created_at);
    object.optional_display("modified_by", proxy.modified_by);
    object.optional_time("modified_at", proxy.modified_at);
    object
}
