//! State that two processes over one PostgreSQL database share: the keys of a rotation, the keys of
//! card verification codes, and the rates of a limit.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::json;

use crate::harness::{Cluster, Database, Directory, SetOnDrop, Vault, get, wait_until};

fn pair() -> Option<(Vault, Vault)> {
    let database = Arc::new(Database::new(&Cluster::shared()?));
    let one = Vault::start_over(Directory::new(), &[], Some(database));
    let two = one.beside(&one.database().unwrap().url());
    Some((one, two))
}

#[test]
fn keys_rotate_under_the_writes_of_both_processes_and_no_value_is_lost() {
    let Some((mut one, mut two)) = pair() else { return };
    let (made, is_over) = (Mutex::new(Vec::new()), AtomicBool::new(false));
    thread::scope(|scope| {
        let _stop = SetOnDrop(&is_over);
        for (name, vault) in [("one", &one), ("two", &two)] {
            let (made, is_over) = (&made, &is_over);
            scope.spawn(move || {
                for at in 0.. {
                    if is_over.load(Ordering::Relaxed) {
                        return;
                    }
                    let value = format!("{name} {at}");
                    let id = vault.token(json!({"type": "token", "data": value}));
                    made.lock().unwrap().push((id, value));
                }
            });
        }
        wait_until("values of both", || made.lock().unwrap().len() > 50);
        one.operator(&["key", "rotate", "--tenant", &one.tenant_id]).with_code(0);
        let list = || two.operator(&["key", "list", "--json"]).json();
        wait_until("the rotation has ended", || list()["rotations"] == json!([]));
        let tenant = two.tenant_id.clone();
        let destroy = ["key", "destroy", "--tenant", &tenant, "--number", "1"];
        two.operator(&destroy).with_code(0);
        let before = made.lock().unwrap().len();
        wait_until("values after the old key", || made.lock().unwrap().len() > before + 20);
    });
    for (id, value) in made.into_inner().unwrap() {
        for vault in [&one, &two] {
            let read = vault.read(&id).with_status(200);
            assert_eq!(read.json["data"], json!(value));
        }
    }
    assert_eq!((one.stop(), two.stop()), (Some(0), Some(0)));
    two.verify().with_code(0);
}

#[test]
fn a_code_is_read_by_both_processes_and_outlives_the_one_that_took_it() {
    let Some((mut one, two)) = pair() else { return };
    let card = json!({"type": "card", "data": {"number": "4242424242424242",
        "expiration_month": 12, "expiration_year": 2040, "cvc": "987"}});
    let id = one.token(card);
    let code = |vault: &Vault| {
        let read = vault.read(&id).with_status(200);
        read.json["data"].get("cvc").cloned()
    };
    assert_eq!((code(&one), code(&two)), (Some(json!("987")), Some(json!("987"))));
    one.kill();
    assert_eq!(code(&two), Some(json!("987")));
    // It is sent to a process that joins before that one answers.
    one.restart();
    assert_eq!(code(&one), Some(json!("987")));
}

/// The requests of a new key that are admitted at once. A test tenant has 50 in ten seconds for each
/// key.
fn admitted(vault: &Vault) -> usize {
    let key = vault.key_with("private", &["token:create"], &json!([]));
    let request = get("/permissions").key(&key);
    (0..1_000).find(|_| vault.send(&request).status == 429).expect("there is a limit")
}

#[test]
fn rates_are_divided_by_the_number_of_processes_if_the_settings_say_so() {
    let Some((mut one, mut two)) = pair() else { return };
    for vault in [&mut one, &mut two] {
        vault.serve("engine.divide_rate_limits = true");
    }
    // A slow client gets more, since the time gives some back.
    let is_half = |vault: &Vault| (25..40).contains(&admitted(vault));
    wait_until("each has half of the rate", || is_half(&one) && is_half(&two));
    assert_eq!(two.stop(), Some(0));
    wait_until("the other one has the whole rate", || admitted(&one) >= 50);
}
