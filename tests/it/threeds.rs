//! 3-D Secure from outside: every documented test card, from the token to the challenge's result.

use serde_json::{Value, json};
use strongroom::testing::TransactionStatus;
use strongroom::testing::base64;
use strongroom::testing::{CARDS, ChallengeKind, MethodSupport, Scenario};

use crate::harness::{Answer, Vault, get, needs_data_file, post};

/// An authenticate body that a customer's session takes.
pub(crate) fn body() -> Value {
    json!({
        "authentication_category": "payment",
        "authentication_type": "payment-transaction",
        "purchase_info": {
            "amount": "80000", "currency": "826", "exponent": "2", "date": "20240109141010",
            "transaction_type": "purchase",
        },
        "merchant_info": {
            "mid": "9876543210001", "acquirer_bin": "000000999", "name": "Example 3DS Merchant",
            "country_code": "826", "category_code": "7922",
        },
        "requestor_info": {
            "id": "example-3ds-merchant", "name": "Example", "url": "https://www.example.com",
        },
        "cardholder_info": {"name": "John Doe", "email": "john@me.com"},
    })
}

pub(crate) fn card(vault: &Vault, number: &str) -> String {
    vault.token(json!({
        "type": "card_number", "data": number, "deduplicate_token": false,
    }))
}

pub(crate) fn create(vault: &Vault, token: &str) -> Answer {
    let body = json!({
        "token_id": token, "device": "browser",
        "device_info": {"browser_language": "en", "browser_tz": "-60"},
    });
    vault.post("/3ds/sessions", &vault.keys.public, body)
}

pub(crate) fn authenticate(vault: &Vault, session: &str, body: Value) -> Answer {
    let path = format!("/3ds/sessions/{session}/authenticate");
    vault.post(&path, &vault.keys.private, body)
}

pub(crate) fn result(vault: &Vault, session: &str) -> Answer {
    vault.get(&format!("/3ds/sessions/{session}/challenge-result"), &vault.keys.private)
}

pub(crate) fn form(vault: &Vault, path: &str, fields: &[(&str, &str)]) -> Answer {
    let body: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let request = post(path).header("Content-Type", "application/x-www-form-urlencoded");
    vault.send(&request.body(body.join("&")))
}

/// The message that the SDK would post to the ACS.
pub(crate) fn creq(session: &str, authentication: &Answer) -> String {
    let creq = json!({
        "messageType": "CReq", "messageVersion": authentication.member("threeds_version"),
        "threeDSServerTransID": session,
        "acsTransID": authentication.member("acs_transaction_id"), "challengeWindowSize": "03",
    });
    base64::encode_url(creq.to_string().as_bytes())
}

fn hidden(page: &Answer, name: &str) -> String {
    let text = page.text();
    let start = format!("name=\"{name}\" value=\"");
    let rest = text.split_once(&start).unwrap_or_else(|| panic!("{text}")).1;
    String::from(rest.split_once('"').unwrap().0)
}

pub(crate) const ACS: &str = "/3ds/sim/acs/challenge";

#[test]
fn every_documented_card_ends_as_documented() {
    let vault = Vault::start();
    for known in CARDS {
        // Numbers of older sets without a check digit of their own cannot be stored.
        let made = vault.create(json!({"type": "card_number", "data": known.number}));
        assert_eq!(made.status, 201, "{}", known.number);
        let session = create(&vault, &made.id());
        match known.outcome {
            Scenario::NotEnrolled => {
                session.invalid(&["The card was not supported by any card schemes"]);
            }
            Scenario::ServerError => check_upstream(session, "3DS Server"),
            Scenario::DirectoryServerError => {
                let session = session.with_status(201).id();
                let failed = authenticate(&vault, &session, body());
                check_upstream(failed, "Directory Server");
                // Another try needs another session.
                authenticate(&vault, &session, body()).problem(409);
                result(&vault, &session).problem(409);
            }
            Scenario::Frictionless(verdict) => {
                let session = session.with_status(201).id();
                let done = authenticate(&vault, &session, body()).with_status(200);
                check_status(&done, verdict.status());
                check_status(&result(&vault, &session).with_status(200), verdict.status());
            }
            Scenario::Challenge(challenge) => {
                let session = session.with_status(201);
                let has_method = session.json["method_url"].is_string();
                assert_eq!(has_method, challenge.method == MethodSupport::Present);
                let session = session.id();
                let asked = authenticate(&vault, &session, body()).with_status(200);
                check_status(&asked, TransactionStatus::Challenge);
                let creq = creq(&session, &asked);
                form(&vault, ACS, &[("creq", &creq)]).with_status(200);
                let answer = match challenge.means {
                    ChallengeKind::Code => ("code", "1234"),
                    ChallengeKind::OutOfBand => ("action", "approve"),
                };
                form(&vault, ACS, &[("creq", &creq), answer]).with_status(200);
                let found = result(&vault, &session).with_status(200);
                check_status(&found, challenge.verdict.status());
                assert_eq!(found.json["challenge_attempts"], "01");
                assert_eq!(found.json["directory_status_code"], "C");
            }
        }
    }
}

#[track_caller]
fn check_status(answer: &Answer, status: TransactionStatus) {
    assert_eq!(answer.json["authentication_status"], status.word(), "{}", answer.text());
    assert_eq!(answer.json["authentication_status_code"], status.code());
    for name in ["threeds_version", "acs_transaction_id", "ds_transaction_id"] {
        assert!(answer.json[name].is_string(), "{name}");
    }
    let members = answer.json.as_object().unwrap();
    for name in ["acs_reference_number", "ds_reference_number", "authentication_value", "eci"] {
        assert!(members.contains_key(name), "{name}");
    }
    let proven = matches!(status, TransactionStatus::Successful | TransactionStatus::Attempted);
    assert_eq!(answer.json["authentication_value"].is_string(), proven, "{}", answer.text());
}

#[track_caller]
pub(crate) fn check_upstream(answer: Answer, source: &str) {
    let answer = answer.problem(424);
    assert_eq!(answer.json["title"], "3DS Service Error");
    assert_eq!(answer.json["error"]["error_source"], source);
    for name in ["service_status", "session_id", "message", "detail"] {
        assert!(answer.json["error"][name].is_string(), "{name} in {}", answer.text());
    }
}

#[test]
fn a_browser_session_runs_its_method_its_challenge_and_a_restart_between() {
    needs_data_file!("it searches the file");
    let mut vault = Vault::start();
    let token = card(&vault, "4200000000000004");
    let made = create(&vault, &token).with_status(201);
    assert_eq!(made.json["card_brand"], "Visa");
    assert_eq!(made.json["cardBrand"], "Visa");
    assert_eq!(made.json["type"], "customer");
    assert_eq!(made.json["recommended_version"], "2.2.0");
    let id = made.id();

    let url = made.member("method_notification_url");
    let data = json!({"threeDSServerTransID": id, "threeDSMethodNotificationURL": url});
    let data = base64::encode_url(data.to_string().as_bytes());
    let page = form(&vault, "/3ds/sim/acs/method", &[("threeDSMethodData", &data)]);
    let done = hidden(&page.with_status(200), "threeDSMethodData");
    let path = format!("/3ds/sessions/{id}/method-notification");
    let page = form(&vault, &path, &[("threeDSMethodData", &done)]).with_status(200);
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("frame-ancestors"));
    assert!(page.header("x-frame-options").is_none());
    assert!(
        page.text().contains(&format!(r#"{{"type":"method","isCompleted":true,"id":"{id}"}}"#))
    );
    let read = vault.get(&format!("/3ds/sessions/{id}"), &vault.keys.private).with_status(200);
    assert_eq!(read.json["method"]["method_completion_indicator"], "Y");
    assert_eq!(read.json["version"]["available_version"], json!(["2.1.0", "2.2.0"]));
    assert_eq!(read.json["version"]["available_versions"], json!(["2.1.0", "2.2.0"]));
    let device = &read.json["device_info"];
    assert_eq!(device["browser_ip"], device["browser_ip_address"]);
    assert_eq!(device["browser_language"], "en");

    let asked = authenticate(&vault, &id, body()).with_status(200);
    let creq = creq(&id, &asked);
    vault.stop_and_restart();
    let page = form(&vault, ACS, &[("creq", &creq)]).with_status(200);
    assert!(page.text().contains("1234"));
    let page = form(&vault, ACS, &[("creq", &creq), ("code", "0000")]).with_status(200);
    assert!(page.text().contains("not right"));
    let page = form(&vault, ACS, &[("creq", &creq), ("code", "1234")]).with_status(200);
    let carried = hidden(&page, "cres");
    let path = format!("/3ds/sessions/{id}/challenge-notification");
    let page = form(&vault, &path, &[("cres", &carried)]).with_status(200);
    assert!(page.text().contains(r#""authenticationStatus":"successful""#), "{}", page.text());
    let found = result(&vault, &id).with_status(200);
    check_status(&found, TransactionStatus::Successful);
    assert_eq!(found.json["challenge_attempts"], "02");
    assert_eq!(found.json["message_extensions"], Value::Null);
    vault.stop_and_verify();
    vault.assert_nowhere(&["4200000000000004"]);
}

/// A session whose challenge waits for its cardholder, the answer that says so, and the `CReq`.
fn challenged(vault: &Vault) -> (String, Answer, String) {
    let id = create(vault, &card(vault, "4200000000000004")).with_status(201).id();
    let asked = authenticate(vault, &id, body()).with_status(200);
    let creq = creq(&id, &asked);
    (id, asked, creq)
}

#[test]
fn the_notification_page_says_the_stored_status_whatever_the_form_says() {
    let vault = Vault::start();
    let (id, asked, creq) = challenged(&vault);
    let forged = json!({
        "messageType": "CRes", "messageVersion": asked.member("threeds_version"),
        "threeDSServerTransID": id, "acsTransID": asked.member("acs_transaction_id"),
        "challengeCompletionInd": "Y", "transStatus": "Y",
    });
    let forged = base64::encode_url(forged.to_string().as_bytes());
    let path = format!("/3ds/sessions/{id}/challenge-notification");
    let say = |cres: &str| form(&vault, &path, &[("cres", cres)]).with_status(200).text();
    assert!(say(&forged).contains(r#""isCompleted":false"#), "the challenge is not over");
    let page = form(&vault, ACS, &[("creq", &creq), ("action", "cancel")]).with_status(200);
    for cres in [hidden(&page, "cres"), forged] {
        let said = say(&cres);
        assert!(said.contains(r#""authenticationStatus":"failed""#), "{said}");
    }
    assert_ne!(result(&vault, &id).json["authentication_status"], "successful");
}

#[test]
fn a_session_in_redirect_mode_closes_its_windows_and_tells_their_opener() {
    let vault = Vault::start();
    let token = card(&vault, "4200000000000004");
    let made = json!({
        "token_id": token, "device": "browser", "web_challenge_mode": "redirect",
        "device_info": {"browser_language": "en"},
    });
    let made = vault.post("/3ds/sessions", &vault.keys.public, made).with_status(201);
    let id = made.id();
    // The SDK adds the mode to the URL itself.
    let url = format!("{}?mode=redirect", made.member("method_notification_url"));
    let data = json!({"threeDSServerTransID": id, "threeDSMethodNotificationURL": url});
    let data = base64::encode_url(data.to_string().as_bytes());
    let page = form(&vault, "/3ds/sim/acs/method", &[("threeDSMethodData", &data)]);
    let path = format!("/3ds/sessions/{id}/method-notification?mode=redirect");
    assert!(page.text().contains(&format!("action=\"{path}\"")), "{}", page.text());
    let done = hidden(&page.with_status(200), "threeDSMethodData");
    let page = form(&vault, &path, &[("threeDSMethodData", &done)]).with_status(200);
    assert!(page.text().contains("window.close()"), "{}", page.text());
    let read = vault.get(&format!("/3ds/sessions/{id}"), &vault.keys.private).with_status(200);
    assert_eq!(read.json["method"]["method_completion_indicator"], "Y");
    assert_eq!(read.json["web_challenge_mode"], "redirect");

    let asked = authenticate(&vault, &id, body()).with_status(200);
    let creq = creq(&id, &asked);
    let page = form(&vault, ACS, &[("creq", &creq), ("code", "1234")]).with_status(200);
    let carried = hidden(&page, "cres");
    let path = format!("/3ds/sessions/{id}/challenge-notification");
    let page = form(&vault, &path, &[("cres", &carried)]).with_status(200);
    for part in ["window.opener", "window.close()", r#""authenticationStatus":"successful""#] {
        assert!(page.text().contains(part), "{part} in {}", page.text());
    }
    check_status(&result(&vault, &id).with_status(200), TransactionStatus::Successful);
}

#[test]
fn cancelling_and_three_wrong_codes_end_a_challenge() {
    let vault = Vault::start();
    let (id, _, canceled) = challenged(&vault);
    form(&vault, ACS, &[("creq", &canceled), ("action", "cancel")]).with_status(200);
    let found = result(&vault, &id).with_status(200);
    assert_eq!(found.json["authentication_status"], "failed");
    assert_eq!(found.json["challenge_cancel_reason"], "cardholder-canceled");
    assert_eq!(found.json["challenge_cancel_reason_code"], "01");
    let (id, _, wrong) = challenged(&vault);
    for _ in 0..3 {
        form(&vault, ACS, &[("creq", &wrong), ("code", "9")]).with_status(200);
    }
    let found = result(&vault, &id).with_status(200);
    assert_eq!(found.json["authentication_status_reason"], "max-challenges-exceeded");
    // It is over: a right code comes too late.
    form(&vault, ACS, &[("creq", &wrong), ("code", "1234")]).with_status(200);
    assert_eq!(result(&vault, &id).json["authentication_status"], "failed");
}

#[test]
fn a_challenge_that_nobody_answers_is_unavailable_after_an_hour() {
    let vault = Vault::start();
    let (id, ..) = challenged(&vault);
    vault.advance(3_599);
    assert_eq!(result(&vault, &id).json["authentication_status"], "challenge");
    vault.advance(2);
    let found = result(&vault, &id).with_status(200);
    assert_eq!(found.json["authentication_status"], "unavailable");
    assert_eq!(found.json["authentication_status_reason"], "timeout-at-acs");
}

#[test]
fn a_merchant_alone_is_answered_at_once_or_by_the_issuers_own_means() {
    let vault = Vault::start();
    let start = |number: &str| {
        let body = json!({"token_id": card(&vault, number), "type": "merchant"});
        let made = vault.post("/3ds/sessions", &vault.keys.private, body).with_status(201);
        assert_eq!(made.json["method_url"], Value::Null);
        assert_eq!(made.json["method_notification_url"], Value::Null);
        made.id()
    };
    let merchants = |more: Value| {
        let mut body = body();
        body["authentication_type"] = json!("other-payment");
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let id = start("4242424242424242");
    authenticate(&vault, &id, merchants(json!({}))).invalid(&["decoupled_challenge_max_time"]);
    let with_time = || merchants(json!({"decoupled_challenge_max_time": 10}));
    check_status(&authenticate(&vault, &id, with_time()), TransactionStatus::Successful);
    let id = start("4200000000000009");
    let asked = authenticate(&vault, &id, with_time()).with_status(200);
    check_status(&asked, TransactionStatus::DecoupledChallenge);
    assert_eq!(asked.json["authentication_challenge_type"], "decoupled");
    vault.advance(3);
    let found = result(&vault, &id).with_status(200);
    check_status(&found, TransactionStatus::Failed);
    let id = start("4200000000000004");
    let alone = merchants(json!({
        "decoupled_challenge_max_time": 10, "request_decoupled_challenge": false,
    }));
    let found = authenticate(&vault, &id, alone).with_status(200);
    assert_eq!(found.json["authentication_status_reason"], "decoupled-authentication-required");
}

#[test]
fn data_sharing_is_answered_with_information() {
    let vault = Vault::start();
    let id = create(&vault, &card(&vault, "4200000000000002")).with_status(201).id();
    let mut body = body();
    body["challenge_preference"] = json!("no-challenge-data-sharing-only");
    let found = authenticate(&vault, &id, body).with_status(200);
    assert_eq!(found.json["authentication_status"], "informational");
    assert_eq!(found.json["challenge_preference_code"], "06");
}

#[test]
fn a_mobile_session_takes_its_device_later() {
    let vault = Vault::start();
    let token = card(&vault, "4242424242424242");
    let made = vault
        .post("/3ds/sessions", &vault.keys.public, json!({"token_id": token, "device": "app"}))
        .with_status(201);
    assert!(made.json["method_url"].is_string());
    let id = made.id();
    let device = json!({"device_info": {
        "sdk_transaction_id": "018bcfe5-6800-4fff-bfff-ffffffffffff",
        "sdk_application_id": "018bcfe5-6800-4fff-bfff-fffffffffffe",
        "sdk_encryption_data": "a.b.c.d.e", "sdk_ephemeral_public_key": "{\"kty\":\"EC\"}",
        "sdk_max_timeout": "05", "sdk_reference_number": "REF",
        "sdk_render_options": {"sdk_interface": "01", "sdk_ui_type": ["01", "02"]},
    }});
    let path = format!("/3ds/sessions/{id}");
    let put = vault.put(&path, &vault.keys.public, device.clone()).with_status(200);
    assert_eq!(put.id(), id);
    let read = vault.get(&path, &vault.keys.private).with_status(200);
    assert_eq!(read.json["device"], "mobile");
    assert_eq!(read.json["device_info"], device["device_info"]);
    let found = authenticate(&vault, &id, body()).with_status(200);
    check_status(&found, TransactionStatus::Successful);
    let transaction = device["device_info"]["sdk_transaction_id"].clone();
    assert_eq!(found.json["sdk_transaction_id"], transaction);
    vault.put(&path, &vault.keys.public, device).problem(409);
    vault.put(&path, &vault.keys.public, json!({})).invalid(&["device_info"]);
}

#[test]
fn cards_come_from_tokens_and_intents_of_the_tenant_alone() {
    let vault = Vault::start();
    let key = &vault.keys.private;
    let sessions = |body: Value| vault.post("/3ds/sessions", key, body);
    let intent = json!({"type": "card", "data": {
        "number": "4242424242424242", "expiration_month": 7, "expiration_year": 2031,
    }});
    let intent = vault.post("/token-intents", key, intent).with_status(201);
    let made = sessions(json!({"token_intent_id": intent.id(), "device": "browser"}));
    let id = made.with_status(201).id();
    let read = vault.get(&format!("/3ds/sessions/{id}"), key).with_status(200);
    assert_eq!(read.json["token_intent_id"], intent.json["id"]);
    assert_eq!(read.json["expiration_date"], intent.json["expires_at"]);
    authenticate(&vault, &id, body()).with_status(200);

    let token = card(&vault, "4242424242424242");
    let old = sessions(json!({"pan": token, "type": "customer"})).with_status(201).id();
    let read = vault.get(&format!("/3ds/sessions/{old}"), key);
    assert_eq!(read.json["pan_token_id"], json!(token));
    vault.delete(&format!("/tokens/{token}"), key).with_status(204);
    authenticate(&vault, &old, body()).invalid(&["pan"]);

    let text = vault.token(json!({"type": "token", "data": "4242424242424242"}));
    for (body, path) in [
        (json!({"token_id": "nothing", "type": "merchant"}), "token_id"),
        (json!({"token_intent_id": "nothing", "type": "merchant"}), "token_intent_id"),
        (json!({"token_id": text, "type": "merchant"}), "token_id"),
        (json!({"type": "merchant"}), "token_id"),
        (json!({"token_id": text, "pan": text, "type": "merchant"}), "token_id"),
        (json!({"token_id": text}), "type"),
        (json!({"token_id": text, "device": "toaster"}), "device"),
        (json!({"token_id": text, "device": "browser", "device_info": 7}), "device_info"),
    ] {
        sessions(body).invalid(&[path]);
    }
}

#[test]
fn a_session_authenticates_once_and_not_after_its_time() {
    let vault = Vault::start();
    let token = card(&vault, "4242424242424242");
    let id = create(&vault, &token).with_status(201).id();
    result(&vault, &id).problem(409);
    authenticate(&vault, &id, json!({})).invalid(&[
        "authentication_category",
        "authentication_type",
        "cardholder_info",
        "requestor_info",
    ]);
    authenticate(&vault, &id, body()).with_status(200);
    authenticate(&vault, &id, body()).problem(409);
    let late = create(&vault, &token).with_status(201).id();
    vault.advance(3_601);
    authenticate(&vault, &late, body()).problem(409);
    vault.get(&format!("/3ds/sessions/{late}"), &vault.keys.private).with_status(200);
    // An authenticated session does not expire; it is removed after 90 days.
    result(&vault, &id).with_status(200);
    vault.advance(90 * 86_400);
    result(&vault, &id).problem(404);
    vault.get(&format!("/3ds/sessions/{late}"), &vault.keys.private).problem(404);
}

#[test]
fn the_feature_and_the_tenant_are_needed() {
    let vault = Vault::start();
    let id = create(&vault, &card(&vault, "4242424242424242")).with_status(201).id();
    let path = format!("/3ds/sessions/{id}");
    let other = vault.tenant("test");
    for (threeds, status) in [("off", 403), ("on", 404)] {
        let set = ["tenant", "set", "--tenant", &other.id, "--threeds", threeds];
        vault.operator(&set).with_code(0);
        vault.get(&path, &other.keys.private).problem(status);
    }

    let theirs = vault.tenant("production").keys.private;
    let card = json!({"type": "card_number", "data": "4242424242424242"});
    let token = vault.post("/tokens", &theirs, card).with_status(201).id();
    let session = json!({"token_id": token, "type": "merchant"});
    let refused = vault.post("/3ds/sessions", &theirs, session).problem(424);
    assert_eq!(refused.json["error"]["error_source"], "3DS Server");
}

#[test]
fn pages_take_nothing_that_is_not_theirs() {
    let vault = Vault::start();
    let id = create(&vault, &card(&vault, "4200000000000004")).with_status(201).id();
    for page in ["/pages/method.html", "/pages/challenge.html"] {
        let page = vault.send(&get(page)).with_status(200);
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.contains("form-action https:"), "{policy}");
    }
    let notify = format!("/3ds/sessions/{id}/method-notification");
    form(&vault, &notify, &[]).with_status(400);
    let other = json!({"threeDSServerTransID": "018bcfe5-6800-4fff-bfff-ffffffffffff"});
    let other = base64::encode_url(other.to_string().as_bytes());
    form(&vault, &notify, &[("threeDSMethodData", &other)]).with_status(400);
    assert_eq!(vault.send(&get(&notify)).status, 405);
    // The built-in ACS sends browsers nowhere else.
    let elsewhere = json!({
        "threeDSServerTransID": id, "threeDSMethodNotificationURL": "https://evil.example/",
    });
    let elsewhere = base64::encode_url(elsewhere.to_string().as_bytes());
    form(&vault, "/3ds/sim/acs/method", &[("threeDSMethodData", &elsewhere)]).with_status(404);
    form(&vault, ACS, &[("creq", "e30")]).with_status(400);
    let asked = authenticate(&vault, &id, body()).with_status(200);
    let mut forged = asked.clone();
    forged.json["acs_transaction_id"] = json!("018bcfe5-6800-4fff-bfff-ffffffffffff");
    form(&vault, ACS, &[("creq", &creq(&id, &forged)), ("code", "1234")]).with_status(404);
    assert_eq!(result(&vault, &id).json["authentication_status"], "challenge");
}

#[test]
fn a_repeated_request_is_answered_once() {
    let vault = Vault::start();
    let token = card(&vault, "4242424242424242");
    let request = post("/3ds/sessions")
        .key(&vault.keys.private)
        .once("one")
        .json(json!({"token_id": token, "device": "browser"}));
    let first = vault.send(&request).with_status(201);
    let second = vault.send(&request).with_status(201);
    assert_eq!(first.json, second.json);
    assert_eq!(second.header("bt-idempotent-replayed"), Some("true"));
    let path = format!("/3ds/sessions/{}/authenticate", first.id());
    let request = post(&path).key(&vault.keys.private).once("two").json(body());
    let first = vault.send(&request).with_status(200);
    assert_eq!(vault.send(&request).with_status(200).json, first.json);
}
