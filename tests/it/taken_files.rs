//! Files that are moved, cut, written over or replaced under a running server. The files of the vault
//! end it before it answers for anything that the next start would not find; the files that only
//! the next start needs are reported while it goes on.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::harness::{Vault, card, needs_data_file, post, run, wait_until};
use crate::watch::{metric, on_socket};

fn segment(vault: &Vault) -> PathBuf {
    let names = fs::read_dir(vault.data()).unwrap().map(|entry| entry.unwrap().path());
    let is_segment = |path: &PathBuf| path.to_str().unwrap().contains("strongroom.log.0");
    names.filter(is_segment).max().unwrap()
}

fn tokens(vault: &Vault, count: usize) -> Vec<String> {
    let body =
        |at: usize| json!({"type": "card", "data": card(), "metadata": {"at": at.to_string()}});
    (0..count).map(|at| vault.token(body(at))).collect()
}

#[track_caller]
fn check_ended(vault: &mut Vault, file: &Path, case: &str) {
    assert_eq!(vault.wait(), Some(74), "{case}: {}", vault.log());
    let log = vault.log();
    let name = file.file_name().unwrap().to_str().unwrap();
    let told = format!("{name} was removed or replaced");
    for words in [told.as_str(), "\"data_file_removed\"", "move it back"] {
        assert!(log.contains(words), "{case}: {log}");
    }
}

#[track_caller]
fn check_all_there(vault: &mut Vault, ids: &[String], case: &str) {
    vault.verify().with_code(0);
    vault.restart();
    for id in ids {
        let answer = vault.read(id);
        assert_eq!(answer.status, 200, "{case}: {id}");
    }
}

#[test]
fn no_write_is_answered_after_its_file_was_taken_away() {
    needs_data_file!("it takes the file away");
    for file in ["strongroom.redb", "log"] {
        let mut vault = Vault::start();
        let ids = tokens(&vault, 5);
        let path =
            if file == "log" { segment(&vault) } else { vault.data().join("strongroom.redb") };
        let away = vault.directory().join("away");
        fs::rename(&path, &away).unwrap();
        // At once, and not after the next look at the files.
        let body = json!({"type": "token", "data": "too late"});
        let request = post("/tokens").key(&vault.keys.private).json(body);
        let answer = vault.try_send(&request).map(|answer| answer.status);
        assert!(!answer.as_ref().is_ok_and(|status| *status < 300), "{file}: {answer:?}");
        check_ended(&mut vault, &path, file);
        if file != "log" {
            fs::rename(&away, &path).unwrap();
        }
        // Of a log that is gone, the rows that were answered are in the data file.
        check_all_there(&mut vault, &ids, file);
    }
}

type TakeLog<'a> = &'a dyn Fn(&Path);

/// Damages the data file, with the bytes of an older one at hand.
type TakeData<'a> = &'a dyn Fn(&Path, &[u8]);

#[test]
fn a_log_that_is_cut_removed_or_written_over_ends_the_server_and_costs_no_answered_write() {
    needs_data_file!("it takes the file away");
    let cases: [(&str, TakeLog<'_>); 4] = [
        ("cut", &|path| OpenOptions::new().write(true).open(path).unwrap().set_len(600).unwrap()),
        ("removed", &|path| fs::remove_file(path).unwrap()),
        ("zeros", &|path| {
            let len = fs::metadata(path).unwrap().len();
            fs::write(path, vec![0; usize::try_from(len).unwrap()]).unwrap();
        }),
        ("a directory", &|path| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        }),
    ];
    for (case, take) in cases {
        let mut vault = Vault::start();
        let ids = tokens(&vault, 3);
        let path = segment(&vault);
        take(&path);
        check_ended(&mut vault, &path, case);
        if path.is_dir() {
            fs::remove_dir(&path).unwrap();
        } else {
            // The data file has everything, and says so: the rest of the log is of no use.
            fs::remove_file(&path).ok();
        }
        check_all_there(&mut vault, &ids, case);
    }
}

#[test]
fn a_data_file_that_is_cut_or_replaced_ends_the_server() {
    needs_data_file!("it takes the file away");
    let cases: [(&str, TakeData<'_>); 5] = [
        ("another copy", &|path, old| {
            fs::write(path.with_file_name("copy"), old).unwrap();
            fs::rename(path.with_file_name("copy"), path).unwrap();
        }),
        ("cut", &|path, _| OpenOptions::new().write(true).open(path).unwrap().set_len(9).unwrap()),
        ("an older copy in place", &|path, old| fs::write(path, old).unwrap()),
        ("a directory", &|path, _| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        }),
        ("a link to nothing", &|path, _| {
            fs::remove_file(path).unwrap();
            symlink("nothing", path).unwrap();
        }),
    ];
    for (case, take) in cases {
        let mut vault = Vault::start();
        assert_eq!(vault.stop(), Some(0));
        let path = vault.data().join("strongroom.redb");
        let old = fs::read(&path).unwrap();
        vault.restart();
        tokens(&vault, 3);
        take(&path, &old);
        check_ended(&mut vault, &path, case);
        if case == "an older copy in place" {
            // The server did not write into the copy.
            assert!(fs::read(&path).unwrap() == old, "{case}");
        }
    }
}

#[test]
fn cvc_keys_that_are_written_over_or_removed_end_the_server() {
    needs_data_file!("it takes the file away");
    for case in ["zeros", "removed"] {
        let mut vault = Vault::start();
        let path = vault.data().join("cvc.keys");
        tokens(&vault, 1);
        let len = fs::metadata(&path).unwrap().len();
        match case {
            "zeros" => fs::write(&path, vec![0; usize::try_from(len).unwrap()]).unwrap(),
            _ => fs::remove_file(&path).unwrap(),
        }
        check_ended(&mut vault, &path, case);
    }
}

/// A stop between two looks at the files is no clean stop either.
#[test]
fn a_server_that_is_stopped_right_after_its_data_file_was_removed_does_not_end_well() {
    needs_data_file!("it takes the file away");
    let mut vault = Vault::start();
    let file = vault.data().join("strongroom.redb");
    fs::rename(&file, vault.data().join("moved")).unwrap();
    assert_eq!(vault.stop(), Some(74));
    assert!(vault.log().contains("was removed or replaced"), "{}", vault.log());
}

#[test]
fn a_data_directory_that_is_moved_ends_the_server_and_is_whole_when_it_is_back() {
    needs_data_file!("it takes the file away");
    let mut vault = Vault::start();
    let ids = tokens(&vault, 3);
    let (data, away) = (vault.data(), vault.directory().join("away"));
    fs::rename(&data, &away).unwrap();
    check_ended(&mut vault, &data.join("strongroom.redb"), "moved");
    fs::rename(&away, &data).unwrap();
    check_all_there(&mut vault, &ids, "moved");
}

#[test]
fn a_directory_without_its_data_file_is_no_place_for_a_new_vault() {
    needs_data_file!("it takes the file away");
    let mut vault = Vault::start();
    vault.kill();
    vault.move_key_out();
    let path = vault.data().join("strongroom.redb");
    fs::rename(&path, vault.directory().join("away")).unwrap();
    let config = vault.config();
    let config = config.to_str().unwrap();
    for command in ["serve", "init", "verify"] {
        let refused = run(&[command, "--config", config]).with_code(65).stderr;
        assert!(refused.contains("move it back"), "{command}: {refused}");
    }
    fs::rename(vault.directory().join("away"), &path).unwrap();
    vault.verify().with_code(0);
}

/// The rate limits do not count requests on the socket.
fn files_check_on_socket(vault: &Vault) -> Value {
    let (_, ready) = on_socket(vault, "/readyz");
    serde_json::from_str::<Value>(&ready).unwrap()["checks"]["files"].clone()
}

fn files_check(vault: &Vault) -> Value {
    let ready = vault.get("/readyz", &vault.keys.management).with_status(200);
    ready.json["checks"]["files"].clone()
}

#[test]
fn a_missing_file_that_the_next_start_needs_is_named_and_the_server_goes_on() {
    let mut vault = Vault::start();
    let id = tokens(&vault, 1).remove(0);
    assert_eq!(vault.stop(), Some(0));
    let bins = vault.directory().write("bins.csv", "first,brand\n400000,visa\n", 0o600);
    vault.set(&format!("bin_file = \"{}\"", bins.display()));
    vault.restart_as_service();
    assert_eq!(files_check_on_socket(&vault), "ok");
    let config = fs::read_to_string(vault.config()).unwrap();
    let certificate = |name: &str| {
        let line = config.lines().find(|line| line.starts_with(name)).unwrap();
        PathBuf::from(line.split('"').nth(1).unwrap())
    };
    let named = [
        ("settings", vault.config()),
        ("master_key", vault.master_key()),
        ("bin_file", bins),
        ("certificate", certificate("certificate")),
        ("private_key", certificate("private_key")),
    ];
    let away = |name: &str| vault.directory().join(&format!("{name} away"));
    for (name, path) in &named {
        fs::rename(path, away(name)).unwrap();
    }
    for (name, path) in &named {
        let (role, path) = (format!("\"{name}\""), path.to_str().unwrap());
        let is_named = |line: &str| {
            line.contains("\"file_missing\"") && line.contains(&role) && line.contains(path)
        };
        wait_until(name, || vault.log().lines().any(is_named));
    }
    assert_ne!(files_check_on_socket(&vault), "ok");
    assert_eq!(metric(&vault, "strongroom_check{check=\"files\"}"), 0);
    assert_eq!(metric(&vault, "strongroom_ready"), 1);
    vault.read(&id).with_status(200);
    for (name, path) in &named {
        fs::rename(away(name), path).unwrap();
    }
    wait_until("all are back", || files_check_on_socket(&vault) == "ok");
    wait_until("the line of the end", || vault.log().contains("\"file_back\""));
}

#[test]
fn removed_sockets_and_lost_permissions_are_named_and_the_server_goes_on() {
    needs_data_file!("it changes the mode of the file");
    let mut vault = Vault::start();
    let data = vault.data().join("strongroom.redb");
    fs::set_permissions(&data, fs::Permissions::from_mode(0o000)).unwrap();
    wait_until("the permissions", || files_check(&vault) != "ok");
    wait_until("the line of the file", || vault.log().contains("\"file_missing\""));
    let id = tokens(&vault, 1).remove(0);
    fs::set_permissions(&data, fs::Permissions::from_mode(0o600)).unwrap();
    wait_until("the permissions again", || files_check(&vault) == "ok");
    let sockets = fs::read_dir(vault.data()).unwrap().map(|entry| entry.unwrap().path());
    let sockets: Vec<_> =
        sockets.filter(|path| path.extension().is_some_and(|it| it == "sock")).collect();
    assert!(!sockets.is_empty());
    for socket in &sockets {
        fs::remove_file(socket).unwrap();
    }
    wait_until("the sockets", || files_check(&vault) != "ok");
    wait_until("the line of the socket", || vault.log().contains("\"operator_socket\""));
    vault.read(&id).with_status(200);
    // A restart makes them again.
    vault.stop_and_restart();
    vault.operator(&["status"]).with_code(0);
}
