//! Sessions on the wire.

use serde_json::Value;

use crate::app::SessionDraft;
use crate::bounds::THREEDS_DEVICE_DATA_CHARS_MAX;
use crate::http::Schema;
use crate::http::wire::answer::{Answer as _, answer};
use crate::http::wire::threeds::outcome::{self, Extent};
use crate::http::wire::threeds::{free_object, nested, text, text_or_number, text_up_to, word};
use crate::http::wire::{Fields, Json, Object, WRONG_TYPE};
use crate::threeds::codes::{AcsInformation, MethodOutcome};
use crate::threeds::session::{
    CardSource, Device, DeviceInfo, Enrolment, SessionKind, ThreedsSession, WebChallengeMode,
};
use crate::threeds::{ProtocolVersion, Scheme};

pub(crate) fn parse_draft(body: &Value) -> SessionDraft {
    let mut fields = Fields::of_body(body);
    let card = card(&mut fields);
    let device = word(&mut fields, "device", Device::parse_sent, &["browser", "mobile", "app"]);
    let kind = word(&mut fields, "type", SessionKind::parse, &["customer", "merchant"]);
    if fields.value("type").is_none() && fields.value("device").is_none() {
        fields.wrong("type", "The type is required where there is no device.");
    }
    let device_info = nested(&mut fields, "device_info", device_info).unwrap_or_default();
    let modes = ["iframe", "redirect"];
    let mode = word(&mut fields, "web_challenge_mode", WebChallengeMode::parse, &modes);
    let metadata = free_object(&mut fields, "metadata");
    SessionDraft {
        card,
        kind: kind.or_else(|| device.map(|_| SessionKind::Customer)),
        device,
        device_info,
        web_challenge_mode: mode,
        metadata,
        mistakes: fields.mistakes,
    }
}

/// The body of the mobile SDK's update.
pub(crate) fn parse_device(body: &Value) -> Result<DeviceInfo, crate::domain::mistakes::Mistakes> {
    let mut fields = Fields::of_body(body);
    let device = nested(&mut fields, "device_info", device_info);
    if device.is_none() && fields.mistakes.is_empty() {
        fields.wrong("device_info", "The device_info is required.");
    }
    fields.mistakes.into_result()?;
    Ok(device.unwrap_or_default())
}

fn card(fields: &mut Fields<'_>) -> Option<CardSource> {
    let token = text(fields, "token_id").map(CardSource::Token);
    let intent = text(fields, "token_intent_id").map(CardSource::TokenIntent);
    let pan = text(fields, "pan").map(CardSource::Pan);
    let names = ["token_id", "token_intent_id", "pan"];
    let given = names.iter().filter(|name| fields.value(name).is_some()).count();
    if given == 0 {
        fields.wrong("token_id", "Either token_id or token_intent_id is required.");
    } else if given > 1 {
        fields.wrong("token_id", "Only one of token_id, token_intent_id and pan may be given.");
    }
    token.or(intent).or(pan)
}

fn device_info(fields: &mut Fields<'_>) -> DeviceInfo {
    let ip = text(fields, "browser_ip_address");
    let render = |options: &mut Fields<'_>| {
        let types = options.texts("sdk_ui_type", 7);
        let types = types.map(|all| all.into_iter().map(|(_, text)| String::from(text)).collect());
        (text(options, "sdk_interface"), types)
    };
    let (sdk_interface, sdk_ui_types) =
        nested(fields, "sdk_render_options", render).unwrap_or_default();
    DeviceInfo {
        browser_accept_header: text(fields, "browser_accept_header"),
        browser_ip: ip.or_else(|| text(fields, "browser_ip")),
        browser_javascript_enabled: fields.flag("browser_javascript_enabled"),
        browser_java_enabled: fields.flag("browser_java_enabled"),
        browser_language: text(fields, "browser_language"),
        browser_color_depth: text_or_number(fields, "browser_color_depth"),
        browser_screen_height: text_or_number(fields, "browser_screen_height"),
        browser_screen_width: text_or_number(fields, "browser_screen_width"),
        browser_tz: text_or_number(fields, "browser_tz"),
        browser_user_agent: text(fields, "browser_user_agent"),
        sdk_transaction_id: text(fields, "sdk_transaction_id"),
        sdk_application_id: text(fields, "sdk_application_id"),
        sdk_encryption_data: text_up_to(
            fields,
            "sdk_encryption_data",
            THREEDS_DEVICE_DATA_CHARS_MAX,
        ),
        sdk_ephemeral_public_key: public_key(fields),
        sdk_max_timeout: text_or_number(fields, "sdk_max_timeout"),
        sdk_reference_number: text(fields, "sdk_reference_number"),
        sdk_interface,
        sdk_ui_types,
    }
}

/// A text or an object.
fn public_key(fields: &mut Fields<'_>) -> Option<Value> {
    let value = fields.value("sdk_ephemeral_public_key")?;
    if value.is_object() {
        return Some(value.clone());
    }
    if !value.is_string() {
        fields.wrong("sdk_ephemeral_public_key", WRONG_TYPE);
        return None;
    }
    text(fields, "sdk_ephemeral_public_key").map(Value::String)
}

answer! {
    /// Every member that the interface lists, `null` for those without a value.
    pub(crate) CreatedSession<'a>(it: &'a (&'a ThreedsSession, String)) {
        has id: id = it.0.id;
        has type: text(kind()) = it.0.kind.as_str();
        has card_brand: text(brand()) = it.0.scheme.display_name();
        has cardBrand: text(brand()) = it.0.scheme.display_name();
        may_have additional_card_brands: texts(Schema::text()) = additional_brands(it.0);
        has method_url: nullable = method_url(it.0), "The page of the issuer's fingerprinting.";
        has method_notification_url: nullable = method_url(it.0).map(|_| it.1.as_str());
        has directory_server_id: text = &it.0.enrolment.directory_server;
        has recommended_version: nullable(version().or_null())
            = it.0.enrolment.recommended().map(ProtocolVersion::as_str);
        may_have metadata: value(Schema::object()) = metadata(it.0).as_ref();
    }

    pub(crate) SessionAnswer<'a>(it: &'a ThreedsSession) {
        has id: id = it.id;
        has tenant_id: id = it.tenant;
        has type: text(kind()) = it.kind.as_str();
        may_have pan_token_id: text = card_ids(it).0;
        may_have token_id: text = card_ids(it).1;
        may_have token_intent_id: text = card_ids(it).2;
        has card_brand: text(brand()) = it.scheme.display_name();
        may_have additional_card_brands: texts(Schema::text()) = additional_brands(it);
        has expiration_date: time = it.expires_at;
        has created_date: time = it.created_at;
        has created_by: id = it.created_by;
        may_have modified_date: time = it.modified_at;
        may_have modified_by: id = it.modified_by;
        may_have device: word([Device::Browser.as_str(), Device::Mobile.as_str()])
            = it.device.map(Device::as_str);
        may_have web_challenge_mode: text(mode())
            = of_customer(it).map(|it| it.web_challenge_mode.as_str());
        may_have device_info: filled(Schema::reference("DeviceInfo"))
            = of_customer(it).map(|it| |to: &mut Object| render_device(to, &it.device_info));
        may_have metadata: value(Schema::object()) = metadata(it).as_ref();
        has version: object(Versions) = &it.enrolment;
        has method: object(Method) = it;
        may_have authentication: filled(Schema::reference("ThreedsOutcome"))
            = it.authentication.as_ref().map(|_| |to: &mut Object| outcome::fill(to, it, Extent::Session));
    }

    Versions<'a>(it: &'a Enrolment) {
        may_have recommended_version: text(version()) = it.recommended().map(ProtocolVersion::as_str);
        has available_version: texts(version()) = it.available().iter().map(|it| it.as_str());
        has available_versions: texts(version()) = it.available().iter().map(|it| it.as_str());
        has earliest_acs_supported_version: display(Schema::text()) = it.acs_start;
        has earliest_ds_supported_version: display(Schema::text()) = it.ds_start;
        has latest_acs_supported_version: display(Schema::text()) = it.acs_end;
        has latest_ds_supported_version: display(Schema::text()) = it.ds_end;
        has acs_information: texts(Schema::word(AcsInformation::ALL.iter().map(|it| it.word())))
            = it.acs_information.iter().map(|it| it.word());
    }

    Method<'a>(it: &'a ThreedsSession) {
        may_have method_url: text = it.enrolment.method_url.as_deref();
        has method_completion_indicator: word(MethodOutcome::ALL.iter().map(|it| it.code()))
            = it.method_indicator().code();
    }
}

pub(crate) fn render_created(session: &ThreedsSession, base: &str) -> Json {
    let notification = format!("{base}/3ds/sessions/{}/method-notification", session.id);
    CreatedSession::render(&(session, notification))
}

pub(in crate::http) fn kind() -> Schema {
    Schema::word(SessionKind::ALL.map(SessionKind::as_str))
}

pub(in crate::http) fn mode() -> Schema {
    Schema::word(WebChallengeMode::ALL.map(WebChallengeMode::as_str))
}

fn brand() -> Schema {
    Schema::word(Scheme::ALL.map(Scheme::display_name))
}

pub(super) fn version() -> Schema {
    Schema::word(ProtocolVersion::ALL.map(ProtocolVersion::as_str))
}

/// The mobile SDKs accept only texts.
fn method_url(session: &ThreedsSession) -> Option<&str> {
    let is_mobile = session.device == Some(Device::Mobile);
    session.enrolment.method_url.as_deref().or_else(|| is_mobile.then_some(""))
}

fn additional_brands(session: &ThreedsSession) -> Option<impl Iterator<Item = &str>> {
    let brands = &session.additional_brands;
    (!brands.is_empty()).then(|| brands.iter().map(String::as_str))
}

fn of_customer(session: &ThreedsSession) -> Option<&ThreedsSession> {
    Some(session).filter(|it| it.kind == SessionKind::Customer)
}

fn metadata(session: &ThreedsSession) -> Option<Value> {
    session.metadata.clone().map(Value::Object)
}

/// The source of the card, under the names that the caller may have used: `pan_token_id`, `token_id`
/// and `token_intent_id`.
pub(super) fn card_ids(session: &ThreedsSession) -> (Option<&str>, Option<&str>, Option<&str>) {
    match &session.card {
        CardSource::Pan(id) => (Some(id), Some(id), None),
        CardSource::Token(id) => (None, Some(id), None),
        CardSource::TokenIntent(id) => (None, None, Some(id)),
    }
}

fn render_device(object: &mut Object, device: &DeviceInfo) {
    object.optional_text("browser_accept_header", device.browser_accept_header.as_deref());
    object.optional_text("browser_ip_address", device.browser_ip.as_deref());
    object.optional_text("browser_ip", device.browser_ip.as_deref());
    object.optional_flag("browser_javascript_enabled", device.browser_javascript_enabled);
    object.optional_flag("browser_java_enabled", device.browser_java_enabled);
    object.optional_text("browser_language", device.browser_language.as_deref());
    object.optional_text("browser_color_depth", device.browser_color_depth.as_deref());
    object.optional_text("browser_screen_height", device.browser_screen_height.as_deref());
    object.optional_text("browser_screen_width", device.browser_screen_width.as_deref());
    object.optional_text("browser_tz", device.browser_tz.as_deref());
    object.optional_text("browser_user_agent", device.browser_user_agent.as_deref());
    object.optional_text("sdk_transaction_id", device.sdk_transaction_id.as_deref());
    object.optional_text("sdk_application_id", device.sdk_application_id.as_deref());
    object.optional_text("sdk_encryption_data", device.sdk_encryption_data.as_deref());
    if let Some(key) = &device.sdk_ephemeral_public_key {
        object.value("sdk_ephemeral_public_key", key);
    }
    object.optional_text("sdk_max_timeout", device.sdk_max_timeout.as_deref());
    object.optional_text("sdk_reference_number", device.sdk_reference_number.as_deref());
    if device.sdk_interface.is_some() || device.sdk_ui_types.is_some() {
        object.object("sdk_render_options", |object| {
            object.optional_text("sdk_interface", device.sdk_interface.as_deref());
            if let Some(types) = &device.sdk_ui_types {
                object.texts("sdk_ui_type", types.iter().map(String::as_str));
            }
        });
    }
}
