//! A backup that is taken while clients write is the acknowledged state of one moment.

use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use serde_json::json;

use crate::harness::{SetOnDrop, Vault, needs_data_file, run, wait_for_clients};

const CLIENTS: usize = 4;
/// Acknowledged pairs before the backup begins, and further ones before the clients stop.
const PAIRS: usize = 40;

type Pair = [String; 2];

/// Makes pairs until the flag is set; each client's pairs in the order of their answers.
fn load(vault: &Vault, told: &Mutex<Vec<Pair>>, answers: &AtomicUsize, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        let body =
            json!({"one": {"type": "token", "data": "1"}, "two": {"type": "token", "data": "2"}});
        let made = vault.post("/tokenize", &vault.keys.private, body).with_status(200);
        let id = |name: &str| String::from(made.json[name]["id"].as_str().unwrap());
        told.lock().unwrap().push([id("one"), id("two")]);
        answers.fetch_add(1, Ordering::Relaxed);
    }
}

/// Restores a backup in place of a stopped vault's data.
pub(crate) fn replace(vault: &Vault, backup: &str) {
    let restored = vault.directory().join("restored");
    run(&["restore", backup, "--data", restored.to_str().unwrap()]).with_code(0);
    let file = vault.data().join("strongroom.redb");
    fs::rename(restored.join("strongroom.redb"), file).unwrap();
    fs::remove_file(vault.data().join("cvc.keys")).unwrap();
    vault.verify().with_code(0);
}

#[test]
fn a_backup_under_load_restores_to_exactly_the_acknowledged_state_at_its_moment() {
    needs_data_file!("it puts a restored file in its place");
    let mut vault = Vault::start();
    let told: Vec<Mutex<Vec<Pair>>> = (0..CLIENTS).map(|_| Mutex::default()).collect();
    let (answers, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let file = &vault.directory().text("under-load.backup");
    let data = vault.data();
    let before: Vec<usize> = thread::scope(|scope| {
        let stop_clients = SetOnDrop(&stop);
        let mut clients = Vec::new();
        for told in &told {
            clients.push(scope.spawn(|| load(&vault, told, &answers, &stop)));
        }
        let wait_for = |count: usize| {
            let is_enough = || answers.load(Ordering::Relaxed) >= count;
            wait_for_clients(&format!("{count} answers"), &clients, is_enough);
        };
        wait_for(PAIRS);
        let before = told.iter().map(|told| told.lock().unwrap().len()).collect();
        let ended = run(&["backup", "--data", data.to_str().unwrap(), file]);
        wait_for(answers.load(Ordering::Relaxed) + PAIRS);
        drop(stop_clients);
        ended.with_code(0);
        before
    });
    assert_eq!(vault.stop(), Some(0));
    let key = data.join("master.key");
    run(&["verify", file]).with_code(0);
    let walked = run(&["verify", file, "--key", key.to_str().unwrap()]).with_code(0).stdout;
    replace(&vault, file);
    vault.restart();
    let mut found = 0;
    for (told, before) in told.iter().zip(before) {
        let told = told.lock().unwrap();
        let pair = |ids: &Pair| {
            let read = |id: &String| vault.read(id).status;
            match [read(&ids[0]), read(&ids[1])] {
                [200, 200] => true,
                [404, 404] => false,
                half => panic!("half a call is there: {half:?}"),
            }
        };
        let there: Vec<bool> = told.iter().map(pair).collect();
        let count = there.iter().take_while(|there| **there).count();
        assert!(count >= before, "{count} of {before} that were acknowledged before it began");
        assert!(!there[count..].contains(&true), "a later call is there without an earlier one");
        found += count;
    }
    assert!(found < answers.load(Ordering::Relaxed), "calls after the backup are not in it");
    // Nothing else is there than what was acknowledged in the end.
    let tokens = walked.lines().find_map(|line| line.strip_prefix("tokens:")).unwrap();
    assert_eq!(tokens.trim().parse(), Ok(2 * found));
}
