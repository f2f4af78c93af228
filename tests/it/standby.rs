//! A standby on another host: it follows the archive, keeps its place, and is promoted.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::archive::{Archived, text};
use crate::harness::{Running, needs_data_file, run, wait_until};

/// The metrics that only a standby has.
pub(crate) const METRICS: [&str; 4] = [
    "strongroom_standby_batch",
    "strongroom_standby_lag_seconds",
    "strongroom_standby_up_to_timestamp_seconds",
    "strongroom_standby_waiting",
];

/// The settings of a standby in a directory of its own, with the keys of the vault.
struct Host {
    config: PathBuf,
    log: PathBuf,
    data: PathBuf,
}

impl Host {
    fn new(archived: &Archived, name: &str) -> Self {
        let place = archived.vault.directory();
        let settings = fs::read_to_string(archived.vault.config()).unwrap();
        let (own, data) = (archived.vault.data(), place.join(name));
        let line = format!("data_directory = \"{}\"", own.display());
        let changed = format!("data_directory = \"{}\"", data.display());
        assert!(settings.contains(&line), "{settings}");
        let config = place.write(&format!("{name}.toml"), settings.replace(&line, &changed), 0o600);
        Self { config, log: place.join(&format!("{name}.log")), data }
    }

    fn follow(&self, backup: Option<&Path>) -> Running {
        let mut arguments = vec!["follow", "--config", text(&self.config)];
        arguments.extend(backup.map(text));
        Running::start(&arguments, &self.log)
    }

    fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Waits until the standby has everything that the vault has archived.
    fn settle(&self, archived: &Archived) {
        archived.settle();
        let last = archived.status()["archive"]["archived_up_to"].as_u64().unwrap();
        wait_until(&format!("the standby has batch {last}"), || {
            let log = self.log();
            let batches = log.lines().filter_map(|line| {
                let line: serde_json::Value = serde_json::from_str(line).ok()?;
                line["batch"].as_u64()
            });
            batches.max().is_some_and(|batch| batch >= last)
        });
    }
}

/// On the host of a standby, a new vault or a second server would be a mistake.
fn check_offers_no_new_vault(host: &Host) {
    let by_file = fs::read_to_string(&host.config).unwrap();
    let line = by_file.lines().find(|line| line.starts_with("file = ")).unwrap();
    let by_credential = by_file.replace(line, "credential = \"master.key\"");
    let other = host.config.with_extension("credential.toml");
    fs::write(&other, by_credential).unwrap();
    for (command, advice) in [("follow", "follow BACKUP"), ("promote", "strongroom restore")] {
        let said = run(&[command, "--config", text(&host.config)]).with_code(65).stderr;
        assert!(said.contains(advice) && !said.contains("init"), "{said}");
    }
    let said = run(&["follow", "--config", text(&other)]).with_code(77).stderr;
    assert!(said.contains("--key FILE") && !said.contains("systemctl"), "{said}");
}

/// Changes of an old vault would be lost, so it refuses them. It still answers reads.
fn check_is_ready_for_reads_alone(archived: &Archived, id: &str) {
    for (path, status) in
        [("/readyz", 503), ("/readyz?for=writes", 503), ("/readyz?for=reads", 200)]
    {
        archived.vault.get(path, &archived.vault.keys.private).with_status(status);
    }
    let body = json!({"type": "token", "data": "late"});
    let refused = archived.vault.post("/tokens", &archived.vault.keys.private, body);
    let problem = refused.with_status(503).text();
    assert!(problem.contains("promoted in place"), "{problem}");
    let delete = archived.vault.delete(&format!("/tokens/{id}"), &archived.vault.keys.private);
    assert!(delete.with_status(503).text().contains("promoted in place"));
    let late = ["tenant", "create", "--name", "late", "--type", "test"];
    let refused = archived.vault.operator(&late);
    let is_refused = refused.code != Some(0) && refused.stderr.contains("promoted in place");
    assert!(is_refused, "{}", refused.stderr);
}

#[test]
fn a_promoted_standby_has_everything_that_was_archived_and_the_old_vault_is_refused() {
    needs_data_file!("a standby follows its log");
    let mut archived = Archived::start();
    let host = Host::new(&archived, "standby");
    let first = archived.token("1");
    check_offers_no_new_vault(&host);
    let mut standby = host.follow(Some(&archived.backup));
    host.settle(&archived);
    let busy = run(&["tenant", "list", "--config", text(&host.config)]).with_code(69).stderr;
    assert!(busy.contains("this is a standby; promote it first"), "{busy}");
    // Killed at any moment, it goes on from its place.
    let mut ids = vec![first];
    for round in 0..3 {
        ids.push(archived.token("2"));
        if round > 0 {
            archived.settle();
        }
        standby.kill();
        ids.push(archived.token("3"));
        standby = host.follow(None);
        host.settle(&archived);
    }
    assert_eq!(standby.terminate(), Some(0));
    assert!(host.log().contains("\"event\":\"following\""), "{}", host.log());
    assert!(!host.log().contains("standby_waits"), "{}", host.log());
    // It is no vault yet, but can be checked.
    let config = ["--config", text(&host.config)];
    let refused = run(&[&["serve"], &config[..]].concat()).with_code(65);
    assert!(refused.stderr.contains("strongroom promote"), "{}", refused.stderr);
    run(&[&["verify"], &config[..]].concat()).with_code(0);
    run(&["follow", config[0], config[1], text(&archived.backup)]).with_code(65);
    ids.push(archived.token("last"));
    archived.settle();
    archived.vault.kill();
    let said = run(&[&["promote"], &config[..]].concat()).with_code(0).stdout;
    assert!(said.contains("The standby is promoted."), "{said}");
    run(&[&["promote"], &config[..]].concat()).with_code(65);
    // A command on the stopped vault refuses changes, although its server has not seen the mark.
    let late = archived.vault.operator(&["tenant", "create", "--name", "late", "--type", "test"]);
    assert!(late.code != Some(0) && late.stderr.contains("promoted in place"), "{}", late.stderr);
    // The old vault comes back and sees at once that it has ended.
    archived.vault.restart_as_service();
    assert!(archived.vault.log().contains("\"why\":\"ended\""));
    let status = archived.status();
    assert_eq!(status["status"], "not_ready");
    assert_eq!(status["archive"]["state"], "ended");
    check_is_ready_for_reads_alone(&archived, &ids[0]);
    assert!(ids.iter().all(|id| archived.has(id)), "it still answers reads");
    // It remembers, also without the mark and without an archive.
    let mark = fs::read_dir(archived.archive()).unwrap().map(|entry| entry.unwrap().path());
    let mark =
        mark.into_iter().find(|path| path.extension().is_some_and(|end| end == "ended")).unwrap();
    let (hidden, before) = (archived.vault.directory().join("hidden"), archived.pieces());
    fs::rename(&mark, &hidden).unwrap();
    assert_eq!(archived.vault.stop(), Some(0));
    archived.vault.restart_as_service();
    check_is_ready_for_reads_alone(&archived, &ids[0]);
    assert_eq!(archived.vault.stop(), Some(0));
    assert_eq!(archived.pieces(), before, "the old vault archives no more");
    fs::rename(&hidden, &mark).unwrap();
    archived.restore(&[&archived.key()], &[]).with_code(0);
    // Clients go to the promoted vault.
    let (mut promoted, address) = Running::serve(&host.config, &host.log);
    archived.vault.address = address.unwrap_or_else(|| panic!("{}", host.log()));
    assert!(ids.iter().all(|id| archived.has(id)));
    let own = archived.token("own");
    assert!(archived.has(&own));
    assert_eq!(promoted.terminate(), Some(0));
    let key = archived.key();
    run(&["verify", "--data", text(&host.data), "--master-key", text(&key)]).with_code(0);
    // The archive leads from the old backup to the promoted vault.
    archived.restore(&[&key], &[]).with_code(0);
    archived.serve_restored();
    assert!(archived.has(&own));
}

/// The mark may be that of a promoted vault.
#[test]
fn a_mark_that_cannot_be_read_stops_changes_until_it_is_gone() {
    needs_data_file!("the archive copies its log");
    let archived = Archived::start();
    let id = archived.token("1");
    archived.settle();
    let piece = archived.pieces().pop().unwrap();
    let name = piece.file_name().unwrap().to_str().unwrap();
    let timeline = name.strip_prefix("strongroom-archive-").unwrap().split('-').next().unwrap();
    let mark = archived.archive().join(format!("strongroom-archive-{timeline}.ended"));
    let state = || archived.status()["archive"]["state"].clone();
    // Root may read a file of any mode, but not a directory.
    fs::create_dir(&mark).unwrap();
    wait_until("the mark is seen", || state() == "mark_unreadable");
    let body = json!({"type": "token", "data": "late"});
    let send = || archived.vault.post("/tokens", &archived.vault.keys.private, body.clone());
    let problem = send().with_status(503).text();
    assert!(problem.contains("cannot be read"), "{problem}");
    assert_eq!(archived.status()["status"], "not_ready");
    assert!(archived.has(&id), "it still answers reads");
    fs::remove_dir(&mark).unwrap();
    wait_until("the mark is gone", || state() == "working");
    send().with_status(201);
}

#[test]
fn a_standby_waits_for_a_file_that_cannot_be_used_and_names_it() {
    needs_data_file!("a standby follows its log");
    let archived = Archived::start();
    let host = Host::new(&archived, "standby");
    archived.token("1");
    archived.settle();
    let piece = archived.pieces().pop().unwrap();
    let bytes = fs::read(&piece).unwrap();
    fs::write(&piece, &bytes[..100]).unwrap();
    let mut standby = host.follow(Some(&archived.backup));
    wait_until("the standby waits", || host.log().contains("standby_waits"));
    wait_until("it names the file", || host.log().contains(text(&piece)));
    fs::write(&piece, &bytes).unwrap();
    wait_until("the standby goes on", || host.log().contains("standby_goes_on"));
    host.settle(&archived);
    assert_eq!(standby.terminate(), Some(0));
    assert_eq!(host.log().matches("standby_waits").count(), 1, "it is reported once");
}

#[test]
fn a_standby_waits_for_the_new_master_key() {
    needs_data_file!("a standby follows its log");
    let archived = Archived::start();
    let host = Host::new(&archived, "standby");
    let place = archived.vault.directory();
    let own = place.write("standby.key", fs::read(archived.key()).unwrap(), 0o400);
    let settings = fs::read_to_string(&host.config).unwrap();
    let settings = settings.replace(text(&archived.key()), text(&own));
    place.write("standby.toml", settings, 0o600);
    let mut standby = host.follow(Some(&archived.backup));
    host.settle(&archived);
    archived.vault.operator(&["key", "rotate", "--master"]).with_code(0);
    let after = archived.token("after");
    archived.settle();
    wait_until("the standby waits", || host.log().contains("give the file of the key"));
    place.write("standby.key", fs::read(archived.key()).unwrap(), 0o400);
    host.settle(&archived);
    assert_eq!(standby.terminate(), Some(0));
    assert!(archived.has(&after));
    run(&["verify", "--config", text(&host.config)]).with_code(0);
}

#[test]
fn a_standby_shows_its_place_to_the_operator_and_says_when_it_waits() {
    needs_data_file!("a standby follows its log");
    let archived = Archived::start();
    let host = Host::new(&archived, "standby");
    archived.token("1");
    let mut standby = host.follow(Some(&archived.backup));
    host.settle(&archived);
    let config = ["--config", text(&host.config)];
    let status = || run(&[&["status", "--json"], &config[..]].concat());
    let told = status().json();
    assert_eq!(told["checks"], json!({"process": "ok", "standby": "ok"}));
    let batch = archived.status()["archive"]["archived_up_to"].as_u64().unwrap();
    wait_until("the status has the last batch", || {
        status().json()["standby"]["batch"].as_u64().unwrap() >= batch
    });
    assert_eq!(told["standby"]["waiting"], false);
    let shown = run(&[&["status"], &config[..]].concat()).with_code(0).stdout;
    assert!(shown.contains(": standby, up to 20") && !shown.contains("schedule"), "{shown}");
    let ask = |path: &str| {
        let stream = std::os::unix::net::UnixStream::connect(host.data.join("metrics.sock"));
        crate::watch::plain_get(stream.unwrap(), path)
    };
    let page = ask("/metrics").1;
    for name in METRICS {
        assert!(page.contains(&format!("\n{name} ")), "{name} in {page}");
    }
    for (path, code) in
        [("/healthz", 200), ("/readyz", 200), ("/readyz?for=reads", 200), ("/tokens", 404)]
    {
        assert!(ask(path).0.starts_with(&format!("HTTP/1.1 {code} ")), "{path}");
    }
    // An archive that it cannot read.
    let (archive, away) = (archived.archive(), archived.vault.directory().join("away"));
    fs::rename(&archive, &away).unwrap();
    wait_until("the standby waits", || status().code == Some(69));
    assert!(status().stderr.contains("standby: The standby cannot use a file of the archive"));
    assert!(ask("/readyz").0.starts_with("HTTP/1.1 503 "));
    assert!(ask("/metrics").1.contains("\nstrongroom_standby_waiting 1\n"));
    fs::rename(&away, &archive).unwrap();
    wait_until("the standby goes on", || status().code == Some(0));
    assert_eq!(standby.terminate(), Some(0));
    assert!(!host.data.join("metrics.sock").exists());
}
