use serde_json::{Map, json};

use super::*;
use crate::domain::id::{ApplicationId, SessionId, TenantId};
use crate::domain::time::Timestamp;
use crate::threeds::Scheme;
use crate::threeds::codes::AuthenticationType;
use crate::threeds::message::{parse, render};
use crate::threeds::request::Requestor;
use crate::threeds::session::{CardOrigin, CardSource, Device, SessionKind, WebChallengeMode};
use crate::threeds::simulator::{SimulatorUrls, enrol};
use crate::threeds::state::{MethodState, SessionState};

fn session(kind: SessionKind, device: Option<Device>) -> ThreedsSession {
    let places = SimulatorUrls { base: "https://vault.example" };
    let (_, enrolment) = enrol("4242424242424242", &places).unwrap();
    let expires_at = Timestamp::from_seconds(1);
    let id = Uuid::from_bytes([5; 16]);
    ThreedsSession {
        id: SessionId::new(id),
        tenant: TenantId::new(id),
        kind,
        device,
        device_info: DeviceInfo {
            browser_language: Some(String::from("en-GB-oxendict")),
            browser_color_depth: Some(String::from("30")),
            browser_tz: Some(String::from("-180")),
            browser_screen_height: Some(String::from("1440")),
            browser_java_enabled: Some(false),
            browser_javascript_enabled: Some(true),
            sdk_transaction_id: Some(id.to_string()),
            sdk_max_timeout: Some(String::from("5")),
            sdk_ephemeral_public_key: Some(json!(r#"{"kty":"EC"}"#)),
            sdk_interface: Some(String::from("01")),
            sdk_ui_types: Some(vec![String::from("01")]),
            ..DeviceInfo::default()
        },
        card: CardSource::Token(String::from("abc")),
        scheme: Scheme::Visa,
        additional_brands: Vec::new(),
        enrolment,
        web_challenge_mode: WebChallengeMode::Iframe,
        metadata: None,
        expires_at,
        kept_until: expires_at,
        card_origin: CardOrigin { record: id, fingerprint: String::new(), number: String::new() },
        created_by: ApplicationId::new(id),
        created_at: expires_at,
        modified_by: None,
        modified_at: None,
        state: SessionState::Created { method: MethodState::Completed, expires_at },
        waits_until: None,
        method_outcome: None,
        sent: None,
        authentication: None,
        simulated: None,
    }
}

fn request() -> AuthenticationRequest {
    let text = |text: &str| Some(String::from(text));
    AuthenticationRequest {
        category: Some(Category::Payment),
        kind: Some(AuthenticationType::RecurringTransaction),
        decoupled_minutes: Some(10),
        preference: Some(ChallengePreference::ChallengeRequestedWhitelistPrompt),
        purchase: Some(Purchase {
            amount: text("80000"),
            currency: text("826"),
            exponent: text("2"),
            date: text("20240109141010"),
            recurring_frequency: text("30"),
            ..Purchase::default()
        }),
        merchant: Some(Merchant {
            name: text(&"n".repeat(60)),
            country_code: text("826"),
            category_code: text("7922"),
            risk: Some(Risk {
                gift_card_count: text("1"),
                pre_order_purchase: Some(true),
                reordered_purchase: Some(false),
                ..Risk::default()
            }),
            ..Merchant::default()
        }),
        requestor: Some(Requestor { id: text("id"), name: text("name"), url: text("https://a") }),
        cardholder: Some(Cardholder {
            name: text("John Doe"),
            email: text("john@me.com"),
            phone: Some(PhoneNumber { country_code: text("+44"), number: text("(020) 7946-0000") }),
            work_phone: Some(PhoneNumber { country_code: text("44"), number: None }),
            billing: Some(Address {
                state_code: text("US-CA"),
                country_code: text("840"),
                ..Address::default()
            }),
            login: Some(Login { method: Some(LoginMethod::SrcAssuranceData), ..Login::default() }),
            prior: Some(PriorAuthentication {
                reference_id: text("not a uuid"),
                ..PriorAuthentication::default()
            }),
            account: Some(Account {
                created_date: text("2020-01-31"),
                shipping_name_match: Some(true),
                suspicious_activity: Some(true),
                ..Account::default()
            }),
            ..Cardholder::default()
        }),
        broadcast: Some(Map::from_iter([(String::from("any"), json!("thing"))])),
        extensions: Some(vec![
            RequestedExtension {
                id: String::from("A1"),
                name: String::from("n"),
                critical: false,
                data: json!("plain"),
            },
            RequestedExtension {
                id: String::from("A2"),
                name: String::from("n"),
                critical: false,
                data: json!(r#"{"a":1}"#),
            },
        ]),
        ..AuthenticationRequest::default()
    }
}

fn server() -> ServerIdentity {
    ServerIdentity {
        reference: String::from("REF"),
        operator: None,
        results_url: String::from("https://vault.example/3ds/results"),
        notification_url: String::from("https://vault.example/n"),
    }
}

fn card() -> PaymentCard {
    PaymentCard {
        number: CardNumber::parse("4242424242424242").unwrap(),
        expiration_month: Some(7),
        expiration_year: Some(2031),
    }
}

#[test]
fn a_body_that_was_not_checked_makes_no_request() {
    let session = session(SessionKind::Customer, Some(Device::Browser));
    let whole = request;
    for (body, path) in [
        (AuthenticationRequest { category: None, ..whole() }, "authentication_category"),
        (AuthenticationRequest { kind: None, ..whole() }, "authentication_type"),
        (
            AuthenticationRequest { kind: Some(AuthenticationType::TopUp), ..whole() },
            "authentication_type",
        ),
        (AuthenticationRequest { requestor: None, ..whole() }, "requestor_info"),
        (
            AuthenticationRequest { requestor: Some(Requestor::default()), ..whole() },
            "requestor_info.id",
        ),
    ] {
        let made = areq(&session, &body, card(), &server(), ProtocolVersion::V220);
        assert_eq!(made.err(), Some(UncheckedMember(path)));
    }
}

fn mapped(session: &ThreedsSession, version: ProtocolVersion) -> (Value, AreqSummary) {
    let (areq, sent) = areq(session, &request(), card(), &server(), version).unwrap();
    let bytes = render(&areq);
    // A receiver of the same version must accept the request.
    assert_eq!(parse::<Areq>(bytes.expose()).unwrap().version, version);
    (serde_json::from_slice(bytes.expose()).unwrap(), sent)
}

#[test]
fn members_go_to_their_elements_in_the_protocols_own_forms() {
    let session = session(SessionKind::Customer, Some(Device::Browser));
    let (areq, sent) = mapped(&session, ProtocolVersion::V220);
    for (name, expected) in [
        ("messageType", json!("AReq")),
        ("deviceChannel", json!("02")),
        ("messageCategory", json!("01")),
        ("threeDSServerTransID", json!(session.id.to_string())),
        ("threeDSRequestorAuthenticationInd", json!("02")),
        ("threeDSRequestorChallengeInd", json!("09")),
        ("threeDSRequestorDecReqInd", json!("N")),
        ("threeDSRequestorDecMaxTime", Value::Null),
        ("threeDSCompInd", json!("Y")),
        ("acctNumber", json!("4242424242424242")),
        ("cardExpiryDate", json!("3107")),
        ("merchantName", json!("n".repeat(40))),
        (
            "merchantRiskIndicator",
            json!({
                "giftCardCount": "01", "preOrderPurchaseInd": "02", "reorderItemsInd": "01",
            }),
        ),
        ("homePhone", json!({"cc": "44", "subscriber": "02079460000"})),
        ("workPhone", Value::Null),
        ("billAddrState", json!("CA")),
        ("threeDSRequestorAuthenticationInfo", json!({"threeDSReqAuthMethod": "08"})),
        (
            "acctInfo",
            json!({
                "chAccDate": "20200131", "shipNameIndicator": "01", "suspiciousAccActivity": "02",
            }),
        ),
        ("browserLanguage", json!("en")),
        ("browserColorDepth", json!("24")),
        ("browserTZ", json!("-180")),
        ("browserJavaEnabled", json!(false)),
        ("browserJavascriptEnabled", json!(true)),
        ("sdkTransID", Value::Null),
        ("broadInfo", json!({"any": "thing"})),
    ] {
        assert_eq!(areq[name], expected, "{name}");
    }
    assert_eq!(areq["messageExtension"][0]["data"], json!({"data": "plain"}));
    assert_eq!(areq["messageExtension"][1]["data"], json!({"a": 1}));
    assert_eq!(sent.decoupled, YesNo::No);
    let holds_empty = areq.as_object().unwrap().values().any(|it| it.is_null() || *it == json!(""));
    assert!(!holds_empty);
}

#[test]
fn the_older_version_gets_the_nearest_that_it_knows() {
    let session = session(SessionKind::Customer, Some(Device::Browser));
    let (areq, _) = mapped(&session, ProtocolVersion::V210);
    assert_eq!(areq["threeDSRequestorChallengeInd"], "03");
    assert_eq!(areq["threeDSRequestorAuthenticationInfo"]["threeDSReqAuthMethod"], "05");
    for name in ["browserJavascriptEnabled", "threeDSRequestorDecReqInd"] {
        assert_eq!(areq.get(name), None, "{name}");
    }
    for preference in ChallengePreference::ALL {
        let known = downgraded(*preference, ProtocolVersion::V210);
        assert_eq!(known.since(), ProtocolVersion::V210);
    }
}

#[test]
fn a_merchant_alone_asks_for_a_decoupled_challenge_and_tells_of_no_device() {
    let (areq, sent) = mapped(&session(SessionKind::Merchant, None), ProtocolVersion::V220);
    assert_eq!(areq["deviceChannel"], "03");
    assert_eq!(areq["threeRIInd"], "01");
    assert_eq!(areq["threeDSRequestorDecReqInd"], "Y");
    assert_eq!(areq["threeDSRequestorDecMaxTime"], "00010");
    for name in ["browserUserAgent", "threeDSCompInd", "threeDSRequestorAuthenticationInd"] {
        assert_eq!(areq.get(name), None, "{name}");
    }
    assert_eq!((sent.channel, sent.decoupled), (Channel::Merchant, YesNo::Yes));
}

#[test]
fn an_app_tells_of_its_sdk() {
    let (areq, sent) =
        mapped(&session(SessionKind::Customer, Some(Device::Mobile)), ProtocolVersion::V220);
    assert_eq!(areq["deviceChannel"], "01");
    assert_eq!(areq["sdkMaxTimeout"], "05");
    assert_eq!(areq["sdkEphemPubKey"], json!({"kty": "EC"}));
    assert_eq!(areq["deviceRenderOptions"], json!({"sdkInterface": "01", "sdkUiType": ["01"]}));
    assert_eq!(areq.get("browserTZ"), None);
    assert!(sent.sdk_transaction.is_some());
}
