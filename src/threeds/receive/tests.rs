use super::*;
use crate::threeds::message::{self, Message};
use serde_json::json;

fn id(last: u8) -> Uuid {
    Uuid::from_bytes([0, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, last])
}

const fn sent(channel: Channel, category: Category) -> AreqSummary {
    AreqSummary {
        version: ProtocolVersion::V220,
        channel,
        category,
        preference: None,
        decoupled: YesNo::No,
        sdk_transaction: None,
    }
}

const BROWSER: AreqSummary = sent(Channel::Browser, Category::Payment);
const VALUE: &str = "AAABBZEEBgAAAAAAAAQGAAAAAAA=";

/// A message with these members in addition to the required ones.
fn read<M: Message>(kind: &str, members: Value) -> M {
    let mut value = json!({
        "messageType": kind, "messageVersion": "2.2.0",
        "threeDSServerTransID": id(1).to_string(), "acsTransID": id(2).to_string(),
        "dsTransID": id(3).to_string(), "acsReferenceNumber": "ACS", "dsReferenceNumber": "DS",
    });
    let Value::Object(members) = members else { panic!() };
    value.as_object_mut().unwrap().extend(members);
    match message::parse(value.to_string().as_bytes()) {
        Ok(message) => message,
        Err(rejection) => panic!("{rejection:?}"),
    }
}

#[track_caller]
fn check(
    sent: AreqSummary,
    members: Value,
    expected: Result<TransactionStatus, (ErrorCode, &str)>,
) {
    let ares: Ares = read("ARes", members);
    let found = check_ares(id(1), &sent, &ares).map_err(|it| (it.code, it.detail));
    assert_eq!(found, expected.map_err(|(code, name)| (code, String::from(name))));
}

const MISSING: ErrorCode = ErrorCode::ElementMissing;
const WRONG: ErrorCode = ErrorCode::FormatInvalid;

#[test]
fn outcomes_need_their_proof_or_their_reason() {
    for (code, status) in
        [("Y", TransactionStatus::Successful), ("A", TransactionStatus::Attempted)]
    {
        let right = json!({"transStatus": code, "authenticationValue": VALUE});
        check(BROWSER, right, Ok(status));
        let bare = json!({"transStatus": code});
        check(BROWSER, bare.clone(), Err((MISSING, "authenticationValue")));
        check(sent(Channel::Browser, Category::NonPayment), bare, Ok(status));
    }
    for code in ["N", "U", "R"] {
        let bare = json!({"transStatus": code});
        check(BROWSER, bare.clone(), Err((MISSING, "transStatusReason")));
        let ares: Ares = read("ARes", json!({"transStatus": code, "transStatusReason": "01"}));
        assert!(check_ares(id(1), &BROWSER, &ares).is_ok());
    }
    check(BROWSER, json!({}), Err((MISSING, "transStatus")));
    check(
        sent(Channel::Merchant, Category::NonPayment),
        json!({}),
        Ok(TransactionStatus::Unavailable),
    );
}

#[test]
fn a_challenge_needs_its_place_and_somebody_to_challenge() {
    let challenge = json!({
        "transStatus": "C", "acsChallengeMandated": "Y", "authenticationType": "01",
        "acsURL": "https://acs.example/",
    });
    check(BROWSER, challenge.clone(), Ok(TransactionStatus::Challenge));
    for name in ["acsChallengeMandated", "authenticationType", "acsURL"] {
        let mut less = challenge.clone();
        less.as_object_mut().unwrap().remove(name);
        check(BROWSER, less, Err((MISSING, name)));
    }
    let app = sent(Channel::App, Category::Payment);
    check(app, challenge.clone(), Err((MISSING, "acsSignedContent")));
    let merchant = sent(Channel::Merchant, Category::Payment);
    check(merchant, challenge.clone(), Err((WRONG, "transStatus")));
    let data_only = AreqSummary {
        preference: Some(ChallengePreference::NoChallengeDataSharingOnly),
        ..BROWSER
    };
    check(data_only, challenge, Err((WRONG, "transStatus")));
}

#[test]
fn a_decoupled_challenge_must_have_been_asked_for() {
    let decoupled = json!({
        "transStatus": "D", "acsChallengeMandated": "N", "authenticationType": "04",
        "acsDecConInd": "Y", "cardholderInfo": "Look into your app.",
    });
    let asked = AreqSummary { decoupled: YesNo::Yes, ..sent(Channel::Merchant, Category::Payment) };
    check(asked, decoupled.clone(), Ok(TransactionStatus::DecoupledChallenge));
    check(BROWSER, decoupled.clone(), Err((WRONG, "transStatus")));
    for (name, member, error) in
        [("authenticationType", json!("02"), WRONG), ("acsDecConInd", json!("N"), WRONG)]
    {
        let mut other = decoupled.clone();
        other[name] = member;
        check(asked, other, Err((error, name)));
    }
    let mut silent = decoupled;
    silent.as_object_mut().unwrap().remove("cardholderInfo");
    check(asked, silent, Err((MISSING, "cardholderInfo")));
}

#[test]
fn an_informational_answer_needs_a_preference_that_allows_it() {
    for preference in ChallengePreference::ALL {
        let asked = AreqSummary { preference: Some(*preference), ..BROWSER };
        let allowed = ["05", "06", "07"].contains(&preference.code());
        let expected = if allowed {
            Ok(TransactionStatus::Informational)
        } else {
            Err((WRONG, "transStatus"))
        };
        check(asked, json!({"transStatus": "I"}), expected);
    }
}

#[test]
fn ids_and_versions_must_be_those_of_the_request() {
    let ares: Ares = read("ARes", json!({"transStatus": "I"}));
    let found = check_ares(id(9), &BROWSER, &ares).unwrap_err();
    assert_eq!(found.code, ErrorCode::TransactionUnknown);
    let older = AreqSummary { version: ProtocolVersion::V210, ..BROWSER };
    let found = check_ares(id(1), &older, &ares).unwrap_err();
    assert_eq!((found.code, found.detail.as_str()), (WRONG, "messageVersion"));
    check(
        BROWSER,
        json!({"transStatus": "Y", "authenticationValue": VALUE, "whiteListStatus": "Y"}),
        Err((MISSING, "whiteListStatusSource")),
    );
}

fn challenged() -> Authentication {
    let ares: Ares = read(
        "ARes",
        json!({
            "transStatus": "C", "acsChallengeMandated": "Y", "authenticationType": "01",
            "acsURL": "https://acs.example/",
        }),
    );
    Authentication::from_ares(ares, TransactionStatus::Challenge, &BROWSER)
}

fn result(change: Value) -> Rreq {
    let mut members = json!({
        "messageCategory": "01", "transStatus": "Y", "eci": "05", "authenticationType": "02",
        "authenticationValue": VALUE, "interactionCounter": "02",
    });
    let Value::Object(change) = change else { panic!() };
    for (name, member) in change {
        if member.is_null() {
            members.as_object_mut().unwrap().remove(&name);
        } else {
            members[name.as_str()] = member;
        }
    }
    read("RReq", members)
}

#[track_caller]
fn check_result(change: Value, expected: Result<TransactionStatus, (ErrorCode, &str)>) {
    let found = check_rreq(&BROWSER, &challenged(), &result(change));
    let found = found.map_err(|it| (it.code, it.detail));
    assert_eq!(found, expected.map_err(|(code, name)| (code, String::from(name))));
}

#[test]
fn results_are_held_against_the_challenge() {
    check_result(json!({}), Ok(TransactionStatus::Successful));
    for (code, ok) in [
        ("A", true),
        ("N", true),
        ("U", true),
        ("R", true),
        ("C", false),
        ("D", false),
        ("I", false),
    ] {
        let change = json!({"transStatus": code, "transStatusReason": "01"});
        assert_eq!(check_rreq(&BROWSER, &challenged(), &result(change)).is_ok(), ok, "{code}");
    }
    check_result(json!({"authenticationValue": null}), Err((MISSING, "authenticationValue")));
    check_result(json!({"authenticationType": null}), Err((MISSING, "authenticationType")));
    check_result(json!({"interactionCounter": null}), Err((MISSING, "interactionCounter")));
    check_result(json!({"transStatus": "N"}), Err((MISSING, "transStatusReason")));
    let timeout = json!({"transStatus": "N", "transStatusReason": "14"});
    check_result(timeout, Err((MISSING, "challengeCancel")));
    let odd = json!({"transStatus": "N", "transStatusReason": "14", "challengeCancel": "01"});
    check_result(odd, Err((WRONG, "challengeCancel")));
    check_result(json!({"messageCategory": "02"}), Err((WRONG, "messageCategory")));
    let other = json!({"acsTransID": id(7).to_string()});
    check_result(other, Err((ErrorCode::TransactionUnknown, "transaction ids")));
}

#[test]
fn a_result_takes_the_place_of_the_answer_but_the_directory_status_stays() {
    let mut authentication = challenged();
    authentication.take_result(result(json!({})), TransactionStatus::Successful);
    assert_eq!(authentication.status, TransactionStatus::Successful);
    assert_eq!(authentication.directory_status, TransactionStatus::Challenge);
    assert_eq!(authentication.value.as_deref(), Some(VALUE));
    assert_eq!(authentication.attempts.as_deref(), Some("02"));
    assert_eq!(authentication.challenge_mandated, Some(YesNo::Yes));
}

#[test]
fn the_receipt_says_whether_the_challenge_was_sent() {
    let receipt = rres(&result(json!({})));
    assert_eq!(receipt.results, ResultsStatus::Received);
    let never = result(json!({
        "transStatus": "N", "transStatusReason": "14", "challengeCancel": "05",
    }));
    assert_eq!(rres(&never).results, ResultsStatus::NoChallengeSent);
}

#[test]
fn a_challenge_that_nobody_ended_is_unavailable() {
    let mut authentication = challenged();
    authentication.run_out();
    assert_eq!(authentication.status, TransactionStatus::Unavailable);
    assert_eq!(authentication.reason.and_then(Reason::word), Some("timeout-at-acs"));
    authentication.directory_status = TransactionStatus::DecoupledChallenge;
    authentication.run_out();
    let word = authentication.reason.and_then(Reason::word);
    assert_eq!(word, Some("decoupled-authentication-timeout"));
}
