//! The data directory of a running server is moved away and another vault takes its place: the server
//! ends, and touches nothing of the vault that is there now. A rotation of the master key touches no
//! keys of another vault either.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::thread;

use serde_json::json;

use crate::harness::{Directory, Vault, needs_data_file, post, run};

fn token(vault: &Vault, text: &str) -> String {
    vault.token(json!({"type": "token", "data": text}))
}

fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(directory).unwrap().map(Result::unwrap);
    let regular = entries.filter(|entry| entry.file_type().unwrap().is_file());
    let read = |entry: fs::DirEntry| {
        (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())
    };
    regular.map(read).collect()
}

/// Moves the directory of `first` away and puts the one of `second` in its place.
fn replace(first: &Vault, second: &Vault) {
    fs::rename(first.data(), first.directory().join("away")).unwrap();
    fs::rename(second.data(), first.data()).unwrap();
    symlink(first.data(), second.data()).unwrap();
}

fn put_back(first: &Vault, second: &Vault) {
    fs::remove_file(second.data()).unwrap();
    fs::rename(first.data(), second.data()).unwrap();
    fs::rename(first.directory().join("away"), first.data()).unwrap();
}

fn asked_to_write(vault: &Vault) {
    let body = json!({"type": "token", "data": "too late"});
    let answer = vault.try_send(&post("/tokens").key(&vault.keys.private).json(body));
    let answer = answer.map(|answer| answer.status);
    assert!(!answer.as_ref().is_ok_and(|status| *status < 300), "{answer:?}");
}

/// Ends a server, or asks for something that ends it.
type End<'a> = &'a dyn Fn(&Vault);

#[test]
fn a_stopped_vault_in_the_place_of_a_running_one_stays_as_it_is() {
    needs_data_file!("it moves the directory");
    let cases: [(&str, End<'_>); 3] = [
        ("stopped", &|vault| vault.signal("TERM")),
        ("asked to write", &asked_to_write),
        ("left alone", &|_| ()),
    ];
    for (case, end) in cases {
        let (mut first, mut second) = (Vault::start(), Vault::start());
        let (own, other) = (token(&first, "own"), token(&second, "other"));
        // A killed one: its log has what its data file lacks.
        second.kill();
        let before = files(&second.data());
        replace(&first, &second);
        end(&first);
        assert_eq!(first.wait(), Some(74), "{case}: {}", first.log());
        assert!(files(&first.data()) == before, "{case}: a file of the other vault was changed");
        assert!(first.data().join("operator.sock").exists(), "{case}: another's socket");
        second.restart();
        second.read(&other).with_status(200);
        second.stop_and_verify();
        // Nothing that the first one answered is lost.
        put_back(&first, &second);
        first.verify().with_code(0);
        first.restart();
        first.read(&own).with_status(200);
    }
}

#[test]
fn a_running_vault_in_the_place_of_another_keeps_its_sockets_and_its_rows() {
    needs_data_file!("it moves the directory");
    let (mut first, mut second) = (Vault::start(), Vault::start());
    token(&first, "own");
    let other = token(&second, "other");
    assert_eq!(second.stop(), Some(0));
    replace(&first, &second);
    second.restart();
    let later = token(&second, "later");
    first.signal("TERM");
    assert_eq!(first.wait(), Some(74), "{}", first.log());
    for name in ["operator.sock", "metrics.sock"] {
        assert!(first.data().join(name).exists(), "{name}");
    }
    second.operator(&["status"]).with_code(0);
    for id in [&other, &later] {
        second.read(id).with_status(200);
    }
    token(&second, "goes on");
    assert_eq!(second.stop(), Some(0), "{}", second.log());
    second.verify().with_code(0);
}

#[test]
fn a_rotation_of_the_master_key_leaves_the_keys_that_took_its_place_alone() {
    let place = Directory::new();
    let (keys, away) = (place.join("keys"), place.join("away"));
    let fill = |names: &[&str], digits: &str| {
        fs::create_dir(place.join("keys")).unwrap();
        for name in names {
            place.write(&format!("keys/{name}"), digits.repeat(32), 0o400);
        }
    };
    fill(&["master.key"], "ab");
    // In the place of a server, which cannot be stopped between two steps of the command.
    let listener = UnixListener::bind(place.join("operator.sock")).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            let answer = |text: &str, meanwhile: &dyn Fn()| {
                let (mut stream, _) = listener.accept().unwrap();
                stream.read_to_end(&mut Vec::new()).unwrap();
                meanwhile();
                stream.write_all(text.as_bytes()).unwrap();
            };
            let public = format!("09{}", "00".repeat(31));
            answer(&json!({"done": {"public": public}}).to_string(), &|| ());
            // The command makes the new key before it sends it.
            answer(r#"{"done":{}}"#, &|| {
                fs::rename(&keys, &away).unwrap();
                fill(&["master.key", "master.key.new"], "cd");
            });
        });
        let key = keys.join("master.key");
        let options = ["--data", place.path().to_str().unwrap(), "--master-key"];
        let rotate = [&["key", "rotate", "--master"], &options[..], &[key.to_str().unwrap()]];
        run(&rotate.concat()).with_code(0);
    });
    let (own, other) = (files(&away), files(&keys));
    assert_eq!(
        other.into_values().collect::<Vec<_>>(),
        ["cd", "cd"].map(|it| it.repeat(32).into_bytes())
    );
    let old: Vec<_> = own.iter().filter(|(name, _)| name.contains(".old-")).collect();
    assert_eq!((own.len(), old.len(), old[0].1), (2, 1, &"ab".repeat(32).into_bytes()));
    assert_ne!(own["master.key"], *old[0].1);
}
