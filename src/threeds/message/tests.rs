#![expect(clippy::similar_names, reason = "the messages have these names in the protocol")]

use serde_json::{Value, json};
use uuid::Uuid;

use super::*;
use crate::threeds::codes::{ChallengeType, Reason, TransactionStatus, YesNo};
use crate::threeds::version::ProtocolVersion::{V210, V220};

const ID: &str = "018bcfe5-6800-4fff-bfff-ffffffffffff";

fn ares(version: &str) -> Value {
    json!({
        "messageType": "ARes", "messageVersion": version, "threeDSServerTransID": ID,
        "acsTransID": ID, "dsTransID": ID, "acsReferenceNumber": "ACS", "dsReferenceNumber": "DS",
        "transStatus": "C", "acsChallengeMandated": "N", "authenticationType": "02",
        "acsURL": "https://acs.example/challenge",
    })
}

fn rreq() -> Value {
    json!({
        "messageType": "RReq", "messageVersion": "2.2.0", "threeDSServerTransID": ID,
        "acsTransID": ID, "dsTransID": ID, "messageCategory": "01", "transStatus": "Y",
        "eci": "05", "authenticationType": "02", "authenticationMethod": "02",
        "authenticationValue": "AAABBZEEBgAAAAAAAAQGAAAAAAA=", "interactionCounter": "01",
    })
}

#[track_caller]
fn check_round_trip<M: Message + PartialEq + std::fmt::Debug>(value: &Value) {
    let message: M = parse(value.to_string().as_bytes()).unwrap();
    let rendered = render(&message);
    let again: Value = serde_json::from_slice(rendered.expose()).unwrap();
    assert_eq!(&again, value);
    assert_eq!(parse::<M>(rendered.expose()).unwrap(), message);
}

#[track_caller]
fn check_rejected<M: Message + std::fmt::Debug>(value: &Value, code: ErrorCode, detail: &str) {
    let rejection = parse::<M>(value.to_string().as_bytes()).unwrap_err();
    assert_eq!((rejection.code, rejection.detail.as_str()), (code, detail), "{value}");
}

fn with(mut value: Value, name: &str, member: Value) -> Value {
    value[name] = member;
    value
}

fn without(mut value: Value, name: &str) -> Value {
    value.as_object_mut().unwrap().remove(name);
    value
}

#[test]
fn messages_survive_a_round_trip() {
    check_round_trip::<Ares>(&ares("2.1.0"));
    let mut full = ares("2.2.0");
    for (name, member) in [
        ("sdkTransID", json!(ID)),
        ("acsOperatorID", json!("OP")),
        ("transStatusReason", json!("26")),
        ("authenticationValue", json!("kJMZRiDunhPsBwAU0hu9rrx0eWN6")),
        ("eci", json!("02")),
        ("acsSignedContent", json!("a.b.c")),
        ("acsRenderingType", json!({"acsInterface": "01", "acsUiTemplate": "04"})),
        ("acsDecConInd", json!("N")),
        ("cardholderInfo", json!("Call us.")),
        ("broadInfo", json!({"any": [1, {"thing": true}]})),
        ("whiteListStatus", json!("E")),
        ("whiteListStatusSource", json!("03")),
        (
            "messageExtension",
            json!([{"name": "n", "id": "A000000003-x", "criticalityIndicator": false, "data": {}}]),
        ),
    ] {
        full[name] = member;
    }
    check_round_trip::<Ares>(&full);
    check_round_trip::<Rreq>(&rreq());
    check_round_trip::<Rres>(&json!({
        "messageType": "RRes", "messageVersion": "2.1.0", "threeDSServerTransID": ID,
        "acsTransID": ID, "dsTransID": ID, "resultsStatus": "01",
    }));
    check_round_trip::<Erro>(&json!({
        "messageType": "Erro", "messageVersion": "2.2.0", "errorCode": "203",
        "errorComponent": "D", "errorDescription": "words", "errorDetail": "acctNumber",
        "errorMessageType": "AReq", "threeDSServerTransID": ID,
    }));
    check_round_trip::<Erro>(&json!({
        "messageType": "Erro", "messageVersion": "2.2.0", "errorCode": "999",
        "errorComponent": "A", "errorDescription": "words", "errorDetail": "more",
    }));
    check_round_trip::<Preq>(&json!({
        "messageType": "PReq", "messageVersion": "2.2.0", "threeDSServerTransID": ID,
        "threeDSServerRefNumber": "REF", "serialNum": "41",
    }));
    check_round_trip::<Pres>(&json!({
        "messageType": "PRes", "messageVersion": "2.2.0", "threeDSServerTransID": ID,
        "dsTransID": ID, "dsStartProtocolVersion": "2.1.0", "dsEndProtocolVersion": "2.3.1",
        "serialNum": "42", "cardRangeData": [{
            "startRange": "4200000000000000", "endRange": "4200000000000013", "actionInd": "M",
            "acsStartProtocolVersion": "2.1.0", "acsEndProtocolVersion": "2.2.0",
            "threeDSMethodURL": "https://acs.example/method", "acsInfoInd": ["01", "04"],
        }],
    }));
}

#[test]
fn forms_carry_requests_and_results_of_challenges() {
    let transaction = Uuid::parse_str(ID).unwrap();
    let creq = Creq {
        version: V220,
        server_transaction: transaction,
        acs_transaction: transaction,
        window_size: crate::threeds::codes::WindowSize::Large,
        extensions: None,
    };
    assert_eq!(Creq::from_form(&creq.to_form()).unwrap(), creq);
    let cres = |status| Cres {
        version: V210,
        server_transaction: transaction,
        acs_transaction: transaction,
        status,
        extensions: None,
    };
    for status in [TransactionStatus::Successful, TransactionStatus::Failed] {
        assert_eq!(Cres::from_form(&cres(status).to_form()).unwrap(), cres(status));
    }
    let legal = Cres::from_form(&cres(TransactionStatus::Unavailable).to_form());
    assert_eq!(legal.unwrap_err(), Rejection::new(ErrorCode::FormatInvalid, "transStatus"));
    assert_eq!(Creq::from_form("!").unwrap_err().code, ErrorCode::MessageInvalid);
}

#[test]
fn what_is_missing_is_named_all_at_once_and_before_what_is_wrong() {
    for name in [
        "threeDSServerTransID",
        "acsTransID",
        "dsTransID",
        "acsReferenceNumber",
        "dsReferenceNumber",
    ] {
        for gone in [without(ares("2.2.0"), name), with(ares("2.2.0"), name, json!(""))] {
            check_rejected::<Ares>(&gone, ErrorCode::ElementMissing, name);
        }
    }
    let two = without(without(ares("2.2.0"), "acsTransID"), "dsTransID");
    let two = with(two, "transStatus", json!("?"));
    check_rejected::<Ares>(&two, ErrorCode::ElementMissing, "acsTransID,dsTransID");
    let wrong = with(with(ares("2.2.0"), "transStatus", json!("?")), "eci", json!("123"));
    check_rejected::<Ares>(&wrong, ErrorCode::FormatInvalid, "transStatus,eci");
}

#[test]
fn what_is_present_but_empty_is_wrong_and_what_is_unknown_is_ignored() {
    for empty in [json!(""), Value::Null] {
        let value = with(ares("2.2.0"), "eci", empty);
        check_rejected::<Ares>(&value, ErrorCode::FormatInvalid, "eci");
    }
    let more = with(ares("2.2.0"), "purchaseFromTheFuture", json!({"a": 1}));
    assert!(parse::<Ares>(more.to_string().as_bytes()).is_ok());
    let inner = json!({"acsInterface": "01"});
    let value = with(ares("2.2.0"), "acsRenderingType", inner);
    check_rejected::<Ares>(&value, ErrorCode::ElementMissing, "acsRenderingType.acsUiTemplate");
}

#[test]
fn types_and_versions_are_checked_before_elements() {
    check_rejected::<Rreq>(&ares("2.2.0"), ErrorCode::MessageInvalid, "messageType");
    check_rejected::<Ares>(&json!([]), ErrorCode::MessageInvalid, "not JSON");
    assert_eq!(parse::<Ares>(b"{").unwrap_err().code, ErrorCode::MessageInvalid);
    let version = |version: &str| with(ares("2.2.0"), "messageVersion", json!(version));
    for unknown in ["2.0.0", "2.3.1", "1.0.2"] {
        check_rejected::<Ares>(&version(unknown), ErrorCode::VersionNotSupported, "2.1.0,2.2.0");
    }
    let none = without(ares("2.2.0"), "messageVersion");
    check_rejected::<Ares>(&none, ErrorCode::ElementMissing, "messageVersion");
}

#[test]
fn what_the_newer_version_brought_is_reserved_in_the_older() {
    for (name, member) in [
        ("transStatus", json!("D")),
        ("transStatus", json!("I")),
        ("transStatusReason", json!("22")),
        ("authenticationType", json!("04")),
    ] {
        let older = with(ares("2.1.0"), name, member.clone());
        check_rejected::<Ares>(&older, ErrorCode::FormatInvalid, name);
        let newer = with(ares("2.2.0"), name, member);
        assert!(parse::<Ares>(newer.to_string().as_bytes()).is_ok());
    }
    // In the older version the member counts as unknown.
    let older = with(ares("2.1.0"), "acsDecConInd", json!("not even a value"));
    let read: Ares = parse(older.to_string().as_bytes()).unwrap();
    assert_eq!(read.decoupled, None);
}

#[test]
fn no_newer_value_is_rendered_into_an_older_message() {
    let mut message: Ares = parse(ares("2.2.0").to_string().as_bytes()).unwrap();
    message.status = Some(TransactionStatus::DecoupledChallenge);
    message.challenge_type = Some(ChallengeType::Decoupled);
    message.decoupled = Some(YesNo::Yes);
    message.reason = Some(Reason::ACS_TECHNICAL_ISSUE);
    message.version = V210;
    let rendered: Value = serde_json::from_slice(render(&message).expose()).unwrap();
    for name in ["transStatus", "authenticationType", "acsDecConInd", "transStatusReason"] {
        assert_eq!(rendered.get(name), None, "{name}");
    }
}

#[test]
fn an_extension_that_must_be_understood_is_not() {
    let extension = |critical| json!([{"name": "n", "id": "A1", "criticalityIndicator": critical, "data": {"a": 1}}]);
    let value = with(ares("2.2.0"), "messageExtension", extension(true));
    check_rejected::<Ares>(&value, ErrorCode::ExtensionNotRecognised, "A1");
    check_round_trip::<Ares>(&with(ares("2.2.0"), "messageExtension", extension(false)));
    let long = json!(vec![extension(false)[0].clone(); 11]);
    let value = with(ares("2.2.0"), "messageExtension", long);
    check_rejected::<Ares>(&value, ErrorCode::FormatInvalid, "messageExtension");
}

#[test]
fn lengths_are_held() {
    let long = with(ares("2.2.0"), "acsURL", json!("x".repeat(2_049)));
    check_rejected::<Ares>(&long, ErrorCode::FormatInvalid, "acsURL");
    for value in ["AAABBZEEBgAAAAAAAAQGAAAAAAA", "AAABBZEEBgAAAAAAAAQGAAAAAAA!", "===="] {
        let wrong = with(ares("2.2.0"), "authenticationValue", json!(value));
        check_rejected::<Ares>(&wrong, ErrorCode::FormatInvalid, "authenticationValue");
    }
}

#[test]
fn an_error_names_the_transaction_and_the_element() {
    let about = with(ares("2.2.0"), "transStatus", json!("?"));
    let rejection = parse::<Ares>(about.to_string().as_bytes()).unwrap_err();
    let erro = rejection.into_erro(&about, Component::ThreedsServer);
    let rendered: Value = serde_json::from_slice(render(&erro).expose()).unwrap();
    assert_eq!(rendered["errorCode"], "203");
    assert_eq!(rendered["errorComponent"], "S");
    assert_eq!(rendered["errorDetail"], "transStatus");
    assert_eq!(rendered["errorMessageType"], "ARes");
    assert_eq!(rendered["threeDSServerTransID"], ID);
}

#[test]
fn a_card_number_is_in_no_debug_text() {
    let number = CardNumber::parse("4242424242424242").unwrap();
    let transaction = Uuid::nil();
    let areq = Areq::sample(
        V220,
        crate::threeds::codes::Channel::Browser,
        crate::threeds::codes::Category::Payment,
        transaction,
        number,
    );
    assert!(!format!("{areq:?}").contains("4242"));
}
