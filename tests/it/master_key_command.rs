//! The master key comes from a program, as that of an HSM or a KMS: who may change the program, what
//! it gets, and what becomes of each of its ends.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::json;

use crate::archive::{Archived, text};
use crate::harness::{
    Directory, Ended, PATIENCE, Running, Vault, needs_data_file, output_of, run, wait_until,
};

/// Passes standard input on as the first inherited socket, with a further descriptor and a variable
/// that the program must not get.
const HAND_OVER: &str = r#"exec 3<&0 5</etc/passwd </dev/null
export LISTEN_FDS=1 LISTEN_PID=$$ SECRET_OF_THE_SHELL=1
exec "$@""#;

/// Makes a program of a shell script. Another process writes its file: a descriptor of this one
/// would be open for a moment in each process that another test starts, and a file that is open for
/// writing cannot be run.
fn program(directory: &Directory, name: &str, script: &str) -> PathBuf {
    let source =
        directory.write(&format!("{name}.source"), format!("#!/bin/sh\n{script}\n"), 0o600);
    let path = directory.join(name);
    let mut install = Command::new("install");
    let made = output_of(install.args(["-m", "0755"]).arg(source).arg(&path));
    assert!(made.status.success(), "{made:?}");
    path
}

/// Settings like `settings` in which a program takes the place of the master key's file.
fn with_command(settings: &str, words: &[&str], more: &str) -> String {
    let lines = settings.lines().map(|line| {
        if line.starts_with("file = ") {
            format!("command = {}\n{more}", json!(words))
        } else {
            String::from(line)
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A stopped vault whose settings name a program, and the number of times that it has run.
pub(crate) struct Commanded {
    pub(crate) vault: Vault,
}

impl Commanded {
    /// The program prints the vault's key, and then `script` runs.
    pub(crate) fn new(script: &str) -> Self {
        let mut vault = Vault::start();
        assert_eq!(vault.stop(), Some(0));
        let place = vault.directory();
        // The key is moved out, so that nothing else finds it.
        fs::rename(vault.data().join("master.key"), place.join("kept.key")).unwrap();
        let script =
            format!("echo run >> {0}/runs; cat {0}/kept.key\n{script}", place.path().display());
        let path = program(place, "get-key", &script);
        let commanded = Self { vault };
        commanded.use_command(&[text(&path)], "");
        commanded
    }

    fn use_command(&self, words: &[&str], more: &str) {
        let settings = fs::read_to_string(self.vault.config()).unwrap();
        let settings = settings.lines().filter(|line| !line.starts_with("command"));
        let settings = settings.collect::<Vec<_>>().join("\n");
        let settings = if settings.contains("\nfile = ") {
            settings
        } else {
            settings.replace("[master_key]", "[master_key]\nfile = \"\"")
        };
        let settings = with_command(&settings, words, more);
        self.vault.directory().write("strongroom.toml", settings, 0o600);
    }

    pub(crate) fn runs(&self) -> usize {
        let runs = fs::read_to_string(self.vault.directory().join("runs")).unwrap_or_default();
        fs::remove_file(self.vault.directory().join("runs")).ok();
        runs.lines().count()
    }

    fn verify(&self) -> Ended {
        self.vault.operator(&["verify"])
    }
}

#[test]
fn the_server_runs_the_program_once_and_gives_it_nothing() {
    let mut commanded = Commanded::new("");
    let place = commanded.vault.directory().path().display().to_string();
    let script = format!(
        r#"tr '\0' '\n' </proc/$$/environ >{place}/environment
        for number in 3 4 5 6 7 8 9; do
            if [ -e /proc/$$/fd/$number ]; then echo $number; fi
        done >{place}/descriptors
        readlink /proc/$$/cwd /proc/$$/fd/0 >{place}/places
        cut -d ' ' -f 5 /proc/$$/stat >{place}/group; echo $$ >>{place}/group
        printf '%s\n' "$@" >{place}/arguments
        echo run >>{place}/runs
        echo 'the slot is nearly full' >&2
        cat {place}/kept.key"#
    );
    let path = program(commanded.vault.directory(), "curious", &script);
    commanded.use_command(&[text(&path), "one two", "--three"], "");
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let log = commanded.vault.directory().join("service.log");
    let (mut server, address) = Running::serve_under(
        HAND_OVER,
        socket.try_clone().unwrap().into(),
        &[("HOME", "/root")],
        &commanded.vault.config(),
        &log,
    );
    // The socket that was handed over is not one of the descriptors that were closed.
    assert_eq!(address, Some(socket.local_addr().unwrap()), "{}", server.log());
    commanded.vault.address = socket.local_addr().unwrap();
    commanded.vault.token(json!({"type": "token", "data": "stored"}));
    let found = |name: &str| {
        let text = fs::read_to_string(commanded.vault.directory().join(name)).unwrap();
        text.lines().map(String::from).collect::<Vec<_>>()
    };
    let mut environment = found("environment");
    environment.sort();
    assert_eq!(environment, ["LANG=C", "PATH=/usr/bin:/bin"]);
    assert_eq!(found("descriptors"), Vec::<String>::new());
    assert_eq!(found("places"), ["/", "/dev/null"]);
    assert_eq!(found("arguments"), ["one two", "--three"]);
    let group = found("group");
    assert_eq!(group[0], group[1], "the program has a process group of its own");
    let complaint = format!("strongroom: {}: the slot is nearly full", path.display());
    assert!(server.log().lines().any(|line| line == complaint), "{}", server.log());
    let key = fs::read_to_string(commanded.vault.directory().join("kept.key")).unwrap();
    assert!(!server.log().contains(key.trim()));
    assert_eq!(server.terminate(), Some(0));
    assert_eq!(commanded.runs(), 1);
}

#[test]
fn commands_on_a_stopped_vault_run_the_program_once_each() {
    let commanded = Commanded::new("");
    let place = commanded.vault.directory();
    let backup = place.join("a.backup");
    let shares = place.join("shares");
    let commands: [&[&str]; 5] = [
        &["verify"],
        &["tenant", "list"],
        &["backup", text(&backup)],
        &["key", "shares", "--scheme", "2-of-3", "--directory", text(&shares)],
        &["key", "list"],
    ];
    for command in commands {
        commanded.vault.operator(command).with_code(0);
        assert_eq!(commanded.runs(), 1, "{command:?}");
    }
    assert_eq!(fs::read_dir(&shares).unwrap().count(), 3);
    let config = commanded.vault.config();
    run(&["verify", "--config", text(&config), text(&backup)]).with_code(0);
    assert_eq!(commanded.runs(), 1);
    // A running server has the key: its commands need no program.
    let (mut server, _) = Running::serve(&config, &place.join("service.log"));
    assert_eq!(commanded.runs(), 1);
    commanded.vault.operator(&["tenant", "list"]).with_code(0);
    assert_eq!(commanded.runs(), 0);
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn every_bad_end_of_the_program_is_77_with_its_name_and_without_its_output() {
    let commanded = Commanded::new("");
    let place = commanded.vault.directory();
    let digits = "abcdef0123456789".repeat(4);
    for (script, wanted) in [
        (format!("echo {digits}; exit 3"), "it ended with the code 3"),
        (format!("echo {digits}; kill -KILL $$"), "signal 9 ended it"),
        (format!("echo {digits}; exec sleep 600"), "it did not end within 1 seconds"),
        (format!("while :; do echo {digits}; done"), "it printed more than 4096 bytes"),
        (format!("while :; do echo {digits} >&2; done"), "it did not end within 1 seconds"),
        (format!("echo {digits}0"), "what it printed is not a master key"),
        (format!("echo key: {digits}"), "what it printed is not a master key"),
        (String::from("exit 0"), "what it printed is not a master key"),
        (format!("set -x; true {digits}; exit 1"), "it ended with the code 1"),
        (format!("echo {digits}"), "this master key belongs to another vault"),
    ] {
        let path = program(place, "bad", &script);
        commanded.use_command(&[text(&path)], "command_timeout = \"1s\"");
        let config = commanded.vault.config();
        for command in ["verify", "serve"] {
            let begun = Instant::now();
            let ended = run(&[command, "--config", text(&config)]).with_code(77);
            assert!(begun.elapsed() < PATIENCE / 2, "{script}");
            assert!(ended.stderr.contains(wanted), "{script}: {}", ended.stderr);
            let names_program = ended.stderr.contains(text(&path));
            assert!(names_program || wanted.contains("another vault"), "{}", ended.stderr);
            assert!(!ended.stderr.contains(&digits), "{script}: {}", ended.stderr);
        }
    }
}

#[test]
fn nothing_that_the_program_started_outlives_it() {
    let commanded = Commanded::new("");
    let place = commanded.vault.directory();
    let home = place.path().display();
    // The first child keeps the pipe open, the second one is behind a program that hangs.
    for (script, code, more) in [
        (format!("sleep 600 & echo $! >{home}/child; cat {home}/kept.key"), 0, ""),
        (format!("sleep 600 & echo $! >{home}/child; wait"), 77, "command_timeout = \"1s\""),
    ] {
        let path = program(place, "parent", &script);
        commanded.use_command(&[text(&path)], more);
        let begun = Instant::now();
        commanded.verify().with_code(code);
        assert!(begun.elapsed() < PATIENCE / 2, "{script}");
        let child = fs::read_to_string(place.join("child")).unwrap();
        let stat = Path::new("/proc").join(child.trim()).join("stat");
        wait_until("the end of the child", || {
            // The state of a process that ended, and whose parent has not read its exit code yet.
            fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "))
        });
    }
}

#[test]
fn a_program_that_others_could_change_is_not_run() {
    let commanded = Commanded::new("");
    let place = commanded.vault.directory();
    let inner = place.join("inner");
    fs::create_dir(&inner).unwrap();
    let good = inner.join("get-key");
    fs::rename(place.join("get-key"), &good).unwrap();
    let linked = place.join("linked");
    symlink(&good, &linked).unwrap();
    let set = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let check = |path: &Path, wanted: Option<&str>| {
        commanded.use_command(&[text(path)], "");
        let Some(wanted) = wanted else {
            commanded.verify().with_code(0);
            assert_eq!(commanded.runs(), 1);
            return;
        };
        let ended = commanded.verify().with_code(77);
        assert!(ended.stderr.contains(wanted), "{}", ended.stderr);
        assert_eq!(commanded.runs(), 0, "{}", ended.stderr);
    };
    for path in [&good, &linked] {
        for (file, directory, wanted) in [
            (0o755, 0o755, None),
            (0o500, 0o700, None),
            (0o775, 0o755, Some("other users can write to")),
            (0o757, 0o755, Some("other users can write to")),
            (0o755, 0o775, Some("other users can write to")),
            (0o755, 0o777, Some("other users can write to")),
            // Nobody can replace another user's file in such a directory.
            (0o755, 0o1777, None),
            (0o644, 0o755, Some("is not a program")),
        ] {
            set(&good, file);
            set(&inner, directory);
            check(path, wanted);
        }
    }
    set(&good, 0o755);
    set(&inner, 0o755);
    check(&inner, Some("is not a program"));
    check(&place.join("missing"), Some("No such file or directory"));
    // Only root can give a file away.
    if std::os::unix::fs::chown(&good, Some(65_534), None).is_ok() {
        check(&good, Some("belongs to another user"));
    }
}

#[test]
fn a_vault_is_made_with_the_key_that_the_program_prints() {
    needs_data_file!("init needs an empty database");
    let commanded = Commanded::new("");
    let place = commanded.vault.directory();
    let data = place.join("second");
    let settings = fs::read_to_string(commanded.vault.config()).unwrap();
    let own = commanded.vault.data();
    let settings = settings.replacen(text(&own), text(&data), 1);
    let config = place.write("second.toml", settings, 0o600);
    let key = place.join("unwanted.key");
    let init = ["init", "--config", text(&config)];
    let refused = run(&[&init[..], &["--master-key", text(&key)]].concat()).with_code(64);
    assert!(refused.stderr.contains("omit --master-key"), "{}", refused.stderr);
    assert!(!key.exists() && !data.exists());
    let shares = place.join("shares");
    let more = ["--recovery-shares", "2-of-3", "--shares-directory", text(&shares)];
    let made = run(&[&init[..], &more].concat()).with_code(0).stdout;
    assert!(made.contains("printed by"), "{made}");
    assert_eq!(commanded.runs(), 1);
    run(&["verify", "--config", text(&config)]).with_code(0);
    // The shares are those of the program's key.
    let recovered = place.join("recovered.key");
    let mut recover = vec!["key", "recover", "--config", text(&config), "--out", text(&recovered)];
    let files: Vec<_> = fs::read_dir(&shares).unwrap().map(|it| it.unwrap().path()).collect();
    for file in files.iter().take(2) {
        recover.extend(["--share", text(file)]);
    }
    run(&recover).with_code(0);
    assert_eq!(fs::read(recovered).unwrap(), fs::read(place.join("kept.key")).unwrap());
}

#[test]
fn a_new_master_key_goes_to_a_file_and_the_program_has_to_print_it_next() {
    for is_running in [true, false] {
        let commanded = Commanded::new("");
        let place = commanded.vault.directory();
        let config = commanded.vault.config();
        let server = is_running.then(|| Running::serve(&config, &place.join("service.log")).0);
        let refused = commanded.vault.operator(&["key", "rotate", "--master"]).with_code(64);
        assert!(refused.stderr.contains("--out FILE"), "{}", refused.stderr);
        let new = place.join("new.key");
        let rotate = ["key", "rotate", "--master", "--out", text(&new)];
        let told = commanded.vault.operator(&rotate).with_code(0).stdout;
        assert!(told.contains("get-key") && told.contains(text(&new)), "{told}");
        if let Some(mut server) = server {
            assert_eq!(server.terminate(), Some(0));
        }
        let old = commanded.verify().with_code(77);
        assert!(old.stderr.contains("replaced by a rotation"), "{}", old.stderr);
        fs::rename(&new, place.join("kept.key")).unwrap();
        commanded.verify().with_code(0);
    }
}

#[test]
fn a_standby_does_not_run_the_program_at_each_look() {
    needs_data_file!("a standby follows its log");
    let archived = Archived::start();
    let place = archived.vault.directory();
    let home = place.path().display();
    let key = archived.vault.data().join("master.key");
    let script = format!("echo run >>{home}/runs; cat {}", key.display());
    let path = program(place, "get-key", &script);
    let settings = fs::read_to_string(archived.vault.config()).unwrap();
    let own = archived.vault.data();
    let settings = settings.replacen(text(&own), text(&place.join("standby")), 1);
    let config = place.write("standby.toml", with_command(&settings, &[text(&path)], ""), 0o600);
    let log = place.join("standby.log");
    let mut standby =
        Running::start(&["follow", "--config", text(&config), text(&archived.backup)], &log);
    for round in 1..=3 {
        archived.token("value");
        wait_until(&format!("changes arrive {round} times"), || {
            let log = fs::read_to_string(&log).unwrap_or_default();
            log.matches("\"event\":\"followed\"").count() >= round
        });
    }
    assert_eq!(standby.terminate(), Some(0));
    assert_eq!(fs::read_to_string(place.join("runs")).unwrap().lines().count(), 1);
}
