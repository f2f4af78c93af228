//! Programs of one tenant beside the requests of another.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{SetOnDrop, Vault, needs_one_process, post, thorough, wait_until};
use crate::watch::on_socket;

/// Endless loops, memory, floods of lines, and timers.
const HOSTILE: [&str; 5] = [
    "for (;;);",
    "const a = []; for (;;) a.push({ a });",
    "for (;;) console.log('4 2 '.repeat(1000));",
    "const again = () => { setTimeout(again, 0); }; for (let at = 0; at < 1000; at++) again();
     return new Promise(() => {});",
    "for (;;) await fetch(applicationOptions.baseUrl + '/none').catch(() => null);",
];

/// The reads of a token in a second, by one client after the other.
fn reads_per_second(vault: &Vault, token: &str, lasting: Duration) -> f64 {
    let (begun, mut reads) = (Instant::now(), 0_u32);
    while begun.elapsed() < lasting {
        vault.read(token).with_status(200);
        reads += 1;
    }
    f64::from(reads) / begun.elapsed().as_secs_f64()
}

/// The calls of programs that have ended.
fn ended(vault: &Vault) -> f64 {
    let metrics = on_socket(vault, "/metrics").1;
    let counts = metrics.lines().filter(|line| line.starts_with("strongroom_programs_total"));
    counts.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}

/// Times vary on a busy machine, so this demands less than the ratio on a free one, which the load
/// benchmark measures.
#[test]
fn token_reads_go_on_beside_hostile_programs() {
    let vault = Vault::start();
    let other = vault.tenant("test");
    let token = vault.token(json!({"type": "token", "data": "x"}));
    let lasting = Duration::from_millis(thorough(300, 5_000));
    // A tenant has half of the workers, 64.
    let (callers, least) = thorough((5, 0.0), (70, 0.3));
    let reactors = HOSTILE.map(|code| {
        let code = format!("module.exports = async ({{ applicationOptions }}) => {{ {code} }};");
        let runtime = json!({"image": "node-bt", "timeout": 2, "logs": {"enabled": true}});
        let body = json!({"name": "r", "code": code, "runtime": runtime});
        vault.post("/reactors", &other.keys.management, body).with_status(201).id()
    });
    let before = reads_per_second(&vault, &token, lasting);
    let is_over = AtomicBool::new(false);
    let beside = thread::scope(|scope| {
        let _over = SetOnDrop(&is_over);
        for caller in 0..callers {
            let path = format!("/reactors/{}/react", reactors[caller % reactors.len()]);
            let (vault, key, is_over) = (&vault, &other.keys.private, &is_over);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let answer = vault.post(&path, key, json!({"args": 1}));
                    // 503 if no worker was free.
                    assert!([500, 503].contains(&answer.status), "{}", answer.text());
                }
            });
        }
        wait_until("the end of hostile programs", || ended(&vault) >= 1.0);
        reads_per_second(&vault, &token, lasting)
    });
    // The smaller one: other work of the machine may have begun meanwhile.
    let alone = before.min(reads_per_second(&vault, &token, lasting));
    let ratio = beside / alone;
    println!("{alone:.0} reads a second alone, {beside:.0} beside programs: {ratio:.2}");
    assert!(ratio >= least, "{ratio:.2} of {alone:.0} reads a second");
}

/// A small request can name a large value many times.
#[test]
fn filled_arguments_of_one_tenant_leave_memory_for_the_calls_of_another() {
    needs_one_process!("each process has its own memory for arguments");
    let vault = Vault::start();
    let other = vault.tenant("test");
    let reactor = |key: &str, code: &str| {
        vault.post("/reactors", key, json!({"name": "r", "code": code})).with_status(201).id()
    };
    let slow =
        "module.exports = () => new Promise((end) => setTimeout(() => end({raw: 1}), 8000));";
    let slow = format!("/reactors/{}/react", reactor(&other.keys.management, slow));
    let quick = "module.exports = () => ({raw: 2});";
    let quick = format!("/reactors/{}/react", reactor(&vault.keys.management, quick));
    let large = json!({"type": "token", "data": "x".repeat(60_000)});
    let large = vault.post("/tokens", &other.keys.private, large).with_status(201).id();
    let args = json!({"args": vec![format!("{{{{ {large} }}}}"); 16]});
    let call = || vault.post(&slow, &other.keys.private, args.clone()).status;
    let statuses = thread::scope(|scope| {
        // Half of the memory of arguments is enough for 46.
        let calls: Vec<_> = (0..64).map(|_| scope.spawn(call)).collect();
        wait_until("a call of the other tenant", || {
            let answer = vault.post(&quick, &vault.keys.private, json!({"args": 1}));
            answer.status == 200
        });
        calls.into_iter().map(|call| call.join().unwrap()).collect::<Vec<_>>()
    });
    let count = |status| statuses.iter().filter(|it| **it == status).count();
    assert!(count(200) > 0 && count(503) >= 64 - 46, "{statuses:?}");
    assert_eq!(count(200) + count(503), 64, "{statuses:?}");
    assert_eq!(call(), 200, "the memory is free again");
}

/// A stranger who calls a proxy without a key gets no share of callers with a secret one, also not by
/// a program that calls another.
#[test]
fn a_program_that_works_for_a_stranger_takes_the_places_of_strangers() {
    let vault = Vault::start();
    let slow =
        "module.exports = () => new Promise((end) => setTimeout(() => end({raw: 1}), 6000));";
    let reactor = json!({"name": "r", "code": slow});
    let slow = vault.post("/reactors", &vault.keys.management, reactor).with_status(201).id();
    let application = json!({"name": "a", "type": "private", "permissions": ["reactor:invoke"]});
    let application = vault.post("/applications", &vault.keys.management, application);
    let code = format!(
        "module.exports = async ({{ bt }}) => {{ await bt.reactors.react('{slow}', {{ args: {{}} }}); }};"
    );
    let proxy = json!({
        "name": "p", "destination_url": "https://psp.example/", "require_auth": false,
        "application": {"id": application.with_status(201).id()},
        "request_transforms": [{"type": "code", "code": code, "options": {"runtime": {"image": "node-bt", "timeout": 4}}}],
    });
    let proxy = vault.post("/proxies", &vault.keys.management, proxy).with_status(201);
    let path = format!("/proxy?bt-proxy-key={}", proxy.json["key"].as_str().unwrap());
    let running = || {
        let metrics = on_socket(&vault, "/metrics").1;
        let line = metrics.lines().find(|it| it.starts_with("strongroom_code_workers_running "));
        line.and_then(|line| line.rsplit(' ').next()?.parse::<usize>().ok()).unwrap_or_default()
    };
    let (mut most, ended) = (0, AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..72 {
            scope.spawn(|| {
                vault.send(&post(&path));
                ended.fetch_add(1, Ordering::Relaxed);
            });
        }
        wait_until("the first call to end", || {
            most = most.max(running());
            ended.load(Ordering::Relaxed) > 0
        });
    });
    // A tenant has 64 places, and those of its callers who have no secret key are 32.
    assert!((1..=32).contains(&most), "{most} programs ran for strangers");
}
