//! The vault's own keys: rotated while it works, destroyed, replaced and recovered.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::{Value, json};

use crate::harness::{
    Directory, SetOnDrop, Vault, card, delete, needs_data_file, needs_one_process, post, run,
    wait_until,
};

/// Records and index entries under the tenant's keys of this number, and the states of those keys.
fn under(vault: &Vault, number: u64) -> (u64, u64, Vec<String>) {
    let list = vault.operator(&["key", "list", "--json"]).json();
    let keys = list["keys"].as_array().unwrap().iter().filter(|key| {
        key["scope"] == json!(vault.tenant_id)
            && key["number"] == json!(number)
            && key["purpose"] != "fingerprint"
    });
    keys.fold((0, 0, Vec::new()), |(records, entries, mut states), key| {
        let count = |name: &str| key[name].as_u64().unwrap_or(0);
        states.push(String::from(key["state"].as_str().unwrap()));
        (records + count("records"), entries + count("index_entries"), states)
    })
}

fn rotate(vault: &Vault) -> Value {
    vault.operator(&["key", "rotate", "--tenant", &vault.tenant_id]).json()
}

pub(crate) fn wait_for_the_end(vault: &Vault) {
    wait_until("no rotation is under way", || rotations(vault).is_empty());
}

fn rotations(vault: &Vault) -> Vec<Value> {
    let list = vault.operator(&["key", "list", "--json"]).json();
    list["rotations"].as_array().unwrap().clone()
}

fn body(value: &str) -> Value {
    json!({
        "type": "token", "data": value, "metadata": {"value": value, "all": "x"},
        "search_indexes": ["{{ data }}"], "containers": ["/a/", "/b/"],
    })
}

fn search(vault: &Vault, term: &str) -> Vec<Value> {
    let body = json!({"query": format!("data:{term}")});
    let found = vault.post("/v2/tokens/search", &vault.keys.private, body).with_status(200);
    found.json["data"].as_array().unwrap().clone()
}

/// The answers that a client got, which must stay true.
#[derive(Default)]
struct Told {
    stored: BTreeMap<String, String>,
    deleted: Vec<String>,
    /// Values that were created once by an idempotency key, and the id they have.
    once: Vec<(String, Value, String)>,
}

/// One of everything, over and over; checks what it can while it goes.
fn work(vault: &Vault, told: &Mutex<Told>, is_over: &AtomicBool, name: usize) {
    let key = &vault.keys.private;
    let shared = vault.post("/tokens", key, deduplicated()).id();
    for at in 0.. {
        let value = format!("v{name}x{at}");
        let id = format!("own-{value}");
        let mut named = body(&value);
        named["id"] = json!(id);
        vault.post("/tokens", key, named.clone()).with_status(201);
        vault.post("/tokens", key, named).problem(409);
        assert_eq!(vault.get(&format!("/tokens/{id}"), key).with_status(200).json["data"], value);
        assert_eq!(search(vault, &value).len(), 1, "{value}");
        // Another value, under which it is found from then on.
        let changed = format!("{value}y");
        let change = json!({"data": changed, "metadata": {"value": changed}, "search_indexes": ["{{ data }}"]});
        vault.patch_as(key, &id, change).with_status(200);
        assert_eq!(search(vault, &value).len(), 0, "{value}");
        assert_eq!(search(vault, &changed).len(), 1, "{changed}");
        let by_metadata = format!("/v2/tokens?metadata.value={changed}");
        let listed = vault.get(&by_metadata, key).with_status(200);
        assert_eq!(listed.json["data"].as_array().unwrap().len(), 1);
        if at % 3 == 0 {
            vault.send(&delete(&format!("/tokens/{id}")).key(key)).with_status(204);
            told.lock().unwrap().deleted.push(id);
        } else {
            told.lock().unwrap().stored.insert(id, changed);
        }
        let again = vault.post("/tokens", key, deduplicated());
        assert_eq!(again.with_status(201).id(), shared);
        let once = format!("once-{value}");
        let made = repeat(vault, &once, body(&once)).with_status(201).id();
        told.lock().unwrap().once.push((once.clone(), body(&once), made));
        if is_over.load(Ordering::Relaxed) {
            return;
        }
    }
}

fn deduplicated() -> Value {
    json!({"type": "token", "data": "the same", "deduplicate_token": true})
}

fn repeat(vault: &Vault, once: &str, body: Value) -> crate::harness::Answer {
    let request = post("/tokens").key(&vault.keys.private).once(once);
    vault.send(&request.json(body))
}

fn check(vault: &Vault, told: &Told) {
    let key = &vault.keys.private;
    for (id, value) in &told.stored {
        assert_eq!(&vault.get(&format!("/tokens/{id}"), key).with_status(200).json["data"], value);
        assert_eq!(search(vault, value).len(), 1, "{value}");
    }
    for id in &told.deleted {
        vault.get(&format!("/tokens/{id}"), key).problem(404);
    }
    for (once, body, id) in &told.once {
        assert_eq!(&repeat(vault, once, body.clone()).with_status(201).id(), id);
    }
}

#[test]
fn a_rotation_under_load_loses_nothing_and_ends_at_zero() {
    let mut vault = Vault::start();
    let card = vault.token(json!({"type": "card", "data": card()}));
    let read = |vault: &Vault| vault.read(&card).json;
    let before = read(&vault);
    assert!(before["fingerprint"].is_string() && before["data"]["cvc"] == "123");
    for at in 0..150 {
        vault.token(body(&format!("early{at}")));
    }
    let (told, is_over) = (Mutex::new(Told::default()), AtomicBool::new(false));
    for number in 2..4 {
        is_over.store(false, Ordering::Relaxed);
        thread::scope(|scope| {
            let _stop_clients = SetOnDrop(&is_over);
            for client in 0..3 {
                let (vault, told, is_over) = (&vault, &told, &is_over);
                scope.spawn(move || work(vault, told, is_over, number * 10 + client));
            }
            let started = rotate(&vault);
            assert_eq!(started["rotating"][0]["number"], number);
            wait_for_the_end(&vault);
        });
        let old = u64::try_from(number - 1).unwrap();
        assert_eq!(under(&vault, old), (0, 0, vec!["retiring".into(), "retiring".into()]));
        let (records, entries, states) = under(&vault, old + 1);
        assert!(records > 150 && entries > 1_000, "{records} {entries}");
        assert_eq!(states, ["current", "current"]);
        let destroy = ["key", "destroy", "--tenant", &vault.tenant_id.clone(), "--number"];
        let destroy =
            |number: u64| vault.operator(&[&destroy[..], &[&number.to_string()]].concat());
        destroy(old + 1).with_code(65);
        destroy(old).with_code(0);
        assert_eq!(under(&vault, old).2, ["destroyed", "destroyed"]);
        check(&vault, &told.lock().unwrap());
        assert_eq!(read(&vault), before, "fingerprint and code are as they were");
    }
    assert_eq!(search(&vault, "early7").len(), 1);
    let log = vault.log();
    assert!(log.contains("\"event\":\"rotation_finished\""), "{log}");
    vault.stop_and_verify();
    vault.restart();
    check(&vault, &told.lock().unwrap());
    needs_data_file!("over a database a restart loses the codes");
    assert_eq!(read(&vault), before);
}

#[test]
fn a_rotation_goes_on_after_kills_and_stops() {
    let mut vault = Vault::start();
    let ids: Vec<_> = (0..200).map(|at| vault.token(body(&format!("value{at}")))).collect();
    rotate(&vault);
    vault.operator(&["key", "rotate", "--tenant", &vault.tenant_id]).with_code(65);
    for signal in ["KILL", "TERM", "KILL", "KILL"] {
        vault.signal(signal);
        vault.wait();
        vault.verify().with_code(0);
        vault.restart();
        assert_eq!(search(&vault, "value7").len(), 1);
    }
    wait_for_the_end(&vault);
    let (records, entries, _) = under(&vault, 1);
    assert_eq!((records, entries), (0, 0));
    vault.operator(&["key", "destroy", "--tenant", &vault.tenant_id, "--number", "1"]).with_code(0);
    for (at, id) in ids.iter().enumerate() {
        let read = vault.read(id).with_status(200);
        assert_eq!(read.json["data"], format!("value{at}"));
    }
    vault.stop_and_verify();
}

#[test]
fn a_stopped_vault_is_rotated_to_the_end_by_the_command_itself() {
    let mut vault = Vault::start();
    let id = vault.token(body("one"));
    let other = vault.tenant("test");
    assert_eq!(vault.stop(), Some(0));
    let all = vault.operator(&["key", "rotate", "--all-tenants"]).json();
    assert_eq!(all["rotating"].as_array().unwrap().len(), 2);
    vault.operator(&["key", "rotate", "--server"]).json();
    assert_eq!((under(&vault, 1).0, under(&vault, 1).1), (0, 0));
    let tenants = [vault.tenant_id.clone(), other.id];
    for tenant in &tenants {
        vault.operator(&["key", "destroy", "--tenant", tenant, "--number", "1"]).with_code(0);
    }
    vault.operator(&["key", "destroy", "--server", "--number", "1"]).with_code(0);
    vault.verify().with_code(0);
    let list = vault.operator(&["key", "list"]).with_code(0).stdout;
    assert!(list.contains("destroyed") && list.contains("master key "), "{list}");
    vault.restart();
    vault.read(&id).with_status(200);
    vault.get("/applications/key", &other.keys.private).with_status(200);
}

#[test]
fn what_is_asked_of_keys_must_make_sense() {
    let vault = Vault::start();
    let nobody = "00000000-0000-4000-8000-000000000000";
    for (arguments, code) in [
        (&["rotate"][..], 64),
        (&["rotate", "--master", "--server"], 64),
        (&["rotate", "--tenant", nobody], 65),
        (&["rotate", "--tenant", "nonsense"], 65),
        (&["rotate", "--master", "--out", "/nowhere/key"], 64),
        (&["destroy", "--number", "1"], 64),
        (&["destroy", "--server", "--number", "1"], 65),
        (&["destroy", "--server", "--number", "9"], 65),
        (&["destroy", "--tenant", nobody, "--number", "1"], 65),
        (&["shares", "--scheme", "1-of-3"], 64),
    ] {
        vault.operator(&[&["key"], arguments].concat()).with_code(code);
    }
    assert_eq!(rotations(&vault), Vec::<Value>::new());
}

#[test]
fn uses_are_counted_and_kept() {
    needs_one_process!("each process counts its own uses until it writes them");
    let mut vault = Vault::start();
    let uses = |vault: &Vault| {
        let list = vault.operator(&["key", "list", "--json"]).json();
        let keys = list["keys"].as_array().unwrap().clone();
        let mut own = keys.into_iter().filter(|key| key["scope"] == json!(vault.tenant_id));
        let own = own.find(|key| key["purpose"] == "seal").unwrap();
        assert!(own["created_at"].is_string() && own["age_days"] == 0);
        own["uses"].as_u64().unwrap()
    };
    let before = uses(&vault);
    for _ in 0..5 {
        vault.token(body("x"));
    }
    assert_eq!(uses(&vault), before + 5);
    vault.token(body("x"));
    vault.stop_and_restart();
    assert_eq!(uses(&vault), before + 6);
}

#[test]
fn the_master_key_is_replaced_while_the_server_runs() {
    needs_data_file!("over a database a restart loses the codes");
    let mut vault = Vault::start();
    let card = vault.token(json!({"type": "card", "data": card()}));
    let key = vault.data().join("master.key");
    let old = fs::read(&key).unwrap();
    let said = vault.operator(&["key", "rotate", "--master"]).with_code(0).stdout;
    assert!(said.contains("Older backups need the old key"), "{said}");
    let new = fs::read(&key).unwrap();
    assert_ne!(old, new);
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o400);
    assert!(!vault.data().join("master.key.new").exists());
    let kept = kept_key(&vault);
    assert_eq!(fs::read(&kept).unwrap(), old);
    let works = |vault: &Vault| {
        let read = vault.read(&card).with_status(200);
        assert_eq!(read.json["data"]["cvc"], "123");
        vault.tenant("test");
    };
    works(&vault);
    vault.stop_and_verify();
    let data = vault.data();
    let kept = ["verify", "--data", data.to_str().unwrap(), "--master-key", kept.to_str().unwrap()];
    let refused = run(&kept).with_code(77);
    assert!(refused.stderr.contains("was replaced by a rotation"), "{}", refused.stderr);
    vault.restart();
    works(&vault);
    let log = vault.log();
    let text = String::from_utf8(new).unwrap();
    assert!(!log.contains(text.trim()));
}

fn kept_key(vault: &Vault) -> PathBuf {
    let names = fs::read_dir(vault.data()).unwrap().map(|entry| entry.unwrap().path());
    let mut kept = names.filter(|path| path.to_str().unwrap().contains("master.key.old-"));
    kept.next().unwrap()
}

/// Each state of the files that a rotation can be cut off in.
#[test]
fn an_interrupted_replacement_of_the_master_key_is_finished_or_tried_again() {
    needs_one_process!("the master key is replaced by a process that is alone");
    let mut vault = Vault::start();
    let id = vault.token(body("x"));
    let read = |vault: &Vault| vault.read(&id).with_status(200);
    let (key, new) = (vault.data().join("master.key"), vault.data().join("master.key.new"));
    // The new key was written, and nothing else happened: it is taken by the next attempt.
    assert_eq!(vault.stop(), Some(0));
    let unused = "ab".repeat(32);
    fs::write(&new, &unused).unwrap();
    fs::set_permissions(&new, fs::Permissions::from_mode(0o400)).unwrap();
    vault.restart();
    read(&vault);
    vault.operator(&["key", "rotate", "--master"]).with_code(0);
    assert_eq!(fs::read_to_string(&key).unwrap(), unused);
    // The data file is under the new key, and the files still have their old names.
    let kept = kept_key(&vault);
    let undo = || {
        fs::rename(&key, &new).unwrap();
        fs::hard_link(&kept, &key).unwrap();
    };
    undo();
    vault.operator(&["key", "rotate", "--master"]).with_code(0);
    assert_eq!(fs::read_to_string(&key).unwrap(), unused, "it was this key's turn already");
    undo();
    vault.signal("KILL");
    vault.wait();
    vault.restart();
    read(&vault);
    assert_eq!(fs::read_to_string(&key).unwrap(), unused);
    assert!(!new.exists());
    // The key's own file is not there at all.
    assert_eq!(vault.stop(), Some(0));
    fs::rename(&key, &new).unwrap();
    vault.restart();
    read(&vault);
    // Any other key is refused as ever.
    assert_eq!(vault.stop(), Some(0));
    fs::rename(&key, vault.data().join("aside")).unwrap();
    vault.operator(&["tenant", "list"]).with_code(77);
    fs::write(&new, "cd".repeat(32)).unwrap();
    vault.operator(&["tenant", "list"]).with_code(77);
}

#[test]
fn a_credential_is_replaced_by_the_operator() {
    needs_one_process!("the master key is replaced by a process that is alone");
    let mut vault = Vault::start();
    let id = vault.token(body("x"));
    let text = fs::read_to_string(vault.config()).unwrap();
    let file = format!("file = \"{}/master.key\"", vault.data().display());
    let text = text.replace(&file, "credential = \"master.key\"");
    let config = vault.directory().write("credential.toml", text, 0o600);
    let config = config.to_str().unwrap();
    let rotate = ["key", "rotate", "--config", config, "--master"];
    run(&rotate).with_code(64);
    let out = vault.directory().join("new.key");
    let before = vault.operator(&["key", "list", "--json"]).json()["master"]["id"].clone();
    let with_out = [&rotate[..], &["--out", out.to_str().unwrap()]].concat();
    let said = run(&with_out).with_code(0).stdout;
    assert!(said.contains("LoadCredential"), "{said}");
    vault.read(&id).with_status(200);
    check_takes_no_other_key(&vault, &with_out, &out, before.as_str().unwrap());
    assert_eq!(vault.stop(), Some(0));
    let refused = vault.verify().with_code(77);
    assert!(refused.stderr.contains("key rotate --master replaced it at"), "{}", refused.stderr);
    fs::rename(&out, vault.data().join("master.key")).unwrap();
    vault.restart();
    vault.read(&id).with_status(200);
}

/// An existing file is the new key only if an interrupted attempt has left it, and never if it holds
/// the key before this one.
fn check_takes_no_other_key(vault: &Vault, rotate: &[&str], out: &Path, before: &str) {
    let current = || vault.operator(&["key", "list", "--json"]).json()["master"]["id"].clone();
    let (id, kept) = (current(), fs::read(out).unwrap());
    let refused = run(rotate).with_code(65);
    assert!(refused.stderr.contains("exists already"), "{}", refused.stderr);
    let mark = out.with_extension("key.unfinished");
    fs::write(&mark, "0000000000000000").unwrap();
    let refused = run(rotate).with_code(65);
    assert!(refused.stderr.contains("with another key"), "{}", refused.stderr);
    fs::write(&mark, id.as_str().unwrap()).unwrap();
    run(rotate).with_code(0);
    assert!(!mark.exists());
    assert_eq!((current(), fs::read(out).unwrap()), (id.clone(), kept));
    let old = vault.master_key();
    let copy = vault.directory().join("copy.key");
    fs::copy(&old, &copy).unwrap();
    let rotate: Vec<_> = rotate
        .iter()
        .map(|it| if *it == out.to_str().unwrap() { copy.to_str().unwrap() } else { *it })
        .collect();
    run(&rotate).with_code(65);
    fs::write(copy.with_extension("key.unfinished"), before).unwrap();
    let refused = run(&rotate).with_code(65);
    assert!(refused.stderr.contains("was replaced before"), "{}", refused.stderr);
    assert_eq!(current(), id);
    let directory = vault.directory().path().to_str().unwrap();
    let rotate: Vec<_> = rotate
        .iter()
        .map(|it| if *it == copy.to_str().unwrap() { directory } else { *it })
        .collect();
    let refused = run(&rotate).with_code(65);
    assert!(!refused.stderr.contains("chmod"), "{}", refused.stderr);
}

/// A vault made by `init` with shares in files.
pub(crate) fn with_shares(directory: &Directory, name: &str) -> (PathBuf, Vec<PathBuf>) {
    let place = directory.path().display();
    let text = format!(
        "data_directory = \"{place}/{name}\"\n[tls]\ncertificate = \"/c\"\nprivate_key = \"/k\"\n\
         [master_key]\nfile = \"{place}/{name}.key\"\n"
    );
    let config = directory.write(&format!("{name}.toml"), text, 0o600);
    let shares = directory.join(&format!("{name}-shares"));
    let init = ["init", "--config", config.to_str().unwrap(), "--recovery-shares", "3-of-5"];
    let said = run(&[&init[..], &["--shares-directory", shares.to_str().unwrap()]].concat());
    assert!(said.with_code(0).stdout.contains("any 3 of 5 recover the master key (checked)"));
    let mut files: Vec<_> =
        fs::read_dir(&shares).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), 5);
    for file in &files {
        assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o400);
    }
    (config, files)
}

fn recover(config: &Path, out: &Path, shares: &[&PathBuf]) -> crate::harness::Ended {
    let mut arguments = vec!["key", "recover", "--config", config.to_str().unwrap()];
    arguments.extend(["--out", out.to_str().unwrap()]);
    for share in shares {
        arguments.extend(["--share", share.to_str().unwrap()]);
    }
    run(&arguments)
}

#[test]
fn a_lost_master_key_comes_back_from_any_shares_that_are_enough() {
    let directory = Directory::new();
    let (config, shares) = with_shares(&directory, "one");
    let (other_config, other) = with_shares(&directory, "two");
    let key = directory.join("one.key");
    let lost = fs::read(&key).unwrap();
    let out = directory.join("out.key");
    recover(&config, &out, &[&shares[0], &shares[1]]).with_code(65);
    recover(&config, &out, &[&shares[0], &shares[1], &shares[1]]).with_code(65);
    recover(&config, &out, &[&shares[0], &shares[1], &other[2]]).with_code(65);
    recover(&other_config, &out, &[&shares[0], &shares[1], &shares[2]]).with_code(77);
    let damaged = fs::read_to_string(&shares[2]).unwrap().replace("-0", "-1").replace("-Z", "-Y");
    let damaged = directory.write("damaged", damaged + "0", 0o400);
    recover(&config, &out, &[&shares[0], &shares[1], &damaged]).with_code(65);
    assert!(!out.exists());
    recover(&config, &key, &[&shares[0], &shares[1], &shares[2]]).with_code(65);
    assert_eq!(fs::read(&key).unwrap(), lost, "nothing is overwritten");
    fs::remove_file(&key).unwrap();
    recover(&config, &key, &[&shares[4], &shares[0], &shares[2]]).with_code(0);
    assert_eq!(fs::read(&key).unwrap(), lost);
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o400);
    run(&["verify", "--config", config.to_str().unwrap()]).with_code(0);
}

#[test]
fn shares_can_be_made_later_and_typed_in() {
    needs_one_process!("the master key is replaced by a process that is alone");
    let vault = Vault::start();
    let made = vault.operator(&["key", "shares", "--scheme", "2-of-3"]).with_code(0).stdout;
    let typed: Vec<_> =
        made.lines().filter(|line| line.contains('-') && !line.contains(' ')).collect();
    assert_eq!(typed.len(), 3, "{made}");
    let out = vault.directory().join("typed.key");
    let recover = ["key", "recover", "--out", out.to_str().unwrap()];
    vault.operator_with_input(&recover, &typed[0].to_lowercase()).with_code(65);
    vault.operator_with_input(&recover, &format!("{}x\n{}", typed[0], typed[1])).with_code(65);
    let input = format!("{}\n\n{}\n", typed[2].to_lowercase().replace('-', " "), typed[0]);
    let said = vault.operator_with_input(&recover, &input).with_code(0).stdout;
    assert!(said.contains("it opens the vault"), "{said}");
    assert_eq!(fs::read(&out).unwrap(), fs::read(vault.data().join("master.key")).unwrap());
    // The shares of a key that was replaced are of no use to the running vault.
    vault.operator(&["key", "rotate", "--master"]).with_code(0);
    let again = vault.directory().join("again.key");
    let recover = ["key", "recover", "--out", again.to_str().unwrap()];
    vault.operator_with_input(&recover, &input).with_code(77);
}

#[test]
fn shares_are_made_of_the_vaults_own_key_alone_and_that_is_audited() {
    let vault = Vault::start();
    let place = vault.directory();
    let other = place.write("other.key", "ab".repeat(32), 0o400);
    let shares = ["key", "shares", "--scheme", "2-of-3", "--directory"];
    let (wrong, right) = (place.join("wrong"), place.join("right"));
    let key = ["--master-key", other.to_str().unwrap()];
    let refused =
        vault.operator(&[&shares[..], &[wrong.to_str().unwrap()], &key[..]].concat()).with_code(65);
    assert!(refused.stderr.contains("another master key"), "{}", refused.stderr);
    assert!(!wrong.exists());
    vault.operator(&[&shares[..], &[right.to_str().unwrap()]].concat()).with_code(0);
    let chain = vault.operator(&["audit", "export"]).with_code(0).stdout;
    let exports =
        chain.lines().filter(|line| line.contains("master_key") && line.contains("export"));
    assert_eq!(exports.count(), 1, "{chain}");
}
