//! The archive of the log: restores to a moment, files that cannot be trusted, and a directory that
//! fails.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::SystemTime;

use serde_json::{Value, json};

use crate::harness::{
    Ended, SetOnDrop, Vault, needs_data_file, run, wait_for, wait_for_clients, wait_until,
};
use crate::watch::on_socket;

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A vault that archives every second, and a backup of it.
pub(crate) struct Archived {
    pub(crate) vault: Vault,
    pub(crate) backup: PathBuf,
}

impl Archived {
    pub(crate) fn start() -> Self {
        let mut vault = Vault::start();
        assert_eq!(vault.stop(), Some(0));
        let archive = vault.directory().join("archive");
        fs::create_dir(&archive).unwrap();
        vault.set(&format!(
            "rate_limits = false\narchive.directory = \"{}\"\narchive.every = \"1s\"",
            archive.display()
        ));
        vault.restart_as_service();
        let backup = vault.directory().join("a.backup");
        vault.operator(&["backup", text(&backup)]).with_code(0);
        Self { vault, backup }
    }

    pub(crate) fn archive(&self) -> PathBuf {
        self.vault.directory().join("archive")
    }

    /// The archive files, oldest first.
    pub(crate) fn pieces(&self) -> Vec<PathBuf> {
        let listed = fs::read_dir(self.archive()).unwrap().map(|entry| entry.unwrap().path());
        let mut pieces: Vec<_> =
            listed.filter(|it| it.extension().is_some_and(|end| end == "piece")).collect();
        pieces.sort();
        pieces
    }

    pub(crate) fn token(&self, data: &str) -> String {
        self.vault.token(json!({"type": "token", "data": data}))
    }

    pub(crate) fn status(&self) -> Value {
        serde_json::from_str(&on_socket(&self.vault, "/status").1).unwrap()
    }

    /// Waits until every change so far is archived.
    pub(crate) fn settle(&self) {
        wait_until("everything is archived", || {
            let (_, page) = on_socket(&self.vault, "/metrics");
            page.lines().any(|line| line == "strongroom_archive_lag_seconds 0")
        });
    }

    /// Restores the backup and the archive into a new directory.
    pub(crate) fn restore(&self, keys: &[&Path], more: &[&str]) -> Ended {
        let (restored, archive) = (self.vault.directory().join("restored"), self.archive());
        fs::remove_dir_all(&restored).ok();
        let backup = text(&self.backup);
        let mut arguments = vec!["restore", backup, "--data", text(&restored)];
        arguments.extend(["--archive", text(&archive)]);
        arguments.extend(keys.iter().flat_map(|key| ["--key", text(key)]));
        arguments.extend(more);
        run(&arguments)
    }

    pub(crate) fn key(&self) -> PathBuf {
        self.vault.master_key()
    }

    /// Puts the restored data file in the place of the stopped vault's, and starts it.
    pub(crate) fn serve_restored(&mut self) {
        let restored = self.vault.directory().join("restored").join("strongroom.redb");
        fs::rename(restored, self.vault.data().join("strongroom.redb")).unwrap();
        self.vault.verify().with_code(0);
        self.vault.restart_as_service();
    }

    pub(crate) fn has(&self, id: &str) -> bool {
        match self.vault.get(&format!("/tokens/{id}"), &self.vault.keys.private).status {
            200 => true,
            404 => false,
            other => panic!("{other}"),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the moment to restore is one of the wall clock")]
fn now() -> time::OffsetDateTime {
    SystemTime::now().into()
}

/// A call: its start, the token that it made, and its answer.
type Call = (time::OffsetDateTime, String, time::OffsetDateTime);

#[test]
fn a_restore_to_a_moment_under_load_has_everything_answered_before_it_and_nothing_begun_after_it() {
    needs_data_file!("the archive copies its log");
    let mut archived = Archived::start();
    let calls: Vec<Mutex<Vec<Call>>> = (0..3).map(|_| Mutex::default()).collect();
    let stop = AtomicBool::new(false);
    let load = |calls: &Mutex<Vec<Call>>| {
        while !stop.load(Ordering::Relaxed) {
            let begun = now();
            let id = archived.token("x");
            calls.lock().unwrap().push((begun, id, now()));
        }
    };
    let load = &load;
    let until = thread::scope(|scope| {
        let stopping = SetOnDrop(&stop);
        let clients: Vec<_> = calls.iter().map(|calls| scope.spawn(move || load(calls))).collect();
        let count = || calls.iter().map(|calls| calls.lock().unwrap().len()).sum::<usize>();
        wait_for_clients("calls before the moment", &clients, || count() >= 30);
        let until = now();
        let before = count();
        wait_for_clients("calls after the moment", &clients, || count() >= before + 30);
        drop(stopping);
        until
    });
    assert_eq!(archived.vault.stop(), Some(0));
    let format = time::format_description::well_known::Rfc3339;
    let moment = until.format(&format).unwrap();
    let key = archived.key();
    let old = text(&archived.pieces()[0]).rsplit('-').nth(2).unwrap().to_owned();
    let said = archived.restore(&[&key], &["--until", &moment]).with_code(0).stdout;
    assert!(said.contains("restored to:   "), "{said}");
    archived.serve_restored();
    for (begun, id, answered) in calls.iter().flat_map(|calls| calls.lock().unwrap().clone()) {
        let is_there = archived.has(&id);
        assert!(is_there || answered > until, "answered before the moment, and missing");
        assert!(!is_there || begun <= until, "begun after the moment, and there");
    }
    assert_eq!(archived.vault.stop(), Some(0));
    // The restored vault went on in the same directory, so that the operator has to choose.
    let refused = archived.restore(&[&key], &[]).with_code(65).stderr;
    assert!(refused.contains("another timeline") && refused.contains(&old), "{refused}");
    // Everything, also what was written between the last archive file and the end.
    archived.restore(&[&key], &["--timeline", &old]).with_code(0);
    archived.serve_restored();
    let all = calls.iter().flat_map(|calls| calls.lock().unwrap().clone());
    assert!(all.into_iter().all(|(_, id, _)| archived.has(&id)));
    let early = archived.restore(&[&key], &["--until", "2026-01-01T00:00:00Z"]).with_code(65);
    assert!(early.stderr.contains("the backup is too new"), "{}", early.stderr);
    for wrong in ["yesterday", "2026-13-01", "01/01/2026"] {
        archived.restore(&[&key], &["--until", wrong]).with_code(64);
    }
}

#[test]
fn a_torn_a_forged_a_missing_and_a_foreign_file_are_refused_by_their_names() {
    needs_data_file!("the archive copies its log");
    let archived = Archived::start();
    for data in ["1", "2", "3"] {
        archived.token(data);
        archived.settle();
    }
    let key = archived.key();
    archived.restore(&[&key], &[]).with_code(0);
    let pieces = archived.pieces();
    let [.., middle, last] = pieces.as_slice() else { panic!("{pieces:?}") };
    let bytes = fs::read(middle).unwrap();
    let refused = |name: &Path, code: i32, why: &str| {
        let ended = archived.restore(&[&key], &[]).with_code(code);
        let named = ended.stderr.contains(name.file_name().unwrap().to_str().unwrap());
        assert!(named && ended.stderr.contains(why), "{}", ended.stderr);
        assert!(ended.stderr.contains("try:"), "{}", ended.stderr);
        assert!(!archived.vault.directory().join("restored").exists(), "something was left");
    };
    fs::write(middle, &bytes[..bytes.len() / 2]).unwrap();
    refused(middle, 65, "cut short");
    let mut forged = bytes.clone();
    let at = forged.len() - 20;
    forged[at] ^= 1;
    fs::write(middle, &forged).unwrap();
    refused(middle, 77, "not written under this master key");
    forged = bytes.clone();
    forged[600] ^= 1;
    fs::write(middle, &forged).unwrap();
    refused(middle, 65, "damaged");
    fs::remove_file(middle).unwrap();
    refused(last, 65, "the archive lacks the batches");
    let other = Archived::start();
    other.settle();
    let foreign = fs::read(other.pieces().first().unwrap()).unwrap();
    fs::write(middle, foreign).unwrap();
    refused(middle, 77, "which was not given");
    fs::write(middle, &bytes).unwrap();
    archived.restore(&[&key], &[]).with_code(0);
    let unsigned = archived.restore(&[], &[]).with_code(64);
    assert!(unsigned.stderr.contains("no master key is named"), "{}", unsigned.stderr);
}

#[test]
fn an_archive_over_the_replacement_of_the_master_key_needs_both_keys() {
    needs_data_file!("the archive copies its log");
    let mut archived = Archived::start();
    let before = archived.token("before");
    archived.vault.operator(&["key", "rotate", "--master"]).with_code(0);
    let after = archived.token("after");
    assert_eq!(archived.vault.stop(), Some(0));
    let new = archived.key();
    let old =
        fs::read_dir(archived.vault.directory().path()).unwrap().map(|entry| entry.unwrap().path());
    let old = old.into_iter().find(|path| text(path).contains("master.key.old-")).unwrap();
    let lacking = archived.restore(&[&old], &[]).with_code(77);
    assert!(lacking.stderr.contains("give the file of the key"), "{}", lacking.stderr);
    archived.restore(&[&new], &[]).with_code(77);
    archived.restore(&[&old, &new], &[]).with_code(0);
    archived.serve_restored();
    assert!(archived.has(&before) && archived.has(&after));
}

#[test]
fn a_directory_that_fails_costs_the_archive_alone_and_is_caught_up_later() {
    needs_data_file!("the archive copies its log");
    let mut archived = Archived::start();
    archived.settle();
    let (archive, away) = (archived.archive(), archived.vault.directory().join("away"));
    fs::rename(&archive, &away).unwrap();
    let meanwhile = archived.token("meanwhile");
    let event = |vault: &Vault, name: &str| vault.log().matches(name).count();
    wait_until("the failure", || event(&archived.vault, "\"archive_failing\"") == 1);
    let status = archived.status();
    assert_eq!(status["status"], "ready");
    assert_eq!(status["archive"]["state"], "directory_missing");
    assert!(status["checks"]["archive"].as_str().unwrap().contains("is missing"));
    let (_, page) = on_socket(&archived.vault, "/metrics");
    assert!(page.contains("strongroom_archive_failing 1\n"), "{page}");
    assert!(!page.contains("strongroom_archive_lag_seconds 0\n"), "{page}");
    // Also over a restart: the log is kept.
    assert_eq!(archived.vault.stop(), Some(0));
    archived.vault.restart_as_service();
    let later = archived.token("later");
    wait_until("the next failure", || event(&archived.vault, "\"archive_failing\"") == 2);
    fs::rename(&away, &archive).unwrap();
    wait_until("the recovery", || event(&archived.vault, "\"archive_working\"") == 1);
    archived.settle();
    assert_eq!(event(&archived.vault, "\"archive_failing\""), 2, "each is logged once");
    assert_eq!(archived.status()["checks"]["archive"], "ok");
    assert_eq!(archived.vault.stop(), Some(0));
    let key = archived.key();
    archived.restore(&[&key], &[]).with_code(0);
    archived.serve_restored();
    assert!(archived.has(&meanwhile) && archived.has(&later));
    // The restored vault begins a timeline, which no backup continues yet.
    archived.settle();
    let status = archived.status();
    assert!(status["checks"]["archive"].as_str().unwrap().contains("take a backup"), "{status}");
    let again = archived.vault.directory().join("b.backup");
    archived.vault.operator(&["backup", text(&again)]).with_code(0);
    assert_eq!(archived.status()["checks"]["archive"], "ok");
}

#[test]
fn a_gap_is_shown_and_a_new_backup_heals_it() {
    needs_data_file!("the archive copies its log");
    let mut archived = Archived::start();
    for data in ["1", "2", "3"] {
        archived.token(data);
        archived.settle();
    }
    assert_eq!(archived.status()["checks"]["archive"], "ok");
    assert_eq!(archived.vault.stop(), Some(0));
    let pieces = archived.pieces();
    fs::remove_file(&pieces[pieces.len() - 2]).unwrap();
    archived.vault.restart_as_service();
    archived.settle();
    let status = archived.status();
    assert_eq!(status["archive"]["needs_backup"], true);
    assert!(status["checks"]["archive"].as_str().unwrap().contains("has a gap"), "{status}");
    let (_, page) = on_socket(&archived.vault, "/metrics");
    assert!(page.contains("strongroom_archive_gap 1\n"), "{page}");
    let key = archived.key();
    let lacking = archived.restore(&[&key], &[]).with_code(65);
    assert!(lacking.stderr.contains("the archive lacks the batches"), "{}", lacking.stderr);
    archived.backup = archived.vault.directory().join("b.backup");
    archived.vault.operator(&["backup", text(&archived.backup)]).with_code(0);
    assert_eq!(archived.status()["checks"]["archive"], "ok");
    archived.token("4");
    archived.settle();
    archived.restore(&[&key], &[]).with_code(0);
}

#[test]
fn the_schedule_takes_a_backup_for_the_archive_and_proves_both() {
    needs_data_file!("the archive copies its log");
    let mut archived = Archived::start();
    archived.token("x");
    assert_eq!(archived.vault.stop(), Some(0));
    let backups = archived.vault.directory().join("backups");
    fs::create_dir(&backups).unwrap();
    let settings = fs::read_to_string(archived.vault.config()).unwrap();
    let lines = format!("backup.directory = \"{}\"\n{settings}", backups.display());
    archived.vault.directory().write("strongroom.toml", lines, 0o600);
    archived.vault.restart_as_service();
    let line = |event: &str| {
        let event = format!("\"event\":\"{event}\"");
        wait_for(&event, || archived.vault.log().lines().find(|it| it.contains(&event)).map(drop));
    };
    line("backup_taken");
    line("backup_proven");
    assert_eq!(archived.vault.stop(), Some(0));
    // An archive in the data directory would be lost with it.
    let data = archived.vault.data();
    let settings = format!("archive.directory = \"{}/archive\"\n", data.display());
    archived.vault.set(&settings);
    archived.vault.operator(&["check"]).with_code(78);
}

/// Copies the files of a data directory, without its sockets.
fn copy_files(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

/// Writes a few tokens, one after the other, so that each is a batch.
fn tokens(archived: &Archived, count: usize) -> Vec<String> {
    (0..count).map(|at| archived.token(&at.to_string())).collect()
}

#[test]
fn a_copy_that_was_put_back_leaves_the_archive_until_a_new_timeline_begins() {
    needs_data_file!("the archive copies its log");
    let mut archived = Archived::start();
    let before = tokens(&archived, 3);
    archived.settle();
    archived.vault.kill();
    let (data, copy) = (archived.vault.data(), archived.vault.directory().join("copy"));
    copy_files(&data, &copy);
    archived.vault.restart_as_service();
    let lost = tokens(&archived, 4);
    archived.settle();
    archived.vault.kill();
    for entry in fs::read_dir(&data).unwrap().map(Result::unwrap) {
        fs::remove_file(entry.path()).unwrap();
    }
    copy_files(&copy, &data);
    archived.vault.restart_as_service();
    let state = |archived: &Archived| archived.status()["archive"]["state"].clone();
    assert_eq!(state(&archived), "forked");
    // Its numbers catch up with those of the archive, and go beyond them.
    let pieces = archived.pieces();
    let kept = tokens(&archived, 12);
    let forked = archived.vault.directory().join("forked.backup");
    let said = archived.vault.operator(&["backup", text(&forked)]).with_code(0).stdout;
    assert!(said.contains("forked"), "{said}");
    assert_eq!(archived.vault.stop(), Some(0));
    archived.vault.restart_as_service();
    let status = archived.status();
    assert_eq!(status["status"], "ready");
    assert_eq!(status["archive"]["state"], "forked");
    assert!(status["checks"]["archive"].as_str().unwrap().contains("old copy"), "{status}");
    assert!(on_socket(&archived.vault, "/metrics").1.contains("strongroom_archive_departed 1\n"));
    assert_eq!(archived.pieces(), pieces, "it does not archive");
    assert_eq!(archived.vault.stop(), Some(0));
    // The archive still has the first history, whole; the backup of the other one is refused.
    let key = archived.key();
    archived.restore(&[&key], &[]).with_code(0);
    let backup = std::mem::replace(&mut archived.backup, forked);
    let refused = archived.restore(&[&key], &[]).with_code(65).stderr;
    assert!(refused.contains("does not continue this backup"), "{refused}");
    archived.backup = backup;
    let config = archived.vault.config();
    let begun = run(&["new-timeline", "--config", text(&config)]).with_code(0).stdout;
    assert!(begun.contains("A new timeline has begun"), "{begun}");
    archived.vault.restart_as_service();
    archived.settle();
    assert_eq!(state(&archived), "working");
    let (_, page) = on_socket(&archived.vault, "/metrics");
    assert!(page.contains("strongroom_archive_departed 0\n"), "{page}");
    assert!(before.iter().chain(&kept).all(|id| archived.has(id)));
    assert!(!lost.iter().any(|id| archived.has(id)));
    // From the old backup the new timeline cannot be reached.
    let refused = archived.restore(&[&key], &[]).with_code(65).stderr;
    assert!(refused.contains(".ended") && refused.contains("try:"), "{refused}");
    archived.backup = archived.vault.directory().join("new.backup");
    archived.vault.operator(&["backup", text(&archived.backup)]).with_code(0);
    let after = archived.token("after");
    archived.settle();
    assert_eq!(archived.vault.stop(), Some(0));
    archived.restore(&[&key], &[]).with_code(0);
    archived.serve_restored();
    assert!(before.iter().chain(&kept).chain([&after]).all(|id| archived.has(id)));
}

#[test]
fn a_restored_copy_does_not_write_into_the_archive_of_a_vault_that_went_on() {
    needs_data_file!("the archive copies its log");
    let mut archived = Archived::start();
    let lost = tokens(&archived, 3);
    archived.settle();
    assert_eq!(archived.vault.stop(), Some(0));
    // The backup alone, without the changes that the archive has after it.
    let restored = archived.vault.directory().join("restored");
    run(&["restore", text(&archived.backup), "--data", text(&restored)]).with_code(0);
    let pieces = archived.pieces();
    archived.serve_restored();
    let kept = archived.token("of the copy");
    let status = archived.status();
    assert_eq!((&status["status"], &status["archive"]["state"]), (&json!("ready"), &json!("copy")));
    assert!(status["checks"]["archive"].as_str().unwrap().contains("new-timeline"), "{status}");
    assert!(on_socket(&archived.vault, "/metrics").1.contains("strongroom_archive_departed 1\n"));
    assert_eq!(archived.vault.stop(), Some(0));
    archived.vault.restart_as_service();
    assert_eq!(archived.status()["archive"]["state"], "copy");
    assert_eq!(archived.vault.stop(), Some(0));
    assert_eq!(archived.pieces(), pieces, "it does not archive");
    // The archive is whole for the vault that it belongs to.
    let key = archived.key();
    archived.restore(&[&key], &[]).with_code(0);
    // The operator lets the restored vault take its place.
    let config = archived.vault.config();
    let said = run(&["new-timeline", "--config", text(&config)]).with_code(0).stdout;
    assert!(said.contains("The vault that this one was restored from has ended"), "{said}");
    let old = pieces[0].file_name().unwrap().to_str().unwrap();
    let old = old.rsplitn(3, '-').last().unwrap();
    let mark = archived.archive().join(format!("{old}.ended"));
    assert!(mark.exists(), "the vault that it was restored from refuses changes");
    archived.vault.restart_as_service();
    archived.settle();
    assert_eq!(archived.status()["archive"]["state"], "working");
    assert!(archived.pieces().len() > pieces.len());
    // The copy did not archive its first changes: no restore passes them over.
    let refused = archived.restore(&[&key], &[]).with_code(65).stderr;
    assert!(refused.contains("lacks the batches"), "{refused}");
    assert!(archived.has(&kept) && !lost.iter().any(|id| archived.has(id)));
}
