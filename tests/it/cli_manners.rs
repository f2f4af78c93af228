//! The manners of the command line and of refusals: help, proposals, JSON, units, exit codes, texts.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::harness::{Directory, Ended, Vault, on_postgres, only_rule, output_of, run};

/// A command with these variables, and without those of a service manager.
fn run_with(variables: &[(&str, &Path)], arguments: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_strongroom"));
    command.args(arguments).env_remove("CREDENTIALS_DIRECTORY").env_remove("STRONGROOM_CONFIG");
    command.envs(variables.iter().copied());
    output_of(&mut command).into()
}

#[test]
fn help_is_shown_in_every_way_that_people_ask_for_it() {
    let wanted = run(&["tenant", "create", "--help"]).with_code(0).stdout;
    assert!(wanted.contains("Create a tenant") && wanted.contains("--help, -h"), "{wanted}");
    let ways: [&[&str]; 4] = [
        &["tenant", "create", "-h"],
        &["help", "tenant", "create"],
        &["tenant", "create", "--name", "x", "-h", "--type", "y"],
        &["-h", "tenant", "create"],
    ];
    for way in ways {
        assert_eq!(run(way).with_code(0).stdout, wanted, "{way:?}");
    }
    let group = run(&["tenant", "--help"]).with_code(0).stdout;
    let incomplete = run(&["tenant"]).with_code(64);
    assert_eq!((incomplete.stdout.as_str(), incomplete.stderr), ("", group));
    for version in [&["--version"][..], &["-V"], &["version"]] {
        assert!(run(version).with_code(0).stdout.starts_with("strongroom "));
    }
    assert_eq!(run(&["-V", "--json"]).json(), json!({"version": env!("CARGO_PKG_VERSION")}));
}

#[test]
fn a_mistake_is_answered_with_a_proposal_and_repeats_no_value() {
    for (line, proposal) in [
        ("tenatn create --name s3cret", "strongroom tenant\n"),
        ("tenant craete --name s3cret", "strongroom tenant create\n"),
        ("tenant create --nmae=s3cret", "--name\n"),
        ("status s3cret", "strongroom status --help\n"),
        ("key destroy --number s3cret", "strongroom key destroy --help\n"),
    ] {
        let ended = run(&line.split(' ').collect::<Vec<_>>()).with_code(64);
        assert!(ended.stderr.ends_with(&format!("try:   {proposal}")), "{line}: {}", ended.stderr);
        assert!(!ended.stderr.contains("s3cret"), "{line}: {}", ended.stderr);
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_strongroom"));
    command.args([OsStr::new("verify"), OsStr::from_bytes(b"/tmp/\xff.backup")]);
    let ended = Ended::from(output_of(&mut command)).with_code(64);
    assert!(ended.stderr.contains("not UTF-8"), "{}", ended.stderr);
}

#[test]
fn the_settings_are_found_by_the_variable_and_a_value_follows_an_equals_sign() {
    let vault = Vault::start();
    let (config, data) = (vault.config(), vault.data());
    let listed = run_with(&[("STRONGROOM_CONFIG", &config)], &["tenant", "list", "--json"]).json();
    let equals = format!("--config={}", config.display());
    assert_eq!(run(&["tenant", "list", &equals, "--json"]).json(), listed);
    let data = format!("--data={}", data.display());
    assert_eq!(run(&["tenant", "list", "--json", &data]).json(), listed);
    // An option names the vault, whatever the variable says.
    let none = vault.directory().join("none.toml");
    assert_eq!(
        run_with(&[("STRONGROOM_CONFIG", &none)], &["tenant", "list", "--json", &data]).json(),
        listed
    );
    let ended = run_with(&[("STRONGROOM_CONFIG", &none)], &["tenant", "list"]).with_code(78);
    assert!(ended.stderr.contains("none.toml"), "{}", ended.stderr);
}

#[test]
fn the_commands_of_the_operator_take_the_directory_of_a_development_vault() {
    let mut vault = Vault::start();
    let (data, tenant) = (vault.data(), vault.tenant_id.clone());
    let on = |arguments: &[&str]| {
        run(&[arguments, &["--data", data.to_str().unwrap(), "--json"]].concat())
    };
    let backup = vault.directory().join("b.backup");
    let commands: [&[&str]; 8] = [
        &["tenant", "list"],
        &["application", "list", "--tenant", &tenant],
        &["webhook", "list", "--tenant", &tenant],
        &["key", "list"],
        &["audit", "verify"],
        &["audit", "receipt"],
        &["key", "rotate", "--server"],
        &["backup", backup.to_str().unwrap()],
    ];
    for command in commands {
        assert!(!on(command).json().is_null(), "{command:?}");
    }
    assert_eq!(on(&["status"]).json()["status"], "ready");
    run(&["dev-clock", "--data", data.to_str().unwrap(), "advance", "1h"]).json();
    // Without a server the command finds the master key of the development vault.
    assert_eq!(vault.stop(), Some(0));
    assert!(
        on(&["tenant", "list"]).json().is_array() || on(&["tenant", "list"]).json().is_object()
    );
    assert_eq!(on(&["verify"]).json()["findings"], json!([]));
    if on_postgres() {
        on(&["compact"]).with_code(64);
    } else {
        let compacted = on(&["compact"]).json();
        assert!(compacted["after_bytes"].as_u64() <= compacted["before_bytes"].as_u64());
    }
    let shares = &vault.directory().text("shares");
    let made = on(&["key", "shares", "--scheme", "2-of-2", "--directory", shares]).json();
    assert_eq!((&made["needed"], &made["total"]), (&json!(2), &json!(2)));
    let files = made["files"].as_array().unwrap().iter().map(|it| it.as_str().unwrap());
    let files: Vec<_> = files.flat_map(|file| ["--share", file]).collect();
    let key = vault.directory().join("recovered.key");
    let recover = ["key", "recover", "--out", key.to_str().unwrap()];
    let recovered = on(&[&recover, files.as_slice()].concat()).json();
    assert_eq!(recovered["checked_with"], "vault");
    on(&["key", "shares", "--scheme", "2-of-2"]).with_code(64);
}

#[test]
fn the_result_of_a_backup_and_of_its_restore_is_json_with_the_facts() {
    let vault = Vault::start();
    vault.token(json!({"type": "token", "data": "one"}));
    let file = &vault.directory().text("b.backup");
    let written = vault.operator(&["backup", file, "--json"]).json();
    assert_eq!(written["file"], *file);
    assert_eq!(written["manifest"]["counts"]["tokens"], 1);
    assert_eq!(written["file_bytes"].as_u64(), fs::metadata(file).ok().map(|it| it.len()));
    let key = vault.data().join("master.key");
    let checked = run(&["verify", file, "--json"]).json();
    assert_eq!((&checked["manifest"], &checked["records"]), (&written["manifest"], &Value::Null));
    let checked = run(&["verify", file, "--key", key.to_str().unwrap(), "--json"]).json();
    assert_eq!((&checked["records"]["tokens"], &checked["findings"]), (&json!(1), &json!([])));
    let place = vault.directory().join("restored");
    let restored = run(&["restore", file, "--data", place.to_str().unwrap(), "--json"]).json();
    assert_eq!(restored["manifest"], written["manifest"]);
    assert!(restored["took_ms"].is_u64() && restored["restored_to"].is_string());
}

#[test]
fn a_failure_with_json_is_an_object_on_standard_error() {
    let directory = Directory::new();
    let file = directory.write("no.backup", "nonsense", 0o600);
    let ended = run(&["verify", file.to_str().unwrap(), "--json"]).with_code(65);
    assert_eq!(ended.stdout, "");
    let failure: Value = serde_json::from_str(&ended.stderr).unwrap();
    assert_eq!((&failure["exit"], &failure["error"]["file"]), (&json!(65), &json!(file)));
    for member in ["what", "why", "try"] {
        assert!(failure["error"][member].is_string(), "{failure}");
    }
    let usage: Value =
        serde_json::from_str(&run(&["tenant", "craete", "--json"]).with_code(64).stderr).unwrap();
    assert_eq!(usage["error"]["try"], "strongroom tenant create");
}

/// Answers one command on the operator's socket like a server of another version.
fn other_version(data: &Path) -> std::thread::JoinHandle<()> {
    let listener = UnixListener::bind(data.join("operator.sock")).unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut command = Vec::new();
        stream.read_to_end(&mut command).unwrap();
        stream.write_all(br#"{"done":{}}"#).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
    })
}

#[test]
fn every_exit_code_of_the_manual_is_given() {
    let manual = include_str!("../../packaging/strongroom.1");
    let table = manual.split(".SH EXIT STATUS\n").nth(1).unwrap().split("\n.SH ").next().unwrap();
    let mut given = Vec::new();
    let mut check = |code: i32, ended: Ended| {
        ended.with_code(code);
        given.push(code);
    };
    let directory = Directory::new();
    let file = directory.write("file", "nonsense", 0o644);
    let file = file.to_str().unwrap();
    let mut vault = Vault::start();
    vault.stop();
    let data = vault.data();
    let data = data.to_str().unwrap();
    check(0, run(&["version"]));
    check(64, run(&["no-such-command"]));
    check(65, run(&["verify", file]));
    check(69, run(&["status", "--data", data]));
    let server = other_version(&vault.data());
    check(70, run(&["audit", "verify", "--data", data]));
    server.join().unwrap();
    fs::remove_file(vault.data().join("operator.sock")).unwrap();
    let mut export = Command::new(env!("CARGO_BIN_EXE_strongroom"));
    export.args(["audit", "export", "--data", data]).stdin(Stdio::null());
    let full = File::options().write(true).open("/dev/full").unwrap();
    let status = export.stdout(full).stderr(Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(74), "a full disk");
    check(77, run(&["verify", "--data", data, "--master-key", file]));
    check(78, run(&["check", "--config", "/no/such/file"]));
    given.push(74);
    for line in table.lines().filter_map(|line| line.strip_prefix(".B ")) {
        if let Ok(code) = line.parse::<i32>() {
            assert!(given.contains(&code), "{code} is in the manual only");
        }
    }
    for code in given {
        assert!(table.contains(&format!("\n.B {code}\n")), "{code} is not in the manual");
    }
}

#[test]
fn messages_fit_the_case() {
    let vault = Vault::start();
    vault.move_key_out();
    let (config, data) = (vault.config(), vault.data());
    let data = data.to_str().unwrap();
    if !on_postgres() {
        let busy = run(&["verify", "--data", data]).with_code(69).stderr;
        assert!(busy.contains("in use") && busy.contains("verify the backup"), "{busy}");
    }
    let text = fs::read_to_string(&config).unwrap();
    let key = text.lines().find(|line| line.starts_with("master_key.file")).unwrap_or_else(|| {
        text.lines().find(|line| line.starts_with("file = ")).unwrap_or_else(|| panic!("{text}"))
    });
    let name = key.split(" = ").next().unwrap().replace("file", "credential");
    let by_credential = text.replace(key, &format!("{name} = \"master.key\""));
    let other = vault.directory().write("credential.toml", &by_credential, 0o600);
    let missing =
        run_with(&[], &["serve", "--config", other.to_str().unwrap()]).with_code(77).stderr;
    assert!(missing.contains("systemctl start strongroom"), "{missing}");
    let none = vault.directory().join("none");
    let none = run(&["status", "--data", none.to_str().unwrap()]).with_code(69).stderr;
    assert!(none.contains("there is no such data directory"), "{none}");
}

#[test]
fn a_refusal_names_the_permission_that_the_operation_needs_and_no_rule() {
    let vault = Vault::start();
    let public = vault.get("/v2/tokens", &vault.keys.public).problem(403).member("detail");
    assert!(public.contains("token:read"), "{public}");
    let rules = only_rule("/pci/", "mask", &["token:create"]);
    let key = vault.key_with("private", &[], &rules);
    let token = json!({"type": "token", "data": "x", "containers": ["/general/low/"]});
    let elsewhere = vault.post("/tokens", &key, token).problem(403).member("detail");
    assert!(elsewhere.contains("access rules") && !elsewhere.contains("/pci/"), "{elsewhere}");
}

#[test]
fn an_unknown_permission_is_one_mistake() {
    let vault = Vault::start();
    let management = &vault.keys.management;
    let plain = json!({"name": "a", "type": "private", "permissions": ["token:craete"]});
    let rule = json!({"name": "a", "type": "private", "rules": [{
        "priority": 1, "container": "/", "transform": "mask", "permissions": ["token:craete"],
    }]});
    for body in [plain, rule] {
        let problem = vault.post("/applications", management, body).problem(400);
        assert_eq!(problem.json["errors"].as_object().unwrap().len(), 1, "{}", problem.text());
    }
}

#[test]
fn a_development_vault_says_how_to_turn_the_rate_limits_off() {
    let vault = Vault::start_with(&["--rate-limits", "on"]);
    let limited = crate::harness::wait_for("an answer with 429", || {
        let answer = vault.get("/permissions", &vault.keys.private);
        (answer.status == 429).then_some(answer)
    });
    assert!(limited.member("detail").contains("--rate-limits off"), "{}", limited.text());
}

#[test]
fn a_file_on_the_command_line_that_is_missing_is_named_with_advice() {
    let vault = Vault::start();
    let (none, below) = (&vault.directory().text("none"), &vault.directory().text("none/file"));
    let tenant = vault.tenant_id.clone();
    let lines: [&[&str]; 5] = [
        &["verify", none],
        &["audit", "verify", "--since", none],
        &["key", "recover", "--out", "/dev/null", "--share", none],
        &["report", "--out", none],
        &["backup", below],
    ];
    for line in lines {
        let said = vault.operator(line).with_code(65).stderr;
        assert!(said.contains(none) && said.contains("\n  try: "), "{line:?}: {said}");
    }
    let said = run(&["erase", "verify", "--receipt", none]).with_code(65).stderr;
    assert!(said.contains("there is no such file"), "{said}");
    let key = "AGE-SECRET-KEY-1S3CRET";
    let export = ["export", "--tenant", &tenant, "--out", none, "--recipient"];
    let said = vault.operator(&[&export[..], &[key]].concat()).with_code(64).stderr;
    assert!(said.contains("private key") && !said.contains("S3CRET"), "{said}");
    let said = vault.operator(&[&export[..], &["age1x"]].concat()).with_code(65).stderr;
    assert!(said.contains("age-keygen -y"), "{said}");
}

#[test]
fn options_that_do_not_belong_together_are_refused_for_what_they_are() {
    let vault = Vault::start();
    let tenant = vault.tenant_id.clone();
    let lines: [(&[&str], u8, &str); 10] = [
        (&["key", "rotate", "--server", "--audit"], 64, "2 options name keys"),
        (&["key", "rotate"], 64, "no keys are named"),
        (
            &["key", "destroy", "--server", "--tenant", &tenant, "--number", "1"],
            64,
            "2 options name keys",
        ),
        (&["key", "rotate", "--server", "--out", "/x"], 64, "--out without --master"),
        (&["tenant", "set", "--tenant", &tenant], 64, "no option says what to change"),
        (
            &["audit", "export", "--from", "2026-11-15", "--to", "2026-11-14"],
            64,
            "the period ends before it begins",
        ),
        (&["audit", "export", "--from", "yesterday"], 64, "--from 2026-11-14"),
        (&["application", "list", "--tenant", "none"], 65, "strongroom tenant list"),
        (
            &[
                "application",
                "create",
                "--tenant",
                &tenant,
                "--name",
                "x",
                "--type",
                "private",
                "--permission",
                "token:crate",
            ],
            65,
            "--permission token:create",
        ),
        (&["key", "shares", "--scheme", "5-of-3"], 64, "more shares are needed than there are"),
    ];
    for (line, code, part) in lines {
        let said = vault.operator(line).with_code(code.into()).stderr;
        assert!(said.contains(part), "{line:?}: {said}");
    }
    let rotated = vault.operator(&["key", "rotate", "--server", "--wait"]).json();
    assert!(rotated["rotated"].is_array() && rotated["rotating"].is_null(), "{rotated}");
}

#[test]
fn an_init_that_is_refused_leaves_no_key() {
    let directory = Directory::new();
    let place = directory.path().display();
    let settings = |key: &str| {
        format!(
            "data_directory = \"{place}/data\"\n[tls]\ncertificate = \"/c\"\nprivate_key = \
             \"/k\"\n[master_key]\nfile = \"{place}/{key}\"\n"
        )
    };
    let first = directory.write("first.toml", settings("first.key"), 0o600);
    run(&["init", "--config", first.to_str().unwrap()]).with_code(0);
    let second = directory.write("second.toml", settings("second.key"), 0o600);
    let said = run(&["init", "--config", second.to_str().unwrap()]).with_code(65).stderr;
    assert!(said.contains("exists already"), "{said}");
    assert!(!directory.join("second.key").exists());
}

#[test]
fn lists_are_tables_for_people_and_json_for_programs() {
    let vault = Vault::start();
    let tenant = vault.tenant_id.clone();
    let hostile = "x\u{1b}[31m\u{202e}";
    vault.operator(&["tenant", "create", "--name", hostile, "--type", "test"]).with_code(0);
    let lists: [(&[&str], &str); 4] = [
        (&["tenant", "list"], "ID "),
        (&["application", "list", "--tenant", &tenant], "ID "),
        (&["webhook", "list", "--tenant", &tenant], "(none)"),
        (&["key", "list"], "master key "),
    ];
    for (command, first) in lists {
        let said = vault.operator(command).with_code(0).stdout;
        assert!(said.starts_with(first), "{command:?}: {said}");
        assert!(serde_json::from_str::<Value>(&said).is_err(), "{said}");
        assert!(!said.contains(['\u{1b}', '\u{202e}']), "{said}");
        vault.operator(&[command, &["--json"]].concat()).with_code(0).json();
    }
    let said = vault.operator(&["tenant", "list"]).stdout;
    let columns: Vec<_> =
        said.lines().map(|line| line.find("test").unwrap_or(usize::MAX)).collect();
    assert_eq!(columns.len(), 3, "{said}");
    assert_eq!(columns[1], columns[2], "{said}");
    let listed = vault.operator(&["application", "list", "--tenant", &tenant]).stdout;
    let json = vault.operator(&["application", "list", "--json", "--tenant", &tenant]).json();
    for application in json.as_array().unwrap() {
        for key in application["keys"].as_array().unwrap() {
            assert!(listed.contains(key["id"].as_str().unwrap()), "{listed}");
        }
    }
}

#[test]
fn a_wrong_option_leads_to_the_help_of_its_command() {
    for (arguments, help) in [
        (&["dev", "--tenant-type", "x"][..], "strongroom dev --help"),
        (&["dev-preload", "--kind", "x", "--tokens", "1"], "strongroom dev-preload --help"),
    ] {
        let text = run(arguments).with_code(64).stderr;
        assert!(text.ends_with(&format!("\n  try:   {help}\n")), "{text}");
    }
}
