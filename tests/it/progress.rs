//! Progress bars: on a terminal, after a second, and nowhere else.

use std::process::Command;

use serde_json::json;

use crate::harness::{Vault, output_of};

/// Runs the import of a stream that waits for longer than a second, on a terminal of this kind.
fn import_on_terminal(vault: &Vault, term: &str, options: &str) -> String {
    let program = env!("CARGO_BIN_EXE_strongroom");
    let config = vault.config();
    let command = format!(
        "{{ sleep 2; echo '{{\"type\":\"token\",\"data\":\"{term}{options}\"}}'; }} | {program} import \
         --config {} --tenant {} --format jsonl {options} -",
        config.display(),
        vault.tenant_id
    );
    let mut script = Command::new("script");
    script.args(["-qec", &command, "/dev/null"]).env("TERM", term).env("SHELL", "/bin/sh");
    let output = output_of(&mut script);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_bar_is_drawn_on_a_terminal_and_removed_at_the_end() {
    let vault = Vault::start();
    if Command::new("script").arg("--version").output().is_err() {
        return;
    }
    let screen = import_on_terminal(&vault, "xterm", "");
    let bar = screen.find("\r\u{1b}[Kimport  ").unwrap_or_else(|| panic!("no bar: {screen:?}"));
    let removed = screen.rfind("\r\u{1b}[K").unwrap();
    assert!(
        bar < removed && screen.get(removed..).unwrap().contains("The import is complete."),
        "{screen:?}"
    );
    assert!(screen.get(removed..).unwrap().starts_with("\r\u{1b}[KThe"), "{screen:?}");
    for (term, options) in [("dumb", ""), ("xterm", "--json")] {
        let screen = import_on_terminal(&vault, term, options);
        assert!(!screen.contains('\u{1b}') && !screen.contains("import  "), "{screen:?}");
    }
}

#[test]
fn a_command_without_a_terminal_draws_nothing() {
    let vault = Vault::start();
    vault.token(json!({"type": "token", "data": 1}));
    let file = vault.directory().join("a.backup");
    let done = vault.operator(&["backup", file.to_str().unwrap()]).with_code(0);
    assert_eq!(done.stderr, "");
}

#[test]
fn a_rotation_that_is_waited_for_is_over_when_the_command_ends() {
    let mut vault = Vault::start();
    for number in 0..20 {
        vault.token(json!({"type": "token", "data": number}));
    }
    let tenant = vault.tenant_id.clone();
    for scope in [&["--tenant", &tenant][..], &["--server"], &["--audit"]] {
        let arguments = [&["key", "rotate", "--wait"], scope].concat();
        let done = vault.operator(&arguments).with_code(0);
        assert_eq!(done.stderr, "");
        let keys = vault.operator(&["key", "list", "--json"]).json();
        assert_eq!(keys["rotations"], json!([]), "{scope:?}");
    }
    let old = ["key", "destroy", "--tenant", &tenant, "--number", "1"];
    vault.operator(&old).with_code(0);
    assert_eq!(vault.stop(), Some(0));
    vault.operator(&["key", "rotate", "--wait", "--tenant", &tenant]).with_code(0);
    vault.verify().with_code(0);
}
