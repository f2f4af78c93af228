//! Two processes over one PostgreSQL database: each answers everything, and whatever happens to one
//! of them or to the database, no answered write is lost and none is made twice.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{
    Answer, Cluster, Cutter, Database, Directory, Moment, NUMBER, Request, SetOnDrop, Vault,
    only_rule, post, thorough, wait_for, wait_for_clients, wait_until, with_other_program,
};

const CLIENTS: usize = 4;
/// The time within which a deleted key is refused everywhere.
const KEY_DELAY: Duration = Duration::from_secs(1);

fn first_on(cluster: &Arc<Cluster>) -> Vault {
    let database = Arc::new(Database::new(cluster));
    Vault::start_over(Directory::new(), &[], Some(database))
}

fn url(vault: &Vault) -> String {
    vault.database().unwrap().url()
}

fn status(vault: &Vault) -> Value {
    let ended = vault.operator(&["status", "--json"]);
    serde_json::from_str(&ended.stdout).unwrap_or_default()
}

fn leads(vault: &Vault) -> bool {
    status(vault)["processes"]["leads"] == true
}

/// Waits until one of the two leads and both know each other. Returns the leader and the other one.
fn settled<'a>(one: &'a mut Vault, two: &'a mut Vault) -> (&'a mut Vault, &'a mut Vault) {
    let live = |vault: &Vault| status(vault)["processes"]["live"].as_u64() == Some(2);
    wait_until("two processes that know each other", || live(one) && live(two));
    let first = wait_for("a leader", || match (leads(one), leads(two)) {
        (true, false) => Some(true),
        (false, true) => Some(false),
        _ => None,
    });
    if first { (one, two) } else { (two, one) }
}

/// The values that clients stored, with the ids that they were answered.
type Stored = Mutex<BTreeMap<String, String>>;

fn create(value: &str, key: &str) -> Request {
    let body = json!({"type": "token", "data": value, "metadata": {"value": value}});
    post("/tokens").key(key).once(value).json(body)
}

/// Sends it to one process and then to the other, until one answers with a result.
fn insist(vaults: &[&RwLock<Vault>], mut at: usize, request: &Request) -> Answer {
    wait_for("an answer of one of the processes", || {
        at += 1;
        let vault = &vaults[at % vaults.len()];
        // A process that is being restarted is not asked.
        let vault = vault.try_read().ok()?;
        let answer = vault.try_send(request).ok()?;
        assert!([200, 201, 409, 503].contains(&answer.status), "{}", answer.text());
        [200, 201].contains(&answer.status).then_some(answer)
    })
}

/// Stores values until the flag is set. A value whose outcome is unknown is sent again, with the same
/// idempotency key, to the other process.
fn load(
    vaults: &[&RwLock<Vault>],
    key: &str,
    name: usize,
    stored: &Stored,
    answers: &AtomicUsize,
    stop: &AtomicBool,
) {
    for at in 0.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let value = format!("{name}-{at}");
        let id = insist(vaults, name + at, &create(&value, key)).id();
        stored.lock().unwrap().insert(value, id);
        answers.fetch_add(1, Ordering::Relaxed);
    }
}

/// Checks on this process that every value is there once, under the id that was answered.
fn check(vault: &Vault, stored: &Stored) {
    let stored = stored.lock().unwrap();
    let mut found = BTreeMap::new();
    let mut path = String::from("/v2/tokens?size=100");
    loop {
        let page = vault.get(&path, &vault.keys.private).with_status(200);
        for token in page.json["data"].as_array().unwrap() {
            let text = |member: &Value| String::from(member.as_str().unwrap());
            let before = found.insert(text(&token["metadata"]["value"]), text(&token["id"]));
            assert_eq!(before, None, "two tokens have one value");
        }
        let Some(next) = page.json["pagination"]["next"].as_str() else { break };
        path = format!("/v2/tokens?size=100&start={next}");
    }
    assert_eq!(found, *stored);
}

#[test]
fn two_processes_answer_everything_and_status_lists_both() {
    let Some(cluster) = Cluster::shared() else { return };
    let mut one = first_on(&cluster);
    let mut two = one.beside(&url(&one));
    let id = one.token(json!({"type": "token", "data": "from one"}));
    let path = format!("/tokens/{id}");
    let read = two.get(&path, &two.keys.private).with_status(200);
    assert_eq!(read.json["data"], "from one");
    two.delete(&path, &two.keys.private).with_status(204);
    one.get(&path, &one.keys.private).problem(404);
    let (leader, other) = settled(&mut one, &mut two);
    for vault in [&*leader, &*other] {
        let status = status(vault);
        let all = status["processes"]["all"].as_array().unwrap();
        let ids: BTreeSet<_> = all.iter().map(|it| it["id"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), 2, "{status}");
        assert_eq!(all.iter().filter(|it| it["leader"] == true).count(), 1, "{status}");
        assert_eq!(all.iter().filter(|it| it["this"] == true).count(), 1, "{status}");
        assert_eq!(status["database"]["connects_failed"], 0, "{status}");
    }
    let facts = leader.operator(&["report", "--json"]).json();
    let place = &facts["about"]["Place of the rows"];
    assert_eq!(place, "a PostgreSQL database; 2 live servers share it");
    // The work of the leader goes on when it stops.
    assert_eq!(leader.stop(), Some(0));
    wait_until("the other process leads", || leads(other));
    let id = other.token(json!({"type": "token", "data": "later"}));
    other.read(&id).with_status(200);
    other.stop_and_verify();
}

#[test]
fn a_deleted_key_is_refused_by_the_other_process_after_a_second() {
    let Some(cluster) = Cluster::shared() else { return };
    let one = first_on(&cluster);
    let two = one.beside(&url(&one));
    let rule = only_rule("/", "reveal", &["token:read"]);
    let id = one.token(json!({"type": "token", "data": "value"}));
    for _ in 0..3 {
        let made = one.application("private", &[], &rule);
        let (application, key) = (made.id(), made.member("key"));
        let path = format!("/tokens/{id}");
        two.get(&path, &key).with_status(200);
        one.delete(&format!("/applications/{application}"), &one.keys.management).with_status(204);
        let deleted = Instant::now();
        one.get(&path, &key).problem(401);
        wait_until("the other process refuses the key", || {
            let sent = deleted.elapsed();
            let answer = two.get(&path, &key);
            assert!(answer.status == 401 || sent < KEY_DELAY, "read {sent:?} after the deletion");
            answer.status == 401
        });
    }
}

#[test]
fn one_idempotency_key_and_one_fingerprint_make_one_token_on_both_processes() {
    let Some(cluster) = Cluster::shared() else { return };
    let one = first_on(&cluster);
    let two = one.beside(&url(&one));
    for at in 0..thorough(5, 20) {
        let value = format!("value-{at}");
        let plain = create(&value, &one.keys.private);
        let body = json!({
            "type": "token", "data": format!("same {at}"), "deduplicate_token": true,
            "fingerprint_expression": "{{ data }}",
        });
        let same = post("/tokens").key(&one.keys.private).json(body);
        for request in [plain, same] {
            let answers: Vec<_> = thread::scope(|scope| {
                let send = |vault: &'_ Vault| vault.try_send(&request).unwrap();
                let clients: Vec<_> = (0..CLIENTS)
                    .map(|client| if client % 2 == 0 { &one } else { &two })
                    .map(|vault| scope.spawn(move || send(vault)))
                    .collect();
                clients.into_iter().map(|client| client.join().unwrap()).collect()
            });
            let made = answers.iter().filter(|it| it.status != 409);
            let ids: BTreeSet<_> = made.map(|it| it.clone().id()).collect();
            assert_eq!(ids.len(), 1, "{answers:?}");
            for vault in [&one, &two] {
                assert!(ids.contains(&vault.send(&request).id()));
            }
        }
    }
}

/// Stores a token, and returns when there is a token with the id in its arguments.
const WAITS: &str = "module.exports = async ({ args, bt }) => {
    const made = await bt.tokens.create({ type: 'token', data: 'charge' });
    for (;;) {
        try { await bt.tokens.retrieve(args); return { raw: made.id }; }
        catch { await new Promise((next) => setTimeout(next, 300)); }
    }
};";

#[test]
fn one_idempotency_key_runs_a_program_once_on_both_processes() {
    let Some(cluster) = Cluster::shared() else { return };
    let one = first_on(&cluster);
    let two = one.beside(&url(&one));
    let (all, key) = (json!([]), &one.keys.private);
    let program = one.application("private", &["token:create", "token:read"], &all).id();
    let create = one.key_with("management", &["reactor:create"], &all);
    let body = json!({"name": "r", "code": WAITS, "application": {"id": program}});
    let reactor = one.post("/reactors", &create, body).with_status(201).id();
    let path = format!("/reactors/{reactor}/react");
    let request = post(&path).key(key).once("charge").json(json!({"args": "paid"}));
    let tokens = |vault: &Vault| {
        let page = vault.get("/v2/tokens", key).with_status(200);
        page.json["data"].as_array().unwrap().len()
    };
    let first = thread::scope(|scope| {
        let first = scope.spawn(|| one.try_send(&request).unwrap());
        wait_until("the effect of the program", || tokens(&two) == 1);
        for vault in [&two, &one, &two] {
            let refused = vault.send(&request).problem(409);
            assert_eq!(refused.header("retry-after"), Some("1"));
        }
        two.token(json!({"type": "token", "data": "x", "id": "paid"}));
        first.join().unwrap().with_status(200)
    });
    assert_eq!(first.header("bt-idempotent-replayed"), None);
    for vault in [&two, &one] {
        let again = vault.send(&request).with_status(200);
        assert_eq!(again.header("bt-idempotent-replayed"), Some("true"));
        assert_eq!(again.text(), first.text());
    }
    assert_eq!(tokens(&one), 2);
    one.operator(&["audit", "verify"]).with_code(0);
}

/// Processes over one new database of this cluster.
fn processes<const COUNT: usize>(cluster: &Arc<Cluster>) -> [Vault; COUNT] {
    let first = first_on(cluster);
    let url = url(&first);
    let mut all = vec![first];
    while all.len() < COUNT {
        all.push(all[0].beside(&url));
    }
    all.try_into().unwrap_or_else(|_| panic!("there are as many as were asked for"))
}

/// Runs processes under load while `disturb` does its work, and then checks all.
fn under_load<const COUNT: usize>(
    vaults: [Vault; COUNT],
    disturb: impl FnOnce([&RwLock<Vault>; COUNT], &dyn Fn(usize)),
) {
    let key = vaults[0].keys.private.clone();
    let vaults = vaults.map(RwLock::new);
    let (stored, answers, stop) = (Stored::default(), AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let all = vaults.each_ref();
        let clients: Vec<_> = (0..CLIENTS.max(2 * COUNT))
            .map(|name| {
                let (stored, answers, stop, key) = (&stored, &answers, &stop, &key);
                scope.spawn(move || load(&all, key, name, stored, answers, stop))
            })
            .collect();
        let _stop = SetOnDrop(&stop);
        let await_answers = |count: usize| {
            let enough = answers.load(Ordering::Relaxed) + count;
            wait_for_clients(&format!("{count} further answers"), &clients, || {
                answers.load(Ordering::Relaxed) >= enough
            });
        };
        await_answers(20);
        disturb(all, &await_answers);
        await_answers(20);
    });
    let mut vaults = vaults.map(|vault| vault.into_inner().unwrap());
    for vault in &vaults {
        check(vault, &stored);
    }
    assert!(stored.lock().unwrap().len() > 40);
    vaults[0].operator(&["audit", "verify"]).with_code(0);
    assert_eq!(vaults.each_mut().map(Vault::stop), [Some(0); COUNT]);
    vaults[0].verify().with_code(0);
}

fn live(vault: &RwLock<Vault>) -> u64 {
    status(&vault.read().unwrap())["processes"]["live"].as_u64().unwrap_or(0)
}

#[test]
fn processes_are_replaced_by_another_version_one_by_one_under_load() {
    let Some(cluster) = Cluster::shared() else { return };
    let both: [Vault; 2] = with_other_program(|| processes(&cluster));
    under_load(both, |vaults, await_answers| {
        let restart = |which: usize| vaults[which].write().unwrap().stop_and_restart();
        // Both forward, and one back and forward again.
        for (which, is_back) in [(0, false), (1, false), (0, true), (0, false)] {
            if is_back {
                with_other_program(|| restart(which));
            } else {
                restart(which);
            }
            wait_until("both processes know each other", || {
                vaults.iter().all(|vault| live(vault) == 2)
            });
            await_answers(10);
        }
    });
}

#[test]
fn a_kill_of_any_of_four_processes_under_load_loses_nothing_and_makes_nothing_twice() {
    let Some(cluster) = Cluster::shared() else { return };
    under_load(processes::<4>(&cluster), |vaults, await_answers| {
        for round in 0..thorough(2, 8) {
            // At last two at once.
            let [mut one, mut two] = [0, 1].map(|it| vaults[(round + it) % 4].write().unwrap());
            one.kill();
            if round % 2 == 1 {
                two.kill();
            }
            // The other processes go on.
            await_answers(10);
            one.restart();
            if round % 2 == 1 {
                two.restart();
            }
            drop((one, two));
            await_answers(10);
        }
    });
}

#[test]
fn a_process_that_is_paused_under_load_until_it_was_counted_out_writes_nothing_of_its_own() {
    let Some(cluster) = Cluster::shared() else { return };
    under_load(processes::<4>(&cluster), |vaults, await_answers| {
        for round in 0..thorough(1, 3) {
            let (paused, other) = (vaults[round], vaults[round + 1]);
            wait_until("four processes that know each other", || live(other) == 4);
            let held = paused.read().unwrap();
            thread::scope(|scope| {
                held.signal("STOP");
                // Clients ask no process that someone waits to change.
                let waiting = scope.spawn(|| drop(paused.write().unwrap()));
                wait_until("it is counted out", || live(other) == 3);
                await_answers(10);
                held.signal("CONT");
                drop(held);
                waiting.join().unwrap();
            });
            await_answers(10);
        }
    });
}

#[test]
fn a_restart_of_the_database_under_load_loses_nothing_and_needs_no_restart_of_a_process() {
    let Some(cluster) = Cluster::start().map(Arc::new) else { return };
    under_load(processes::<4>(&cluster), |vaults, await_answers| {
        for ends in [Cluster::crash, Cluster::stop] {
            ends(&cluster);
            for vault in vaults {
                let ready = || vault.read().unwrap().get("/readyz", "").status;
                wait_until("a process that says that it is not ready", || ready() == 503);
            }
            cluster.run();
            await_answers(20);
        }
    });
}

#[test]
fn a_connection_that_is_cut_in_the_middle_of_a_commit_costs_no_answered_write() {
    let Some(cluster) = Cluster::shared() else { return };
    let one = first_on(&cluster);
    let cutter = Cutter::before(cluster.directory());
    let way = one.database().unwrap().url_at(cutter.directory());
    let two = one.beside(&way);
    under_load([one, two], |_, await_answers| {
        cutter.cut(vec![Moment::After, Moment::Before, Moment::After, Moment::Before]);
        wait_until("four cuts", || cutter.made() == 4);
        await_answers(20);
    });
}

#[test]
fn a_paused_leader_that_wakes_up_late_is_refused_and_joins_again() {
    let Some(cluster) = Cluster::shared() else { return };
    let mut one = first_on(&cluster);
    let mut two = one.beside(&url(&one));
    let (leader, other) = settled(&mut one, &mut two);
    leader.signal("STOP");
    wait_until("the other process leads", || leads(other));
    let id = other.token(json!({"type": "token", "data": "while it slept"}));
    leader.signal("CONT");
    wait_until("the old leader is led", || {
        let status = status(leader);
        status["processes"]["leads"] == false && status["processes"]["live"] == 2
    });
    assert!(leads(other));
    let path = format!("/tokens/{id}");
    let read = wait_for("a read of the old leader", || {
        Some(leader.get(&path, &leader.keys.private)).filter(|it| it.status == 200)
    });
    assert_eq!(read.json["data"], "while it slept");
    let later = wait_for("a write of the old leader", || {
        let body = json!({"type": "token", "data": "later"});
        let request = post("/tokens").key(&leader.keys.private).json(body);
        Some(leader.send(&request)).filter(|it| it.status == 201)
    });
    other.read(&later.id()).with_status(200);
    assert_eq!((leader.stop(), other.stop()), (Some(0), Some(0)));
    other.verify().with_code(0);
}

/// A card, an alias and a deleted token, for a comparison of two vaults.
fn fill(vault: &Vault) -> Vec<(String, Value)> {
    let card = json!({"type": "card", "data": {"number": NUMBER, "expiration_month": 12}});
    let ids = [card, json!({"id": "an-alias", "type": "token", "data": "value"})];
    let ids = ids.map(|body| vault.token(body));
    let gone = vault.token(json!({"type": "token", "data": "gone"}));
    vault.delete(&format!("/tokens/{gone}"), &vault.keys.private).with_status(204);
    let read = |id: &String| vault.read(id).json;
    ids.iter().map(|id| (id.clone(), read(id))).collect()
}

fn check_moved(vault: &Vault, tokens: &[(String, Value)]) {
    for (id, token) in tokens {
        let read = vault.read(id).with_status(200);
        assert_eq!(&read.json, token);
    }
    vault.operator(&["audit", "verify"]).with_code(0);
    // The fingerprint finds the same card again.
    let data = json!({"number": NUMBER, "expiration_month": 12});
    let card = json!({"type": "card", "deduplicate_token": true, "data": data});
    let again = vault.create(card);
    assert_eq!(again.id(), tokens[0].0);
}

fn backup(vault: &Vault, file: &Path) {
    vault.operator(&["backup", file.to_str().unwrap()]).with_code(0);
}

#[test]
fn a_backup_moves_a_vault_from_a_database_to_a_file_and_back() {
    let Some(cluster) = Cluster::shared() else { return };
    let mut first = first_on(&cluster);
    let tokens = fill(&first);
    let file = first.directory().join("one.backup");
    backup(&first, &file);
    let mut local = first.restored(&file, None);
    assert_eq!(first.stop(), Some(0));
    check_moved(&local, &tokens);
    let file = local.directory().join("two.backup");
    backup(&local, &file);
    let mut back = local.restored(&file, Some(Arc::new(Database::new(&cluster))));
    check_moved(&back, &tokens);
    for vault in [&mut local, &mut back] {
        vault.stop_and_verify();
    }
    // A database with a vault is not overwritten.
    let used = first.database().unwrap();
    let config = first.config();
    let restore = ["restore", file.to_str().unwrap(), "--config", config.to_str().unwrap()];
    let refused = crate::harness::run(&restore).with_code(65).stderr;
    assert!(refused.contains("the database has a vault already"), "{refused}");
    assert!(used.ask("SELECT count(*) > 0 FROM strongroom_rows").contains('t'));
}
