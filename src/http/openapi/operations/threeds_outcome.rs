//! The outcome of an authentication by 3-D Secure.

use crate::http::Schema;
use crate::threeds::ProtocolVersion;
use crate::threeds::codes::{
    CancelReason, ChallengePreference, ChallengeType, TransactionStatus, WhitelistSource,
    WhitelistStatus, YesNo,
};

pub(super) const EXAMPLE: &str = r#"{"session_id":"01a1dd3e-9c80-4f32-8d5e-6f7a8b9c0d1e",
    "token_id":"01a1dd38-4eda-4df5-855c-ecae962e987a","threeds_version":"2.2.0",
    "acs_transaction_id":"53f2d008-f657-4e15-838a-71b10fed5c95",
    "ds_transaction_id":"b69a6279-8815-4f5c-8452-725d14e2e4f3",
    "acs_reference_number":"STRONGROOM-SIM-ACS-0001","ds_reference_number":"STRONGROOM-SIM-DS-0001",
    "acs_operator_id":"STRONGROOM-SIM","authentication_value":"v32Vh2ameLi79zRa9OObLwyptCg=",
    "authentication_status":"successful","authentication_status_code":"Y",
    "directory_status_code":"Y","eci":"05","liability_shifted":true}"#;

pub(super) fn schemas() -> Vec<(&'static str, Schema)> {
    vec![("ThreedsOutcome", outcome())]
}

/// The members of the answers and of the outcome within a session. The operation decides which of
/// them are present without a value.
fn outcome() -> Schema {
    let statuses = |name: fn(&TransactionStatus) -> &'static str| {
        Schema::word(TransactionStatus::ALL.iter().map(name))
    };
    let extension = Schema::object()
        .has("id", Schema::text())
        .has("name", Schema::text())
        .has("critical", Schema::flag())
        .has("data", Schema::any())
        .closed();
    let members = Schema::object()
        .may_have("session_id", Schema::uuid())
        .may_have("pan_token_id", Schema::text())
        .may_have("token_id", Schema::text())
        .may_have("token_intent_id", Schema::text())
        .has("threeds_version", Schema::word(ProtocolVersion::ALL.map(ProtocolVersion::as_str)))
        .has("acs_transaction_id", Schema::uuid())
        .has("ds_transaction_id", Schema::uuid())
        .may_have("sdk_transaction_id", Schema::uuid())
        .has("acs_reference_number", Schema::text())
        .has("ds_reference_number", Schema::text())
        .may_have("acs_operator_id", Schema::text())
        .may_have(
            "authentication_value",
            Schema::text().or_null().about("The proof for the payment."),
        )
        .has("authentication_status", statuses(|it| it.word()))
        .has("authentication_status_code", statuses(|it| it.code()))
        .has("directory_status_code", statuses(|it| it.code()))
        .may_have("authentication_status_reason", Schema::text())
        .may_have("authentication_status_reason_code", Schema::text())
        .may_have(
            "eci",
            Schema::text().or_null().about("The electronic commerce indicator for the payment."),
        )
        .has("liability_shifted", Schema::flag());
    challenge(members)
        .may_have(
            "cardholder_info",
            Schema::text().about("A text of the issuer for the cardholder."),
        )
        .may_have("whitelist_status", Schema::word(WhitelistStatus::ALL.iter().map(|it| it.word())))
        .may_have(
            "whitelist_status_source",
            Schema::word(WhitelistSource::ALL.iter().map(|it| it.word())),
        )
        .may_have("message_extensions", Schema::list(extension).or_null())
        .closed()
}

fn challenge(members: Schema) -> Schema {
    let yes_no = || Schema::word(YesNo::ALL.iter().map(|it| it.code()));
    let rendering = Schema::object()
        .has("acsInterface", Schema::text())
        .has("acsUiTemplate", Schema::text())
        .closed();
    members
        .may_have("acs_challenge_mandated", yes_no().or_null())
        .may_have(
            "authentication_challenge_type",
            Schema::word(ChallengeType::ALL.iter().map(|it| it.word())).or_null(),
        )
        .may_have("acs_challenge_url", Schema::text().or_null())
        .may_have("acs_signed_content", Schema::text())
        .may_have("acs_rendering_type", rendering)
        .may_have("acs_decoupled_authentication", yes_no())
        .may_have(
            "challenge_preference",
            Schema::word(ChallengePreference::ALL.iter().map(|it| it.word())),
        )
        .may_have("challenge_preference_code", Schema::text())
        .may_have("challenge_attempts", Schema::text().or_null())
        .may_have(
            "challenge_cancel_reason",
            Schema::word(CancelReason::ALL.iter().map(|it| it.word())),
        )
        .may_have("challenge_cancel_reason_code", Schema::text())
}
