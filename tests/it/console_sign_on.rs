//! People at the console: the operator's sign-on in front of it, by headers of a trusted proxy or by
//! client certificates. Who is admitted, what each role may do, and that every act has a name.

use std::net::{Ipv4Addr, SocketAddr};

use serde_json::{Value, json};

use crate::harness::{
    Answer, Authority, Connection, Directory, NUMBER, Psp, Request, Vault, card, delete, get,
    patch, post, put, trusting, wait_until,
};

const SECRET: &str = "4f1c9a7d2b8e6035a1d4c7f09b3e5a862d7f4c1b";
const ALICE: &str = "alice";
/// The settings of a sign-on by a proxy on this machine.
const BY_PROXY: &str = "[console]\nproxies = [\"127.0.0.1/32\"]\nviewers = [\"viewers\"]\n\
                        administrators = [\"admins\"]\n";

fn vault_with(console: &str, flags: &[&str]) -> Vault {
    let directory = Directory::new();
    let file = directory.write("console.toml", console, 0o600);
    let file = file.display().to_string();
    Vault::start_in(directory, &[&["--console", &file], flags].concat())
}

fn vault() -> Vault {
    vault_with(BY_PROXY, &[])
}

/// As the proxy sends it for a person, from the console's page.
fn from(vault: &Vault, name: &str, groups: &str, request: Request) -> Request {
    request
        .header("X-Forwarded-User", name)
        .header("X-Forwarded-Groups", groups)
        .header("Strongroom-Console", &vault.tenant_id)
}

fn admin(vault: &Vault, request: Request) -> Answer {
    vault.send(&from(vault, ALICE, "staff, admins", request))
}

fn viewer(vault: &Vault, request: Request) -> Answer {
    vault.send(&from(vault, "victor", "viewers", request))
}

#[test]
fn every_act_of_a_person_has_the_name_in_the_audit_log() {
    let vault = vault();
    let opened = admin(&vault, post("/console/data/sign-on")).with_status(200).json;
    assert_eq!((&opened["person"], &opened["role"]), (&json!(ALICE), &json!("administrator")));
    assert_eq!(opened["tenant_id"], vault.tenant_id.as_str());
    let permissions = opened["permissions"].to_string();
    assert!(permissions.contains("application:create") && !permissions.contains("tenant:delete"));
    assert!(!permissions.contains("tenant:member:"), "rights of absent features are not offered");
    let made = admin(
        &vault,
        post("/applications").json(json!({
            "name": "by a person", "type": "private", "permissions": ["token:read"],
        })),
    );
    let id = made.with_status(201).id();
    admin(&vault, delete(&format!("/applications/{id}"))).with_status(204);
    let token = admin(&vault, post("/tokens").json(json!({"type": "token", "data": "x"})));
    let token = token.with_status(201).id();
    admin(&vault, get(&format!("/tokens/{token}"))).with_status(200);
    // With a key, the entry has the key, its application and the person.
    let both = get(&format!("/tokens/{token}")).key(&vault.keys.private);
    vault.send(&from(&vault, ALICE, "admins", both)).with_status(200);
    vault.read(&token).with_status(200);
    let entries = vault.chain();
    let of = |operation: &str, kind: &str| {
        let is_one = |it: &&Value| it["operation"] == operation && it["entity_type"] == kind;
        entries.iter().filter(is_one).cloned().collect::<Vec<_>>()
    };
    for (operation, kind) in [("sign_on", "tenant"), ("create", "token"), ("delete", "application")]
    {
        let entry = of(operation, kind).pop().unwrap_or_else(|| panic!("{operation} {kind}"));
        assert_eq!(entry["person"], ALICE, "{entry}");
        assert_eq!(entry["sign_on"], "proxy", "{entry}");
        assert_eq!(entry["actor_type"], "person", "{entry}");
        assert_eq!((&entry["key_id"], &entry["actor_id"]), (&Value::Null, &Value::Null));
        assert_eq!(entry["address"], "127.0.0.1");
    }
    let reads = of("read", "token");
    let told: Vec<_> = reads.iter().map(|it| (&it["actor_type"], &it["person"])).collect();
    let (person, application) = (json!("person"), json!("application"));
    let (alice, nobody) = (json!(ALICE), Value::Null);
    assert_eq!(told, [(&person, &alice), (&application, &alice), (&application, &nobody)]);
    assert!(reads[1]["key_id"].is_string() && reads[1]["actor_id"].is_string());
    // The tenant's own log has it too.
    let logged = admin(&vault, get("/logs?entity_type=token")).with_status(200).json;
    let logged = logged["data"].as_array().unwrap();
    assert!(
        logged.iter().any(|it| it["person"] == ALICE && it["sign_on"] == "proxy"),
        "{logged:?}"
    );
    // The default period ends before the second of the report.
    let period = ["report", "--json", "--from", "2020-01-01", "--to", "2100-01-01"];
    let report = vault.operator(&period).with_code(0).stdout;
    assert!(report.contains("person: alice (by proxy)"), "{report}");
    assert!(!vault.log().contains(ALICE), "log lines have no text from outside");
}

#[test]
fn headers_of_a_peer_that_is_no_proxy_are_nothing() {
    let console = BY_PROXY.replace("127.0.0.1/32", "127.0.0.7/32");
    let vault = vault_with(&console, &["--trusted-proxy", "127.0.0.0/8"]);
    let request = from(&vault, ALICE, "admins", get("/applications"));
    vault.send(&request).problem(401);
    // An address that a header claims is no peer.
    let claimed = from(&vault, ALICE, "admins", get("/applications"));
    vault.send(&claimed.header("X-Forwarded-For", "127.0.0.7")).problem(401);
    let source = SocketAddr::from((Ipv4Addr::new(127, 0, 0, 7), 0));
    let mut proxy = Connection::open_from(source, vault.address, vault.client()).unwrap();
    proxy.send(&request.bytes("localhost")).unwrap();
    proxy.receive().unwrap().with_status(200);
    let ways = vault.send(&from(&vault, ALICE, "admins", get("/console/data/sign-on")));
    let ways = ways.with_status(200).json;
    assert_eq!(ways, json!({"management_keys": true, "sign_on": true}));
}

#[test]
fn a_person_without_a_group_and_malformed_headers_are_refused_with_a_reason() {
    let vault = vault();
    let list = || get("/applications");
    let refused = vault.send(&from(&vault, ALICE, "others", list())).problem(403);
    assert!(refused.text().contains("groups of this person"), "{}", refused.text());
    let refused = vault.send(&from(&vault, "a,b", "admins", list())).problem(401);
    assert!(refused.text().contains("name the person"), "{}", refused.text());
    let twice = from(&vault, ALICE, "admins", list()).header("X-Forwarded-User", "mallory");
    vault.send(&twice).problem(401);
    let groups = from(&vault, ALICE, "viewers", list()).header("X-Forwarded-Groups", "admins");
    vault.send(&groups).problem(401);
    // Another spelling is another header, whatever a program between would make of it.
    let spelt = list()
        .header("X_Forwarded_User", ALICE)
        .header("X_Forwarded_Groups", "admins")
        .header("Strongroom-Console", &vault.tenant_id);
    vault.send(&spelt).problem(401);
    let ways = vault.send(&from(&vault, ALICE, "others", get("/console/data/sign-on")));
    let reason = &ways.with_status(200).json["refusal"];
    assert_eq!(reason, "The groups of this person give no access to the console.");
    // A wrong key is not helped by a person.
    let key = from(&vault, ALICE, "admins", list()).key("key_test_self_mgt_unknown");
    vault.send(&key).problem(401);
}

#[test]
fn with_a_secret_another_program_of_the_machine_can_speak_for_nobody() {
    let directory = Directory::new();
    let secret = directory.write("secret", format!("{SECRET}\n"), 0o400);
    let console = format!("{BY_PROXY}secret_file = \"{}\"\n", secret.display());
    let mut vault = vault_with(&console, &[]);
    let applications = |vault: &Vault| from(vault, ALICE, "admins", get("/applications"));
    let person = || applications(&vault);
    let refused = vault.send(&person()).problem(401);
    assert!(refused.text().contains("without the secret"), "{}", refused.text());
    for wrong in ["", "x", &SECRET.replace('4', "5"), &format!("{SECRET}0")] {
        vault.send(&person().header("X-Console-Secret", wrong)).problem(401);
    }
    let twice = person().header("X-Console-Secret", SECRET).header("X-Console-Secret", SECRET);
    vault.send(&twice).problem(401);
    vault.send(&person().header("X-Console-Secret", SECRET)).with_status(200);
    // People without a role are vouched for, so each has an entry with the name.
    for name in [ALICE, "bob"] {
        let stranger = from(&vault, name, "others", get("/applications"));
        vault.send(&stranger.header("X-Console-Secret", SECRET)).problem(403);
    }
    vault.assert_nowhere(&[SECRET]);
    assert_eq!(vault.stop(), Some(0), "the stop writes the entries");
    let entries = vault.chain();
    let has = |reason: &str, person: &Value| {
        entries.iter().any(|entry| entry["reason"] == reason && entry["person"] == *person)
    };
    for (reason, person) in [
        ("wrong_secret", Value::Null),
        ("not_allowed", json!(ALICE)),
        ("not_allowed", json!("bob")),
    ] {
        assert!(has(reason, &person), "{reason} {person} {entries:?}");
    }
    assert!(!has("no_key", &Value::Null) && !has("not_allowed", &Value::Null));
}

#[test]
fn what_another_site_causes_is_not_the_persons() {
    let vault = vault();
    let own = format!("https://{}", vault.address);
    let base = || {
        post("/applications")
            .header("X-Forwarded-User", ALICE)
            .header("X-Forwarded-Groups", "admins")
            .json(json!({"name": "n", "type": "private", "permissions": ["token:read"]}))
    };
    let with = || base().header("Strongroom-Console", &vault.tenant_id);
    // A form, an image or a link of another site has no such header.
    vault.send(&base()).problem(401);
    vault.send(&base().header("Sec-Fetch-Site", "cross-site")).problem(401);
    for site in ["cross-site", "same-site", "none", "Same-Origin", ""] {
        vault.send(&with().header("Sec-Fetch-Site", site)).problem(403);
    }
    for origin in ["https://evil.example", "null", "http://localhost", ""] {
        vault.send(&with().header("Origin", origin)).problem(403);
    }
    let mixed = with().header("Origin", "https://evil.example");
    vault.send(&mixed.header("Sec-Fetch-Site", "same-origin")).problem(403);
    // A page of another site cannot send the header: the preflight does not allow it.
    let asked = Request::new("OPTIONS", "/applications")
        .header("Origin", "https://evil.example")
        .header("Access-Control-Request-Headers", "strongroom-console")
        .header("Access-Control-Request-Method", "POST");
    let allowed = vault.send(&asked);
    let headers = allowed.header("access-control-allow-headers").unwrap().to_lowercase();
    assert!(!headers.contains("strongroom-console"), "{headers}");
    assert_eq!(allowed.header("access-control-allow-credentials"), None);
    // Nor does it learn who the person is.
    let ways = from(&vault, ALICE, "admins", get("/console/data/sign-on"));
    let ways = vault.send(&ways.header("Origin", "https://evil.example")).with_status(200);
    assert_eq!(ways.json, json!({"management_keys": true, "sign_on": true}));
    let listed = admin(&vault, get("/applications")).with_status(200).json;
    assert_eq!(listed["data"].as_array().unwrap().len(), 3, "nothing was made");
    for tenant in ["", "x", "0190a1b2-c3d4-4e5f-8a6b-7c8d9e0f1a2b"] {
        vault.send(&base().header("Strongroom-Console", tenant)).problem(403);
    }
    let good = with().header("Sec-Fetch-Site", "same-origin").header("Origin", &own);
    assert_eq!(good.bytes("x").len(), good.bytes("y").len());
    let mut connection = vault.connect();
    connection.send(&good.bytes(&vault.address.to_string())).unwrap();
    connection.receive().unwrap().with_status(201);
}

#[test]
fn no_person_sees_a_value_in_plain_or_sends_one_anywhere() {
    let psp = Psp::start();
    let vault = vault_with(BY_PROXY, &["--outbound-ca", psp.ca().to_str().unwrap()]);
    let id = vault.token(json!({"type": "card", "data": card()}));
    let seen = admin(&vault, get(&format!("/tokens/{id}"))).with_status(200);
    assert!(!seen.text().contains(NUMBER), "{}", seen.text());
    assert!(seen.text().contains("XXXX"), "{}", seen.text());
    // A mask of one's own choice does not open what is stored.
    let chosen = json!({"mask": "{{ data.number }}"});
    let changed = patch(&format!("/tokens/{id}"))
        .header("Content-Type", "application/merge-patch+json")
        .body(chosen.to_string());
    let changed = admin(&vault, changed);
    assert!(!changed.text().contains(NUMBER), "{}", changed.text());
    let seen = admin(&vault, get(&format!("/tokens/{id}"))).with_status(200);
    assert!(!seen.text().contains(NUMBER), "{}", seen.text());
    let call = json!({"a": format!("{{{{ token: {id} }}}}")});
    let opened = admin(&vault, post("/detokenize").json(call.clone())).with_status(200);
    assert!(!opened.text().contains(NUMBER), "{}", opened.text());
    let through = post("/proxy").header("BT-PROXY-URL", &psp.url("/echo")).json(call);
    admin(&vault, through).with_status(401);
    // Deleting the whole tenant is for the operator and keys that were given the right.
    admin(&vault, delete("/tenants/self")).problem(403);
    for path in ["/sessions", "/sessions/authorize"] {
        admin(&vault, post(path).json(json!({"nonce": "n", "permissions": ["token:create"]})))
            .problem(403);
    }
    assert!(psp.received().is_empty());
}

#[test]
fn a_destination_of_a_proxy_gets_nothing_of_the_sign_on() {
    let psp = Psp::start();
    let directory = Directory::new();
    let secret = directory.write("secret", SECRET, 0o400);
    let console = format!("{BY_PROXY}secret_file = \"{}\"\n", secret.display());
    let vault = vault_with(&console, &["--outbound-ca", psp.ca().to_str().unwrap()]);
    let call = get("/proxy").key(&vault.keys.private).header("BT-PROXY-URL", &psp.url("/headers"));
    let call = from(&vault, ALICE, "admins", call)
        .header("X-Console-Secret", SECRET)
        .header("X_Console_Secret", SECRET)
        .header("X-Other", "passes");
    vault.send(&call).with_status(200);
    let received = psp.received();
    let headers = format!("{:?}", received.first().unwrap());
    assert!(headers.contains("passes"), "{headers}");
    for own in [SECRET, ALICE, "strongroom-console"] {
        assert!(!headers.to_lowercase().contains(own), "{own}");
    }
}

#[test]
fn a_viewer_reads_all_views_and_the_page_knows_the_role() {
    let vault = vault();
    vault.token(json!({"type": "card", "data": card()}));
    let ways = viewer(&vault, get("/console/data/sign-on")).with_status(200).json;
    assert_eq!(ways["person"], "victor");
    assert_eq!(ways["role"], "viewer");
    assert_eq!(ways["tenants"][0]["id"], vault.tenant_id.as_str());
    assert!(ways["tenants"][0]["name"].is_string());
    viewer(&vault, post("/console/data/sign-on")).with_status(200);
    for path in [
        "/applications",
        "/console/data/activity",
        "/console/data/keys",
        "/console/data/limits",
        "/console/data/proxies",
        "/console/data/reactors",
        "/console/data/3ds-sessions",
        "/console/data/webhooks",
        "/logs",
        "/proxies",
        "/reactors",
        "/tenants/self",
        "/v2/tokens",
        "/webhooks",
    ] {
        let seen = viewer(&vault, get(path)).with_status(200);
        assert!(!seen.text().contains(NUMBER), "{path}");
    }
    let made = admin(
        &vault,
        post("/proxies").json(json!({
            "name": "p", "destination_url": "https://psp.example",
            "configuration": {"secret": "sk_of_the_destination"},
            "request_transforms": [{"type": "append_header",
                "options": {"location": "Authorization", "value": "sk_in_a_transform"}}],
        })),
    );
    let made = made.with_status(201);
    let path = format!("/proxies/{}", made.id());
    for path in ["/proxies", &path] {
        let seen = viewer(&vault, get(path)).with_status(200);
        for secret in ["sk_of_the_destination", "sk_in_a_transform", &made.member("key")] {
            assert!(!seen.text().contains(secret), "{path} {secret}");
            assert!(admin(&vault, get(path)).text().contains(secret), "{path} {secret}");
        }
    }
    let code = "module.exports = () => 'sk_in_the_code';";
    let reactor = json!({"name": "r", "code": code, "configuration": {"secret": "sk_of_it"}});
    let made = admin(&vault, post("/reactors").json(reactor)).with_status(201);
    let path = format!("/reactors/{}", made.id());
    for path in ["/reactors", &path] {
        let seen = viewer(&vault, get(path)).with_status(200);
        for secret in ["sk_in_the_code", "sk_of_it"] {
            assert!(!seen.text().contains(secret), "{path} {secret}");
            assert!(admin(&vault, get(path)).text().contains(secret), "{path} {secret}");
        }
    }
    viewer(&vault, get(&format!("{path}/logs"))).with_status(200);
    viewer(&vault, delete(&path)).problem(403);
    let refused = viewer(&vault, put("/tenants/self").json(json!({"name": "n"}))).problem(403);
    assert!(refused.text().contains("viewer"), "{}", refused.text());
    wait_until("the refusal is in the log", || {
        let entries = vault.chain();
        let refusal = entries.iter().find(|it| it["operation"] == "refuse");
        refusal.is_some_and(|it| {
            (&it["person"], &it["actor_type"]) == (&json!("victor"), &json!("person"))
        })
    });
}

#[test]
fn with_management_keys_off_the_console_takes_only_people() {
    let vault = vault_with(&format!("{BY_PROXY}management_keys = false\n"), &[]);
    let key = &vault.keys.management;
    let refused = vault.get("/console/data/limits", key).problem(403);
    assert!(refused.text().contains("sign-on"), "{}", refused.text());
    assert_eq!(vault.send(&get("/console/data/sign-on")).json["management_keys"], false);
    // Programs go on.
    vault.get("/applications", key).with_status(200);
    admin(&vault, get("/console/data/limits")).with_status(200);
    let with_key = post("/console/data/sign-on").key(key);
    vault.send(&with_key).problem(403);
}

#[test]
fn without_a_sign_on_headers_are_nothing_and_keys_work() {
    let vault = Vault::start();
    vault.send(&from(&vault, ALICE, "admins", get("/applications"))).problem(401);
    vault.get("/console/data/limits", &vault.keys.management).with_status(200);
    let ways = vault.send(&get("/console/data/sign-on")).with_status(200).json;
    assert_eq!(ways, json!({"management_keys": true, "sign_on": false}));
    vault.post("/console/data/sign-on", &vault.keys.management, json!({})).problem(403);
}

#[test]
fn each_person_has_limits_and_answers_of_their_own() {
    let vault = vault_with(BY_PROXY, &["--rate-limits", "on", "--stop-clock"]);
    let ask = |name: &str| vault.send(&from(&vault, name, "viewers", get("/applications")));
    let refused = (0..500).map(|_| ask("victor")).find(|answer| answer.status != 200);
    refused.expect("the person is over the limit").with_status(429);
    let create = |name: &str| {
        let body = json!({"name": name, "type": "private", "permissions": ["token:read"]});
        let request = post("/applications").once("the-same-key").json(body);
        vault.send(&from(&vault, name, "admins", request))
    };
    vault.advance(120);
    let first = create("anna").with_status(201);
    let second = create("bert").with_status(201);
    assert_ne!(first.id(), second.id(), "an idempotency key is the person's");
    assert_eq!(create("anna").with_status(201).id(), first.id());
}

#[test]
fn a_client_certificate_is_the_person_on_a_listener_of_its_own() {
    let people = Authority::new("people");
    let directory = Directory::new();
    let ca = directory.write("people.pem", &people.pem, 0o600);
    let console =
        format!("{BY_PROXY}listen = [\"127.0.0.1:0\"]\nclient_ca = \"{}\"\n", ca.display());
    let vault = vault_with(&console, &[]);
    let address = vault.console.expect("it listens");
    let own = vault.data().join("ca.pem");
    let send = |by: &Authority, name: &str, groups: &[&str], request: &Request| {
        let client = Authority::client_of(&by.issue_person(name, groups), &own);
        let mut connection = Connection::open(address, &client)?;
        connection.send(&request.bytes(&address.to_string()))?;
        connection.receive()
    };
    let list = get("/applications").header("Strongroom-Console", &vault.tenant_id);
    let create = post("/applications")
        .header("Strongroom-Console", &vault.tenant_id)
        .json(json!({"name": "n", "type": "private", "permissions": ["token:read"]}));
    send(&people, "Zo\u{eb}", &["admins"], &create).unwrap().with_status(201);
    send(&people, "vera", &["staff", "viewers"], &list).unwrap().with_status(200);
    send(&people, "vera", &["staff", "viewers"], &create).unwrap().with_status(403);
    send(&people, "eve", &["staff"], &list).unwrap().with_status(403);
    send(&people, "eve", &[], &list).unwrap().with_status(403);
    send(&people, "a,b", &["admins"], &list).unwrap().with_status(401);
    // Without the page's header the certificate alone does nothing.
    send(&people, "vera", &["viewers"], &get("/applications")).unwrap().with_status(401);
    // Headers beside a certificate do not count, although the peer is a trusted proxy.
    let claimed = from(&vault, ALICE, "admins", get("/applications"));
    send(&people, "eve", &["staff"], &claimed).unwrap().with_status(403);
    // Another authority, and no certificate, are not admitted at all.
    assert!(send(&Authority::new("others"), "mallory", &["admins"], &list).is_err());
    let mut bare = Connection::open(address, &trusting(&own)).ok();
    let answered = bare.as_mut().map(|it| it.send(&list.bytes("x")).and_then(|()| it.receive()));
    assert!(!matches!(answered, Some(Ok(_))));
    // On the listener of the API nobody is asked for a certificate.
    vault.send(&list).problem(401);
    let made = vault.chain().into_iter().rfind(|it| it["operation"] == "create").unwrap();
    assert_eq!((&made["person"], &made["sign_on"]), (&json!("Zo\u{eb}"), &json!("certificate")));
}
