//! Settings and flags of the client for destinations outside. Its requests are tested beside its code,
//! and by the proxies and webhooks that use it.

use crate::harness::{Directory, Psp, Vault, run};

#[test]
fn wrong_settings_of_destinations_are_reported_with_their_places() {
    let vault = Vault::start();
    vault.move_key_out();
    let check = || vault.operator(&["check"]);
    vault.set("outbound.allow = [\"psp.internal:8443\", \"[fd00::1]:443\"]");
    check().with_code(0);
    vault.set("outbound.allow = [\"*:443\", \"psp.internal\"]\noutbound.ca_file = \"relative\"");
    let ended = check().with_code(78);
    for place in ["outbound.allow[0]: ", "outbound.allow[1]: ", "outbound.ca_file: "] {
        assert!(ended.stderr.contains(place), "{}", ended.stderr);
    }
}

#[test]
fn authorities_of_destinations_that_cannot_be_used_end_the_start_with_their_file() {
    let directory = Directory::new();
    let empty = directory.write("empty.pem", "", 0o600);
    for file in [directory.join("absent.pem"), empty] {
        let data = directory.join("data");
        let flags = ["dev", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()];
        let ended = run(&[&flags[..], &["--outbound-ca", file.to_str().unwrap()]].concat());
        let ended = ended.with_code(78);
        assert!(ended.stderr.contains(file.to_str().unwrap()), "{}", ended.stderr);
    }
}

#[test]
fn a_vault_starts_with_other_authorities_and_calls_nobody_by_itself() {
    let psp = Psp::start();
    let mut vault = Vault::start_with(&["--outbound-ca", psp.ca().to_str().unwrap()]);
    vault.serve(&format!("outbound.ca_file = \"{}\"", psp.ca().display()));
    assert_eq!(vault.stop(), Some(0));
    assert_eq!(psp.connections(), 0);
}
