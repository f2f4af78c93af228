//! The outcome of an authentication on the wire.

use serde_json::json;

use crate::http::wire::threeds::session::render_card;
use crate::http::wire::{Json, Object};
use crate::threeds::codes::{
    CancelReason, ChallengePreference, ChallengeType, Reason, TransactionStatus, WhitelistSource,
    WhitelistStatus, YesNo,
};
use crate::threeds::session::{Authentication, ThreedsSession};

/// Decides which members are present without a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    Authenticate,
    ChallengeResult,
    /// Within a session: only members with a value.
    Session,
}

pub(crate) fn render(session: &ThreedsSession, extent: Extent) -> Json {
    let mut object = Object::new();
    fill(&mut object, session, extent);
    object.close()
}

pub(super) fn fill(object: &mut Object, session: &ThreedsSession, extent: Extent) {
    let Some(found) = &session.authentication else {
        return;
    };
    if extent != Extent::Session {
        object.display("session_id", session.id);
    }
    render_card(object, session);
    object.text("threeds_version", found.version.as_str());
    object.display("acs_transaction_id", found.acs_transaction);
    object.display("ds_transaction_id", found.ds_transaction);
    object.optional_display("sdk_transaction_id", found.sdk_transaction);
    object.text("acs_reference_number", &found.acs_reference);
    object.text("ds_reference_number", &found.ds_reference);
    object.optional_text("acs_operator_id", found.acs_operator.as_deref());
    let answers = [Extent::Authenticate, Extent::ChallengeResult].contains(&extent);
    member(object, "authentication_value", found.value.as_deref(), answers);
    object.text("authentication_status", found.status.word());
    object.text("authentication_status_code", found.status.code());
    object.text("directory_status_code", found.directory_status.code());
    let reason = found.reason.and_then(Reason::word);
    object.optional_text("authentication_status_reason", reason);
    let code = found.reason.map(Reason::code);
    object.optional_text("authentication_status_reason_code", code.as_deref());
    member(object, "eci", found.eci.as_deref(), answers);
    let is_shifted =
        matches!(found.status, TransactionStatus::Successful | TransactionStatus::Attempted);
    object.flag("liability_shifted", is_shifted);
    fill_challenge(object, found, extent);
    object.optional_text("cardholder_info", found.cardholder_info.as_deref());
    object.optional_text("whitelist_status", found.whitelist_status.map(WhitelistStatus::word));
    object.optional_text(
        "whitelist_status_source",
        found.whitelist_source.map(WhitelistSource::word),
    );
    let extensions = json!(
        found
            .extensions
            .iter()
            .map(|it| json!({
                "id": it.id, "name": it.name, "critical": it.critical, "data": it.data,
            }))
            .collect::<Vec<_>>()
    );
    if !found.extensions.is_empty() {
        object.value("message_extensions", &extensions);
    } else if extent == Extent::ChallengeResult {
        object.json("message_extensions", "null");
    }
}

fn fill_challenge(object: &mut Object, found: &Authentication, extent: Extent) {
    let always = extent == Extent::ChallengeResult;
    let mandated = found.challenge_mandated.map(YesNo::code);
    member(object, "acs_challenge_mandated", mandated, always);
    let kind = found.challenge_type.map(ChallengeType::word);
    member(object, "authentication_challenge_type", kind, always);
    member(object, "acs_challenge_url", found.acs_url.as_deref(), always);
    object.optional_text("acs_signed_content", found.acs_signed_content.as_deref());
    if let Some((interface, template)) = &found.acs_rendering_type {
        object.object("acs_rendering_type", |object| {
            object.text("acsInterface", interface);
            object.text("acsUiTemplate", template);
        });
    }
    let decoupled = found.decoupled.map(YesNo::code);
    object.optional_text("acs_decoupled_authentication", decoupled);
    object.optional_text("challenge_preference", found.preference.map(ChallengePreference::word));
    object.optional_text(
        "challenge_preference_code",
        found.preference.map(ChallengePreference::code),
    );
    member(object, "challenge_attempts", found.attempts.as_deref(), always);
    object.optional_text("challenge_cancel_reason", found.cancel.map(CancelReason::word));
    object.optional_text("challenge_cancel_reason_code", found.cancel.map(CancelReason::code));
}

fn member(object: &mut Object, name: &str, value: Option<&str>, is_always: bool) {
    if is_always {
        object.nullable_text(name, value);
    } else {
        object.optional_text(name, value);
    }
}
