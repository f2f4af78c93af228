//! The outcome of an authentication on the wire.

use serde_json::{Value, json};

use crate::http::Schema;
use crate::http::wire::answer::{Answer as _, answer};
use crate::http::wire::threeds::session::{card_ids, version};
use crate::http::wire::{Json, Object};
use crate::threeds::codes::{
    CancelReason, ChallengePreference, ChallengeType, Reason, TransactionStatus, WhitelistSource,
    WhitelistStatus, YesNo,
};
use crate::threeds::session::{Authentication, ReturnedExtension, ThreedsSession};

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
    Outcome::fill(object, (session, found, extent));
}

answer! {
    pub(in crate::http) Outcome<'a>(it: (&'a ThreedsSession, &'a Authentication, Extent)) {
        may_have session_id: id = (it.2 != Extent::Session).then_some(it.0.id);
        may_have pan_token_id: text = card_ids(it.0).0;
        may_have token_id: text = card_ids(it.0).1;
        may_have token_intent_id: text = card_ids(it.0).2;
        has threeds_version: text(version()) = it.1.version.as_str();
        has acs_transaction_id: id = it.1.acs_transaction;
        has ds_transaction_id: id = it.1.ds_transaction;
        may_have sdk_transaction_id: id = it.1.sdk_transaction;
        has acs_reference_number: text = &it.1.acs_reference;
        has ds_reference_number: text = &it.1.ds_reference;
        may_have acs_operator_id: text = it.1.acs_operator.as_deref();
        may_have authentication_value: nullable = (it.1.value.as_deref(), it.2 != Extent::Session),
            "The proof for the payment.";
        has authentication_status: word(statuses(TransactionStatus::word)) = it.1.status.word();
        has authentication_status_code: word(statuses(TransactionStatus::code)) = it.1.status.code();
        has directory_status_code: word(statuses(TransactionStatus::code))
            = it.1.directory_status.code();
        may_have authentication_status_reason: text = it.1.reason.and_then(Reason::word);
        may_have authentication_status_reason_code: text = it.1.reason.map(Reason::code).as_deref();
        may_have eci: nullable = (it.1.eci.as_deref(), it.2 != Extent::Session),
            "The electronic commerce indicator for the payment.";
        has liability_shifted: flag = matches!(
            it.1.status,
            TransactionStatus::Successful | TransactionStatus::Attempted
        );
        may_have acs_challenge_mandated: nullable(yes_no().or_null())
            = (it.1.challenge_mandated.map(YesNo::code), it.2 == Extent::ChallengeResult);
        may_have authentication_challenge_type: nullable(challenge_type().or_null())
            = (it.1.challenge_type.map(ChallengeType::word), it.2 == Extent::ChallengeResult);
        may_have acs_challenge_url: nullable
            = (it.1.acs_url.as_deref(), it.2 == Extent::ChallengeResult);
        may_have acs_signed_content: text = it.1.acs_signed_content.as_deref();
        may_have acs_rendering_type: object(Rendering) = it.1.acs_rendering_type.as_ref();
        may_have acs_decoupled_authentication: text(yes_no()) = it.1.decoupled.map(YesNo::code);
        may_have challenge_preference: word(ChallengePreference::ALL.iter().map(|it| it.word()))
            = it.1.preference.map(ChallengePreference::word);
        may_have challenge_preference_code: text = it.1.preference.map(ChallengePreference::code);
        may_have challenge_attempts: nullable
            = (it.1.attempts.as_deref(), it.2 == Extent::ChallengeResult);
        may_have challenge_cancel_reason: word(CancelReason::ALL.iter().map(|it| it.word()))
            = it.1.cancel.map(CancelReason::word);
        may_have challenge_cancel_reason_code: text = it.1.cancel.map(CancelReason::code);
        may_have cardholder_info: text = it.1.cardholder_info.as_deref(),
            "A text of the issuer for the cardholder.";
        may_have whitelist_status: word(WhitelistStatus::ALL.iter().map(|it| it.word()))
            = it.1.whitelist_status.map(WhitelistStatus::word);
        may_have whitelist_status_source: word(WhitelistSource::ALL.iter().map(|it| it.word()))
            = it.1.whitelist_source.map(WhitelistSource::word);
        may_have message_extensions: value(Schema::list(extension()).or_null())
            = extensions(it.1, it.2).as_ref();
    }

    Rendering<'a>(it: &'a (String, String)) {
        has acsInterface: text = &it.0;
        has acsUiTemplate: text = &it.1;
    }
}

fn extension() -> Schema {
    Schema::object()
        .has("id", Schema::text())
        .has("name", Schema::text())
        .has("critical", Schema::flag())
        .has("data", Schema::any())
        .closed()
}

fn statuses(name: fn(TransactionStatus) -> &'static str) -> impl Iterator<Item = &'static str> {
    TransactionStatus::ALL.iter().map(move |it| name(*it))
}

fn yes_no() -> Schema {
    Schema::word(YesNo::ALL.iter().map(|it| it.code()))
}

fn challenge_type() -> Schema {
    Schema::word(ChallengeType::ALL.iter().map(|it| it.word()))
}

fn extensions(found: &Authentication, extent: Extent) -> Option<Value> {
    if found.extensions.is_empty() {
        return (extent == Extent::ChallengeResult).then_some(Value::Null);
    }
    let json = |it: &ReturnedExtension| json!({"id": it.id, "name": it.name, "critical": it.critical, "data": it.data});
    Some(found.extensions.iter().map(json).collect())
}
