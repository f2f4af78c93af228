//! The report for auditors: true, dated, never written over, without a secret.

use std::fs;
use std::net::TcpListener;
use std::path::Path;

use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

use crate::harness::{Vault, run, wait_until};

/// The texts of the one report in a directory: plain, and as a page.
fn reports(place: &Path) -> (String, String) {
    let read = |ending: &str| {
        let files = fs::read_dir(place).unwrap().map(|it| it.unwrap().path());
        let mut found: Vec<_> =
            files.filter(|it| it.extension().is_some_and(|e| e == ending)).collect();
        assert_eq!(found.len(), 1, "{found:?}");
        fs::read_to_string(found.remove(0)).unwrap()
    };
    (read("txt"), read("html"))
}

fn chapter<'a>(facts: &'a Value, title: &str) -> &'a Value {
    let chapters = facts["chapters"].as_array().unwrap();
    chapters.iter().find(|it| it["title"] == title).unwrap_or_else(|| panic!("{title}: {facts}"))
}

/// The sentences of a chapter with this standing.
fn sentences(facts: &Value, title: &str, standing: &str) -> Vec<String> {
    let findings = chapter(facts, title)["findings"].as_array().unwrap().iter();
    let of_standing = findings.filter(|it| it["standing"] == standing);
    of_standing.map(|it| String::from(it["sentence"].as_str().unwrap())).collect()
}

#[track_caller]
fn check_says(facts: &Value, title: &str, standing: &str, words: &str) {
    let found = sentences(facts, title, standing);
    assert!(found.iter().any(|it| it.contains(words)), "{title}, {standing}: {found:?}");
}

#[test]
fn the_report_says_what_each_tenant_holds_and_who_may_do_what() {
    let vault = Vault::start();
    vault.token(json!({"type": "card", "data": {"number": "4242424242424242", "cvc": "987"}}));
    let rule =
        r#"{"priority":1,"container":"/","transform":"reveal","permissions":["token:read"]}"#;
    let create = ["application", "create", "--tenant", &vault.tenant_id, "--name", "<Shop>"];
    vault.operator(&[&create[..], &["--type", "private", "--rule", rule]].concat()).with_code(0);
    let out = vault.directory().join("running");
    fs::create_dir(&out).unwrap();
    let said = vault.operator(&["report", "--out", out.to_str().unwrap()]).with_code(0);
    assert!(said.stdout.contains("attention; "), "{}", said.stdout);

    let (text, page) = reports(&out);
    assert!(text.contains("! Applications and what they may do: <Shop> of "), "{text}");
    assert!(text.contains("in / (reveal): token:read"), "{text}");
    assert!(text.contains("Standard: PCI DSS 4.0.1") && text.contains("\nHost: "), "{text}");
    assert!(text.contains("AES-CMAC and HMAC-SHA-256, 256 bits"), "{text}");
    assert!(text.contains("\nPeriod: ") && text.contains("\n3.5.1  Card numbers are"), "{text}");
    assert!(page.contains("&lt;Shop&gt;") && !page.contains("<Shop>"), "{page}");
    for secret in ["4242424242424242", vault.keys.private.as_str()] {
        assert!(!text.contains(secret) && !page.contains(secret));
    }
    // Three digits in a row are in many an id: the code would stand alone.
    let words = |text: &str| text.split(|c: char| !c.is_alphanumeric()).any(|word| word == "987");
    assert!(!words(&text) && !words(&page));
}

#[test]
fn the_report_says_when_the_last_stored_code_ends_whatever_the_quota_says_now() {
    let vault = Vault::start();
    let codes = "Card verification codes";
    let facts = vault.operator(&["report", "--json"]).json();
    check_says(&facts, codes, "good", "No code is stored.");
    vault.token(json!({"type": "card", "data": {"number": "4242424242424242", "cvc": "987"}}));
    let facts = vault.operator(&["report", "--json"]).json();
    check_says(&facts, codes, "good", "1 code is stored; the last of them ends by ");
    assert_eq!(sentences(&facts, codes, "attention"), Vec::<String>::new());
    let set = ["tenant", "set", "--tenant", &vault.tenant_id, "--quota", "cvc_retention=30"];
    vault.operator(&set).with_code(0);
    let facts = vault.operator(&["report", "--json"]).json();
    check_says(&facts, codes, "attention", "were stored before its retention was shortened");
    assert_eq!(chapter(&facts, codes)["rows"][0]["codes"], "1");
}

#[test]
fn the_chain_has_the_digest_of_a_report_and_names_the_user_of_each_act() {
    let vault = Vault::start();
    let out = vault.directory().join("reports");
    fs::create_dir(&out).unwrap();
    vault.operator(&["report", "--out", out.to_str().unwrap()]).with_code(0);
    let (text, _) = reports(&out);
    let said = vault.operator(&["audit", "export"]).with_code(0).stdout;
    let hash = digest(&SHA256, text.as_bytes());
    let digits: Vec<_> = hash.as_ref().iter().map(|it| format!("{it:02x}")).collect();
    let digest = digits.concat();
    assert!(said.contains(&digest), "{digest}: {said}");
    // The period of a report ends with the last whole second.
    let mut actor = String::new();
    wait_until("a report shows the one before", || {
        let facts = vault.operator(&["report", "--json"]).json();
        let acts = chapter(&facts, "Activity in the period")["rows"].as_array().unwrap().clone();
        let export = acts.iter().find(|it| it["operation"] == "export" && it["on"] == "vault");
        actor = export.map_or_else(String::new, |it| String::from(it["actor"].as_str().unwrap()));
        !actor.is_empty()
    });
    assert!(actor.starts_with("operator: ") && actor.contains("uid "), "{actor}");
}

#[test]
fn a_stopped_vault_gives_a_report_too() {
    let mut vault = Vault::start();
    vault.token(json!({"type": "token", "data": "a secret"}));
    assert_eq!(vault.stop(), Some(0));
    let out = vault.directory().join("stopped");
    fs::create_dir(&out).unwrap();
    vault.operator(&["report", "--out", out.to_str().unwrap()]).with_code(0);
    let (text, _) = reports(&out);
    let row = text.lines().find(|line| line.contains(" test ")).unwrap();
    assert!(row.split_whitespace().any(|cell| cell == "1"), "{row}");
}

#[test]
fn a_directory_that_is_not_there_is_named() {
    let vault = Vault::start();
    let ended = vault.operator(&["report", "--out", "/no/such/place"]).with_code(65);
    assert!(ended.stderr.contains("/no/such/place/strongroom-report-"), "{}", ended.stderr);
}

#[test]
fn a_development_vault_is_reported_with_what_is_not_known() {
    let vault = Vault::start();
    let data = vault.data();
    let facts = run(&["report", "--data", data.to_str().unwrap(), "--json"]).json();
    assert_eq!(facts["about"]["Standard"], "PCI DSS 4.0.1");
    assert_eq!(facts["about"]["Settings"], "not known");
    assert_eq!(facts["about"]["Data directory"], data.to_str().unwrap());
    assert!(facts["about"]["Place of the rows"].is_string(), "{facts}");
    for title in ["Settings and files", "Audit chain", "TLS"] {
        assert!(!sentences(&facts, title, "unknown").is_empty(), "{title}: {facts}");
    }
    check_says(&facts, "Stored data", "good", "in the data file, all counted");
    // Some kernels lack a wall, which a development server does without.
    let programs = &chapter(&facts, "Programs of tenants")["findings"][0];
    let sentence = programs["sentence"].as_str().unwrap();
    let is_whole = sentence.contains("which Landlock and seccomp of the kernel confine");
    assert!(sentence.starts_with("Tenants run code on this server"), "{sentence}");
    assert_eq!(programs["standing"], if is_whole { "good" } else { "attention" });
    let requirement = &chapter(&facts, "TLS")["requirements"][0];
    assert_eq!(requirement["number"], "4.2.1");
    assert!(requirement["title"].is_string());
}

#[test]
fn the_report_tries_the_listener_and_looks_at_files_as_they_are_now() {
    let mut vault = Vault::start();
    assert_eq!(vault.stop(), Some(0));
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    vault.move_key_out();
    let text = fs::read_to_string(vault.config()).unwrap().replace("127.0.0.1:0", &address);
    vault.directory().write("strongroom.toml", text, 0o600);
    let offline = vault.operator(&["report", "--json"]).json();
    check_says(&offline, "TLS", "unknown", "No server answered");
    let programs = "Programs of tenants";
    check_says(&offline, programs, "good", "The settings do not let tenants run code");
    vault.restart_as_service();
    let facts = vault.operator(&["report", "--json"]).json();
    check_says(&facts, "TLS", "good", &format!("tried with the server at {address}"));
    check_says(&facts, "TLS", "good", "refused TLS 1.1");
    check_says(&facts, "TLS", "good", "refused SSL 3.0");
    let rows = chapter(&facts, "TLS")["rows"].as_array().unwrap();
    let suite = |row: &Value| String::from(row["cipher suite"].as_str().unwrap());
    let suites: Vec<_> = rows.iter().map(suite).collect();
    assert!(suites.iter().any(|it| it == "TLS13_AES_256_GCM_SHA384"), "{suites:?}");
    // The certificate has an ECDSA key, so that suites for RSA are not offered.
    let is_right = |it: &String| it.starts_with("TLS13_") || it.contains("_ECDHE_ECDSA_");
    assert!(suites.iter().all(is_right), "{suites:?}");
    check_says(&facts, "Settings and files", "good", " checks found nothing wrong");
    check_says(&facts, programs, "good", "Tenants run no code on this server");
    let bins = vault.directory().join("absent");
    vault.set(&format!("bin_file = \"{}\"", bins.display()));
    let facts = vault.operator(&["report", "--json"]).json();
    check_says(&facts, "Settings and files", "attention", "bin_file");
}

#[test]
fn keys_without_use_and_the_acts_of_the_period_are_listed() {
    let vault = Vault::start();
    let id = vault.token(json!({"type": "token", "data": "x"}));
    vault.advance(80 * 86_400);
    vault.read(&id).with_status(200);
    vault.advance(20 * 86_400);
    // The clock of the vault is ahead of that of the command.
    let far = ["report", "--json", "--from", "2020-01-01", "--to", "2100-01-01"];
    let facts = vault.operator(&far).json();
    let unused = sentences(&facts, "Applications and what they may do", "attention");
    let of = |name: &str| unused.iter().any(|it| it.starts_with("Key ") && it.contains(name));
    assert!(of("Development public") && !of("Development private"), "{unused:?}");
    check_says(&facts, "Applications and what they may do", "good", "can see data in plain: Devel");
    let acts = chapter(&facts, "Activity in the period")["rows"].as_array().unwrap();
    let read = |it: &&Value| it["operation"] == "read" && it["on"] == "token";
    assert_eq!(acts.iter().find(read).map(|it| &it["entries"]), Some(&json!("1")), "{acts:?}");
    check_says(
        &facts,
        "Activity in the period",
        "good",
        "name the client's address or the operator's user",
    );
    check_says(&facts, "Activity in the period", "good", "0 attempts were refused");
    let before = ["report", "--json", "--from", "2020-01-01", "--to", "2020-02-01"];
    let facts = vault.operator(&before).json();
    assert_eq!(chapter(&facts, "Activity in the period")["rows"], json!([]));
    vault.operator(&["report", "--from", "2020-02-01", "--to", "2020-01-01"]).with_code(64);
    vault.operator(&["report", "--from", "yesterday"]).with_code(64);
}
