//! Small operations of the published interface: usage, roles, people, BINs and bank accounts.

use serde_json::{Value, json};

use crate::harness::{Answer, Vault, get, only_rule};

#[test]
fn a_usage_report_counts_tokens_in_total_and_by_type() {
    let vault = Vault::start();
    let key = &vault.key_with("management", &["report:read"], &json!([]));
    let usage = || vault.get("/tenants/self/reports/usage", key).with_status(200).json;
    assert_eq!(
        usage(),
        json!({"token_report": {"metrics_by_type": {}, "total_tokens": 0}, "total_tokens": 0})
    );
    vault.token(json!({"type": "token", "data": 1, "containers": ["/a/", "/b/"]}));
    let gone = vault.token(json!({"type": "token", "data": 2}));
    vault.token(json!({"type": "card", "data": {"number": "4242424242424242"}}));
    vault.delete(&format!("/tokens/{gone}"), &vault.keys.private).with_status(204);
    // Another tenant's tokens do not count.
    let other = vault.tenant("test");
    let token = json!({"type": "token", "data": 1});
    vault.post("/tokens", &other.keys.private, token).with_status(201);
    let usage = usage();
    assert_eq!(usage["total_tokens"], 2);
    let types = &usage["token_report"]["metrics_by_type"];
    assert_eq!(types.as_object().unwrap().len(), 2, "{usage}");
    for kind in ["card", "token"] {
        assert_eq!(types[kind]["count"], 1, "{usage}");
        assert!(types[kind]["last_created_at"].as_str().unwrap().ends_with("+00:00"));
    }
}

#[test]
fn there_are_roles_but_no_people() {
    let vault = Vault::start();
    let roles = vault.get("/roles", &vault.keys.private).with_status(200).json;
    assert_eq!(roles, json!([{"name": "OWNER"}, {"name": "ADMIN"}, {"name": "READ_ONLY"}]));
    let permissions = ["tenant:member:read", "tenant:invitation:read"];
    let key = &vault.key_with("management", &permissions, &json!([]));
    for path in ["/tenants/self/members", "/tenants/self/invitations"] {
        let page = vault.get(&format!("{path}?page=2&size=50"), key).with_status(200).json;
        let pagination =
            json!({"total_items": 0, "page_number": 2, "page_size": 50, "total_pages": 0});
        assert_eq!(page, json!({"pagination": pagination, "data": []}));
        vault.get(&format!("{path}?size=0"), key).invalid(&["size"]);
    }
}

#[test]
fn a_ping_needs_no_key() {
    let vault = Vault::start();
    vault.send(&get("/ping")).with_status(200);
    vault.send(&get("/ping").key("wrong")).with_status(200);
}

#[test]
fn a_bin_has_a_brand() {
    let vault = Vault::start();
    let details =
        |bin: &str| vault.get(&format!("/enrichments/card-details?bin={bin}"), &vault.keys.public);
    assert_eq!(details("424242").with_status(200).json["brand"], "Visa");
    assert_eq!(details("55555555").with_status(200).json["brand"], "Mastercard");
    let range = json!([{"binMin": "424242", "binMax": "424242"}]);
    assert_eq!(details("424242").json["binRange"], range);
    let unknown = details("000000").with_status(200).json;
    assert_eq!(unknown, json!({"binRange": [], "additional": []}));
    for bin in ["", "42424", "4242424242424242", "42424x"] {
        let refused = details(bin).invalid(&["bin"]);
        assert!(bin.is_empty() || !refused.text().contains(bin));
    }
}

fn verify(vault: &Vault, key: &str, body: Value) -> Answer {
    vault.post("/enrichments/bank-account-verify", key, body)
}

#[test]
fn test_accounts_have_their_documented_status_and_others_are_inconclusive() {
    let vault = Vault::start();
    let key = &vault.keys.private;
    let bank = |account: &str| {
        let data = json!({"routing_number": "021000021", "account_number": account});
        vault.token(json!({"type": "bank", "data": data}))
    };
    let status = |body: Value| verify(&vault, key, body).with_status(200).member("status");
    assert_eq!(status(json!({"token_id": bank("00001")})), "enabled");
    assert_eq!(status(json!({"token_id": bank("00002"), "country_code": "US"})), "inconclusive");
    assert_eq!(status(json!({"token_id": bank("1234567")})), "inconclusive");
    let account = vault.token(json!({"type": "us_bank_account_number", "data": "00000"}));
    let with_routing = json!({"token_id": account, "routing_number": "021000020"});
    assert_eq!(status(with_routing), "disabled");
    assert_eq!(status(json!({"token_id": account})), "inconclusive");

    let other = vault.token(json!({"type": "token", "data": "00001"}));
    verify(&vault, key, json!({"token_id": other})).invalid(&["token_id"]);
    verify(&vault, key, json!({})).invalid(&["token_id"]);
    verify(&vault, key, json!({"token_id": 1})).invalid(&["token_id"]);
}

#[test]
fn a_verification_is_a_use_of_the_token_in_its_container() {
    let vault = Vault::start();
    let data = json!({"routing_number": "021000021", "account_number": "00001"});
    let bank = json!({"type": "bank", "data": data});
    let id = vault.token(bank.clone());
    let elsewhere = only_rule("/elsewhere/", "reveal", &["token:use"]);
    let key = vault.key_with("private", &[], &elsewhere);
    verify(&vault, &key, json!({"token_id": id})).problem(403);
    // Another tenant's token is not there, and no test account exists in production.
    let other = vault.tenant("production");
    verify(&vault, &other.keys.private, json!({"token_id": id})).invalid(&["token_id"]);
    let theirs = vault.post("/tokens", &other.keys.private, bank).with_status(201).id();
    let status = verify(&vault, &other.keys.private, json!({"token_id": theirs}));
    assert_eq!(status.with_status(200).member("status"), "inconclusive");

    verify(&vault, &vault.keys.private, json!({"token_id": id})).with_status(200);
    // The newest entry comes first; the create stands behind it.
    assert_eq!(vault.logged(&format!("entity_id={id}")).len(), 2);
}
