//! Sessions on the wire.

use serde_json::Value;

use crate::app::SessionDraft;
use crate::bounds::THREEDS_DEVICE_DATA_CHARS_MAX;
use crate::http::wire::threeds::outcome::{self, Extent};
use crate::http::wire::threeds::{free_object, nested, text, text_or_number, text_up_to, word};
use crate::http::wire::{Fields, Json, Object, WRONG_TYPE};
use crate::threeds::ProtocolVersion;
use crate::threeds::session::{
    CardSource, Device, DeviceInfo, SessionKind, ThreedsSession, WebChallengeMode,
};

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

/// The answer to the creation of a session: every member that the interface lists, `null` for those
/// without a value.
pub(crate) fn render_created(session: &ThreedsSession, base: &str) -> Json {
    let mut object = Object::new();
    object.display("id", session.id);
    object.text("type", session.kind.as_str());
    let brand = session.scheme.display_name();
    object.text("card_brand", brand);
    object.text("cardBrand", brand);
    if !session.additional_brands.is_empty() {
        let brands = session.additional_brands.iter();
        object.texts("additional_card_brands", brands.map(String::as_str));
    }
    let url = session.enrolment.method_url.as_deref();
    let notification = format!("{base}/3ds/sessions/{}/method-notification", session.id);
    if session.device == Some(Device::Mobile) {
        // The mobile SDKs accept only texts.
        object.text("method_url", url.unwrap_or_default());
        object.text("method_notification_url", &notification);
    } else {
        object.nullable_text("method_url", url);
        let notification = Some(notification.as_str()).filter(|_| url.is_some());
        object.nullable_text("method_notification_url", notification);
    }
    object.text("directory_server_id", &session.enrolment.directory_server);
    let version = session.enrolment.recommended().map(ProtocolVersion::as_str);
    object.nullable_text("recommended_version", version);
    if let Some(metadata) = &session.metadata {
        object.value("metadata", &Value::Object(metadata.clone()));
    }
    object.close()
}

pub(crate) fn render(session: &ThreedsSession) -> Json {
    let mut object = Object::new();
    object.display("id", session.id);
    object.display("tenant_id", session.tenant);
    object.text("type", session.kind.as_str());
    render_card(&mut object, session);
    object.text("card_brand", session.scheme.display_name());
    if !session.additional_brands.is_empty() {
        let brands = session.additional_brands.iter();
        object.texts("additional_card_brands", brands.map(String::as_str));
    }
    object.time("expiration_date", session.expires_at);
    object.time("created_date", session.created_at);
    object.display("created_by", session.created_by);
    object.optional_time("modified_date", session.modified_at);
    object.optional_display("modified_by", session.modified_by);
    object.optional_text("device", session.device.map(Device::as_str));
    if session.kind == SessionKind::Customer {
        object.text("web_challenge_mode", session.web_challenge_mode.as_str());
        object.object("device_info", |object| render_device(object, &session.device_info));
    }
    if let Some(metadata) = &session.metadata {
        object.value("metadata", &Value::Object(metadata.clone()));
    }
    object.object("version", |object| render_version(object, session));
    object.object("method", |object| {
        object.optional_text("method_url", session.enrolment.method_url.as_deref());
        object.text("method_completion_indicator", session.method_indicator().code());
    });
    if session.authentication.is_some() {
        object.object("authentication", |object| outcome::fill(object, session, Extent::Session));
    }
    object.close()
}

/// The source of the card, under the name that the caller used.
pub(super) fn render_card(object: &mut Object, session: &ThreedsSession) {
    match &session.card {
        CardSource::Pan(id) => {
            object.text("pan_token_id", id);
            object.text("token_id", id);
        }
        CardSource::Token(id) => object.text("token_id", id),
        CardSource::TokenIntent(id) => object.text("token_intent_id", id),
    }
}

fn render_version(object: &mut Object, session: &ThreedsSession) {
    let enrolment = &session.enrolment;
    let available = enrolment.available();
    let version = enrolment.recommended().map(ProtocolVersion::as_str);
    object.optional_text("recommended_version", version);
    object.texts("available_version", available.iter().map(|it| it.as_str()));
    object.texts("available_versions", available.iter().map(|it| it.as_str()));
    object.display("earliest_acs_supported_version", enrolment.acs_start);
    object.display("earliest_ds_supported_version", enrolment.ds_start);
    object.display("latest_acs_supported_version", enrolment.acs_end);
    object.display("latest_ds_supported_version", enrolment.ds_end);
    object.texts("acs_information", enrolment.acs_information.iter().map(|it| it.word()));
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
