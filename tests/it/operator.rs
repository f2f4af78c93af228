//! The operator's commands: the same on a running server and on a closed file.

use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};
use strongroom::testing::bounds::OPERATOR_READ_MAX;

use crate::harness::{Ended, Vault};

const LEGACY: &str = "key_N88mVGsp3sCXkykyN2EFED";

/// The output of a command, without the parts that differ between vaults.
#[derive(Debug, PartialEq)]
struct Said {
    code: Option<i32>,
    json: Value,
    stderr: String,
}

impl Said {
    fn new(vault: &Vault, ended: &Ended) -> Self {
        let mut json = serde_json::from_str(&ended.stdout).unwrap_or_default();
        blank(&mut json);
        let place = vault.directory().path().to_str().unwrap();
        Self { code: ended.code, json, stderr: ended.stderr.replace(place, "PLACE") }
    }
}

/// Replaces ids, times and keys, and leaves the members that hold them.
fn blank(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(blank),
        Value::Object(members) => {
            for (name, member) in members {
                let differs = name == "id" || name == "key" || name.ends_with("_id");
                if (differs || name.ends_with("_at")) && member.is_string() {
                    *member = json!("*");
                } else {
                    blank(member);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => (),
    }
}

/// Every command once or more, with the answers that they gave.
fn everything(vault: &Vault) -> Vec<(String, Said)> {
    let mut said = Vec::new();
    let mut ask = |arguments: &[&str], input: &str| -> Value {
        let ended = vault.operator_with_input(arguments, input);
        said.push((arguments[..2].join(" "), Said::new(vault, &ended)));
        serde_json::from_str(&ended.stdout).unwrap_or_default()
    };
    let text = |value: &Value| String::from(value.as_str().unwrap_or_default());
    let create = ["tenant", "create", "--name", "Two", "--type", "production"];
    let made = ask(&[&create[..], &["--threeds", "--quota", "cvc_retention=30m"]].concat(), "");
    let tenant = text(&made["id"]);
    ask(&["tenant", "create", "--name", "Three", "--type", "test"], "");
    ask(&["tenant", "create", "--name", "", "--type", "robot"], "");
    ask(&["tenant", "create", "--name", "x", "--type", "test", "--quota", "no_such=1"], "");
    ask(&["tenant", "set", "--tenant", &tenant, "--name", "2", "--threeds", "off"], "");
    ask(&["tenant", "set", "--tenant", &tenant, "--quota", "tokenize_limit=100"], "");
    ask(&["tenant", "set", "--tenant", &tenant, "--quota", "tokenize_limit=many"], "");
    ask(&["tenant", "set", "--tenant", &tenant, "--quota", "cvc_retention=10 years"], "");
    ask(&["tenant", "set", "--tenant", "nonsense", "--name", "x"], "");
    ask(&["tenant", "set", "--tenant", &tenant, "--name", &"x".repeat(201)], "");
    ask(&["tenant", "list", "--json"], "");
    let create = ["application", "create", "--tenant", &tenant, "--name", "A", "--type"];
    let with = |rest: &[&'static str]| [&create[..], rest].concat();
    let made = ask(&with(&["private", "--permission", "token:create", "--no-key"]), "");
    let application = text(&made["id"]);
    ask(&with(&["management", "--permission", "application:read"]), "");
    let rule = r#"{"priority":1,"container":"/","transform":"mask","permissions":["token:read"]}"#;
    ask(&with(&["private", "--rule", rule]), "");
    ask(&with(&["public", "--permission", "token:read"]), "");
    ask(&with(&["private", "--rule", r#"{"priority":0}"#]), "");
    ask(&with(&["private", "--rule", "{"]), "");
    ask(&with(&["private"]), "");
    let place = ["--tenant", &tenant, "--application", &application];
    let on = |verb: &'static str| [&["application", verb], &place[..]].concat();
    let key = text(&ask(&on("key-create"), "")["id"]);
    ask(&on("key-import"), &format!("{LEGACY}\n"));
    ask(&on("key-import"), LEGACY);
    ask(&on("key-import"), "short");
    ask(&on("key-import"), "");
    ask(&on("key-import"), &"k".repeat(200));
    ask(&on("key-create"), "");
    ask(&on("key-create"), "");
    ask(&[&on("key-delete")[..], &["--key", &key]].concat(), "");
    ask(&[&on("key-delete")[..], &["--key", &key]].concat(), "");
    ask(&[&on("key-delete")[..], &["--key", "nonsense"]].concat(), "");
    ask(&["application", "key-create", "--tenant", &tenant, "--application", &tenant], "");
    ask(&["application", "list", "--json", "--tenant", &tenant], "");
    ask(&["application", "list", "--tenant", &application], "");
    said
}

#[test]
fn commands_say_the_same_on_a_running_server_and_on_a_closed_file() {
    let running = Vault::start();
    let mut closed = Vault::start();
    assert_eq!(closed.stop(), Some(0));
    let (running, stopped) = (everything(&running), everything(&closed));
    assert_eq!(running.len(), stopped.len());
    for (one, other) in running.iter().zip(&stopped) {
        assert_eq!(one, other);
        let (name, said) = one;
        match said.code {
            Some(0) => assert!(said.stderr.is_empty() && !said.json.is_null(), "{name}"),
            Some(64 | 65) => assert!(said.stderr.starts_with("strongroom: "), "{name}: {said:?}"),
            code => panic!("{name} ended with {code:?}: {}", said.stderr),
        }
    }
    let done = running.iter().filter(|(_, said)| said.code == Some(0)).count();
    assert_eq!(done, 13, "{:?}", running.iter().map(|it| (&it.0, it.1.code)).collect::<Vec<_>>());
    closed.verify().with_code(0);
}

#[test]
fn a_bad_quota_is_refused_and_changes_nothing() {
    let vault = Vault::start();
    let before = vault.operator(&["tenant", "list", "--json"]).json();
    for quota in ["tokenize_limit=-1", "rate_limit=often", "colour=blue"] {
        let set = ["tenant", "set", "--tenant", &vault.tenant_id, "--name", "x", "--quota", quota];
        vault.operator(&set).with_code(65);
    }
    vault.operator(&["tenant", "set", "--tenant", &vault.tenant_id, "--quota", "x"]).with_code(64);
    assert_eq!(vault.operator(&["tenant", "list", "--json"]).json(), before);
}

#[test]
fn an_imported_legacy_key_works_until_it_is_deleted() {
    let mut vault = Vault::start();
    let made = vault.application("private", &["token:create"], &json!([])).id();
    let place = ["--tenant", &vault.tenant_id.clone(), "--application", &made].map(String::from);
    let place: Vec<_> = place.iter().map(String::as_str).collect();
    vault.get("/applications/key", LEGACY).problem(401);
    let import = [&["application", "key-import"], &place[..]].concat();
    let imported = vault.operator_with_input(&import, &format!("  {LEGACY}\r\n"));
    let output = format!("{}{}", imported.stdout, imported.stderr);
    let imported = imported.json();
    assert!(!output.contains(LEGACY) && imported.get("key").is_none());
    assert_eq!(vault.get("/applications/key", LEGACY).with_status(200).id(), made);
    vault.post("/tokens", LEGACY, json!({"type": "token", "data": 1})).with_status(201);
    // No other application can have it, not even another tenant's.
    let other = vault.tenant("test");
    let theirs = vault.get("/applications/key", &other.keys.private).id();
    let again = ["application", "key-import", "--tenant", &other.id, "--application", &theirs];
    vault.operator_with_input(&again, LEGACY).with_code(65);
    vault.stop_and_restart();
    vault.get("/applications/key", LEGACY).with_status(200);
    let key = imported["id"].as_str().unwrap();
    let delete = [&["application", "key-delete"], &place[..], &["--key", key]].concat();
    vault.operator(&delete).with_code(0);
    vault.get("/applications/key", LEGACY).problem(401);
}

#[test]
fn what_the_operator_changes_holds_for_the_next_request() {
    let vault = Vault::start();
    let tenant = &vault.tenant_id;
    vault.operator(&["tenant", "set", "--tenant", tenant, "--name", "Renamed"]).with_code(0);
    let read = vault.get("/tenants/self", &vault.keys.management).with_status(200);
    assert_eq!(read.json["name"], "Renamed");
    let other = vault.tenant("production");
    vault.get("/applications/key", &other.keys.public).with_status(200);
}

#[test]
fn commands_never_fail_on_the_lock_while_the_server_works() {
    let vault = Vault::start();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..100 {
                    vault.token(json!({"type": "token", "data": 1}));
                }
            });
        }
        for at in 0..4 {
            let vault = &vault;
            scope.spawn(move || {
                for _ in 0..4 {
                    let name = format!("T{at}");
                    vault.operator(&["tenant", "create", "--name", &name, "--type", "test"]).json();
                    vault.operator(&["tenant", "list", "--json"]).json();
                }
            });
        }
    });
    assert_eq!(vault.operator(&["tenant", "list", "--json"]).json().as_array().unwrap().len(), 17);
}

#[test]
fn only_a_development_servers_clock_can_be_moved() {
    let mut vault = Vault::start();
    vault.serve("");
    let data = vault.data();
    let refused =
        crate::harness::run(&["dev-clock", "--data", data.to_str().unwrap(), "advance", "1"]);
    refused.with_code(65);
    vault.get("/permissions", &vault.keys.private).with_status(200);
    assert_eq!(vault.stop(), Some(0));
}

/// The oldest silent connection makes room for a command, on both sockets.
#[test]
fn silent_connections_keep_no_command_out() {
    let vault = Vault::start();
    for (socket, command) in
        [("operator.sock", &["tenant", "list"][..]), ("metrics.sock", &["status"])]
    {
        let path = vault.data().join(socket);
        let silent: Vec<_> = (0..60).map(|_| UnixStream::connect(&path).unwrap()).collect();
        let begun = Instant::now();
        for _ in 0..3 {
            vault.operator(command).with_code(0);
        }
        assert!(begun.elapsed() < OPERATOR_READ_MAX, "{socket} waited for the silent ones");
        drop(silent);
    }
}
