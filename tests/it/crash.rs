//! `kill -9` under load: what was answered is there, whatever happened.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::json;

use crate::harness::{KillOnDrop, Vault, delete, post, thorough, wait_for_clients};

const CLIENTS: usize = 4;
/// After how many answers a round's server is killed, and a little more each round.
const ANSWERS: usize = 40;

#[derive(Default)]
struct Told {
    /// Ids of tokens and the values that they must hold.
    stored: BTreeMap<String, String>,
    deleted: Vec<String>,
    /// Deletes that were sent and not answered: these may be there or not.
    asked: Vec<String>,
}

#[test]
fn kills_under_load_lose_nothing_that_was_answered() {
    let rounds = thorough(3, 10);
    let mut vault = Vault::start();
    let told = Mutex::new(Told::default());
    for round in 0..rounds {
        let answers = AtomicUsize::new(0);
        thread::scope(|scope| {
            let clients: Vec<_> = (0..CLIENTS)
                .map(|client| {
                    let (vault, told, answers) = (&vault, &told, &answers);
                    scope.spawn(move || load(vault, told, answers, &format!("{round}-{client}")))
                })
                .collect();
            let kill = KillOnDrop(&vault);
            let enough = ANSWERS + 13 * round;
            let is_enough = || answers.load(Ordering::Relaxed) >= enough;
            wait_for_clients(&format!("{enough} answers"), &clients, is_enough);
            drop(kill);
        });
        assert_eq!(vault.wait(), None, "a signal ended it");
        vault.verify().with_code(0);
        // The socket that it left behind does not keep the operator out.
        assert!(vault.data().join("operator.sock").exists());
        vault.operator(&["tenant", "list", "--json"]).json();
        vault.restart();
        check(&vault, &told.lock().unwrap());
    }
    let told = told.lock().unwrap();
    assert!(told.stored.len() > rounds && told.deleted.len() > rounds);
    vault.stop_and_verify();
}

/// Creates tokens and deletes every third, until the server is gone.
fn load(vault: &Vault, told: &Mutex<Told>, answers: &AtomicUsize, name: &str) {
    for at in 0.. {
        let value = format!("{name}-{at}");
        let body = json!({"type": "token", "data": value, "metadata": {"at": value}});
        let Ok(made) = vault.try_send(&post("/tokens").key(&vault.keys.private).json(body)) else {
            return;
        };
        answers.fetch_add(1, Ordering::Relaxed);
        let id = made.with_status(201).id();
        if at % 3 != 2 {
            told.lock().unwrap().stored.insert(id, value);
            continue;
        }
        let request = delete(&format!("/tokens/{id}")).key(&vault.keys.private);
        match vault.try_send(&request) {
            Ok(answer) => {
                answer.with_status(204);
                told.lock().unwrap().deleted.push(id);
            }
            Err(_) => told.lock().unwrap().asked.push(id),
        }
    }
}

fn check(vault: &Vault, told: &Told) {
    let read = |id: &str| vault.read(id);
    for (id, value) in &told.stored {
        assert_eq!(read(id).with_status(200).json["data"], json!(value));
    }
    for id in &told.deleted {
        read(id).problem(404);
    }
    for id in &told.asked {
        assert!([200, 404].contains(&read(id).status));
    }
}
