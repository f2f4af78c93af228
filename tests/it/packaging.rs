//! Shipped files agree with the binary: the units with its bounds, the completions of shells with
//! its commands.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::harness::output_of;
use strongroom::testing::bounds::{
    BACKLOG_MAX, CONNECTIONS_MAX, DRAIN_MAX, END_MAX, LOG_FLUSH_MAX, MEMORY_IN_FLIGHT_MAX,
    NOTIFY_SEND_MAX,
};

const GUIDE: &str = include_str!("../../packaging/strongroom-guide.7");
const SERVICE: &str = include_str!("../../systemd/strongroom.service");
const SOCKET: &str = include_str!("../../systemd/strongroom.socket");
const RECIPE: &str = include_str!("../../packaging/Containerfile");
const SETTINGS: &str = include_str!("../../packaging/strongroom.toml");

/// The only value of a setting of a unit.
#[track_caller]
fn value<'a>(unit: &'a str, name: &str) -> &'a str {
    let lines = unit.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    let [value] = lines.collect::<Vec<_>>()[..] else { panic!("{name} is not there once") };
    value
}

#[test]
fn the_manager_waits_for_the_whole_drain() {
    let stop_max: u64 = value(SERVICE, "TimeoutStopSec").parse().unwrap();
    let needed = DRAIN_MAX + END_MAX + LOG_FLUSH_MAX + 2 * NOTIFY_SEND_MAX;
    assert!(stop_max > needed.as_secs(), "{stop_max} s against {needed:?}");
}

#[test]
fn every_connection_can_have_its_file_and_every_newcomer_waits_in_the_same_queue() {
    let files: usize = value(SERVICE, "LimitNOFILE").parse().unwrap();
    assert!(files >= 2 * CONNECTIONS_MAX);
    assert_eq!(value(SOCKET, "Backlog"), BACKLOG_MAX.to_string());
    assert_eq!(value(SOCKET, "KeepAlive"), "yes");
}

#[test]
fn all_requests_in_flight_fit_into_half_of_the_memory() {
    let gibibytes: usize = value(SERVICE, "MemoryMax").strip_suffix('G').unwrap().parse().unwrap();
    assert!(gibibytes << 30 >= 2 * MEMORY_IN_FLIGHT_MAX);
}

#[test]
fn the_socket_listens_where_the_settings_would() {
    assert!(SETTINGS.contains("\nlisten = [\"[::]:8443\"]\n"));
    assert_eq!(value(SOCKET, "ListenStream"), "8443");
}

/// The completions that bash offers for the last of these words.
fn offered(words: &[&str]) -> BTreeSet<String> {
    let script = r#"
        source "$1"; shift
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
        _strongroom
        printf '%s\n' "${COMPREPLY[@]}""#;
    let completions = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/completions/bash");
    let mut command = Command::new("bash");
    command.args(["-c", script, "bash"]).arg(completions);
    let output = output_of(command.arg(env!("CARGO_BIN_EXE_strongroom")).args(words));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter(|line| !line.is_empty()).map(String::from).collect()
}

#[track_caller]
fn check_offers(words: &[&str], wanted: &[&str]) {
    let wanted: BTreeSet<_> = wanted.iter().copied().map(String::from).collect();
    assert_eq!(offered(words), wanted, "{words:?}");
}

#[test]
fn the_shell_offers_the_commands_and_flags_that_the_binary_has() {
    check_offers(&["ver"], &["verify", "version"]);
    check_offers(&["tenant", ""], &["create", "delete", "list", "set"]);
    check_offers(
        &["init", "--"],
        &[
            "--config",
            "--help",
            "--json",
            "--master-key",
            "--recovery-shares",
            "--share-to",
            "--shares-directory",
        ],
    );
    check_offers(&["init", "--config", "x", "--m"], &["--master-key"]);
    check_offers(&["dev", "--json", "--te"], &["--tenant-type"]);
    check_offers(&["application", "create", "--n"], &["--name", "--no-key"]);
    // Values of flags are files as far as the shell knows, and it offers those by itself.
    check_offers(&["init", "--config", "c"], &[]);
    check_offers(&["init", "--config", "=", "c"], &[]);
    check_offers(&["nonsense", ""], &[]);
}

/// `packaging/test-guide` needs root; this test finds the same mistake without it.
#[test]
fn every_example_of_the_guide_says_whether_it_is_run() {
    let mut marks = 0;
    let mut unmarked = Vec::new();
    for (at, line) in GUIDE.lines().enumerate() {
        let mark = line.strip_prefix(".\\\" guide: ").and_then(|it| it.split(' ').next());
        match (line, mark) {
            (_, Some("append" | "run" | "skip")) => marks += 1,
            (".EX" | ".nf", None) => {
                if marks != 1 {
                    unmarked.push(at + 1);
                }
                marks = 0;
            }
            _ => (),
        }
    }
    assert!(
        unmarked.is_empty(),
        "the examples at these lines of the guide need one comment each, as \
         packaging/guide/blocks describes: {unmarked:?}"
    );
}

#[test]
fn the_container_recipe_names_the_document_that_describes_it() {
    const NAMED: &str =
        "# \"In a container\" in packaging/strongroom-guide.7 describes how to run it.";
    assert!(RECIPE.lines().any(|line| line == NAMED), "{RECIPE}");
    let described = GUIDE.split(".SS In a container\n").nth(1).unwrap();
    let described = described.split("\n.SH ").next().unwrap();
    assert!(described.contains("packaging/Containerfile") && described.contains("podman run"));
}
