//! Watching the server: probes, metrics, `status`, and that every answer can be traced.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;

use serde_json::{Value, json};

use crate::harness::{
    PATIENCE, Request, Vault, get, needs_one_process, on_postgres, post, run, wait_for, wait_until,
};

/// The body and the head of a GET without TLS.
pub(crate) fn plain_get(mut stream: impl Read + Write, path: &str) -> (String, String) {
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (String::from(head), String::from(body))
}

pub(crate) fn on_socket(vault: &Vault, path: &str) -> (String, String) {
    let stream = UnixStream::connect(vault.data().join("metrics.sock")).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    plain_get(stream, path)
}

/// The value of a series, 0 when it is not there.
pub(crate) fn metric(vault: &Vault, series: &str) -> u64 {
    let (_, page) = on_socket(vault, "/metrics");
    let line = page.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.map_or(0, |value| value.parse().unwrap())
}

#[test]
fn the_probes_need_no_key_and_count_for_the_address() {
    needs_one_process!("each process counts its own requests");
    let vault = Vault::start_with(&["--rate-limits", "on", "--stop-clock"]);
    let alive = vault.send(&get("/healthz")).with_status(200);
    assert_eq!(alive.json, json!({"status": "alive"}));
    assert!(alive.header("bt-trace-id").is_some());
    let ready = vault.send(&get("/readyz/")).with_status(200);
    assert_eq!(ready.json, json!({"status": "ready"}));
    let wrong = vault.send(&post("/readyz")).problem(405);
    assert_eq!(wrong.header("allow"), Some("GET, HEAD"));
    for (query, status) in [("for=reads", 200), ("for=writes", 200), ("other=1", 200)] {
        vault.send(&get(&format!("/readyz?{query}"))).with_status(status);
    }
    for query in ["for=", "for=read", "for=reads&for=reads", "for=%ff"] {
        vault.send(&get(&format!("/readyz?{query}"))).problem(400);
    }
    for path in ["/metrics", "/status", "/healthz/x"] {
        vault.send(&get(path)).problem(404);
    }
    // The thirteen requests above count too; the clock stands still, so no request comes back.
    let mut connection = vault.connect();
    let bytes = get("/healthz").bytes("localhost");
    let mut answers = (0..2_000).step_by(100).flat_map(|_| {
        connection.send(&bytes.repeat(100)).unwrap();
        // After some tens of refusals the connection is closed.
        (0..100).map_while(|_| connection.receive().ok()).collect::<Vec<_>>()
    });
    let admitted = answers.by_ref().take_while(|answer| answer.status == 200).count();
    assert_eq!(admitted, 2_000 - 13);
    answers.next().expect("a second refusal").problem(429);
    assert!(metric(&vault, "strongroom_rate_limited_total{row=\"address\"}") > 0);
}

#[test]
fn a_head_request_is_a_probe_too() {
    let vault = Vault::start();
    let mut connection = vault.connect();
    connection.send(b"HEAD /readyz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let text = String::from_utf8(connection.rest()).unwrap();
    assert!(text.starts_with("HTTP/1.1 200 ") && text.ends_with("\r\n\r\n"), "{text}");
}

/// Checks a page by the rules of the text format, and returns the names of its families.
#[track_caller]
fn check_format(page: &str) -> BTreeSet<String> {
    let mut families = BTreeSet::new();
    let mut lines = page.lines().peekable();
    while let Some(help) = lines.next() {
        let (name, words) = help.strip_prefix("# HELP ").unwrap().split_once(' ').unwrap();
        assert!(words.ends_with('.'), "{help}");
        assert!(families.insert(String::from(name)), "{name} is there twice");
        let kind = lines.next().unwrap().strip_prefix(&format!("# TYPE {name} ")).unwrap();
        assert_eq!(kind == "counter", name.ends_with("_total"), "{name}");
        while let Some(line) = lines.next_if(|line| !line.starts_with('#')) {
            let (series, value) = line.rsplit_once(' ').unwrap();
            value.parse::<f64>().unwrap();
            let rest = series.strip_prefix(name).unwrap_or_else(|| panic!("{line} under {name}"));
            let (suffix, labels) = rest.split_once('{').unwrap_or((rest, "}"));
            let suffixes: &[&str] =
                if kind == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
            assert!(suffixes.contains(&suffix), "{line}");
            let known = |c: char| c.is_ascii_alphanumeric() || "_=\",.+-".contains(c);
            assert!(labels.strip_suffix('}').unwrap().chars().all(known), "{line}");
        }
    }
    families
}

#[test]
fn what_happens_is_counted_and_the_readme_names_every_metric() {
    needs_one_process!("each process counts its own requests");
    let vault = Vault::start();
    let key = vault.keys.private.clone();
    let id = vault.token(json!({"type": "token", "data": "x"}));
    vault.get(&format!("/tokens/{id}"), &key).with_status(200);
    vault.get("/tokens/none", &key).with_status(404);
    vault.get("/no/such/path", &key).with_status(404);
    for replayed in [None, Some("true")] {
        let body = json!({"type": "token", "data": "y"});
        let create = post("/tokens").key(&key).once("k").json(body);
        let answer = vault.send(&create).with_status(201);
        assert_eq!(answer.header("bt-idempotent-replayed"), replayed);
    }
    let (head, page) = on_socket(&vault, "/metrics");
    assert!(head.contains("content-type: text/plain; version=0.0.4"), "{head}");
    for (series, value) in [
        ("requests_total{route=\"CreateToken\",status=\"201\"}", 3),
        ("requests_total{route=\"ReadToken\",status=\"200\"}", 1),
        ("requests_total{route=\"ReadToken\",status=\"404\"}", 1),
        ("requests_total{route=\"none\",status=\"404\"}", 1),
        ("request_duration_seconds_count{route=\"CreateToken\"}", 3),
        ("idempotent_replays_total", 1),
        ("tokens", 2),
        ("tenants", 1),
        ("read_only", 0),
        ("ready", 1),
    ] {
        let line = format!("\nstrongroom_{series} {value}\n");
        assert!(page.contains(&line), "{line} in {page}");
    }
    let families = check_format(&page);
    let guide = include_str!("../../packaging/strongroom-guide.7");
    let named: BTreeSet<_> = guide
        .lines()
        .filter_map(|line| line.strip_prefix(".B ")?.split('{').next())
        .filter(|name| name.starts_with("strongroom_") || name.starts_with("process_"))
        // A vault that serves has none of them.
        .filter(|name| !crate::standby::METRICS.contains(name))
        .map(String::from)
        .collect();
    assert_eq!(named, families);
}

#[test]
fn the_socket_is_for_the_servers_user_alone_and_serves_nothing_else() {
    let mut vault = Vault::start();
    let socket = vault.data().join("metrics.sock");
    assert_eq!(socket.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(on_socket(&vault, "/tokens").0.starts_with("HTTP/1.1 404 "));
    assert!(on_socket(&vault, "/healthz").0.starts_with("HTTP/1.1 200 "));
    assert!(on_socket(&vault, "/readyz").0.starts_with("HTTP/1.1 200 "));
    assert_eq!(vault.stop(), Some(0));
    assert!(!socket.exists());
}

#[test]
fn status_shows_the_server_to_a_person_and_to_a_program() {
    let mut vault = Vault::start();
    vault.token(json!({"type": "token", "data": "x"}));
    let shown = vault.operator(&["status"]).with_code(0).stdout;
    let version = env!("CARGO_PKG_VERSION");
    assert!(shown.starts_with(&format!("Strongroom {version}: ready\n")), "{shown}");
    for words in ["certificate", "listening on", "tokens", "p99", "commit p50", "sweep lag", "free"]
    {
        assert!(shown.contains(words), "{words} in {shown}");
    }
    assert!(shown.contains("backups: There is no schedule"), "{shown}");
    assert!(shown.contains("no backup is known."), "{shown}");
    for words in ["memory", "open files", "threads"] {
        assert!(shown.contains(words), "{words} in {shown}");
    }
    let told = vault.operator(&["status", "--json"]).json();
    assert_eq!(told["backups"]["scheduled"], false);
    let backup = vault.directory().join("by-command.backup");
    vault.operator(&["backup", backup.to_str().unwrap()]).with_code(0);
    let after = vault.operator(&["status"]).with_code(0).stdout;
    assert!(after.contains("; the newest backup is "), "{after}");
    assert!(metric(&vault, "process_resident_memory_bytes") > 1 << 20);
    assert!(metric(&vault, "process_open_fds") > 5);
    assert_eq!(metric(&vault, "strongroom_backup_scheduled"), 0);
    assert_eq!((&told["status"], &told["vault"]["tokens"]), (&json!("ready"), &json!(1)));
    assert_eq!(told["process"]["listening_on"], json!([vault.address.to_string()]));
    let data = vault.data();
    run(&["status", "--data", data.to_str().unwrap()]).with_code(0);
    run(&["status"]).with_code(64);
    assert_eq!(vault.stop(), Some(0));
    let ended = vault.operator(&["status"]).with_code(69);
    assert!(ended.stdout.is_empty() && ended.stderr.contains("no server is running"));
}

#[test]
fn reasons_are_told_to_the_operator_and_to_management_keys_alone() {
    let vault = Vault::start();
    let ok = "ok";
    let mut checks = json!({
        "status": "ready",
        "checks": {
            "audit": ok, "certificate": ok, "disk": ok, "files": ok, "next_start": ok,
            "process": ok, "records": ok, "shares": ok, "store": ok, "sweeps": ok,
        },
    });
    if on_postgres() {
        checks["checks"]["processes"] = json!(ok);
        // The server of the tests has it off.
        checks["checks"]["durability"] =
            json!("The database has fsync = off: a loss of power may lose answered writes.");
    }
    assert_eq!(vault.get("/readyz", &vault.keys.management).with_status(200).json, checks);
    assert_eq!(serde_json::from_str::<Value>(&on_socket(&vault, "/readyz").1).unwrap(), checks);
    for key in ["", &vault.keys.private, &vault.keys.public, "key_test_self_mgt_wrong", "x y"] {
        let told = vault.send(&get("/readyz").key(key)).with_status(200).json;
        assert_eq!(told, json!({"status": "ready"}), "{key}");
    }
}

#[test]
fn a_server_whose_certificate_has_expired_is_not_ready() {
    let vault = Vault::start();
    vault.send(&get("/readyz")).with_status(200);
    vault.advance(3 * 366 * 24 * 3_600);
    let told = vault.send(&get("/readyz")).with_status(503).json;
    assert_eq!(told, json!({"status": "not_ready"}));
    let checks = vault.get("/readyz", &vault.keys.management).with_status(503).json;
    assert_eq!(checks["status"], "not_ready");
    assert_eq!(checks["checks"]["certificate"], "The certificate has expired.");
    let (_, page) = on_socket(&vault, "/readyz");
    assert!(page.contains("The certificate has expired."), "{page}");
    vault.send(&get("/healthz")).with_status(200);
    let ended = vault.operator(&["status"]).with_code(69);
    assert!(ended.stdout.contains("NOT READY"), "{}", ended.stdout);
    assert!(ended.stderr.contains("certificate: The certificate has expired."), "{}", ended.stderr);
    assert_eq!(metric(&vault, "strongroom_check{check=\"certificate\"}"), 0);
    assert_eq!(metric(&vault, "strongroom_ready"), 0);
}

#[test]
fn the_operators_listener_serves_what_the_socket_does() {
    let mut vault = Vault::start();
    vault.serve("operator.listen = \"127.0.0.1:0\"");
    let address = wait_for("the address of the operator's listener in the log", || {
        let log = vault.log();
        let events = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut events = events.filter(|event| event["event"] == "operator_listening");
        let address = String::from(events.next()?["address"].as_str().unwrap());
        Some(address.parse::<SocketAddr>().unwrap())
    });
    let ask = |path: &str| {
        let stream = TcpStream::connect_timeout(&address, PATIENCE).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        plain_get(stream, path)
    };
    check_format(&ask("/metrics").1);
    for (path, status) in
        [("/metrics", 200), ("/healthz", 200), ("/readyz", 200), ("/status", 200), ("/tokens", 404)]
    {
        assert!(ask(path).0.starts_with(&format!("HTTP/1.1 {status} ")), "{path}");
    }
    assert_eq!(vault.stop(), Some(0));
    vault.set("operator.listen = \"0.0.0.0:9464\"");
    let ended = vault.operator(&["check"]).with_code(78);
    assert!(ended.stderr.contains("operator.listen"), "{}", ended.stderr);
}

#[test]
fn every_answer_has_a_trace_id_also_to_what_is_no_request() {
    let mut vault = Vault::start();
    vault.serve("");
    let long = "x".repeat(70_000);
    for (bytes, status) in [
        (String::from("nonsense\r\n\r\n"), 400),
        (format!("GET /{long} HTTP/1.1\r\n\r\n"), 414),
        (format!("GET / HTTP/1.1\r\nx: {long}\r\n\r\n"), 431),
        (format!("GET / HTTP/1.1\r\nhost: x\r\n{}\r\n", "a: b\r\n".repeat(80)), 431),
    ] {
        let answer = vault.raw(bytes.as_bytes());
        // The parser calls a line that fills its buffer a head that is too large.
        assert!(answer.status == status || (answer.status, status) == (431, 414), "{status}");
        let trace = String::from(answer.header("bt-trace-id").expect("a trace id"));
        assert_eq!(answer.member("trace_id"), trace);
        wait_until("the trace id is in the log", || vault.log().contains(&trace));
    }
    let pages = ["/pages/method.html", "/pages/challenge.html"].map(get);
    for request in pages.into_iter().chain([Request::new("OPTIONS", "/tokens")]) {
        let answer = vault.send(&request.header("BT-TRACE-ID", "mine"));
        assert_eq!(answer.header("bt-trace-id"), Some("mine"));
    }
    assert_eq!(metric(&vault, "strongroom_refusals_total{reason=\"unreadable_request\"}"), 1);
}
