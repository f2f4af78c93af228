//! `/.well-known/security.txt`: from the settings, without a key, refused if it is malformed.

use crate::harness::{Vault, get, run};

const PATH: &str = "/.well-known/security.txt";

#[test]
fn a_security_contact_is_served_from_the_settings_and_only_then() {
    let mut vault = Vault::start();
    let shown = vault.send(&get(PATH)).with_status(200).text();
    assert!(shown.starts_with("Contact: mailto:root@localhost\r\nExpires: 20"), "{shown}");
    vault.serve("");
    let absent = vault.send(&get(PATH)).problem(404);
    let other = vault.send(&get("/.well-known/other.txt")).problem(404);
    assert_eq!(absent.without_trace(), other.without_trace());
    vault.serve(
        "security_txt.contact = [\"mailto:security@example.com\", \"https://example.com/report\"]\n\
         security_txt.expires = \"2099-01-01T00:00:00Z\"",
    );
    let found = vault.send(&get(PATH)).with_status(200);
    assert_eq!(found.header("content-type"), Some("text/plain; charset=utf-8"));
    let expected = "Contact: mailto:security@example.com\r\nContact: https://example.com/report\r\n\
                    Expires: 2099-01-01T00:00:00Z\r\n";
    assert_eq!(found.text(), expected);
    let said = vault.operator(&["check"]).with_code(0).stdout;
    assert!(said.contains("expires 2099-01-01T00:00:00Z, in more than a year"), "{said}");
    assert_eq!(vault.stop(), Some(0));
    vault.set("security_txt.contact = [\"security@example.com\"]");
    vault.move_key_out();
    let config = vault.config();
    let refused = run(&["serve", "--config", config.to_str().unwrap()]).with_code(78).stderr;
    assert!(refused.contains("security_txt.contact: "), "{refused}");
    assert!(refused.contains("security_txt.expires: "), "{refused}");
}
