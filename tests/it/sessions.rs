//! Sessions of public applications: made, authorized, limited to the rights of their grantor.

use serde_json::{Value, json};

use crate::harness::{Answer, Vault, get, needs_one_process, only_rule, post};
use crate::lifetimes::{now_plus, time_of};

const READ: &[&str] = &["token:read"];

fn new(vault: &Vault) -> Answer {
    vault.send(&post("/sessions").key(&vault.keys.public)).with_status(201)
}

fn authorize(vault: &Vault, session: &Answer, key: &str, rights: Value) -> Answer {
    let mut body = rights;
    body["nonce"] = json!(session.member("nonce"));
    vault.post("/sessions/authorize", key, body)
}

/// The key of a session with these rights, given by the vault's private key.
#[track_caller]
fn session(vault: &Vault, rights: Value) -> String {
    session_by(vault, &vault.keys.private, rights)
}

#[track_caller]
fn session_by(vault: &Vault, key: &str, rights: Value) -> String {
    let new = new(vault);
    let done = authorize(vault, &new, key, rights).with_status(200);
    assert!(done.bytes.is_empty(), "{}", done.text());
    new.member("session_key")
}

fn rule(conditions: &[(&str, &str, &str)], transform: &str, permissions: &[&str]) -> Value {
    let condition = |(attribute, operator, value): &(&str, &str, &str)| json!({"attribute": attribute, "operator": operator, "value": value});
    let conditions: Vec<_> = conditions.iter().map(condition).collect();
    json!({
        "priority": 1, "transform": transform, "permissions": permissions, "conditions": conditions,
    })
}

fn rules(conditions: &[(&str, &str, &str)], permissions: &[&str]) -> Value {
    json!({"rules": [rule(conditions, "reveal", permissions)]})
}

fn token(vault: &Vault, id: &str, containers: &[&str]) -> String {
    vault.token(json!({
        "type": "token", "id": id, "data": format!("secret of {id}"), "containers": containers,
        "search_indexes": ["{{ data }}"], "metadata": {"all": "yes"},
    }))
}

fn read(vault: &Vault, id: &str, key: &str) -> Answer {
    vault.read_as(key, id)
}

fn ids(page: &Answer) -> Vec<String> {
    page.each("id")
}

#[test]
fn a_session_is_made_authorized_and_used_as_an_api_key() {
    needs_one_process!("the clock of each process stops at its own start");
    let vault = Vault::start_with(&["--stop-clock"]);
    let id = token(&vault, "card-1", &["/a/"]);
    let made = new(&vault);
    let (key, nonce) = (made.member("session_key"), made.member("nonce"));
    assert!(key.starts_with("key_test_self_sess_") && key.len() == 74, "{key}");
    assert_eq!(nonce.len(), 22);
    assert_eq!(time_of(&made.member("expires_at")), time_of(&now_plus(&vault, 180)));
    authorize(&vault, &made, &vault.keys.private, json!({"permissions": READ})).with_status(200);
    assert_eq!(read(&vault, &id, &key).with_status(200).json["id"], json!(id));
    vault.delete(&format!("/tokens/{id}"), &key).problem(403);
    // It shows its application, as the key that made it does.
    let own = vault.get("/applications/key", &key).with_status(200).id();
    assert_eq!(own, vault.get("/applications/key", &vault.keys.public).id());
}

#[test]
fn a_body_of_the_request_for_a_session_is_ignored() {
    let vault = Vault::start();
    let request = post("/sessions").key(&vault.keys.public);
    vault.send(&request.clone().body("not JSON")).with_status(201);
    vault.send(&request.json(json!({"permissions": READ}))).with_status(201);
}

#[test]
fn a_key_of_a_session_is_unknown_until_it_is_authorized_and_after_its_end() {
    needs_one_process!("the clock of each process stops at its own start");
    let vault = Vault::start_with(&["--stop-clock"]);
    let id = token(&vault, "card-1", &["/a/"]);
    let unknown = "key_test_self_sess_4WbQfP5hKXe9Bb2xM3Wn7a.00112233445566778899aabbccddeeff";
    let unknown = read(&vault, &id, unknown).problem(401);
    let same = |key: &str| {
        let refused = read(&vault, &id, key).problem(401);
        assert_eq!(refused.without_trace(), unknown.without_trace());
    };
    let early = new(&vault);
    same(&early.member("session_key"));
    let key = session(&vault, json!({"permissions": READ}));
    read(&vault, &id, &key).with_status(200);
    vault.advance(179);
    read(&vault, &id, &key).with_status(200);
    vault.advance(1);
    same(&key);
    same(&early.member("session_key"));
    authorize(&vault, &early, &vault.keys.private, json!({"permissions": READ})).problem(404);
}

#[test]
fn a_nonce_authorizes_once_and_only_in_its_own_tenant() {
    let vault = Vault::start();
    let other = vault.tenant("test");
    let made = new(&vault);
    let rights = json!({"permissions": READ});
    let foreign = authorize(&vault, &made, &other.keys.private, rights.clone()).problem(404);
    let missing = json!({"nonce": "1111111111111111111111", "permissions": READ});
    let missing = vault.post("/sessions/authorize", &vault.keys.private, missing).problem(404);
    assert_eq!(foreign.without_trace(), missing.without_trace());
    authorize(&vault, &made, &vault.keys.private, rights.clone()).with_status(200);
    authorize(&vault, &made, &vault.keys.private, rights).problem(409);
}

#[test]
fn sessions_are_for_public_keys_and_authorizations_for_private_ones() {
    let vault = Vault::start();
    let key = session(&vault, json!({"permissions": ["token:read", "token:create"]}));
    for key in [&vault.keys.private, &vault.keys.management, &key] {
        vault.send(&post("/sessions").key(key)).problem(403);
    }
    let made = new(&vault);
    for key in [&vault.keys.public, &vault.keys.management, &key] {
        authorize(&vault, &made, key, json!({"permissions": ["token:create"]})).problem(403);
    }
}

#[test]
fn an_authorization_reports_all_mistakes_of_its_body() {
    let vault = Vault::start();
    let made = new(&vault);
    let check = |rights: Value, paths: &[&str]| {
        authorize(&vault, &made, &vault.keys.private, rights).invalid(paths);
    };
    check(json!({}), &["permissions"]);
    check(json!({"permissions": [], "rules": []}), &["permissions"]);
    check(json!({"permissions": ["token:none"]}), &["permissions[0]"]);
    check(json!({"permissions": ["tenant:read"]}), &["permissions[0]"]);
    check(json!({"permissions": ["keys:create"]}), &["permissions[0]"]);
    check(json!({"permissions": vec!["token:read"; 51]}), &["permissions"]);
    let mut both = rule(&[("id", "equals", "x")], "reveal", READ);
    both["container"] = json!("/a/");
    check(json!({"rules": [both]}), &["rules[0].conditions"]);
    check(json!({"rules": [rule(&[], "reveal", READ)]}), &["rules[0].conditions"]);
    check(
        rules(&[("owner", "equals", "x"), ("id", "is", "x"), ("id", "equals", "")], READ),
        &[
            "rules[0].conditions[0].attribute",
            "rules[0].conditions[1].operator",
            "rules[0].conditions[2].value",
        ],
    );
    for path in ["a", "/a", "//", "/a b/", ""] {
        let rules = rules(&[("container", "equals", path)], READ);
        check(rules, &["rules[0].conditions[0].value"]);
    }
    let many = vec![("id", "starts_with", "x"); 11];
    check(rules(&many, READ), &["rules[0].conditions", "rules[0].container"]);
    check(
        json!({"rules": [{"priority": 0, "container": "/", "transform": "all", "permissions": []}]}),
        &["rules[0].permissions", "rules[0].priority", "rules[0].transform"],
    );
    for at in ["2020-01-01", "soon"] {
        check(json!({"permissions": READ, "expires_at": at}), &["expires_at"]);
    }
    vault
        .post("/sessions/authorize", &vault.keys.private, json!({"permissions": READ}))
        .invalid(&["nonce"]);
    // After all these mistakes the nonce is still unused.
    authorize(&vault, &made, &vault.keys.private, json!({"permissions": READ})).with_status(200);
}

#[test]
fn an_authorization_sets_the_end_of_the_session_up_to_a_day_ahead() {
    needs_one_process!("the clock of each process stops at its own start");
    let vault = Vault::start_with(&["--stop-clock"]);
    let id = token(&vault, "card-1", &["/a/"]);
    let until = |seconds: i64| {
        let at = now_plus(&vault, seconds);
        let made = new(&vault);
        let rights = json!({"permissions": READ, "expires_at": at});
        (made.member("session_key"), authorize(&vault, &made, &vault.keys.private, rights))
    };
    let (_, late) = until(24 * 3_600 + 1);
    late.invalid(&["expires_at"]);
    let (short, done) = until(10);
    done.with_status(200);
    let (long, done) = until(24 * 3_600);
    done.with_status(200);
    vault.advance(9);
    read(&vault, &id, &short).with_status(200);
    vault.advance(1);
    read(&vault, &id, &short).problem(401);
    vault.advance(24 * 3_600 - 11);
    read(&vault, &id, &long).with_status(200);
    vault.advance(1);
    read(&vault, &id, &long).problem(401);
}

#[test]
fn a_session_gets_no_more_than_its_grantor_has() {
    let vault = Vault::start();
    let narrow = only_rule("/a/", "mask", &["token:read", "token:create"]);
    let grantor = vault.key_with("private", &["token:search"], &narrow);
    let check = |rights: Value, status: u16| {
        let answer = authorize(&vault, &new(&vault), &grantor, rights.clone());
        assert_eq!(answer.status, status, "{rights}: {}", answer.text());
    };
    let one = |path: &str, transform: &str, permissions: &[&str]| json!({"rules": only_rule(path, transform, permissions)});
    check(one("/a/b/", "redact", &["token:read", "token:create"]), 200);
    check(json!({"permissions": ["token:search"]}), 200);
    check(one("/a/", "reveal", READ), 403);
    check(one("/", "mask", READ), 403);
    check(json!({"permissions": ["token:search", "token-intent:create"]}), 403);
    let conditional = |conditions: &[(&str, &str, &str)], transform: &str| json!({"rules": [rule(conditions, transform, READ)]});
    check(conditional(&[("container", "starts_with", "/a/")], "mask"), 200);
    check(conditional(&[("id", "equals", "x")], "mask"), 200);
    check(conditional(&[("container", "starts_with", "/a")], "mask"), 403);
    check(conditional(&[("container", "equals", "/b/"), ("id", "equals", "x")], "mask"), 403);
}

#[test]
fn a_rule_by_id_reaches_only_tokens_that_the_grantor_may_access() {
    let vault = Vault::start();
    let (near, far) = (token(&vault, "near", &["/a/"]), token(&vault, "far", &["/b/"]));
    let grantor = vault.key_with("private", &[], &only_rule("/a/", "reveal", READ));
    let conditions = json!([rule(&[("id", "starts_with", "")], "reveal", READ)]);
    authorize(&vault, &new(&vault), &grantor, json!({"rules": conditions})).problem(400);
    let both = json!({"rules": [
        rule(&[("id", "equals", &near)], "reveal", READ),
        rule(&[("id", "equals", &far)], "reveal", READ),
    ]});
    let key = session_by(&vault, &grantor, both);
    assert_eq!(read(&vault, &near, &key).with_status(200).json["data"], "secret of near");
    read(&vault, &far, &key).problem(403);
    assert_eq!(ids(&vault.get("/v2/tokens", &key).with_status(200)), [near]);
}

#[test]
fn a_session_loses_at_once_the_rights_that_its_grantor_loses() {
    let vault = Vault::start();
    let id = token(&vault, "card-1", &["/a/"]);
    let everywhere = only_rule("/", "reveal", &["token:read", "token:delete"]);
    let grantor = vault.application("private", &[], &everywhere);
    let key = session_by(&vault, &grantor.member("key"), json!({"rules": everywhere}));
    assert_eq!(read(&vault, &id, &key).with_status(200).json["data"], "secret of card-1");
    let restrict = |rules: Value| vault.set_rules(&grantor, &rules);
    restrict(only_rule("/a/", "redact", READ));
    assert_eq!(read(&vault, &id, &key).with_status(200).json.get("data"), None);
    vault.delete(&format!("/tokens/{id}"), &key).problem(403);
    restrict(only_rule("/b/", "reveal", READ));
    read(&vault, &id, &key).problem(403);
    assert!(ids(&vault.get("/v2/tokens", &key).with_status(200)).is_empty());
    // A wider grantor does not widen the session.
    restrict(only_rule("/", "reveal", &["token:read", "token:delete", "token:update"]));
    vault.patch_as(&key, &id, json!({"metadata": {}})).problem(403);
    read(&vault, &id, &key).with_status(200);
}

#[test]
fn a_session_ends_with_either_of_its_keys_and_applications() {
    let vault = Vault::start();
    let id = token(&vault, "card-1", &["/a/"]);
    let management = &vault.keys.management;
    for ends in ["public key", "public application", "private key", "private application"] {
        let public = vault.application("public", &["token:create"], &json!([]));
        let private = vault.application("private", READ, &json!([]));
        let made = vault.send(&post("/sessions").key(&public.member("key"))).with_status(201);
        let rights = json!({"permissions": READ});
        authorize(&vault, &made, &private.member("key"), rights).with_status(200);
        let key = made.member("session_key");
        read(&vault, &id, &key).with_status(200);
        let (kind, part) = ends.split_once(' ').unwrap();
        let owner = if kind == "public" { &public } else { &private };
        let path = format!("/applications/{}", owner.id());
        let path = match part {
            "key" => format!("{path}/keys/{}", owner.json["keys"][0]["id"].as_str().unwrap()),
            _ => path,
        };
        vault.delete(&path, management).with_status(204);
        assert_eq!(read(&vault, &id, &key).status, 401, "{ends}");
    }
}

#[test]
fn a_nonce_whose_public_key_is_gone_gives_a_session_that_is_refused() {
    let vault = Vault::start();
    let public = vault.application("public", &["token:create"], &json!([]));
    let made = vault.send(&post("/sessions").key(&public.member("key"))).with_status(201);
    vault
        .delete(&format!("/applications/{}", public.id()), &vault.keys.management)
        .with_status(204);
    authorize(&vault, &made, &vault.keys.private, json!({"permissions": READ})).with_status(200);
    vault.get("/permissions", &made.member("session_key")).problem(401);
}

#[test]
fn a_condition_on_the_id_holds_in_every_operation() {
    let vault = Vault::start();
    let (mine, other) = (token(&vault, "mine-1", &["/a/"]), token(&vault, "other-1", &["/a/"]));
    let every =
        ["create", "read", "search", "update", "delete", "use"].map(|it| format!("token:{it}"));
    let every: Vec<_> = every.iter().map(String::as_str).collect();
    let key = session(&vault, rules(&[("id", "starts_with", "mine-")], &every));
    assert_eq!(read(&vault, &mine, &key).with_status(200).json["data"], "secret of mine-1");
    read(&vault, &other, &key).problem(403);
    let change = json!({"metadata": {"by": "session"}});
    vault.patch_as(&key, &mine, change.clone()).with_status(200);
    vault.patch_as(&key, &other, change).problem(403);
    let expression = |id: &str| json!({"value": format!("{{{{ {id} }}}}")});
    let shown = vault.post("/detokenize", &key, expression(&mine)).with_status(200);
    assert_eq!(shown.json["value"], "secret of mine-1");
    vault.post("/detokenize", &key, expression(&other)).problem(403);
    let body = |id: &str| json!({"type": "token", "data": "x", "id": id});
    vault.post("/tokens", &key, body("mine-2")).with_status(201);
    vault.post("/tokens", &key, body("other-2")).problem(403);
    // An id that the vault assigns, or that an expression gives, is not known in advance.
    vault.post("/tokens", &key, json!({"type": "token", "data": "x"})).problem(403);
    vault.post("/tokens", &key, body("mine-{{ data }}")).problem(403);
    vault.post("/tokenize", &key, json!({"a": body("mine-3")})).with_status(200);
    vault.post("/tokenize", &key, json!({"a": body("mine-4"), "b": "x"})).problem(403);
    read(&vault, "mine-4", &vault.keys.private).problem(404);
    vault.delete(&format!("/tokens/{other}"), &key).problem(403);
    vault.delete(&format!("/tokens/{mine}"), &key).with_status(204);
    read(&vault, &other, &vault.keys.private).with_status(200);
}

#[test]
fn conditions_on_ids_hide_which_tokens_exist() {
    let vault = Vault::start();
    let named = token(&vault, "other-1", &["/a/"]);
    let assigned = vault.token(json!({"type": "token", "data": 1}));
    let all = &["token:read", "token:update", "token:delete", "token:use"];
    let key = session(&vault, rules(&[("id", "starts_with", "mine-")], all));
    let missing = "01a1dd38-4eda-4df5-855c-ecae962e987a";
    let expression = |id: &str| json!({"a": format!("{{{{ {id} }}}}")});
    let answers = |id: &str| {
        [
            read(&vault, id, &key).problem(403),
            vault.patch_as(&key, id, json!({"metadata": {}})).problem(403),
            vault.post("/detokenize", &key, expression(id)).problem(403),
            vault.delete(&format!("/tokens/{id}"), &key).problem(403),
        ]
        .map(|answer| answer.json["detail"].clone())
    };
    let upper = assigned.to_uppercase();
    for hidden in [named.as_str(), &assigned, &upper, "other-2", missing, &missing.to_uppercase()] {
        assert_eq!(answers(hidden), answers("other-3"), "{hidden}");
    }
    // An id that the session may name is not found, as for everybody.
    read(&vault, "mine-1", &key).problem(404);
    vault.delete("/tokens/mine-1", &key).problem(404);
}

#[test]
fn lists_and_searches_show_only_tokens_that_fulfil_the_conditions() {
    let vault = Vault::start();
    for (id, path) in
        [("mine-1", "/a/"), ("other-1", "/a/"), ("mine-2", "/a/b/"), ("mine-3", "/c/")]
    {
        token(&vault, id, &[path]);
    }
    let both = &["token:read", "token:search"];
    let key = session(&vault, rules(&[("id", "starts_with", "mine-")], both));
    let sorted = |page: Answer| {
        assert_eq!(page.json["pagination"].get("next"), None, "{}", page.text());
        let mut ids = ids(&page);
        ids.sort();
        ids
    };
    let list = |query: &str| vault.get(&format!("/v2/tokens{query}"), &key).with_status(200);
    assert_eq!(sorted(list("")), ["mine-1", "mine-2", "mine-3"]);
    assert_eq!(sorted(list("?container=/a/")), ["mine-1", "mine-2"]);
    assert_eq!(sorted(list("?metadata.all=yes")), ["mine-1", "mine-2", "mine-3"]);
    let search = |query: &str| {
        vault.post("/v2/tokens/search", &key, json!({"query": query})).with_status(200)
    };
    assert_eq!(sorted(search("data:\"secret of mine-1\"")), ["mine-1"]);
    // Nothing distinguishes a match that is hidden from no match.
    let hidden = search("data:\"secret of other-1\"");
    assert_eq!(hidden.json, search("data:\"nothing\"").json);
    // One page for each visible token, and none for the hidden one.
    let mut start = String::new();
    let mut found = Vec::new();
    loop {
        let page = list(&format!("?size=1{start}"));
        assert_eq!(ids(&page).len(), 1, "{}", page.text());
        found.extend(ids(&page));
        match page.json["pagination"]["next"].as_str() {
            Some(next) => start = format!("&start={next}"),
            None => break,
        }
    }
    assert_eq!(found.len(), 3);
    vault.get("/tokens", &key).problem(403);
    vault.post("/tokens/search", &key, json!({"query": "metadata.all:yes"})).problem(403);
    let named = vault.get("/tokens?id=mine-1&id=other-1", &key).with_status(200);
    assert_eq!(
        (ids(&named), &named.json["pagination"]["total_items"]),
        (vec![String::from("mine-1")], &json!(1))
    );
}

#[test]
fn conditions_on_containers_are_exact_or_prefixes_and_all_must_hold() {
    let vault = Vault::start();
    for (id, path) in [("one", "/a/"), ("two", "/a/b/"), ("three", "/ab/"), ("four", "/b/")] {
        token(&vault, id, &[path]);
    }
    let check = |conditions: &[(&str, &str, &str)], expected: &[&str]| {
        let key = session(&vault, rules(conditions, READ));
        let mut found = ids(&vault.get("/v2/tokens", &key).with_status(200));
        found.sort();
        assert_eq!(found, expected, "{conditions:?}");
        for id in ["one", "two", "three", "four"] {
            let status = if expected.contains(&id) { 200 } else { 403 };
            assert_eq!(read(&vault, id, &key).status, status, "{conditions:?} {id}");
        }
    };
    check(&[("container", "equals", "/a/")], &["one"]);
    check(&[("container", "equals", "/A/")], &["one"]);
    check(&[("container", "starts_with", "/a/")], &["one", "two"]);
    check(&[("container", "starts_with", "/a")], &["one", "three", "two"]);
    check(&[("container", "starts_with", "/a/"), ("id", "equals", "two")], &["two"]);
    check(&[("container", "equals", "/a/"), ("id", "equals", "two")], &[]);
    check(&[("container", "equals", "/a/"), ("container", "equals", "/b/")], &[]);
}

#[test]
fn an_assigned_id_and_an_intents_id_can_be_conditions() {
    let vault = Vault::start();
    let assigned = vault.token(json!({"type": "token", "data": "x"}));
    let key = session(&vault, rules(&[("id", "equals", &assigned)], READ));
    read(&vault, &assigned, &key).with_status(200);
    let [mine, other] = [(); 2].map(|()| vault.intent(&vault.keys.private));
    let key = session(&vault, rules(&[("id", "equals", &mine)], &["token:use"]));
    let number = |id: &str| {
        let body = json!({"n": format!("{{{{ token_intent: {id} | json: '$.data.number' }}}}")});
        vault.post("/detokenize", &key, body)
    };
    assert_eq!(number(&mine).with_status(200).json["n"], "4242424242424242");
    number(&other).problem(403);
}

#[test]
fn tokens_of_a_session_belong_to_its_public_application_and_so_does_its_log() {
    let vault = Vault::start();
    let public = vault.get("/applications/key", &vault.keys.public).id();
    let private = vault.get("/applications/key", &vault.keys.private).id();
    let made = new(&vault);
    let reveal = json!({"rules": only_rule("/", "reveal", &["token:create", "token:read"])});
    authorize(&vault, &made, &vault.keys.private, reveal).with_status(200);
    let key = made.member("session_key");
    let body = json!({"type": "token", "data": "x"});
    let token = vault.post("/tokens", &key, body).with_status(201);
    assert_eq!(token.json["created_by"], json!(public));
    let logs = |query: &str| {
        let entry = |it: &Value| (it["operation"].clone(), it["actor_id"].clone());
        vault.logged(query).iter().map(entry).collect::<Vec<_>>()
    };
    let entries = logs("entity_type=session");
    let expected = [("grant_reveal", &private), ("authorize", &private), ("create", &public)];
    assert_eq!(entries, expected.map(|(act, by)| (json!(act), json!(by))));
    let entries = logs(&format!("entity_id={}", token.id()));
    assert_eq!(entries, [(json!("create"), json!(public))]);
}

#[test]
fn an_idempotency_key_counts_within_its_session() {
    let vault = Vault::start();
    let rights = json!({"permissions": ["token:create"]});
    let [one, other] = [(); 2].map(|()| session(&vault, rights.clone()));
    let create = |key: &str, data: &str| {
        let body = json!({"type": "token", "data": data});
        let request = post("/tokens").key(key).json(body).once("same-key");
        vault.send(&request).with_status(201)
    };
    let first = create(&one, "first").id();
    assert_eq!(create(&one, "again").id(), first);
    let further = [&other, &vault.keys.public].map(|key| create(key, "other").id());
    assert!(!further.contains(&first) && further[0] != further[1]);
}

#[test]
fn a_replay_by_a_session_with_conditions_is_checked_with_the_id_of_its_token() {
    let vault = Vault::start();
    let key = session(&vault, rules(&[("id", "equals", "mine")], &["token:create"]));
    let body = json!({"type": "token", "data": "x", "id": "mine"});
    let request = post("/tokens").key(&key).json(body).once("k");
    let first = vault.send(&request).with_status(201);
    let again = vault.send(&request).with_status(201);
    assert_eq!(again.header("bt-idempotent-replayed"), Some("true"));
    assert_eq!(again.json, first.json);
}

#[test]
fn a_session_shares_the_rate_limit_of_the_key_that_made_it() {
    needs_one_process!("each process counts its own requests");
    let vault = Vault::start_with(&["--stop-clock", "--rate-limits", "on"]);
    let rights = json!({"permissions": READ});
    let keys = [(); 2].map(|()| session(&vault, rights.clone()));
    let (mut answered, mut refused) = (0, 0);
    for at in 0..60 {
        match vault.get("/permissions", &keys[at % 2]).status {
            200 => answered += 1,
            429 => refused += 1,
            other => panic!("{other}"),
        }
    }
    // Two of the 50 requests made the sessions.
    assert_eq!((answered, refused), (48, 12));
}

#[test]
fn expired_sessions_leave_nothing_and_the_file_is_sound() {
    needs_one_process!("the sweep that removes a row may be that of another process");
    let mut vault = Vault::start_with(&["--stop-clock"]);
    let at = now_plus(&vault, 600);
    new(&vault);
    let key = session(&vault, json!({"permissions": READ, "expires_at": at}));
    session(&vault, json!({"permissions": READ}));
    assert_eq!(vault.advance(180)["removed"], 2);
    vault.get("/permissions", &key).with_status(200);
    vault.stop();
    vault.verify().with_code(0);
    vault.restart();
    // The session outlives a restart. A restarted development server has the time of day again.
    vault.get("/permissions", &key).with_status(200);
    assert_eq!(vault.advance(601)["removed"], 1);
    vault.stop();
    vault.verify().with_code(0);
}

#[test]
fn a_page_of_another_origin_may_make_and_use_a_session() {
    let vault = Vault::start();
    let id = token(&vault, "card-1", &["/a/"]);
    let origin = "https://shop.example";
    let made = post("/sessions").key(&vault.keys.public).header("Origin", origin);
    let made = vault.send(&made).with_status(201);
    assert_eq!(made.header("access-control-allow-origin"), Some("*"));
    authorize(&vault, &made, &vault.keys.private, json!({"permissions": READ})).with_status(200);
    let request = get(&format!("/tokens/{id}")).key(&made.member("session_key"));
    let shown = vault.send(&request.header("Origin", origin)).with_status(200);
    assert_eq!(shown.header("access-control-allow-origin"), Some("*"));
}

#[test]
fn no_text_of_a_session_is_in_the_data_file_or_the_log() {
    let mut vault = Vault::start();
    let made = new(&vault);
    authorize(&vault, &made, &vault.keys.private, json!({"permissions": READ})).with_status(200);
    let (key, nonce) = (made.member("session_key"), made.member("nonce"));
    vault.get("/permissions", &key).with_status(200);
    vault.stop();
    vault.assert_nowhere(&[&key, &nonce]);
}

#[test]
fn conditions_on_ids_hide_which_other_ids_exist() {
    let vault = Vault::start();
    let account = json!({"routing_number": "021000021", "account_number": "00001"});
    let bank = |id: &str| {
        let containers = json!(["/bank/high/"]);
        vault.token(json!({"type": "bank", "id": id, "data": account, "containers": containers}))
    };
    let [allowed, hidden] = ["account-1", "account-2"].map(bank);
    let use_and_read = ["token:use", "token:read"];
    let key = session(&vault, rules(&[("id", "equals", &allowed)], &use_and_read));
    let verify = |id: &str| {
        let body = json!({"token_id": id});
        vault.post("/enrichments/bank-account-verify", &key, body).status
    };
    assert_eq!([verify(&allowed), verify(&hidden), verify("account-3")], [200, 403, 403]);
    // Ids that look like UUIDs without hyphens are names.
    let named = |last: char| format!("0190a1b2c3d4e5f60718293a4b5c6d7{last}");
    let hidden = token(&vault, &named('0'), &["/a/"]);
    let prefix = session(&vault, rules(&[("id", "starts_with", "0190a1b2-")], &use_and_read));
    assert_eq!(
        [read(&vault, &hidden, &prefix).status, read(&vault, &named('1'), &prefix).status],
        [403; 2]
    );
    let exact = session(&vault, rules(&[("id", "equals", &hidden)], &use_and_read));
    read(&vault, &hidden, &exact).with_status(200);
    vault.remove(&hidden);
    read(&vault, &hidden, &exact).with_status(404);
}
