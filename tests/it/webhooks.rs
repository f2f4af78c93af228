//! Webhooks with the real binary and a receiver of the tests' own.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{RSA_PSS_2048_8192_SHA256, UnparsedPublicKey};
use serde_json::{Value, json};

use crate::harness::{
    Answer, Psp, Received, Vault, get, needs_one_process, output_of, post, wait_until,
};
use crate::limits::check_row;
use crate::watch::metric;

const MISSING: &str = "0190a1b2-c3d4-4e5f-8a6b-7c8d9e0f1a2b";

fn start(psp: &Psp) -> Vault {
    Vault::start_with(&["--outbound-ca", psp.ca().to_str().unwrap()])
}

fn body(url: &str, events: &[&str]) -> Value {
    json!({"name": "Shop", "url": url, "events": events})
}

fn create(vault: &Vault, body: Value) -> Answer {
    vault.post("/webhooks", &vault.keys.management, body)
}

#[track_caller]
fn deliveries(psp: &Psp, count: usize) -> Vec<Received> {
    let mut got = Vec::new();
    wait_until("deliveries of webhooks", || {
        got.extend(psp.received());
        got.len() >= count
    });
    got
}

fn json_of(received: &Received) -> Value {
    serde_json::from_slice(&received.body).unwrap()
}

fn public_key(vault: &Vault) -> String {
    let answer = vault.send(&get("/keys/webhooks.v1.key")).with_status(200);
    assert_eq!(answer.header("content-type"), Some("application/x-pem-file"));
    answer.text()
}

/// The published way: RSA-PSS with SHA-256 over the raw body.
fn is_signed(received: &Received, pem: &str) -> bool {
    let text: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    let spki = STANDARD.decode(text).unwrap();
    // The key itself comes behind the names of the algorithm, which always have this length.
    let key = UnparsedPublicKey::new(&RSA_PSS_2048_8192_SHA256, spki[24..].to_vec());
    assert_eq!(received.header("bt-signature-version"), Some("v1"));
    let signature = STANDARD.decode(received.header("bt-signature").unwrap()).unwrap();
    key.verify(&received.body, &signature).is_ok()
}

#[test]
fn a_webhook_is_created_listed_changed_and_deleted() {
    let vault = Vault::start();
    let key = &vault.keys.management;
    for path in ["/keys/webhooks.v1.key", "/keys/webhooks.v1-test.key"] {
        let asked = get(path).header("Accept", "application/problem+json");
        let missing = vault.send(&asked).with_status(404);
        assert_eq!(missing.header("content-type"), Some("application/problem+json"));
        assert!(missing.json["type"].is_string() && missing.json["trace_id"].is_string());
        vault.send(&get(path)).problem(404);
    }
    let mut wanted =
        body("https://receiver.example/hook?a=b", &["token.created", "reactor.failed"]);
    wanted["notify_email"] = json!("ops@receiver.example");
    let made = create(&vault, wanted.clone()).with_status(201);
    let path = format!("/webhooks/{}", made.id());
    let location = format!("https://{}{path}", vault.address);
    assert_eq!(made.header("location"), Some(location.as_str()));
    assert_eq!(made.json["status"], "enabled");
    assert_eq!(made.json["tenant_id"], json!(vault.tenant_id));
    let kinds = |answer: &Answer| -> BTreeSet<String> {
        let all = answer.json["events"].as_array().unwrap().iter();
        all.map(|kind| String::from(kind.as_str().unwrap())).collect()
    };
    assert_eq!(kinds(&made), ["reactor.failed", "token.created"].map(String::from).into());
    for member in ["name", "url", "notify_email"] {
        assert_eq!(made.json[member], wanted[member]);
    }
    for member in ["created_by", "created_at"] {
        assert!(made.json[member].is_string());
    }
    assert_eq!(vault.get(&path, key).with_status(200).json, made.json);
    let list = vault.get("/webhooks", key).with_status(200).json;
    assert_eq!(list, json!({"pagination": {"page_size": 20}, "data": [made.json]}));
    // A change without notify_email removes it, and one without a status keeps the status.
    let mut change = body("https://receiver.example/other", &["token.deleted"]);
    change["status"] = json!("disabled");
    let changed = vault.put(&path, key, change.clone()).with_status(200);
    assert_eq!(
        [&changed.json["status"], &changed.json["url"]],
        [&change["status"], &change["url"]]
    );
    assert!(changed.json.get("notify_email").is_none());
    assert!(changed.json["modified_by"].is_string() && changed.json["modified_at"].is_string());
    change.as_object_mut().unwrap().remove("status");
    assert_eq!(vault.put(&path, key, change).with_status(200).json["status"], "disabled");
    vault.delete(&path, key).with_status(204);
    vault.get(&path, key).problem(404);
    vault.delete(&path, key).problem(404);
    vault.get(&format!("/webhooks/{MISSING}"), key).problem(404);
    assert_eq!(vault.acts("entity_type=webhook"), ["delete", "update", "update", "create"]);
}

#[test]
fn mistakes_and_a_sixth_webhook_are_refused_and_pages_lead_to_the_end() {
    let vault = Vault::start();
    let key = &vault.keys.management;
    let wrong = json!({
        "name": "", "url": "http://a.example", "events": ["token.created", "token.exploded", 3],
        "notify_email": "x", "status": "paused",
    });
    let paths = ["events[1]", "events[2]", "name", "notify_email", "status", "url"];
    create(&vault, body("https://a.example", &[])).invalid(&["events"]);
    create(&vault, json!({})).invalid(&["name", "url"]);
    let one_more = || create(&vault, body("https://a.example", &["token.read"]));
    let ids: BTreeSet<_> = (0..5).map(|_| one_more().with_status(201).id()).collect();
    one_more().problem(422);
    vault.put(&format!("/webhooks/{}", ids.first().unwrap()), key, wrong).invalid(&paths);
    let (mut found, mut next) = (BTreeSet::new(), Some(String::new()));
    while let Some(start) = next.take() {
        let page = vault.get(&format!("/webhooks?size=2&start={start}"), key).with_status(200);
        assert!(page.each("id").into_iter().all(|id| found.insert(id)));
        next = page.json["pagination"]["next"].as_str().map(String::from);
    }
    assert_eq!(found, ids);
    let types = vault.get("/webhooks/event-types", key).with_status(200).json;
    let types: Vec<_> = types.as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    for kind in ["token.created", "token-intent.converted", "account-updater.job.failed"] {
        assert!(types.contains(&kind), "{kind}");
    }
}

#[test]
fn events_arrive_signed_with_their_trace_and_without_data() {
    let psp = Psp::start();
    let vault = start(&psp);
    let all = ["token.created", "token.updated", "token.read", "token.deleted"];
    create(&vault, body(&psp.url("/status/204"), &all)).with_status(201);
    let card = json!({
        "type": "card", "data": {"number": "4242424242424242", "expiration_month": 12,
        "expiration_year": 2030, "cvc": "123"}, "metadata": {"order": "7"},
    });
    let request = post("/tokens").key(&vault.keys.private).header("BT-TRACE-ID", "my-trace");
    let id = vault.send(&request.json(card)).with_status(201).id();
    let path = format!("/tokens/{id}");
    vault.get(&path, &vault.keys.private).with_status(200);
    vault.delete(&path, &vault.keys.private).with_status(204);
    let got = deliveries(&psp, 3);
    let pem = public_key(&vault);
    assert_eq!(vault.send(&get("/keys/webhooks.v1-test.key")).with_status(200).text(), pem);
    let mut kinds = BTreeSet::new();
    for received in &got {
        assert_eq!((received.method.as_str(), received.path()), ("POST", "/status/204"));
        assert_eq!(received.header("content-type"), Some("application/json"));
        assert!(is_signed(received, &pem));
        let mut other = received.clone();
        other.body.push(b' ');
        assert!(!is_signed(&other, &pem));
        for secret in ["4242424242424242", "424242424242", "\"123\"", "2030"] {
            assert!(!received.text().contains(secret), "{}", received.text());
        }
        let body = json_of(received);
        let event = &body["event"];
        assert_eq!(event["data"]["token"]["id"], json!(id));
        assert_eq!(event["tenant_id"], json!(vault.tenant_id));
        assert_eq!(event["data"]["actor"]["type"], "application");
        assert!(body["delivered_at"].as_str().unwrap().ends_with('Z'));
        if event["type"] == "token.created" {
            assert_eq!(event["trace_id"], "my-trace");
            assert_eq!(event["data"]["token"]["metadata"], json!({"order": "7"}));
        }
        kinds.insert(String::from(event["type"].as_str().unwrap()));
    }
    assert_eq!(kinds, ["token.created", "token.deleted", "token.read"].map(String::from).into());
}

#[test]
fn proxies_and_sessions_have_their_events() {
    let psp = Psp::start();
    let vault = start(&psp);
    let all = [
        "proxy.created",
        "proxy.updated",
        "proxy.deleted",
        "session.created",
        "session.authorized",
    ];
    create(&vault, body(&psp.url("/status/204"), &all)).with_status(201);
    let rights = ["proxy:create", "proxy:update", "proxy:delete"];
    let key = vault.key_with("management", &rights, &json!([]));
    let proxy = json!({
        "name": "Charge", "destination_url": "https://psp.example/v1",
        "configuration": {"secret": "sk_live_1"},
    });
    let path =
        format!("/proxies/{}", vault.post("/proxies", &key, proxy.clone()).with_status(201).id());
    vault.put(&path, &key, proxy).with_status(200);
    vault.delete(&path, &key).with_status(204);
    let session = vault.send(&post("/sessions").key(&vault.keys.public)).with_status(201);
    let private = vault.key_with("private", &["token:create"], &json!([]));
    let grant = json!({"nonce": session.member("nonce"), "permissions": ["token:create"]});
    vault.post("/sessions/authorize", &private, grant).with_status(200);
    let mut kinds = BTreeSet::new();
    for received in deliveries(&psp, all.len()) {
        for secret in ["sk_live_1", &session.member("nonce"), &session.member("session_key")] {
            assert!(!received.text().contains(secret), "{}", received.text());
        }
        let event = json_of(&received)["event"].take();
        let kind = String::from(event["type"].as_str().unwrap());
        let (proxy, session) = (&event["data"]["proxy"], &event["data"]["session"]);
        match kind.as_str() {
            "proxy.created" | "proxy.updated" => {
                assert_eq!(proxy["destination_url"], "https://psp.example/v1");
                assert_eq!(proxy["require_authentication"], true);
            }
            "proxy.deleted" => assert_eq!(proxy.as_object().unwrap().len(), 1),
            "session.created" => assert!(session.get("permissions").is_none()),
            _ => assert_eq!(session["permissions"], json!(["token:create"])),
        }
        kinds.insert(kind);
    }
    assert_eq!(kinds, all.map(String::from).into());
}

#[test]
fn a_call_through_a_proxy_has_an_event_without_its_content() {
    let psp = Psp::start();
    let vault = start(&psp);
    create(&vault, body(&psp.url("/hook"), &["proxy.invoked"])).with_status(201);
    let card = vault.token(json!({
        "type": "card", "data": {"number": "4242424242424242", "expiration_month": 12, "expiration_year": 2030}
    }));
    let call = post("/proxy/secret-path?secret=query").key(&vault.keys.private);
    let call = call.header("bt-proxy-url", &psp.url("/echo")).header("x-secret", "header");
    let call = call.json(json!({"number": format!("{{{{ {card} | json: '$.number' }}}}")}));
    vault.send(&call).with_status(200);
    let nowhere = post("/proxy").key(&vault.keys.private);
    let nowhere = nowhere.header("bt-proxy-url", "https://127.0.0.1:1/").json(json!({}));
    vault.send(&nowhere).with_status(502);
    let hooks = |received: Vec<Received>| -> Vec<Received> {
        received.into_iter().filter(|it| it.header("bt-signature").is_some()).collect()
    };
    let mut got = Vec::new();
    wait_until("the events of two calls", || {
        got.extend(hooks(psp.received()));
        got.len() >= 2
    });
    let mut outcomes = BTreeSet::new();
    for received in got {
        for secret in ["secret", "4242424242424242", "header"] {
            assert!(!received.text().contains(secret), "{}", received.text());
        }
        let data = json_of(&received)["event"]["data"].take();
        assert_eq!(data["proxy"]["type"], "ephemeral");
        assert_eq!(data["destination"]["request"]["method"], "POST");
        assert_eq!(data["actor"]["type"], "application");
        outcomes.insert((
            data["destination"]["response"]["status"].as_u64(),
            data["proxy"]["response"]["error"].is_string(),
        ));
    }
    assert_eq!(outcomes, [(None, true), (Some(200), false)].into());
}

#[test]
fn a_killed_server_delivers_after_its_restart_what_it_had_promised() {
    let psp = Psp::start();
    let mut vault = start(&psp);
    psp.answer(|_| Some((503, "application/json", String::from("{}"))));
    create(&vault, body(&psp.url("/echo"), &["token.created"])).with_status(201);
    let ids: BTreeSet<String> =
        (0..20).map(|n| vault.token(json!({"type": "token", "data": n}))).collect();
    vault.kill();
    vault.restart();
    psp.answer(|_| Some((200, "application/json", String::from("{}"))));
    vault.advance(60);
    let mut arrived = BTreeSet::new();
    wait_until("every event", || {
        for received in psp.received() {
            let body = json_of(&received);
            let id = &body["event"]["data"]["token"]["id"];
            arrived.insert(String::from(id.as_str().unwrap()));
        }
        ids.is_subset(&arrived)
    });
    wait_until("an empty queue", || {
        let listed = vault.operator(&["webhook", "list", "--json", "--tenant", &vault.tenant_id]);
        serde_json::from_str::<Value>(&listed.stdout).unwrap()[0]["pending"] == 0
    });
    vault.stop();
    assert_eq!(vault.verify().code, Some(0));
}

#[test]
fn the_operator_sees_failures_retries_and_replaces_the_key() {
    let psp = Psp::start();
    let mut vault = start(&psp);
    let made = create(&vault, body(&psp.url("/status/500"), &["token.created"])).with_status(201);
    let (tenant, webhook) = (vault.tenant_id.clone(), made.id());
    vault.token(json!({"type": "token", "data": 1}));
    let first = deliveries(&psp, 1);
    let list = |vault: &Vault| -> Value {
        let listed = vault.operator(&["webhook", "list", "--json", "--tenant", &tenant]);
        serde_json::from_str(&listed.stdout).unwrap()
    };
    wait_until("the failure in the list", || list(&vault)[0]["last_failure"].is_object());
    let listed = list(&vault);
    assert_eq!(listed[0]["last_failure"]["reason"], "status");
    assert_eq!(listed[0]["last_failure"]["status"], 500);
    assert_eq!((&listed[0]["status"], &listed[0]["pending"]), (&json!("enabled"), &json!(1)));
    let named = ["--tenant", &tenant, "--webhook", &webhook];
    let events = vault.operator(&[&["webhook", "events", "--json"][..], &named].concat());
    let events: Value = serde_json::from_str(&events.stdout).unwrap();
    assert_eq!(events[0]["id"], json_of(&first[0])["id"]);
    assert_eq!(events[0]["type"], "token.created");
    vault.operator(&[&["webhook", "retry"][..], &named].concat());
    deliveries(&psp, 1);
    let before = public_key(&vault);
    let rotated = vault.operator(&["webhook", "rotate-key"]);
    let rotated: Value = serde_json::from_str(&rotated.stdout).unwrap();
    let after = public_key(&vault);
    assert_eq!(rotated["public_key_pem"], json!(after));
    assert_ne!(before, after);
    psp.answer(|_| Some((200, "text/plain", String::new())));
    vault.operator(&[&["webhook", "retry"][..], &named].concat());
    assert!(is_signed(deliveries(&psp, 1).last().unwrap(), &after));
    // Without a server the commands give the same answers.
    vault.stop();
    assert_eq!(list(&vault)[0]["id"], json!(webhook));
    assert_eq!(vault.verify().code, Some(0));
}

fn test_path(made: &Answer) -> String {
    format!("/webhooks/{}/test", made.id())
}

fn kind_of(received: &Received) -> String {
    json_of(received)["event"]["type"].as_str().map(String::from).unwrap()
}

#[test]
fn a_test_event_goes_signed_to_its_webhook_alone_and_is_in_the_log() {
    let psp = Psp::start();
    let vault = start(&psp);
    let key = &vault.keys.management;
    let made = create(&vault, body(&psp.url("/status/204"), &["token.created"])).with_status(201);
    create(&vault, body(&psp.url("/echo"), &["token.created"])).with_status(201);
    let request = post(&test_path(&made)).key(key).header("BT-TRACE-ID", "my-trace");
    let sent = vault.send(&request).with_status(202);
    let received = deliveries(&psp, 1).remove(0);
    assert_eq!(received.path(), "/status/204");
    assert!(is_signed(&received, &public_key(&vault)));
    let body_got = json_of(&received);
    let event = &body_got["event"];
    assert_eq!((&event["id"], &body_got["id"]), (&json!(sent.id()), &json!(sent.id())));
    assert_eq!((&event["type"], &event["trace_id"]), (&json!("webhook.test"), &json!("my-trace")));
    assert_eq!(event["data"]["webhook"], json!({"id": made.id(), "name": "Shop"}));
    assert_eq!(event["data"]["actor"]["type"], "application");
    let acts = vault.get("/logs?entity_type=webhook", key).with_status(200).json;
    assert_eq!(acts["data"][0]["operation"], "invoke");
    assert_eq!(acts["data"][0]["entity_id"], json!(made.id()));
    // An event of both webhooks comes next, and nothing before it.
    vault.token(json!({"type": "token", "data": 1}));
    let kinds: Vec<_> = deliveries(&psp, 2).iter().map(kind_of).collect();
    assert_eq!(kinds, ["token.created", "token.created"]);
    let types = vault.get("/webhooks/event-types", key).with_status(200).json;
    assert!(!types.as_array().unwrap().contains(&json!("webhook.test")));
    create(&vault, body("https://a.example", &["webhook.test"])).invalid(&["events[0]"]);
}

#[test]
fn a_test_event_needs_an_enabled_webhook_of_the_tenant_and_the_right_to_change_it() {
    let psp = Psp::start();
    let vault = start(&psp);
    let key = &vault.keys.management;
    let made = create(&vault, body(&psp.url("/echo"), &["token.created"])).with_status(201);
    let path = test_path(&made);
    let send = |path: &str, key: &str| vault.send(&post(path).key(key));
    send(&format!("/webhooks/{MISSING}/test"), key).problem(404);
    send(&path, &vault.tenant("test").keys.management).problem(404);
    for rights in [["webhooks:read"], ["webhooks:create"], ["webhooks:delete"]] {
        send(&path, &vault.key_with("management", &rights, &json!([]))).problem(403);
    }
    vault.get(&path, key).problem(405);
    let mut change = body(&psp.url("/echo"), &["token.created"]);
    change["status"] = json!("disabled");
    vault.put(&format!("/webhooks/{}", made.id()), key, change.clone()).with_status(200);
    let refused = send(&path, key).problem(422);
    assert_eq!(refused.member("detail"), "The webhook is disabled; enable it first.");
    change["status"] = json!("enabled");
    vault.put(&format!("/webhooks/{}", made.id()), key, change).with_status(200);
    let rights = vault.key_with("management", &["webhooks:update"], &json!([]));
    let event = send(&path, &rights).with_status(202);
    let got = deliveries(&psp, 1);
    assert_eq!(got.iter().map(|it| json_of(it)["id"].take()).collect::<Vec<_>>(), [event.id()]);
    vault.delete(&format!("/webhooks/{}", made.id()), key).with_status(204);
    send(&path, key).problem(404);
}

#[test]
fn a_test_event_of_a_receiver_that_fails_waits_as_other_events_do() {
    let psp = Psp::start();
    let mut vault = start(&psp);
    let key = vault.keys.management.clone();
    let list = |vault: &Vault| -> Value {
        let listed = vault.operator(&["webhook", "list", "--json", "--tenant", &vault.tenant_id]);
        serde_json::from_str::<Value>(&listed.stdout).unwrap()[0].take()
    };
    // The guard allows the receiver of the tests, and no private address.
    for (url, reason) in [("https://localhost:1/", "unreachable"), ("https://10.0.0.1/", "refused")]
    {
        let made = create(&vault, body(url, &["token.created"])).with_status(201);
        vault.send(&post(&test_path(&made)).key(&key)).with_status(202);
        wait_until("the failure in the list", || list(&vault)["last_failure"].is_object());
        assert_eq!(list(&vault)["last_failure"]["reason"], reason);
        vault.delete(&format!("/webhooks/{}", made.id()), &key).with_status(204);
    }
    let made = create(&vault, body(&psp.url("/status/500"), &["token.created"])).with_status(201);
    let sent = vault.send(&post(&test_path(&made)).key(&key)).with_status(202);
    deliveries(&psp, 1);
    wait_until("the failure in the list", || list(&vault)["last_failure"].is_object());
    assert_eq!((&list(&vault)["pending"], &list(&vault)["status"]), (&json!(1), &json!("enabled")));
    // It survives a kill and is repeated.
    vault.kill();
    vault.restart();
    psp.answer(|_| Some((200, "text/plain", String::new())));
    vault.advance(60);
    assert_eq!(json_of(deliveries(&psp, 1).last().unwrap())["id"], json!(sent.id()));
    wait_until("an empty queue", || list(&vault)["pending"] == 0);
    vault.stop();
    assert_eq!(vault.verify().code, Some(0));
}

#[test]
fn test_events_count_against_the_limits_of_their_key() {
    needs_one_process!("each process counts its own requests");
    let vault = Vault::start_with(&["--rate-limits", "on", "--stop-clock"]);
    let request = post(&format!("/webhooks/{MISSING}/test")).key(&vault.keys.management);
    check_row(&vault, &request, 50);
}

#[test]
fn the_programs_of_the_chapter_verify_a_webhook() {
    let psp = Psp::start();
    let vault = start(&psp);
    create(&vault, body(&psp.url("/status/200"), &["token.created"])).with_status(201);
    vault.token(json!({"type": "token", "data": 1, "metadata": {"\u{e9}\u{1f600}": "a/b\n\"c\""}}));
    let received = deliveries(&psp, 1).remove(0);
    // The clock of the server is wrong by an hour, so this body is from another time.
    vault.advance(3600);
    vault.token(json!({"type": "token", "data": 2}));
    let other = deliveries(&psp, 1).remove(0);
    let directory = vault.directory();
    directory.write("body", &received.body, 0o600);
    directory.write("other", &other.body, 0o600);
    directory.write("key.pem", public_key(&vault), 0o600);
    let signatures = [&received, &other].map(|it| it.header("bt-signature").unwrap());
    let python = "import sys\n_, sign, other_sign, tenant = sys.argv\n\
                  body, other, key = (open(it, 'rb').read() for it in ('body', 'other', 'key.pem'))\n\
                  assert verify(body, sign, key, tenant)\n\
                  assert not verify(body + b' ', sign, key, tenant)\n\
                  assert not verify(body, sign, key, tenant[::-1])\n\
                  assert not verify(other, other_sign, key, tenant)\n";
    let node = "const fs = require('node:fs');\nconst [sign, otherSign, tenant] = process.argv.slice(2);\n\
                const [body, other, key] = ['body', 'other', 'key.pem'].map((it) => fs.readFileSync(it));\n\
                if (!verify(body, sign, key, tenant)) throw new Error('refused');\n\
                if (verify(Buffer.concat([body, Buffer.from(' ')]), sign, key, tenant)) throw 1;\n\
                if (verify(body, sign, key, 'other')) throw 2;\n\
                if (verify(other, otherSign, key, tenant)) throw 3;\n";
    // The published Python clients are installed here, with the library that the receiver uses.
    let installed = concat!(env!("CARGO_MANIFEST_DIR"), "/target/clients/python/bin/python");
    let interpreter = if Path::new(installed).exists() { installed } else { "python3" };
    let programs = [
        (interpreter, "-c", "import cryptography", "python", python),
        ("node", "-e", "0", "js", node),
    ];
    for (program, flag, probe, language, driver) in programs {
        let text = format!("{}\n{driver}", chapter_block(language));
        directory.write("program", text, 0o600);
        let probed = Command::new(program).args([flag, probe]).output();
        if !probed.is_ok_and(|it| it.status.success()) {
            let is_required = std::env::var_os("STRONGROOM_CLIENTS_REQUIRED").is_some();
            assert!(!is_required, "{program} cannot run the receiver: tests/clients/install");
            eprintln!("skipped: {program} cannot run the receiver of the chapter");
            continue;
        }
        let mut command = Command::new(program);
        command.current_dir(directory.join("")).arg("program").args(signatures);
        command.arg(&vault.tenant_id);
        let ended = output_of(&mut command);
        assert!(ended.status.success(), "{program}: {}", String::from_utf8_lossy(&ended.stderr));
    }
}

/// The first block of code of a language in the chapter on webhooks.
fn chapter_block(language: &str) -> String {
    let chapter = include_str!("../../src/http/front/chapters/webhooks.md");
    let (_, block) = chapter.split_once(&format!("```{language}\n")).unwrap();
    String::from(block.split_once("```").unwrap().0)
}

#[test]
fn slow_receivers_of_four_tenants_delay_no_other_tenant() {
    let psp = Psp::start();
    let vault = start(&psp);
    let tenants: Vec<_> = (0..5).map(|_| vault.tenant("test")).collect();
    let (other, slow) = tenants.split_last().unwrap();
    for tenant in slow {
        for _ in 0..5 {
            let hook = body(&psp.url("/slow/60"), &["token.created"]);
            vault.post("/webhooks", &tenant.keys.management, hook).with_status(201);
        }
    }
    let hook = body(&psp.url("/echo"), &["token.created"]);
    vault.post("/webhooks", &other.keys.management, hook).with_status(201);
    // Each webhook has two deliveries at a time, so that these take 40 places.
    let token = || json!({"type": "token", "data": "x"});
    for tenant in slow.iter().cycle().take(2 * slow.len()) {
        vault.post("/tokens", &tenant.keys.private, token()).with_status(201);
    }
    let mut arrived = 0;
    wait_until("the slow deliveries are under way", || {
        arrived += psp.received().len();
        arrived >= 32
    });
    vault.post("/tokens", &other.keys.private, token()).with_status(201);
    wait_until("the delivery of the other tenant", || {
        psp.received().iter().any(|it| it.path() == "/echo")
    });
    // None of the slow ones had to end for it.
    let ended = "strongroom_webhook_deliveries_total{result=\"timed_out\"}";
    assert_eq!(metric(&vault, ended), 0);
}
