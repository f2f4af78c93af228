//! A server that has said that it is ready takes a hangup for what it is, from the first moment.

use serde_json::json;

use crate::harness::Vault;

#[test]
fn a_hangup_right_after_the_ready_line_does_not_end_the_server() {
    let vault = Vault::start();
    vault.signal("HUP");
    for _ in 0..5 {
        vault.token(json!({"type": "token", "data": 1}));
    }
}
