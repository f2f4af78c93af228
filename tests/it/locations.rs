//! A Location is a URL: what a predefined id holds beyond URL characters is escaped in it.

use serde_json::json;

use crate::harness::Vault;

#[test]
fn the_location_of_a_predefined_id_leads_to_the_token() {
    let vault = Vault::start();
    for id in ["plain-id", "with space", "\u{e9}t\u{e9}", "a;b,c\"d`e"] {
        let body = json!({"type": "token", "data": "x", "id": id});
        let made = vault.post("/tokens", &vault.keys.private, body).with_status(201);
        let location = made.header("location").expect("a location");
        let start = format!("https://{}", vault.address);
        let path = location.strip_prefix(&start).expect("absolute");
        assert!(path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"'), "{path}");
        assert_eq!(vault.get(path, &vault.keys.private).with_status(200).id(), id);
    }
}
