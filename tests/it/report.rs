//! The account for auditors: true, dated, never written over, without a secret.

use std::fs;

use serde_json::json;

use crate::harness::Vault;

/// The texts of the one account in a directory: plain, and as a page.
fn accounts(place: &std::path::Path) -> (String, String) {
    let read = |ending: &str| {
        let files = fs::read_dir(place).unwrap().map(|it| it.unwrap().path());
        let mut found: Vec<_> =
            files.filter(|it| it.extension().is_some_and(|e| e == ending)).collect();
        assert_eq!(found.len(), 1, "{found:?}");
        fs::read_to_string(found.remove(0)).unwrap()
    };
    (read("txt"), read("html"))
}

#[test]
fn the_account_says_what_each_tenant_holds_and_who_may_do_what() {
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

    let (text, page) = accounts(&out);
    assert!(text.contains("! Applications and what they may do: <Shop> of "), "{text}");
    assert!(text.contains("in / (reveal): token:read"), "{text}");
    assert!(page.contains("&lt;Shop&gt;") && !page.contains("<Shop>"), "{page}");
    for secret in ["4242424242424242", vault.keys.private.as_str()] {
        assert!(!text.contains(secret) && !page.contains(secret));
    }
    // Three digits in a row are in many an id: the code would stand alone.
    let words = |text: &str| text.split(|c: char| !c.is_alphanumeric()).any(|word| word == "987");
    assert!(!words(&text) && !words(&page));
}

#[test]
fn a_stopped_vault_gives_an_account_too() {
    let mut vault = Vault::start();
    vault.token(json!({"type": "token", "data": "a secret"}));
    assert_eq!(vault.stop(), Some(0));
    let out = vault.directory().join("stopped");
    fs::create_dir(&out).unwrap();
    vault.operator(&["report", "--out", out.to_str().unwrap()]).with_code(0);
    let (text, _) = accounts(&out);
    let row = text.lines().find(|line| line.contains(" test ")).unwrap();
    assert!(row.split_whitespace().any(|cell| cell == "1"), "{row}");
}

#[test]
fn a_directory_that_is_not_there_is_named() {
    let vault = Vault::start();
    let ended = vault.operator(&["report", "--out", "/no/such/place"]).with_code(78);
    assert!(ended.stderr.contains("/no/such/place/strongroom-report-"), "{}", ended.stderr);
}
