//! 3-D Secure sessions.

use crate::bounds::{THREEDS_DEVICE_DATA_CHARS_MAX, THREEDS_TEXT_CHARS_MAX};
use crate::http::Schema;
use crate::http::openapi::{Description, LOCATION, Tag};
use crate::http::wire::answer::Answer as _;
use crate::http::wire::threeds::authenticate;
use crate::http::wire::threeds::outcome::Outcome;
use crate::http::wire::threeds::session::{CreatedSession, SessionAnswer, kind, mode};

const CREATE: &str =
    r#"{"token_id":"01a1dd38-4eda-4df5-855c-ecae962e987a","type":"customer","device":"browser"}"#;
const CREATED: &str = r#"{"id":"01a1dd3e-9c80-4f32-8d5e-6f7a8b9c0d1e","type":"customer",
    "card_brand":"Visa","cardBrand":"Visa","method_url":"https://127.0.0.1:8443/3ds/sim/acs/method",
    "method_notification_url":"https://127.0.0.1:8443/3ds/sessions/01a1dd3e-9c80-4f32-8d5e-6f7a8b9c0d1e/method-notification",
    "directory_server_id":"M000000003","recommended_version":"2.2.0"}"#;
const SESSION: &str = r#"{"id":"01a1dd3e-9c80-4f32-8d5e-6f7a8b9c0d1e",
    "tenant_id":"01a1dd38-4d57-49ac-a33c-12c26cc2569e","type":"customer",
    "token_id":"01a1dd38-4eda-4df5-855c-ecae962e987a","card_brand":"Visa",
    "expiration_date":"2026-01-31T10:30:00.1234560+00:00",
    "created_date":"2026-01-31T09:30:00.1234560+00:00",
    "created_by":"01a1dd38-4d58-4f19-9d0b-6f8a7d3c2b10","device":"browser",
    "web_challenge_mode":"iframe","device_info":{"browser_ip_address":"203.0.113.7",
    "browser_ip":"203.0.113.7","browser_language":"en-US"},"version":{"recommended_version":"2.2.0",
    "available_version":["2.1.0","2.2.0"],"available_versions":["2.1.0","2.2.0"],
    "earliest_acs_supported_version":"2.1.0","earliest_ds_supported_version":"2.1.0",
    "latest_acs_supported_version":"2.2.0","latest_ds_supported_version":"2.2.0",
    "acs_information":["threeds-auth-available"]},"method":{
    "method_url":"https://127.0.0.1:8443/3ds/sim/acs/method","method_completion_indicator":"Y"}}"#;
const AUTHENTICATE: &str = r#"{"authentication_category":"payment",
    "authentication_type":"payment-transaction","purchase_info":{"amount":"1099",
    "currency":"EUR","exponent":"2","date":"20260131093000",
    "transaction_type":"purchase"},"requestor_info":{"id":"shop-1",
    "name":"Shop","url":"https://shop.example"},"merchant_info":{"mid":"9876543210001",
    "acquirer_bin":"400000","name":"Shop","country_code":"276","category_code":"5411"},
    "cardholder_info":{"name":"Ada Lovelace","email":"ada@shop.example"}}"#;

const OUTCOME: &str = r#"{"session_id":"01a1dd3e-9c80-4f32-8d5e-6f7a8b9c0d1e",
    "token_id":"01a1dd38-4eda-4df5-855c-ecae962e987a","threeds_version":"2.2.0",
    "acs_transaction_id":"53f2d008-f657-4e15-838a-71b10fed5c95",
    "ds_transaction_id":"b69a6279-8815-4f5c-8452-725d14e2e4f3",
    "acs_reference_number":"STRONGROOM-SIM-ACS-0001","ds_reference_number":"STRONGROOM-SIM-DS-0001",
    "acs_operator_id":"STRONGROOM-SIM","authentication_value":"v32Vh2ameLi79zRa9OObLwyptCg=",
    "authentication_status":"successful","authentication_status_code":"Y",
    "directory_status_code":"Y","eci":"05","liability_shifted":true}"#;

pub(super) fn operations() -> Vec<Description> {
    let mut all = sessions();
    all.extend(authentication());
    all
}

fn sessions() -> Vec<Description> {
    let created = || Schema::reference("ThreedsSessionCreated");
    vec![
        Description::new("CreateThreedsSession", Tag::Threeds, "Create a 3DS session")
            .about(
                "Finds out whether the card takes part in 3-D Secure, and the version \
                 that its issuer supports. The browser SDK calls it with a public key.",
            )
            .takes(Schema::reference("CreateThreedsSessionRequest"))
            .sends("browser", "A token's card, with the cardholder's browser", CREATE)
            .answers(201, "The session.", created())
            .with_header(LOCATION)
            .shows("browser", "A session for a browser", CREATED)
            .fails(403, "The key may not use this card, or 3-D Secure is off for the tenant.")
            .fails(424, "A server that takes part in 3-D Secure failed, or none knows the card."),
        Description::new("ReadThreedsSession", Tag::Threeds, "Read a 3DS session")
            .answers(
                200,
                "The session, with its outcome if there is one.",
                Schema::reference("ThreedsSession"),
            )
            .shows("created", "A session before its authentication", SESSION),
        Description::new(
            "UpdateThreedsSession",
            Tag::Threeds,
            "Describe the device of a 3DS session",
        )
        .about("The mobile SDK calls it before the authentication.")
        .takes(Schema::object().has("device_info", Schema::reference("DeviceInfo")))
        .sends(
            "browser",
            "The language of a browser",
            r#"{"device_info":{"browser_language":"en-US"}}"#,
        )
        .answers(200, "The session.", created())
        .shows("browser", "A session for a browser", CREATED)
        .fails(409, "The session has ended or is authenticated."),
    ]
}

fn authentication() -> Vec<Description> {
    let outcome = || Schema::reference("ThreedsOutcome");
    vec![
        Description::new("AuthenticateThreedsSession", Tag::Threeds, "Authenticate a 3DS session")
            .about(
                "Asks the issuer. The outcome is final unless its status is `challenge` \
                 or `decoupled_challenge`.",
            )
            .takes(Schema::reference("AuthenticateRequest"))
            .sends("payment", "A payment of 10.99 euros", AUTHENTICATE)
            .answers(200, "The outcome so far.", outcome())
            .shows("successful", "Authenticated without a challenge", OUTCOME)
            .fails(409, "The session has ended or is authenticated.")
            .fails(424, "A server of 3-D Secure failed: create a new session."),
        Description::new("ReadChallengeResult", Tag::Threeds, "Read the result of a challenge")
            .answers(200, "The outcome after the challenge.", outcome())
            .shows("successful", "Authenticated without a challenge", OUTCOME)
            .fails(409, "The session has not been authenticated."),
    ]
}

pub(super) fn schemas() -> Vec<(&'static str, Schema)> {
    let mut all = vec![
        ("CreateThreedsSessionRequest", create_request()),
        ("ThreedsSessionCreated", CreatedSession::schema()),
        ("ThreedsSession", SessionAnswer::schema()),
        ("DeviceInfo", device_info()),
    ];
    all.extend(authenticate::schemas());
    all.push(("ThreedsOutcome", Outcome::schema()));
    all
}

pub(super) fn text() -> Schema {
    Schema::text().chars(1, THREEDS_TEXT_CHARS_MAX)
}

fn create_request() -> Schema {
    Schema::object()
        .about(
            "The card is one of `token_id`, `token_intent_id` and `pan`. The type may \
             be absent if there is a device.",
        )
        .with_one_of(&[&["token_id"], &["token_intent_id"], &["pan"]])
        .takes("token_id", text())
        .takes("token_intent_id", text())
        .takes("pan", text().about("The id of a token.").deprecated())
        .takes("type", kind())
        .takes("device", Schema::word(["browser", "mobile", "app"]))
        .takes("device_info", Schema::reference("DeviceInfo"))
        .takes("web_challenge_mode", mode())
        .takes(
            "metadata",
            Schema::object().about("The caller's own data, which is returned unchanged."),
        )
}

fn device_info() -> Schema {
    let number = || Schema::any_of([text(), Schema::integer()]);
    let render = Schema::object()
        .takes("sdk_interface", text())
        .takes("sdk_ui_type", Schema::list(Schema::text()).up_to_items(7));
    let key = Schema::any_of([text(), Schema::object()]);
    Schema::object()
        .about(
            "The cardholder's browser, or the app with the mobile SDK. Answers have \
             texts in place of numbers.",
        )
        .takes("browser_accept_header", text())
        .takes("browser_ip_address", text())
        .takes("browser_ip", text())
        .takes("browser_javascript_enabled", Schema::flag())
        .takes("browser_java_enabled", Schema::flag())
        .takes("browser_language", text())
        .takes("browser_color_depth", number())
        .takes("browser_screen_height", number())
        .takes("browser_screen_width", number())
        .takes("browser_tz", number())
        .takes("browser_user_agent", text())
        .takes("sdk_transaction_id", text())
        .takes("sdk_application_id", text())
        .takes("sdk_encryption_data", Schema::text().chars(1, THREEDS_DEVICE_DATA_CHARS_MAX))
        .takes("sdk_ephemeral_public_key", key)
        .takes("sdk_max_timeout", number())
        .takes("sdk_reference_number", text())
        .takes("sdk_render_options", render)
}
