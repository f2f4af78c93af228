//! `strongroom check`: every file that the settings name, all mistakes in one run, and no secret.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::harness::{Directory, Ended, Vault, needs_data_file, program, run, wait_until};

/// A stopped vault with its key outside, as an operator has it.
fn installed() -> Vault {
    let mut vault = Vault::start();
    assert_eq!(vault.stop(), Some(0));
    vault.move_key_out();
    vault
}

fn check(vault: &Vault) -> Ended {
    vault.operator(&["check"])
}

fn states(vault: &Vault, setting: &str) -> Vec<String> {
    let ended = vault.operator(&["check", "--json"]);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    let checks = report["checks"].as_array().unwrap().iter();
    let of_setting = checks.filter(|it| it["setting"] == setting);
    of_setting.map(|it| String::from(it["state"].as_str().unwrap())).collect()
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_right_installation_is_told_line_by_line_with_what_was_not_checked() {
    needs_data_file!("it looks at the line of the file");
    let vault = installed();
    let key = fs::read_to_string(vault.master_key()).unwrap();
    let before = fs::read(vault.data().join("strongroom.redb")).unwrap();
    let said = check(&vault).with_code(0).stdout;
    for line in [
        "ok       settings",
        "ok       listen",
        "ok       tls.certificate",
        "ok       tls.private_key",
        "ok       master_key.file",
        "ok       data_directory",
        "ok       disk.floor",
        "warning  backup.directory",
    ] {
        assert!(said.lines().any(|it| it.starts_with(line)), "{line}: {said}");
    }
    assert!(said.contains("valid for localhost, 127.0.0.1"), "{said}");
    assert!(said.contains("its content was not checked"), "{said}");
    assert!(said.contains(" 0 wrong, "), "{said}");
    for part in [key.trim(), key.get(..16).unwrap(), key.get(40..56).unwrap(), "PRIVATE KEY"] {
        assert!(!said.contains(part), "{said}");
    }
    assert_eq!(fs::read(vault.data().join("strongroom.redb")).unwrap(), before);
}

#[test]
fn all_mistakes_of_settings_and_files_are_told_in_one_run() {
    needs_data_file!("its settings have an engine of their own");
    let vault = installed();
    let bins = vault.directory().write("bins", "nonsense\n", 0o600);
    let ca = vault.directory().write("ca", "nonsense", 0o600);
    vault.set(&format!(
        "colour = 1\nbin_file = \"{}\"\noutbound.ca_file = \"{}\"\nbackup.directory = \
         \"/no/backups\"\narchive.directory = \"/no/archive\"\noperator.listen = \"127.0.0.1:9\"",
        bins.display(),
        ca.display()
    ));
    let text = fs::read_to_string(vault.config()).unwrap();
    let text = text.replace("[\"127.0.0.1:0\"]", "[\"127.0.0.1:9\", \"127.0.0.1:0\"]");
    vault.directory().write("strongroom.toml", text, 0o600);
    set_mode(&vault.data().join("certificate.key"), 0o644);
    set_mode(&vault.master_key(), 0o444);
    set_mode(&vault.data(), 0o755);
    let ended = check(&vault).with_code(78);
    for setting in [
        "colour",
        "bin_file",
        "outbound.ca_file",
        "backup.directory",
        "archive.directory",
        "operator.listen",
        "tls.private_key",
        "master_key.file",
        "data_directory",
    ] {
        assert!(states(&vault, setting).contains(&String::from("wrong")), "{setting}");
        assert!(ended.stderr.contains(&format!("{setting}: ")), "{setting}: {}", ended.stderr);
    }
    assert!(ended.stdout.contains("try: chmod 0700 "), "{}", ended.stdout);
}

#[test]
fn wrong_modes_alone_end_with_77() {
    let vault = installed();
    set_mode(&vault.master_key(), 0o440);
    let ended = check(&vault).with_code(77);
    assert!(ended.stderr.contains("master_key.file: "), "{}", ended.stderr);
    set_mode(&vault.master_key(), 0o400);
    set_mode(&vault.config(), 0o666);
    let ended = check(&vault).with_code(77);
    assert!(ended.stderr.contains("every user can write to it"), "{}", ended.stderr);
    set_mode(&vault.config(), 0o600);
    check(&vault).with_code(0);
}

#[test]
fn a_certificate_is_wrong_with_another_key_out_of_order_or_not_in_time() {
    let (vault, other) = (installed(), installed());
    let certificate = vault.data().join("certificate.pem");
    let good = fs::read_to_string(&certificate).unwrap();
    let theirs = fs::read_to_string(other.data().join("certificate.pem")).unwrap();
    fs::write(&certificate, &theirs).unwrap();
    let said = check(&vault).with_code(78).stderr;
    assert!(said.contains("tls.private_key: ") && said.contains("does not belong"), "{said}");
    let own_ca = fs::read_to_string(vault.data().join("ca.pem")).unwrap();
    let their_ca = fs::read_to_string(other.data().join("ca.pem")).unwrap();
    fs::write(&certificate, format!("{good}{own_ca}")).unwrap();
    let said = check(&vault).with_code(0).stdout;
    assert!(said.contains("2 certificates, in order"), "{said}");
    // The authorities of two vaults have the same name: only the signature tells them apart.
    fs::write(&certificate, format!("{good}{their_ca}")).unwrap();
    let said = check(&vault).with_code(78).stderr;
    assert!(said.contains("tls.certificate: "), "{said}");
    fs::write(&certificate, format!("{good}{good}")).unwrap();
    assert!(check(&vault).with_code(78).stderr.contains("did not issue"));
    fs::write(&certificate, "nonsense").unwrap();
    check(&vault).with_code(78);
    fs::remove_file(&certificate).unwrap();
    check(&vault).with_code(78);
    fs::write(&certificate, good).unwrap();
    check(&vault).with_code(0);
}

#[test]
fn root_is_told_what_the_user_of_the_service_would_see() {
    needs_data_file!("it gives all named files to another user");
    let vault = installed();
    let own = |path: &Path| chown(path, Some(65_532), Some(65_533));
    set_mode(vault.directory().path(), 0o711);
    if own(&vault.data()).is_err() {
        // Only root can look at what is another's.
        return;
    }
    let ended = check(&vault).with_code(77);
    assert!(ended.stderr.contains("the service's user, uid 65532, may not read it"), "{ended:?}");
    for path in [vault.config(), vault.master_key()] {
        own(&path).unwrap();
    }
    own(&vault.data().join("certificate.key")).unwrap();
    own(&vault.data().join("certificate.pem")).unwrap();
    check(&vault).with_code(0);
    // A directory on the way that this user may not enter.
    set_mode(vault.directory().path(), 0o700);
    check(&vault).with_code(77);
}

#[test]
fn a_master_key_inside_the_data_directory_is_refused_by_init_check_and_serve() {
    let vault = installed();
    let inside = vault.data().join("inner.key");
    fs::copy(vault.master_key(), &inside).unwrap();
    let text = fs::read_to_string(vault.config()).unwrap();
    let named = |path: &Path| {
        let own = vault.master_key();
        let text = text.replace(own.to_str().unwrap(), path.to_str().unwrap());
        vault.directory().write("strongroom.toml", text, 0o600);
    };
    let refused = |what: &str| {
        for command in ["check", "serve"] {
            let ended = vault.operator(&[command]).with_code(78);
            let why = "a copy of the directory would be a copy of the key";
            assert!(ended.stderr.contains(why), "{what}: {command}: {}", ended.stderr);
            assert!(format!("{}{}", ended.stdout, ended.stderr).contains("try: "), "{what}");
        }
    };
    named(&inside);
    refused("its own path");
    let link = vault.directory().join("link");
    symlink(vault.data(), &link).unwrap();
    named(&link.join("inner.key"));
    refused("a link to the directory");
    let to_key = vault.directory().join("to.key");
    symlink(&inside, &to_key).unwrap();
    named(&to_key);
    refused("a link to the key");
    // As with a credential that systemd loads from there.
    named(&vault.master_key());
    refused("another file with a key");
    fs::remove_file(&inside).unwrap();
    check(&vault).with_code(0);
}

#[test]
fn init_makes_no_key_in_the_data_directory() {
    let directory = Directory::new();
    let place = directory.path().display();
    let settings = |key: &str| {
        let text = format!(
            "data_directory = \"{place}/data\"\n[tls]\ncertificate = \"/c\"\nprivate_key = \"/k\"\n\
             [master_key]\n{key}\n"
        );
        directory.write("c.toml", text, 0o600)
    };
    let config = settings(&format!("file = \"{place}/data/master.key\""));
    let ended = run(&["init", "--config", config.to_str().unwrap()]).with_code(78);
    assert!(ended.stderr.contains("inside the data directory"), "{}", ended.stderr);
    assert!(!directory.join("data").exists());
    let config = settings("credential = \"master.key\"");
    let init = ["init", "--config", config.to_str().unwrap(), "--master-key"];
    let key = directory.join("data/master.key");
    run(&[&init[..], &[key.to_str().unwrap()]].concat()).with_code(78);
    assert!(!directory.join("data").exists());
    // Before the vault exists, its directory and its key are no mistake.
    let said = run(&["check", "--config", config.to_str().unwrap()]).with_code(78).stdout;
    assert!(said.contains("unknown  master_key.credential"), "{said}");
    assert!(said.contains("warning  data_directory"), "{said}");
}

#[test]
fn a_development_vault_keeps_its_key_and_a_new_key_is_not_put_beside_the_data() {
    let mut vault = Vault::start();
    assert!(vault.data().join("master.key").is_file());
    let text = fs::read_to_string(vault.config()).unwrap();
    let line = format!("file = \"{}\"", vault.master_key().display());
    let text = text.replace(&line, "credential = \"master.key\"");
    let config = vault.directory().write("credential.toml", text, 0o600);
    let out = vault.data().join("new.key");
    let rotate = ["key", "rotate", "--master", "--config", config.to_str().unwrap(), "--out"];
    let ended = run(&[&rotate[..], &[out.to_str().unwrap()]].concat()).with_code(78);
    assert!(ended.stderr.contains("inside the data directory"), "{}", ended.stderr);
    assert!(!out.exists());
    vault.stop_and_restart();
}

#[test]
fn the_file_of_a_databases_url_is_checked_and_nothing_of_it_is_shown() {
    needs_data_file!("its settings have an engine of their own");
    let vault = installed();
    let url = "postgres://vault:hunter2@db.example/vault";
    let file = vault.directory().write("check.url", url, 0o600);
    let ca = vault.data().join("ca.pem");
    vault.set(&format!(
        "engine.kind = \"postgres\"\nengine.url_file = \"{}\"\nengine.ca_file = \"{}\"",
        file.display(),
        ca.display()
    ));
    let said = check(&vault).with_code(0).stdout;
    assert_eq!(states(&vault, "engine.url_file"), ["ok"]);
    assert_eq!(states(&vault, "engine.ca_file"), ["ok"]);
    assert!(said.contains("which was not asked"), "{said}");
    // The rows are in the database, so a data directory without a data file is right.
    assert!(states(&vault, "disk.floor").is_empty());
    for (text, mode) in [(url, 0o644), ("mysql://vault:hunter2@db.example/vault", 0o600)] {
        vault.directory().write("check.url", text, mode);
        let ended = check(&vault).with_code(77);
        assert_eq!(states(&vault, "engine.url_file"), ["wrong"]);
        let said = format!("{}{}{}", said, ended.stdout, ended.stderr);
        assert!(!said.contains("hunter2"), "{said}");
    }
    fs::remove_file(&file).unwrap();
    check(&vault).with_code(78);
}

#[test]
fn a_databases_url_in_the_settings_is_refused_and_not_shown() {
    needs_data_file!("its settings have an engine of their own");
    let vault = installed();
    vault.set("engine.kind = \"postgres\"\nengine.url = \"postgres://vault:hunter2@db/vault\"");
    let ended = check(&vault).with_code(78);
    let said = format!("{}{}", ended.stdout, ended.stderr);
    assert!(said.contains("engine.url_file"), "{said}");
    assert!(!said.contains("hunter2"), "{said}");
}

#[test]
fn a_pipe_in_place_of_a_file_is_refused_without_waiting_for_a_writer() {
    needs_data_file!("its settings have an engine of their own");
    let vault = installed();
    for name in ["certificate.pem", "certificate.key"] {
        let (path, away) = (vault.data().join(name), vault.directory().join("away"));
        fs::rename(&path, &away).unwrap();
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let ended = check(&vault);
        assert!(matches!(ended.code, Some(77 | 78)), "{name}: {ended:?}");
        let refused = vault.operator(&["serve"]);
        assert!(matches!(refused.code, Some(77 | 78)), "{name}: {refused:?}");
        assert!(refused.stderr.contains("not a regular file"), "{name}: {}", refused.stderr);
        fs::remove_file(&path).unwrap();
        fs::rename(&away, &path).unwrap();
    }
    check(&vault).with_code(0);
    let url = vault.directory().write("check.url", "postgres://vault@db.example/vault", 0o600);
    let pipe = vault.directory().join("ca.pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    vault.set(&format!(
        "engine.kind = \"postgres\"\nengine.url_file = \"{}\"\nengine.ca_file = \"{}\"",
        url.display(),
        pipe.display()
    ));
    let ended = check(&vault);
    assert!(matches!(ended.code, Some(77 | 78)), "{ended:?}");
}

/// Other users of the machine need the CA of a development vault, and none of its keys.
#[test]
fn the_modes_of_a_development_vaults_files_do_not_follow_the_umask() {
    for umask in ["000", "077"] {
        let directory = Directory::new();
        let data = directory.join("data");
        let command = format!(
            "umask {umask}; exec \"$0\" dev --data '{}' --listen 127.0.0.1:0 --json",
            data.display()
        );
        let mut server = Command::new("sh");
        server.args(["-c", &command]).arg(program()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut server = server.spawn().unwrap();
        wait_until("the keys, which are written last", || data.join("keys.json").exists());
        let mode = |name| fs::metadata(data.join(name)).unwrap().permissions().mode() & 0o777;
        let modes = ["ca.pem", "certificate.pem", "certificate.key", "keys.json"].map(mode);
        server.kill().unwrap();
        server.wait().unwrap();
        assert_eq!(modes, [0o644, 0o644, 0o600, 0o600], "{umask}");
    }
}
