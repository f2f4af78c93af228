//! The files of the published Elements packages, and the rights that their frames ask for.

use serde_json::json;

use crate::harness::{Vault, get};

const SCRIPT_BYTES_MAX: usize = 60 * 1024;

#[test]
fn one_small_script_serves_every_version_of_the_packages() {
    let vault = Vault::start();
    let load = |path: &str| vault.send(&get(path).header("Origin", "https://shop.example"));
    let script = load("/web-elements/2.17.0/client/index.js").with_status(200);
    assert_eq!(script.header("content-type"), Some("text/javascript; charset=utf-8"));
    assert_eq!(script.header("cross-origin-resource-policy"), Some("cross-origin"));
    assert_eq!(script.header("access-control-allow-origin"), Some("*"));
    assert_eq!(script.header("cache-control"), Some("no-cache"));
    assert!(script.header("etag").is_some_and(|tag| tag.starts_with('"')));
    assert!(script.text().len() <= SCRIPT_BYTES_MAX);
    assert!(!script.text().contains("import(") && !script.text().contains("https://js."));
    for path in ["1.5.0/client/index.js", "2.1.0/index.js", "3.1.0/index.js", "latest/index.js"] {
        let same = load(&format!("/web-elements/{path}")).with_status(200);
        assert_eq!(same.text(), script.text(), "{path}");
    }
    for path in ["0.1.0/client/index.js", "2.1/index.js", "2.1.0/x.js", ""] {
        load(&format!("/web-elements/{path}")).problem(404);
    }
}

#[test]
fn frames_get_the_public_half_of_a_key_of_their_own_tenant() {
    let vault = Vault::start();
    let key = vault.key_with("management", &["keys:create"], &json!([]));
    let made = vault.post("/keys", &key, json!({})).with_status(201).json;
    let id = made["key_id"].as_str().unwrap();
    let own = format!("https://{}", vault.address);
    let ask = |id: &str| {
        let path = format!("/fields/v1/access?origin={own}&key_id={id}");
        vault.get(&path, &vault.keys.public).with_status(200).json
    };
    assert_eq!(ask(id)["public_key_pem"], made["public_key_pem"]);
    for other in ["", "x", "01a1dd38-4eda-4df5-855c-ecae962e987a"] {
        let expected = json!({"allowed": true, "tenant_id": vault.tenant_id});
        assert_eq!(ask(other), expected, "{other}");
    }
    // A page of another origin learns nothing.
    let path = format!("/fields/v1/access?origin=https://other.example&key_id={id}");
    let refused = vault.get(&path, &vault.keys.public).problem(403);
    assert!(!refused.text().contains("PUBLIC KEY"));
}

#[test]
fn the_key_of_a_session_that_only_reads_may_show_elements() {
    let vault = Vault::start();
    let own = format!("https://{}", vault.address);
    let session = vault.post("/sessions", &vault.keys.public, json!({})).with_status(201).json;
    let rights = json!({"nonce": session["nonce"], "permissions": ["token:read"]});
    vault.post("/sessions/authorize", &vault.keys.private, rights).with_status(200);
    let key = session["session_key"].as_str().unwrap();
    vault.get(&format!("/fields/v1/access?origin={own}"), key).with_status(200);
    vault.get(&format!("/fields/v1/access?origin={own}"), &vault.keys.private).problem(403);
}

#[test]
fn frames_send_to_the_hosts_of_the_operators_list_alone() {
    let connects = |vault: &Vault, path: &str| {
        let page = vault.send(&get(path)).with_status(200);
        let policy = page.header("content-security-policy").unwrap().to_owned();
        let found = policy.split("; ").find(|it| it.starts_with("connect-src")).map(String::from);
        assert!(!policy.contains('*'), "{policy}");
        found.unwrap()
    };
    let hosts = |vault: &Vault| {
        let own = format!("https://{}", vault.address);
        let path = format!("/fields/v1/access?origin={own}");
        vault.get(&path, &vault.keys.public).with_status(200).json["elements_hosts"].clone()
    };
    let (controller, field) = ("/fields/v1/controller", "/fields/v1/field");
    let vault = Vault::start();
    assert_eq!(connects(&vault, controller), "connect-src 'self'");
    assert_eq!(hosts(&vault), json!(null));
    let listed = ["--elements-host", "b.example:8443", "--elements-host", "a.example"];
    let vault = Vault::start_with(&listed);
    let sources = "connect-src 'self' https://b.example:8443 https://a.example";
    assert_eq!(connects(&vault, controller), sources);
    for path in [field, "/", "/console", "/examples/elements"] {
        assert_eq!(connects(&vault, path), "connect-src 'self'", "{path}");
    }
    assert_eq!(hosts(&vault), json!(["https://b.example:8443", "https://a.example"]));
    let mut vault = Vault::start();
    vault.serve("pages.elements = true\npages.elements_hosts = [\"cards.shop.example\"]");
    assert_eq!(connects(&vault, controller), "connect-src 'self' https://cards.shop.example");
}
