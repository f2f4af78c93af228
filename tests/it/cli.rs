//! The command line: its help, its exit codes, and that no failure harms the vault.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::json;

use crate::harness::{Directory, Running, Vault, needs_data_file, on_postgres, run};
use crate::tidy::documents::subcommands;

#[test]
fn every_command_describes_itself() {
    let mut commands: Vec<Vec<String>> = vec![Vec::new()];
    let mut count = 0;
    while let Some(command) = commands.pop() {
        let words: Vec<_> = command.iter().map(String::as_str).collect();
        let help = run(&[&words[..], &["--help"]].concat()).with_code(0);
        let described = help.stdout.split("\n\n").nth(1).unwrap_or_default();
        assert!(described.contains(' '), "{command:?}: {}", help.stdout);
        assert!(help.stdout.starts_with("Usage: strongroom") && help.stderr.is_empty());
        let below = subcommands(&words).into_iter();
        commands.extend(below.map(|name| [command.as_slice(), &[name]].concat()));
        count += 1;
    }
    assert!(count > 30, "{count} commands");
}

#[test]
fn the_help_names_the_exit_codes_and_the_version_is_told() {
    let help = run(&["--help"]).with_code(0);
    for code in ["64", "65", "69", "70", "74", "77", "78"] {
        assert!(help.stdout.contains(code), "{code}");
    }
    let version = run(&["version"]).with_code(0);
    assert_eq!(run(&["--version"]).with_code(0).stdout, version.stdout);
    assert_eq!(version.stdout, format!("strongroom {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_wrong_usage_ends_with_64_and_says_what_is_wrong() {
    let wrong: [&[&str]; 14] = [
        &[],
        &["no-such-command"],
        &["serve"],
        &["serve", "--no-such-flag"],
        &["serve", "--config"],
        &["tenant"],
        &["tenant", "create", "--config", "/none"],
        &["dev", "--listen", "nowhere"],
        &["dev", "--rate-limits", "maybe"],
        &["dev", "--tenant-type", "robot"],
        &["dev", "--quota", "tokenize_limit"],
        &["verify"],
        &["dev-clock", "advance", "soon"],
        &["dev-clock", "advance", "-1"],
    ];
    for arguments in wrong {
        let ended = run(arguments).with_code(64);
        assert!(!ended.stderr.is_empty() && ended.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_wrong_settings_file_is_told_with_every_mistake() {
    let directory = Directory::new();
    let text = "data_directory = \"here\"\nlisten = [\"x\"]\ncolour = 1\n[tls]\ncertificate = 1\n";
    let config = directory.write("c.toml", text, 0o600);
    let config = config.to_str().unwrap();
    for command in ["check", "serve", "init"] {
        let ended = run(&[command, "--config", config]).with_code(78);
        for place in
            ["data_directory", "listen[0]", "tls.certificate", "tls.private_key", "colour", config]
        {
            assert!(ended.stderr.contains(place), "{place}: {}", ended.stderr);
        }
    }
    run(&["check", "--config", "/no/such/file"]).with_code(78);
    directory.write("c.toml", b"\xff\xfe", 0o600);
    run(&["check", "--config", config]).with_code(78);
    directory.write("c.toml", "a = ", 0o600);
    run(&["check", "--config", config]).with_code(78);
}

/// Breaks a stopped vault, checks the exit codes, mends it and checks that it is whole.
#[track_caller]
fn check_broken(code: i32, spoil: impl Fn(&Path)) {
    let mut vault = Vault::start();
    let id = vault.token(json!({"type": "token", "data": "kept"}));
    assert_eq!(vault.stop(), Some(0));
    vault.move_key_out();
    let (data, spare) = (vault.data(), vault.directory().join("spare"));
    copy(&data, &spare);
    let kept = fs::read(vault.master_key()).unwrap();
    spoil(&data);
    // `None` for rows in a database, which the verification at the end looks at.
    let file = |place: &Path| fs::read(place.join("strongroom.redb")).ok();
    assert_eq!(file(&spare).is_none(), on_postgres());
    let spoiled = file(&data);
    let (place, config) = (vault.data(), vault.config());
    let (place, config) = (place.to_str().unwrap(), config.to_str().unwrap());
    let key = format!("{place}/master.key");
    run(&["dev", "--data", place, "--listen", "127.0.0.1:0"]).with_code(code);
    run(&["verify", "--data", place, "--master-key", &key]).with_code(code);
    let ended = run(&["serve", "--config", config]).with_code(code);
    let around = vault.directory().path().to_str().unwrap();
    assert!(ended.stderr.contains("strongroom: ") && ended.stderr.contains(around));
    run(&["tenant", "list", "--config", config]).with_code(code);
    if spoiled != file(&spare) {
        assert!(file(&data) == spoiled, "a file that is not understood is left alone");
    } else if spoiled.is_some() {
        // The file was not what was wrong: it stays, to show that the attempts did it no harm.
        fs::rename(data.join("strongroom.redb"), spare.join("strongroom.redb")).unwrap();
    }
    fs::remove_dir_all(&data).unwrap();
    fs::rename(&spare, &data).unwrap();
    vault.directory().write("master.key", kept, 0o400);
    vault.verify().with_code(0);
    vault.restart();
    vault.read(&id).with_status(200);
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    fs::set_permissions(to, fs::Permissions::from_mode(0o700)).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Follows links: the master key is outside of the data directory.
fn replace(path: &Path, bytes: &[u8], mode: u32) {
    let path = fs::canonicalize(path).unwrap();
    fs::remove_file(&path).unwrap();
    fs::write(&path, bytes).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn the_master_key_of_another_vault_is_refused_with_77() {
    let other = Vault::start();
    let key = fs::read(other.data().join("master.key")).unwrap();
    check_broken(77, |data| replace(&data.join("master.key"), &key, 0o400));
}

#[test]
fn a_master_key_that_is_none_is_refused_with_77() {
    check_broken(77, |data| replace(&data.join("master.key"), b"not a key\n", 0o400));
    check_broken(77, |data| replace(&data.join("master.key"), &[b'0'; 5_000], 0o400));
    check_broken(77, |data| fs::remove_file(data.join("../master.key")).unwrap());
}

#[test]
fn a_master_key_that_others_can_read_is_refused_with_77() {
    let open = |data: &Path, mode: u32| {
        let path = data.join("master.key");
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    check_broken(77, |data| open(data, 0o440));
    check_broken(77, |data| open(data, 0o404));
}

#[test]
fn a_data_directory_that_is_open_to_others_is_refused_with_77() {
    check_broken(77, |data| {
        fs::set_permissions(data, fs::Permissions::from_mode(0o750)).unwrap();
    });
}

#[test]
fn a_data_file_that_is_cut_short_is_refused_with_65_and_left_alone() {
    needs_data_file!("it replaces the file");
    for length in [0, 1, 320, 4_096, 40_000, usize::MAX] {
        check_broken(65, |data| {
            let bytes = fs::read(data.join("strongroom.redb")).unwrap();
            // The last one cuts off less than a page, however large the file is.
            let length = length.min(bytes.len() - 1_000);
            replace(&data.join("strongroom.redb"), &bytes[..length], 0o600);
        });
    }
}

#[test]
fn a_data_file_of_another_program_is_refused_with_65_and_left_alone() {
    needs_data_file!("it replaces the file");
    let text = b"SQLite format 3\0".repeat(1_000);
    check_broken(65, |data| replace(&data.join("strongroom.redb"), &text, 0o600));
}

#[test]
fn a_certificate_that_is_none_is_refused_with_78() {
    let other = Vault::start();
    let key = fs::read(other.data().join("certificate.key")).unwrap();
    let mut vault = Vault::start();
    vault.stop();
    vault.move_key_out();
    let (data, config) = (vault.data(), vault.config());
    let config = config.to_str().unwrap();
    let spoiled: [(&str, &[u8]); 4] = [
        ("certificate.pem", b"nonsense"),
        ("certificate.pem", b""),
        ("certificate.key", b"nonsense"),
        ("certificate.key", &key),
    ];
    for (name, bytes) in spoiled {
        let good = fs::read(data.join(name)).unwrap();
        replace(&data.join(name), bytes, 0o600);
        let ended = run(&["serve", "--config", config]).with_code(78);
        assert!(ended.stderr.contains("certificate"), "{}", ended.stderr);
        replace(&data.join(name), &good, 0o600);
    }
    fs::remove_file(data.join("certificate.pem")).unwrap();
    run(&["serve", "--config", config]).with_code(78);
    vault.verify().with_code(0);
}

#[test]
fn a_certificates_key_that_everybody_can_read_is_refused_with_77() {
    let mut vault = Vault::start();
    vault.stop();
    vault.move_key_out();
    let config = vault.config();
    let key = vault.data().join("certificate.key");
    let bytes = fs::read(&key).unwrap();
    replace(&key, &bytes, 0o644);
    let ended = run(&["serve", "--config", config.to_str().unwrap()]).with_code(77);
    for word in ["certificate.key", "0644", "chmod 0400"] {
        assert!(ended.stderr.contains(word), "{}", ended.stderr);
    }
}

#[test]
fn a_port_that_is_taken_ends_the_start_with_69() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut vault = Vault::start();
    vault.stop();
    let data = vault.data();
    let ended = run(&["dev", "--data", data.to_str().unwrap(), "--listen", &address]);
    assert!(ended.with_code(69).stderr.contains(&address));
    vault.verify().with_code(0);
    vault.restart();
    vault.get("/permissions", &vault.keys.private).with_status(200);
}

#[test]
fn a_second_process_on_the_same_data_is_refused_with_69_and_does_no_harm() {
    let mut vault = Vault::start();
    vault.move_key_out();
    let (data, config) = (vault.data(), vault.config());
    let (place, config) = (data.to_str().unwrap(), config.to_str().unwrap());
    let key = format!("{place}/master.key");
    run(&["dev", "--data", place, "--listen", "127.0.0.1:0"]).with_code(69);
    run(&["serve", "--config", config]).with_code(69);
    // Commands may open a database that a server uses.
    let code = if on_postgres() { 0 } else { 69 };
    run(&["verify", "--data", place, "--master-key", &key]).with_code(code);
    run(&["dev-preload", "--data", place, "--tokens", "1"]).with_code(code);
    // The first one still hears its operator.
    vault.operator(&["tenant", "list", "--json"]).json();
    vault.token(json!({"type": "token", "data": 1}));
    vault.stop_and_verify();
}

#[test]
fn a_development_vault_never_takes_a_directory_that_holds_something_else() {
    let directory = Directory::new();
    let theirs = directory.write("letter.txt", "dear reader", 0o644);
    let place = directory.path().to_str().unwrap();
    let ended = run(&["dev", "--data", place, "--listen", "127.0.0.1:0"]).with_code(65);
    assert!(ended.stderr.contains("letter.txt"), "{}", ended.stderr);
    assert_eq!(fs::read_to_string(theirs).unwrap(), "dear reader");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    let deep = format!("{place}/none/deep");
    run(&["dev", "--data", &deep, "--listen", "127.0.0.1:0"]).with_code(78);
}

#[test]
fn a_development_vault_keeps_its_type() {
    let mut vault = Vault::start();
    vault.stop();
    let data = vault.data();
    let other = ["--listen", "127.0.0.1:0", "--tenant-type", "production"];
    let ended = run(&[&["dev", "--data", data.to_str().unwrap()], &other[..]].concat());
    ended.with_code(65);
    vault.restart();
}

#[test]
fn an_interrupted_first_start_is_made_anew() {
    let directory = Directory::new();
    let data = directory.join("data");
    fs::create_dir(&data).unwrap();
    for name in ["dev.unfinished", "master.key", "ca.pem", "strongroom.redb"] {
        fs::write(data.join(name), "half").unwrap();
    }
    let place = data.to_str().unwrap();
    let arguments = ["dev", "--data", place, "--listen", "127.0.0.1:0", "--json"];
    let mut server = Running::start(&arguments, &directory.join("log"));
    assert!(server.line().unwrap().contains("\"ready\":true"));
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn dev_removes_nothing_that_it_did_not_begin() {
    let directory = Directory::new();
    let data = directory.join("data");
    fs::create_dir(&data).unwrap();
    for (name, others) in [("strongroom.redb", true), ("cvc.keys", true), ("dev.unfinished", false)]
    {
        fs::write(data.join(name), name).unwrap();
        if !others {
            // Even what is begun is left alone beside something else.
            fs::write(data.join("operator.sock"), "").unwrap();
        }
        let place = data.to_str().unwrap();
        run(&["dev", "--data", place, "--listen", "127.0.0.1:0"]).with_code(65);
        assert_eq!(fs::read_to_string(data.join("strongroom.redb")).unwrap(), "strongroom.redb");
    }
    assert!(data.join("cvc.keys").exists());
}

#[test]
fn a_signal_ends_a_server_with_0_and_leaves_no_socket() {
    for signal in ["TERM", "INT"] {
        let mut vault = Vault::start();
        assert!(vault.data().join("operator.sock").exists());
        vault.token(json!({"type": "token", "data": 1}));
        vault.signal(signal);
        assert_eq!(vault.wait(), Some(0), "{signal}");
        assert!(!vault.data().join("operator.sock").exists());
        vault.verify().with_code(0);
    }
}

#[test]
fn people_read_how_to_use_a_development_vault_and_that_it_is_one() {
    let directory = Directory::new();
    let data = directory.join("data");
    let arguments = ["dev", "--data", data.to_str().unwrap(), "--listen", "127.0.0.1:0"];
    let mut server = Running::start(&arguments, &directory.join("log"));
    let mut text = String::new();
    while let Some(line) = server.line() {
        text.push_str(&line);
        if line.contains("Ctrl-C") {
            break;
        }
    }
    for part in ["https://127.0.0.1:", "ca.pem", "key_test_self_pvt_", "curl --cacert"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(server.log().contains("WARNING"));
}

#[test]
fn settings_and_backups_that_are_no_files_of_ours_are_refused_in_time() {
    let directory = Directory::new();
    let refused = run(&["check", "--config", "/dev/zero"]).with_code(78).stderr;
    assert!(refused.contains("not a regular file"), "{refused}");
    let large = directory.write("large.toml", "#".repeat(1_048_577), 0o600);
    let refused = run(&["check", "--config", large.to_str().unwrap()]).with_code(78).stderr;
    assert!(refused.contains("more than 1048576 bytes"), "{refused}");
    let pipe = directory.join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    run(&["verify", pipe.to_str().unwrap()]).with_code(65);
    let refused = run(&["check", "--config", pipe.to_str().unwrap()]).with_code(78).stderr;
    assert!(refused.contains("not a regular file"), "{refused}");
}
