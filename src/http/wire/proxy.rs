//! Proxies on the wire.

use serde_json::{Map, Value, json};

use crate::app::check_expressions;
use crate::bounds::{NAME_CHARS_MAX, PROXY_URL_CHARS_MAX};
use crate::domain::id::ProxyId;
use crate::domain::mistakes::Mistakes;
use crate::domain::proxy::certificate::ClientCertificate;
use crate::domain::proxy::read::read_transforms;
use crate::domain::proxy::transform::{Given, Side, Transforms};
use crate::domain::proxy::{Destination, Proxy, ProxySettings};
use crate::http::wire::named::{
    Detail, NamedShape, application, configuration, configuration_value, fill_configuration,
};
use crate::http::wire::{Fields, Object};
use crate::idempotency::SubjectId;

const CERTIFICATE: &str =
    "The client certificate is PEM: at least one certificate and exactly one private key.";
const REACTORS: &str = "Reactors of proxies were removed from the published interface: use a transform of the type code.";

impl NamedShape for Proxy {
    const PATH: &'static str = "/proxies/";

    fn parse_id(text: &str) -> Option<ProxyId> {
        ProxyId::parse(text)
    }

    fn subject_id(&self) -> SubjectId {
        SubjectId::Proxy(self.id)
    }

    fn parse(body: &Value, known: Option<&Self>) -> Result<ProxySettings, Mistakes> {
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

    fn body(&self, patch: &Map<String, Value>) -> Value {
        let settings = &self.settings;
        let mut value = json!({
            "name": settings.name,
            "destination_url": settings.destination.as_str(),
            "require_auth": settings.require_auth,
            "disable_detokenization": settings.disable_detokenization,
            "destroy_cvc_after_use": settings.destroy_cvc_after_use,
            "application": settings.application.map(|id| json!({"id": id.to_string()})),
            "configuration": configuration_value(&settings.configuration),
        });
        let Some(members) = value.as_object_mut() else { return value };
        for (side, transforms) in sides(settings) {
            let (name, other, text) = match transforms.given() {
                Given::Nothing => continue,
                Given::One(text) => (side.one(), side.list(), text),
                Given::List(text) => (side.list(), side.one(), text),
            };
            if patch.contains_key(name) || !patch.contains_key(other) {
                // The record's text was JSON when it was read.
                let parsed = serde_json::from_str(text.expose()).unwrap_or(Value::Bool(false));
                members.insert(String::from(name), parsed);
            }
        }
        if let Some(certificate) = &settings.client_certificate {
            let pem = Value::from(certificate.pem().expose().as_str());
            members.insert(String::from("client_certificate"), pem);
        }
        value
    }

    fn fill(&self, object: &mut Object, detail: Detail) {
        let (settings, is_whole) = (&self.settings, detail == Detail::All);
        if is_whole {
            object.text("key", self.key.expose());
        }
        object.text("destination_url", settings.destination.as_str());
        object.flag("require_auth", settings.require_auth);
        object.flag("disable_detokenization", settings.disable_detokenization);
        object.flag("destroy_cvc_after_use", settings.destroy_cvc_after_use);
        for (side, transforms) in sides(settings) {
            match transforms.given() {
                Given::One(text) if is_whole => object.json(side.one(), text.expose()),
                Given::List(text) if is_whole => object.json(side.list(), text.expose()),
                Given::List(_) | Given::Nothing | Given::One(_) => (),
            }
        }
        object.optional_display("application_id", settings.application);
        if is_whole {
            fill_configuration(object, &settings.configuration);
        }
        let certificate = settings.client_certificate.as_ref().map(ClientCertificate::chain);
        object.optional_text("client_certificate", certificate.as_deref());
    }
}

const fn sides(settings: &ProxySettings) -> [(Side, &Transforms); 2] {
    [(Side::Request, &settings.request_transforms), (Side::Response, &settings.response_transforms)]
}

fn destination(fields: &mut Fields<'_>) -> Option<Destination> {
    let message = format!(
        "The destination is https://, a host, and optionally a port, a path and a query, with at \
         most {PROXY_URL_CHARS_MAX} characters."
    );
    fields.required("destination_url", Destination::parse, &message)
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
