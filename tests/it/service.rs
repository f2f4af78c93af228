//! `init` and `serve`: a vault as an operator sets it up.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::harness::{Directory, Running, SetOnDrop, Vault, get, run, wait_until};

/// A settings file for a vault in this directory, with the certificate of another.
fn settings(directory: &Directory, tls: &Path, master_key: &str) -> String {
    let (place, tls) = (directory.path().display(), tls.display());
    let text = format!(
        "data_directory = \"{place}/data\"\nlisten = [\"127.0.0.1:0\"]\n[tls]\ncertificate = \
         \"{tls}/certificate.pem\"\nprivate_key = \"{tls}/certificate.key\"\n[master_key]\n\
         {master_key}\n",
    );
    directory.write("c.toml", text, 0o644);
    directory.text("c.toml")
}

#[test]
fn a_vault_is_made_filled_and_served_by_its_commands() {
    let mut certificates = Vault::start();
    certificates.stop();
    let directory = Directory::new();
    let file = format!("file = \"{}/master.key\"", directory.path().display());
    let config = &settings(&directory, &certificates.data(), &file);
    run(&["check", "--config", config]).with_code(0);
    run(&["serve", "--config", config]).with_code(78);
    run(&["verify", "--config", config]).with_code(78);
    run(&["init", "--config", config]).with_code(0);
    let mode =
        |name: &str| fs::metadata(directory.join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("data"), mode("master.key")), (0o700, 0o400));
    let key = fs::read(directory.join("master.key")).unwrap();
    run(&["init", "--config", config]).with_code(65);
    assert_eq!(fs::read(directory.join("master.key")).unwrap(), key);
    let create = ["tenant", "create", "--config", config, "--name", "T", "--type", "test"];
    let tenant = run(&create).json();
    assert_eq!(tenant["name"], "T");
    run(&["verify", "--config", config]).with_code(0);
    let (mut server, address) = Running::serve(Path::new(config), &directory.join("log"));
    assert!(address.is_some(), "{}", server.log());
    assert_eq!(server.terminate(), Some(0));
    assert!(server.log().contains("\"event\":\"stopped\""));
    run(&["verify", "--config", config]).with_code(0);
}

#[test]
fn what_root_makes_belongs_to_the_owner_of_the_data_directory() {
    let mut certificates = Vault::start();
    certificates.stop();
    let directory = Directory::new();
    let data = directory.join("data");
    fs::create_dir(&data).unwrap();
    fs::set_permissions(&data, fs::Permissions::from_mode(0o700)).unwrap();
    if chown(&data, Some(65_532), Some(65_533)).is_err() {
        // Only root can make and enter what is another's.
        return;
    }
    let file = format!("file = \"{}/master.key\"", directory.path().display());
    let config = &settings(&directory, &certificates.data(), &file);
    let owner = |name: &str| {
        let file = fs::metadata(data.join(name)).unwrap();
        (file.uid(), file.gid())
    };
    run(&["init", "--config", config]).with_code(0);
    assert_eq!(owner("strongroom.redb"), (65_532, 65_533));
    assert_eq!(owner("cvc.keys"), (65_532, 65_533));
    // As after a backup was brought back, which has no such file.
    fs::remove_file(data.join("cvc.keys")).unwrap();
    run(&["tenant", "list", "--config", config]).with_code(0);
    assert_eq!(owner("cvc.keys"), (65_532, 65_533));
    // Root does not give away what a link in a directory of others points to.
    let bait = directory.write("bait", "", 0o600);
    fs::remove_file(data.join("cvc.keys")).unwrap();
    symlink(&bait, data.join("cvc.keys")).unwrap();
    run(&["tenant", "list", "--config", config]);
    assert_ne!(fs::metadata(&bait).unwrap().uid(), 65_532);
}

#[test]
fn a_master_key_can_be_a_credential_of_the_service_manager() {
    let mut certificates = Vault::start();
    certificates.stop();
    let directory = Directory::new();
    let config = &settings(&directory, &certificates.data(), "credential = \"master.key\"");
    run(&["init", "--config", config]).with_code(64);
    assert!(!directory.join("data").exists());
    let key = directory.join("master.key");
    run(&["init", "--config", config, "--master-key", key.to_str().unwrap()]).with_code(0);
    // The directory of credentials is not set here.
    run(&["serve", "--config", config]).with_code(77);
    run(&["verify", "--config", config, "--master-key", key.to_str().unwrap()]).with_code(0);
}

#[test]
fn an_existing_master_key_is_used_and_never_overwritten() {
    let mut other = Vault::start();
    other.stop();
    let key = fs::read(other.data().join("master.key")).unwrap();
    let directory = Directory::new();
    directory.write("master.key", &key, 0o400);
    let file = format!("file = \"{}/master.key\"", directory.path().display());
    let config = &settings(&directory, &other.data(), &file);
    run(&["init", "--config", config]).with_code(0);
    assert_eq!(fs::read(directory.join("master.key")).unwrap(), key);
    let mode = fs::metadata(directory.join("master.key")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o400);
}

#[test]
fn a_certificate_that_is_replaced_under_traffic_drops_no_connection() {
    let mut vault = Vault::start();
    let mut next = Vault::start();
    next.stop();
    assert_eq!(vault.stop(), Some(0));
    let read = |vault: &Vault, name: &str| fs::read(vault.data().join(name)).unwrap();
    let pair = |vault: &Vault| ["certificate.pem", "certificate.key"].map(|name| read(vault, name));
    let pairs = [pair(&next), pair(&vault)];
    let both = [read(&vault, "ca.pem"), read(&next, "ca.pem")].concat();
    vault.trust(&vault.directory().write("both.pem", both, 0o600));
    vault.set("rate_limits = false");
    vault.restart_as_service();
    let request = get("/permissions").key(&vault.keys.private);
    let bytes = request.bytes(&vault.address.to_string());
    let loaded = || vault.log().matches("\"certificate_loaded\"").count();
    let done = AtomicBool::new(false);
    let client = |kept: bool| {
        let mut connection = vault.connect();
        let mut answered = 0;
        while !done.load(Ordering::Relaxed) {
            connection.send(&bytes).unwrap();
            assert_eq!(connection.receive().unwrap().status, 200);
            answered += 1;
            if !kept {
                connection = vault.connect();
            }
        }
        answered
    };
    let client = &client;
    let answered: usize = thread::scope(|scope| {
        let stop_clients = SetOnDrop(&done);
        let kept = [(); 3].map(|()| scope.spawn(move || client(true)));
        let renewed = scope.spawn(move || client(false));
        for reload in 0..6 {
            let before = loaded();
            for (name, bytes) in
                ["certificate.pem", "certificate.key"].iter().zip(&pairs[reload % 2])
            {
                fs::write(vault.data().join(name), bytes).unwrap();
            }
            vault.signal("HUP");
            wait_until("the certificate is loaded", || loaded() > before);
        }
        drop(stop_clients);
        kept.into_iter().chain([renewed]).map(|client| client.join().unwrap()).sum()
    });
    assert!(answered >= 4, "{answered}");
    assert_eq!(vault.stop(), Some(0));
}

#[test]
fn a_directory_whose_path_is_too_long_for_a_socket_is_told_so() {
    let directory = Directory::new();
    let data = directory.join(&"d".repeat(100));
    let ended = run(&["dev", "--data", data.to_str().unwrap(), "--listen", "127.0.0.1:0"]);
    let ended = ended.with_code(78);
    assert!(ended.stderr.contains("operator.sock") && ended.stderr.contains("shorter"));
}
