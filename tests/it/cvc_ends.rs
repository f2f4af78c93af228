//! The early ends of card verification codes: after a use, by a request, and by the operator's
//! limit; and how the report counts them.

use serde_json::{Value, json};

use crate::harness::{Answer, Vault, needs_data_file, post, wait_until};
use crate::proxy::{CARD, Scene};

const CODES: &str = "Card verification codes";
const SWITCH: &str = "destroy_cvc_after_use";

fn code(vault: &Vault, id: &str) -> Option<String> {
    let read = vault.read(id).with_status(200);
    assert_eq!(read.json["data"]["number"], CARD, "the token stays");
    read.json["data"].get("cvc").map(|code| String::from(code.as_str().unwrap()))
}

fn card(cvc: &str) -> Value {
    json!({"type": "card", "data": {"number": CARD, "cvc": cvc}})
}

/// Calls a path of the PSP with these members of the card.
#[track_caller]
fn pay(scene: &Scene, path: &str, members: &[&str]) -> Answer {
    let body: serde_json::Map<_, _> =
        members.iter().map(|name| (String::from(*name), json!(scene.field(name)))).collect();
    scene.send(&scene.call(path).json(Value::Object(body)))
}

fn codes_of(facts: &Value) -> &Value {
    let chapters = facts["chapters"].as_array().unwrap();
    chapters.iter().find(|it| it["title"] == CODES).unwrap()
}

fn report(vault: &Vault) -> Value {
    codes_of(&vault.operator(&["report", "--json"]).json()).clone()
}

#[track_caller]
fn check_counts(vault: &Vault, row: usize, expected: [(&str, &str); 4]) {
    let rows = report(vault)["rows"].clone();
    for (name, count) in expected {
        assert_eq!(rows[row][name], count, "{name}: {rows}");
    }
}

/// Entries of reads come in batches of their own, so the order is not that of the requests.
#[track_caller]
fn check_acts(vault: &Vault, query: &str, act: &str, count: usize) {
    let acts = vault.acts(query);
    assert_eq!(acts.iter().filter(|it| *it == act).count(), count, "{acts:?}");
}

fn findings(chapter: &Value, standing: &str) -> Vec<String> {
    let all = chapter["findings"].as_array().unwrap().iter();
    let of = all.filter(|it| it["standing"] == standing);
    of.map(|it| String::from(it["sentence"].as_str().unwrap())).collect()
}

#[test]
fn a_code_can_be_used_twice_unless_the_tenant_or_the_proxy_says_otherwise() {
    let scene = Scene::start();
    for _ in 0..2 {
        pay(&scene, "/echo", &["number", "cvc"]).with_status(200);
        assert!(scene.psp.received_once().text().contains("\"917\""));
    }
    assert_eq!(code(&scene.vault, &scene.card).as_deref(), Some("917"));
}

#[test]
fn the_first_successful_call_that_used_a_code_destroys_it_and_no_other_call_does() {
    let mut scene = Scene::start();
    scene.vault.set_tenant(json!({SWITCH: "true"}));
    // Other members of the card do not use the code.
    pay(&scene, "/echo", &["number", "expiration_month"]).with_status(200);
    // Neither an error of the destination nor its redirection is a success.
    for path in ["/status/402", "/status/500", "/redirect"] {
        pay(&scene, path, &["number", "cvc"]);
        assert_eq!(code(&scene.vault, &scene.card).as_deref(), Some("917"), "{path}");
    }
    scene.psp.received();
    pay(&scene, "/status/201", &["number", "cvc"]).with_status(201);
    assert!(scene.psp.received_once().text().contains("\"917\""));
    assert_eq!(code(&scene.vault, &scene.card), None);
    check_acts(&scene.vault, "entity_type=token", "use_cvc", 1);
    pay(&scene, "/echo", &["number", "cvc"]);
    assert!(!scene.psp.received_once().text().contains("917"));
    // A new code lives and ends as the first one did.
    scene.vault.patch(&scene.card, json!({"data": {"cvc": "918"}})).with_status(200);
    pay(&scene, "/echo", &["cvc"]).with_status(200);
    assert_eq!(code(&scene.vault, &scene.card), None);
    check_counts(
        &scene.vault,
        0,
        [("used", "2"), ("deleted", "0"), ("expired", "0"), ("with the token", "0")],
    );
    scene.vault.stop_and_verify().with_code(0);
}

#[test]
fn a_whole_card_and_a_header_use_the_code_too() {
    let scene = Scene::start();
    scene.vault.set_tenant(json!({SWITCH: "true"}));
    let whole = format!("{{{{ {} }}}}", scene.card);
    scene.send(&scene.call("/echo").json(json!({"card": whole}))).with_status(200);
    assert_eq!(code(&scene.vault, &scene.card), None);
    let other = scene.vault.token(card("919"));
    let header = format!("{{{{ token: {other} | json: '$.data.cvc' }}}}");
    scene.send(&scene.call("/echo").header("X-Code", &header)).with_status(200);
    assert_eq!(code(&scene.vault, &other), None);
}

#[test]
fn a_program_that_succeeds_destroys_the_codes_in_its_arguments() {
    let scene = Scene::start();
    let (vault, key) = (&scene.vault, &scene.vault.keys.private);
    let management = vault.key_with("management", &["reactor:create"], &json!([]));
    let reactor = |image: &str, code: &str| {
        let body = json!({"name": "r", "code": code, "runtime": {"image": image}});
        vault.post("/reactors", &management, body).with_status(201).id()
    };
    let fails = reactor("node-bt", "module.exports = () => { throw new Error('no'); };");
    let uses = reactor("node-bt", "module.exports = (req) => ({ raw: req.args.cvc });");
    let status = "module.exports = ({ req }) => ({ res: { statusCode: req.status, body: {} } });";
    let answers = reactor("node22", status);
    let whole = format!("{{{{ {} }}}}", scene.card);
    let call = |path: &str, body: Value| vault.post(&format!("/reactors/{path}"), key, body);
    let react = |id: &str, args: Value| call(&format!("{id}/react"), json!({ "args": args }));
    assert_eq!(react(&uses, json!({"cvc": scene.field("cvc")})).json["raw"], "917");
    assert_eq!(code(vault, &scene.card).as_deref(), Some("917"), "the tenant does not want it");
    vault.set_tenant(json!({SWITCH: "true"}));
    // Neither a failure nor another member of the card ends the code.
    react(&fails, json!({"cvc": scene.field("cvc")})).with_status(500);
    react(&uses, json!({"number": scene.field("number")})).with_status(200);
    let node = |status: u16| json!({"status": status, "card": whole});
    call(&format!("{answers}/react"), node(402)).with_status(402);
    assert_eq!(code(vault, &scene.card).as_deref(), Some("917"));
    assert_eq!(react(&uses, json!({"cvc": scene.field("cvc")})).json["raw"], "917");
    assert_eq!(code(vault, &scene.card), None);
    check_acts(vault, "entity_type=token", "use_cvc", 1);
    let renew = |cvc: &str| {
        vault.patch(&scene.card, json!({"data": {"cvc": cvc}})).with_status(200);
    };
    renew("918");
    call(&format!("{answers}/react"), node(201)).with_status(201);
    assert_eq!(code(vault, &scene.card), None, "a response of its own");
    renew("919");
    call(&format!("{uses}/react-async"), json!({"args": {"card": whole}})).with_status(202);
    wait_until("the end of the code", || code(vault, &scene.card).is_none());
    check_counts(
        vault,
        0,
        [("used", "3"), ("deleted", "0"), ("expired", "0"), ("with the token", "0")],
    );
}

#[test]
fn a_proxy_destroys_codes_where_its_tenant_does_not() {
    let scene = Scene::start();
    let proxy = scene.proxy(json!({SWITCH: true}));
    assert_eq!(proxy.json[SWITCH], true);
    assert_eq!(scene.proxy(json!({})).json[SWITCH], false);
    let call = post("/proxy").key(&scene.vault.keys.private);
    let call = call.header("BT-PROXY-KEY", &proxy.member("key"));
    scene.send(&call.json(json!({"c": scene.field("cvc")}))).with_status(200);
    assert_eq!(code(&scene.vault, &scene.card), None);
    assert_eq!(report(&scene.vault)["rows"][0]["proxies that destroy"], "1 of 2");
}

#[test]
fn the_code_of_an_intent_ends_with_its_use_and_the_intent_stays() {
    let scene = Scene::start();
    scene.vault.set_tenant(json!({SWITCH: "true"}));
    let (vault, key) = (&scene.vault, &scene.vault.keys.private);
    let intent = vault.post("/token-intents", key, card("920")).with_status(201).id();
    let expression = format!("{{{{ token_intent: {intent} | json: '$.data.cvc' }}}}");
    let call = || scene.send(&scene.call("/echo").json(json!({"c": expression})));
    call().with_status(200);
    assert!(scene.psp.received_once().text().contains("\"920\""));
    call();
    assert!(!scene.psp.received_once().text().contains("920"));
    vault.get(&format!("/token-intents/{intent}"), key).with_status(200);
    check_acts(vault, "entity_type=token_intent", "use_cvc", 1);
}

#[test]
fn a_repeated_answer_does_not_bring_a_destroyed_code_back() {
    let scene = Scene::start();
    scene.vault.set_tenant(json!({SWITCH: "true"}));
    let once = |key: &str| {
        let create = post("/tokens").key(&scene.vault.keys.private);
        scene.send(&create.once(key).json(card("921"))).with_status(201)
    };
    let (used, deleted) = (once("a"), once("b"));
    assert_eq!(once("a").json["data"]["cvc"], "921");
    let expression = format!("{{{{ {} }}}}", used.id());
    scene.send(&scene.call("/echo").json(json!({"c": expression}))).with_status(200);
    let path = format!("/tokens/{}/cvc", deleted.id());
    scene.vault.delete(&path, &scene.vault.keys.private).with_status(204);
    for (key, first) in [("a", &used), ("b", &deleted)] {
        let again = once(key);
        assert_eq!(again.header("bt-idempotent-replayed"), Some("true"));
        let mut expected = first.json.clone();
        expected["data"] = json!({"number": CARD});
        assert_eq!(again.json, expected);
    }
    // A code that takes its place does not open the old answer.
    scene.vault.advance(1);
    scene.vault.patch(&used.id(), json!({"data": {"cvc": "922"}})).with_status(200);
    assert_eq!(once("a").json["data"], json!({"number": CARD}));
}

#[test]
fn a_request_deletes_the_code_alone_and_a_repetition_is_answered_alike() {
    let mut vault = Vault::start();
    let id = vault.token(card("923"));
    let path = format!("/tokens/{id}/cvc");
    let updater = vault.key_with("private", &["token:update"], &json!([]));
    for key in ["token:read", "token:delete", "token:create"] {
        let key = vault.key_with("private", &[key], &json!([]));
        vault.delete(&path, &key).problem(403);
    }
    assert_eq!(code(&vault, &id).as_deref(), Some("923"));
    for _ in 0..2 {
        let answer = vault.delete(&path, &updater).with_status(204);
        assert!(answer.bytes.is_empty());
    }
    assert_eq!(code(&vault, &id), None);
    check_acts(&vault, "entity_type=token", "delete_cvc", 1);
    let plain = vault.token(json!({"type": "token", "data": "x"}));
    vault.delete(&format!("/tokens/{plain}/cvc"), &updater).with_status(204);
    vault.delete("/tokens/nosuchtoken/cvc", &updater).problem(404);
    let other = vault.tenant("test");
    vault.delete(&path, &other.keys.private).problem(404);
    vault.get(&path, &vault.keys.private).problem(405);
    vault.stop_and_verify().with_code(0);
}

#[test]
fn the_report_counts_codes_by_how_they_ended() {
    let mut vault = Vault::start();
    let [deleted, replaced, emptied, removed, expired] =
        ["111", "222", "333", "444", "555"].map(|cvc| vault.token(card(cvc)));
    let key = vault.keys.private.clone();
    vault.delete(&format!("/tokens/{deleted}/cvc"), &key).with_status(204);
    vault.patch(&emptied, json!({"data": {"cvc": null}})).with_status(200);
    vault.advance(1);
    vault.patch(&replaced, json!({"data": {"cvc": "666"}})).with_status(200);
    vault.remove(&removed);
    let intent = vault.post("/token-intents", &key, card("777")).with_status(201).id();
    vault.delete(&format!("/token-intents/{intent}"), &key).with_status(204);
    check_counts(
        &vault,
        0,
        [("used", "0"), ("deleted", "3"), ("expired", "0"), ("with the token", "2")],
    );
    vault.advance(2 * 3_600);
    assert_eq!((code(&vault, &expired), code(&vault, &replaced)), (None, None));
    check_counts(
        &vault,
        0,
        [("used", "0"), ("deleted", "3"), ("expired", "2"), ("with the token", "2")],
    );
    vault.stop_and_verify().with_code(0);
}

#[test]
fn the_report_names_production_tenants_whose_codes_outlive_a_use() {
    let vault = Vault::start();
    let shop = vault.tenant("production");
    let off = "although a call through a proxy has used them";
    let says = |standing: &str| {
        findings(&report(&vault), standing)
            .iter()
            .any(|it| it.contains(off) && it.contains("Further"))
    };
    assert!(!says("attention"), "it has stored no code");
    let body = json!({"type": "card", "data": {"number": "4000002500003155", "cvc": "924"}});
    vault.post("/tokens", &shop.keys.private, body).with_status(201);
    assert!(says("attention"));
    let settings = json!({"name": "Further", "settings": {SWITCH: "true"}});
    vault.put("/tenants/self", &shop.keys.management, settings).with_status(200);
    assert!(!says("attention"));
    let wrong = json!({"name": "Further", "settings": {SWITCH: "yes"}});
    vault
        .put("/tenants/self", &shop.keys.management, wrong)
        .invalid(&["settings.destroy_cvc_after_use"]);
}

#[test]
fn a_production_tenant_keeps_codes_for_an_hour_at_most_unless_the_settings_allow_more() {
    needs_data_file!("it writes settings of a service");
    let mut vault = Vault::start();
    let create = |name: &str, kind: &str| {
        ["tenant", "create", "--name", name, "--type", kind, "--quota", "cvc_retention=2h"]
            .map(String::from)
    };
    let made = |vault: &Vault, name: &str, kind: &str| {
        let arguments = create(name, kind);
        vault.operator(&arguments.each_ref().map(String::as_str))
    };
    let refused = made(&vault, "Shop", "production").with_code(65);
    assert!(refused.stderr.contains("cvc.retention_max"), "{}", refused.stderr);
    made(&vault, "Trial", "test").with_code(0);
    let hour = vault.tenant("production");
    let set = ["tenant", "set", "--tenant", &hour.id, "--quota", "cvc_retention=61m"];
    vault.operator(&set).with_code(65);
    assert!(!findings(&report(&vault), "attention").iter().any(|it| it.contains("retention_max")));
    assert_eq!(vault.stop(), Some(0));
    vault.move_key_out();
    vault.set("cvc.retention_max = \"3h\"");
    made(&vault, "Shop", "production").with_code(0);
    vault.restart_as_service();
    vault.operator(&set).with_code(0);
    let named = findings(&report(&vault), "attention");
    assert!(
        named.iter().any(|it| it.contains("cvc.retention_max") && it.contains("3 hours")),
        "{named:?}"
    );
}
