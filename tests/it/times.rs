//! Times of commands: people get `2026-11-14T09:30:00Z`, and programs the form of the interface.

use std::path::Path;

use serde_json::json;

use crate::harness::{Vault, run};

/// The words that begin with a date.
fn times(text: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-:.+".contains(c);
    let words = text.split(move |c| !is_part(c)).map(|word| word.trim_end_matches(['.', ':']));
    words.filter(|word| word.get(..10).is_some_and(|day| fits(day, "dddd-dd-dd"))).collect()
}

/// In the form, `d` stands for a digit.
fn fits(text: &str, form: &str) -> bool {
    let is_it = |(c, wanted): (char, char)| {
        if wanted == 'd' { c.is_ascii_digit() } else { c == wanted }
    };
    text.len() == form.len() && text.chars().zip(form.chars()).all(is_it)
}

#[track_caller]
fn check(what: &str, text: &str, form: &str) {
    let all = times(text);
    assert!(!all.is_empty(), "{what} shows no time: {text}");
    for time in all {
        assert!(fits(time, form), "{what} shows {time}: {text}");
    }
}

#[test]
fn commands_show_times_in_one_form_to_people_and_in_one_to_programs() {
    const PEOPLE: &str = "dddd-dd-ddTdd:dd:ddZ";
    const PROGRAMS: &str = "dddd-dd-ddTdd:dd:dd.ddddddd+dd:dd";
    let text = |path: &Path| String::from(path.to_str().unwrap());
    let vault = Vault::start();
    vault.token(json!({"type": "token", "data": "x", "metadata": {"person": "7"}}));
    let tenant = vault.tenant_id.as_str();
    let place = vault.directory();
    let [one, two, new, newer, receipt] =
        ["a.backup", "b.backup", "new", "newer", "receipt"].map(|name| text(&place.join(name)));
    vault.operator(&["audit", "receipt"]).with_code(0);
    let erase = ["erase", "--tenant", tenant, "--metadata", "person=7", "--yes", "--out", &receipt];
    vault.operator(&erase).with_code(0);
    for command in
        [&["status"][..], &["application", "list", "--tenant", tenant], &["audit", "verify"]]
    {
        let said = vault.operator(command).with_code(0).stdout;
        check(command[0], &said, PEOPLE);
        let said = vault.operator(&[command, &["--json"]].concat()).with_code(0).stdout;
        check(command[0], &said, PROGRAMS);
    }
    let keys = vault.operator(&["key", "list", "--json"]).with_code(0).stdout;
    check("key list --json", &keys, PROGRAMS);
    check("audit export", &vault.operator(&["audit", "export"]).with_code(0).stdout, PROGRAMS);
    check("the receipt", &std::fs::read_to_string(&receipt).unwrap(), PROGRAMS);
    check("erase verify", &run(&["erase", "verify", "--receipt", &receipt]).stdout, PEOPLE);
    check("backup", &vault.operator(&["backup", &one]).with_code(0).stdout, PEOPLE);
    check(
        "backup --json",
        &vault.operator(&["backup", "--json", &two]).with_code(0).stdout,
        PROGRAMS,
    );
    check("verify", &run(&["verify", &one]).with_code(0).stdout, PEOPLE);
    check("verify --json", &run(&["verify", "--json", &one]).with_code(0).stdout, PROGRAMS);
    let restore = ["restore", one.as_str(), "--data"];
    check("restore", &run(&[&restore[..], &[&new]].concat()).with_code(0).stdout, PEOPLE);
    let restored = run(&[&restore[..], &[&newer, "--json"]].concat()).with_code(0).stdout;
    check("restore --json", &restored, PROGRAMS);
    vault.operator(&["report", "--out", &text(&place.join("data"))]).with_code(0);
    let reports = std::fs::read_dir(place.join("data")).unwrap().map(|it| it.unwrap().path());
    let report = reports.filter(|it| it.extension().is_some_and(|it| it == "txt")).last().unwrap();
    check("report", &std::fs::read_to_string(report).unwrap(), PEOPLE);
}
