//! The console's own operations: what they count, whom they show it, and that a preview of rules is
//! what the interface then does.

use serde_json::{Value, json};

use crate::harness::{Answer, Psp, Vault, get, needs_one_process, post, rule, wait_until};
use crate::threeds;

/// The permissions that the console's operations need.
const READS: [&str; 7] = [
    "application:read",
    "log:read",
    "proxy:read",
    "reactor:read",
    "report:read",
    "tenant:read",
    "webhooks:read",
];

fn read(vault: &Vault, name: &str, key: &str) -> Value {
    vault.get(&format!("/console/data/{name}"), key).with_status(200).json
}

fn reader(vault: &Vault) -> String {
    vault.key_with("management", &READS, &json!([]))
}

/// The key of another tenant that may read all of the console.
fn foreign_reader(vault: &Vault) -> String {
    let tenant = vault.tenant("test");
    let body = json!({"name": "n", "type": "management", "permissions": READS});
    vault.post("/applications", &tenant.keys.management, body).with_status(201).member("key")
}

fn items(answer: &Value) -> &Vec<Value> {
    answer["data"].as_array().unwrap()
}

fn last_use(vault: &Vault, key: &str, application: &str) -> Option<String> {
    let listed = read(vault, "keys", key);
    let found = items(&listed).iter().find(|it| it["application_id"] == application).unwrap();
    found["last_used_at"].as_str().map(String::from)
}

#[test]
fn the_last_use_of_a_key_is_shown_at_once_and_survives_a_stop_and_after_its_write_a_kill() {
    needs_one_process!("each process counts its own requests");
    let mut vault = Vault::start_with(&["--stop-clock"]);
    let reader = reader(&vault);
    let used = vault.application("private", &["token:create"], &json!([]));
    let (id, key) = (used.id(), used.member("key"));
    assert_eq!(last_use(&vault, &reader, &id), None);
    let token = json!({"type": "token", "data": "x"});
    let create = |vault: &Vault| vault.post("/tokens", &key, token.clone()).with_status(201);
    create(&vault);
    let first = last_use(&vault, &reader, &id).unwrap();
    assert!(first.ends_with(":00.0000000+00:00"), "to the minute: {first}");
    vault.stop_and_verify();
    // The command reads the file of a stopped vault.
    let tenant = vault.tenant_id.clone();
    let listed = vault.operator(&["application", "list", "--json", "--tenant", &tenant]).json();
    let listed = listed.as_array().unwrap().iter().find(|it| it["id"] == id.as_str()).unwrap();
    assert_eq!(listed["keys"][0]["last_used_at"], first.as_str());
    vault.restart();
    assert_eq!(last_use(&vault, &reader, &id).unwrap(), first);
    vault.advance(600);
    create(&vault);
    // Moving the clock writes what is due.
    vault.advance(60);
    let second = last_use(&vault, &reader, &id).unwrap();
    assert!(second > first);
    vault.kill();
    vault.restart();
    assert_eq!(last_use(&vault, &reader, &id).unwrap(), second);
    let published = vault.get(&format!("/applications/{id}"), &reader).with_status(200);
    assert!(!published.text().contains("last_used"), "published answers stay as they are");
    vault.delete(&format!("/applications/{id}"), &vault.keys.management).with_status(204);
    assert!(items(&read(&vault, "keys", &reader)).iter().all(|it| it["application_id"] != id));
    vault.stop_and_verify();
}

#[test]
fn requests_are_counted_by_answer_and_route_for_their_own_tenant() {
    needs_one_process!("each process counts its own requests");
    let vault = Vault::start_with(&["--stop-clock"]);
    let (reader, foreign) = (reader(&vault), foreign_reader(&vault));
    let before = read(&vault, "activity", &reader);
    assert_eq!(before["minutes"].as_array().unwrap().len(), 60);
    assert_eq!(before["hours"].as_array().unwrap().len(), 24);
    for _ in 0..3 {
        vault.token(json!({"type": "token", "data": "x"}));
    }
    vault.get("/tokens/none", &vault.keys.private).with_status(404);
    vault.get("/tokens", &vault.keys.public).with_status(403);
    // A request without a key is no tenant's.
    vault.send(&get("/tokens")).with_status(401);
    let after = read(&vault, "activity", &reader);
    for (spans, last) in [("minutes", 59), ("hours", 23)] {
        let count = |view: &Value, kind: &str| view[spans][last][kind].as_u64().unwrap();
        let added = |kind: &str| count(&after, kind) - count(&before, kind);
        // The first look at the activity is one of the answers.
        let counts = ["ok", "refused", "limited", "failed"].map(added);
        assert_eq!(counts, [4, 2, 0, 0], "{spans}");
        assert_eq!(after[spans][last]["at"], before[spans][last]["at"]);
    }
    let created = after["routes"].as_array().unwrap();
    let created = created.iter().find(|it| it["route"] == "CreateToken").unwrap();
    assert_eq!(created["requests"], 3);
    assert_eq!(after["server"]["ready"], true);
    assert!(after["server"]["started_at"].as_str() <= after["now"].as_str());
    let theirs = read(&vault, "activity", &foreign);
    let routes = theirs["routes"].to_string();
    assert!(!routes.contains("Token"), "{routes}");
    assert!(theirs["minutes"][59]["ok"].as_u64() < after["minutes"][59]["ok"].as_u64());
    vault.advance(3_600);
    let later = read(&vault, "activity", &reader);
    // An hour is no longer in the minutes, and the hour before the last one has the last look too.
    let ok = |view: &Value, hour: usize| view["hours"][hour]["ok"].as_u64().unwrap();
    assert_eq!(ok(&later, 22), ok(&after, 23) + 1);
    let minutes = later["minutes"].as_array().unwrap();
    assert!(minutes.iter().all(|minute| minute["ok"] == 0));
}

#[test]
fn limits_are_shown_with_their_use() {
    needs_one_process!("each process counts its own requests");
    let vault = Vault::start_with(&["--rate-limits", "on", "--stop-clock"]);
    let reader = reader(&vault);
    vault.token(json!({"type": "token", "data": "x"}));
    vault.operator(&["tenant", "set", "--tenant", &vault.tenant_id, "--quota", "token_limit=7"]);
    let private = vault.keys.private.clone();
    for _ in 0..2 {
        vault.get("/applications/key", &private).with_status(200);
    }
    read(&vault, "keys", &reader);
    let shown = read(&vault, "limits", &reader);
    let of = |list: &str, name: &str, value: &str| {
        let mut all = shown[list].as_array().unwrap().iter();
        all.find(|it| it[name] == value).unwrap_or_else(|| panic!("{value} in {shown}")).clone()
    };
    let both = of("usage", "name", "tokens_and_token_intents");
    assert_eq!((&both["used"], &both["limit"]), (&json!(1), &json!(7)));
    let applications = of("usage", "name", "applications");
    assert_eq!((&applications["used"], &applications["limit"]), (&json!(4), &json!(1_000)));
    assert_eq!(of("usage", "name", "keys")["used"], 4);
    assert_eq!(of("quotas", "name", "token_limit")["value"], "7");
    assert_eq!((&shown["rate_limit"], &shown["limiter"]), (&json!("default"), &json!("on")));
    let management = of("rate_limits", "row", "management_application");
    assert_eq!((&management["requests"], &management["seconds"]), (&json!(200), &json!(60)));
    assert_eq!((&management["used"], &management["block_seconds"]), (&json!(2), &json!(60)));
    let row = of("rate_limits", "row", "private_application");
    // The token and both reads, by the private key; the reader's own key is of another type.
    assert_eq!((&row["busiest"]["used"], &row["used"]), (&json!(3), &Value::Null));
    assert_eq!(of("rate_limits", "row", "test_tenant")["used"], 2);
    // Other tenants may send from the same address.
    assert_eq!(of("rate_limits", "row", "address")["used"], Value::Null);
    assert!(shown["rate_limits"].as_array().unwrap().iter().all(|it| it["row"] != "legacy_key"));
}

/// Makes an application with the previewed rights, and checks that the API treats its key as the
/// preview said.
fn check_preview(vault: &Vault, reader: &str, permissions: &[&str], rules: &Value, path: &str) {
    let body = json!({"type": "private", "permissions": permissions, "rules": rules,
                      "container": path});
    let told = vault.post("/console/data/rules-preview", reader, body).with_status(200).json;
    assert_eq!((&told["valid"], &told["errors"]), (&json!(true), &json!({})));
    let key = vault.key_with("private", permissions, rules);
    let token = json!({"type": "social_security_number", "data": "123-45-6789",
                       "containers": [path], "deduplicate_token": false});
    let stored = || vault.token(token.clone());
    let at = |id: &str| format!("/tokens/{id}");
    let change = |id: &str| vault.patch_as(&key, id, json!({"metadata": {"a": "b"}}));
    let answers = [
        ("token:create", vault.post("/tokens", &key, token.clone())),
        ("token:read", vault.get(&at(&stored()), &key)),
        ("token:update", change(&stored())),
        ("token:delete", vault.delete(&at(&stored()), &key)),
    ];
    for (permission, answer) in answers {
        let mut all = told["token_permissions"].as_array().unwrap().iter();
        let of = all.find(|it| it["permission"] == permission).unwrap();
        let case = format!("{permission} in {path} with {permissions:?} {rules}: {of}");
        assert_eq!(answer.status < 300, of["allowed"] == true, "{case}: {}", answer.status);
        let data = &answer.json["data"];
        let shown = match data.as_str() {
            _ if answer.status >= 300 || answer.status == 204 => "nothing",
            Some("123-45-6789") => "reveal",
            Some(_) => "mask",
            None if answer.json["created_at"].is_null() => "outline",
            None => "redact",
        };
        assert_eq!(of["shows"], shown, "{case}: {}", answer.text());
    }
    let used = stored();
    let body = json!({"a": format!("{{{{ {used} }}}}")});
    let answer = vault.post("/detokenize", &key, body);
    let mut all = told["token_permissions"].as_array().unwrap().iter();
    let of = all.find(|it| it["permission"] == "token:use").unwrap();
    if of["allowed"] == true {
        let reveals = answer.with_status(200).json["a"] == "123-45-6789";
        assert_eq!(of["shows"] == "reveal", reveals, "{of}");
    }
}

#[test]
fn a_preview_of_rules_tells_what_the_interface_then_does() {
    let vault = Vault::start();
    let reader = reader(&vault);
    let all = ["token:create", "token:read", "token:update", "token:delete", "token:use"];
    let writes = ["token:create", "token:update"];
    let accesses: [(&[&str], Value); 6] = [
        (&all, json!([])),
        (&["token:use"], json!([rule(1, "/a/", "reveal", &all)])),
        (&[], json!([rule(2, "/", "redact", &all), rule(1, "/a/", "mask", &["token:read"])])),
        (&[], json!([rule(1, "/", "reveal", &writes), rule(1, "/a/b/", "mask", &["token:read"])])),
        (&[], json!([rule(1, "/", "reveal", &all), rule(1, "/a/", "redact", &all)])),
        (&["token:delete"], json!([rule(9, "/a/b/", "reveal", &["token:update", "token:read"])])),
    ];
    for (permissions, rules) in &accesses {
        for path in ["/a/", "/a/b/", "/c/"] {
            check_preview(&vault, &reader, permissions, rules, path);
        }
    }
}

#[test]
fn a_preview_reports_the_mistakes_that_creating_the_application_would() {
    let vault = Vault::start();
    let wrong = [
        json!({"type": "robot"}),
        json!({"type": "public", "permissions": ["token:read", "x:y"]}),
        json!({"type": "private", "rules": [rule(0, "no path", "hide", &[])]}),
        json!({"type": "management", "rules": [rule(1, "/", "mask", &["token:read"])]}),
        json!({"type": "private", "permissions": [], "rules": []}),
        json!({"type": "private", "rules": [{"priority": 0, "conditions": []}]}),
        json!({"type": "x", "permissions": ["token:read", 3], "rules": {}}),
    ];
    for mut body in wrong {
        body["name"] = json!("n");
        let refused = vault.post("/applications", &vault.keys.management, body.clone());
        let refused = refused.problem(400).json;
        body["container"] = json!("/a/");
        let told = vault.post("/console/data/rules-preview", &vault.keys.management, body.clone());
        let told = told.with_status(200).json;
        assert_eq!(told["valid"], false, "{body}");
        assert_eq!(told["errors"], refused["errors"], "{body}");
        assert_eq!(told["token_permissions"], json!([]), "{body}");
    }
    let errors = |body| {
        let told = vault.post("/console/data/rules-preview", &vault.keys.management, body);
        told.with_status(200).json["errors"].clone()
    };
    let mut body = json!({"type": "private", "permissions": ["token:read"]});
    assert!(errors(body.clone())["container"].is_array() && errors(json!([]))["$"].is_array());
    body["container"] = json!("a");
    assert_eq!(errors(body)["container"], json!(["A container must start and end with a slash."]));
}

#[test]
fn failures_of_webhooks_and_proxies_are_shown_without_anything_of_the_calls() {
    needs_one_process!("each process counts its own requests");
    let psp = Psp::start();
    let vault = Vault::start_with(&["--outbound-ca", psp.ca().to_str().unwrap()]);
    let (reader, management) = (reader(&vault), vault.keys.management.clone());
    let hook = json!({"name": "Shop", "url": psp.url("/status/503?secret"),
                      "events": ["token.created"]});
    let hook = vault.post("/webhooks", &management, hook).with_status(201).id();
    let proxy = json!({"name": "PSP", "destination_url": psp.url("/status/502")});
    let proxy = vault.post("/proxies", &management, proxy).with_status(201);
    vault.token(json!({"type": "token", "data": "x"}));
    let webhook = || items(&read(&vault, "webhooks", &reader))[0].clone();
    wait_until("a failed delivery", || webhook()["failed_attempts"].as_u64() > Some(0));
    let failing = webhook();
    assert_eq!((&failing["id"], &failing["waiting"]), (&json!(hook), &json!(1)));
    let failure = &failing["last_failure"];
    assert_eq!((&failure["kind"], &failure["status"]), (&json!("status"), &json!(503)));
    assert!(failing["oldest_waiting_at"].is_string() && failing["failing_since"].is_string());
    assert!(failing["disabled_since"].is_null() && !failing.to_string().contains("secret"));
    let disabled = json!({"name": "Shop", "url": "https://a.example", "status": "disabled",
                          "events": ["token.created"]});
    vault.put(&format!("/webhooks/{hook}"), &management, disabled).with_status(200);
    assert!(webhook()["disabled_since"].is_string());
    let call = || -> Answer {
        let request = post("/proxy/path?query").key(&vault.keys.private);
        let request = request.header("BT-PROXY-KEY", &proxy.member("key"));
        vault.send(&request.header("X-Secret", "secret").body("secret"))
    };
    let calls = || items(&read(&vault, "proxies", &reader))[0].clone();
    assert_eq!((&calls()["calls"], &calls()["last_failure"]), (&json!(0), &Value::Null));
    for _ in 0..2 {
        call();
    }
    let shown = calls();
    assert_eq!((&shown["id"], &shown["name"]), (&json!(proxy.id()), &json!("PSP")));
    assert_eq!((&shown["calls"], &shown["failures"]), (&json!(2), &json!(2)));
    let failure = &shown["last_failure"];
    assert_eq!(failure["kind"], "destination_status");
    assert!(failure["destination_status"].as_u64() >= Some(400));
    let text = shown.to_string();
    assert!(!text.contains("secret") && !text.contains("path") && !text.contains("localhost"));
}

#[test]
fn calls_of_reactors_are_counted_with_their_last_failures_and_nothing_of_the_calls() {
    needs_one_process!("each process counts its own requests");
    let mut vault = Vault::start();
    let reader = reader(&vault);
    let code = "module.exports = async ({ args }) => {
        if (args.fail) throw new Error('secret'); return { raw: 'secret' }; };";
    let body = json!({"name": "Charge", "code": code, "configuration": {"key": "secret"}});
    let id = vault.post("/reactors", &vault.keys.management, body).with_status(201).id();
    let path = format!("/reactors/{id}/react");
    let call = |path: &str, trace: &str, args: Value| {
        let request = post(path).key(&vault.keys.private).header("BT-TRACE-ID", trace);
        vault.send(&request.json(json!({ "args": args })))
    };
    let shown = |vault: &Vault| items(&read(vault, "reactors", &reader))[0].clone();
    assert_eq!((&shown(&vault)["calls"], &shown(&vault)["last_failures"]), (&json!(0), &json!([])));
    call(&path, "works", json!({})).with_status(200);
    for number in 0..6 {
        call(&path, &format!("fails-{number}"), json!({"fail": true})).with_status(500);
    }
    // Refused before the program is asked for: no call of it.
    call(&path, "refused", json!("{{ 0190a1b2-c3d4-4e5f-8a6b-7c8d9e0f1a2b }}")).with_status(400);
    let later = call(&format!("{path}-async"), "later", json!({"fail": true}));
    later.with_status(202);
    wait_until("the call that nobody waits for", || shown(&vault)["calls"] == 8);
    let found = shown(&vault);
    assert_eq!((&found["id"], &found["name"]), (&json!(id), &json!("Charge")));
    assert_eq!(found["failures"], 7);
    let last = found["last_failures"].as_array().unwrap();
    let traces: Vec<_> = last.iter().map(|it| it["trace_id"].as_str().unwrap()).collect();
    assert_eq!(traces, ["later", "fails-5", "fails-4", "fails-3", "fails-2"]);
    assert_eq!(last[0]["reason"], "the program threw an error");
    assert!(!found.to_string().contains("secret"));
    let whole = read(&vault, "reactors", &reader);
    assert_eq!((&whole["tenant_type"], &whole["runs_programs"]), (&json!("test"), &json!(true)));
    let production = vault.tenant("production").keys.management;
    assert_eq!(read(&vault, "reactors", &production)["tenant_type"], "production");
    vault.serve("pages.console = true");
    let whole = read(&vault, "reactors", &reader);
    assert_eq!(whole["runs_programs"], false);
    assert!(whole["obstacle"].as_str().unwrap().contains("switched off"), "{whole}");
}

#[test]
fn threeds_sessions_are_listed_newest_first_with_their_step_and_without_their_card() {
    let vault = Vault::start();
    let reader = reader(&vault);
    assert_eq!(items(&read(&vault, "3ds-sessions", &reader)).len(), 0);
    let card = threeds::card(&vault, "4200000000000002");
    let made: Vec<_> =
        (0..53).map(|_| threeds::create(&vault, &card).with_status(201).id()).collect();
    let newest = made.last().unwrap();
    threeds::authenticate(&vault, newest, threeds::body()).with_status(200);
    let page = read(&vault, "3ds-sessions", &reader);
    let ids: Vec<_> = items(&page).iter().map(|it| it["id"].as_str().unwrap()).collect();
    let expected: Vec<_> = made.iter().rev().take(50).map(String::as_str).collect();
    assert_eq!(ids, expected);
    let [first, second] = [&items(&page)[0], &items(&page)[1]];
    assert_eq!((&second["step"], &second["device"]), (&json!("created"), &json!("browser")));
    assert_ne!(first["step"], "created");
    assert!(first["outcome"].is_string() && second["outcome"].is_null());
    let text = page.to_string();
    assert!(!text.contains(&card) && !text.contains("42000000") && !text.contains("transaction"));
    let next = page["pagination"]["next"].as_str().unwrap();
    let rest = read(&vault, &format!("3ds-sessions?start={next}"), &reader);
    assert_eq!((items(&rest).len(), &rest["pagination"]["next"]), (3, &Value::Null));
    // A cursor of one tenant is none of another.
    let foreign = foreign_reader(&vault);
    let path = format!("/console/data/3ds-sessions?start={next}");
    vault.get(&path, &foreign).invalid(&["start"]);
}

#[test]
fn a_tenant_sees_nothing_of_another_in_the_console() {
    let vault = Vault::start();
    let (own, foreign) = (reader(&vault), foreign_reader(&vault));
    let management = vault.keys.management.clone();
    let hook = json!({"name": "Hidden", "url": "https://a.example", "events": ["token.deleted"]});
    vault.post("/webhooks", &management, hook).with_status(201);
    let proxy = json!({"name": "Hidden", "destination_url": "https://a.example"});
    vault.post("/proxies", &management, proxy).with_status(201);
    let reactor = json!({"name": "Hidden", "code": "module.exports = () => ({});"});
    vault.post("/reactors", &management, reactor).with_status(201);
    let card = threeds::card(&vault, "4200000000000002");
    threeds::create(&vault, &card).with_status(201);
    for name in ["proxies", "reactors", "3ds-sessions", "webhooks"] {
        assert_eq!(items(&read(&vault, name, &own)).len(), 1, "{name}");
        assert_eq!(items(&read(&vault, name, &foreign)).len(), 0, "{name}");
    }
    let mine = read(&vault, "keys", &own);
    let theirs = read(&vault, "keys", &foreign);
    assert_eq!((items(&mine).len(), items(&theirs).len()), (4, 4));
    for key in items(&theirs) {
        assert!(items(&mine).iter().all(|it| it["key_id"] != key["key_id"]));
    }
    let limits = read(&vault, "limits", &foreign);
    let used = limits["usage"].as_array().unwrap().iter().find(|it| it["name"] == "proxies");
    assert_eq!(used.unwrap()["used"], 0);
}
