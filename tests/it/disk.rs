//! A disk that fills up: the vault turns read-only, says so, and recovers by itself.
//!
//! The disk is a small one in memory, if the test may mount it. Otherwise the tests set a floor that
//! is larger than any disk.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::harness::{Directory, Vault, get, needs_data_file, output_of, patch, post, wait_until};
use crate::watch::{metric, on_socket};

const MIB: u64 = 1 << 20;

/// A file system of 24 MiB, unmounted when dropped.
struct Mounted(PathBuf);

impl Mounted {
    /// `None` when this machine does not allow it.
    fn at(path: &Path) -> Option<Self> {
        fs::create_dir(path).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=24m,mode=0700", "tmpfs"])
            .arg(path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        mounted.is_ok_and(|it| it.success()).then(|| Self(path.to_path_buf()))
    }

    /// Leaves so much of it free and no more. Never less in between, which would be seen.
    fn leave(&self, bytes: u64) {
        let mut file =
            File::options().create(true).append(true).open(self.0.join("filler")).unwrap();
        let mut rest = free_bytes(&self.0).saturating_sub(bytes);
        while rest > 0 {
            let piece = rest.min(64 * 1024);
            // The last bytes may be reserved: the disk counts as full then.
            if file.write_all(&vec![0; usize::try_from(piece).unwrap()]).is_err() {
                break;
            }
            rest -= piece;
        }
    }

    fn empty(&self) {
        fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(&self.0).status().ok();
    }
}

/// A vault of the service on a disk of its own, if that may be.
fn start(floor: &str) -> (Vault, Option<Mounted>) {
    let directory = Directory::new();
    let mounted = Mounted::at(&directory.join("data"));
    let mut vault = Vault::start_in(directory, &[]);
    vault.serve(&format!("rate_limits = false\ndisk.floor = \"{floor}\""));
    (vault, mounted)
}

fn wait_for_status(vault: &Vault, status: u16) {
    let what = format!("/readyz answers {status}");
    wait_until(&what, || vault.send(&get("/readyz")).status == status);
}

fn value() -> serde_json::Value {
    json!({"type": "token", "data": "x"})
}

#[track_caller]
fn check_refuses_changes(vault: &Vault, id: &str) {
    let key = &vault.keys.private;
    let token = format!("/tokens/{id}");
    for request in [
        post("/tokens").key(key).json(value()),
        post("/tokenize").key(key).json(json!({"a": value()})),
        patch(&token).key(key).json(json!({"metadata": {"a": "b"}})),
    ] {
        let refused = vault.send(&request).problem(503);
        assert!(refused.member("detail").contains("disk"), "{}", refused.text());
        assert_eq!(refused.header("retry-after"), Some("30"));
    }
}

/// Balancers that ask for reads go on, and all others do not.
#[track_caller]
fn check_is_ready_for_reads_alone(vault: &Vault) {
    for (query, status, word) in
        [("?for=reads", 200, "ready"), ("?for=writes", 503, "not_ready"), ("", 503, "not_ready")]
    {
        let path = format!("/readyz{query}");
        assert_eq!(vault.send(&get(&path)).with_status(status).json, json!({"status": word}));
        let told = vault.get(&path, &vault.keys.management).with_status(status).json;
        let reason = "The disk is nearly full: changes are refused.";
        assert_eq!((&told["status"], &told["checks"]["disk"]), (&json!(word), &json!(reason)));
        let (head, body) = on_socket(vault, &path);
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&body).unwrap(), told);
    }
    assert_eq!(metric(vault, "strongroom_ready_for_reads"), 1);
    assert_eq!(metric(vault, "strongroom_ready"), 0);
}

#[test]
fn a_vault_whose_disk_fills_up_turns_read_only_and_recovers_by_itself() {
    needs_data_file!("it fills the disk of the file");
    let (vault, Some(disk)) = start("8MiB") else { return a_floor_no_disk_can_keep() };
    let key = vault.keys.private.clone();
    let id = vault.token(value());
    let once = post("/tokens").key(&key).once("k").json(value());
    let first = vault.send(&once).with_status(201);
    let free = || metric(&vault, "strongroom_disk_free_bytes");
    wait_for_status(&vault, 200);

    disk.leave(4 * MIB);
    wait_for_status(&vault, 503);
    check_refuses_changes(&vault, &id);
    vault.get(&format!("/tokens/{id}"), &key).with_status(200);
    assert_eq!(vault.send(&once).with_status(201).id(), first.id(), "it was answered before");
    let checks = vault.get("/readyz", &vault.keys.management).json;
    assert_eq!(checks["checks"]["disk"], "The disk is nearly full: changes are refused.");
    assert_eq!(metric(&vault, "strongroom_read_only"), 1);
    check_is_ready_for_reads_alone(&vault);
    assert!(free() < 8 << 20);
    let status = vault.operator(&["status"]).with_code(69);
    assert!(status.stderr.contains("nearly full"), "{}", status.stderr);
    let refused = vault.operator(&["tenant", "create", "--name", "x", "--type", "test"]);
    assert!(refused.with_code(74).stderr.contains("disk is nearly full"));

    disk.leave(0);
    wait_until("the disk counts as full", || metric(&vault, "strongroom_read_only") == 2);
    check_refuses_changes(&vault, &id);
    vault.send(&get("/readyz?for=reads")).with_status(503);
    vault.get(&format!("/tokens/{id}"), &key).problem(503);
    vault.send(&get("/healthz")).with_status(200);

    disk.empty();
    wait_for_status(&vault, 200);
    vault.token(value());
    vault.get(&format!("/tokens/{id}"), &key).with_status(200);
    let log = vault.log();
    for event in ["disk_nearly_full", "disk_recovered"] {
        assert_eq!(log.matches(&format!("\"{event}\"")).count(), 1, "{log}");
    }
    finish(vault, disk);
}

/// Stops it, and finds everything in order.
fn finish(mut vault: Vault, disk: Mounted) {
    vault.stop_and_verify();
    drop(disk);
}

#[test]
fn a_disk_that_is_full_in_the_middle_loses_nothing_and_is_read_only_after_the_restart() {
    needs_data_file!("it fills the disk of the file");
    // The lowest floor, and changes that use it up between two looks at the disk: either the floor
    // stops them or the disk does, which ends the process.
    let (mut vault, Some(disk)) = start("1MiB") else { return };
    let key = vault.keys.private.clone();
    wait_for_status(&vault, 200);
    disk.leave(2 * MIB);
    let large = json!({"type": "token", "data": "x".repeat(120_000)});
    let create = post("/tokens").key(&key).json(large);
    let mut made = Vec::new();
    wait_until("the disk is full", || match vault.try_send(&create) {
        Ok(answer) if answer.status == 201 => {
            made.push(answer.id());
            false
        }
        Ok(answer) => answer.problem(503).status == 503,
        Err(_) => true,
    });
    disk.leave(0);
    // A service manager would start it again in either case.
    vault.kill();
    vault.restart_as_service();
    assert_eq!(metric(&vault, "strongroom_read_only"), 2);
    vault.send(&create).problem(503);
    disk.empty();
    wait_for_status(&vault, 200);
    for id in &made {
        vault.get(&format!("/tokens/{id}"), &key).with_status(200);
    }
    vault.token(value());
    finish(vault, disk);
}

#[test]
fn a_vault_that_is_started_on_a_full_disk_stays_up_until_there_is_space() {
    needs_data_file!("it fills the disk of the file");
    let (mut vault, Some(disk)) = start("1MiB") else { return };
    let key = vault.keys.private.clone();
    let id = vault.token(value());
    disk.leave(0);
    // Uses up the free pages of the file, until the floor or the disk ends it.
    let create = post("/tokens").key(&key).json(value());
    wait_until("the disk is full", || !vault.try_send(&create).is_ok_and(|it| it.status == 201));
    vault.kill();
    vault.restart_as_service();
    // Long enough for what the writer does when it is idle, which would be its end.
    wait_until("the server is up for a second", || {
        !vault.operator(&["status", "--json"]).with_code(69).stdout.contains("\"up_s\": 0")
    });
    vault.send(&get("/healthz")).with_status(200);
    disk.empty();
    wait_for_status(&vault, 200);
    vault.get(&format!("/tokens/{id}"), &key).with_status(200);
    finish(vault, disk);
}

#[test]
fn a_floor_no_disk_can_keep_makes_a_vault_read_only_from_the_start() {
    needs_data_file!("it fills the disk of the file");
    a_floor_no_disk_can_keep();
}

fn a_floor_no_disk_can_keep() {
    let mut vault = Vault::start();
    let id = vault.token(value());
    assert_eq!(vault.stop(), Some(0));
    // More than the disk has free, but less than eight times that.
    let free = free_bytes(&vault.data()) / 1024;
    vault.set(&format!("disk.floor = \"{}KiB\"", 2 * free));
    vault.restart_as_service();
    check_refuses_changes(&vault, &id);
    vault.read(&id).with_status(200);
    vault.send(&get("/readyz")).with_status(503);
    check_is_ready_for_reads_alone(&vault);
    assert!(vault.log().contains("\"disk_nearly_full\""));
    // A refused commit may still have happened: the new key must outlast it.
    let key = vault.master_key();
    let new = key.with_extension("key.new");
    let old = fs::read(&key).unwrap();
    vault.operator(&["key", "rotate", "--master"]).with_code(74);
    for command in [
        &["tenant", "create", "--name", "x", "--type", "test"][..],
        &["key", "rotate", "--all-tenants"],
    ] {
        let said = vault.operator(command).with_code(74).stderr;
        let data = vault.data();
        for part in [data.to_str().unwrap(), "free:", "floor:", "disk.floor", "try:"] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
    let kept = fs::read(&new).unwrap();
    assert_eq!(fs::read(&key).unwrap(), old);
    vault.stop_and_restart();
    vault.token(value());
    vault.operator(&["key", "rotate", "--master"]).with_code(0);
    assert_eq!((fs::read(&key).unwrap(), new.exists()), (kept, false));
    vault.stop_and_verify();
}

pub(crate) fn free_bytes(path: &Path) -> u64 {
    let report = output_of(Command::new("df").args(["-P", "-k"]).arg(path));
    let report = String::from_utf8(report.stdout).unwrap();
    let free = report.lines().nth(1).and_then(|line| line.split_whitespace().nth(3));
    free.unwrap().parse::<u64>().unwrap() * 1024
}
