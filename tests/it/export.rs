//! `strongroom export`: a tenant moves to another vault, and only the recipients can read the file.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use strongroom::testing::AgeIdentity;

use crate::archive::text;
use crate::harness::{Vault, json_lines, output_of};

fn open(identity: &AgeIdentity, sealed: &[u8]) -> Option<String> {
    identity.open(sealed).map(|plain| String::from_utf8(plain).unwrap())
}

/// Tokens of several kinds, as their ids.
fn fill(vault: &Vault) -> Vec<String> {
    let bodies = [
        json!({"type": "card", "id": "a-card", "metadata": {"owner": "Jos\u{e9}"},
               "data": {"number": "4242424242424242", "expiration_month": 12,
                        "expiration_year": 2040, "cvc": "987"}}),
        json!({"type": "token", "data": {"deep": [1, 2.50, null, "{{ x }}"]},
               "mask": {"deep": "{{ data.deep | json: '$[0]' }}"},
               "search_indexes": ["{{ data.deep | json: '$[0]' }}"],
               "fingerprint_expression": "{{ data.deep | json: '$[3]' }}",
               "containers": ["/general/low/a/", "/general/low/b/"],
               "expires_at": "2090-01-01T00:00:00Z"}),
        json!({"type": "social_security_number", "data": "123-45-6789"}),
    ];
    bodies.into_iter().map(|body| vault.token(body)).collect()
}

fn export(vault: &Vault, file: &Path, recipients: &[&str]) -> crate::harness::Ended {
    let recipients = recipients.iter().flat_map(|it| ["--recipient", *it]);
    let fixed = ["export", "--tenant", &vault.tenant_id, "--out", text(file)];
    vault.operator(&fixed.into_iter().chain(recipients).collect::<Vec<_>>())
}

#[test]
fn a_tenant_moves_to_another_vault_with_its_ids_and_data() {
    let vault = Vault::start();
    let ids = fill(&vault);
    let stranger = vault.tenant("test");
    let foreign = json!({"type": "token", "data": "mARKforeign"});
    vault.post("/tokens", &stranger.keys.private, foreign).with_status(201);
    let rights = ["reactor:create", "reactor:read"];
    let maker = vault.key_with("management", &rights, &json!([]));
    let reactor = json!({"name": "Charge", "code": "module.exports = () => ({})",
                         "configuration": {"KEY": "of the destination"}, "runtime": {"image": "node22"}});
    let reactor = vault.post("/reactors", &maker, reactor).with_status(201);
    let identity = AgeIdentity::generate();
    let public = identity.public_text();
    let file = vault.directory().join("tenant.age");
    let done = export(&vault, &file, &[&public]).with_code(0);
    for number in ["tokens:        3\n", "reactors:      1\n"] {
        assert!(done.stdout.contains(number), "{}", done.stdout);
    }
    let sealed = fs::read(&file).unwrap();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!vault.directory().join("tenant.age.partial").exists());
    let plain = open(&identity, &sealed).unwrap();
    let all = json_lines(&plain);
    assert_eq!((&all[0]["kind"], &all[0]["version"]), (&json!("header"), &json!(1)));
    let end = all.last().unwrap();
    assert_eq!((&end["kind"], &end["tokens"]), (&json!("end"), &json!(3)));
    assert_eq!((&end["applications"], &end["reactors"]), (&json!(4), &json!(1)));
    let count = |kind: &str| all.iter().filter(|line| line["kind"] == kind).count();
    assert_eq!((count("tenant"), count("application"), count("token")), (1, 4, 3));
    // A program moves with all that its owner reads of it.
    let mut line = all.iter().find(|line| line["kind"] == "reactor").unwrap().clone();
    line.as_object_mut().unwrap().remove("kind");
    assert_eq!(line, vault.get(&format!("/reactors/{}", reactor.id()), &maker).json);
    assert_eq!(line["configuration"]["KEY"], "of the destination");
    for secret in ["\"987\"", "\"cvc\"", "mARKforeign", &vault.keys.private, &stranger.id] {
        assert!(!plain.contains(secret), "{secret}");
    }

    let other = Vault::start();
    let import = ["import", "--tenant", &other.tenant_id, "--format", "jsonl", "-"];
    let done = other.operator_with_input(&import, &plain).with_code(0);
    assert!(done.stdout.contains("created:       3\n"), "{}", done.stdout);
    for id in &ids {
        let read = |vault: &Vault| {
            let shown = vault.read(id).with_status(200);
            let mut json = shown.json;
            // The fingerprint's key, the tenant and the creator are those of the other vault.
            for own in ["fingerprint", "tenant_id", "created_by"] {
                json[own] = Value::Null;
            }
            json["data"].as_object_mut().map(|data| data.remove("cvc"));
            json
        };
        assert_eq!(read(&other), read(&vault), "{id}");
    }
}

#[test]
fn only_the_recipients_open_the_file_and_also_the_command_age_does() {
    let vault = Vault::start();
    fill(&vault);
    let [one, two, stranger] = [(); 3].map(|()| AgeIdentity::generate());
    let file = vault.directory().join("tenant.age");
    let list = format!("# people\n\n{}\n", two.public_text());
    let list = vault.directory().write("recipients", list, 0o644);
    let public = one.public_text();
    let arguments = ["export", "--tenant", &vault.tenant_id, "--out", text(&file)];
    let more = ["--recipient", &public, "--recipients-file", text(&list), "--json"];
    let done = vault.operator(&[&arguments[..], &more].concat()).json();
    assert_eq!((&done["tokens"], &done["damaged"]), (&json!(3), &json!(0)));
    let sealed = fs::read(&file).unwrap();
    assert!(!sealed.windows(16).any(|window| window == b"4242424242424242"));
    let plain = open(&one, &sealed).unwrap();
    assert_eq!(open(&two, &sealed).as_ref(), Some(&plain));
    assert_eq!(open(&stranger, &sealed), None);
    // If the command `age` is installed, it opens the file too.
    if Command::new("age").arg("--version").output().is_ok() {
        let key = one.private_text();
        let key = vault.directory().write("key.txt", key.expose(), 0o600);
        let opened = output_of(Command::new("age").args(["-d", "-i", text(&key), text(&file)]));
        assert_eq!(String::from_utf8(opened.stdout).unwrap(), plain);
    }
}

#[test]
fn an_export_is_refused_without_recipients_and_never_overwrites() {
    let mut vault = Vault::start();
    let public = AgeIdentity::generate().public_text();
    let file = vault.directory().write("there", "precious", 0o600);
    let done = export(&vault, &file, &[&public]).with_code(65);
    assert!(done.stderr.contains("exists already"), "{}", done.stderr);
    assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
    let new = vault.directory().join("new");
    export(&vault, &new, &[]).with_code(64);
    // The last is a point that gives everybody the same secret.
    let zero = "age1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq5cu47z";
    for wrong in ["age1", "ssh-ed25519 AAAA", "AGE-SECRET-KEY-1", zero] {
        let code = if wrong.starts_with("AGE-") { 64 } else { 65 };
        let done = export(&vault, &new, &[wrong]).with_code(code);
        assert!(done.stderr.contains("recipient"), "{}", done.stderr);
    }
    export(&vault, &new, &[public.as_str(); 65]).with_code(65);
    let nobody = "018bcfe5-6800-4abc-8abc-0123456789ab";
    let arguments = ["export", "--tenant", nobody, "--out", text(&new), "--recipient", &public];
    let done = vault.operator(&arguments).with_code(65);
    assert!(done.stderr.contains("There is no such tenant."), "{}", done.stderr);
    assert!(!new.exists() && !vault.directory().join("new.partial").exists());
    // Without a server, too; and each export is in the audit chain.
    assert_eq!(vault.stop(), Some(0));
    export(&vault, &new, &[&public]).with_code(0);
    let chain = vault.operator(&["audit", "export"]).with_code(0).stdout;
    let exports = chain.lines().filter(|line| {
        let entry: Value = serde_json::from_str(line).unwrap();
        entry["operation"] == "export" && entry["entity_id"] == vault.tenant_id.as_str()
    });
    assert_eq!(exports.count(), 1, "{chain}");
}
