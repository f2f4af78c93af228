//! `audit follow`: every entry at least once, from a position that it printed, with gaps visible.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;

use rustls::{ServerConnection, StreamOwned};
use serde_json::{Value, json};

use crate::archive::text;
use crate::harness::{Authority, Ended, PATIENCE, Vault, json_lines, program, wait_until};
use crate::reverse_proxies::{find, replace};
use crate::watch::on_socket;

const RSYSLOG: &str = include_str!("../../packaging/rsyslog/strongroom-audit.conf");

fn follow(vault: &Vault, arguments: &[&str]) -> Ended {
    vault.operator(&[&["audit", "follow", "--once"], arguments].concat())
}

#[track_caller]
fn numbers(items: &[Value]) -> Vec<u64> {
    items.iter().map(|item| item["number"].as_u64().unwrap()).collect()
}

/// In each chain; the upper bits of a number name the chain.
#[track_caller]
pub(crate) fn assert_consecutive(items: &[Value]) {
    let mut next = std::collections::BTreeMap::new();
    for number in numbers(items) {
        let expected = next.insert(number >> 44, number + 1);
        assert_eq!(expected.unwrap_or(number), number, "{:?}", numbers(items));
    }
}

fn create(vault: &Vault) -> String {
    vault.token(json!({"type": "token", "data": "x"}))
}

#[test]
fn a_reader_that_goes_on_from_any_printed_position_misses_nothing() {
    let vault = Vault::start();
    for _ in 0..3 {
        let id = create(&vault);
        vault.get(&format!("/tokens/{id}"), &vault.keys.private).with_status(200);
    }
    let is_shown = || {
        let page = on_socket(&vault, "/metrics").1;
        page.lines().any(|it| it.starts_with("strongroom_audit_followed_age_seconds "))
    };
    assert!(!is_shown());
    let all = follow(&vault, &[]).json_lines();
    assert!(is_shown());
    assert_consecutive(&all);
    let last = all.last().unwrap();
    assert_eq!(
        (&last["operation"], &last["entity_type"]),
        (&json!("export"), &json!("audit_chain")),
        "the reading is an entry"
    );
    for item in all.iter().filter(|item| !item["position"].is_null()) {
        let after = item["position"].as_str().unwrap();
        let rest = follow(&vault, &["--after", after]).json_lines();
        assert_consecutive(&rest);
        let (at, rest) = (all.iter().position(|it| it == item).unwrap(), numbers(&rest));
        let missed = numbers(&all[at + 1..]);
        assert!(missed.iter().all(|it| rest.contains(it)), "after {at}: {rest:?}");
        assert!(rest.len() > missed.len(), "this reading is an entry, too");
    }
}

#[test]
fn the_position_is_kept_in_a_file_and_moves_with_the_chain() {
    let vault = Vault::start();
    create(&vault);
    let file = vault.directory().text("position");
    let kept = ["--position-file", &file];
    let mut all = follow(&vault, &kept).json_lines();
    create(&vault);
    let second = follow(&vault, &kept).json_lines();
    assert!(second.len() >= 2, "a create and the reading: {second:?}");
    all.extend(second);
    assert_consecutive(&all);
    assert!(!fs::exists(vault.directory().text("position.new")).unwrap());
    follow(&vault, &[&kept[..], &["--after", "1-2-x"]].concat()).with_code(64);
}

#[test]
fn another_history_is_a_gap_and_its_entries_follow_from_the_first() {
    let mut vault = Vault::start();
    create(&vault);
    let all = follow(&vault, &[]).json_lines();
    let position = all.last().unwrap()["position"].as_str().unwrap();
    let (place, digest) = position.rsplit_once('-').unwrap();
    let turned: String = digest.chars().rev().collect();
    let foreign = json_lines(&follow(&vault, &["--after", &format!("{place}-{turned}")]).stdout);
    assert_eq!(foreign[0], json!({"gap": "other_history"}));
    assert_eq!(foreign[1]["number"], all[0]["number"]);
    follow(&vault, &["--after", "nonsense"]).with_code(65);
    vault.stop();
    follow(&vault, &["--after", position]).with_code(69);
}

/// Killed when dropped.
struct Following(Child);

impl Drop for Following {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[test]
fn a_follower_prints_entries_as_they_are_written_and_outlives_a_restart() {
    let mut vault = Vault::start();
    let out = vault.directory().text("followed.jsonl");
    let mut command = Command::new(program());
    command.args(["audit", "follow", "--config"]).arg(vault.config());
    let streams = command.stdin(Stdio::null()).stderr(Stdio::null());
    let _following = Following(streams.stdout(File::create(&out).unwrap()).spawn().unwrap());
    let has = |id: &str| fs::read_to_string(&out).unwrap().contains(id);
    let before = create(&vault);
    wait_until("the entry of the first token", || has(&before));
    vault.stop_and_restart();
    let after = create(&vault);
    wait_until("the entry of the token after the restart", || has(&after));
    assert_consecutive(&json_lines(&fs::read_to_string(&out).unwrap()));
}

#[test]
fn a_line_that_was_cut_off_takes_no_entry_with_it() {
    let vault = Vault::start();
    let out = vault.directory().text("followed.jsonl");
    fs::write(&out, "{\"number\":7,\"ti").unwrap();
    let mut command = Command::new(program());
    command.args(["audit", "follow", "--once", "--config"]).arg(vault.config());
    let file = File::options().append(true).open(&out).unwrap();
    assert!(command.stdin(Stdio::null()).stdout(file).status().unwrap().success());
    let text = fs::read_to_string(&out).unwrap();
    let (_, whole) = text.split_once('\n').unwrap();
    let all = numbers(&follow(&vault, &[]).json_lines());
    assert_eq!(numbers(&json_lines(whole)).first(), all.first(), "{text}");
}

/// Only paths, the name and the port are replaced: the entries go over TLS, as shipped.
#[test]
fn the_example_of_rsyslog_sends_every_entry() {
    let Some(rsyslogd) = find("rsyslogd", "rsyslog") else { return };
    let vault = Vault::start();
    let directory = vault.directory();
    let entries = directory.text("entries.jsonl");
    let authority = Authority::new("logs");
    let authorities = directory.write("authorities.pem", &authority.pem, 0o644);
    let tls = authority.issue().server(None, &[]);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let mut settings = format!("global(workDirectory=\"{}\")\n{RSYSLOG}", directory.text("."));
    for (from, to) in [
        ("/var/log/strongroom-audit/entries.jsonl", entries.as_str()),
        (r#"Target="logs.example.com""#, r#"Target="localhost""#),
        (r#"Peers="logs.example.com""#, r#"Peers="localhost""#),
        ("/etc/ssl/certs/ca-certificates.crt", text(&authorities)),
        ("6514", &port),
    ] {
        settings = replace(&settings, from, to);
    }
    directory.write("rsyslog.conf", settings, 0o600);
    create(&vault);
    let followed = follow(&vault, &[]).with_code(0).stdout;
    let expected = followed.lines().count();
    directory.write("entries.jsonl", &followed, 0o600);
    let mut command = Command::new(rsyslogd);
    command.arg("-n").args(["-f", &directory.text("rsyslog.conf")]);
    command.args(["-i", &directory.text("rsyslog.pid")]);
    let output = File::create(directory.text("rsyslog.log")).unwrap();
    let errors = output.try_clone().unwrap();
    let started = command.stdin(Stdio::null()).stdout(output).stderr(errors).spawn();
    let _rsyslog = Following(started.unwrap());
    let (sender, received) = mpsc::channel();
    thread::spawn(move || {
        let (connection, _) = listener.accept().unwrap();
        let server = ServerConnection::new(tls).unwrap();
        let lines =
            BufReader::new(StreamOwned::new(server, connection)).lines().map_while(Result::ok);
        lines.for_each(|line| drop(sender.send(line)));
    });
    for number in 0..expected {
        let line = received.recv_timeout(PATIENCE).unwrap_or_else(|_| {
            let said = fs::read_to_string(directory.text("rsyslog.log")).unwrap_or_default();
            panic!("line {number} of {expected} did not come: {said}")
        });
        assert_eq!(line.trim(), followed.lines().nth(number).unwrap());
    }
}
