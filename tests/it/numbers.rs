//! A number comes back with the digits it came with, or is refused: never with others.

use crate::harness::{Vault, post};

#[test]
fn a_number_is_not_stored_with_other_digits() {
    let vault = Vault::start();
    for number in ["12345678901234567890123", "0.12345678901234567891", "1e+400"] {
        let body = format!(r#"{{"type":"token","data":{number}}}"#);
        let request = post("/tokens").key(&vault.keys.private);
        let made = vault.send(&request.header("Content-Type", "application/json").body(body));
        if made.status == 400 {
            continue;
        }
        let path = format!("/tokens/{}", made.with_status(201).id());
        let read = vault.get(&path, &vault.keys.private).with_status(200);
        assert!(read.text().contains(&format!("\"data\":{number},")), "{}", read.text());
    }
}
