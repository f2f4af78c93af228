//! Repetitions by idempotency key after what the first answer shows has changed, gone or come under
//! other rights.

use serde_json::{Value, json};

use crate::harness::{Answer, NUMBER, Request, Vault, names, patch, post, rule};
use crate::lifetimes::now_plus;

const HOUR_S: u64 = 3_600;
/// The members of a token that is gone.
const OUTLINE: [&str; 7] =
    ["_extras", "containers", "created_at", "created_by", "id", "tenant_id", "type"];

fn card() -> Value {
    json!({
        "type": "card", "data": {"number": NUMBER, "expiration_month": 12, "cvc": "987"},
        "metadata": {"owner": "mARKmeta"}, "mask": {"n": "{{ data.number | last4 }}mARKmask"},
        "search_indexes": ["{{ data.number | last4 }}"],
    })
}

fn send_as(vault: &Vault, key: &str, request: Request) -> Answer {
    vault.send(&request.key(key).once("k"))
}

fn send(vault: &Vault, path: &str, body: &Value) -> Answer {
    send_as(vault, &vault.keys.private, post(path).json(body.clone()))
}

fn manage(vault: &Vault, path: &str, body: &Value) -> Answer {
    send_as(vault, &vault.keys.management, post(path).json(body.clone()))
}

/// A repetition that has the same bytes as the first answer.
#[track_caller]
fn check_same(first: &Answer, again: &Answer) {
    assert_eq!(again.status, first.status);
    assert_eq!(again.header("bt-idempotent-replayed"), Some("true"));
    assert_eq!(again.header("location"), first.header("location"));
    assert_eq!(again.text(), first.text());
}

/// A repetition that shows the outline of a token and nothing else of it.
#[track_caller]
fn check_outline(first: &Answer, again: &Answer) {
    assert_eq!(again.status, first.status);
    assert_eq!(again.header("bt-idempotent-replayed"), Some("true"));
    assert_eq!(again.header("location"), first.header("location"));
    check_outlined(&first.json, &again.json, &OUTLINE);
}

#[track_caller]
fn check_outlined(first: &Value, again: &Value, expected: &[&str]) {
    assert_eq!(names(again), expected);
    for name in expected {
        assert_eq!(again[name], first[name], "{name}");
    }
    let text = again.to_string();
    for secret in [NUMBER, "mARK"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}

#[test]
fn a_deleted_token_is_repeated_as_an_outline() {
    let mut vault = Vault::start();
    let first = send(&vault, "/tokens", &card()).with_status(201);
    assert_eq!(first.json["data"]["cvc"], "987");
    check_same(&first, &send(&vault, "/tokens", &card()));
    vault.remove(&first.id());
    check_outline(&first, &send(&vault, "/tokens", &card()));
    vault.stop_and_verify();
    vault.restart();
    let again = send(&vault, "/tokens", &card());
    assert_eq!(names(&again.json), OUTLINE);
}

#[test]
fn an_outline_is_no_access_to_the_token() {
    let vault = Vault::start();
    let id = send(&vault, "/tokens", &card()).with_status(201).id();
    let reads = || {
        let chain = vault.operator(&["audit", "export"]).with_code(0).stdout;
        chain.lines().filter(|line| line.contains(&id) && line.contains("\"read\"")).count()
    };
    send(&vault, "/tokens", &card()).with_status(201);
    assert_eq!(reads(), 1);
    vault.remove(&id);
    send(&vault, "/tokens", &card()).with_status(201);
    assert_eq!(reads(), 1);
}

#[test]
fn a_token_that_its_creator_named_keeps_its_name_in_the_outline() {
    let vault = Vault::start();
    let mut body = card();
    body["id"] = json!("order 7");
    let first = send(&vault, "/tokens", &body).with_status(201);
    vault.remove("order%207");
    // Another token has the name now. The first answer does not show it.
    let other = json!({"type": "token", "data": "another", "id": "order 7"});
    vault.create(other).with_status(201);
    let again = send(&vault, "/tokens", &body);
    check_outline(&first, &again);
    assert_eq!(again.id(), "order 7");
}

#[test]
fn an_expired_token_is_repeated_as_an_outline() {
    let vault = Vault::start();
    let mut body = card();
    body["expires_at"] = json!(now_plus(&vault, 3_600));
    let first = send(&vault, "/tokens", &body).with_status(201);
    vault.advance(HOUR_S / 2);
    check_same(&first, &send(&vault, "/tokens", &body));
    vault.advance(HOUR_S);
    let again = send(&vault, "/tokens", &body).with_status(201);
    let mut outline = OUTLINE.to_vec();
    outline.push("expires_at");
    outline.sort_unstable();
    check_outlined(&first.json, &again.json, &outline);
}

#[test]
fn a_code_goes_with_its_retention_and_the_rest_with_the_token() {
    let vault = Vault::start();
    let masked = vault.key_with("private", &["token:create"], &json!([]));
    let mut body = card();
    body["mask"] = json!({"c": "{{ data.cvc }}"});
    let as_masked = || send_as(&vault, &masked, post("/tokens").json(body.clone()));
    let plain = send(&vault, "/tokens", &card()).with_status(201);
    let shown = as_masked().with_status(201);
    assert_eq!(shown.json["data"], json!({"c": "XXX"}));
    vault.advance(HOUR_S);
    let mut without = plain.json.clone();
    without["data"].as_object_mut().unwrap().remove("cvc");
    assert_eq!(send(&vault, "/tokens", &card()).with_status(201).json, without);
    let mut without = shown.json.clone();
    without.as_object_mut().unwrap().remove("data");
    assert_eq!(as_masked().with_status(201).json, without);
    vault.remove(&plain.id());
    check_outline(&plain, &send(&vault, "/tokens", &card()));
}

#[test]
fn after_a_patch_each_request_is_repeated_as_it_was_answered() {
    let vault = Vault::start();
    let first = send(&vault, "/tokens", &card()).with_status(201);
    let change = |month: u32| {
        let body = json!({"data": {"expiration_month": month}}).to_string();
        let request = patch(&format!("/tokens/{}", first.id())).body(body);
        send_as(&vault, &vault.keys.private, request).with_status(200)
    };
    let changed = change(3);
    vault.patch(&first.id(), json!({"data": {"number": "5555555555554444"}})).with_status(200);
    check_same(&first, &send(&vault, "/tokens", &card()));
    check_same(&changed, &change(5));
    vault.remove(&first.id());
    check_outline(&first, &send(&vault, "/tokens", &card()));
    let mut outline = [&OUTLINE[..], &["modified_at", "modified_by"]].concat();
    outline.sort_unstable();
    check_outlined(&changed.json, &change(5).json, &outline);
}

#[test]
fn a_repetition_shows_the_code_only_while_it_is_that_of_the_first_answer() {
    let mut vault = Vault::start();
    let first = send(&vault, "/tokens", &card()).with_status(201);
    vault.patch(&first.id(), json!({"metadata": {"owner": "other"}})).with_status(200);
    check_same(&first, &send(&vault, "/tokens", &card()));
    vault.patch(&first.id(), json!({"data": {"cvc": "111"}})).with_status(200);
    let mut without = first.json.clone();
    without["data"].as_object_mut().unwrap().remove("cvc");
    assert_eq!(send(&vault, "/tokens", &card()).with_status(201).json, without);
    vault.stop_and_verify();
}

#[test]
fn a_moved_token_is_repeated_whole_only_to_those_who_may_see_it_there() {
    let vault = Vault::start();
    let rules = json!([rule(1, "/here/", "reveal", &["token:create"])]);
    let key = vault.key_with("private", &[], &rules);
    let body = json!({"type": "token", "data": "mARKhere", "containers": ["/here/"]});
    let create = || send_as(&vault, &key, post("/tokens").json(body.clone()));
    let first = create().with_status(201);
    let move_to = |path: &str| vault.patch(&first.id(), json!({"containers": [path]}));
    move_to("/there/").with_status(200);
    check_outline(&first, &create());
    move_to("/here/").with_status(200);
    check_same(&first, &create());
    move_to("/here/deeper/").with_status(200);
    check_same(&first, &create());
}

#[test]
fn of_several_tokens_only_the_deleted_one_is_an_outline() {
    let vault = Vault::start();
    let body = json!({
        "a": card(), "b": ["leaf", card()], "n": null,
        "c": {"type": "token", "data": {"x": "mARKdata"}},
    });
    let first = send(&vault, "/tokenize", &body).with_status(200);
    check_same(&first, &send(&vault, "/tokenize", &body));
    let id = |token: &Value| String::from(token["id"].as_str().unwrap());
    vault.remove(&id(&first.json["b"][1]));
    vault.remove(first.json["b"][0].as_str().unwrap());
    let again = send(&vault, "/tokenize", &body).with_status(200);
    for path in ["/a", "/b/0", "/c", "/n"] {
        assert_eq!(again.json.pointer(path), first.json.pointer(path), "{path}");
    }
    check_outlined(&first.json["b"][1], &again.json["b"][1], &OUTLINE);
    for token in ["a", "c"] {
        vault.remove(&id(&first.json[token]));
    }
    let again = send(&vault, "/tokenize", &body).with_status(200);
    check_outlined(&first.json["a"], &again.json["a"], &OUTLINE);
    check_outlined(&first.json["c"], &again.json["c"], &OUTLINE);
    assert_eq!(again.json["n"], Value::Null);
}

#[test]
fn a_duplicate_is_repeated_and_goes_with_the_token_that_was_there() {
    let vault = Vault::start();
    let mut body = card();
    body["deduplicate_token"] = json!(true);
    let id = vault.token(body.clone());
    let first = send(&vault, "/tokens", &body).with_status(201);
    assert_eq!((first.id(), &first.json["_extras"]["deduplicated"]), (id.clone(), &json!(true)));
    check_same(&first, &send(&vault, "/tokens", &body));
    let both = json!([body, body]);
    let several = send(&vault, "/tokenize", &both).with_status(200);
    check_same(&several, &send(&vault, "/tokenize", &both));
    vault.remove(&id);
    check_outline(&first, &send(&vault, "/tokens", &body));
    let again = send(&vault, "/tokenize", &both);
    for at in [0, 1] {
        check_outlined(&several.json[at], &again.json[at], &OUTLINE);
    }
}

#[test]
fn the_text_of_a_key_is_repeated_as_long_as_the_key_exists() {
    let vault = Vault::start();
    let body = json!({"name": "n", "type": "private", "permissions": ["token:create"]});
    let made = manage(&vault, "/applications", &body).with_status(201);
    let path = format!("/applications/{}/keys", made.id());
    let second = manage(&vault, &path, &json!({})).with_status(201);
    check_same(&made, &manage(&vault, "/applications", &body));
    check_same(&second, &manage(&vault, &path, &json!({})));
    let without = |answer: &Answer| {
        let mut json = answer.json.clone();
        assert!(json.as_object_mut().unwrap().remove("key").is_some());
        json
    };
    let management = &vault.keys.management;
    vault.delete(&format!("{path}/{}", second.id()), management).with_status(204);
    let again = manage(&vault, &path, &json!({})).with_status(201);
    assert_eq!(again.json, without(&second));
    assert_eq!(again.header("location"), second.header("location"));
    check_same(&made, &manage(&vault, "/applications", &body));
    vault.delete(&format!("/applications/{}", made.id()), management).with_status(204);
    let again = manage(&vault, "/applications", &body).with_status(201);
    assert_eq!(again.json, without(&made));
    assert_eq!(again.header("bt-idempotent-replayed"), Some("true"));
}

#[test]
fn an_intent_that_is_gone_is_repeated_without_what_tells_of_its_card() {
    let vault = Vault::start();
    let body = json!({"type": "card", "data": {"number": NUMBER, "cvc": "987"}});
    let first = send(&vault, "/token-intents", &body).with_status(201);
    check_same(&first, &send(&vault, "/token-intents", &body));
    let convert = json!({"token_intent_id": first.id()});
    let made = send(&vault, "/tokens", &convert).with_status(201);
    let again = send(&vault, "/token-intents", &body).with_status(201);
    let outline =
        ["authentication", "created_at", "created_by", "expires_at", "id", "tenant_id", "type"];
    check_outlined(&first.json, &again.json, &outline);
    // The conversion is repeated although the intent is gone.
    check_same(&made, &send(&vault, "/tokens", &convert));
}

/// An application whose rules say what it may create, read and update, and how that is shown.
fn rules(create: &str, read: Option<&str>) -> Value {
    let write = rule(1, "/", create, &["token:create", "token:update"]);
    match read {
        Some(read) => json!([write, rule(2, "/", read, &["token:read"])]),
        None => json!([write]),
    }
}

#[test]
fn an_answer_about_a_token_that_was_there_needs_the_right_to_read_it_again() {
    let vault = Vault::start();
    let mut body = card();
    body["deduplicate_token"] = json!(true);
    let id = vault.token(body.clone());
    let made = vault.application("private", &[], &rules("reveal", Some("reveal")));
    let key = made.member("key");
    let change = || send_as(&vault, &key, patch(&format!("/tokens/{id}")).body("{}"));
    let create = || send_as(&vault, &key, post("/tokens").json(body.clone()));
    let tokenize = || send_as(&vault, &key, post("/tokenize").json(json!([body])));
    let (changed, found) = (change().with_status(200), create().with_status(201));
    let several = tokenize().with_status(200);
    let narrower =
        [rules("reveal", Some("mask")), rules("mask", Some("reveal")), rules("reveal", None)];
    for rules in narrower {
        vault.set_rules(&made, &rules);
        for refused in [change(), create(), tokenize()] {
            assert!(!refused.problem(403).text().contains(NUMBER));
        }
    }
    vault.set_rules(&made, &rules("reveal", Some("reveal")));
    check_same(&changed, &change());
    check_same(&found, &create());
    check_same(&several, &tokenize());
}

#[test]
fn tokens_that_were_shown_under_different_rights_are_repeated_under_them() {
    let vault = Vault::start();
    let rules = json!([
        rule(1, "/pci/", "mask", &["token:create"]),
        rule(2, "/general/", "reveal", &["token:create"])
    ]);
    let key = vault.key_with("private", &[], &rules);
    let body = json!([card(), {"type": "token", "data": "open"}]);
    let tokenize = || send_as(&vault, &key, post("/tokenize").json(body.clone()));
    let first = tokenize().with_status(200);
    assert_eq!(first.json[1]["data"], "open");
    assert!(first.json[0]["data"].get("number").is_none());
    check_same(&first, &tokenize());
}

#[test]
fn answers_are_the_same_after_a_rotation_of_keys() {
    let vault = Vault::start();
    let body = json!([card(), card()]);
    let first = send(&vault, "/tokenize", &body).with_status(200);
    let created = send(&vault, "/tokens", &card()).with_status(201);
    let create =
        || vault.send(&post("/tokens").key(&vault.keys.private).once("patched").json(card()));
    let patched = create().with_status(201);
    vault.patch(&patched.id(), json!({"metadata": {"owner": "other"}})).with_status(200);
    vault.operator(&["key", "rotate", "--tenant", &vault.tenant_id]).with_code(0);
    crate::keys::wait_for_the_end(&vault);
    check_same(&first, &send(&vault, "/tokenize", &body));
    check_same(&created, &send(&vault, "/tokens", &card()));
    check_same(&patched, &create());
    vault.remove(first.json[0]["id"].as_str().unwrap());
    let again = send(&vault, "/tokenize", &body).with_status(200);
    check_outlined(&first.json[0], &again.json[0], &OUTLINE);
    assert_eq!(again.json[1], first.json[1]);
}
