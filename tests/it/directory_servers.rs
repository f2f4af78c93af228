//! Production tenants and the directory servers of their schemes, over mutual TLS in both
//! directions. The directory server is the test's own.
#![expect(clippy::similar_names, reason = "the messages have these names in the protocol")]

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::harness::{
    Answer, Authority, Certificate, Connection, Directory, DirectoryServer, NUMBER, PATIENCE, Told,
    Vault, needs_data_file, post,
};
use crate::threeds::{self, authenticate, body, card, check_upstream, create, result};

const ACS: &str = "6d1f3a54-0001-4000-8000-0000000000ac";
const DS: &str = "6d1f3a54-0001-4000-8000-0000000000d5";
const PROOF: &str = "AAABBZEEBgAAAAAAAAQGAAAAAAA=";
const HOUR: u64 = 3_600;

/// A vault with a production tenant, and a directory server for Visa. Mastercard's has another
/// authority, and does not answer.
pub(crate) struct Scene {
    pub(crate) vault: Vault,
    server: DirectoryServer,
    pub(crate) visa: Authority,
    mastercard: Authority,
}

impl Scene {
    pub(crate) fn start(answering: impl Fn(&Value) -> Told + Send + 'static) -> Self {
        Self::start_with_timeout(20_000, answering)
    }

    fn start_with_timeout(
        timeout_ms: u32,
        answering: impl Fn(&Value) -> Told + Send + 'static,
    ) -> Self {
        let (visa, mastercard) = (Authority::new("Visa"), Authority::new("Mastercard"));
        let server = DirectoryServer::start(&visa.issue(), &visa, answering);
        let directory = Directory::new();
        let file = |name: &str, text: &str| directory.write(name, text, 0o600);
        let shown = visa.issue();
        let certificate = file("ds.pem", &shown.certificate);
        let key = file("ds.key", &shown.key);
        let (certificate, key) = (certificate.display(), key.display());
        let mut text = format!(
            "[threeds]\nserver_reference = \"REF-1\"\npublic_url = \"https://vault.example/\"\n\
             results_url = \"https://results.example:8444\"\nresults_listen = [\"127.0.0.1:0\"]\n\
             results_certificate = \"{certificate}\"\nresults_private_key = \"{key}\"\n"
        );
        for (scheme, authority) in [("visa", &visa), ("mastercard", &mastercard)] {
            let ca = file(&format!("{scheme}-ca.pem"), &authority.pem);
            write!(
                text,
                "[threeds.{scheme}]\nurl = \"https://localhost:{}/3ds\"\ncertificate = \
                 \"{certificate}\"\nprivate_key = \"{key}\"\nca = \"{}\"\noperator = \"OP-1\"\n\
                 timeout = \"{timeout_ms}ms\"\n",
                server.address.port(),
                ca.display()
            )
            .unwrap();
        }
        let settings = file("threeds.toml", &text);
        let flags = ["--tenant-type", "production", "--threeds", settings.to_str().unwrap()];
        let vault = Vault::start_in(directory, &flags);
        // The ranges are asked for when it starts; this waits until that is done.
        vault.advance(0);
        Self { vault, server, visa, mastercard }
    }

    fn session(&self) -> Answer {
        create(&self.vault, &card(&self.vault, NUMBER)).with_status(201)
    }

    fn authenticated(&self) -> String {
        let id = self.session().id();
        authenticate(&self.vault, &id, body()).with_status(200);
        id
    }

    /// Authenticates a new session, which fails, and returns the answer and the session.
    fn failing(&self) -> (Answer, String) {
        let session = self.session().id();
        (authenticate(&self.vault, &session, body()), session)
    }

    /// Sends a message to the listener for results as the directory server that has this
    /// certificate.
    fn tell_as(&self, shown: &Certificate, message: &str) -> std::io::Result<Answer> {
        let address = self.vault.results.unwrap();
        let mut connection = Connection::open(address, &self.visa.client(shown))?;
        connection.send(&telling(message))?;
        connection.receive()
    }

    #[track_caller]
    fn tell(&self, message: &Value) -> Value {
        self.tell_as(&self.visa.issue(), &message.to_string()).unwrap().with_status(200).json
    }

    /// That the result was wrong, with some members replaced.
    #[track_caller]
    fn tell_erro(&self, session: &str, more: Value) {
        let mut erro = json!({
            "messageType": "Erro", "messageVersion": "2.2.0", "errorCode": "203",
            "errorComponent": "D", "errorDescription": "x", "errorDetail": "transStatus",
            "errorMessageType": "RReq", "threeDSServerTransID": session, "acsTransID": ACS,
        });
        replace(&mut erro, more);
        let told = self.tell_as(&self.visa.issue(), &erro.to_string()).unwrap();
        assert!(told.with_status(200).bytes.is_empty());
    }
}

fn telling(message: &str) -> Vec<u8> {
    let request = post("/3ds/results").header("Content-Type", "application/JSON").body(message);
    request.bytes("results.example")
}

fn range(start: &str, end: &str) -> Value {
    json!({
        "startRange": start, "endRange": end,
        "acsStartProtocolVersion": "2.1.0", "acsEndProtocolVersion": "2.2.0",
        "acsInfoInd": ["01", "02"], "threeDSMethodURL": "https://acs.example/method",
    })
}

fn all_of_visa() -> Value {
    json!([range("4000000000000000", "4999999999999999")])
}

fn pres(preq: &Value, serial: &str, ranges: &Value) -> Told {
    Told::Json(json!({
        "messageType": "PRes", "messageVersion": preq["messageVersion"],
        "threeDSServerTransID": preq["threeDSServerTransID"], "dsTransID": DS,
        "dsStartProtocolVersion": "2.1.0", "dsEndProtocolVersion": "2.2.0", "serialNum": serial,
        "cardRangeData": ranges,
    }))
}

/// Answers requests for ranges with all of Visa's cards, and other requests by the closure.
pub(crate) fn with_ranges(
    answering: impl Fn(&Value) -> Told + Send + 'static,
) -> impl Fn(&Value) -> Told + Send + 'static {
    move |message| match message["messageType"].as_str() {
        Some("PReq") => pres(message, "1", &all_of_visa()),
        _ => answering(message),
    }
}

/// An answer that everyone agrees on, with some members replaced; `null` removes one.
fn ares(areq: &Value, more: Value) -> Value {
    let mut ares = json!({
        "messageType": "ARes", "messageVersion": areq["messageVersion"],
        "threeDSServerTransID": areq["threeDSServerTransID"], "acsTransID": ACS, "dsTransID": DS,
        "acsReferenceNumber": "ACS-1", "dsReferenceNumber": "DS-1", "transStatus": "Y",
        "authenticationValue": PROOF, "eci": "05",
    });
    replace(&mut ares, more);
    ares
}

pub(crate) fn challenge(areq: &Value) -> Told {
    Told::Json(ares(
        areq,
        json!({
            "transStatus": "C", "acsChallengeMandated": "Y", "authenticationType": "02",
            "acsURL": "https://acs.example/challenge", "authenticationValue": null, "eci": null,
        }),
    ))
}

fn rreq(session: &str, more: Value) -> Value {
    let mut rreq = json!({
        "messageType": "RReq", "messageVersion": "2.2.0", "threeDSServerTransID": session,
        "acsTransID": ACS, "dsTransID": DS, "messageCategory": "01", "transStatus": "Y",
        "authenticationType": "02", "authenticationMethod": "02", "authenticationValue": PROOF,
        "eci": "05", "interactionCounter": "02",
    });
    replace(&mut rreq, more);
    rreq
}

fn replace(message: &mut Value, with: Value) {
    let members = message.as_object_mut().unwrap();
    let Value::Object(with) = with else { panic!("{with} is no object") };
    for (name, value) in with {
        if value.is_null() {
            members.remove(&name);
        } else {
            members.insert(name, value);
        }
    }
}

#[track_caller]
fn check_erro(erro: &Value, code: &str, detail: &str) {
    assert_eq!(erro["messageType"], "Erro", "{erro}");
    assert_eq!(erro["errorCode"], json!(code), "{erro}");
    assert_eq!(erro["errorDetail"], json!(detail), "{erro}");
    assert_eq!(erro["errorComponent"], "S");
    assert_eq!(erro["messageVersion"], "2.2.0");
}

#[test]
fn a_card_is_authenticated_by_its_directory_server() {
    needs_data_file!("it searches the file");
    let mut scene = Scene::start(with_ranges(|areq| Told::Json(ares(areq, json!({})))));
    let preq = scene.server.asked_once("PReq");
    assert_eq!(preq["threeDSServerRefNumber"], "REF-1");
    assert_eq!(preq["threeDSServerOperatorID"], "OP-1");
    assert_eq!(preq.get("serialNum"), None);

    let made = scene.session();
    assert_eq!(made.json["directory_server_id"], "A000000003");
    assert_eq!(made.json["method_url"], "https://acs.example/method");
    assert_eq!(made.json["recommended_version"], "2.2.0");
    let id = made.id();
    let done = authenticate(&scene.vault, &id, body()).with_status(200);
    assert_eq!(done.json["authentication_status"], "successful");
    assert_eq!(done.json["authentication_value"], PROOF);
    assert_eq!(done.json["acs_reference_number"], "ACS-1");
    let areq = scene.server.asked_once("AReq");
    for (name, value) in [
        ("acctNumber", NUMBER),
        ("threeDSServerTransID", id.as_str()),
        ("threeDSServerRefNumber", "REF-1"),
        ("threeDSServerOperatorID", "OP-1"),
        ("threeDSServerURL", "https://results.example:8444/3ds/results"),
        ("messageVersion", "2.2.0"),
        ("threeDSCompInd", "N"),
        ("acquirerBIN", "000000999"),
        ("threeDSRequestorID", "example-3ds-merchant"),
    ] {
        assert_eq!(areq[name], value, "{name}");
    }
    let notification = format!("https://vault.example/3ds/sessions/{id}/challenge-notification");
    assert_eq!(areq["notificationURL"], notification);
    // One request a transaction.
    authenticate(&scene.vault, &id, body()).problem(409);
    assert!(scene.server.asked("AReq").is_empty());
    assert_eq!(result(&scene.vault, &id).json["authentication_status"], "successful");

    assert_eq!(scene.vault.stop(), Some(0));
    let verified = scene.vault.verify().with_code(0);
    assert!(verified.stdout.contains("3DS sessions:   1"), "{}", verified.stdout);
    scene.vault.assert_nowhere(&[NUMBER]);
}

#[test]
fn the_older_version_is_spoken_where_an_acs_knows_no_other() {
    let scene = Scene::start(|message| match message["messageType"].as_str() {
        Some("PReq") => {
            let mut older = all_of_visa();
            older[0]["acsEndProtocolVersion"] = json!("2.1.0");
            pres(message, "1", &older)
        }
        _ => Told::Json(ares(message, json!({}))),
    });
    let made = scene.session();
    assert_eq!(made.json["recommended_version"], "2.1.0");
    let done = authenticate(&scene.vault, &made.id(), body()).with_status(200);
    assert_eq!(done.json["threeds_version"], "2.1.0");
    let areq = scene.server.asked_once("AReq");
    assert_eq!(areq["messageVersion"], "2.1.0");
    assert_eq!(areq.get("browserJavascriptEnabled"), None);
}

#[test]
fn a_challenges_result_comes_from_the_directory_server_also_after_a_restart() {
    let mut scene = Scene::start(with_ranges(challenge));
    let id = scene.session().id();
    let asked = authenticate(&scene.vault, &id, body()).with_status(200);
    assert_eq!(asked.json["authentication_status"], "challenge");
    assert_eq!(asked.json["acs_challenge_url"], "https://acs.example/challenge");
    assert_eq!(scene.vault.stop(), Some(0));
    scene.vault.restart();

    // Another scheme's server or another transaction is not known.
    let message = rreq(&id, json!({})).to_string();
    let other = scene.tell_as(&scene.mastercard.issue(), &message).unwrap().with_status(200);
    check_erro(&other.json, "301", "threeDSServerTransID");
    check_erro(&scene.tell(&rreq(DS, json!({}))), "301", "threeDSServerTransID");
    let wrong = rreq(&id, json!({"acsTransID": DS}));
    check_erro(&scene.tell(&wrong), "301", "transaction ids");
    // Mistakes in the message itself.
    check_erro(&scene.tell(&rreq(&id, json!({"transStatus": "C"}))), "203", "transStatus");
    check_erro(&scene.tell(&rreq(&id, json!({"messageCategory": null}))), "201", "messageCategory");
    check_erro(&scene.tell(&rreq(&id, json!({"messageType": "ARes"}))), "101", "messageType");
    let extension = json!([{
        "name": "n", "id": "A1", "criticalityIndicator": true, "data": {"a": "b"},
    }]);
    check_erro(&scene.tell(&rreq(&id, json!({"messageExtension": extension}))), "202", "A1");
    let versions = json!({"messageVersion": "2.3.1"});
    check_erro(&scene.tell(&rreq(&id, versions)), "102", "2.1.0,2.2.0");
    let twice = message.replacen('{', "{\"eci\":\"07\",", 1);
    let sent = scene.tell_as(&scene.visa.issue(), &twice).unwrap();
    check_erro(&sent.with_status(200).json, "204", "eci");
    let sent = scene.tell_as(&scene.visa.issue(), "{").unwrap();
    check_erro(&sent.with_status(200).json, "101", "not JSON");
    assert_eq!(result(&scene.vault, &id).json["authentication_status"], "challenge");

    let receipt = scene.tell(&rreq(&id, json!({})));
    assert_eq!(receipt["messageType"], "RRes", "{receipt}");
    assert_eq!(receipt["resultsStatus"], "01");
    assert_eq!(receipt["dsTransID"], DS);
    let found = result(&scene.vault, &id).with_status(200);
    assert_eq!(found.json["authentication_status"], "successful");
    assert_eq!(found.json["challenge_attempts"], "02");
    // A second one changes nothing.
    let failed = rreq(&id, json!({"transStatus": "N", "transStatusReason": "01"}));
    check_erro(&scene.tell(&failed), "301", "threeDSServerTransID");
    assert_eq!(result(&scene.vault, &id).json["authentication_status"], "successful");
}

#[test]
fn a_late_result_is_refused_and_an_erro_ends_the_wait() {
    let scene = Scene::start(with_ranges(challenge));
    let start = || scene.authenticated();
    let id = start();
    scene.vault.advance(HOUR + 1);
    check_erro(&scene.tell(&rreq(&id, json!({}))), "402", "threeDSServerTransID");
    assert_eq!(result(&scene.vault, &id).json["authentication_status"], "unavailable");
    let id = start();
    let erro = |more| {
        scene.tell_erro(&id, more);
        result(&scene.vault, &id)
    };
    // About another transaction of the ACS or the directory server, or about nothing.
    for other in [json!({"acsTransID": DS}), json!({"dsTransID": ACS}), json!({"errorCode": null})]
    {
        assert_eq!(erro(other).json["authentication_status"], "challenge");
    }
    let found = erro(json!({}));
    assert_eq!(found.json["authentication_status"], "unavailable");
    assert_eq!(found.json["authentication_status_reason"], "acs-technical-issue");
    assert_eq!(erro(json!({"errorCode": "101"})).json, found.json);
}

/// The acts of directory servers on a session, by the tenant's log.
fn told_by_directory_servers(vault: &Vault, session: &str) -> usize {
    let entries = vault.logged(&format!("entity_type=3ds_session&entity_id={session}"));
    entries.iter().filter(|entry| entry["actor_type"] == "directory_server").count()
}

#[test]
fn what_a_directory_server_changes_has_an_audit_entry_and_what_it_does_not_has_none() {
    let scene = Scene::start(with_ranges(challenge));
    let start = || scene.authenticated();
    let told = |id: &str| told_by_directory_servers(&scene.vault, id);
    let (ended, failed) = (start(), start());
    check_erro(&scene.tell(&rreq(&ended, json!({"acsTransID": DS}))), "301", "transaction ids");
    assert_eq!((told(&ended), told(&failed)), (0, 0));
    assert_eq!(scene.tell(&rreq(&ended, json!({})))["messageType"], "RRes");
    scene.tell_erro(&failed, json!({}));
    assert_eq!((told(&ended), told(&failed)), (1, 1));
    // Neither awaits anything now.
    check_erro(&scene.tell(&rreq(&ended, json!({}))), "301", "threeDSServerTransID");
    scene.tell_erro(&ended, json!({}));
    scene.tell_erro(&failed, json!({}));
    assert_eq!((told(&ended), told(&failed)), (1, 1));
}

#[test]
fn a_result_that_overtakes_the_answer_is_kept() {
    let scene = Scene::start(with_ranges(challenge));
    let address = scene.vault.results.unwrap();
    let client = scene.visa.client(&scene.visa.issue());
    let (sender, told) = std::sync::mpsc::channel();
    scene.server.answer(with_ranges(move |areq| {
        let session = areq["threeDSServerTransID"].as_str().unwrap();
        let more = json!({"authenticationType": "04", "interactionCounter": null});
        let message = rreq(session, more).to_string();
        let mut connection = Connection::open(address, &client).unwrap();
        connection.send(&telling(&message)).unwrap();
        // The answer to it comes only after ours.
        let sender = sender.clone();
        std::thread::spawn(move || sender.send(connection.receive().unwrap().json).unwrap());
        Told::Json(ares(
            areq,
            json!({
                "transStatus": "D", "acsChallengeMandated": "N", "authenticationType": "04",
                "acsDecConInd": "Y", "cardholderInfo": "Your bank will call you.",
                "authenticationValue": null, "eci": null,
            }),
        ))
    }));
    let id = scene.session().id();
    let mut decoupled = body();
    decoupled["request_decoupled_challenge"] = json!(true);
    decoupled["decoupled_challenge_max_time"] = json!(10);
    let asked = authenticate(&scene.vault, &id, decoupled).with_status(200);
    assert_eq!(asked.json["authentication_status"], "decoupled_challenge");
    let told = told.recv_timeout(PATIENCE).expect("an answer to the result");
    assert_eq!(told["messageType"], "RRes");
    assert_eq!(result(&scene.vault, &id).json["authentication_status"], "successful");
}

#[test]
fn sessions_are_kept_as_long_as_the_settings_say() {
    let directory = Directory::new();
    let settings = directory.write("threeds.toml", "[threeds]\nretention = \"2d\"\n", 0o600);
    let mut vault = Vault::start_in(directory, &["--threeds", settings.to_str().unwrap()]);
    let id = create(&vault, &card(&vault, NUMBER)).with_status(201).id();
    let path = format!("/3ds/sessions/{id}");
    vault.advance(47 * HOUR);
    vault.get(&path, &vault.keys.private).with_status(200);
    vault.advance(HOUR + 1);
    vault.get(&path, &vault.keys.private).problem(404);
    vault.stop_and_verify();
}

#[test]
fn results_are_taken_only_from_who_shows_a_schemes_certificate() {
    let scene = Scene::start(with_ranges(challenge));
    let stranger = Authority::new("Somebody").issue();
    assert!(scene.tell_as(&stranger, "{}").is_err());
    let address = scene.vault.results.unwrap();
    let ca = scene.vault.directory().join("visa-ca.pem");
    let nobody = crate::harness::trusting(&ca);
    let sent = Connection::open(address, &nobody).and_then(|mut connection| {
        connection.send(&post("/3ds/results").body("{}").bytes("x"))?;
        connection.receive()
    });
    assert!(sent.is_err());
    // Nothing else is served there, and results nowhere else.
    let mut connection =
        Connection::open(address, &scene.visa.client(&scene.visa.issue())).unwrap();
    connection.send(&post("/tokens").body("{}").bytes("x")).unwrap();
    connection.receive().unwrap().problem(404);
    scene.vault.send(&post("/3ds/results").body("{}")).problem(404);
}

#[test]
fn every_failure_of_a_directory_server_is_told_and_needs_a_new_session() {
    let scene = Scene::start(with_ranges(|_| Told::Status(500)));
    let check = |erro: Option<(&str, &str)>, answering: fn(&Value) -> Told| {
        scene.server.answer(with_ranges(answering));
        let (failed, session) = scene.failing();
        assert_eq!(failed.json["error"]["service_status"], "502", "{}", failed.text());
        assert_eq!(failed.json["error"]["session_id"], session);
        assert!(!failed.text().contains(NUMBER));
        check_upstream(failed, "Directory Server");
        match erro {
            Some((code, detail)) => {
                let told = scene.server.asked_once("Erro");
                check_erro(&told, code, detail);
                assert_eq!(told["threeDSServerTransID"], session);
            }
            None => assert!(scene.server.asked("Erro").is_empty()),
        }
        authenticate(&scene.vault, &session, body()).problem(409);
        result(&scene.vault, &session).problem(409);
    };
    check(None, |_| Told::Status(500));
    check(Some(("101", "not JSON")), |_| Told::Text(String::from("{")));
    check(Some(("101", "not JSON")), |_| Told::Text(String::from("<html>")));
    check(None, |_| Told::Text("x".repeat(300 * 1024)));
    check(Some(("301", "transaction ids")), |areq| {
        Told::Json(ares(areq, json!({"threeDSServerTransID": DS})))
    });
    check(Some(("203", "messageVersion")), |areq| {
        Told::Json(ares(areq, json!({"messageVersion": "2.1.0"})))
    });
    check(Some(("201", "acsTransID")), |areq| Told::Json(ares(areq, json!({"acsTransID": null}))));
    check(Some(("204", "eci")), |areq| {
        Told::Text(ares(areq, json!({})).to_string().replacen('{', "{\"eci\":\"07\",", 1))
    });
    let erro = |areq: &Value, code: &str, component: &str| {
        Told::Json(json!({
            "messageType": "Erro", "messageVersion": "2.2.0", "errorCode": code,
            "errorComponent": component, "errorDescription": "x", "errorDetail": "y",
            "threeDSServerTransID": areq["threeDSServerTransID"],
        }))
    };
    scene.server.answer(with_ranges(move |areq| erro(areq, "305", "D")));
    check_upstream(scene.failing().0, "Directory Server");
    scene.server.answer(with_ranges(move |areq| erro(areq, "402", "A")));
    let (failed, _) = scene.failing();
    assert_eq!(failed.json["error"]["service_status"], "504");
    check_upstream(failed, "Access Control Server");
    assert!(scene.server.asked("Erro").is_empty());
    assert!(!scene.vault.log().contains(NUMBER));
}

#[test]
fn a_directory_server_that_says_nothing_is_given_up_in_time() {
    // With the shortest timeouts a slow machine may miss the ranges too, and makes no session.
    let (scene, session) = [500, 5_000, 30_000]
        .into_iter()
        .find_map(|timeout_ms| {
            let scene = Scene::start_with_timeout(timeout_ms, with_ranges(|_| Told::Silence));
            let session = create(&scene.vault, &card(&scene.vault, NUMBER));
            (session.status == 201).then(|| (scene, session.id()))
        })
        .expect("a session");
    let failed = authenticate(&scene.vault, &session, body());
    assert_eq!(failed.json["error"]["service_status"], "504", "{}", failed.text());
    check_upstream(failed, "Directory Server");
}

#[test]
fn certificates_are_checked_in_both_directions() {
    let scene = Scene::start(with_ranges(|areq| Told::Json(ares(areq, json!({})))));
    scene.server.asked("PReq");
    let stranger = Authority::new("Somebody");
    // It shows one that we do not trust.
    scene.server.identify(&stranger.issue(), &scene.visa);
    let (failed, _) = scene.failing();
    assert_eq!(failed.json["error"]["service_status"], "502");
    let detail = failed.json["error"]["detail"].as_str().unwrap();
    assert!(detail.contains("is not signed by the configured authority"), "{detail}");
    check_upstream(failed, "Directory Server");
    // It does not trust ours.
    scene.server.identify(&scene.visa.issue(), &stranger);
    let (failed, _) = scene.failing();
    assert_eq!(failed.json["error"]["service_status"], "502");
    check_upstream(failed, "Directory Server");
    // The card number went to neither.
    assert!(scene.server.asked("AReq").is_empty());
    scene.server.identify(&scene.visa.issue(), &scene.visa);
    authenticate(&scene.vault, &scene.session().id(), body()).with_status(200);
}

#[test]
fn ranges_are_kept_asked_for_daily_and_changed_by_what_changed() {
    let mut scene = Scene::start(|preq| pres(preq, "1", &all_of_visa()));
    assert_eq!(scene.server.asked_once("PReq").get("serialNum"), None);
    let made =
        |scene: &Scene, number: &str| create(&scene.vault, &card(&scene.vault, number)).status;
    assert_eq!(made(&scene, NUMBER), 201);

    scene.vault.advance(22 * HOUR);
    assert!(scene.server.asked("PReq").is_empty());
    scene.server.answer(|preq| {
        let mut gone = all_of_visa();
        gone[0]["actionInd"] = json!("D");
        let parts = [gone[0].clone(), range("4111111111111111", "4111111111111111")];
        pres(preq, "2", &json!(parts))
    });
    scene.vault.advance(HOUR + 1);
    assert_eq!(scene.server.asked_once("PReq")["serialNum"], "1");
    assert_eq!((made(&scene, NUMBER), made(&scene, "4111111111111111")), (400, 201));

    // Known ranges outlive a restart, so the server does not ask again.
    assert_eq!(scene.vault.stop(), Some(0));
    scene.vault.verify().with_code(0);
    scene.vault.restart();
    scene.vault.advance(0);
    assert!(scene.server.asked("PReq").is_empty());
    assert_eq!((made(&scene, NUMBER), made(&scene, "4111111111111111")), (400, 201));

    // A change that does not fit is refused, and the next request is for everything.
    scene.server.answer(|preq| match preq["messageType"].as_str() {
        Some("PReq") => {
            let mut absent = all_of_visa();
            absent[0]["actionInd"] = json!("D");
            pres(preq, "3", &absent)
        }
        _ => Told::Text(String::new()),
    });
    // The clock of the last run went with it.
    scene.vault.advance(47 * HOUR);
    assert_eq!(scene.server.asked_once("PReq")["serialNum"], "2");
    check_erro(&scene.server.asked_once("Erro"), "203", "cardRangeData");
    assert_eq!((made(&scene, NUMBER), made(&scene, "4111111111111111")), (400, 201));
    scene.vault.advance(HOUR / 2);
    assert!(scene.server.asked("PReq").is_empty());
    scene.server.answer(|preq| pres(preq, "4", &all_of_visa()));
    scene.vault.advance(HOUR / 2);
    assert_eq!(scene.server.asked_once("PReq").get("serialNum"), None);
    assert_eq!(made(&scene, NUMBER), 201);
}

#[test]
fn a_serial_number_or_a_version_that_is_refused_is_not_used_again() {
    let erro = |code: &'static str| {
        move |_: &Value| {
            Told::Json(json!({
                "messageType": "Erro", "messageVersion": "2.2.0", "errorCode": code,
                "errorComponent": "D", "errorDescription": "x", "errorDetail": "y",
            }))
        }
    };
    let scene = Scene::start(erro("102"));
    assert_eq!(scene.server.asked_once("PReq")["messageVersion"], "2.2.0");
    // Nothing is known of any card yet.
    let failed = create(&scene.vault, &card(&scene.vault, NUMBER));
    check_upstream(failed, "Directory Server");
    scene.server.answer(|preq| pres(preq, "1", &all_of_visa()));
    scene.vault.advance(HOUR + 1);
    assert_eq!(scene.server.asked_once("PReq")["messageVersion"], "2.1.0");
    scene.server.answer(erro("307"));
    scene.vault.advance(24 * HOUR);
    assert_eq!(scene.server.asked_once("PReq")["serialNum"], "1");
    scene.server.answer(|preq| pres(preq, "2", &all_of_visa()));
    scene.vault.advance(HOUR + 1);
    assert_eq!(scene.server.asked_once("PReq").get("serialNum"), None);
    assert!(scene.server.asked("Erro").is_empty());
    scene.session();
}

#[test]
fn production_cards_never_meet_the_simulator_nor_test_cards_a_directory_server() {
    let scene = Scene::start(with_ranges(challenge));
    // The simulator would fail at once for this one, and has no method for that.
    let made = create(&scene.vault, &card(&scene.vault, "4264281500001119")).with_status(201);
    assert_eq!(made.json["directory_server_id"], "A000000003");
    let id = made.id();
    let asked = authenticate(&scene.vault, &id, body()).with_status(200);
    let creq = threeds::creq(&id, &asked);
    threeds::form(&scene.vault, threeds::ACS, &[("creq", &creq), ("code", "1234")])
        .with_status(404);
    assert_eq!(result(&scene.vault, &id).json["authentication_status"], "challenge");
    scene.server.asked_once("AReq");

    let test = scene.vault.tenant("test");
    let token = json!({"type": "card_number", "data": "4200000000000004"});
    let token = scene.vault.post("/tokens", &test.keys.private, token).with_status(201).id();
    let made = json!({"token_id": token, "device": "browser"});
    let made = scene.vault.post("/3ds/sessions", &test.keys.private, made).with_status(201);
    assert_eq!(made.json["directory_server_id"], "M000000003");
    let path = format!("/3ds/sessions/{}/authenticate", made.id());
    scene.vault.post(&path, &test.keys.private, body()).with_status(200);
    assert!(scene.server.asked("AReq").is_empty());
    // Nor does a directory server tell how a simulated challenge ended.
    check_erro(&scene.tell(&rreq(&made.id(), json!({}))), "301", "threeDSServerTransID");
}

#[test]
fn a_card_of_a_scheme_without_a_directory_server_is_told_so() {
    let scene = Scene::start(with_ranges(challenge));
    let none = create(&scene.vault, &card(&scene.vault, "378282246310005"));
    assert!(none.text().contains("No directory server is configured."), "{}", none.text());
    check_upstream(none, "3DS Server");
    let silent = create(&scene.vault, &card(&scene.vault, "5555555555554444"));
    check_upstream(silent, "Directory Server");
}

#[test]
fn files_that_cannot_be_used_end_the_start_with_their_names() {
    let directory = Directory::new();
    let authority = Authority::new("Visa");
    let shown = authority.issue();
    let certificate = directory.write("ds.pem", &shown.certificate, 0o600);
    let certificate = certificate.display();
    let other = directory.write("other.key", authority.issue().key, 0o600);
    let ca = directory.write("ca.pem", &authority.pem, 0o600);
    let start = |key: &std::path::Path, ca: &std::path::Path| {
        let (key, ca) = (key.display(), ca.display());
        let text = format!(
            "[threeds]\nserver_reference = \"R\"\npublic_url = \"https://v.example\"\n\
             results_url = \"https://r.example\"\nresults_listen = [\"127.0.0.1:0\"]\n\
             results_certificate = \"{certificate}\"\nresults_private_key = \"{key}\"\n\
             [threeds.visa]\nurl = \"https://ds.example\"\ncertificate = \"{certificate}\"\n\
             private_key = \"{key}\"\nca = \"{ca}\"\n"
        );
        let settings = directory.write("threeds.toml", text, 0o600);
        let data = directory.join("data");
        let flags = ["dev", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()];
        crate::harness::run(&[&flags[..], &["--threeds", settings.to_str().unwrap()]].concat())
    };
    let ended = start(&other, &ca).with_code(78);
    assert!(ended.stderr.contains("the directory server of visa"), "{}", ended.stderr);
    assert!(ended.stderr.contains("other.key"), "{}", ended.stderr);
    let key = directory.write("ds.key", &shown.key, 0o600);
    let ended = start(&key, &directory.join("absent.pem")).with_code(78);
    assert!(ended.stderr.contains("absent.pem"), "{}", ended.stderr);
}
